"""Integers averaged in blocks of full pixels, in Pillow's numbers (``Reduce.c``)."""

from __future__ import annotations

import math

import numpy as np

from ir_interp.array_types import Array
from ir_interp.errors import SpecError
from ir_interp.executor.arrays.store import rounded
from ir_interp.plan.axes.geometry import Plan
from ir_interp.plan.libraries.pillow_reduce import Reduced
from ir_interp.plan.pieces import Piece
from ir_interp.shapes import resolve_axes
from ir_interp.spec import IntegerRounding

BITS = 24
"""Fractional bits of the factor of a sum of bytes."""


def averaged(x: Array, reduction: Reduced, bound: Plan, piece: Piece, rest: Piece) -> Array:
    """Return integers ``x``, the inputs of a ``piece`` of a plan, averaged: the inputs of a piece of the ``rest``.

    Raises SpecError for pixels whose sums overflow in Pillow.
    """
    _check_sums(x, reduction)
    sums, counts = x, np.ones((1,) * x.ndim, np.int64)
    for axis, blocks in zip(resolve_axes(bound.spec.axes, x.ndim), reduction.blocks, strict=True):
        start, stop = rest.inputs[axis]
        edges = blocks.edges[start : stop + 1] - piece.inputs[axis][0]
        sums = _summed(sums.swapaxes(0, axis), edges).swapaxes(0, axis)
        counts = counts * np.diff(edges).reshape((-1,) + (1,) * (x.ndim - axis - 1))
    if x.dtype != np.uint8:
        # Pillow multiplies by the reciprocal, in float64, for all types but bytes.
        return rounded(sums * (1.0 / counts), IntegerRounding.HALF_AWAY, x.dtype).astype(x.dtype)
    return np.ascontiguousarray((((sums + counts // 2) * inverses(counts)) >> BITS).astype(x.dtype))


def _check_sums(x: Array, reduction: Reduced) -> None:
    """Raise SpecError for pixels of mode I whose sums may exceed int32, in which Pillow adds up to 2x2 of them."""
    count = math.prod(min(blocks.size, _IN_A_ROW) for blocks in reduction.blocks)
    most = 2**31 // count
    if x.dtype != np.int32 or not x.size or (-most <= int(x.min()) and int(x.max()) < most):
        return
    problem = f"Pillow's sums of mode I for reducing_gap may overflow for pixels beyond {most}"
    raise SpecError(f"{problem}; leave reducing_gap out, or use mode F")


_IN_A_ROW = 2  # pixels of a row, and rows, that Reduce.c adds at a time in integers


def _summed(x: Array, edges: Array) -> Array:
    """Return sums over blocks of the first axis, all as long as the first but for the last, which may be shorter."""
    length, last = int(edges[1] - edges[0]), int(edges[-1])
    total: Array = x[int(edges[0]) : last : length].astype(np.int64)
    for offset in range(1, length):  # whole slices, since a sum of each block alone takes five times as long
        part = x[int(edges[0]) + offset : last : length]
        total[: len(part)] += part
    return total


def inverses(counts: Array) -> Array:
    """Return the factors of sums of ``counts`` bytes."""
    return (np.float32(2.0 ** (BITS + 8)) / (counts * 2**8).astype(np.float32)).astype(np.int64)
