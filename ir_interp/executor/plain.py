"""The executor in its plainest form, one tap after the other: what the fast one is tested against."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.plan.geometry import Plan
from ir_interp.plan.taps import Taps, axis_taps


def run(x: NDArray[Any], bound: Plan) -> NDArray[Any]:
    """Return ``x``, padded already, resized along every axis of a plan: copied, or summed in its own dtype."""
    for axis, taps in zip(bound.axes, axis_taps(bound), strict=True):
        x = _resized(x, taps, axis.axis)
    return x


def _resized(x: NDArray[Any], taps: Taps, axis: int) -> NDArray[Any]:
    if taps.weights is None:
        return np.take(x, taps.indices[:, 0], axis=axis)
    column = (-1,) + (1,) * (x.ndim - axis - 1)
    weights = taps.weights.astype(x.dtype)
    terms = (np.take(x, taps.indices[:, t], axis=axis) * weights[:, t].reshape(column) for t in range(weights.shape[1]))
    return np.asarray(sum(terms))
