"""Sums of floats as ``executor.definition`` defines them, of float16, and of 16-bit integers.

Images are [rows, columns * depth], with many of ``height`` rows stacked vertically. An output weights a window of
inputs, which begins at ``first`` and is as wide as ``weights`` [outputs, width]; weights of 0 change no sum. Arrays are
flat and indexed by unsigned numbers, since a view of a row would cost as much as forty sums. The type of a sum is that
of its weights; floats are fused from 0 on, tap by tap. A loop of floats returns whether an infinity or NaN occurred.
16-bit rows become float32, are summed as floats are, and rounded: float16 is represented as integers of its size,
``way`` is the code of a rounding, or ``TO_HALF``; ``low`` and ``high`` are the range of integers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ir_interp.executor.loop_calls import IN_ANY_ORDER, IN_PAIRS, TO_HALF
from ir_interp.executor.loops.vectors import (
    HALF_EVEN,
    PAIRS,
    START,
    added,
    bits_of,
    compiled,
    float_of,
    rounded,
    sum_four,
    sum_in_any_order,
    sum_pairs,
    sum_pixels,
    sum_two,
)
from ir_interp.shapes import Array


@compiled
def along(
    x: Array,
    begin: int,
    first: Array,
    weights: Array,
    width: int,
    depth: int,
    inner: tuple[int, int, int],
    sums: Array,
    start: int,
) -> None:
    """Fill ``sums`` from ``start`` on with weighted sums along a row of ``x``, which begins at ``begin``.

    ``first`` counts cells. ``inner`` is the first of the outputs that are vectors, the one after the last, and the kind
    of these vectors.
    """
    count, nothing, one, two, three = len(first), sums.dtype.type(0), np.uint64(1), np.uint64(2), np.uint64(3)
    row, to, before, after, kind = np.uint64(begin), np.uint64(start), inner[0], inner[1], inner[2]
    if kind == IN_PAIRS:
        near, far, size = begin + np.intp(first[before]), begin + np.intp(first[before + 1]), (after - before) // 2
        for i in range(0, size, PAIRS):
            cells = min(i, size - PAIRS) * depth  # the last vectors may overlap
            sum_pairs(
                x,
                near + cells,
                far + cells,
                weights,
                before * width,
                width,
                depth,
                sums,
                start + before * depth + 2 * cells,
            )
    elif after:
        if width == 2:
            for i in range(after):
                sum_two(x, begin + np.intp(first[i]), depth, weights, i, 2, sums, start + i * depth)
        elif width == 4:
            for i in range(after):
                sum_four(x, begin + np.intp(first[i]), depth, weights, i, 4, sums, start + i * depth)
        elif kind == IN_ANY_ORDER:
            for i in range(after):
                sum_in_any_order(x, begin + np.intp(first[i]), depth, weights, i, width, sums, start + i * depth)
        else:
            for i in range(after):
                sum_pixels(x, begin + np.intp(first[i]), depth, weights, i, width, sums, start + i * depth)
    elif depth == 1 and width == 1:
        after = count
        for i in range(count):
            sums[to + np.uint64(i)] = added(nothing, x[row + np.uint64(first[i])], weights[np.uint64(i)])
    elif depth == 1 and width == 2:
        after = count
        for i in range(count):
            at, tap = row + np.uint64(first[i]), np.uint64(2 * i)
            total = added(nothing, x[at], weights[tap])
            sums[to + np.uint64(i)] = added(total, x[at + one], weights[tap + one])
    elif depth == 1 and width == 4:
        after = count
        for i in range(count):
            at, tap = row + np.uint64(first[i]), np.uint64(4 * i)
            total = added(added(nothing, x[at], weights[tap]), x[at + one], weights[tap + one])
            total = added(total, x[at + two], weights[tap + two])
            sums[to + np.uint64(i)] = added(total, x[at + three], weights[tap + three])
    for rest in range(before + count - after):
        i = rest if rest < before else rest - before + after
        for cell in range(depth):
            at, tap, total = row + np.uint64(first[i]) + np.uint64(cell), np.uint64(i * width), nothing
            for _ in range(width):
                total = added(total, x[at], weights[tap])
                at += np.uint64(depth)
                tap += one
            sums[to + np.uint64(i * depth + cell)] = total


@compiled
def across(
    x: Array, first: int, ring: int, cells: int, begin: int, weights: Array, out: int, y: Array, start: int, count: int
) -> None:
    """Fill ``count`` cells of ``y`` from ``start`` on with sums of rows of ``x`` from ``first`` on, by weights ``out``.

    Rows have ``cells`` cells, of which those from ``begin`` on are summed; after ``ring`` rows the first follows again.
    """
    width, nothing, to = weights.shape[1], y.dtype.type(0), np.uint64(start)
    tap = 0
    while tap < width:
        # Up to four rows at a time: a cell of the sum is then read and written once for four products, whose order
        # stays.
        a, w = np.uint64((first + tap) % ring * cells + begin), weights[out, tap]
        if width - tap >= 4:
            b, v = np.uint64((first + tap + 1) % ring * cells + begin), weights[out, tap + 1]
            c, u = np.uint64((first + tap + 2) % ring * cells + begin), weights[out, tap + 2]
            d, t = np.uint64((first + tap + 3) % ring * cells + begin), weights[out, tap + 3]
            if tap:
                for i in range(count):
                    cell = np.uint64(i)
                    total = added(added(y[to + cell], x[a + cell], w), x[b + cell], v)
                    y[to + cell] = added(added(total, x[c + cell], u), x[d + cell], t)
            else:
                for i in range(count):
                    cell = np.uint64(i)
                    total = added(added(nothing, x[a + cell], w), x[b + cell], v)
                    y[to + cell] = added(added(total, x[c + cell], u), x[d + cell], t)
            tap += 4
        elif width - tap >= 2:
            b, v = np.uint64((first + tap + 1) % ring * cells + begin), weights[out, tap + 1]
            if tap:
                for i in range(count):
                    cell = np.uint64(i)
                    y[to + cell] = added(added(y[to + cell], x[a + cell], w), x[b + cell], v)
            else:
                for i in range(count):
                    cell = np.uint64(i)
                    y[to + cell] = added(added(nothing, x[a + cell], w), x[b + cell], v)
            tap += 2
        else:
            if tap:
                for i in range(count):
                    cell = np.uint64(i)
                    y[to + cell] = added(y[to + cell], x[a + cell], w)
            else:
                for i in range(count):
                    cell = np.uint64(i)
                    y[to + cell] = added(nothing, x[a + cell], w)
            tap += 1


@compiled
def holds_infinity(x: Array, start: int, count: int) -> bool:
    """Return whether ``count`` cells from ``start`` on, which are in the cache, contain an infinity or NaN."""
    has_nan, begin = False, np.uint64(start)
    for i in range(count):
        nothing = x[begin + np.uint64(i)] - x[begin + np.uint64(i)]  # NaN of an infinity
        has_nan |= nothing != nothing
    return has_nan


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
