"""From a spec and an input shape to one plan per axis, and to taps: source pixels and their weights.

First boxes and block-averaging before a resize, then axes, sizes, scales and pads (``plan``), then the taps.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from ir_interp.errors import ShapeError, SpecError
from ir_interp.files.memory import check_bytes
from ir_interp.plan import formulas, library_weights
from ir_interp.plan.formulas import (
    AxisPlan,
    Before,
    Bell,
    Blocks,
    Positions,
    affine,
    positions,
    single,
    within,
)
from ir_interp.shapes import ARRAYS, Operations, Shape, Values, resolve_axes
from ir_interp.specs import (
    Antialias,
    Area,
    Arithmetic,
    Aspect,
    Box,
    Continuous,
    Coordinates,
    Crop,
    Gaussian,
    Integers,
    Kernel,
    Mean,
    Mode,
    Nearest,
    Reduce,
    ResizeSpec,
    Rounding,
    Scales,
    Sizes,
    Smooth,
    Step,
)
from ir_interp.specs.resize_spec import of_lengths


@dataclass(frozen=True, slots=True)
class Reduced:
    """The blocks of each resized axis, the shape after averaging, and the resize from there."""

    blocks: tuple[Blocks, ...]
    shape: Shape
    spec: ResizeSpec


@lru_cache(maxsize=512)
def reduced(spec: ResizeSpec, shape: Shape) -> Reduced | None:
    """Return the blocks that are averaged in an input of ``shape``, pads included; None if there are none.

    Formulas: ``Image.resize`` of Pillow, ``reducing_gap``. If one axis is averaged, the others are cropped, too.
    """
    if not isinstance(spec.before, Reduce) or not isinstance(spec.target, Sizes) or 0 in spec.target.values:
        return None
    axes = resolve_axes(spec.axes, len(shape))
    in_sizes = [shape[axis] for axis in axes]
    check_box(spec, in_sizes)
    box = spec.box or tuple((0.0, float(in_size)) for in_size in in_sizes)
    sizes = [int((stop - start) / out / spec.before.gap) or 1 for (start, stop), out in _each(box, spec.target)]
    if max(sizes, default=1) == 1:
        return None
    assert not isinstance(spec.kernel, Nearest | Area | Mean | Mode)
    reach = float(formulas.radius(spec.kernel)) - 0.5
    blocks, boxes, averaged = [], [], list(shape)
    for axis, size, in_size, ((start, stop), out) in zip(axes, sizes, in_sizes, _each(box, spec.target), strict=True):
        # Formula: ``_get_safe_box`` of Pillow's Image.py. Pixels beside the box count if the kernel reaches them.
        beside = reach * ((stop - start) / out)
        first = max(0, int(start - beside))
        blocks.append(Blocks(first, min(in_size, math.ceil(stop + beside)), size))
        boxes.append(((start - first) / size, (stop - first) / size))
        averaged[axis] = blocks[-1].count(in_size)
    return Reduced(tuple(blocks), tuple(averaged), replace(spec, box=tuple(boxes), before=None, pads=(), axes=axes))


def _each(box: tuple[tuple[float, float], ...], target: Sizes) -> Sequence[tuple[tuple[float, float], int]]:
    return list(zip(box, target.values, strict=True))


def check_box(spec: ResizeSpec, in_sizes: Sequence[int]) -> None:
    """Raise ShapeError for a box that exceeds axes of these sizes."""
    for (start, stop), in_size in zip(spec.box or (), in_sizes, strict=bool(spec.box)):
        if stop > in_size:
            raise ShapeError(f"the box from {start:g} to {stop:g} exceeds an axis of {in_size} pixels")


def stretches(spec: ResizeSpec, in_sizes: Sequence[int]) -> list[tuple[Fraction, Fraction]]:
    """Return the start and the size of the resized part of each axis; those of a box in Pillow's float32."""
    if spec.box is None:
        return [(Fraction(0), Fraction(in_size)) for in_size in in_sizes]
    check_box(spec, in_sizes)
    if spec.arithmetic is not Arithmetic.PILLOW:
        return [(Fraction(start), Fraction(stop) - Fraction(start)) for start, stop in spec.box]
    singles = [(np.float32(start), np.float32(stop)) for start, stop in spec.box]
    return [(Fraction(float(start)), Fraction(float(stop - start))) for start, stop in singles]


