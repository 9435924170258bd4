"""The size limit of a resize."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from ir_interp.errors import ShapeError
from ir_interp.plan.axes.geometry import Plan
from ir_interp.plan.axes.taps import BYTES_A_TAP, count
from ir_interp.plan.pieces import Piece, Range

MAX_BYTES = 8 * 2**30
"""The largest intermediate or output array that ``resize`` allocates."""


def check_memory(bound: Plan, piece: Piece, itemsize: int, *, of_all: bool) -> None:
    """Raise ShapeError, before pixels are allocated, if a piece needs more; intermediates are made in tiles.

    ``of_all`` means that the taps of all outputs are needed.
    """
    check_taps(bound, None if of_all else piece.outputs)
    needed = (stop - start for start, stop in piece.inputs)
    elements = max(math.prod(needed), math.prod(piece.shape), *piece.shape, 0)
    _check(itemsize * elements, bound)


def check_taps(bound: Plan, outputs: Sequence[Range] | None = None) -> None:
    """Raise ShapeError, before taps are computed, if those of an axis need more: of some outputs, or of all."""
    axes = bound.axes if outputs is None else [replace(axis, outputs=outputs[axis.axis]) for axis in bound.axes]
    _check(BYTES_A_TAP * max((count(bound, axis) for axis in axes), default=0), bound)


def _check(size: int, bound: Plan) -> None:
    if size > MAX_BYTES:
        raise ShapeError(
            f"resizing {list(bound.in_shape)} to {list(bound.out_shape)} needs {size / 2**30:.1f} GiB; "
            f"the limit ({__name__}.MAX_BYTES) is {MAX_BYTES / 2**30:g} GiB"
        )
