"""Extrapolation: the outputs of a crop whose source is outside the image."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ir_interp.executor.arrays.store import store
from ir_interp.plan.axes.geometry import Plan
from ir_interp.plan.pieces import Piece, taps_by_axis
from ir_interp.spec import Crop, IntegerRounding, Integers, ResizeSpec


def extrapolate(y: NDArray[Any], bound: Plan, piece: Piece) -> None:
    """Fill the outputs of a crop whose source is outside the image."""
    if not isinstance(bound.spec.coordinates, Crop):
        return
    for axis, taps in taps_by_axis(bound, piece).items():
        if taps.outside is not None and taps.outside.any():
            y[(slice(None),) * axis + (taps.outside,)] = extrapolated(bound.spec, y.dtype)


def extrapolated(spec: ResizeSpec, dtype: DTypeLike) -> NDArray[Any]:
    """Return the extrapolation value as an array without axes; for integers onnxruntime truncates it."""
    assert isinstance(spec.coordinates, Crop)
    fill = np.empty(1, dtype)
    cuts = spec.rounds is Integers.ONNXRUNTIME
    rounding = spec.rounds if isinstance(spec.rounds, IntegerRounding) else IntegerRounding.HALF_EVEN
    store(np.full(1, spec.coordinates.extrapolation), fill, IntegerRounding.CUT_OFF if cuts else rounding)
    return fill.reshape(())
