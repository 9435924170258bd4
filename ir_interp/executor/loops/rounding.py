"""Sums rounded to integers, as ``executor.arrays.store`` rounds them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ir_interp.executor.loops.compiling import compiled
from ir_interp.spec import IntegerRounding, Unrounded

KEPT = Unrounded.KEPT.code
HALF_EVEN, HALF_UP = IntegerRounding.HALF_EVEN.code, IntegerRounding.HALF_UP.code
HALF_AWAY, CUT_OFF = IntegerRounding.HALF_AWAY.code, IntegerRounding.CUT_OFF.code


@compiled
def rounded(value: Any, rounding: int) -> Any:
    """Return a float32 rounded by the code of a rounding."""
    if rounding == HALF_EVEN:
        return np.rint(value)
    if rounding == CUT_OFF:
        return np.trunc(value)
    # floor(value + 0.5) would turn the largest float32 below 0.5 into 1
    size = value if rounding == HALF_UP else abs(value)
    below = np.floor(size)
    whole = below + np.float32(size - below >= np.float32(0.5))
    return whole if rounding == HALF_UP else np.copysign(whole, value)