LONGEST = 2**53
"""The largest size of an axis: positions are float64, which represents no larger integers one by one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A spec bound to an input shape. ``axes`` contains only axes whose values change."""

    spec: ResizeSpec
    in_shape: Shape
    padding: tuple[tuple[int, int], ...]
    axes: tuple[AxisPlan, ...]
    out_shape: Shape


@lru_cache(maxsize=512)
def plan(spec: ResizeSpec, shape: Shape) -> Plan:
    """Return ``spec`` bound to an input ``shape``.

    Raises ShapeError if the two do not fit, and SpecError if the spec depends on a value at run time.
    """
    if not isinstance(spec.target, Sizes | Scales):
        target = spec.target.value if spec.target else "sizes or scales"
        example = "--scales 2,1.5" if spec.gives_scales else "--sizes 50,60"
        raise SpecError(f"{target} are missing: this resize takes them at run time; pass them, as in {example}")
    axes = check_rank(spec, len(shape))
    _check_lengths(shape)
    windows = _windows(spec.coordinates, len(axes))
    padding = tuple(zip(*spec.padding(len(shape)), strict=True))
    padded = tuple(size + begin + end for size, (begin, end) in zip(shape, padding, strict=True))
    reduction = reduced(spec, padded)
    resize, first = (spec, padded) if reduction is None else (reduction.spec, reduction.shape)
    if resize.arithmetic is Arithmetic.IPP and not library_weights.takes(resize, first):
        resize = replace(resize, arithmetic=Arithmetic.OPENCV)
    in_sizes = [first[axis] for axis in axes]
    starts, spans = zip(*stretches(resize, in_sizes), strict=True) if axes else ((), ())
    out_sizes, asked = _lengths(resize, spans, windows)
    # PyTorch chooses its loop by the output, so the arithmetic of coordinates is known only now.
    resize = of_lengths(resize, out_sizes)
    steps = _step_scales(resize, asked, out_sizes, spans)
    bound = zip(axes, in_sizes, out_sizes, asked, steps, windows, starts, strict=True)
    plans = [_axis_plan(resize, *parts) for parts in bound]
    plans = _copied(plans, spec)
    if reduction is not None:
        pairs = zip(plans, reduction.blocks, strict=True)
        # Coordinates count blocks; `taps` composes them with the blocks, which count pixels of the padded input.
        plans = [replace(axis_plan, in_size=padded[axis_plan.axis], before=blocks) for axis_plan, blocks in pairs]
    out = list(padded)
    for axis, size in zip(axes, out_sizes, strict=True):
        out[axis] = size
    _check_lengths(out)
    # Every later step skips the others: executor, conversions and comparisons see axes that change only.
    changing = tuple(p for p in plans if not _is_identity(p, spec))
    return Plan(spec=spec, in_shape=shape, padding=padding, axes=changing, out_shape=tuple(out))


def _check_lengths(out_sizes: Sequence[int]) -> None:
    longest = max(out_sizes, default=0)
    if longest > LONGEST:
        raise ShapeError(f"an axis of {longest} elements; the limit is {LONGEST}")


def check_rank(spec: ResizeSpec, rank: int) -> tuple[int, ...]:
    """Return the axes of ``spec`` counted from the first. Raises ShapeError for a rank that the spec does not fit."""
    axes = resolve_axes(spec.axes, rank)
    if isinstance(spec.target, Sizes | Scales) and len(spec.target) != len(axes):
        raise ShapeError(f"{spec.target} do not fit {len(axes)} axes")
    if isinstance(spec.coordinates, Crop) and spec.coordinates.roi and len(spec.coordinates.roi) != len(axes):
        raise ShapeError(f"roi has {len(spec.coordinates.roi)} windows for {len(axes)} axes")
    resolve_axes(tuple(pad.axis for pad in spec.pads), rank)
    return axes


