"""Run source and result in their own runtimes, each in a process of its own, and compare."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.errors import ShapeError, VerificationError
from ir_interp.files.memory import running
from ir_interp.files.scratch import scratch
from ir_interp.op import ResizeOp
from ir_interp.spec import AtRunTime, Crop, Nearest

from ..report import Compared, Progress, Row, Verification, silent
from ..runtimes import onnxruntime
from .compare import differences
from .compare.differences import merged, passed
from .compare.first_difference import cause
from .compare.judged import judged
from .resize_tensors import ResizeTensors, is_model, resizes_with_tensors
from .run import large_sizes
from .run.inputs import Inputs
from .run.large_sizes import WriteAlone
from .run.processes import Models, NoSourceError, Runs, models, runs
from .run.ready import ready


@running()
def verify(
    source: Path,
    result: Path,
    rows: Sequence[Row],
    inputs: Inputs,
    *,
    half_weights: bool = False,
    through_openvino: bool = False,
    alone: WriteAlone | None = None,
    progress: Progress = silent,
) -> Verification | None:
    """Return how far the outputs of two models differ on the same inputs; None where ``result`` is no model.

    .onnx runs in onnxruntime, .xml in OpenVINO on CPU in float32; with ``through_openvino`` so does ``result`` if it
    is an .onnx, read by OpenVINO's own frontend. What is made up of ``inputs`` is such that the model can work with
    it, and made up in another way where an output tells nothing. Where ``source`` does not run in its own runtime,
    each resize of ``result`` is compared with this program's executor instead. ``half_weights`` says that those of
    ``result`` are rounded to half precision. With ``alone``, which writes models of one resize, those that find
    their places at run time are also run alone on large tensors; see ``large``.

    What may differ is said in ``spread`` and, of models that quantise, in ``quantised``. Raises VerificationError where
    outputs differ by more, or ``result`` does not run; it names the first resize or layer that differs.
    """
    if not is_model(result):
        return None
    try:
        foreign = frozenset([result] if through_openvino else [])
        both = models(source if is_model(source) else result, result, inputs, foreign)
        verified = partial(_verified, source, result, rows, half_weights=half_weights)
        with scratch() as folder, ready():
            found = _over_inputs(both, folder, progress, verified)
            large_ones = large_sizes.verified(rows, alone, folder, inputs.seed, progress) if alone else []
            return replace(found, alone=tuple(large_ones))
    except VerificationError as problem:
        raise VerificationError(f"{problem}; nothing was written{_advice(str(problem))}") from None


def _advice(problem: str) -> str:
    """Return what can be done where a model does not run, and at which risk."""
    if any(text in problem for text in (" does not run: ", " did not finish in ")):
        return "; --no-verify writes it unverified, and it may compute something else"
    return ""


def _over_inputs(
    both: Models, folder: Path, progress: Progress, verified: Callable[[Runs], Verification]
) -> Verification:
    """Verify on all inputs that there are, and on more that are made up until every output tells something."""
    found: list[Verification] = []
    for run in runs(both, folder, progress):
        if found and run.is_another and _merged(found).is_conclusive:
            break
        found.append(replace(verified(run), shapes=run.shapes))
    return _merged(found)


def _merged(found: Sequence[Verification]) -> Verification:
    """Return what verification came to over several inputs."""
    if len(found) == 1:
        return found[0]
    names = dict.fromkeys((each.kind, each.name) for one in found for each in one.outputs)
    every = {name: [each for one in found for each in one.outputs if (each.kind, each.name) == name] for name in names}
    note = next(filter(None, (one.note for one in found)), "")
    return replace(found[0], outputs=tuple(map(merged, every.values())), note=note)


def _verified(source: Path, result: Path, rows: Sequence[Row], run: Runs, *, half_weights: bool) -> Verification:
    if not is_model(source):
        return _single(run, rows[0].source, result)
    resizes = resizes_with_tensors(source)
    try:
        data = [each.inputs["data"] for each in resizes if each.inputs.get("data")]
        wanted, got, elsewhere = run.settle_both(source, result, data)
    except NoSourceError as problem:
        return _by_executor(run, resizes, result, str(problem))
    try:
        found = judged(run, source, result, wanted, got, half_weights=half_weights)
        return replace(found, note="; ".join(filter(None, (elsewhere, found.note))))
    except VerificationError as problem:
        known = next(filter(None, (_known_deviation(each.op) for each in resizes)), "")
        if known:
            return _by_executor(run, resizes, result, f"{problem}, for {known}")
        is_named = isinstance(problem, differences.StretchError)
        raise VerificationError(f"{problem}{cause(run, source, result, layers=not is_named)}") from None


def _by_executor(run: Runs, resizes: list[ResizeTensors], result: Path, problem: str) -> Verification:
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
            wanted = _executed(each.op, **{kind: found[name] for kind, name in each.inputs.items()})
            outputs.append(_passed(each.op, wanted, found[each.output]))
    if not outputs:
        raise VerificationError(problem)
    extent = f"{len(outputs)} of {len(resizes)} resizes compared with ir_interp's own executor"
    return Verification(outputs=tuple(outputs), note=f"{problem}; {extent}")


def _single(run: Runs, op: ResizeOp, result: Path) -> Verification:
    """Compare a model of one resize with this program's own executor."""
    ((_, got),), _ = run.settle(result)
    data, *rest = [array for _, array in run.arrays]
    kind = op.spec.target.value if isinstance(op.spec.target, AtRunTime) else "sizes"
    wanted = _executed(op, data, **dict(zip((kind,), rest, strict=False)))
    return Verification(outputs=(_passed(op, wanted, got),), note="compared with ir_interp's own executor")


def _executed(op: ResizeOp, data: NDArray[Any], **given: NDArray[Any]) -> NDArray[Any]:
    """Return ``data`` resized by this program; ``given`` are sizes, scales and roi of run time."""
    try:
        return _run(op, data, **given)
    except ShapeError:  # whatever reached it: lengths that nobody can want are no message to pass on
        name, shape = op.name or op.where, list(data.shape)
        problem = f"resize {name!r} is given {shape}, and cannot be run on that; choose other lengths with --shape"
        raise VerificationError(problem) from None


def _run(op: ResizeOp, data: NDArray[Any], **given: NDArray[Any]) -> NDArray[Any]:
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


def _passed(op: ResizeOp, wanted: NDArray[Any], got: NDArray[Any]) -> Compared:
    least = 1.0 if _rounds(op) else 0.0
    return passed(op.name or op.where, wanted, got, differences.TOLERANCE, kind="resize", least=least)


def _known_deviation(op: ResizeOp) -> str:
    """Return why the source's own runtime does not compute what a resize means; nothing where it is known to."""
    if _rounds(op):
        return "integers are rounded"
    found = onnxruntime.deviation(op) if op.dialect == "onnx" else None
    return f"onnxruntime is at fault: {found.reason}" if found else ""


def _rounds(op: ResizeOp) -> bool:
    """Say whether a resize rounds integers: the runtimes do so in several ways, all within 1 of ours."""
    return op.dtype is not None and "int" in op.dtype and not isinstance(op.spec.kernel, Nearest)
