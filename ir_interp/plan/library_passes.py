"""Integer sums axis by axis, as passes of a spec; the sums that OpenCV chooses; and what libraries refuse."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache, reduce

import numpy as np
from numpy.typing import NDArray

from ir_interp.errors import ShapeError, SpecError
from ir_interp.plan import library_weights
from ir_interp.plan.formulas import AxisPlan
from ir_interp.plan.taps import Plan, Taps, is_long, segments, window_taps
from ir_interp.shapes import Array, resolve_axes
from ir_interp.specs import (
    Area,
    Arithmetic,
    Between,
    Cubic,
    FixedPoint,
    FloatingPoint,
    IntegerRounding,
    Integers,
    Kernel,
    Lanczos,
    Linear,
    Mean,
    Nearest,
    Passes,
    ResizeSpec,
    Scales,
    Step,
    SumRounding,
    Unrounded,
)

ByAxis = Mapping[int, Taps]
Outputs = tuple[tuple[int, int], ...]
"""Start and stop of a segment of the outputs of every axis."""


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """Pixels of a block along each axis from some axis on, and of a complete block."""

    along: tuple[NDArray[np.int64], ...]
    complete: int

    def of(self, outputs: Outputs) -> Counts:
        """Return the counts of a segment of the outputs of each axis."""
        return replace(
            self, along=tuple(counts[slice(*part)] for counts, part in zip(self.along, outputs, strict=True))
        )

    def divisors(self) -> NDArray[np.float32]:
        """Return the number of pixels, and divisor, of each output with an incomplete block; 0 for the others."""
        counts = reduce(np.multiply.outer, self.along)
        return np.where(counts < self.complete, counts, 0).astype(np.float32)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pass:
    """A sum along one axis, of ``indices`` and ``weights`` [out, taps], whose type is that of the sum.

    In integer sums every value loses ``bits_before``, every product ``bits_each``, and the sum ``bits_after``; the sum
    is then rounded by ``rounding``. Floats are multiplied by ``factor``, and rounded likewise. Rounded sums are clipped
    to the element type.

    Taps are added up from the first to the last, unless ``is_turned``: then some are in another order, that of the
    ``vectors``, with which full blocks of ``lanes`` values of a row of the output are summed, or that of
    ``library_weights``.

    ``counts`` are those of blocks, from ``axis`` on, if some are incomplete.
    """

    axis: int
    indices: NDArray[np.intp]
    weights: Array
    bits_before: int = 0
    bits_each: int = 0
    bits_after: int = 0
    factor: float = 1.0
    rounding: SumRounding = Unrounded.KEPT
    lanes: int = 0
    of_ipp: bool = False
    counts: Counts | None = None

    @property
    def is_turned(self) -> bool:
        """Whether some sums of floats begin elsewhere than at the first tap."""
        return bool(self.lanes) or self.of_ipp

    def of(self, outputs: Outputs) -> Pass:
        """Return the pass over a segment of the outputs of every axis."""
        segment = slice(*outputs[self.axis])
        counts = self.counts and self.counts.of(outputs[self.axis :])
        return replace(self, indices=self.indices[segment], weights=self.weights[segment], counts=counts)

    def vectors(self) -> Pass:
        """Return the pass over blocks: of float32, from the last tap to the first."""
        weights = np.ldexp(self.weights[:, ::-1].astype(np.float32), -self.bits_after).astype(np.float32)
        indices, rounding = self.indices[:, ::-1], IntegerRounding.HALF_EVEN
        return replace(self, indices=indices, weights=weights, bits_after=0, rounding=rounding, lanes=0)


def needs_all_taps(bound: Plan) -> bool:
    """Return whether passes over a part of the outputs need the taps of all: for their order of sums, or their bits."""
    rounds = bound.spec.rounds
    return is_of_ipp(bound) or (isinstance(rounds, FixedPoint) and _is_narrow(rounds))


def passes(bound: Plan, dtype: str) -> tuple[Pass, ...]:
    """Return the passes of a plan for integers of a type. Raises SpecError if its fixed point is for another type."""
    return _passes(bound, dtype, tuple((0, size) for size in bound.out_shape))


def window_passes(bound: Plan, dtype: str, outputs: Outputs) -> tuple[Pass, ...]:
    """Return ``passes`` over a segment of the outputs of every axis; along a long one, no others are computed."""
    # IPP orders sums by blocks of a whole row, so the place of a segment in the row is not enough.
    if is_long(bound) and not is_of_ipp(bound):
        return _passes(bound, dtype, outputs)
    return tuple(stage.of(outputs) for stage in passes(bound, dtype))


@lru_cache(maxsize=128)
def _passes(bound: Plan, dtype: str, outputs: Outputs) -> tuple[Pass, ...]:
    if bound.spec.is_of_litert:
        return tuple(_of_litert(bound, dtype, outputs))
    taps = {axis.axis: window_taps(bound, place, outputs[axis.axis]) for place, axis in enumerate(bound.axes)}
    if is_of_ipp(bound):
        return tuple(_of_ipp(bound, taps))
    rounds = opencv_sums(bound, dtype)
    if isinstance(rounds, FixedPoint):
        return tuple(_fixed(bound, rounds, dtype, taps, outputs))
    return tuple(_floating(bound, rounds, taps) if isinstance(rounds, FloatingPoint) else _counted(bound, outputs))


def _of_ipp(bound: Plan, taps: ByAxis) -> Iterator[Pass]:
    """Yield the sums along the width, then the height, even if one of them keeps its size."""
    reach = 2 if isinstance(bound.spec.kernel, Cubic) else 1
    for axis in sorted(resolve_axes(bound.spec.axes, len(bound.in_shape)), reverse=True):
        axis_taps = taps.get(axis) or _unmoved(bound.out_shape[axis], reach)
        ends = axis == min(resolve_axes(bound.spec.axes, len(bound.in_shape)))
        yield Pass(
            axis=axis,
            indices=axis_taps.indices,
            weights=_of(axis_taps).astype(np.float32),
            rounding=IntegerRounding.HALF_EVEN if ends else Unrounded.KEPT,
            of_ipp=True,
        )


def _unmoved(size: int, reach: int) -> Taps:
    """Return the taps of outputs that are their pixels, with neighbours of weight 0."""
    steps = np.arange(1 - reach, reach + 1)
    indices = np.clip(np.arange(size)[:, None] + steps, 0, size - 1)
    return Taps(indices, np.broadcast_to((steps == 0).astype(np.float64), indices.shape))


def _of_litert(bound: Plan, dtype: str, outputs: Outputs) -> Iterator[Pass]:
    axes, behind = _segments_by_axis(bound, outputs), 0
    for place, axis in enumerate(axes):
        indices, weights, bits = library_weights.litert_weights(bound.spec, axis, dtype)
        behind += bits
        stage = Pass(axis=axis.axis, indices=indices, weights=weights)
        if place == len(axes) - 1:
            stage = replace(stage, bits_after=behind, rounding=library_weights.litert_rounding(bound.spec, dtype))
        yield stage


def _segments_by_axis(bound: Plan, outputs: Outputs) -> list[AxisPlan]:
    """Return the changing axes from the last to the first, restricted to some outputs."""
    axes = sorted(bound.axes, key=lambda axis_plan: -axis_plan.axis)
    return [replace(axis, outputs=outputs[axis.axis]) for axis in axes]


def _fixed(bound: Plan, rounds: FixedPoint, dtype: str, taps: ByAxis, outputs: Outputs) -> Iterator[Pass]:
    if np.dtype(dtype).itemsize * 8 != rounds.elements:
        raise SpecError(f"this resize sums {rounds.elements}-bit integers; the image is {dtype}")
    keeps_bits = rounds.between is not Between.ROUNDED
    resized = resolve_axes(bound.spec.axes, len(bound.in_shape)) if keeps_bits else ()
    copies = {axis: _copies(outputs[axis]) for axis in resized if axis not in taps}
    axes = _in_order(bound, rounds.passes, {**taps, **copies})
    behind = 0
    for place, (axis, axis_taps) in enumerate(axes):
        ends = place == len(axes) - 1 or not keeps_bits
        peak = _largest(bound, axis) if axis in taps and _is_narrow(rounds) else 1.0
        weights, bits = _whole(axis_taps if keeps_bits else _merged(axis_taps), rounds, peak)
        behind += bits
        cut = _CUT if rounds.between is Between.SHORTENED and place == len(axes) - 1 else (0, 0)
        yield Pass(
            axis=axis,
            indices=weights.indices,
            weights=_of(weights),
            bits_before=cut[0],
            bits_each=cut[1],
            bits_after=behind - sum(cut) if ends else 0,
            rounding=IntegerRounding.HALF_UP if ends else Unrounded.KEPT,
            lanes=rounds.lanes or 0 if _is_first(axis, bound) else 0,
        )
        behind = 0 if ends else behind


_CUT = (4, 16)  # bits of values and of products that OpenCV's linear drops, for 16-bit multiplications


def _floating(bound: Plan, rounds: FloatingPoint, by_axis: ByAxis) -> Iterator[Pass]:
    axes = _in_order(bound, rounds.passes, by_axis)
    for place, (axis, taps) in enumerate(axes):
        is_made_whole = place == len(axes) - 1 or rounds.between is Between.ROUNDED
        if copies_ends(bound) and not _is_first(axis, bound):
            taps = _merged(taps)  # both weights of an edge pixel add up to 1: a copy
        yield Pass(
            axis=axis,
            indices=taps.indices,
            weights=_of(taps).astype(f"float{rounds.bits}"),
            rounding=rounds.rounding if is_made_whole else Unrounded.KEPT,
            lanes=rounds.lanes or 0 if _is_first(axis, bound) else 0,
        )


def _is_first(axis: int, bound: Plan) -> bool:
    """Return whether an axis is the first of the resized ones, along which rows are consecutive in memory."""
    return axis == min(resolve_axes(bound.spec.axes, len(bound.in_shape)))


def _counted(bound: Plan, outputs: Outputs) -> Iterator[Pass]:
    """Yield passes that add up the pixels of a block and divide by their number, for blocks of four in integers."""
    if not bound.axes:
        return
    axes = [(axis.axis, Taps(*counted_pixels(axis))) for axis in _segments_by_axis(bound, outputs)]
    counts = _counts_of_parts(bound, dict(axes), outputs)
    blocks = [1 / axis.scale for axis in bound.axes]
    is_two_by_two = blocks == [2, 2] and channels(bound) in FEW_CHANNELS
    for place, (axis, taps) in enumerate(axes):
        weights = (_of(taps) > 0).astype(np.int64)
        stage = Pass(axis=axis, indices=taps.indices, weights=weights)
        if place < len(axes) - 1:
            yield stage
            continue
        stage = replace(stage, counts=counts)
        if is_two_by_two:
            yield replace(stage, bits_after=2, rounding=IntegerRounding.HALF_UP)
        else:
            # OpenCV multiplies by the reciprocal of the number of pixels, in float32.
            factor = np.float32(1) / np.float32(float(math.prod(blocks)))
            yield replace(stage, factor=float(factor), rounding=IntegerRounding.HALF_EVEN)


def _counts_of_parts(bound: Plan, taps: ByAxis, outputs: Outputs) -> Counts | None:
    """Return ``Pass.counts`` of the last pass; None if every block is complete."""
    sides = {axis.axis: round(1 / axis.scale) for axis in bound.axes}
    if all(sides[axis.axis] * axis.out_size <= axis.in_size for axis in bound.axes):
        return None
    sizes = [stop - start for start, stop in outputs]
    along = {axis: (_of(axis_taps) > 0).sum(axis=1) for axis, axis_taps in taps.items()}
    counts = (along.get(axis, np.ones(sizes[axis], np.int64)) for axis in range(min(taps), len(sizes)))
    return Counts(tuple(counts), math.prod(sides.values()))


def _in_order(bound: Plan, order: Passes, taps: ByAxis) -> Sequence[tuple[int, Taps]]:
    """Return axes, each with its taps, in the order of summation."""
    return [(axis, taps[axis]) for axis in sorted(taps, reverse=_last_goes_first(order, bound))]


def are_at_once(bound: Plan) -> bool:
    """Return whether the passes of a plan are one sum over all axes."""
    return isinstance(bound.spec.rounds, FloatingPoint) and bound.spec.rounds.passes is Passes.AT_ONCE


def _last_goes_first(order: Passes, bound: Plan) -> bool:
    if order in (Passes.LAST_FIRST, Passes.AT_ONCE) or len(bound.axes) < 2:
        return True
    resized = sorted(resolve_axes(bound.spec.axes, len(bound.in_shape)))
    if order is Passes.UNLESS_TALL:
        first, *_, last = resized
        return not (bound.in_shape[first] > max(_TALL * bound.in_shape[last], bound.out_shape[first]))
    lost, *_, lost_last = (bound.in_shape[axis] - bound.out_shape[axis] for axis in resized)
    return not (lost > 0 and lost > 2 * lost_last)


_TALL = 100  # Pillow 12's ratio of height to width


def _copies(outputs: tuple[int, int]) -> Taps:
    places = np.arange(*outputs)[:, None]
    return Taps(places, np.ones(places.shape))


def _of(taps: Taps) -> Array:
    assert taps.weights is not None
    return taps.weights


def _merged(taps: Taps) -> Taps:
    """Return taps with those of one edge pixel added up in the first of them, since they are rounded together."""
    weights = _of(taps).copy()
    for place in range(weights.shape[1] - 1, 0, -1):
        same = taps.indices[:, place] == taps.indices[:, place - 1]
        weights[:, place - 1] += np.where(same, weights[:, place], 0.0)
        weights[:, place] = np.where(same, 0.0, weights[:, place])
    return Taps(taps.indices, weights)


def _is_narrow(rounds: FixedPoint) -> bool:
    """Return whether large weights have fewer bits than others (PyTorch)."""
    return rounds.width - rounds.bits < _ROOM


_ROOM = 8  # bits of the sign and of the integer part of weights, of which none comes near 2**7


@lru_cache(maxsize=64)
def _largest(bound: Plan, axis: int) -> float:
    """Return the largest weight of all outputs of a changing axis, on which the bits of its weights depend."""
    place = [axis_plan.axis for axis_plan in bound.axes].index(axis)
    return max(map(_peak, segments(bound, place)))


def _peak(taps: Taps) -> float:
    """Return the largest weight of a pixel while the weights of its taps at an edge are added one by one (PyTorch)."""
    weights, largest = _of(taps), 0.0
    total = np.zeros(len(weights))
    for place in range(weights.shape[1]):
        same = place > 0 and taps.indices[:, place] == taps.indices[:, place - 1]
        total = weights[:, place] + np.where(same, total, 0.0)
        largest = max(largest, float(total.max(initial=0.0)))
    return largest


def _whole(taps: Taps, rounds: FixedPoint, largest: float) -> tuple[Taps, int]:
    """Return taps with integer weights, and the number of fractional bits."""
    weights, bits, most = _of(taps), rounds.bits, 2 ** (rounds.width - 1)
    while bits and int(0.5 + largest * 2**bits) >= most:
        bits -= 1
    scaled = weights * 2.0**bits
    if rounds.between is Between.ROUNDED:
        return Taps(taps.indices, np.trunc(scaled + np.copysign(0.5, scaled)).astype(np.int64)), bits
    # Sums that keep their bits are OpenCV's, whose saturate_cast rounds half to even.
    return Taps(taps.indices, np.rint(scaled).astype(np.int64)), bits


FEW_CHANNELS = (1, 3, 4)
"""Numbers of channels of images whose blocks of four pixels are rounded half up."""
_WEIGHT_BITS = 11  # INTER_RESIZE_COEF_BITS of OpenCV's resize.cpp
_LANES = 8
OF_OPENCV = (Arithmetic.OPENCV, Arithmetic.OPENCV_EXACT, Arithmetic.IPP)
"""The arithmetics of OpenCV's sums."""


