"""Run source and result of a conversion in their own runtimes, each in a separate process, and compare.

The first part is about resizes that compute coordinates at run time, beyond the sizes at which a runtime is known to
fail. Whole models are verified on inputs of ordinary sizes. Beyond ``LARGEST_GATHER`` elements, the nodes of such a
resize gather by another operation. For the release of OpenVINO in which that number was measured, the whole model runs
once more as if its tensors were large. For any other release the number itself is tried: by the resize alone, on a
tensor so large that the second of two threads begins beyond it.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ir_interp.errors import ShapeError, SpecError, VerificationError
from ir_interp.executor.loop_runner import numpy_alone
from ir_interp.executor.resize import resize as execute
from ir_interp.files.memory import MemoryBoundError, is_of_memory, running
from ir_interp.files.writing import scratch
from ir_interp.plan.taps import plan
from ir_interp.resize_op import ResizeOp
from ir_interp.shapes import Array, PartialShape, resolve_axes
from ir_interp.specs import AtRunTime, Crop, Nearest, ResizeSpec, Scales, Sizes
from ir_interp.translation.translate import Grade

from ..reports import Compared, Levels, Progress, Row, Verification, silent
from ..runtimes import onnxruntime, openvino, openvino_layers
from ..runtimes.execution import LARGEST_GATHER
from ..runtimes.outcome import Kind
from ..workers import forks
from . import ladder, tolerances
from .graphs import ResizeTensors, is_model, resizes_with_tensors
from .input_shapes import Extent
from .inputs import Inputs, extreme_patterns, images_fed
from .ladder import over_inputs, until_conclusive
from .model_outputs import ModelOutputs, SegmentError
from .processes import MEMORY, NotRunError, OutOfMemoryError, Runner, models
from .quantisations import within_noise
from .segments import cause
from .tolerances import check, compare, compare_all, coordinate_error
from .trials import NoSourceError, Trials, trials_of

_THREADS = 2  # OpenVINO takes no more than there are processors, and one thread alone is right
# The last of n threads begins at (n - 1) / n of all elements, which must lie beyond the limit.
ELEMENTS = int(LARGEST_GATHER.dynamic * _THREADS / (_THREADS - 1)) + 2**21
"""The number of elements that show the operation beyond the limit."""

_MOST = 4 * ELEMENTS  # of any tensor between input and output: larger ones take too much memory

_LEAST = 16  # of a growing axis: fewer pixels may resize to none
_PIECE = 2**18  # elements that are compared at once: their differences stay in the cache

_LAST_BITS = 4 * float(np.finfo(np.float32).eps)  # of a coordinate, as a share of the axis: roundings of its formula
_COORDINATE_ERROR = 0.1  # of a pixel, at most: beyond it, the values of random pixels would prove nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteAlone:
    """The writer of a model of only a resize, for OpenVINO, and the suffix of its files."""

    write: Callable[[ResizeOp, Path], object]
    suffix: str


def of_run_time(rows: Sequence[Row]) -> Iterator[ResizeOp]:
    """Yield the resizes that became operations for dynamic sizes, one of each kind of kernel."""
    kernels = set()
    for op in (row.source for row in rows if row.grade is Grade.DECOMPOSED):
        is_dynamic = op.shape is not None and None in op.shape and op.dtype == "float32"
        roi_given = isinstance(op.spec.coordinates, Crop) and op.spec.coordinates.roi is None
        if is_dynamic and not roi_given and type(op.spec.kernel) not in kernels:
            kernels.add(type(op.spec.kernel))
            yield op


def is_measured() -> bool:
    """Return whether the limit was measured in the installed release of OpenVINO."""
    try:
        return metadata.version("openvino").startswith(f"{openvino.RUNTIME.version}.")
    except metadata.PackageNotFoundError:  # a frozen program has no metadata
        return False


def as_large(run: Runner, result: Path) -> Iterator[Compared]:
    """Yield how the outputs of a model change with resizes as for large tensors.

    Raises VerificationError if one differs by more than two models may.
    """
    both = run.as_large(result)
    if both:
        mine, theirs = both
        comparisons = compare_all(
            [(f"{name} with resizes as for large tensors", array) for name, array in mine], theirs
        )
        others = [array for _, array in theirs]
        yield from map(check, within_noise(run, result, mine, others, comparisons))


def shapes(op: ResizeOp) -> Iterator[tuple[int, ...]]:
    """Yield input shapes at which a resize handles so many elements, and which prove something.

    Float32 has no coordinates for a single axis of so many elements.
    """
    assert op.shape is not None
    dynamic = [axis for axis, length in enumerate(op.shape) if length is None]
    images = [axis for axis in dynamic if axis > 0]  # one image of a batch is enough
    candidates = (_large(op, growing) for growing in (images, dynamic) if growing)
    yield from dict.fromkeys(filter(None, candidates))


def _large(op: ResizeOp, growing: Sequence[int]) -> tuple[int, ...] | None:
    """Return a shape with enough elements, ``growing`` axes all of one size; None if there is none."""
    assert op.shape is not None
    shape = op.shape

    def size(length: int) -> int:
        """Return the number of elements of the input or the output."""
        lengths = _grown(shape, growing, length)
        return max(math.prod(plan(_with_target(op, lengths), lengths).out_shape), math.prod(lengths))

    try:
        lengths = _grown(shape, growing, _LEAST + bisect_left(range(_LEAST, ELEMENTS), ELEMENTS, key=size))
        spec = _with_target(op, lengths)
        outputs = plan(spec, lengths).out_shape
    except SpecError:
        return None
    decides = _coordinate_error(spec, lengths, outputs) <= _COORDINATE_ERROR
    between = math.prod(map(max, lengths, outputs))  # axes are resized sequentially
    return lengths if decides and between <= _MOST else None


def _grown(shape: PartialShape, growing: Sequence[int], length: int) -> tuple[int, ...]:
    return tuple(length if axis in growing else size or 1 for axis, size in enumerate(shape))


def _coordinate_error(spec: ResizeSpec, *shapes: tuple[int, ...]) -> float:
    """Return how many pixels float32 coordinates may be off along the longest axis that is resized."""
    axes = resolve_axes(spec.axes, len(shapes[0]))
    return _LAST_BITS * max(shape[axis] for shape in shapes for axis in axes)


def _with_target(op: ResizeOp, lengths: tuple[int, ...]) -> ResizeSpec:
    """Return a spec with a target: its own, else one that makes every dynamic axis half as large again."""
    assert op.shape is not None
    if isinstance(op.spec.target, Scales | Sizes):
        return op.spec
    axes = resolve_axes(op.spec.axes, len(lengths))
    if op.spec.gives_sizes:
        sizes = (lengths[axis] * 3 // 2 if op.shape[axis] is None else lengths[axis] for axis in axes)
        return replace(op.spec, target=Sizes(tuple(sizes)))
    return replace(op.spec, target=Scales(tuple(1.0 if op.shape[axis] else 1.5 for axis in axes)))


def verified(rows: Sequence[Row], alone: WriteAlone, folder: Path, seed: int, progress: Progress) -> list[Compared]:
    """Compare models of single resizes with this program's executor, on random values, in OpenVINO.

    Raises VerificationError if one differs, or does not run.
    """
    comparisons = []
    for number, op in enumerate(of_run_time(rows)):
        model = folder / f"alone{number}{alone.suffix}"
        for shape in shapes(op):
            alone.write(op, model)
            run = next(trials_of(models(model, model, Inputs(seed=seed), [model]), folder, progress)).run
            try:
                comparisons.append(check(_compared(run, op, model, shape)))
                break
            except MemoryBoundError:
                continue
            except NotRunError as problem:
                if not is_of_memory(str(problem)):
                    raise
    return comparisons


def _compared(run: Runner, op: ResizeOp, model: Path, shape: tuple[int, ...]) -> Compared:
    x = np.random.default_rng(run.models.inputs.seed).random(shape, np.float32)
    spec = _with_target(op, shape)
    arrays = list(zip((tensor.name for tensor in run.models.graph.inputs), _given(run, spec, x), strict=True))
    actual = replace(run, arrays=arrays)(model, threads=_THREADS)[0][0][1]
    expected = execute(x, spec)
    largest = float(expected.max(initial=0.0))
    last_bits = _coordinate_error(spec, shape, expected.shape)
    return Compared(
        kind="resize",
        name=f"{op.name or op.where} alone, on {list(shape)}",
        largest=largest,
        absolute=_difference(expected, actual, is_copy=isinstance(op.spec.kernel, Nearest)),
        limit=max(tolerances.OUTPUT, last_bits) * largest,
        span=largest,
        shapes=() if expected.shape == actual.shape else (expected.shape, actual.shape),
    )


def _difference(expected: NDArray[np.float32], actual: Array, *, is_copy: bool) -> float:
    """Return the largest difference, in float32; 0 if only ties differ."""
    if expected.shape != actual.shape:
        return np.inf
    maxima, different = [0.0], 0
    for start in range(0, expected.size, _PIECE):
        apart = np.abs(expected.ravel()[start : start + _PIECE] - actual.ravel()[start : start + _PIECE])
        maxima.append(apart.max())
        different += int(np.count_nonzero(apart))
    return 0.0 if is_copy and different <= tolerances.TIES * expected.size else float(np.max(maxima))  # NaN if one is


def _given(run: Runner, spec: ResizeSpec, x: NDArray[np.float32]) -> Iterator[Array]:
    """Yield the inputs of a model of one resize: ``x``, and its target if that is an input."""
    yield x
    for tensor in run.models.graph.inputs[1:]:
        assert isinstance(spec.target, Scales | Sizes)
        axes = resolve_axes(spec.axes, x.ndim)
        values = dict(zip(axes, spec.target.values, strict=True))
        unchanged = x.shape if isinstance(spec.target, Sizes) else (1.0,) * x.ndim
        listed = axes if tensor.lengths == (len(axes),) else range(x.ndim)
        yield np.array([values.get(axis, unchanged[axis]) for axis in listed], tensor.dtype)


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
        foreign = [result] if through_openvino else []
        both = models(source if is_model(source) else result, result, inputs, foreign)
        if alone and is_measured():
            both, alone = replace(both, as_large=frozenset([result])), None
        with scratch() as folder, forks(), numpy_alone():
            every = trials_of(both, folder, progress)
            verification = _verified(source, result, rows, every, half_weights=half_weights)
            alone_ones = verified(rows, alone, folder, inputs.seed, progress) if alone else []
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
    source: Path, result: Path, rows: Sequence[Row], every: Iterable[Trials], *, half_weights: bool
) -> Verification:
    """Verify on all inputs, and on other random ones until every output is conclusive."""
    verifications: list[Verification] = []
    resizes = resizes_with_tensors(source) if is_model(source) else []
    for trials in until_conclusive(every, lambda: _merged(verifications).is_conclusive):
        try:
            if is_model(source):
                verification = _of_models(trials, source, result, resizes, half_weights=half_weights)
            else:
                verification = _single(trials, rows[0].source, result)
            verification = replace(verification, alone=tuple(as_large(trials.run, result)))
        except NotRunError:
            if trials.extent is Extent.REAL:
                raise
            continue  # sizes that these models are not for
        if trials.extent is Extent.REAL:
            verifications.append(replace(verification, shapes=trials.run.shapes))
        else:
            verifications[-1] = _with_extent(verifications[-1], verification, trials.run.shapes)
    return _merged(verifications)


def _with_extent(real: Verification, other: Verification, shapes: dict[str, tuple[int, ...]]) -> Verification:
    """Return a verification that passed on other shapes, too; their outputs decide if the first proves nothing."""
    # The real extent counts, unless its outputs prove nothing.
    outputs = real.outputs if real.is_conclusive else other.outputs
    return replace(real, outputs=outputs, levels=_all_levels((real, other)), more_shapes=(*real.more_shapes, shapes))


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
    calls = ladder.over_every(verification.calls for verification in verifications)
    return replace(verifications[0], outputs=compared, levels=_all_levels(verifications), note=note, calls=calls)


def _of_models(
    trials: Trials, source: Path, result: Path, resizes: Sequence[ResizeTensors], *, half_weights: bool
) -> Verification:
    """Compare two models in their own runtimes; ``resizes`` with this program's executor if that is impossible."""
    if trials.without_source:
        return _of_result(trials, resizes, result)
    try:
        # The data of resizes are shown as well: inputs on which these are empty would prove nothing.
        data = [resize.inputs["data"] for resize in resizes if resize.inputs.get("data")]
        expected, actual, elsewhere = trials.settle_both(source, result, data)
    except NoSourceError as problem:
        # The source runs at another extent, so that these sizes are not for it.
        if trials.real:
            raise
        trials.leave_out_source(str(problem))
        return _of_result(trials, resizes, result)
    run = trials.run
    try:
        outputs = ModelOutputs(
            run=run, source=source, result=result, expected=expected, actual=actual, has_half_weights=half_weights
        )
        verification = ladder.verified(outputs)
        calls = ladder.of_pair(outputs, verification.outputs) if trials.extent is Extent.REAL else ()
        notes = (trials.domain, elsewhere, verification.note)
        return replace(verification, note="; ".join(filter(None, notes)), calls=calls)
    except OutOfMemoryError as problem:  # which proves nothing about the models
        raise VerificationError(str(problem)) from None
    except VerificationError as problem:
        # If the source's runtime deviates from its model's meaning, our executor is the reference.
        known = next(filter(None, map(_known_deviation, _as_run(run, source, resizes))), "")
        if known:
            return _by_executor(run, resizes, result, f"{problem}, for {known}")
        if trials.domain and trials.is_undefined:
            raise VerificationError(f"{source.name}: {trials.domain}") from None
        # A segment names the layer already.
        is_named = isinstance(problem, SegmentError)
        raise VerificationError(f"{problem}{cause(run, source, result, layers=not is_named)}") from None


