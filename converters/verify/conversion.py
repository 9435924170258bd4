"""Run source and result in their own runtimes, each in a process of its own, and compare."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.errors import VerificationError
from ir_interp.kinds import FileKind
from ir_interp.op import ResizeOp
from ir_interp.scratch import scratch
from ir_interp.spec import AtRunTime, Crop, Nearest

from ..report import Compared, Progress, Row, Verification, silent
from ..runtimes import onnxruntime
from .differences import QUANTISED_TOLERANCE, TOLERANCE, compared, passed
from .first_difference import first_layer, first_resize
from .processes import Inputs, Runs
from .tensors import ResizeTensors, is_model, resizes_with_tensors, sensible


def verify(
    source: Path,
    result: Path,
    rows: Sequence[Row],
    inputs: Inputs,
    *,
    tolerance: float = TOLERANCE,
    through_openvino: bool = False,
    progress: Progress = silent,
) -> Verification | None:
    """Return how far the outputs of two models differ on the same inputs; None where ``result`` is no model.

    .onnx runs in onnxruntime, .xml in OpenVINO on CPU in float32; with ``through_openvino`` so does ``result`` if it
    is an .onnx, read by OpenVINO's own frontend. Dynamic dimensions of inputs are 1 on the first axis
    and 64 elsewhere. Where ``source`` does not run in its own runtime, each resize of ``result`` is compared with this
    program's executor instead. Raises VerificationError where outputs differ by more than ``tolerance``, or
    ``result`` does not run; it names the first resize or layer that differs.
    """
    if not is_model(result):
        return None
    try:
        allowed = max([tolerance, *(QUANTISED_TOLERANCE for path in (source, result) if _quantises(path))])
        foreign = frozenset([result] if through_openvino else [])
        return _verified(source, result, rows, inputs, allowed, progress, foreign)
    except VerificationError as problem:
        raise VerificationError(f"{problem}; nothing was written{_advice(str(problem))}") from None


def _advice(problem: str) -> str:
    """Return what can be done where a model does not run, and at which risk."""
    if any(text in problem for text in (" does not run: ", " did not finish in ")):
        return "; --no-verify writes it unverified, and it may compute something else"
    return ""


def _verified(
    source: Path,
    result: Path,
    rows: Sequence[Row],
    inputs: Inputs,
    tolerance: float,
    progress: Progress,
    through_openvino: frozenset[Path],
) -> Verification:
    resizes = resizes_with_tensors(source) if is_model(source) else []
    with scratch() as folder:
        run = Runs(folder, inputs, sensible(resizes), progress, through_openvino)
        if not is_model(source):
            return _single(run, rows[0].source, result, tolerance)
        try:
            wanted, _ = run(source)
        except VerificationError as problem:
            return _by_executor(run, resizes, result, str(problem), tolerance)
        got, _ = run(result)
        try:
            return Verification(outputs=compared(wanted, got, result.name, tolerance))
        except VerificationError as problem:
            cause = next(filter(None, (_known_deviation(each.op) for each in resizes)), "")
            if cause:
                return _by_executor(run, resizes, result, f"{problem}, for {cause}", tolerance)
            is_onnx = FileKind.of(source) is FileKind.ONNX
            where = first_resize(run, resizes, source, result) if is_onnx else first_layer(run, source, result)
            raise VerificationError(f"{problem}{where}") from None


def _quantises(path: Path) -> bool:
    """Say whether a file is an IR with values that are rounded to levels."""
    if FileKind.of(path) is not FileKind.IR:
        return False
    from ir_interp.ir.model import nets

    return any(layer.type.lower() == "fakequantize" for net in nets(path) for layer in net.layers.values())


def _by_executor(run: Runs, resizes: list[ResizeTensors], result: Path, problem: str, tolerance: float) -> Verification:
    """Compare each resize of ``result`` with this program's own executor, on the data that reach it there."""
    tensors = [name for each in resizes for name in (*each.inputs.values(), each.output)]
    try:
        _, found = run(result, tensors)
    except VerificationError as other:
        raise VerificationError(f"{problem}; {other}") from None
    outputs = []
    for each in resizes:
        names = (*each.inputs.values(), each.output)
        if all(name in found for name in names):
            given = {kind: found[name] for kind, name in each.inputs.items()}
            wanted = _executed(each.op, **given)
            outputs.append(_passed(each.op, wanted, found[each.output], tolerance))
    if not outputs:
        raise VerificationError(problem)
    extent = f"{len(outputs)} of {len(resizes)} resizes compared with ir_interp's own executor"
    return Verification(outputs=tuple(outputs), note=f"{problem}; {extent}")


def _single(run: Runs, op: ResizeOp, result: Path, tolerance: float) -> Verification:
    """Compare a model of one resize with this program's own executor."""
    ((_, got),), _ = run(result)
    data, *rest = run.given()
    kind = op.spec.target.value if isinstance(op.spec.target, AtRunTime) else "sizes"
    wanted = _executed(op, data, **dict(zip((kind,), rest, strict=False)))
    return Verification(outputs=(_passed(op, wanted, got, tolerance),), note="compared with ir_interp's own executor")


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


def _passed(op: ResizeOp, wanted: NDArray[Any], got: NDArray[Any], tolerance: float) -> Compared:
    least = 1.0 if _rounds(op) else 0.0
    return passed(op.name or op.where, wanted, got, tolerance, kind="resize", least=least)


def _known_deviation(op: ResizeOp) -> str:
    """Return why the source's own runtime does not compute what a resize means; nothing where it is known to."""
    if _rounds(op):
        return "integers are rounded"
    found = onnxruntime.deviation(op) if op.dialect == "onnx" else None
    return f"onnxruntime is at fault: {found.reason}" if found else ""


def _rounds(op: ResizeOp) -> bool:
    """Say whether a resize rounds integers: the runtimes do so in several ways, all within 1 of ours."""
    return op.dtype is not None and "int" in op.dtype and not isinstance(op.spec.kernel, Nearest)