def is_of_ipp(bound: Plan) -> bool:
    """Return whether integers are summed as Intel's library does, in the orders of ``library_weights``."""
    padded = bound.spec.padded(bound.in_shape)
    return bound.spec.rounds is Integers.IPP and library_weights.takes(bound.spec, tuple(size or 0 for size in padded))


def opencv_sums(bound: Plan, dtype: str) -> FixedPoint | FloatingPoint | None:
    """Return the sums that the spec of a plan specifies or OpenCV chooses; None where pixels of blocks are counted."""
    rounds = bound.spec.rounds
    if rounds is Integers.OPENCV_AREA:
        return _by_ratio(bound, dtype)
    if rounds is Integers.IPP:
        rounds = without_ipp(bound.spec.kernel, dtype)
    assert isinstance(rounds, FixedPoint | FloatingPoint)
    return None if _is_halved(bound) else rounds


def without_ipp(kernel: Kernel, dtype: str) -> FixedPoint | FloatingPoint:
    """Return OpenCV's own sums of integers; for cubic, blocks of values of a row are summed as vectors."""
    lanes = _LANES if isinstance(kernel, Cubic) or (isinstance(kernel, Lanczos) and dtype == "int16") else None
    if dtype != "uint8":
        return FloatingPoint(bits=32, lanes=lanes)
    if isinstance(kernel, Linear):
        return FixedPoint(bits=_WEIGHT_BITS, between=Between.SHORTENED)
    return FixedPoint(bits=_WEIGHT_BITS, between=Between.KEPT, lanes=lanes)