def _of_result(trials: Trials, resizes: Sequence[ResizeTensors], result: Path) -> Verification:
    """Compare the resizes of ``result`` with this program's own executor, since the source does not run."""
    try:
        trials.settle(result, _names(resizes))
        return _by_executor(trials.run, resizes, result, trials.without_source)
    except NotRunError as other:
        # A model that an exporter wrote, and what becomes of it, may fail for the same reason.
        raise NotRunError("; ".join(dict.fromkeys((str(trials.without_source), str(other))))) from None


def _names(resizes: Sequence[ResizeTensors]) -> list[str]:
    """Return the tensors that resizes read and produce."""
    return [name for resize in resizes for name in (*resize.inputs.values(), resize.output)]


def _by_executor(run: Runner, resizes: Sequence[ResizeTensors], result: Path, problem: str) -> Verification:
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


def _single(trials: Trials, op: ResizeOp, result: Path) -> Verification:
    """Compare a model of one resize with this program's own executor."""
    ((_, actual),), _ = trials.settle(result)
    data, *rest = [array for _, array in trials.run.arrays]
    kind = op.spec.target.value if isinstance(op.spec.target, AtRunTime) else "sizes"
    expected = _executed(op, data, **dict(zip((kind,), rest, strict=False)))
    return Verification(outputs=(_checked(op, data, expected, actual),), note="compared with ir_interp's own executor")


