"""Infinities and NaN: they propagate to the outputs that weight them, and to no others.

Fast sums multiply them by weights of 0, too, and 0 * inf is NaN, so an infinity in the input appears in the output. An
exception is float16, which NumPy and the loops read by integer arithmetic without infinities; there the input is
checked.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.executor import definition
from ir_interp.executor.arrays import float16
from ir_interp.executor.arrays.store import store
from ir_interp.plan.axes.geometry import Plan
from ir_interp.plan.pieces import Piece

Array = NDArray[Any]


def by_definition(x: Array, y: Array, work: np.dtype[Any], bound: Plan, piece: Piece) -> None:
    """Fill ``y`` with plain sums of ``x``, which leave out inputs of weight 0."""
    made = np.empty_like(y)
    with np.errstate(over="ignore", invalid="ignore"):
        store(definition.run(x.astype(work), bound, piece), made)
    y[...] = made


def is_finite(x: Array) -> bool:
    """Return whether ``x`` contains neither infinity nor NaN."""
    if x.dtype == np.float16 and x.flags.c_contiguous:
        return float16.is_finite(x)
    return bool(np.isfinite(x).all())