def adds_fours(bound: Plan, dtype: str) -> bool:
    """Return whether blocks are so large that float32 does not represent their sum exactly."""
    if not isinstance(bound.spec.kernel, Area) or bound.spec.rounds is not Integers.OPENCV_AREA:
        return False
    counts = dtype in _SIXTEEN_BITS and _by_ratio(bound, dtype) is None
    return counts and math.prod(1 / axis.scale for axis in bound.axes) * _SIXTEEN_BITS[dtype] > _HELD


_HELD = 2**24  # float32 represents every integer up to here
# The largest value of a pixel.
_SIXTEEN_BITS = {"uint16": 2**16 - 1, "int16": 2**15}


def counted_pixels(axis: AxisPlan) -> tuple[Array, Array]:
    """Return indices and weights of the pixels that are counted along an axis; the last block may have fewer."""
    indices, weights = library_weights.covered(axis)
    return indices.astype(np.intp), weights


def channels(bound: Plan) -> int:
    """Return the number of values of a pixel: the axes after the resized ones. Axes before them count images."""
    return math.prod(bound.out_shape[max(resolve_axes(bound.spec.axes, len(bound.out_shape))) + 1 :])


def copies_ends(bound: Plan) -> bool:
    """Return whether, along the width, outputs beyond the centre of the last pixel are copies of it, not sums."""
    # OpenCV's linear loop ends where the right neighbour would lie outside, and copies from there on.
    is_linear = isinstance(bound.spec.kernel, Linear | Area)  # an area that grows is linear
    return is_linear and bound.spec.arithmetic in (Arithmetic.OPENCV, Arithmetic.IPP)


