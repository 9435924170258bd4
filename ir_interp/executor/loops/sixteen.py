"""Sums of float16 and of 16-bit integers: rows become float32, are summed as floats are, and rounded.

float16 is represented as integers of its size. ``way`` is the code of a rounding, or ``TO_HALF``; ``low`` and ``high``
are the range of integers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ir_interp.array_types import Array
from ir_interp.executor.compiled.calls import TO_HALF
from ir_interp.executor.loops.compiling import START, compiled
from ir_interp.executor.loops.rounding import HALF_EVEN, rounded
from ir_interp.executor.loops.vectors import bits_of, float_of
from ir_interp.executor.loops.weighted_sums import across, along

# The arithmetic of ``executor.arrays.float16``, whose module explains it. A processor's own conversion would be
# faster, but LLVM aborts the process where there is none.
_SIGN, _INFINITY, _REBIAS, _INFINITE = np.uint32(0x8000), np.uint16(0x7C00), np.float32(2.0**112), np.uint32(143 << 23)
_EXPONENT, _LEAST, _BESIDE = np.uint32(0x7F800000), np.uint32(113 << 23), np.uint32((13 << 23) + 0x800)


@compiled
def _as_single(half: Any) -> Any:
    """Return the float32 of the bits of a finite float16."""
    bits = np.uint32(half)
    value = float_of((bits & np.uint32(0x7FFF)) << np.uint32(13) | (bits & _SIGN) << np.uint32(16))
    return value * _REBIAS


@compiled
def _as_half(single: Any) -> Any:
    """Return the bits of the float16 nearest to a float32 that is not NaN, half to even."""
    bits = bits_of(single)
    value = min(bits & np.uint32(0x7FFFFFFF), _INFINITE)
    power = max(value & _EXPONENT, _LEAST) + _BESIDE
    # The sum keeps the 11 bits of a float16 and rounds the others half to even; as an integer it then needs the
    # exponent back, 13 places lower.
    total = bits_of(float_of(value) + float_of(power)) + (power >> np.uint32(13))
    return np.uint16(total | bits >> np.uint32(16) & _SIGN)


@compiled
def _load(x: Array, begin: int, way: int, line: Array, start: int, count: int) -> bool:
    """Load ``count`` cells of a line; return whether a float16 among them is an infinity or NaN."""
    source, to, infinite = np.uint64(begin), np.uint64(start), False
    if way == TO_HALF:
        for i in range(count):
            half = x[source + np.uint64(i)]
            infinite |= (half & _INFINITY) == _INFINITY
            line[to + np.uint64(i)] = _as_single(half)
    else:
        for i in range(count):
            line[to + np.uint64(i)] = np.float32(x[source + np.uint64(i)])
    return infinite


@compiled
def _store(line: Array, way: int, low: float, high: float, y: Array, start: int, count: int) -> None:
    to, least, most = np.uint64(start), np.float32(low), np.float32(high)
    if way == TO_HALF:
        for i in range(count):
            y[to + np.uint64(i)] = _as_half(line[i])
    elif way == HALF_EVEN:  # a separate loop becomes one instruction for many cells
        for i in range(count):
            y[to + np.uint64(i)] = np.int32(min(max(np.rint(line[i]), least), most))
    else:
        for i in range(count):
            y[to + np.uint64(i)] = np.int32(min(max(rounded(line[i], way), least), most))


@compiled
def sixteen_columns_first(
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
    way: int,
    low: float,
    high: float,
) -> bool:
    """Compute rows ``start`` to ``stop`` of ``y``: the columns of each needed row, once, then rows."""
    (outputs, width), count, cells = row_weights.shape, y.shape[1], x.shape[1]
    source, target, weights, taps = x.reshape(-1), y.reshape(-1), column_weights.reshape(-1), column_weights.shape[1]
    row_sums, buffered = np.empty(width * count, np.float32), np.full(width, -1)
    line, total = np.empty(cells, np.float32), np.empty(count, np.float32)
    infinite = False
    for out in range(start, stop):
        image, place = divmod(out, outputs)
        top = image * height + first_rows[place]
        for row in range(top, top + width):
            if buffered[row % width] != row:
                infinite |= _load(source, row * cells, way, line, START, cells)
                along(line, START, first_columns, weights, taps, depth, inner, row_sums, row % width * count)
                buffered[row % width] = row
        across(row_sums, top, width, count, START, row_weights, place, total, START, count)
        _store(total, way, low, high, target, out * count, count)
    return infinite


@compiled
def sixteen_rows_first(
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
    way: int,
    low: float,
    high: float,
) -> bool:
    """Compute rows ``start`` to ``stop`` of ``y``: rows are summed before their columns."""
    (outputs, width), count, cells = row_weights.shape, y.shape[1], x.shape[1]
    source, target, weights, taps = x.reshape(-1), y.reshape(-1), column_weights.reshape(-1), column_weights.shape[1]
    lines, buffered = np.empty(width * cells, np.float32), np.full(width, -1)
    sums, total = np.empty(cells, np.float32), np.empty(count, np.float32)
    infinite = False
    for out in range(start, stop):
        image, place = divmod(out, outputs)
        top = image * height + first_rows[place]
        for row in range(top, top + width):
            if buffered[row % width] != row:
                infinite |= _load(source, row * cells, way, lines, row % width * cells, cells)
                buffered[row % width] = row
        across(lines, top, width, cells, START, row_weights, place, sums, START, cells)
        along(sums, START, first_columns, weights, taps, depth, inner, total, START)
        _store(total, way, low, high, target, out * count, count)
    return infinite


@compiled
def sixteen_columns(
    x: Array,
    y: Array,
    start: int,
    stop: int,
    first_columns: Array,
    column_weights: Array,
    depth: int,
    inner: tuple[int, int, int],
    way: int,
    low: float,
    high: float,
) -> bool:
    """Compute rows ``start`` to ``stop`` of ``y``, each from the same row of ``x``."""
    source, target, flat = x.reshape(-1), y.reshape(-1), column_weights.reshape(-1)
    cells, count = x.shape[1], y.shape[1]
    line, total = np.empty(cells, np.float32), np.empty(count, np.float32)
    infinite = False
    for row in range(start, stop):
        infinite |= _load(source, row * cells, way, line, START, cells)
        along(line, START, first_columns, flat, column_weights.shape[1], depth, inner, total, START)
        _store(total, way, low, high, target, row * count, count)
    return infinite


@compiled
def sixteen_rows(
    x: Array,
    y: Array,
    start: int,
    stop: int,
    height: int,
    first_rows: Array,
    row_weights: Array,
    way: int,
    low: float,
    high: float,
) -> bool:
    """Compute rows ``start`` to ``stop`` of ``y``, each from some rows of ``x``."""
    (outputs, width), cells = row_weights.shape, x.shape[1]
    source, target = x.reshape(-1), y.reshape(-1)
    lines, buffered, total = np.empty(width * cells, np.float32), np.full(width, -1), np.empty(cells, np.float32)
    infinite = False
    for out in range(start, stop):
        image, place = divmod(out, outputs)
        top = image * height + first_rows[place]
        for row in range(top, top + width):
            if buffered[row % width] != row:
                infinite |= _load(source, row * cells, way, lines, row % width * cells, cells)
                buffered[row % width] = row
        across(lines, top, width, cells, START, row_weights, place, total, START, cells)
        _store(total, way, low, high, target, out * cells, cells)
    return infinite
