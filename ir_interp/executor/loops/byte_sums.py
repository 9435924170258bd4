"""Sums of 8-bit integers in integers.

Images are [rows, columns * depth], with many of ``height`` rows stacked vertically. An output weights a window of
inputs, which begins at ``first`` and is as wide as ``weights`` [outputs, width]. Sums have the type of their weights:
int16 or int32 along one axis, float32, int32 or float64 along two, which represent all of them; so they are exact in
any order. Factors and bounds are float32, which represents them, so that float32 sums stay float32.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ir_interp.array_types import Array
from ir_interp.executor.loops.compiling import compiled
from ir_interp.executor.loops.rounding import HALF_EVEN, HALF_UP
from ir_interp.executor.loops.vectors import nearest_byte
from ir_interp.executor.loops.weighted_sums import across, along


@compiled
def _store(sums: Array, factor: Any, half: Any, rounding: int, low: Any, high: Any, target: Array, start: int) -> None:
    """Store sums times ``factor``, rounded, and clipped to ``low`` and ``high``, from ``start`` on."""
    to = np.uint64(start)
    if rounding == HALF_EVEN:
        for i in range(len(sums)):
            target[to + np.uint64(i)] = nearest_byte(min(max(sums[i] * factor, low), high))
    elif rounding == HALF_UP:
        for i in range(len(sums)):
            target[to + np.uint64(i)] = np.int32(min(max(np.floor(sums[i] * factor + half), low), high))
    else:
        for i in range(len(sums)):
            value = np.copysign(np.floor(abs(sums[i] * factor) + half), sums[i])
            target[to + np.uint64(i)] = np.int32(min(max(value, low), high))


@compiled
def bytes_rows_first(
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
    inner: tuple[int, int],
    bits: int,
    rounding: int,
    least: int,
    most: int,
) -> None:
    """Compute rows ``start`` to ``stop`` of ``y``: whole rows are summed, many cells at once, before their columns."""
    outputs, width, cells, made = len(row_weights), column_weights.shape[1], x.shape[1], y.shape[1]
    source, target, weights = x.reshape(-1), y.reshape(-1), column_weights.reshape(-1)
    begin: Any = np.intp(first_columns.min())
    count = np.intp(first_columns.max()) + width * depth - begin
    places = first_columns - np.uint32(begin)
    factor, half, low, high = np.float32(2.0**-bits), np.float32(0.5), np.float32(least), np.float32(most)
    sums, total = np.empty(count, row_weights.dtype), np.empty(made, column_weights.dtype)
    for out in range(start, stop):
        image, place = divmod(out, outputs)
        first = image * height + first_rows[place]
        across(source, first, len(x), cells, begin, row_weights, place, sums, 0, count)
        along(sums, 0, places, weights, width, depth, inner, total, 0)
        _store(total, factor, half, rounding, low, high, target, out * made)


@compiled
def bytes_columns_first(
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
    inner: tuple[int, int],
    bits: int,
    rounding: int,
    least: int,
    most: int,
) -> None:
    """Compute rows ``start`` to ``stop`` of ``y``: the columns of each needed row, once, then rows."""
    (outputs, width), count, cells, taps = row_weights.shape, y.shape[1], x.shape[1], column_weights.shape[1]
    source, target, weights = x.reshape(-1), y.reshape(-1), column_weights.reshape(-1)
    factor, half, low, high = np.float32(2.0**-bits), np.float32(0.5), np.float32(least), np.float32(most)
    sums, held = np.empty(width * count, column_weights.dtype), np.full(width, -1)
    total = np.empty(count, row_weights.dtype)
    for out in range(start, stop):
        image, place = divmod(out, outputs)
        first = image * height + first_rows[place]
        for row in range(first, first + width):
            if held[row % width] != row:
                at = row % width * count
                along(source, row * cells, first_columns, weights, taps, depth, inner, sums, at)
                held[row % width] = row
        across(sums, first, width, count, 0, row_weights, place, total, 0, count)
        _store(total, factor, half, rounding, low, high, target, out * count)


@compiled
def bytes_columns(
    x: Array,
    y: Array,
    start: int,
    stop: int,
    first_columns: Array,
    column_weights: Array,
    depth: int,
    inner: tuple[int, int],
    bits: int,
    rounding: int,
    least: int,
    most: int,
) -> None:
    """Compute rows ``start`` to ``stop`` of ``y``, each from the same row of ``x``."""
    source, target, flat = x.reshape(-1), y.reshape(-1), column_weights.reshape(-1)
    sums = np.empty(y.shape[1], column_weights.dtype)
    for row in range(start, stop):
        along(source, row * x.shape[1], first_columns, flat, column_weights.shape[1], depth, inner, sums, 0)
        _store(sums, 2.0**-bits, 0.5, rounding, float(least), float(most), target, row * y.shape[1])


@compiled
def bytes_rows(
    x: Array,
    y: Array,
    start: int,
    stop: int,
    height: int,
    first_rows: Array,
    row_weights: Array,
    bits: int,
    rounding: int,
    least: int,
    most: int,
) -> None:
    """Compute rows ``start`` to ``stop`` of ``y``, each from some rows of ``x``."""
    outputs, cells = len(row_weights), x.shape[1]
    source, target, sums = x.reshape(-1), y.reshape(-1), np.empty(cells, row_weights.dtype)
    for out in range(start, stop):
        image, place = divmod(out, outputs)
        first = image * height + first_rows[place]
        across(source, first, len(x), cells, 0, row_weights, place, sums, 0, cells)
        _store(sums, 2.0**-bits, 0.5, rounding, float(least), float(most), target, out * cells)