def _by_ratio(bound: Plan, dtype: str) -> FixedPoint | FloatingPoint | None:
    """Return the sums of INTER_AREA: growing axes as linear, integer ratios (None) by counting pixels."""
    assert isinstance(bound.spec.kernel, Area)
    if any(axis.scale > 1 for axis in bound.axes):
        return without_ipp(Linear(), dtype)
    return None if has_blocks(bound) else FloatingPoint(bits=32)


def has_blocks(bound: Plan) -> bool:
    """Return whether every output of an area is a block of full pixels; not for 49 to 1, fractional in float64."""
    steps = [1 / np.float64(axis.scale) for axis in bound.axes]
    return all(abs(step - round(step)) < np.finfo(np.float64).eps for step in steps)


def has_parts(bound: Plan) -> bool:
    """Return whether the last blocks lack pixels, as those of fx and fy may."""
    return any(round(1 / axis.scale) * axis.out_size != axis.in_size for axis in bound.axes)


def _is_halved(bound: Plan) -> bool:
    """Return whether linear halves an image in height and width: OpenCV then uses area, exact or not."""
    if [axis.scale for axis in bound.axes] != [Fraction(1, 2)] * 2 or not isinstance(bound.spec.kernel, Linear):
        return False
    is_exact = bound.spec.arithmetic is Arithmetic.OPENCV_EXACT and channels(bound) == _EXACT_ALWAYS
    return bound.spec.arithmetic in OF_OPENCV and not is_exact


