"""Integer sums axis by axis, as passes derived from a spec: what is summed, in which numbers, and the rounding after.

The taps are those of ``plan.axes.taps``, in the library's own order; here they become the factors of products.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, reduce

import numpy as np
from numpy.typing import NDArray

from ir_interp.array_types import Array
from ir_interp.errors import SpecError
from ir_interp.plan.axes.coordinates import AxisPlan
from ir_interp.plan.axes.geometry import Plan
from ir_interp.plan.axes.taps import Taps, is_long, segments, window_taps
from ir_interp.plan.libraries import opencv_sums
from ir_interp.plan.runtimes import litert_weights
from ir_interp.shapes import resolve_axes
from ir_interp.spec import (
    Between,
    Cubic,
    FixedPoint,
    FloatingPoint,
    IntegerRounding,
    Integers,
    Nearest,
    Passes,
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
    ``opencv_ipp_order``.

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


def are_named(bound: Plan) -> bool:
    """Return whether the integers of a plan are summed in passes, not in steps (``plan.runtimes.integer_steps``)."""
    spec, rounds = bound.spec, bound.spec.rounds
    if isinstance(spec.kernel, Nearest):
        return False
    is_of_opencv = rounds in (Integers.OPENCV_AREA, Integers.IPP)
    return is_of_opencv or isinstance(rounds, FixedPoint | FloatingPoint) or litert_weights.is_known(spec)


def needs_all_taps(bound: Plan) -> bool:
    """Return whether passes over a part of the outputs need the taps of all: for their order of sums, or their bits."""
    rounds = bound.spec.rounds
    return opencv_sums.is_of_ipp(bound) or (isinstance(rounds, FixedPoint) and _is_narrow(rounds))


def passes(bound: Plan, dtype: str) -> tuple[Pass, ...]:
    """Return the passes of a plan for integers of a type. Raises SpecError if its fixed point is for another type."""
    return _passes(bound, dtype, tuple((0, size) for size in bound.out_shape))


def window_passes(bound: Plan, dtype: str, outputs: Outputs) -> tuple[Pass, ...]:
    """Return ``passes`` over a segment of the outputs of every axis; along a long one, no others are computed."""
    # IPP orders sums by blocks of a whole row, so the place of a segment in the row is not enough.
    if is_long(bound) and not opencv_sums.is_of_ipp(bound):
        return _passes(bound, dtype, outputs)
    return tuple(stage.of(outputs) for stage in passes(bound, dtype))


@lru_cache(maxsize=128)
def _passes(bound: Plan, dtype: str, outputs: Outputs) -> tuple[Pass, ...]:
    if litert_weights.is_known(bound.spec):
        return tuple(_of_litert(bound, dtype, outputs))
    taps = {axis.axis: window_taps(bound, place, outputs[axis.axis]) for place, axis in enumerate(bound.axes)}
    if opencv_sums.is_of_ipp(bound):
        return tuple(_of_ipp(bound, taps))
    rounds = opencv_sums.sums(bound, dtype)
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
        indices, weights, bits = litert_weights.weights(bound.spec, axis, dtype)
        behind += bits
        stage = Pass(axis=axis.axis, indices=indices, weights=weights)
        if place == len(axes) - 1:
            stage = replace(stage, bits_after=behind, rounding=litert_weights.rounding(bound.spec, dtype))
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
        if opencv_sums.copies_ends(bound) and not _is_first(axis, bound):
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
    axes = [(axis.axis, Taps(*opencv_sums.blocks(axis))) for axis in _segments_by_axis(bound, outputs)]
    counts = _counts_of_parts(bound, dict(axes), outputs)
    blocks = [1 / axis.scale for axis in bound.axes]
    is_two_by_two = blocks == [2, 2] and opencv_sums.channels(bound) in opencv_sums.FEW_CHANNELS
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
