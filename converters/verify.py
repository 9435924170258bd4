"""Run source and result in their own runtimes, each in a process of its own, and compare."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from converters.report import Compared, Row, Verification
from converters.runners import USAGE, Named, Request, load
from ir_interp.errors import IrInterpError, VerificationError
from ir_interp.op import ResizeOp
from ir_interp.spec import AtRunTime, Crop, Nearest

TOLERANCE = 1e-4
"""The largest difference allowed, absolute and relative to the largest value of an output."""

HALF_TOLERANCE = 1e-2
"""The same where half precision is involved: in an output, or in compressed weights."""

_SECONDS = 600
_UNWRITTEN = "; nothing was written"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wired:
    """A resize of a model with the names of its tensors; ``inputs`` holds data, and sizes, scales, roi if given."""

    op: ResizeOp
    inputs: Mapping[str, str]
    output: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """What to run models on: lengths and .npy files by input name; the rest is made up."""

    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    files: Mapping[str, Path] = field(default_factory=dict)


def verify(
    source: Path, result: Path, rows: Sequence[Row], inputs: Inputs, *, tolerance: float = TOLERANCE
) -> Verification | None:
    """Return how far the outputs of two models differ on the same inputs; None where ``result`` is no model.

    .onnx runs in onnxruntime, .xml in OpenVINO on CPU in float32. Open lengths of inputs are 1 on the first axis
    and 64 elsewhere. Where ``source`` does not run in its own runtime, each resize of ``result`` is compared with this
    program's executor instead. Raises VerificationError where outputs differ by more than ``tolerance``, or
    ``result`` does not run.
    """
    if not _is_model(result):
        return None
    unrunnable = next((row.note for row in rows if not row.runs), None)
    if unrunnable:
        return Verification(note=f"not verified: {unrunnable}")
    wired = _wired(source) if source.suffix.lower() == ".onnx" else []
    with tempfile.TemporaryDirectory() as folder:
        run = _Runs(Path(folder), inputs, _values(wired))
        if not _is_model(source):
            return _single(run, rows[0].source, result, tolerance)
        try:
            wanted, _ = run(source)
        except VerificationError as problem:
            return _by_executor(run, wired, result, str(problem), tolerance)
        got, _ = run(result)
        try:
            return Verification(outputs=_compared(wanted, got, result.name, tolerance))
        except VerificationError as problem:
            if any(_rounds(each.op) for each in wired):
                return _by_executor(run, wired, result, f"{problem}, for integers are rounded", tolerance)
            raise VerificationError(f"{problem}{_first(run, wired, source, result)}{_UNWRITTEN}") from None


def _is_model(path: Path) -> bool:
    """Say whether a file is a model, not settings or a pasted layer."""
    if path.suffix.lower() == ".xml":
        from ir_interp.ir_xml import parse

        return parse(path).tag == "net"
    return path.suffix.lower() == ".onnx"


def _wired(source: Path) -> list[Wired]:
    from converters.onnx_resizes import wired

    return [Wired(op=op, inputs=inputs, output=output) for op, inputs, output in wired(source)]


def _values(wired: list[Wired]) -> dict[str, list[float]]:
    """Return sensible sizes, scales and windows, should they be inputs of the model: the last two axes grow."""
    values: dict[str, list[float]] = {}
    for each in wired:
        shape = each.op.shape or ()
        axes = each.op.spec.axes or tuple(range(len(shape)))
        spatial = [axis % len(shape) >= len(shape) - 2 if shape else True for axis in axes]
        lengths = [shape[axis] if shape else None for axis in axes]
        sizes = [96.0 if grows else float(n or 1) for grows, n in zip(spatial, lengths, strict=True)]
        known = {"sizes": sizes, "scales": [1.5 if grows else 1.0 for grows in spatial]}
        known["roi"] = [0.0] * len(axes) + [1.0] * len(axes)
        values |= {tensor: known[name] for name, tensor in each.inputs.items() if name in known}
    return values


@dataclass(frozen=True, slots=True)
class _Runs:
    """Runs models in child processes, all on the same inputs: a runtime that dies or hangs takes nothing along."""

    folder: Path
    inputs: Inputs
    values: dict[str, list[float]]
    _number: Iterator[int] = field(default_factory=count)

    def __call__(self, model: Path, tensors: Sequence[str] = ()) -> tuple[Named, dict[str, NDArray[Any]]]:
        """Return the outputs of a model, and those of ``tensors`` that it has, by name."""
        number = next(self._number)
        request = Request(
            model=str(model),
            inputs=str(self.folder / "inputs.npz"),
            outputs=str(self.folder / f"outputs{number}.npz"),
            found=str(self.folder / f"found{number}.npz"),
            shapes={name: list(shape) for name, shape in self.inputs.shapes.items()},
            files={name: str(path) for name, path in self.inputs.files.items()},
            values=self.values,
            tensors=list(tensors),
        )
        request.save(self.folder / f"request{number}.json")
        _run(self.folder / f"request{number}.json", model.name)
        return load(request.outputs), dict(load(request.found)) if tensors else {}

    def given(self) -> list[NDArray[Any]]:
        """Return the inputs of the last run."""
        return [array for _, array in load(self.folder / "inputs.npz")]


def _run(request: Path, name: str) -> None:
    command = [sys.executable, "-m", "converters.runners", str(request)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise VerificationError(f"{name} did not finish in {_SECONDS} s{_UNWRITTEN}") from None
    if done.returncode == USAGE:
        raise IrInterpError(done.stderr.strip())
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"it died with status {done.returncode}"]
        raise VerificationError(f"{name} does not run: {lines[-1]}{_UNWRITTEN}")


def _compared(wanted: Named, got: Named, name: str, tolerance: float) -> tuple[Compared, ...]:
    """Return a comparison per output. Raises VerificationError for the first that does not pass."""
    if len(wanted) != len(got):
        raise VerificationError(f"{name} has {len(got)} outputs, its source {len(wanted)}")
    return tuple(
        _passed(f"output {output!r}", mine, theirs, tolerance)
        for (output, mine), (_, theirs) in zip(wanted, got, strict=True)
    )


def _rounds(op: ResizeOp) -> bool:
    """Say whether a resize rounds integers: onnxruntime does so in several ways, all within 1 of ours."""
    return op.dtype is not None and "int" in op.dtype and not isinstance(op.spec.kernel, Nearest)


def _passed(name: str, mine: NDArray[Any], theirs: NDArray[Any], tolerance: float, *, least: float = 0.0) -> Compared:
    if mine.shape != theirs.shape:
        raise VerificationError(f"{name} has shape {list(theirs.shape)}, in the source {list(mine.shape)}")
    found = _compare(name, mine, theirs, tolerance, least)
    if not found.absolute <= found.limit:
        raise VerificationError(f"{name} differs by {found.absolute:.3g} (tolerance {found.limit:.3g})")
    return found


def _compare(name: str, mine: NDArray[Any], theirs: NDArray[Any], tolerance: float, least: float) -> Compared:
    if np.float16 in (mine.dtype, theirs.dtype):
        tolerance = max(tolerance, HALF_TOLERANCE)
    mine, theirs = mine.astype(np.float64), theirs.astype(np.float64)
    same = (mine == theirs) | (np.isnan(mine) & np.isnan(theirs))
    with np.errstate(invalid="ignore"):  # equal infinities
        absolute = float(np.where(same, 0.0, np.abs(mine - theirs)).max(initial=0.0))
    largest = float(np.abs(mine[np.isfinite(mine)]).max(initial=0.0))
    relative = absolute / largest if largest else absolute
    limit = max(tolerance * max(1.0, largest), least)
    return Compared(name=name, absolute=absolute, relative=relative, limit=limit)


def _first(run: _Runs, wired: list[Wired], source: Path, result: Path) -> str:
    """Return which resize is the first whose own output differs between the two runtimes."""
    tensors = [each.output for each in wired]
    if not tensors:
        return ""
    (_, mine), (_, theirs) = run(source, tensors), run(result, tensors)
    for each in wired:
        if each.output in mine and each.output in theirs:
            try:
                _passed("", mine[each.output], theirs[each.output], TOLERANCE)
            except VerificationError as problem:
                return f"; the first resize that differs is {each.op.name!r}: it{problem}"
    return "; no resize differs, so that the difference arises elsewhere"


def _by_executor(run: _Runs, wired: list[Wired], result: Path, problem: str, tolerance: float) -> Verification:
    """Compare each resize of ``result`` with this program's own executor, on the data that reach it there."""
    tensors = [name for each in wired for name in (*each.inputs.values(), each.output)]
    problem = problem.removesuffix(_UNWRITTEN)
    try:
        _, found = run(result, tensors)
    except VerificationError as other:
        raise VerificationError(f"{problem}; {other}") from None
    outputs = []
    for each in wired:
        names = (*each.inputs.values(), each.output)
        if all(name in found for name in names):
            given = {kind: found[name] for kind, name in each.inputs.items()}
            wanted = _executed(each.op, **given)
            name, least = f"resize {each.op.name!r}", 1.0 if _rounds(each.op) else 0.0
            outputs.append(_passed(name, wanted, found[each.output], tolerance, least=least))
    extent = f"{len(outputs)} of {len(wired)} resizes compared with ir_interp's own executor"
    return Verification(outputs=tuple(outputs), note=f"{problem}; {extent}")