_EXACT_ALWAYS = 2  # channels for which INTER_LINEAR_EXACT does not use area


def check_limits(bound: Plan, dtype: str) -> None:
    """Raise SpecError or ShapeError for an image that the library of a spec refuses, or whose result is unknown."""
    _check_sizes(bound)
    if bound.spec.images is not None:
        bound.spec.images.check(dtype, channels(bound))
    if 0 in bound.out_shape:
        return
    if bound.axes and bound.spec.arithmetic in OF_OPENCV:
        _check_opencv(bound, dtype)
    if bound.spec.arithmetic is Arithmetic.TORCH:
        _check_torch(bound, dtype)


def _check_sizes(bound: Plan) -> None:
    """Refuse images and outputs of size 0, except by libraries that return empty arrays."""
    name = _library(bound)
    if name is None:
        return
    may_be_empty = _may_be_empty(bound.spec)
    for axis in resolve_axes(bound.spec.axes, len(bound.in_shape)):
        size, out_size = bound.in_shape[axis], bound.out_shape[axis]
        if not size:
            raise ShapeError(f"{name} refuses images of size 0, as axis {axis} has; use an image with pixels")
        if not out_size and not may_be_empty:
            problem = f"{name} refuses outputs of size 0, as axis {axis} of size {size} would have"
            raise ShapeError(f"{problem}; use a larger size or scale")


