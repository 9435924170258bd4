"""The definition of every float, infinities included: weighted sums tap by tap, identical on every processor.

Along each axis, in the order of ``axis_order.in_order``, an output is 0, plus its first weight times its first input,
plus its second weight times its second input, and so on, inputs in ascending order. Weights are rounded to the type of
the sum; every product is rounded, then added, and the sum is rounded. Nothing is fused, so IEEE 754 leaves no choice.
Infinities and NaNs propagate to the outputs that weight them, and to no others.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.array_types import Array
from ir_interp.executor.arrays import float16
from ir_interp.executor.arrays.store import store
from ir_interp.executor.axis_order import in_order
from ir_interp.plan.axes.distinct import distinct
from ir_interp.plan.axes.geometry import Plan
from ir_interp.plan.axes.taps import Taps
from ir_interp.plan.pieces import Piece, taps_by_axis, whole


def run(x: Array, bound: Plan, piece: Piece | None = None) -> Array:
    """Return ``x``, padded already, resized along every axis of a plan: copied, or summed in its own dtype."""
    for axis, taps in _cut(bound, piece or whole(bound)):
        x = _resized(x, taps, axis)
    return x


def marked(marks: NDArray[np.bool_], bound: Plan, piece: Piece | None = None) -> NDArray[np.bool_]:
    """Return which outputs weight an input that ``marks`` marks."""
    for axis, taps in _cut(bound, piece or whole(bound)):
        marks = _any(marks, taps, axis)
    return marks


def _any(marks: NDArray[np.bool_], taps: Taps, axis: int) -> NDArray[np.bool_]:
    if taps.weights is None:
        return np.take(marks, taps.indices[:, 0], axis=axis)
    column = (-1,) + (1,) * (marks.ndim - axis - 1)
    total = np.zeros((*marks.shape[:axis], len(taps.indices), *marks.shape[axis + 1 :]), np.bool_)
    for indices, weight in zip(taps.indices.T, taps.weights.T, strict=True):
        total |= np.take(marks, indices, axis=axis) & (weight != 0).reshape(column)
    return total


def _cut(bound: Plan, piece: Piece) -> list[tuple[int, Taps]]:
    """Return the axes of a plan in order, each with the taps of a piece."""
    taps = taps_by_axis(bound, piece)
    return [(axis.axis, distinct(taps[axis.axis])) for axis in in_order(bound)]


def _resized(x: Array, taps: Taps, axis: int) -> Array:
    """Return sums along an axis; an input of weight 0 is left out, even if it is infinite."""
    if taps.weights is None:
        return np.take(x, taps.indices[:, 0], axis=axis)
    column = (-1,) + (1,) * (x.ndim - axis - 1)
    weights, nothing = taps.weights.astype(x.dtype), np.zeros((), x.dtype)
    total = np.zeros((*x.shape[:axis], len(taps.indices), *x.shape[axis + 1 :]), x.dtype)
    for indices, weight in zip(taps.indices.T, weights.T, strict=True):
        weight = weight.reshape(column)
        total += np.where(weight == 0, nothing, np.take(x, indices, axis=axis) * weight)
    return total


def by_definition(x: Array, y: Array, work: np.dtype[Any], bound: Plan, piece: Piece) -> None:
    """Fill ``y`` with plain sums of ``x``, which leave out inputs of weight 0."""
    sums = np.empty_like(y)
    with np.errstate(over="ignore", invalid="ignore"):
        store(run(x.astype(work), bound, piece), sums)
    y[...] = sums


def is_finite(x: Array) -> bool:
    """Return whether ``x`` contains neither infinity nor NaN."""
    if x.dtype == np.float16 and x.flags.c_contiguous:
        return float16.is_finite(x)
    return bool(np.isfinite(x).all())
