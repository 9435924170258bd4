"""A resize as a subgraph of primitive operations where no attributes express it, for every kind of graph.

Along a static axis the executor's own taps become constants; along a dynamic one the same formulas become nodes.

Several axes at once come first, as a runtime's Gather is right only up to some size. Beyond it GatherElements does the
same, in twice the time. If the size is known only at run time, both stand in the graph: the first axis that gathers is
resized by one up to an entry, and by the other from there on. That entry is the last for a small tensor and the first
for a large one, so that one of the two has nothing to do. An If would be simpler, but next to an If, OpenVINO's
dynamic Interpolates may read garbage in their first inference (2026.4).
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ir_interp.errors import InexactError
from ir_interp.executor.ordered_sums import sampled
from ir_interp.executor.resize import extrapolated
from ir_interp.plan.formulas import AxisPlan
from ir_interp.plan.integer_sums import (
    Along,
    Step,
    Sum,
    axes_of_steps,
    changing,
    rounding_at_once,
    steps,
    sums_integers,
)
from ir_interp.plan.library_passes import OF_OPENCV, Pass, passes
from ir_interp.plan.library_weights import Sampled
from ir_interp.plan.taps import axis_taps, plan
from ir_interp.resize_op import ResizeOp
from ir_interp.shapes import Array, PartialShape, resolve_axes, with_ones
from ir_interp.specs import (
    Antialias,
    Area,
    Arithmetic,
    Aspect,
    Border,
    Coordinates,
    Crop,
    Cubic,
    IntegerRounding,
    Linear,
    Mean,
    Nearest,
    ResizeSpec,
    Scales,
    Sizes,
    Step as StepKind,
)
from ir_interp.translation.meaning import listed_axes
from ir_interp.translation.translate import Grade, bound_within

from .integer_sums import AnyPass, IntegerPasses, Steps, are_integral, bounded, is_exact, of_litert, rounded
from .taps import (
    AxisTaps,
    Column,
    Columns,
    RunTimeAxis,
    Take,
    aligned,
    by_elements,
    by_gather,
    coordinates,
    entry,
    gathered_at_once,
    gathers,
    in_columns,
    length,
    resized,
    run_time_axes,
    run_time_taps,
)
from .tensor import Functions, Ops, Tensor, Value


def resized_along(ops: Ops, x: Value, axes: Sequence[AxisTaps], shape: PartialShape) -> Value:
    """Return ``x`` (of ``shape``, None where dynamic) resized along all axes sequentially."""
    rank, limit, axes = len(shape), ops.largest_gather, [in_columns(ops, axis) for axis in axes]
    # Leading axes that gather nothing are right at any size.
    free = next((place for place, axis in enumerate(axes) if gathers(axis, rank)), len(axes))
    before, rest = _resized(ops, x, axes[:free], rank, by_gather), axes[free:]
    # Every runtime but OpenVINO: there a single Gather serves for all sizes.
    if not rest or math.isinf(limit.dynamic):
        return _resized(ops, before, rest, rank, by_gather)
    elements = _largest(ops, x, axes, shape)
    if not isinstance(elements, Tensor):
        return _resized(ops, before, rest, rank, by_gather if elements <= limit.static else by_elements)
    # One of the two parts is empty: both run, but only one has anything to do.
    is_small = ops.flag((elements <= limit.dynamic).value)
    parts = zip(_cut(ops, rest[0], is_small), (by_gather, by_elements), strict=True)
    return ops.concat([_resized(ops, before, [part, *rest[1:]], rank, take) for part, take in parts], rest[0].axis)


def _resized(ops: Ops, x: Value, axes: Sequence[AxisTaps], rank: int, take: Take) -> Value:
    return functools.reduce(lambda y, axis: resized(ops, y, axis, rank, take), axes, x)


def _cut(ops: Ops, axis: AxisTaps, is_small: Value) -> tuple[AxisTaps, AxisTaps]:
    """Return the taps of all outputs of an axis and of none, or of none and of all unless ``is_small``."""
    # 1 times the number of outputs cuts behind the last, 0 times before the first.
    at = ops.elementwise("multiply", is_small, _count(ops, axis.indices))
    indices = _halves(ops, axis.indices, at)
    weights = (None, None) if axis.weights is None else _halves(ops, axis.weights, at)
    first, others = (replace(axis, indices=indices[half], weights=weights[half]) for half in (0, 1))
    return first, others


def _halves(ops: Ops, array: Columns, at: Value) -> tuple[Columns, Columns]:
    if isinstance(array, tuple):
        columns = [_cut_column(ops, column, at) for column in array]
        return tuple(first for first, _ in columns), tuple(others for _, others in columns)
    return _cut_column(ops, array, at)


def _cut_column(ops: Ops, array: Column, at: Value) -> tuple[Tensor[Ops], Tensor[Ops]]:
    first, others = ops.cut(_value(ops, array), at)
    return Tensor(ops, first), Tensor(ops, others)


def _value(ops: Ops, array: Column) -> Value:
    if isinstance(array, Tensor):
        return array.value
    return ops.constant(array.astype(np.int64 if np.issubdtype(array.dtype, np.integer) else np.float32))


def _largest(ops: Ops, x: Value, axes: Sequence[AxisTaps], shape: PartialShape) -> float | Tensor[Ops]:
    """Return an upper bound of the elements of each tensor between ``x`` and ``x`` resized along all axes."""
    sizes = ops.convert(ops.lengths(x), "float32") if None in shape else None
    factors: list[int | Tensor[Ops]] = [
        entry(ops, sizes, at) if size is None else size for at, size in enumerate(shape)
    ]
    taps: int | Tensor[Ops] = 1
    for axis in axes:
        # Axes are resized sequentially: between two of them, each axis has its size before or after.
        factors[axis.axis] = _larger(ops, factors[axis.axis], _length(ops, axis.indices))
        taps = _larger(ops, taps, gathered_at_once(ops, axis))
    known = math.prod(factor for factor in (*factors, taps) if not isinstance(factor, Tensor))
    return functools.reduce(
        operator.mul, (factor for factor in (*factors, taps) if isinstance(factor, Tensor)), float(known)
    )


def _larger(ops: Ops, left: int | Tensor[Ops], right: int | Tensor[Ops]) -> int | Tensor[Ops]:
    if isinstance(left, Tensor) or isinstance(right, Tensor):
        return Functions(ops).maximum(left, right)
    return max(left, right)


def _length(ops: Ops, indices: Columns) -> int | Tensor[Ops]:
    """Return the size to which an axis is resized."""
    column = _first(indices)
    return length(ops, column, 0) if isinstance(column, Tensor) else len(column)


def _count(ops: Ops, indices: Columns) -> Value:
    """Return the same as int64 of shape [1]."""
    column = _first(indices)
    if not isinstance(column, Tensor):
        return ops.constant(np.array([len(column)]))
    return ops.gather(ops.lengths(column.value), ops.constant(np.array([0])), 0)


def _first(indices: Columns) -> Column:
    return indices[0] if isinstance(indices, tuple) else indices


@dataclass(frozen=True, slots=True, kw_only=True)
class Decomposed:
    """The output of the operations, a one-line summary of them, and their accuracy.

    ``at_run_time`` is whether they compute indices or weights, which are constants otherwise; ``bound_within`` is the
    largest difference of integers, if that is the grade.
    """

    output: Value
    form: str
    grade: Grade
    at_run_time: bool
    within: int = 0


def decompose(ops: Ops, x: Value, op: ResizeOp, *, target: Value = None, roi: Value = None) -> Decomposed:
    """Return ``x`` (of the shape of ``op``, None where dynamic) resized by primitive operations.

    ``target`` is the tensor of sizes or scales, and ``roi`` that of the crop's windows, if they are inputs at run
    time. Floats are computed in float32; integers in the steps of the source's runtime if these are known, else
    in float32 too, rounded once.
    """
    assert op.shape is not None
    spec, dtype = listed_axes(op.spec, op.shape), op.dtype or "float32"
    x, shape = _padded(ops, x, spec, op.shape)
    # Integers in the library's own passes come first: they are exact, and the float sums below only bounded.
    if (integral := _integral_passes(spec, shape, dtype)) is not None:
        return _in_passes(ops, x, integral, shape, dtype)
    if sums_integers(spec, dtype) and spec.is_of_litert:  # whose integer weights run time computes
        run_time = list(run_time_axes(ops, x, spec, len(shape), target, roi))
        return _in_passes(ops, x, of_litert(ops, spec, run_time, dtype), shape, dtype, at_run_time=True)
    # From here on, sums are of floats, or of integers in the steps of a runtime.
    spec, within_bound = _in_known_sums(op, spec, shape, dtype)
    known, rest = _parts(spec, shape)
    copies = isinstance(spec.kernel, Nearest)
    if rest:
        _check_open(op, spec)
    open_axes = list(run_time_axes(ops, x, rest, len(shape), target, roi))
    # Copies keep their type, since float32 would round int32 beyond 2**24.
    y = x if copies or dtype == "float32" else ops.convert(x, "float32")
    steps = _integer_steps(ops, x, spec, known, open_axes, shape, dtype)
    if steps and not isinstance(spec.coordinates, Crop):  # the taps are in the steps
        open_taps = [AxisTaps(axis=axis.axis, indices=(), weights=()) for axis in open_axes]
    else:
        open_taps = [run_time_taps(ops, spec, axis) for axis in open_axes]
    axes = [*_constant_axes(known, shape), *open_taps]
    if steps:
        y = Steps(ops, functools.partial(resized_along, ops), dtype).run(y, steps, shape)
    else:
        y = resized_along(ops, y, axes, shape)
    if not copies:
        y = _stored(ops, y, dtype, IntegerRounding.CUT_OFF if steps else rounding_at_once(spec, dtype))
    if isinstance(spec.coordinates, Crop):
        # The value replaces outputs, so it comes after their rounding and has their type.
        y = _extrapolated(ops, y, axes, len(shape), extrapolated(spec, dtype))
    return Decomposed(
        output=y,
        form=_form(axes, rest),
        grade=Grade.INTEGERS_WITHIN
        if within_bound
        else _grade(spec, axes, rest, sums_integers=sums_integers(spec, dtype), steps=steps),
        at_run_time=rest is not None,
        within=within_bound,
    )


def _integral_passes(spec: ResizeSpec, shape: PartialShape, dtype: str) -> tuple[Pass, ...] | None:
    """Return the passes of integral weights for integers; None if int32 nodes cannot hold their sums."""
    if not sums_integers(spec, dtype) or spec.before:
        return None
    known, rest = _parts(spec, shape)
    of_opencv = spec.arithmetic in OF_OPENCV  # whose sums depend on the number of channels, too
    if known is None or rest or (of_opencv and None in shape):
        return None
    bound = plan(known, with_ones(shape))
    integer_passes = passes(bound, dtype) if bound.spec.has_passes else ()
    return integer_passes if integer_passes and are_integral(integer_passes, dtype) else None


def _in_passes(
    ops: Ops, x: Value, passes: Sequence[AnyPass], shape: PartialShape, dtype: str, *, at_run_time: bool = False
) -> Decomposed:
    """Return integers summed in passes, exact to the last bit."""
    y = IntegerPasses(ops, functools.partial(resized_along, ops), dtype).run(x, passes, shape)
    listing = ", ".join(str(axis) for axis in sorted(stage.axis for stage in passes))
    form = f"integral sums along axes {listing}" + (_AT_RUN_TIME if at_run_time else "")
    grade = Grade.DECOMPOSED if at_run_time else Grade.EXACT_FOR_SHAPE
    return Decomposed(output=y, form=form, grade=grade, at_run_time=at_run_time)


_AT_RUN_TIME = ", indices at run time"


def _check_open(op: ResizeOp, spec: ResizeSpec) -> None:
    """Raise InexactError for a mode that has no formula for dynamic axes."""
    is_foreign = spec.arithmetic.is_library and not _is_torch_at_run_time(spec)
    if is_foreign or not isinstance(spec.kernel, Nearest | Linear | Cubic | Area | Mean):
        raise InexactError(op.name, _TARGET, reason=f"mode {spec.kernel.word} needs static dimensions")
    if spec.box is not None or spec.before is not None or spec.kernel.border is not Border.EDGE:
        reason = "a box, another border, or a step before the resize, needs static dimensions"
        raise InexactError(op.name, _TARGET, reason=reason)


def _is_torch_at_run_time(spec: ResizeSpec) -> bool:
    """Return whether nodes compute the coordinates of PyTorch: all but the fused ones of nearest-exact."""
    is_known = spec.coordinates in (Coordinates.ASYMMETRIC, Coordinates.HALF_PIXEL, Coordinates.ALIGN_CORNERS)
    return spec.arithmetic is Arithmetic.TORCH and is_known and isinstance(spec.kernel, Nearest | Linear | Cubic | Mean)


def _in_known_sums(op: ResizeOp, spec: ResizeSpec, shape: PartialShape, dtype: str) -> tuple[ResizeSpec, int]:
    """Return a spec whose integers are summed as nodes can, and their largest difference from its own.

    An image library's own sums are rounded once instead, if a static shape gives a bound; but not after blocks, which
    are rounded first.
    """
    if "float" in dtype:
        return spec.of_floats(), 0
    if not sums_integers(spec, dtype) or not spec.sums_of_integers:
        return spec, 0
    # Graphs round half to even, as the Round of ONNX does.
    once = replace(spec, integers=IntegerRounding.HALF_EVEN, pads=())
    needed = spec.waits or any(shape[axis] is None for axis in resolve_axes(spec.axes, len(shape)))
    sums = None if needed or spec.before else bound_within(replace(spec, pads=()), once, with_ones(shape), dtype)
    if sums is None:
        needs = ", which needs static sizes" if needed else ""
        raise InexactError(op.name, _TARGET, reason=f"integers are summed as {spec.sums_of_integers}{needs}")
    return replace(once, pads=spec.pads), sums


_TARGET = "primitive operations"


def _integer_steps(
    ops: Ops,
    x: Value,
    spec: ResizeSpec,
    known: ResizeSpec | None,
    open_axes: list[RunTimeAxis],
    shape: PartialShape,
    dtype: str,
) -> tuple[Step, ...]:
    """Return the steps in which the source's runtime computes integers; none if unknown, or for floats."""
    rank, plans = len(shape), changing(plan(known, with_ones(shape))) if known else {}
    axes: dict[int, AxisPlan | RunTimeAxis] = {**plans, **{axis.axis: axis for axis in open_axes}}
    stepped = axes_of_steps(spec, frozenset(axes), rank, dtype)
    if stepped is None or any(axis.out_size == 0 for axis in plans.values()):
        return ()
    in_order = tuple(
        steps(spec, stepped, {a: _sampled(ops, x, axes.get(a), a, shape[a]) for a in stepped}, rank, dtype)
    )
    # A runtime may or may not fuse two nodes, and on some processors only.
    fused = any(isinstance(step, Along) and step.sum is Sum.FUSED for step in in_order)
    return () if fused else in_order  # a graph cannot request that


