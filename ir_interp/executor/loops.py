"""Loops that numba compiles: sums of 8-bit integers, and copies. Imported only where it is installed.

Images are [rows, columns * depth]: ``depth`` neighbouring cells move together. An output weighs a window of inputs,
which begins at ``first`` and is as wide as ``weights`` [outputs, width] are. Sums of one axis are int32; those of two
are float64, and exact below 2**53, in whatever order they are made and whatever the compiler fuses.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
_HALF_EVEN, _HALF_UP = 0, 1  # else half away from zero

Function = TypeVar("Function", bound=Callable[..., None])


def _compiled(function: Function) -> Function:
    """Compile a function when it is first called, and keep the code for later processes where there is a place."""
    try:
        made: Function = numba.njit(function, nogil=True, error_model="numpy", cache=True)
    except RuntimeError:  # neither beside this file nor in the user's own folder
        made = numba.njit(function, nogil=True, error_model="numpy")
    return made


@_compiled
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


@_compiled
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


@_compiled
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


@_compiled
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


@_compiled
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


@_compiled
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


@_compiled
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


@_compiled
def copies(x: Array, y: Array, start: int, stop: int, from_rows: Array, from_columns: Array, depth: int) -> None:
    """Copy a pixel of ``x`` to each of rows ``start`` to ``stop`` of ``y``."""
    count = len(from_columns)
    one, two = np.uint32(1), np.uint32(2)
    for out in range(start, stop):
        row, line = x[from_rows[out]], y[out]
        if out > start and from_rows[out] == from_rows[out - 1]:
            line[:] = y[out - 1]
        elif depth == 1:
            for i in range(count):
                line[i] = row[from_columns[i]]
        elif depth == 3:
            for i in range(count):
                at = from_columns[i]
                line[3 * i], line[3 * i + 1], line[3 * i + 2] = row[at], row[at + one], row[at + two]
        else:
            for i in range(count):
                for cell in range(depth):
                    line[i * depth + cell] = row[from_columns[i] + np.uint32(cell)]


@_compiled
def _each_column(row: Array, indices: Array, weights: Array, depth: int, sums: Array) -> None:
    """Fill ``sums`` along a row, from the first tap to the last; ``indices`` [outputs, taps] count cells."""
    count, width = indices.shape
    one, two = np.uint32(1), np.uint32(2)
    if depth == 3:
        for i in range(count):
            at, weight = indices[i, 0], weights[i, 0]
            red, green, blue = row[at] * weight, row[at + one] * weight, row[at + two] * weight
            for tap in range(1, width):
                at, weight = indices[i, tap], weights[i, tap]
                red += row[at] * weight
                green += row[at + one] * weight
                blue += row[at + two] * weight
            sums[3 * i], sums[3 * i + 1], sums[3 * i + 2] = red, green, blue
        return
    for i in range(count):
        for cell in range(depth):
            total = row[indices[i, 0] + np.uint32(cell)] * weights[i, 0]
            for tap in range(1, width):
                total += row[indices[i, tap] + np.uint32(cell)] * weights[i, tap]
            sums[i * depth + cell] = total


@_compiled
def shortened(
    x: Array,
    y: Array,
    start: int,
    stop: int,
    row_indices: Array,
    row_weights: Array,
    first_columns: Array,
    column_weights: Array,
    depth: int,
    bits_before: int,
    bits_each: int,
    bits_after: int,
) -> None:
    """Make rows ``start`` to ``stop`` of ``y`` by sums of two rows, which lose bits before and after they are weighed.

    Each row that is needed is summed along its columns once.
    """
    before, each, after, half = np.int32(bits_before), np.int32(bits_each), np.int32(bits_after), np.int32(0)
    if bits_after:
        half = np.int32(1 << (bits_after - 1))
    sums, held = np.empty((2, y.shape[1]), np.int32), np.full(2, -1)
    for out in range(start, stop):
        for tap in range(2):
            row = row_indices[out, tap]
            if held[row % 2] != row:
                _columns(x[row], first_columns, column_weights, depth, sums[row % 2])
                held[row % 2] = row
        upper, lower = sums[row_indices[out, 0] % 2], sums[row_indices[out, 1] % 2]
        weight, weight_below, line = row_weights[out, 0], row_weights[out, 1], y[out]
        for i in range(len(line)):
            value = ((upper[i] >> before) * weight >> each) + ((lower[i] >> before) * weight_below >> each)
            line[i] = min(max((value + half) >> after, np.int32(0)), np.int32(255))


@_compiled
def chained(
    x: Array,
    y: Array,
    start: int,
    stop: int,
    row_indices: Array,
    row_weights: Array,
    column_indices: Array,
    column_weights: Array,
    depth: int,
    least: float,
    most: float,
) -> None:
    """Make rows ``start`` to ``stop`` of ``y`` by float32 sums in order: of columns, then of rows; half to even."""
    sums, total = np.empty(y.shape[1], np.float32), np.empty(y.shape[1], np.float32)
    for out in range(start, stop):
        for tap in range(row_indices.shape[1]):
            weight = row_weights[out, tap]
            if tap and weight == 0:
                continue
            _each_column(x[row_indices[out, tap]], column_indices, column_weights, depth, sums)
            if tap == 0:
                for i in range(len(sums)):
                    total[i] = sums[i] * weight
            else:
                for i in range(len(sums)):
                    total[i] += sums[i] * weight
        _store(total, 1.0, 0, least, most, y[out])
