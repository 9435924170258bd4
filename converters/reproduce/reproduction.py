"""From a model, or a known fault, to a folder that reproduces a runtime's error."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from ir_interp.errors import IrInterpError, ReadError, closest
from ir_interp.files.atomic import making
from ir_interp.files.kinds import MODELS, FileKind, expect
from ir_interp.files.scratch import scratch
from ir_interp.options.reproduce_options import ReproduceOptions

from ..audit import chosen_shapes as shapes
from ..audit import probe
from ..audit.audited_resizes import Found, found
from ..audit.auditing import audit
from ..audit.findings import Audited
from ..audit.verdicts import Verdict
from ..predictions.runtimes_asked import RUNTIMES
from ..runtimes.outcome import Kind
from ..runtimes.running import RUNNERS
from . import known_faults
from .folder import Reproduced, write
from .smallest import smallest


def reproduce(source: str | Path, folder: Path, options: ReproduceOptions) -> Reproduced:
    """Write a folder that reproduces a runtime's error; see ``ir_interp.reproduce``."""
    with _model(source, options) as (path, runtime), making(folder) as unfinished, probe.one_worker():
        _check(runtime)
        chosen, verdict = _chosen(path, runtime, options)
        options.progress("looking for the smallest shape", 0, 0)
        with scratch() as place:
            shown = smallest(chosen, runtime, verdict, place / "cases")
            if shown is None:
                problem = f"{RUNTIMES[runtime].title}: {verdict}; but a model of this node alone is computed as meant"
                raise IrInterpError(f"{chosen.op.where}: {problem}")
            return replace(write(shown, runtime, unfinished), folder=folder)


@contextmanager
def _model(source: str | Path, options: ReproduceOptions) -> Iterator[tuple[Path, str]]:
    """Yield the file of a model, or of a known fault, and the runtime to run."""
    if FileKind.of(source) is None and ":" in str(source):
        with scratch() as folder:
            path, fault = known_faults.save(str(source), folder)
            if options.runtime not in (None, fault.runtime):
                raise IrInterpError(f"{source} is a fault of {fault.runtime}, not of {options.runtime}")
            yield path, fault.runtime
        return
    if options.runtime is None:
        raise IrInterpError(f"a model needs a runtime; {closest('', RUNNERS)}")
    yield Path(source), options.runtime


def _check(runtime: str) -> None:
    """Raise IrInterpError for a runtime that cannot be run here."""
    if runtime not in RUNNERS:
        known = (
            f"{RUNTIMES[runtime].title} cannot be run here" if runtime in RUNTIMES else f"unknown runtime {runtime!r}"
        )
        raise IrInterpError(f"{known}; {closest(runtime, RUNNERS)}")
    if not RUNNERS[runtime].is_installed:
        raise IrInterpError(f"{runtime} is not installed; run `pip install {RUNNERS[runtime].distribution}`")


def _chosen(path: Path, runtime: str, options: ReproduceOptions) -> tuple[Found, Verdict]:
    """Return the resize to show, and its observed verdict: the requested one, or the first at fault."""
    kind = expect(path, *MODELS)
    if kind is FileKind.IR and runtime != "openvino":
        raise IrInterpError(f"{path.name} is an IR, which only openvino runs; convert it to .onnx for {runtime}")
    chosen_shapes = shapes.chosen(path, options.shapes)
    inside = found(path, chosen_shapes).resizes
    rows, errors = audit([path], run=True, runtimes=[runtime], shapes=chosen_shapes, progress=options.progress)
    for error in errors:
        raise error
    names = [resize.op.name for resize in inside]
    if options.layer is not None and options.layer not in names:
        raise ReadError(f"no resize {options.layer!r}; {closest(options.layer, names)}", path.name)
    for resize, row in zip(inside, rows, strict=True):
        if options.layer in (None, resize.op.name) and _is_seen(row, runtime):
            return resize, row.verdicts[runtime]
    raise IrInterpError(f"{path.name}: {_nothing(rows, runtime, options.layer)}")


def _is_seen(row: Audited, runtime: str) -> bool:
    return runtime in row.seen and row.seen[runtime].kind is not Kind.SAME


def _nothing(rows: list[Audited], runtime: str, layer: str | None) -> str:
    """Return the reason why there is nothing to show."""
    selected = [row for row in rows if layer in (None, row.op.name)]
    if not selected:
        return "no resize in it"
    unseen: dict[str, list[str]] = {}
    for row in selected:
        if runtime not in row.seen:
            unseen.setdefault(row.ran or "not run", []).append(row.op.name)
    verdict = f"every resize that was run is correct in {RUNTIMES[runtime].title}"
    return "; ".join([verdict, *(f"{', '.join(names)}: {reason}" for reason, names in unseen.items())])