def _library(bound: Plan) -> str | None:
    """Return the library that refuses images of size 0; None for JAX and SciPy, which return empty arrays."""
    if bound.spec.arithmetic is Arithmetic.SCIPY:
        return "scikit-image" if bound.spec.images else None
    return _REFUSING.get(bound.spec.arithmetic)


def _may_be_empty(spec: ResizeSpec) -> bool:
    """Return whether outputs of an image may be empty: PyTorch's area, and scikit-image if it smooths nothing first."""
    return isinstance(spec.kernel, Mean) or (spec.arithmetic is Arithmetic.SCIPY and spec.before is None)


_REFUSING = {
    Arithmetic.PILLOW: "Pillow",
    Arithmetic.TENSORFLOW: "TensorFlow",
    **dict.fromkeys((Arithmetic.TORCH, Arithmetic.TORCH_FUSED, Arithmetic.TORCH_DOUBLE), "PyTorch"),
    **dict.fromkeys((*OF_OPENCV, Arithmetic.OPENCV_EXACT, Arithmetic.OPENCV_ADDED, Arithmetic.IPP), "OpenCV"),
}


def largest_pixel(bound: Plan, outputs: Outputs, dtype: str) -> int | None:
    """Return the largest value for which Pillow's sums of mode I stay within int32; None if all of them do.

    Pillow converts sums beyond int32 as the processor does, which C leaves undefined.
    """
    is_deep = bound.spec.arithmetic is Arithmetic.PILLOW and dtype == "int32" and bool(bound.axes)
    if not is_deep or not bound.spec.has_passes or any(start == stop for start, stop in outputs):
        return None
    gains = [float(np.abs(each.weights).sum(axis=1).max()) for each in window_passes(bound, dtype, outputs)]
    gain = math.prod(max(gain, 1.0) for gain in gains)
    return None if gain < 1 + _ROUNDED else int((2**31 - 1) / gain)


def check_pixels(lowest: int, highest: int, largest: int) -> None:
    """Raise SpecError for pixels of mode I whose sums may exceed int32."""
    if -largest <= lowest and highest <= largest:
        return
    problem = f"Pillow's sums of mode I may overflow for pixels beyond {largest}; this image has {lowest} to {highest}"
    raise SpecError(f"{problem}; use mode F, or a filter without negative weights, as pillow:bilinear")


_ROUNDED = 1e-9  # by which weights without negative ones may add up to more than 1