def _single(run: _Runs, op: ResizeOp, result: Path, tolerance: float) -> Verification:
    """Compare a model of one resize with this program's own executor."""
    ((_, got),), _ = run(result)
    data, *rest = run.given()
    kind = op.spec.target.value if isinstance(op.spec.target, AtRunTime) else "sizes"
    wanted = _executed(op, data, **dict(zip((kind,), rest, strict=False)))
    compared = _passed("output", wanted, got, tolerance)
    return Verification(outputs=(compared,), note="compared with ir_interp's own executor")


def _executed(op: ResizeOp, data: NDArray[Any], **given: NDArray[Any]) -> NDArray[Any]:
    """Return ``data`` resized by this program; ``given`` are sizes, scales and roi of run time."""
    spec = op.spec
    roi = given.pop("roi", None)
    if isinstance(spec.coordinates, Crop) and spec.coordinates.roi is None and roi is not None:
        starts, ends = np.split(roi.astype(float), 2)
        windows = tuple(zip(starts.tolist(), ends.tolist(), strict=True))
        spec = replace(spec, coordinates=replace(spec.coordinates, roi=windows))
    if isinstance(spec.target, AtRunTime):
        target: Any = {kind: tuple(array.ravel().tolist()) for kind, array in given.items()}
        return replace(op, spec=spec).run(data, **target)
    return replace(op, spec=spec).run(data)
