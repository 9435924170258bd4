"""From a model, or a known fault, to a folder that reproduces a runtime's error.

First the smallest shape of a resize on which a runtime still shows its fault; then the folder: a model, an input,
expected and actual output, a script and a README.
"""

from __future__ import annotations

import math
import platform
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper

from ir_interp.errors import IrInterpError, ReadError, closest
from ir_interp.executor.resize import resize
from ir_interp.files.kinds import MODELS, FileKind, expect
from ir_interp.files.snapshots import copy_file
from ir_interp.files.writing import making, scratch
from ir_interp.options.model_options import ReproduceOptions
from ir_interp.plain_text import quote_markdown
from ir_interp.plan.taps import Taps, axis_taps, plan
from ir_interp.records import Record
from ir_interp.resize_op import ResizeOp
from ir_interp.shapes import Array, PartialShape, resolve_axes, static_shape
from ir_interp.specs import Sizes
from ir_interp.version import VERSION

from ..audit import audited_resizes as shapes, probe
from ..audit.audited_resizes import Audited, Found, found
from ..audit.auditing import audit
from ..audit.probe import RUNNERS
from ..audit.verdicts import Verdict
from ..onnx.resize_nodes import given_names, single
from ..openvino.ir_save import write_layer
from ..predictions import RUNTIMES
from ..runtimes.outcome import Kind
from ..runtimes.runtime import Runner
from ..verify import tolerances
from ..verify.tolerances import absolute_differences
from . import known_faults
from .conformance_kit import operator, script

