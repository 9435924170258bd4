"""Resizes that compute coordinates at run time, beyond the sizes at which a runtime is known to fail.

Whole models are verified on inputs of ordinary sizes. Beyond ``LARGEST_GATHER`` elements, the nodes of such a resize
gather by another operation. For the release of OpenVINO in which that number was measured, the whole model runs once
more as if its tensors were large. For any other release the number itself is tried: by the resize alone, on a tensor so
large that the second of two threads begins beyond it.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.errors import SpecError
from ir_interp.executor.resize import resize
from ir_interp.files.memory import MemoryBoundError, is_of_memory
from ir_interp.plan.axes.geometry import plan
from ir_interp.resize_op import ResizeOp
from ir_interp.shapes import PartialShape, resolve_axes
from ir_interp.spec import Crop, Nearest, ResizeSpec, Scales, Sizes
from ir_interp.translation.grades import Grade

from ..reports.conversion_report import Progress, Row
from ..reports.verification import Compared
from ..runtimes.openvino import VERSION
from ..runtimes.openvino_sizes import LARGEST_GATHER
from .compare import tolerances
from .compare.array_differences import check, compare_all
from .compare.source_spread import within_noise
from .run.inputs import Inputs
from .run.processes import Runs, models, runs
from .run.requests import NotRunError

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
        return metadata.version("openvino").startswith(f"{VERSION}.")
    except metadata.PackageNotFoundError:  # a frozen program has no metadata
        return False


def as_large(run: Runs, result: Path) -> Iterator[Compared]:
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
            run = next(runs(models(model, model, Inputs(seed=seed), frozenset([model])), folder, progress))
            try:
                comparisons.append(check(_compared(run, op, model, shape)))
                break
            except MemoryBoundError:
                continue
            except NotRunError as problem:
                if not is_of_memory(str(problem)):
                    raise
    return comparisons


def _compared(run: Runs, op: ResizeOp, model: Path, shape: tuple[int, ...]) -> Compared:
    x = np.random.default_rng(run.models.inputs.seed).random(shape, np.float32)
    spec = _with_target(op, shape)
    run.arrays = list(zip((tensor.name for tensor in run.models.graph.inputs), _given(run, spec, x), strict=True))
    actual = run(model, threads=_THREADS)[0][0][1]
    expected = resize(x, spec)
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


def _difference(expected: NDArray[np.float32], actual: NDArray[Any], *, is_copy: bool) -> float:
    """Return the largest difference, in float32; 0 if only ties differ."""
    if expected.shape != actual.shape:
        return np.inf
    maxima, different = [0.0], 0
    for start in range(0, expected.size, _PIECE):
        apart = np.abs(expected.ravel()[start : start + _PIECE] - actual.ravel()[start : start + _PIECE])
        maxima.append(apart.max())
        different += int(np.count_nonzero(apart))
    return 0.0 if is_copy and different <= tolerances.TIES * expected.size else float(np.max(maxima))  # NaN if one is


def _given(run: Runs, spec: ResizeSpec, x: NDArray[np.float32]) -> Iterator[NDArray[Any]]:
    """Yield the inputs of a model of one resize: ``x``, and its target if that is an input."""
    yield x
    for tensor in run.models.graph.inputs[1:]:
        assert isinstance(spec.target, Scales | Sizes)
        axes = resolve_axes(spec.axes, x.ndim)
        values = dict(zip(axes, spec.target.values, strict=True))
        unchanged = x.shape if isinstance(spec.target, Sizes) else (1.0,) * x.ndim
        listed = axes if tensor.lengths == (len(axes),) else range(x.ndim)
        yield np.array([values.get(axis, unchanged[axis]) for axis in listed], tensor.dtype)
