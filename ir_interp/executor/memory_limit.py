"""How large a resize may be."""

from __future__ import annotations

import math

from ir_interp.errors import ShapeError
from ir_interp.plan.axes.geometry import Plan
from ir_interp.plan.axes.taps import BYTES_A_TAP, count
from ir_interp.plan.pieces import Piece

MAX_BYTES = 8 * 2**30
"""The largest intermediate or output array that ``resize`` will make."""


def check_memory(bound: Plan, piece: Piece, itemsize: int) -> None:
    """Raise ShapeError, before pixels are allocated, if a piece needs more; intermediates are made in tiles."""
    check_taps(bound)
    needed = (stop - start for start, stop in piece.inputs)
    elements = max(math.prod(needed), math.prod(piece.shape), *piece.shape, 0)
    _check(itemsize * elements, bound)


def check_taps(bound: Plan) -> None:
    """Raise ShapeError, before taps are computed, if those of an axis need more, however small a piece is."""
    _check(BYTES_A_TAP * max((count(bound, axis) for axis in bound.axes), default=0), bound)


def _check(held: int, bound: Plan) -> None:
    if held > MAX_BYTES:
        raise ShapeError(
            f"resizing {list(bound.in_shape)} to {list(bound.out_shape)} needs {held / 2**30:.1f} GiB; "
            f"the limit ({__name__}.MAX_BYTES) is {MAX_BYTES / 2**30:g} GiB"
        )