_VISIBLE = 0.01  # of values from 0 to 1: the least difference of a smaller resize, if the large one differs as much


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A single resize on some sizes, with target sizes if it has these; empty if they are given by scales."""

    shape: tuple[int, ...]
    sizes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """The file of a case, and its outcome."""

    path: Path
    row: Audited
    verdict: Verdict

    @property
    def cost(self) -> int:
        """The number of elements before and after."""
        shape = static_shape(self.row.op.shape) or ()
        return math.prod(shape) + math.prod(plan(self.row.op.spec, shape).out_shape)


def smallest(source: Found, runtime: str, seen: Verdict, folder: Path) -> Shown | None:
    """Return the smallest case on which a runtime shows the observed fault; None if none does.

    Smaller cases are searched by predictions, which need no runs, and the last one is run. Only if that shows
    something else is each of them run.
    """
    for run in (False, True):
        whole = _shown(source, [_case(source.op)], runtime, folder, run=True)
        if not whole or not _is_like(whole[0].verdict, seen):
            return None
        # One axis smaller at a time: the cheapest of these that shows the same is the start of the next step.
        best, last = whole[0], None
        while best is not last:
            last = best
            smaller = _shown(source, list(_smaller(source, best.row)), runtime, folder, run=run)
            alike = [
                candidate for candidate in smaller if candidate.cost < best.cost and _is_like(candidate.verdict, seen)
            ]
            alike = [candidate for candidate in alike if run or _is_visible(candidate.verdict, seen)]
            best = min(alike, key=lambda candidate: candidate.cost, default=best)
        proven = _shown(source, [_case(best.row.op)], runtime, folder, run=True)
        if proven and _is_like(proven[0].verdict, seen):
            return proven[0]
    return whole[0]


def _is_like(verdict: Verdict, seen: Verdict) -> bool:
    """Return whether a runtime does the same, for the same reason."""
    return (verdict.kind, _plain(verdict.cause)) == (seen.kind, _plain(seen.cause))


def _is_visible(verdict: Verdict, seen: Verdict) -> bool:
    """Return whether a predicted difference is large enough to be seen, where that of the whole resize is."""
    least = min(_VISIBLE, seen.difference or math.inf)
    return verdict.kind is not Kind.DIFFERS or (verdict.difference or math.inf) >= least


def _plain(reason: str) -> str:
    return re.sub(r"\d+", "", reason)  # sizes and counts, which smaller shapes change


def _case(op: ResizeOp) -> Case:
    """Return a resize as it stands, its dynamic dimensions 1."""
    target = op.spec.target
    sizes = tuple(map(int, target.values)) if isinstance(target, Sizes) else ()
    return Case(shape=tuple(size or 1 for size in op.shape or ()), sizes=sizes)


def _smaller(source: Found, row: Audited) -> Iterator[Case]:
    """Yield cases with one axis smaller, before or behind the resize."""
    case = _case(row.op)
    axes = resolve_axes(source.op.spec.axes, len(case.shape))
    for axis, in_size in enumerate(case.shape):
        place = axes.index(axis) if axis in axes and case.sizes else -1
        for shorter in _shorter(in_size):
            shape = (*case.shape[:axis], shorter, *case.shape[axis + 1 :])
            if place < 0:
                yield Case(shape=shape, sizes=case.sizes)
                continue
            size = case.sizes[place]
            for other in {size, shorter, max(1, round(size * shorter / in_size))}:
                yield Case(shape=shape, sizes=_with(case.sizes, place, other))
        if place >= 0:
            for shorter in _shorter(case.sizes[place]):
                yield Case(shape=case.shape, sizes=_with(case.sizes, place, shorter))


def _with(sizes: tuple[int, ...], place: int, size: int) -> tuple[int, ...]:
    return (*sizes[:place], size, *sizes[place + 1 :])


def _shorter(size: int) -> list[int]:
    return sorted({candidate for candidate in (1, 2, 3, 4, size // 2, size - 1) if 0 < candidate < size})


def _shown(source: Found, cases: Sequence[Case], runtime: str, folder: Path, *, run: bool) -> list[Shown]:
    """Return the verdicts on cases, predicted or observed; without cases that cannot be written as a model."""
    folder.mkdir(exist_ok=True)
    for file in folder.iterdir():
        file.unlink()
    paths = [path for number, case in enumerate(cases) if (path := _written(source, case, folder / str(number)))]
    rows, _ = audit(paths, run=run, runtimes=[runtime])
    by_file = {row.file: row for row in rows}
    shown = (
        Shown(path=path, row=row, verdict=row.verdicts[runtime]) for path in paths if (row := by_file.get(str(path)))
    )
    return [candidate for candidate in shown if not run or runtime in candidate.row.seen]


def _written(source: Found, case: Case, path: Path) -> Path | None:
    """Write a case as a model of one node, or of one layer; None if that is impossible."""
    op = replace(source.op, shape=case.shape)
    if case.sizes:
        op = replace(op, spec=replace(op.spec, target=Sizes(case.sizes)))
    if source.layer is not None:
        ir = path.with_suffix(".xml")
        return ir if write_layer(op, source.layer.attributes, ir) else None
    assert source.node is not None
    model = single(replace(source.node, op=op, dynamic=None))
    if model is None:
        return None
    if case.sizes:
        name = model.graph.node[0].input[1 + given_names(op.version).index("sizes")]
        (constant,) = (tensor for tensor in model.graph.initializer if tensor.name == name)
        constant.CopyFrom(numpy_helper.from_array(np.array(case.sizes, np.int64), name))
    onnx.save(model, path.with_suffix(".onnx"))
    return path.with_suffix(".onnx")


_ATTEMPTS = 8  # random inputs, before the search for a difference is given up
_DIGITS = 10  # the largest value of an input, plus one: small numbers are easy to follow
_OF_DIALECT = {
    "onnx": 'ONNX\'s operator page "{name}", version {version}: https://onnx.ai/onnx/operators/onnx__{name}.html',
    "openvino": 'OpenVINO\'s operator page "Interpolate-{version}": https://docs.openvino.ai',
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reproduced(Record):
    """A folder that reproduces a runtime's fault in a resize: ``op``, in the smallest shape that shows it.

    ``verdict`` was observed on the folder's own input; ``versions`` are those of the packages involved.
    """

    KEYS = (
        "folder",
        "runtime",
        "resize",
        "shape",
        "verdict.kind",
        "verdict.reason",
        "verdict.difference",
        "versions",
    )

    folder: Path
    runtime: str
    op: ResizeOp
    verdict: Verdict
    versions: Mapping[str, str]

    @property
    def resize(self) -> str:
        """The resize as text."""
        return str(self.op.spec)

    @property
    def shape(self) -> PartialShape:
        """The shape of its input."""
        return self.op.shape or ()


def write(shown: Shown, runtime: str, folder: Path) -> Reproduced:
    """Write everything about a case into an existing folder. Raises IrInterpError if its input shows no difference."""
    op, runner = shown.row.op, RUNNERS[runtime]
    model = folder / f"model{shown.path.suffix}"
    for path in (shown.path, shown.path.with_suffix(".bin")):
        if path.exists():
            copy_file(path, folder / f"model{path.suffix}")
    x, expected, ran = _telling(op, runtime, shown.path)  # beside the model, where some runtimes leave files
    np.save(folder / "input.npy", x)
    np.save(folder / "expected.npy", expected)
    if ran.output is not None:
        np.save(folder / "output.npy", ran.output)
    verdict = _verdict(shown.verdict, ran, expected)
    versions = _versions(runner)
    headline = f"{RUNTIMES[runtime].title} {next(iter(versions.values()))}: {verdict}"
    needs = f"Needs: {_installation(runner)}"
    (folder / "reproduce.py").write_text(script(f"{headline}\n\n{needs}\n", runner.run, model.name), encoding="utf-8")
    reproduced = Reproduced(folder=folder, runtime=runtime, op=op, verdict=verdict, versions=versions)
    (folder / "README.md").write_text(story(reproduced, headline, x, expected, ran), encoding="utf-8")
    return reproduced


def _telling(op: ResizeOp, runtime: str, model: Path) -> tuple[Array, Array, probe.Ran]:
    """Return an input of small integers that shows the difference, the expected output, and the runtime's."""
    for seed in range(_ATTEMPTS):
        dtype = np.dtype(op.dtype or "float32")
        lowest = -_DIGITS if dtype.kind == "i" else 0
        x = np.random.default_rng(seed).integers(lowest, _DIGITS, static_shape(op.shape)).astype(dtype)
        # The runtimes run in another process, which reads the array from a file.
        array = model.with_name("input.npy")
        np.save(array, x)
        (ran,) = probe.run([probe.Job(runtime=runtime, model=str(model), array=str(array))])
        if ran.lacks:
            raise IrInterpError(f"{op.name}: {RUNTIMES[runtime].title} does not run it on this machine: {ran.lacks}")
        expected = resize(x, op.spec)
        if ran.output is None or ran.output.shape != expected.shape or _apart(expected, ran.output) > 0:
            return x, expected, ran
    raise IrInterpError(f"{op.name}: no input of small integers shows a difference in {runtime}")