def _executed(op: ResizeOp, data: Array, **inputs: Array) -> Array:
    """Return ``data`` resized by this program; ``inputs`` are sizes, scales and roi of run time."""
    try:
        return _run(op, data, **inputs)
    except ShapeError:  # an internal size is no message to pass on
        name, shape = op.name or op.where, list(data.shape)
        problem = f"resize {name!r} gets data of shape {shape} and cannot run on it; choose other sizes with --shape"
        raise VerificationError(problem) from None


def _as_run(run: Runner, source: Path, resizes: Sequence[ResizeTensors]) -> Iterator[ResizeOp]:
    """Yield the resizes of a source with the sizes, targets and windows that they have on these inputs.

    A runtime's known deviations may depend on them.
    """
    names = [name for resize in resizes for name in resize.inputs.values()]
    _, tensors = run(source, names)
    for resize in resizes:
        inputs = {kind: tensors[name] for kind, name in resize.inputs.items() if name in tensors}
        data = inputs.pop("data", None)
        yield resize.op if data is None else replace(_bound(resize.op, **inputs), shape=data.shape)


def _run(op: ResizeOp, data: Array, **inputs: Array) -> Array:
    return _bound(op, **inputs).run(data)


def _bound(op: ResizeOp, **inputs: Array) -> ResizeOp:
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


def _checked(op: ResizeOp, data: Array, expected: Array, actual: Array) -> Compared:
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
    outcome = openvino_layers.layer(op)
    return f"OpenVINO is at fault: {outcome.reason}" if outcome.kind in (Kind.DIFFERS, Kind.CRASHES) else ""


def _rounds(op: ResizeOp) -> bool:
    """Return whether a resize averages integers, and so rounds them."""
    return op.dtype is not None and "int" in op.dtype and not isinstance(op.spec.kernel, Nearest)