def _check_opencv(bound: Plan, dtype: str) -> None:
    spec = bound.spec
    if isinstance(spec.kernel, Area) and channels(bound) > _MOST_CHANNELS and _is_uneven(bound):
        most = f"OpenCV averages images of at most {_MOST_CHANNELS} channels"
        raise ShapeError(f"{most} where a size is not an integer multiple of the other; this one has {channels(bound)}")
    if dtype.startswith("float"):
        return
    if spec.rounds is Integers.IPP and isinstance(spec.kernel, Linear) and dtype != "uint16":
        problem = f"these are the sums of Intel's library (IPP) for uint16, not for {dtype}"
        raise SpecError(f"{problem}; specify the dtype in the call, or use ipp=False")
    if spec.arithmetic is Arithmetic.IPP and _is_warped(bound):
        reason = "the result of Intel's library (IPP) where fx or fy is not a ratio of sizes is unknown"
        raise SpecError(f"{reason}; use sizes instead of scales, or ipp=False")
    if adds_fours(bound, dtype) and has_parts(bound):
        raise ShapeError("sums of blocks beyond 2**24 are unknown where the last block is incomplete")


_MOST_CHANNELS = 4  # of OpenCV's fractional INTER_AREA; torch 2.13 repeats rows of uint8 with more


def _is_uneven(bound: Plan) -> bool:
    """Return whether areas have fractional pixels: neither linear, as on growing axes, nor of integer blocks."""
    return all(axis.scale <= 1 for axis in bound.axes) and not has_blocks(bound)


def _is_warped(bound: Plan) -> bool:
    """Return whether Intel's library warps: if scales are not ratios of sizes, and it supports the channels."""
    if not isinstance(bound.spec.target, Scales) or channels(bound) not in library_weights.CHANNELS:
        return False
    axes = resolve_axes(bound.spec.axes, len(bound.in_shape))
    pairs = zip(axes, bound.spec.target.values, strict=True)
    return any(abs(bound.out_shape[axis] / bound.in_shape[axis] - scale) > _SAME * scale for axis, scale in pairs)


_SAME = 1e-10  # OpenCV's IPP_RESIZE_EPS, of a scale


def _check_torch(bound: Plan, dtype: str) -> None:
    """Refuse faults of PyTorch 2.13, and results that depend on an element type that was not specified."""
    spec, axes = bound.spec, resolve_axes(bound.spec.axes, len(bound.in_shape))
    if isinstance(spec.kernel, Nearest | Mean):
        return
    if len(axes) == _OF_AN_IMAGE and bound.out_shape[-1] == 1:
        _check_narrow(bound, dtype)
    is_cubic = isinstance(spec.kernel, Cubic) and not spec.kernel.is_antialiased and dtype != "uint8"
    if is_cubic and spec.step is Step.GIVEN_UNLESS_EQUAL and isinstance(spec.target, Scales):
        pairs = zip(axes, spec.target.values, strict=True)
        if any(bound.in_shape[axis] == bound.out_shape[axis] and scale != 1 for axis, scale in pairs):
            problem = f"an axis that keeps its size is copied for uint8 but not for {dtype}"
            raise SpecError(f"{problem}; specify the dtype in the call")


_OF_AN_IMAGE = 2


def _check_narrow(bound: Plan, dtype: str) -> None:
    """Refuse outputs of one column that torch 2.13 refuses, or fills with copies of their first row."""
    count = 1 if len(bound.in_shape) == _OF_AN_IMAGE else bound.in_shape[-3]
    height = bound.out_shape[-2]
    is_byte = dtype == "uint8" and isinstance(bound.spec.integers, FixedPoint)
    if is_byte and count == _OF_COLOUR and height == 1:
        raise ShapeError("torch 2.13 refuses to resize uint8 images of three channels to one pixel; use a larger size")
    filters = count > _MOST_CHANNELS if is_byte else bound.spec.kernel.is_antialiased
    if filters and height not in (1, bound.in_shape[-2]):
        which = "more than four channels" if is_byte else "antialiased floats"
        raise ShapeError(f"torch 2.13 repeats the first row of one-pixel-wide outputs for {which}; use a larger width")


_OF_COLOUR = 3