def _differences(expected: Array, actual: Array) -> NDArray[np.float64]:
    """Return the absolute difference of every pixel, infinite where only one is NaN."""
    return np.nan_to_num(absolute_differences(expected, actual), nan=np.inf)


def _apart(expected: Array, actual: Array) -> float:
    """Return the largest difference, 0 if float32 may be its reason."""
    largest = float(_differences(expected, actual).max(initial=0.0))
    return largest if largest > tolerances.SINGLE_RESIZE else 0.0


def _verdict(before: Verdict, ran: probe.Ran, expected: Array) -> Verdict:
    """Return the observed verdict, with the known reason."""
    if ran.output is None:
        kind = Kind.CRASHES if ran.crash else Kind.REFUSED
        return Verdict(kind=kind, reason=before.cause or ran.crash or ran.refusal)
    if ran.output.shape != expected.shape:
        return Verdict(kind=Kind.DIFFERS, reason=before.cause)
    return Verdict(kind=Kind.DIFFERS, reason=before.cause, difference=_apart(expected, ran.output))


def _versions(runner: Runner) -> dict[str, str]:
    system = {"ir-interp": VERSION, "Python": platform.python_version(), "machine": platform.machine()}
    return {**runner.releases(), "numpy": np.__version__, **system}


def _installation(runner: Runner) -> str:
    """Return the commands that install what a script needs."""
    own = runner.installation()
    return f"pip install numpy; {own}" if runner.in_node else own.replace("pip install", "pip install numpy", 1)


