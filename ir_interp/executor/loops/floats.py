"""Sums of floats as matrix products make them: every product is fused into the sum, from the first to the last.

Images are [rows, columns * depth], many of ``height`` rows one below the other. An output weighs a window of inputs,
which begins at ``first`` and is as wide as ``weights`` [outputs, width] are; what weighs 0 changes no sum.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.executor.loops.compiling import compiled
from ir_interp.executor.loops.vectors import fused, sum_four, sum_pixels, sum_two

Array = NDArray[Any]


@compiled
def _along(row: Array, first: Array, weights: Array, depth: int, safe: int, sums: Array) -> None:
    """Fill ``sums`` [outputs * depth] with weighted sums along a row; ``first`` counts cells.

    Of ``safe`` outputs, the first, four neighbouring cells may be read and written.
    """
    count, width = weights.shape
    flat, nothing = weights.reshape(-1), weights[0, 0] - weights[0, 0]
    if safe:
        if width == 2:
            for i in range(safe):
                sum_two(row, np.intp(first[i]), depth, flat, i, 2, sums, i * depth)
        elif width == 4:
            for i in range(safe):
                sum_four(row, np.intp(first[i]), depth, flat, i, 4, sums, i * depth)
        else:
            for i in range(safe):
                sum_pixels(row, np.intp(first[i]), depth, flat, i, width, sums, i * depth)
    if width == 2 and depth == 1:
        for i in range(count):
            at = first[i]
            sums[i] = fused(row[at + np.uint32(1)], weights[i, 1], fused(row[at], weights[i, 0], nothing))
    elif width == 4 and depth == 1:
        for i in range(count):
            at = first[i]
            total = fused(row[at + np.uint32(1)], weights[i, 1], fused(row[at], weights[i, 0], nothing))
            total = fused(row[at + np.uint32(2)], weights[i, 2], total)
            sums[i] = fused(row[at + np.uint32(3)], weights[i, 3], total)
    else:
        for i in range(safe, count):
            for cell in range(depth):
                at, total = first[i] + np.uint32(cell), nothing
                for tap in range(width):
                    total = fused(row[at], weights[i, tap], total)
                    at += np.uint32(depth)
                sums[i * depth + cell] = total


@compiled
def _across(rows: Array, first: int, weights: Array, begin: int, sums: Array) -> None:
    """Fill ``sums`` with weighted sums of rows from ``first`` on, from cell ``begin`` on; ``rows`` begin again."""
    width, count, ring = len(weights), len(sums), len(rows)
    nothing = weights[0] - weights[0]
    row, weight = rows[first % ring, begin:], weights[0]
    if width == 1:
        for cell in range(count):
            sums[cell] = fused(row[cell], weight, nothing)
        return
    after, weight_after = rows[(first + 1) % ring, begin:], weights[1]
    if width == 2:
        for cell in range(count):
            sums[cell] = fused(after[cell], weight_after, fused(row[cell], weight, nothing))
        return
    if width == 4:
        third, fourth = rows[(first + 2) % ring, begin:], rows[(first + 3) % ring, begin:]
        weight_third, weight_fourth = weights[2], weights[3]
        for cell in range(count):
            total = fused(after[cell], weight_after, fused(row[cell], weight, nothing))
            sums[cell] = fused(fourth[cell], weight_fourth, fused(third[cell], weight_third, total))
        return
    for cell in range(count):
        sums[cell] = fused(after[cell], weight_after, fused(row[cell], weight, nothing))
    for tap in range(2, width - 1, 2):
        row, weight = rows[(first + tap) % ring, begin:], weights[tap]
        after, weight_after = rows[(first + tap + 1) % ring, begin:], weights[tap + 1]
        for cell in range(count):
            sums[cell] = fused(after[cell], weight_after, fused(row[cell], weight, sums[cell]))
    if width % 2:
        row, weight = rows[(first + width - 1) % ring, begin:], weights[width - 1]
        for cell in range(count):
            sums[cell] = fused(row[cell], weight, sums[cell])


@compiled
def floats_columns_first(
    x: Array,
    y: Array,
    start: int,
    stop: int,
    height: int,
    first_rows: Array,
    row_weights: Array,
    first_columns: Array,
    column_weights: Array,
    depth: int,
    safe: int,
) -> None:
    """Make rows ``start`` to ``stop`` of ``y``: the columns of each row that is needed, once, then rows."""
    outputs, width = row_weights.shape
    made, held = np.empty((width, y.shape[1]), y.dtype), np.full(width, -1)
    for out in range(start, stop):
        first = out // outputs * height + first_rows[out % outputs]
        for row in range(first, first + width):
            if held[row % width] != row:
                _along(x[row], first_columns, column_weights, depth, safe, made[row % width])
                held[row % width] = row
        _across(made, first, row_weights[out % outputs], 0, y[out])


@compiled
def floats_rows_first(
    x: Array,
    y: Array,
    start: int,
    stop: int,
    height: int,
    first_rows: Array,
    row_weights: Array,
    first_columns: Array,
    column_weights: Array,
    depth: int,
    safe: int,
) -> None:
    """Make rows ``start`` to ``stop`` of ``y``: rows are summed before their columns."""
    outputs = len(row_weights)
    begin = first_columns.min()
    end = first_columns.max() + np.uint32(column_weights.shape[1] * depth)
    sums, places = np.empty(end - begin, y.dtype), first_columns - begin
    for out in range(start, stop):
        first = out // outputs * height + first_rows[out % outputs]
        _across(x, first, row_weights[out % outputs], begin, sums)
        _along(sums, places, column_weights, depth, safe, y[out])


@compiled
def floats_columns(
    x: Array, y: Array, start: int, stop: int, first: Array, weights: Array, depth: int, safe: int
) -> None:
    """Make rows ``start`` to ``stop`` of ``y``, each from the same row of ``x``."""
    for row in range(start, stop):
        _along(x[row], first, weights, depth, safe, y[row])


@compiled
def floats_rows(x: Array, y: Array, start: int, stop: int, height: int, first_rows: Array, weights: Array) -> None:
    """Make rows ``start`` to ``stop`` of ``y``, each from some rows of ``x``."""
    outputs = len(weights)
    for out in range(start, stop):
        first = out // outputs * height + first_rows[out % outputs]
        _across(x, first, weights[out % outputs], 0, y[out])
