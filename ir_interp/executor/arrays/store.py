"""Floats as the elements of an array: as they are, or rounded and cut at the largest and the least value."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.spec import Integers


def store(values: NDArray[Any], target: NDArray[Any], rounding: Integers | None = Integers.HALF_EVEN) -> None:
    """Store floats as the dtype of ``target``; integers are rounded and saturate. ``values`` may change."""
    if target.dtype.kind not in "iu":
        with np.errstate(over="ignore"):  # float16: too large is inf, as in every runtime
            target[...] = values
        return
    bounds = np.iinfo(target.dtype)
    make_whole(values, rounding)
    if target.dtype.itemsize <= 2:
        np.clip(values, bounds.min, bounds.max, out=values)
        target[...] = values
        return
    with np.errstate(invalid="ignore"):
        target[...] = values
    target[values >= float(bounds.max)] = bounds.max  # 2**63 - 1 is no float64: the cast alone would overflow
    target[values <= float(bounds.min)] = bounds.min


def make_whole(values: NDArray[Any], rounding: Integers | None) -> None:
    """Round floats; None is half up."""
    match rounding:
        case Integers.CUT_OFF:
            np.trunc(values, out=values)
        case Integers.HALF_AWAY:
            np.copysign(np.floor(np.abs(values) + 0.5), values, out=values)
        case None:
            np.floor(np.add(values, 0.5, out=values), out=values)
        case _:
            np.rint(values, out=values)