def _sampled(ops: Ops, x: Value, axis: AxisPlan | RunTimeAxis | None, place: int, size: int | None) -> Sampled[Any]:
    """Return the source coordinates of an axis' outputs, as arrays if they are known."""
    xp = Functions(ops)
    if isinstance(axis, RunTimeAxis):
        return Sampled(length=axis.in_size, scale=axis.scale, at=coordinates(xp, axis), xp=xp)
    if axis is not None or size is not None:
        return sampled(axis, size or 0, (0, axis.out_size if axis else size or 0))
    count = entry(ops, ops.convert(ops.lengths(x), "float32"), place)
    return Sampled(length=count, scale=1.0, at=xp.arange(0, count), xp=xp)


def _padded(ops: Ops, x: Value, spec: ResizeSpec, shape: PartialShape) -> tuple[Value, PartialShape]:
    """Pad ``x`` with the zeros of the spec."""
    if not spec.pads:
        return x, shape
    return ops.pad(x, *spec.padding(len(shape))), spec.padded(shape)


def _parts(spec: ResizeSpec, shape: PartialShape) -> tuple[ResizeSpec | None, ResizeSpec | None]:
    """Return the resize of the static axes and that of the dynamic ones; None for an empty one."""
    bare = replace(spec, pads=())
    axes = resolve_axes(spec.axes, len(shape))
    crop = spec.coordinates if isinstance(spec.coordinates, Crop) else None
    open_target = not isinstance(spec.target, Sizes | Scales) or (crop is not None and crop.roi is None)
    places = [place for place, axis in enumerate(axes) if open_target or shape[axis] is None]
    # Here one scale, or one decision, is common to all axes, and depends on the dynamic ones.
    joined = (
        spec.aspect is not Aspect.STRETCH
        or spec.kernel.antialias is Antialias.ANY_SHRINKING
        or (spec.gives_scales and spec.step is StepKind.GIVEN_UNLESS_DOUBLED)
    )
    if not places:
        return bare, None
    # No axis can be a constant then, even a static one.
    if len(places) == len(axes) or joined:
        return None, bare
    others = [place for place in range(len(axes)) if place not in places]
    listing = replace(bare, axes=axes)
    return listing.only(others), listing.only(places)


