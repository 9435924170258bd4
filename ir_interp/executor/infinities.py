"""What infinities and NaN reach, by plain sums."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.executor import half, plain
from ir_interp.executor.store import store
from ir_interp.plan.geometry import Plan
from ir_interp.plan.pieces import Piece

Array = NDArray[Any]


def mend(
    x: Array, y: Array, again: Callable[[Array, Array], None], work: np.dtype[Any], bound: Plan, piece: Piece
) -> None:
    """Make by plain sums what infinities and NaN of ``x`` reach in ``y``; ``again(x, y)`` makes the rest anew.

    A product spreads them over all outputs of its block, for 0 * inf is NaN. Then the output shows them as well as the
    input, and the smaller of the two is looked at; but of float16 always the input, whose conversion drops them.
    """
    if _is_finite(x if x.dtype == np.float16 else min(x, y, key=np.size)):
        return
    infinite = ~np.isfinite(x)
    if infinite.any():  # else sums are infinite that are too large
        again(np.where(infinite, np.zeros((), x.dtype), x), y)
        reached = np.empty_like(y)
        with np.errstate(over="ignore", invalid="ignore"):
            store(plain.run(x.astype(work), bound, piece), reached)
        np.copyto(y, reached, where=plain.touched(infinite, bound, piece))


def _is_finite(x: Array) -> bool:
    """Say whether ``x`` holds neither infinity nor NaN, in one pass at the speed of memory where that is possible."""
    if x.dtype.kind in "iu":
        return True
    if x.dtype.char == "e" and x.flags.c_contiguous:
        return half.is_finite(x)
    if x.dtype.char in "fd" and x.flags.c_contiguous:
        flat = x.reshape(-1)
        with np.errstate(over="ignore", invalid="ignore"):
            if math.isfinite(np.dot(flat, flat)):
                return True  # else an infinity, or values whose squares are
    return bool(np.isfinite(x).all())
