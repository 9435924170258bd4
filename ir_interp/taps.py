"""From an axis plan to taps: which source pixels make an output pixel, and how much each weighs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ir_interp import kernels
from ir_interp.coordinates import AxisPlan, Positions, positions
from ir_interp.geometry import Plan
from ir_interp.spec import Antialias, Area, Crop, Cubic, Linear, Nearest, Rounding

_NOTHING = 1e-9  # a sum of weights below this is what rounding leaves of 0


@dataclass(frozen=True, slots=True, eq=False)
class Taps:
    """Output ``i`` is the sum over ``t`` of ``weights[i, t] * source[indices[i, t]]``; a copy where weights is None.

    ``outside`` marks the outputs that a crop fills with its extrapolation value.
    """

    indices: NDArray[np.intp]
    weights: NDArray[np.float64] | None
    outside: NDArray[np.bool_] | None = None


@lru_cache(maxsize=512)
def axis_taps(plan: Plan) -> tuple[Taps, ...]:
    """Return the taps of each changing axis of ``plan``, in the order of ``plan.axes``."""
    any_shrinking = any(axis.scale < 1 for axis in plan.axes)
    return tuple(_taps(plan.spec.kernel, axis, any_shrinking) for axis in plan.axes)


def _taps(kernel: Nearest | Linear | Cubic | Area, axis: AxisPlan, any_shrinking: bool) -> Taps:
    if axis.out_size == 0:
        return Taps(np.zeros((0, 1), np.intp), None if isinstance(kernel, Nearest) else np.zeros((0, 1)))
    if isinstance(kernel, Area):
        return _area(axis)
    at = positions(axis)
    outside = _outside(at, axis.in_size) if isinstance(axis.coordinates, Crop) else None
    if isinstance(kernel, Nearest):
        chosen = np.clip(_round(at, kernel.rounding, shrinks=axis.scale < 1), 0, axis.in_size - 1)
        return Taps(chosen[:, None].astype(np.intp), None, outside)
    return _kernel(kernel, at, axis.in_size, _widening(kernel.antialias, axis.scale, any_shrinking), outside)


def _round(at: Positions, rounding: Rounding, *, shrinks: bool) -> NDArray[np.int64]:
    """Return the source index that a nearest resize takes (ONNX Resize-19, ``nearest_mode``; OpenVINO: ``simple``)."""
    up: NDArray[np.bool_] | bool
    match rounding:
        case Rounding.ROUND_PREFER_FLOOR:
            up = at.half > 0
        case Rounding.ROUND_PREFER_CEIL:
            up = at.half >= 0
        case Rounding.FLOOR:
            up = False
        case Rounding.CEIL:
            up = at.fraction > 0
        case Rounding.SIMPLE:
            up = at.fraction > 0 if shrinks else False
    return at.floor + up


def _widening(antialias: Antialias, scale: Fraction, any_shrinking: bool) -> Fraction:
    """Return what distances are multiplied by: below 1 the kernel covers more than its radius."""
    match antialias:
        case Antialias.OFF:
            return Fraction(1)
        case Antialias.SHRINKING:
            return min(scale, Fraction(1))
        case Antialias.ANY_SHRINKING:
            return scale if any_shrinking else Fraction(1)


def _kernel(
    kernel: Linear | Cubic, at: Positions, size: int, widening: Fraction, outside: NDArray[np.bool_] | None
) -> Taps:
    """Weigh every pixel within the kernel's reach; those beyond the image fall on its edge or are left out."""
    reach = math.ceil(kernels.radius(kernel) / widening)
    steps = np.arange(1 - reach, reach + 1)
    indices = at.floor[:, None] + steps
    weights = kernels.weigh(kernel, np.abs(steps - at.fraction[:, None]) * float(widening))
    if kernel.exclude_outside:
        weights = np.where((indices >= 0) & (indices < size), weights, 0.0)
    if kernel.exclude_outside or widening != 1:
        total = weights.sum(axis=1, keepdims=True)
        weights = np.divide(weights, total, out=np.zeros_like(weights), where=np.abs(total) > _NOTHING)
    return Taps(np.clip(indices, 0, size - 1).astype(np.intp), weights, outside)


def _area(axis: AxisPlan) -> Taps:
    """Weigh each pixel by the part of [x, x + step) that it covers (TensorFlow ResizeArea; OpenCV INTER_AREA)."""
    step = axis.step or Fraction(axis.in_size, axis.out_size)
    start = positions(axis)
    steps = np.arange(math.ceil(step) + 1)
    begin = start.fraction[:, None]
    cover = np.minimum(steps + 1, begin + float(step)) - np.maximum(steps, begin)
    weights = np.maximum(cover, 0.0) / float(step)
    return Taps(np.clip(start.floor[:, None] + steps, 0, axis.in_size - 1).astype(np.intp), weights)


def _outside(at: Positions, size: int) -> NDArray[np.bool_]:
    """Return where the source coordinate is below 0 or above size - 1."""
    beyond = (at.floor > size - 1) | ((at.floor == size - 1) & (at.fraction > 0))
    return np.asarray((at.floor < 0) | beyond)