def _constant_axes(spec: ResizeSpec | None, shape: PartialShape) -> Iterator[AxisTaps]:
    """Yield the executor's taps, the axis that shrinks most first, but axes without outputs last.

    OpenVINO's CPU plugin dies of a Gather from an empty tensor.
    """
    if spec is None:
        return
    bound = plan(spec, with_ones(shape))
    pairs = sorted(
        zip(bound.axes, axis_taps(bound), strict=True),
        key=lambda pair: (pair[0].out_size == 0, pair[0].out_size / pair[0].in_size),
    )
    for axis, taps in pairs:
        copies = taps.weights is None or axis.out_size == 0
        yield AxisTaps(
            axis=axis.axis,
            in_size=axis.in_size,
            count=taps.indices.shape[1],
            indices=taps.indices[:, 0] if copies else taps.indices,
            weights=None if copies else taps.weights,
            beyond=taps.outside,
        )


def _stored(ops: Ops, x: Value, dtype: str, rounding: IntegerRounding) -> Value:
    """Return floats in the element type of the resize; the conversion to integers truncates by itself."""
    if "int" in dtype:
        x = bounded(ops, rounded(ops, x, rounding), dtype)
    return x if dtype == "float32" else ops.convert(x, dtype)


def _extrapolated(ops: Ops, y: Value, axes: list[AxisTaps], rank: int, value: Array) -> Value:
    """Fill the pixels that a crop takes from outside the image."""
    for axis in axes:
        if axis.beyond is not None and (isinstance(axis.beyond, Tensor) or axis.beyond.any()):
            mask = aligned(ops, axis.beyond, range(1, rank - axis.axis))
            y = ops.elementwise("select", mask, ops.constant(value), y)
    return y