def _lengths(
    spec: ResizeSpec, in_sizes: Sequence[Fraction], windows: Sequence[tuple[float, float]]
) -> tuple[list[int], list[Fraction]]:
    """Return the output size and the scale of each resized axis, of which ``in_sizes`` pixels are resized.

    The scale is the requested one, or that of an aspect policy.
    """
    if isinstance(spec.target, Sizes):
        if spec.aspect is not Aspect.STRETCH:
            return _keep_aspect(spec.target.values, in_sizes, spec)
        return list(spec.target.values), list(map(_ratio, spec.target.values, in_sizes))
    assert isinstance(spec.target, Scales)
    # ONNX and OpenVINO store scales as float32; the factors of image libraries are float64.
    if spec.integers is Integers.RATIONAL:  # by which 0.7 is 7 / 10
        scales = [Fraction(repr(value)) for value in spec.target.values]
    else:
        is_double = spec.arithmetic.is_library
        scales = [Fraction(value if is_double else float(np.float32(value))) for value in spec.target.values]
    taken = [size * part for size, part in zip(in_sizes, _parts(spec.coordinates, windows), strict=True)]
    out_sizes = [scaled_length(size, scale, spec.arithmetic) for size, scale in zip(taken, scales, strict=True)]
    for out_size, (start, end) in zip(out_sizes, windows, strict=True):
        if out_size < 0:
            raise ShapeError(f"the window from {start:g} to {end:g} has no size that scales can multiply; use sizes")
    return out_sizes, scales


def _parts(coordinates: Coordinates | Crop, windows: Sequence[tuple[float, float]]) -> list[Fraction]:
    """Return the part of each axis that scales multiply."""
    if not isinstance(coordinates, Crop) or not coordinates.scales_window:
        return [Fraction(1)] * len(windows)
    return [Fraction(end) - Fraction(start) for start, end in windows]


def _step_scales(
    spec: ResizeSpec, asked: Sequence[Fraction], outs: Sequence[int], sizes: Sequence[Fraction]
) -> list[Fraction]:
    """Return the scales that determine the steps along axes of ``sizes`` pixels."""
    ratios = list(map(_ratio, outs, sizes))
    if spec.step is Step.RATIO:
        return ratios
    own_ratios = _OWN_RATIOS.get(spec.step, ()) if spec.gives_scales else ()
    if spec.step is Step.GIVEN_UNLESS_ALL_EQUAL and any(ratio != 1 for ratio in ratios):
        own_ratios = ()
    return [ratio if ratio in own_ratios else scale for ratio, scale in zip(ratios, asked, strict=True)]


_OWN_RATIOS = {  # axes whose step is the ratio of their sizes, whatever the scale
    Step.GIVEN_UNLESS_EQUAL: (1,),
    Step.GIVEN_UNLESS_DOUBLED: (1, 2),
    Step.GIVEN_UNLESS_ALL_EQUAL: (1,),
}


def scaled_length(size: Fraction, ratio: Fraction, arithmetic: Arithmetic) -> int:
    """Return floor(size * scale), the product rounded as in each arithmetic; OpenCV and SciPy round it half to even."""
    if arithmetic is Arithmetic.EXACT:
        return math.floor(size * ratio)
    if arithmetic.is_library:
        length = float(size) * float(ratio)
        return round(length) if arithmetic.rounds_lengths else math.floor(length)
    scale = np.float32(float(ratio))
    # OpenVINO adds 1e-6, so that a product just below an integer counts as that integer
    factor = scale + np.float32(1e-6) if arithmetic is Arithmetic.OPENVINO else scale
    with np.errstate(over="ignore"):
        product = single(size) * factor
    if not np.isfinite(product):
        raise ShapeError(f"scale {scale:g} of an axis of size {size} gives no finite size")
    return int(product)


