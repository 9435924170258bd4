"""Run source and result in their own runtimes, each in a separate process, and compare."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.errors import ShapeError, VerificationError
from ir_interp.executor.compiled.loop_runner import numpy_alone
from ir_interp.files.memory import running
from ir_interp.files.scratch import scratch
from ir_interp.resize_op import ResizeOp
from ir_interp.spec import AtRunTime, Crop, Nearest, Scales, Sizes

from ..reports.conversion_report import Progress, Row, silent
from ..reports.verification import Compared, Levels, Verification
from ..runtimes import onnxruntime, openvino
from ..runtimes.outcome import Kind
from ..workers.forks import forks
from . import large_sizes
from .compare import ladder, plain_calls, tolerances
from .compare.array_differences import check, compare, coordinate_error
from .compare.first_difference import cause
from .compare.inconclusive import over_inputs, until_conclusive
from .compare.model_outputs import ModelOutputs, SegmentError
from .large_sizes import WriteAlone
from .resize_tensors import ResizeTensors, is_model, resizes_with_tensors
from .run.input_shapes import Extent
from .run.inputs import Inputs, extreme_patterns, images_fed
from .run.processes import NoSourceError, Runs, models, runs
from .run.requests import MEMORY, NotRunError, OutOfMemoryError


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
    """Return how far the outputs of two models differ on the same inputs; None if ``result`` is not a model.

    .onnx runs in onnxruntime, .xml in OpenVINO on CPU in float32; with ``through_openvino`` so does ``result`` if it
    is an .onnx, read by OpenVINO's own frontend. Random ``inputs`` suit the model, and follow
    another distribution if an output proves nothing. If ``source`` does not run in its own runtime, each resize
    of ``result`` is compared with this program's executor instead. ``half_weights`` means that those of ``result`` are
    rounded to half precision. With ``alone``, which writes models of one resize, those that compute coordinates at run
    time are also run alone on large tensors; see ``large_sizes``.

    ``compare.ladder`` states the allowed differences. Raises VerificationError if outputs differ by more, or ``result``
    does not run; it names the first resize or layer that differs.
    """
    if not is_model(result):
        return None
    try:
        foreign = frozenset([result] if through_openvino else [])
        both = models(source if is_model(source) else result, result, inputs, foreign)
        if alone and large_sizes.is_measured():
            both, alone = replace(both, as_large=frozenset([result])), None
        with scratch() as folder, forks(), numpy_alone():
            verification = _verified(source, result, rows, runs(both, folder, progress), half_weights=half_weights)
            alone_ones = large_sizes.verified(rows, alone, folder, inputs.seed, progress) if alone else []
            images, extremes = images_fed(both.graph, both.inputs), extreme_patterns(both.inputs, both.graph)
            return replace(verification, images=images, extremes=extremes, alone=(*verification.alone, *alone_ones))
    except VerificationError as problem:
        raise VerificationError(f"{problem}; nothing was written{_advice(str(problem))}") from None


def _advice(problem: str) -> str:
    """Return the options for a model that does not run, and their risk."""
    if any(text in problem for text in (" does not run: ", " did not finish in ", f" {MEMORY}")):
        return "; --no-verify writes it unverified, and it may compute something else"
    return ""


def _verified(
    source: Path, result: Path, rows: Sequence[Row], runs: Iterable[Runs], *, half_weights: bool
) -> Verification:
    """Verify on all inputs, and on other random ones until every output is conclusive."""
    verifications: list[Verification] = []
    resizes = resizes_with_tensors(source) if is_model(source) else []
    for run in until_conclusive(runs, lambda: _merged(verifications).is_conclusive):
        try:
            if is_model(source):
                verification = _of_models(run, source, result, resizes, half_weights=half_weights)
            else:
                verification = _single(run, rows[0].source, result)
            verification = replace(verification, alone=tuple(large_sizes.as_large(run, result)))
        except NotRunError:
            if run.extent is Extent.REAL:
                raise
            continue  # sizes that these models are not for
        if run.extent is Extent.REAL:
            verifications.append(replace(verification, shapes=run.shapes))
        else:
            verifications[-1] = _with_extent(verifications[-1], verification, run)
    return _merged(verifications)


def _with_extent(real: Verification, other: Verification, run: Runs) -> Verification:
    """Return a verification that passed at another extent, too; its outputs decide if the first proves nothing."""
    # The real extent counts, unless its outputs prove nothing.
    outputs = real.outputs if real.is_conclusive else other.outputs
    return replace(
        real, outputs=outputs, levels=_all_levels((real, other)), more_shapes=(*real.more_shapes, run.shapes)
    )


def _all_levels(verifications: Sequence[Verification]) -> Levels | None:
    """Return the counts of levels over several inputs."""
    levels = [verification.levels for verification in verifications if verification.levels]
    return sum(levels[1:], levels[0]) if levels else None


def _merged(verifications: Sequence[Verification]) -> Verification:
    """Return the result of verification over several inputs."""
    if len(verifications) == 1:
        return verifications[0]
    outputs: dict[tuple[str, str], list[Compared]] = {}
    for verification in verifications:
        for output in verification.outputs:
            outputs.setdefault((output.kind, output.name), []).append(output)
    note = next(filter(None, (verification.note for verification in verifications)), "")
    compared = tuple(map(over_inputs, outputs.values()))
    calls = plain_calls.over_every(verification.calls for verification in verifications)
    return replace(verifications[0], outputs=compared, levels=_all_levels(verifications), note=note, calls=calls)


def _of_models(
    run: Runs, source: Path, result: Path, resizes: Sequence[ResizeTensors], *, half_weights: bool
) -> Verification:
    """Compare two models in their own runtimes; ``resizes`` with this program's executor if that is impossible."""
    if run.without_source:
        return _of_result(run, resizes, result)
    try:
        # The data of resizes are shown as well: inputs on which these are empty would prove nothing.
        data = [resize.inputs["data"] for resize in resizes if resize.inputs.get("data")]
        expected, actual, elsewhere = run.settle_both(source, result, data)
    except NoSourceError as problem:
        # The source runs at another extent, so that these sizes are not for it.
        if run.is_elsewhere:
            raise
        run.leave_out_source(str(problem))
        return _of_result(run, resizes, result)
    try:
        outputs = ModelOutputs(
            run=run, source=source, result=result, expected=expected, actual=actual, has_half_weights=half_weights
        )
        verification = ladder.verified(outputs)
        calls = plain_calls.of_pair(outputs, verification.outputs) if run.extent is Extent.REAL else ()
        return replace(verification, note="; ".join(filter(None, (elsewhere, verification.note))), calls=calls)
    except OutOfMemoryError as problem:  # which proves nothing about the models
        raise VerificationError(str(problem)) from None
    except VerificationError as problem:
        # If the source's runtime deviates from its model's meaning, our executor is the reference.
        known = next(filter(None, map(_known_deviation, _as_run(run, source, resizes))), "")
        if known:
            return _by_executor(run, resizes, result, f"{problem}, for {known}")
        # A segment names the layer already.
        is_named = isinstance(problem, SegmentError)
        raise VerificationError(f"{problem}{cause(run, source, result, layers=not is_named)}") from None


