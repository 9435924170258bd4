"""Sums of floats as ``executor.definition`` defines them. A loop returns whether an infinity or NaN occurred.

Images are [rows, columns * depth], with many of ``height`` rows stacked vertically. An output weights a window of
inputs, which begins at ``first`` and is as wide as ``weights`` [outputs, width]; weights of 0 change no sum.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ir_interp.array_types import Array
from ir_interp.executor.loops.compiling import START, compiled
from ir_interp.executor.loops.weighted_sums import across, along, holds_infinity


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
    inner: tuple[int, int, int],
) -> bool:
    """Compute rows ``start`` to ``stop`` of ``y``: the columns of each needed row, once, then rows."""
    (outputs, width), count, cells = row_weights.shape, y.shape[1], x.shape[1]
    source, target, weights = x.reshape(-1), y.reshape(-1), column_weights.reshape(-1)
    row_sums, last = np.empty(width * count, y.dtype), -1  # rows are computed in order, from an image's start or later
    infinite = False
    for out in range(start, stop):
        image, place = divmod(out, outputs)
        top = image * height + first_rows[place]
        for row in range(max(top, last + 1) if top + width > last else top, top + width):
            along(
                source,
                row * cells,
                first_columns,
                weights,
                column_weights.shape[1],
                depth,
                inner,
                row_sums,
                row % width * count,
            )
        last = top + width - 1
        across(row_sums, top, width, count, START, row_weights, place, target, out * count, count)
        infinite |= holds_infinity(target, out * count, count)
    return infinite


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
    inner: tuple[int, int, int],
) -> bool:
    """Compute rows ``start`` to ``stop`` of ``y``: rows are summed before their columns."""
    outputs, width, cells = len(row_weights), column_weights.shape[1], x.shape[1]
    source, target, weights = x.reshape(-1), y.reshape(-1), column_weights.reshape(-1)
    begin: Any = np.intp(first_columns.min())
    # Rows are summed only where a window reads them: a narrow region of a wide image costs what its own columns do.
    count = np.intp(first_columns.max()) + width * depth - begin
    sums, places, infinite = np.empty(count, y.dtype), first_columns - np.uint32(begin), False
    for out in range(start, stop):
        image, place = divmod(out, outputs)
        top = image * height + first_rows[place]
        across(source, top, len(x), cells, begin, row_weights, place, sums, START, count)
        along(sums, START, places, weights, width, depth, inner, target, out * y.shape[1])
        infinite |= holds_infinity(target, out * y.shape[1], y.shape[1])
    return infinite


@compiled
def floats_columns(
    x: Array,
    y: Array,
    start: int,
    stop: int,
    first_columns: Array,
    column_weights: Array,
    depth: int,
    inner: tuple[int, int, int],
) -> bool:
    """Compute rows ``start`` to ``stop`` of ``y``, each from the same row of ``x``."""
    source, target, flat, count, infinite = x.reshape(-1), y.reshape(-1), column_weights.reshape(-1), y.shape[1], False
    for row in range(start, stop):
        along(source, row * x.shape[1], first_columns, flat, column_weights.shape[1], depth, inner, target, row * count)
        infinite |= holds_infinity(target, row * count, count)
    return infinite


@compiled
def floats_rows(x: Array, y: Array, start: int, stop: int, height: int, first_rows: Array, row_weights: Array) -> bool:
    """Compute rows ``start`` to ``stop`` of ``y``, each from some rows of ``x``."""
    outputs, cells = len(row_weights), x.shape[1]
    source, target, infinite = x.reshape(-1), y.reshape(-1), False
    for out in range(start, stop):
        image, place = divmod(out, outputs)
        top = image * height + first_rows[place]
        across(source, top, len(x), cells, START, row_weights, place, target, out * cells, cells)
        infinite |= holds_infinity(target, out * cells, cells)
    return infinite