def _keep_aspect(
    sizes: tuple[int, ...], in_sizes: Sequence[Fraction], spec: ResizeSpec
) -> tuple[list[int], list[Fraction]]:
    """Return sizes and the common scale under an aspect policy (ONNX Resize-18: round half up)."""
    if 0 in in_sizes:
        raise ShapeError("an aspect ratio cannot be kept on an axis of size 0")
    choose = min if spec.aspect.takes_smallest else max
    scale = choose(map(_ratio, sizes, in_sizes))
    exact = spec.arithmetic is Arithmetic.EXACT
    products = [scale * size if exact else Fraction(float(single(scale) * single(size))) for size in in_sizes]
    return [math.floor(product + Fraction(1, 2)) for product in products], [scale] * len(in_sizes)


def _ratio(out: int, size: Fraction) -> Fraction:
    return out / size if size else Fraction(1)


def _axis_plan(
    spec: ResizeSpec,
    axis: int,
    in_size: int,
    out_size: int,
    asked: Fraction,
    scale: Fraction,
    window: tuple[float, float],
    start: Fraction,
) -> AxisPlan:
    if in_size == 0 and out_size > 0:
        raise ShapeError(f"axis {axis} has size 0 and cannot be resized to size {out_size}")
    unbound = AxisPlan(
        axis=axis,
        in_size=in_size,
        out_size=out_size,
        scale=scale,
        asked=asked,
        step=Fraction(1),
        offset=Fraction(0),
        coordinates=spec.coordinates,
        window=window,
        length=spec.length,
        arithmetic=spec.arithmetic,
        start=start,
        before=_smoothed(spec, in_size, out_size),
    )
    if out_size == 0:
        return unbound
    step, offset = affine(unbound)
    return replace(unbound, step=step, offset=offset)


def _smoothed(spec: ResizeSpec, in_size: int, out_size: int) -> Before | None:
    """Return the smoothing of an axis before the resize, or None."""
    if not isinstance(spec.before, Smooth) or not out_size:
        return None
    deviation = (in_size / out_size - 1) / 2
    return Bell(deviation, spec.before.border) if deviation > _SHARP else None


_SHARP = 1e-15  # a standard deviation up to which nothing is smoothed


def _copied(axes: list[AxisPlan], spec: ResizeSpec) -> list[AxisPlan]:
    """Return axes with those that Pillow copies marked: axes that keep their size, and all axes if they only shift."""
    if spec.arithmetic is not Arithmetic.PILLOW:
        return axes
    moved = all(axis.scale == 1 and axis.start.denominator == 1 for axis in axes)
    return [replace(axis, copies=moved or (axis.scale == 1 and axis.in_size == axis.out_size)) for axis in axes]


def _is_identity(axis: AxisPlan, spec: ResizeSpec) -> bool:
    """Return whether an axis is unchanged: its coordinates are, and no filter widens or smooths."""
    if axis.before is not None or (spec.kernel.smooths and not axis.copies):
        return False
    stays = axis.in_size == axis.out_size and axis.step == 1 and axis.offset == 0
    # align_corners may have step 1 under another scale, by which antialias still widens the kernel.
    return stays and (axis.scale == 1 or not spec.kernel.is_antialiased)


def _windows(coordinates: Coordinates | Crop, count: int) -> list[tuple[float, float]]:
    if not isinstance(coordinates, Crop):
        return [(0.0, 1.0)] * count
    if coordinates.roi is None:
        raise SpecError("roi is an input of the resize at run time; tf_crop_and_resize needs its values")
    return [(float(np.float32(start)), float(np.float32(end))) for start, end in coordinates.roi]


BYTES_A_TAP = 48
"""Bytes of an index, a weight, and their intermediate values."""
_MOST_KEPT = 2**16  # outputs of a plan of which there may be hundreds
_NOTHING = 1e-9  # a smaller sum of weights is a rounding error of 0


