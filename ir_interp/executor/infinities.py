"""Infinities and NaNs in the arithmetic of onnxruntime and OpenVINO: both also read inputs whose weight is 0.

A product of 0 and an infinity is NaN, so such an input also reaches outputs in which its weight is 0. This holds for
linear and cubic resizes without antialias; all others follow ``definition``, which skips inputs of weight 0. Both
runtimes read two or four neighbours along every axis of the image, even one that keeps its size; only OpenVINO's
linear skips such an axis (onnxruntime 1.32, OpenVINO 2026.4).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.executor.definition import distinct, is_finite
from ir_interp.executor.ordered_sums import sampled
from ir_interp.plan.formulas import keys_far, keys_near
from ir_interp.plan.integer_sums import CHANNELS_LAST_AXES, SPATIAL_AXES, Piece, Range, changing, is_taken_apart
from ir_interp.plan.library_weights import Sampled, four, pair
from ir_interp.plan.taps import Plan, is_long, window_taps
from ir_interp.shapes import Array
from ir_interp.specs import Arithmetic, Cubic, Linear

_RUNTIMES = (Arithmetic.ONNXRUNTIME, Arithmetic.OPENVINO)


@dataclass(frozen=True, slots=True, eq=False)
class Reads:
    """The inputs that a runtime reads along an axis, [out, taps], and their weights, which include zeros."""

    indices: NDArray[np.intp]
    weights: NDArray[np.float32]


def reads(bound: Plan, outputs: tuple[Range, ...]) -> Mapping[int, Reads]:
    """Return the inputs that a runtime reads for float outputs, by axis, last axis first; empty for other resizes."""
    return _reads(bound, outputs) if bound.spec.arithmetic in _RUNTIMES else {}


@lru_cache(maxsize=64)
def _reads(bound: Plan, outputs: tuple[Range, ...]) -> Mapping[int, Reads]:
    kernel, plans, rank = bound.spec.kernel, changing(bound), len(bound.in_shape)
    if not isinstance(kernel, Linear | Cubic) or kernel.is_antialiased or is_taken_apart(bound.spec) or not plans:
        return {}
    layouts = (SPATIAL_AXES.get(rank, set()), CHANNELS_LAST_AXES if rank == 4 else set())
    axes = next((axes for axes in layouts if plans.keys() <= axes), None)
    if axes is None or 0 in bound.out_shape:
        return {}
    if isinstance(kernel, Linear) and bound.spec.arithmetic is Arithmetic.OPENVINO:
        axes = set(plans)
    along = {}
    for axis in sorted(axes, reverse=True):
        at = sampled(plans.get(axis), bound.out_shape[axis], outputs[axis])
        columns, weights = pair(at) if isinstance(kernel, Linear) else _four(kernel, at, bound.spec.arithmetic)
        indices = np.stack(columns, axis=1).astype(np.intp)
        along[axis] = Reads(indices, np.stack(weights, axis=1).astype(np.float32))
    return along


def _four(kernel: Cubic, at: Sampled[Array], arithmetic: Arithmetic) -> tuple[Any, Any]:
    columns, weights = four(kernel, at)
    if arithmetic is Arithmetic.ONNXRUNTIME:
        weights = _of_onnxruntime(np.float32(kernel.a), at.at - np.floor(at.at))
    if not kernel.exclude_outside:
        return columns, weights
    lows = [np.floor(at.at) + step for step in (-1, 0, 1, 2)]
    inside = [(low >= 0) & (low < at.length) for low in lows]
    return columns, [np.where(within, weight, np.float32(0)) for within, weight in zip(inside, weights, strict=True)]


def _of_onnxruntime(a: Any, m: NDArray[np.float32]) -> tuple[Any, ...]:
    """Return Keys' weights in onnxruntime's order, whose rounding decides the sign of weights near 0."""
    return keys_far(m + 1, a), keys_near(m, a), keys_near(1 - m, a), keys_far(2 - m, a)


def hides(bound: Plan, piece: Piece) -> bool:
    """Return whether a runtime reads an input with weight 0 only, so that no sum shows whether it is infinite."""
    if bound.spec.arithmetic not in _RUNTIMES:
        return False
    if is_long(bound):  # all its taps would take too long to compute
        return True
    along, places = reads(bound, piece.outputs), {axis.axis: place for place, axis in enumerate(bound.axes)}
    return any(_hides(bound, piece, axis, read, places.get(axis)) for axis, read in along.items())


def _hides(bound: Plan, piece: Piece, axis: int, read: Reads, place: int | None) -> bool:
    if place is None:
        return piece.inputs[axis] != piece.outputs[axis]  # neighbours of outputs that are copies
    taps = distinct(window_taps(bound, place, piece.outputs[axis]))
    weighted = taps.indices if taps.weights is None else taps.indices[taps.weights != 0]
    is_weighted = np.zeros(1 + max(weighted.max(), read.indices.max()), np.bool_)
    is_weighted[weighted] = True
    return not bool(is_weighted[read.indices].all())


def spread(x: Array, y: Array, bound: Plan, piece: Piece) -> None:
    """Write the infinities and NaNs that a runtime computes from those in ``x``, already padded, into ``y``."""
    along = reads(bound, piece.outputs)
    if not along or is_finite(x):
        return
    marks = np.where(np.isfinite(x), 0, x).astype(np.float32)
    with np.errstate(invalid="ignore"):
        for axis, read in along.items():
            marks = _summed(marks, read, axis, piece.origin[axis])
    np.copyto(y, marks.astype(y.dtype), where=~np.isfinite(marks))


def _summed(marks: NDArray[np.float32], read: Reads, axis: int, origin: int) -> NDArray[np.float32]:
    column, last = (-1,) + (1,) * (marks.ndim - axis - 1), marks.shape[axis] - 1
    total = np.zeros((*marks.shape[:axis], len(read.indices), *marks.shape[axis + 1 :]), np.float32)
    for indices, weights in zip(read.indices.T, read.weights.T, strict=True):
        places = np.clip(indices - origin, 0, last)
        total += np.take(marks, places, axis=axis) * weights.reshape(column)
    return total
