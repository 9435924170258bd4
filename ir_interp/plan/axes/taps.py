"""From an axis plan to taps: the source pixels of each output pixel, and their weights."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.files.memory import check_bytes
from ir_interp.plan.axes import kernels
from ir_interp.plan.axes.coordinates import AxisPlan, Positions, positions
from ir_interp.plan.axes.geometry import Plan
from ir_interp.plan.axes.prefilter_taps import within
from ir_interp.plan.libraries import library_weights
from ir_interp.spec import Antialias, Area, Continuous, Crop, Kernel, Mean, Nearest, Rounding

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
    if isinstance(kernel, Area | Mean):
        # An interval of `step` pixels touches one more where it starts within a pixel.
        return outputs * (math.ceil(axis.step or Fraction(axis.in_size, max(axis.out_size, 1))) + 1)
    if isinstance(kernel, Nearest):
        return outputs
    widening = _widening(kernel.antialias, axis.scale, any(axis_plan.scale < 1 for axis_plan in plan.axes))
    block = 1 if axis.before is None else axis.before.reach
    return outputs * 2 * math.ceil(kernels.radius(kernel) / widening) * block if axis.out_size else 0


def _taps(kernel: Kernel, axis: AxisPlan, any_shrinking: bool, any_growing: bool) -> Taps:
    if axis.out_size == 0:
        return Taps(np.zeros((0, 1), np.intp), None if isinstance(kernel, Nearest) else np.zeros((0, 1)))
    if isinstance(kernel, Mean):
        return _mean(axis)
    # Pillow copies such axes before it computes any weight, so none of its roundings may apply.
    if axis.copies and not isinstance(kernel, Nearest):
        places = int(axis.start) + axis.index[:, None]
        return Taps(places, np.ones(places.shape))
    if axis.arithmetic.is_library and not isinstance(kernel, Nearest):
        weighted = library_weights.weighted(kernel, axis, any_growing=any_growing)
        if weighted is not None:
            return Taps(weighted[0].astype(np.intp), weighted[1].astype(np.float64))
    if isinstance(kernel, Area):
        return _area(axis)
    at = positions(axis)
    beyond = outside(at, axis.in_size) if isinstance(axis.coordinates, Crop) else None
    if isinstance(kernel, Nearest):
        # Half pixels reach beyond both ends of an axis, and so do coordinates that float32 rounds up.
        chosen = np.clip(chosen_pixel(at, kernel.rounding, shrinks=axis.scale < 1), 0, axis.in_size - 1)
        return Taps(np.asarray(chosen)[:, None].astype(np.intp), None, beyond)
    widening = _widening(kernel.antialias, axis.scale, any_shrinking)
    reach = math.ceil(kernels.radius(kernel) / widening)
    indices, weights = spread(kernel, at, axis.in_size, widening=float(widening), reach=reach)
    return Taps(indices.astype(np.intp), weights, beyond)


def chosen_pixel(at: Positions, rounding: Rounding, *, shrinks: Any) -> Any:
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


def _widening(antialias: Antialias, scale: Fraction, any_shrinking: bool) -> Fraction:
    """Return the factor of distances; below 1 the kernel covers more than its radius."""
    match antialias:
        case Antialias.OFF:
            return Fraction(1)
        case Antialias.SHRINKING:
            return min(scale, Fraction(1))
        case Antialias.ANY_SHRINKING:
            return scale if any_shrinking else Fraction(1)


def spread(kernel: Continuous, at: Positions, size: Any, *, widening: Any, reach: Any, xp: Any = np) -> tuple[Any, Any]:
    """Return indices and weights [out, 2 * reach] of every pixel within the kernel's reach.

    Out-of-bounds samples read the edge or are dropped. ``xp`` holds NumPy's functions, or a graph's.
    """
    steps = xp.arange(1 - reach, reach + 1)
    indices = xp.expand_dims(at.floor, 1) + steps
    weights = kernels.weigh(kernel, (steps - xp.expand_dims(at.fraction, 1)) * widening, xp)
    if kernel.exclude_outside:
        weights = xp.where((indices >= 0) & (indices <= size - 1), weights, 0.0)
    if kernels.sums_to_one(kernel):
        # An output without any pixel in its window is 0, not 0 / 0.
        total = xp.sum(weights, axis=1, keepdims=True)
        nothing = xp.abs(total) <= _NOTHING
        weights = xp.where(nothing, 0.0, weights / xp.where(nothing, 1.0, total))
    return within(indices, size, kernel.border, xp), weights


def _area(axis: AxisPlan) -> Taps:
    step = axis.step or Fraction(axis.in_size, axis.out_size)
    indices, weights = covered(positions(axis), axis.in_size, step=float(step), reach=math.ceil(step))
    return Taps(indices.astype(np.intp), weights)


def covered(at: Positions, size: Any, *, step: Any, reach: Any, xp: Any = np) -> tuple[Any, Any]:
    """Return indices and weights [out, reach + 1]: each pixel by the part of [x, x + step) that it covers.

    TensorFlow's ResizeArea, and OpenCV's INTER_AREA. Out-of-bounds samples read the edge. ``xp`` as in ``spread``.
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


def outside(at: Positions, size: Any) -> Any:
    """Return where the source coordinate is below 0 or above size - 1."""
    return (at.floor < 0) | (at.floor > size - 1) | ((at.floor == size - 1) & (at.fraction > 0))