@dataclass(frozen=True, slots=True, eq=False)
class Taps:
    """Output ``i`` is the sum over ``t`` of ``weights[i, t] * source[indices[i, t]]``; a copy where weights is None.

    ``outside`` marks the outputs that a crop fills with its extrapolation value. ``copies`` tells of some outputs of an
    axis whether all of that axis are copies; None if these are all.
    """

    indices: NDArray[np.intp]
    weights: NDArray[np.float64] | None
    outside: NDArray[np.bool_] | None = None
    copies: bool | None = None

    def of(self, start: int, stop: int) -> Taps:
        """Return the taps of some outputs."""
        return replace(
            self,
            indices=self.indices[start:stop],
            weights=None if self.weights is None else self.weights[start:stop],
            outside=None if self.outside is None else self.outside[start:stop],
        )


def ascending(indices: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the distinct indices, in ascending order.

    ``numpy.unique`` would import a module on its first call; a process forked meanwhile would wait for it forever.
    """
    ordered: NDArray[np.intp] = np.sort(indices, axis=None)
    kept: NDArray[np.bool_] = np.diff(ordered, prepend=-1) != 0
    return np.compress(kept, ordered)


def axis_taps(plan: Plan) -> tuple[Taps, ...]:
    """Return the taps of each changing axis of ``plan``, in the order of ``plan.axes``.

    Raises MemoryBoundError if they exceed the memory limit; see ``memory``.
    """
    return (_short if max((axis.out_size for axis in plan.axes), default=0) <= _MOST_KEPT else _long)(plan)


def window_taps(plan: Plan, place: int, outputs: tuple[int, int]) -> Taps:
    """Return the taps of a segment of the outputs of a changing axis, at a place among ``plan.axes``.

    They are those of ``axis_taps``; along a long axis, no others are computed. Raises MemoryBoundError as that does.
    """
    axis, is_kept = plan.axes[place], not is_long(plan)
    taps = axis_taps(plan)[place].of(*outputs) if is_kept else _checked_taps(plan, replace(axis, outputs=outputs))
    if taps.weights is None or outputs == (0, axis.out_size):
        return taps
    return replace(taps, copies=_all_copies(plan, place))


def is_long(plan: Plan) -> bool:
    """Return whether an axis has so many outputs that the taps of all are not kept."""
    return max((axis.out_size for axis in plan.axes), default=0) > _MOST_KEPT


@lru_cache(maxsize=64)
def _all_copies(plan: Plan, place: int) -> bool:
    """Return whether all outputs of an axis are copies: most axes show at their beginning that they are none."""
    return all(map(_are_copies, segments(plan, place)))


def segments(plan: Plan, place: int) -> Iterator[Taps]:
    """Yield the taps of all outputs of an axis, a segment of a long one at a time."""
    if not is_long(plan):
        yield axis_taps(plan)[place]
        return
    axis = plan.axes[place]
    for start in range(0, axis.out_size, _MOST_KEPT):
        stop = min(start + _MOST_KEPT, axis.out_size)
        yield _checked_taps(plan, replace(axis, outputs=(start, stop)))


def _are_copies(taps: Taps) -> bool:
    """Return whether every output is one input, times 1."""
    if taps.weights is None:
        return True
    first = taps.indices[np.arange(len(taps.indices)), (taps.weights != 0).argmax(axis=1), None]
    is_first = (taps.indices == first) | (taps.weights == 0)
    return bool(is_first.all() and (taps.weights.sum(axis=1) == 1).all())


def _axis_taps(plan: Plan) -> tuple[Taps, ...]:
    return tuple(_checked_taps(plan, axis) for axis in plan.axes)


def _checked_taps(plan: Plan, axis: AxisPlan) -> Taps:
    """Return the taps of an axis. Raises MemoryBoundError if they exceed the memory limit."""
    what = f"to resize axis {axis.axis} from {axis.in_size} to {axis.out_size}"
    check_bytes(BYTES_A_TAP * count(plan, axis), what)
    any_shrinking = any(axis_plan.scale < 1 for axis_plan in plan.axes)
    any_growing = any(axis_plan.scale > 1 for axis_plan in plan.axes)
    return _all_taps(plan, axis, any_shrinking, any_growing)


def _all_taps(plan: Plan, axis: AxisPlan, any_shrinking: bool, any_growing: bool) -> Taps:
    """Return the taps of an axis, composed of those of its resize and of the filter before."""
    if axis.before is None or not axis.out_size:
        return _taps(plan.spec.kernel, axis, any_shrinking, any_growing)
    rest = replace(axis, in_size=axis.before.count(axis.in_size), before=None)
    places, among = axis.before.weighted(axis.in_size)
    last = _taps(plan.spec.kernel, rest, any_shrinking, any_growing)
    assert last.weights is not None
    indices, weights = places[last.indices], last.weights[:, :, None] * among[last.indices]
    count = len(last.indices)
    return Taps(indices.reshape(count, -1).astype(np.intp), weights.reshape(count, -1))


# A plan of up to 2**16 outputs takes megabytes, so hundreds are kept; of longer ones, only the last.
_short, _long = lru_cache(maxsize=512)(_axis_taps), lru_cache(maxsize=1)(_axis_taps)


def count(plan: Plan, axis: AxisPlan) -> int:
    """Return the number of taps of an axis, or an upper bound, without computing them."""
    kernel, outputs = plan.spec.kernel, axis.out_size
    if axis.outputs is not None and axis.before is None:
        outputs = axis.outputs[1] - axis.outputs[0]
    if isinstance(kernel, Area | Mean | Mode):
        # An interval of `step` pixels touches one more where it starts within a pixel.
        return outputs * (math.ceil(axis.step or Fraction(axis.in_size, max(axis.out_size, 1))) + 1)
    if isinstance(kernel, Nearest):
        return outputs
    wider = widening(kernel.antialias, axis.scale, any(axis_plan.scale < 1 for axis_plan in plan.axes))
    block = 1 if axis.before is None else axis.before.reach
    return outputs * 2 * math.ceil(formulas.radius(kernel) / wider) * block if axis.out_size else 0


def _taps(kernel: Kernel, axis: AxisPlan, any_shrinking: bool, any_growing: bool) -> Taps:
    if axis.out_size == 0:
        return Taps(np.zeros((0, 1), np.intp), None if isinstance(kernel, Nearest) else np.zeros((0, 1)))
    if isinstance(kernel, Mean):
        return _mean(axis)
    # Pillow copies such axes before it computes any weight, so none of its roundings may apply.
    if axis.copies and not isinstance(kernel, Nearest):
        places = int(axis.start) + axis.index[:, None]
        return Taps(places, np.ones(places.shape))
    if axis.arithmetic.is_library and not isinstance(kernel, Nearest | Mode):
        weighted = library_weights.weighted(kernel, axis, any_growing=any_growing)
        if weighted is not None:
            return Taps(weighted[0].astype(np.intp), weighted[1].astype(np.float64))
    if isinstance(kernel, Area | Mode):
        return _area(axis)
    at = positions(axis)
    beyond = outside(at, axis.in_size, ARRAYS) if isinstance(axis.coordinates, Crop) else None
    if isinstance(kernel, Nearest):
        # Half pixels reach beyond both ends of an axis, and so do coordinates that float32 rounds up.
        chosen = np.clip(chosen_pixel(at, kernel.rounding, shrinks=axis.scale < 1), 0, axis.in_size - 1)
        return Taps(np.asarray(chosen)[:, None].astype(np.intp), None, beyond)
    wider = widening(kernel.antialias, axis.scale, any_shrinking)
    reach = math.ceil(formulas.radius(kernel) / wider)
    indices, distance = neighbours(at, reach, ARRAYS)
    offset = distance * float(wider)
    if isinstance(kernel, Box | Gaussian) and axis.is_rational:
        offset = formulas.settled(kernel, axis, indices, offset, wider)
    indices, weights = spread(kernel, indices, offset, axis.in_size, ARRAYS)
    return Taps(indices.astype(np.intp), weights, beyond)


def chosen_pixel(at: Positions[Values], rounding: Rounding, *, shrinks: Values | bool) -> Values:
    """Return the source index that a nearest resize takes (ONNX Resize-19, ``nearest_mode``; OpenVINO: ``simple``)."""
    match rounding:
        case Rounding.ROUND_PREFER_FLOOR:
            return at.floor + (at.half > 0)
        case Rounding.ROUND_PREFER_CEIL:
            return at.floor + (at.half >= 0)
        case Rounding.FLOOR:
            return at.floor
        case Rounding.CEIL:
            return at.floor + (at.fraction > 0)
        case Rounding.SIMPLE:
            return at.floor + ((at.fraction > 0) & shrinks)
        case _:
            assert_never(rounding)


def widening(antialias: Antialias, scale: Fraction, any_shrinking: bool) -> Fraction:
    """Return the factor of distances; below 1 the kernel covers more than its radius."""
    match antialias:
        case Antialias.OFF:
            return Fraction(1)
        case Antialias.SHRINKING:
            return min(scale, Fraction(1))
        case Antialias.ANY_SHRINKING:
            return scale if any_shrinking else Fraction(1)
        case _:
            assert_never(antialias)


def neighbours(at: Positions[Values], reach: Values | int, xp: Operations[Values]) -> tuple[Values, Values]:
    """Return the pixels [out, 2 * reach] around source coordinates, and how far behind them they are."""
    steps = xp.arange(1 - reach, reach + 1)
    return xp.expand_dims(at.floor, 1) + steps, steps - xp.expand_dims(at.fraction, 1)


def spread(
    kernel: Continuous, indices: Values, offset: Values, size: Values | int, xp: Operations[Values]
) -> tuple[Values, Values]:
    """Return indices and weights [out, taps] of pixels by their offsets from the sampling point.

    Out-of-bounds samples read the edge or are dropped.
    """
    weights = formulas.weigh(kernel, offset, xp)
    if kernel.exclude_outside:
        weights = xp.where((indices >= 0) & (indices <= size - 1), weights, 0.0)
    if formulas.sums_to_one(kernel):
        # An output without any pixel in its window is 0, not 0 / 0.
        total = xp.sum(weights, axis=1, keepdims=True)
        nothing = xp.abs(total) <= _NOTHING
        weights = xp.where(nothing, 0.0, weights / xp.where(nothing, 1.0, total))
    if isinstance(size, int):
        return xp.applied(lambda places: within(places, size, kernel.border), indices), weights
    return xp.clip(indices, 0, size - 1), weights  # a dynamic axis has no other border


def _area(axis: AxisPlan) -> Taps:
    step = axis.step or Fraction(axis.in_size, axis.out_size)
    indices, weights = covered(positions(axis), axis.in_size, step=float(step), reach=math.ceil(step), xp=ARRAYS)
    return Taps(indices.astype(np.intp), weights)


def covered(
    at: Positions[Values], size: Values | int, *, step: Values | float, reach: Values | int, xp: Operations[Values]
) -> tuple[Values, Values]:
    """Return indices and weights [out, reach + 1]: each pixel by the part of [x, x + step) that it covers.

    TensorFlow's ResizeArea, and OpenCV's INTER_AREA. Out-of-bounds samples read the edge.
    """
    steps, begin = xp.arange(0, reach + 1), xp.expand_dims(at.fraction, 1)
    cover = xp.minimum(steps + 1, begin + step) - xp.maximum(steps, begin)
    return xp.clip(xp.expand_dims(at.floor, 1) + steps, 0, size - 1), xp.maximum(cover, 0.0) / step


def _mean(axis: AxisPlan) -> Taps:
    """Return equal weights for all pixels from floor(i * in / out) up to ceil((i + 1) * in / out)."""
    index = axis.index
    first = index * axis.in_size // axis.out_size
    stop = -(-(index + 1) * axis.in_size // axis.out_size)
    steps, count = np.arange((stop - first).max()), (stop - first)[:, None]
    weights = np.where(steps < count, 1 / count, 0.0)
    return Taps(np.minimum(first[:, None] + steps, axis.in_size - 1), weights)


def outside(at: Positions[Values], size: Values | int, xp: Operations[Values]) -> Values:
    """Return where the source coordinate is below 0 or above size - 1."""
    return (at.floor < 0) | (at.floor > size - 1) | (xp.equal(at.floor, size - 1) & (at.fraction > 0))