def _of_result(run: Runs, resizes: Sequence[ResizeTensors], result: Path) -> Verification:
    """Compare the resizes of ``result`` with this program's own executor, since the source does not run."""
    try:
        run.settle(result, _names(resizes))
        return _by_executor(run, resizes, result, run.without_source)
    except NotRunError as other:
        raise NotRunError(f"{run.without_source}; {other}") from None


def _names(resizes: Sequence[ResizeTensors]) -> list[str]:
    """Return the tensors that resizes read and produce."""
    return [name for resize in resizes for name in (*resize.inputs.values(), resize.output)]


def _by_executor(run: Runs, resizes: Sequence[ResizeTensors], result: Path, problem: str) -> Verification:
    """Compare each resize of ``result`` with this program's own executor, on the data that reach it there."""
    _, tensors = run(result, _names(resizes))
    outputs = []
    for resize in resizes:
        if tensors.keys() >= {*resize.inputs.values(), resize.output}:
            expected = _executed(resize.op, **{kind: tensors[name] for kind, name in resize.inputs.items()})
            outputs.append(_checked(resize.op, tensors[resize.inputs["data"]], expected, tensors[resize.output]))
    if not outputs:
        raise VerificationError(problem)
    extent = f"{len(outputs)} of {len(resizes)} resizes compared with ir_interp's own executor"
    return Verification(outputs=tuple(outputs), note=f"{problem}; {extent}")


