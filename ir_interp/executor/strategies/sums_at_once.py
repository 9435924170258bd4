"""Integers as SciPy sums them: over both axes at once, each value times the weight of its row, then of its column."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np

from ir_interp.array_types import Array
from ir_interp.executor.arrays.store import rounded
from ir_interp.plan.axes.geometry import Plan
from ir_interp.plan.libraries.passes import Pass
from ir_interp.plan.pieces import Piece
from ir_interp.spec import IntegerRounding

_PART_ELEMENTS = 2**19  # of the output: sums and products of 64-bit floats stay in the cache


def run(x: Array, bound: Plan, piece: Piece) -> Array:
    """Return integers ``x``, padded already, resized, some rows of the first axis at a time."""
    steps = sorted(piece.passes(bound, x.dtype.name), key=lambda stage: stage.axis)
    if not steps:
        return x
    result = np.empty(piece.shape, x.dtype)
    first, others = steps[0], steps[1:]
    for rows in _parts(len(first.indices), math.prod(piece.shape)):
        part = _summed(x, first, others, rows)
        result[(slice(None),) * first.axis + (rows,)] = rounded(part, IntegerRounding.CUT_OFF, x.dtype)
    return result


def _parts(count: int, elements: int) -> Iterator[slice]:
    rows = max(1, count * _PART_ELEMENTS // max(1, elements))
    return (slice(start, start + rows) for start in range(0, count, rows))


def _summed(x: Array, first: Pass, others: list[Pass], rows: slice) -> Array:
    """Return the sums of some rows plus a half, which SciPy cuts off.

    That float64 sum is 1 for the largest float below a half, where rounding to the nearest gives 0.
    """
    total: Array | None = None
    for taps in itertools.product(*(range(stage.indices.shape[1]) for stage in (first, *others))):
        term = x.take(first.indices[rows, taps[0]], first.axis) * _along(first, taps[0], x.ndim)[rows]
        for stage, tap in zip(others, taps[1:], strict=True):
            term = term.take(stage.indices[:, tap], stage.axis) * _along(stage, tap, x.ndim)
        total = term if total is None else total + term
    assert total is not None
    return np.asarray(total + np.copysign(0.5, total))


def _along(step: Pass, tap: int, rank: int) -> Array:
    """Return the weights of a tap, to be multiplied along their axis."""
    return np.asarray(step.weights[:, tap].reshape((-1,) + (1,) * (rank - step.axis - 1)))
