"""Run source and result in their own runtimes, each in a process of its own, and compare."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from converters.child import Inputs, Runs
from converters.comparison import QUANTISED_TOLERANCE, TOLERANCE, compared, passed
from converters.locate import Wired, first_layer, first_resize
from converters.report import Progress, Row, Verification, silent
from ir_interp.errors import VerificationError
from ir_interp.op import ResizeOp
from ir_interp.spec import AtRunTime, Crop, Nearest


def verify(
    source: Path,
    result: Path,
    rows: Sequence[Row],
    inputs: Inputs,
    *,
    tolerance: float = TOLERANCE,
    progress: Progress = silent,
) -> Verification | None:
    """Return how far the outputs of two models differ on the same inputs; None where ``result`` is no model.

    .onnx runs in onnxruntime, .xml in OpenVINO on CPU in float32. Open lengths of inputs are 1 on the first axis
    and 64 elsewhere. Where ``source`` does not run in its own runtime, each resize of ``result`` is compared with this
    program's executor instead. Raises VerificationError where outputs differ by more than ``tolerance``, or
    ``result`` does not run; it names the first resize or layer that differs.
    """
    if not _is_model(result):
        return None
    try:
        allowed = max([tolerance, *(QUANTISED_TOLERANCE for path in (source, result) if _quantises(path))])
        return _verified(source, result, rows, inputs, allowed, progress)
    except VerificationError as problem:
        raise VerificationError(f"{problem}; nothing was written") from None


def _verified(
    source: Path, result: Path, rows: Sequence[Row], inputs: Inputs, tolerance: float, progress: Progress
) -> Verification:
    wired = _wired(source) if source.suffix.lower() == ".onnx" else []
    with tempfile.TemporaryDirectory() as folder:
        run = Runs(Path(folder), inputs, _values(wired), progress)
        if not _is_model(source):
            return _single(run, rows[0].source, result, tolerance)
        try:
            wanted, _ = run(source)
        except VerificationError as problem:
            return _by_executor(run, wired, result, str(problem), tolerance)
        got, _ = run(result)
        try:
            return Verification(outputs=compared(wanted, got, result.name, tolerance))
        except VerificationError as problem:
            if any(_rounds(each.op) for each in wired):
                return _by_executor(run, wired, result, f"{problem}, for integers are rounded", tolerance)
            where = first_resize(run, wired, source, result) if wired else first_layer(run, source, result)
            raise VerificationError(f"{problem}{where}") from None


def _is_model(path: Path) -> bool:
    """Say whether a file is a model, not settings or a pasted layer."""
    if path.suffix.lower() == ".xml":
        from ir_interp.ir_xml import parse

        return parse(path).tag == "net"
    return path.suffix.lower() == ".onnx"


def _quantises(path: Path) -> bool:
    """Say whether a file is an IR with values that are rounded to levels."""
    if path.suffix.lower() != ".xml":
        return False
    from ir_interp.ir_model import nets

    return any(layer.type.lower() == "fakequantize" for net in nets(path) for layer in net.layers.values())


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


def _by_executor(run: Runs, wired: list[Wired], result: Path, problem: str, tolerance: float) -> Verification:
    """Compare each resize of ``result`` with this program's own executor, on the data that reach it there."""
    tensors = [name for each in wired for name in (*each.inputs.values(), each.output)]
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
            outputs.append(passed(name, wanted, found[each.output], tolerance, least=least))
    if not outputs:
        raise VerificationError(problem)
    extent = f"{len(outputs)} of {len(wired)} resizes compared with ir_interp's own executor"
    return Verification(outputs=tuple(outputs), note=f"{problem}; {extent}")


def _single(run: Runs, op: ResizeOp, result: Path, tolerance: float) -> Verification:
    """Compare a model of one resize with this program's own executor."""
    ((_, got),), _ = run(result)
    data, *rest = run.given()
    kind = op.spec.target.value if isinstance(op.spec.target, AtRunTime) else "sizes"
    wanted = _executed(op, data, **dict(zip((kind,), rest, strict=False)))
    found = passed("output", wanted, got, tolerance)
    return Verification(outputs=(found,), note="compared with ir_interp's own executor")


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


def _rounds(op: ResizeOp) -> bool:
    """Say whether a resize rounds integers: onnxruntime does so in several ways, all within 1 of ours."""
    return op.dtype is not None and "int" in op.dtype and not isinstance(op.spec.kernel, Nearest)