def _form(axes: list[AxisTaps], at_run_time: ResizeSpec | None) -> str:
    """Return which axes are copied, which are weighted, and whether indices are constants."""
    if not axes:
        return "nothing"
    listing = ", ".join(str(axis.axis) for axis in sorted(axes, key=lambda axis: axis.axis))
    kind = "copies" if all(axis.weights is None for axis in axes) else "weighted sums"
    return f"{kind} along axes {listing}" + (_AT_RUN_TIME if at_run_time else "")


_NOT_AT_RUN_TIME = (Arithmetic.EXACT, Arithmetic.LITERT, Arithmetic.TENSORRT)  # no graph finds a nearest pixel in these


def _grade(
    spec: ResizeSpec,
    axes: list[AxisTaps],
    at_run_time: ResizeSpec | None,
    *,
    sums_integers: bool,
    steps: tuple[Step, ...],
) -> Grade:
    """Return the grade: constant taps are exact for one size only, and run time has no rationals to decide a tie."""
    if sums_integers and axes and not (steps and all(map(is_exact, steps))):
        return Grade.INTEGERS_WITHIN_1
    if at_run_time and spec.arithmetic in _NOT_AT_RUN_TIME and isinstance(spec.kernel, Nearest):
        return Grade.EXACT_BUT_TIES
    return Grade.EXACT_FOR_SHAPE if any(axis.in_size is not None for axis in axes) else Grade.DECOMPOSED
