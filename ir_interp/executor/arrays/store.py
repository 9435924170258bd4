"""Storage of sums as array elements: integers are rounded, and clipped to the range of their type."""

from __future__ import annotations

from typing import Any

import numpy as np

from ir_interp.array_types import Array
from ir_interp.spec import IntegerRounding, SumRounding, Unrounded

_HALF_EVEN = IntegerRounding.HALF_EVEN


def store(values: Array, target: Array, rounding: IntegerRounding = _HALF_EVEN) -> None:
    """Store floats as the dtype of ``target``; integers are rounded and saturate. ``values`` may change."""
    if target.dtype.kind not in "iu":
        with np.errstate(over="ignore"):  # float16: too large becomes inf, as in every runtime
            target[...] = values
        return
    bounds = np.iinfo(target.dtype)
    round_in_place(values, rounding)
    if target.dtype.itemsize <= 2:
        # Every bound of 16 bits is a float32, so a clipped value fits the type exactly.
        np.clip(values, bounds.min, bounds.max, out=values)
        target[...] = values
        return
    with np.errstate(invalid="ignore"):
        target[...] = values
    target[values >= float(bounds.max)] = bounds.max  # 2**63 - 1 is not a float64, so the cast alone would overflow
    target[values <= float(bounds.min)] = bounds.min


def rounded(sums: Array, rounding: SumRounding, dtype: np.dtype[Any]) -> Array:
    """Return integers, or floats as float64, rounded and clipped to an integer type, or kept."""
    if rounding is Unrounded.KEPT:
        return sums
    bounds = np.iinfo(dtype)
    if sums.dtype.kind != "f":
        return np.clip(sums, bounds.min, bounds.max)
    values = np.array(sums)  # a copy
    round_in_place(values, rounding)
    return np.clip(values.astype(np.float64, copy=False), bounds.min, bounds.max)


def round_in_place(values: Array, rounding: IntegerRounding) -> None:
    """Round floats in place."""
    match rounding:
        case IntegerRounding.HALF_EVEN:
            np.rint(values, out=values)
        case IntegerRounding.CUT_OFF:
            np.trunc(values, out=values)
        case IntegerRounding.HALF_UP:
            floor = np.floor(values)
            np.add(floor, np.subtract(values, floor, out=values) >= 0.5, out=values)
        case IntegerRounding.HALF_AWAY:
            # not floor(size + 0.5): that sum rounds up to 1 for the largest float below 0.5
            size = np.abs(values)
            floor = np.floor(size)
            np.copysign(floor + (np.subtract(size, floor, out=size) >= 0.5), values, out=values)
