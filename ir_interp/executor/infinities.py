"""Infinities and NaN: they reach the outputs that weigh them, and no others."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.executor import half, plain
from ir_interp.executor.store import store
from ir_interp.plan.geometry import Plan
from ir_interp.plan.pieces import Piece

Array = NDArray[Any]


def mend(x: Array, y: Array, work: np.dtype[Any], bound: Plan, piece: Piece) -> None:
    """Make by plain sums what infinities and NaN of ``x`` reach in ``y``.

    A fast sum multiplies them by weights of 0, too, and 0 * inf is NaN; so they show in ``y``. But NumPy alone reads
    float16 by integer arithmetic, which knows none: there ``x`` shows them.
    """
    if is_finite(x if x.dtype == np.float16 else y):
        return
    reached = np.empty_like(y)
    with np.errstate(over="ignore", invalid="ignore"):
        store(plain.run(x.astype(work), bound, piece), reached)
    y[...] = reached


def is_finite(x: Array) -> bool:
    """Say whether ``x`` holds neither infinity nor NaN, in one pass at the speed of memory where that is possible."""
    if x.dtype == np.float16 and x.flags.c_contiguous:
        return half.is_finite(x)
    if x.dtype.char in "fd" and x.flags.c_contiguous:
        flat = x.reshape(-1)
        with np.errstate(over="ignore", invalid="ignore"):
            if math.isfinite(np.dot(flat, flat)):
                return True  # else an infinity, or values whose squares are
    return bool(np.isfinite(x).all())