# The README


def story(reproduced: Reproduced, headline: str, x: Array, expected: Array, ran: probe.Ran) -> str:
    """Return the README of a folder, in Markdown."""
    op, needed = reproduced.op, ", ".join(RUNNERS[reproduced.runtime].releases())
    source = _OF_DIALECT[op.dialect].format(name=operator(op.version), version=op.version)
    lines = [
        f"# {quote_markdown(headline)}",
        "",
        f"    python reproduce.py  # in this folder; needs {needed} and NumPy",
        "",
        f"The model is one {quote_markdown(f'{_kind(op)}: {op.spec}')}.",
        "",
        f"ir_interp computed the expected output by this formula. Its source: {source}",
        "",
        f"Input {list(x.shape)} {x.dtype}, expected {list(expected.shape)}; {_seen(ran)}",
        "",
        *_pixel(op, expected, ran),
        "| | version |",
        "|---|---|",
        *(f"| {name} | {version} |" for name, version in reproduced.versions.items()),
    ]
    return "\n".join([*lines, ""])


def _kind(op: ResizeOp) -> str:
    kind = "Interpolate" if op.dialect == "openvino" else operator(op.version)
    stated = ", ".join(f"{name}={value}" for name, value in op.attributes.items())
    return f"{kind}-{op.version} ({stated})"


def _seen(ran: probe.Ran) -> str:
    if ran.output is None:
        return f"the runtime {quote_markdown(ran.crash or f'reports: {ran.refusal}')}"
    return f"output {list(ran.output.shape)}."


def _pixel(op: ResizeOp, expected: Array, ran: probe.Ran) -> Iterator[str]:
    """Describe the output that is furthest off: its value, the expected one, and its source pixels."""
    if ran.output is None or ran.output.shape != expected.shape:
        return
    off = _differences(expected, ran.output)
    place = tuple(map(int, np.unravel_index(int(off.argmax()), off.shape)))
    values = f"expected {expected[place]:g}, actual {ran.output[place]:g}"
    yield f"The largest difference is at output {list(place)}: {values}. Its source pixels and their weights:"
    yield ""
    bound = plan(op.spec, static_shape(op.shape) or ())
    for axis, taps in zip(bound.axes, axis_taps(bound), strict=True):
        weights: dict[int, float] = {}
        for index, weight in _pairs(taps, place[axis.axis]):
            weights[index] = weights.get(index, 0.0) + weight
        listed = ", ".join(f"{index} ({weight:.4g})" for index, weight in weights.items() if weight)
        if axis.in_size > 1 or axis.out_size > 1:
            yield f"- axis {axis.axis}, {axis.in_size} pixels to {axis.out_size}: {listed}"
    yield ""


def _pairs(taps: Taps, output: int) -> Iterator[tuple[int, float]]:
    """Yield the source pixels of an output with their weights; a single one is a copy."""
    indices = taps.indices[output].tolist()
    return zip(indices, [1.0] * len(indices) if taps.weights is None else taps.weights[output].tolist(), strict=True)


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
    for candidate, row in zip(inside, rows, strict=True):
        if options.layer in (None, candidate.op.name) and _is_seen(row, runtime):
            return candidate, row.verdicts[runtime]
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
