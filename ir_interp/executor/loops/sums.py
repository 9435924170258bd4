"""Sums of 8-bit integers as whole numbers.

Images are [rows, columns * depth]: ``depth`` neighbouring cells move together. An output weighs a window of inputs,
which begins at ``first`` and is as wide as ``weights`` [outputs, width] are. Sums of one axis are int32; those of two
are float64, and exact below 2**53, in whatever order they are made and whatever the compiler fuses.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.executor.loops.compiling import compiled

Array = NDArray[Any]
_HALF_EVEN, _HALF_UP = 0, 1  # else half away from zero


@compiled
def _columns(row: Array, first: Array, weights: Array, depth: int, sums: Array) -> None:
    """Fill ``sums`` [outputs * depth] with weighted sums along a row; ``first`` counts cells."""
    count, width = weights.shape
    if depth == 3:
        _columns_of_three(row, first, weights, sums)
    elif width == 2 and depth == 1:
        for i in range(count):
            at = first[i]
            sums[i] = row[at] * weights[i, 0] + row[at + np.uint32(1)] * weights[i, 1]
    else:
        for i in range(count):
            for cell in range(depth):
                at, total = first[i] + np.uint32(cell), weights[0, 0] - weights[0, 0]
                for tap in range(width):
                    total += row[at] * weights[i, tap]
                    at += np.uint32(depth)
                sums[i * depth + cell] = total


@compiled
def _columns_of_three(row: Array, first: Array, weights: Array, sums: Array) -> None:
    count, width = weights.shape
    one, two, three = np.uint32(1), np.uint32(2), np.uint32(3)
    if width == 2:
        for i in range(count):
            at, near, far = first[i], weights[i, 0], weights[i, 1]
            after = at + three
            sums[3 * i] = row[at] * near + row[after] * far
            sums[3 * i + 1] = row[at + one] * near + row[after + one] * far
            sums[3 * i + 2] = row[at + two] * near + row[after + two] * far
        return
    for i in range(count):
        at, weight = first[i], weights[i, 0]
        red, green, blue = row[at] * weight, row[at + one] * weight, row[at + two] * weight
        for tap in range(1, width):
            at += three
            weight = weights[i, tap]
            red += row[at] * weight
            green += row[at + one] * weight
            blue += row[at + two] * weight
        sums[3 * i], sums[3 * i + 1], sums[3 * i + 2] = red, green, blue


@compiled
def _rows(x: Array, first: int, weights: Array, start: int, sums: Array) -> None:
    """Fill ``sums`` with weighted sums of rows from ``first`` on, from cell ``start`` on; two rows at a time."""
    width, count = len(weights), len(sums)
    row, weight = x[first, start:], weights[0]
    if width == 1:
        for cell in range(count):
            sums[cell] = row[cell] * weight
        return
    after, weight_after = x[first + 1, start:], weights[1]
    for cell in range(count):
        sums[cell] = row[cell] * weight + after[cell] * weight_after
    for tap in range(2, width - 1, 2):
        row, after, weight, weight_after = (
            x[first + tap, start:],
            x[first + tap + 1, start:],
            weights[tap],
            weights[tap + 1],
        )
        for cell in range(count):
            sums[cell] += row[cell] * weight + after[cell] * weight_after
    if width % 2:
        row, weight = x[first + width - 1, start:], weights[width - 1]
        for cell in range(count):
            sums[cell] += row[cell] * weight


@compiled
def _store(sums: Array, factor: float, rounding: int, least: float, most: float, target: Array) -> None:
    """Store sums times ``factor``, rounded, and cut at the ``least`` and the ``most``."""
    if rounding == _HALF_EVEN:
        for i in range(len(target)):
            value = np.rint(sums[i] * factor)
            target[i] = np.int32(min(max(value, least), most))
    elif rounding == _HALF_UP:
        for i in range(len(target)):
            value = np.floor(sums[i] * factor + 0.5)
            target[i] = np.int32(min(max(value, least), most))
    else:
        for i in range(len(target)):
            value = np.copysign(np.floor(abs(sums[i] * factor) + 0.5), sums[i])
            target[i] = np.int32(min(max(value, least), most))


@compiled
def rows_then_columns(
    x: Array,
    y: Array,
    start: int,
    stop: int,
    first_rows: Array,
    row_weights: Array,
    first_columns: Array,
    column_weights: Array,
    depth: int,
    factor: float,
    rounding: int,
    least: float,
    most: float,
) -> None:
    """Make rows ``start`` to ``stop`` of ``y``: rows are added up whole, many cells at once, before their columns."""
    begin = first_columns.min()
    end = first_columns.max() + np.uint32(column_weights.shape[1] * depth)
    sums, total = np.empty(end - begin, np.int32), np.empty(y.shape[1])
    wide, places = column_weights.astype(np.float64), first_columns - begin
    for out in range(start, stop):
        _rows(x, first_rows[out], row_weights[out], begin, sums)
        _columns(sums, places, wide, depth, total)
        _store(total, factor, rounding, least, most, y[out])


@compiled
def columns(
    x: Array,
    y: Array,
    start: int,
    stop: int,
    first: Array,
    weights: Array,
    depth: int,
    factor: float,
    rounding: int,
    least: float,
    most: float,
) -> None:
    """Make rows ``start`` to ``stop`` of ``y``, each from the same row of ``x``."""
    sums = np.empty(y.shape[1], np.int32)
    for row in range(start, stop):
        _columns(x[row], first, weights, depth, sums)
        _store(sums, factor, rounding, least, most, y[row])


@compiled
def rows(
    x: Array,
    y: Array,
    start: int,
    stop: int,
    first: Array,
    weights: Array,
    factor: float,
    rounding: int,
    least: float,
    most: float,
) -> None:
    """Make rows ``start`` to ``stop`` of ``y``, each from some rows of ``x``."""
    sums = np.empty(y.shape[1], np.int32)
    for out in range(start, stop):
        _rows(x, first[out], weights[out], 0, sums)
        _store(sums, factor, rounding, least, most, y[out])