def _single(run: Runs, op: ResizeOp, result: Path) -> Verification:
    """Compare a model of one resize with this program's own executor."""
    ((_, actual),), _ = run.settle(result)
    data, *rest = [array for _, array in run.arrays]
    kind = op.spec.target.value if isinstance(op.spec.target, AtRunTime) else "sizes"
    expected = _executed(op, data, **dict(zip((kind,), rest, strict=False)))
    return Verification(outputs=(_checked(op, data, expected, actual),), note="compared with ir_interp's own executor")


def _executed(op: ResizeOp, data: NDArray[Any], **inputs: NDArray[Any]) -> NDArray[Any]:
    """Return ``data`` resized by this program; ``inputs`` are sizes, scales and roi of run time."""
    try:
        return _run(op, data, **inputs)
    except ShapeError:  # an internal size is no message to pass on
        name, shape = op.name or op.where, list(data.shape)
        problem = f"resize {name!r} gets data of shape {shape} and cannot run on it; choose other sizes with --shape"
        raise VerificationError(problem) from None


def _as_run(run: Runs, source: Path, resizes: Sequence[ResizeTensors]) -> Iterator[ResizeOp]:
    """Yield the resizes of a source with the sizes, targets and windows that they have on these inputs.

    A runtime's known deviations may depend on them.
    """
    names = [name for resize in resizes for name in resize.inputs.values()]
    _, tensors = run(source, names)
    for resize in resizes:
        inputs = {kind: tensors[name] for kind, name in resize.inputs.items() if name in tensors}
        data = inputs.pop("data", None)
        yield resize.op if data is None else replace(_bound(resize.op, **inputs), shape=data.shape)


def _run(op: ResizeOp, data: NDArray[Any], **inputs: NDArray[Any]) -> NDArray[Any]:
    return _bound(op, **inputs).run(data)


def _bound(op: ResizeOp, **inputs: NDArray[Any]) -> ResizeOp:
    """Return a resize with the target and window of run time."""
    spec = op.spec
    roi = inputs.pop("roi", None)
    if isinstance(spec.coordinates, Crop) and spec.coordinates.roi is None and roi is not None:
        starts, ends = np.split(roi.astype(float), 2)  # all starts come first
        windows = tuple(zip(starts.tolist(), ends.tolist(), strict=True))
        spec = replace(spec, coordinates=replace(spec.coordinates, roi=windows))
    if isinstance(spec.target, AtRunTime) and spec.target.value in inputs:
        kind = Sizes if spec.target is AtRunTime.SIZES else Scales
        spec = replace(spec, target=kind(tuple(inputs[spec.target.value].ravel().tolist())))
    return replace(op, spec=spec)


def _checked(op: ResizeOp, data: NDArray[Any], expected: NDArray[Any], actual: NDArray[Any]) -> Compared:
    """Return how the output of a resize of ``data`` compares. Raises VerificationError if it differs."""
    # Integers may be rounded in another order of axes; floats may cancel, which leaves the last bits of the data.
    least = tolerances.INTEGERS if _rounds(op) else coordinate_error(data)
    return check(compare(op.name or op.where, expected, actual, kind="resize", least=least))


def _known_deviation(op: ResizeOp) -> str:
    """Return why the source's own runtime does not compute the meaning of a resize; empty if it does."""
    if _rounds(op):
        return "integers are rounded"
    if op.dialect == "onnx":
        deviation = onnxruntime.deviation(op)
        return f"onnxruntime is at fault: {deviation.reason}" if deviation else ""
    if op.dialect != "openvino":
        return ""
    outcome = openvino.layer(op)
    return f"OpenVINO is at fault: {outcome.reason}" if outcome.kind in (Kind.DIFFERS, Kind.CRASHES) else ""


def _rounds(op: ResizeOp) -> bool:
    """Return whether a resize averages integers, and so rounds them."""
    return op.dtype is not None and "int" in op.dtype and not isinstance(op.spec.kernel, Nearest)
