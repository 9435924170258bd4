"""The executor in its plainest form, one tap after the other: what the fast one is tested against."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.plan.geometry import Plan
from ir_interp.plan.pieces import Piece, whole
from ir_interp.plan.taps import Taps, axis_taps


def run(x: NDArray[Any], bound: Plan, piece: Piece | None = None) -> NDArray[Any]:
    """Return ``x``, padded already, resized along every axis of a plan: copied, or summed in its own dtype."""
    piece = piece or whole(bound)
    for axis, taps in zip(bound.axes, axis_taps(bound), strict=True):
        x = _resized(x, piece.taps(taps, axis.axis), axis.axis)
    return x


def touched(marked: NDArray[np.bool_], bound: Plan, piece: Piece) -> NDArray[np.bool_]:
    """Return which outputs weigh, by more than 0, an input that is marked."""
    for axis, taps in zip(bound.axes, axis_taps(bound), strict=True):
        cut = piece.taps(taps, axis.axis)
        marked = _resized(marked, cut if cut.weights is None else replace(cut, weights=cut.weights != 0), axis.axis)
    return marked


def _resized(x: NDArray[Any], taps: Taps, axis: int) -> NDArray[Any]:
    """Return sums along an axis; what weighs 0 is left out, be it infinite."""
    if taps.weights is None:
        return np.take(x, taps.indices[:, 0], axis=axis)
    column = (-1,) + (1,) * (x.ndim - axis - 1)
    weights = taps.weights.astype(x.dtype)
    total = np.zeros((*x.shape[:axis], len(taps.indices), *x.shape[axis + 1 :]), x.dtype)
    nothing = np.zeros((), x.dtype)
    for t in range(weights.shape[1]):
        weight = weights[:, t].reshape(column)
        total += np.where(weight == 0, nothing, np.take(x, taps.indices[:, t], axis=axis)) * weight
    return total
