"""Sums of windows of inputs: of floats as ``executor.definition`` defines them, and of integers.

Images are [rows, columns * depth], with many of ``height`` rows stacked vertically. An output weights a window of
inputs, which begins at ``first`` and is as wide as ``weights`` [outputs, width]; weights of 0 change no sum. Arrays are
flat and indexed by unsigned numbers, since a view of a row would cost as much as forty sums. The type of a sum is that
of its weights; floats are fused from 0 on, tap by tap.

A loop returns whether an infinity or NaN occurred, if its ending is ``Kept`` or ``Narrow``. Rows of 16 bits become
float32 before they are summed; float16 is represented as integers of its size. ``Whole`` sums are exact in int32.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ir_interp.executor.loop_calls import (
    IN_ANY_ORDER,
    IN_PAIRS,
    TO_HALF,
    Columns,
    ColumnsFirst,
    Ending,
    Kept,
    Narrow,
    Rows,
    RowsFirst,
)
from ir_interp.executor.loops.compilation import compiled
from ir_interp.executor.loops.vectors import (
    HALF_EVEN,
    HALF_UP,
    PAIRS,
    START,
    added,
    bits_of,
    float_of,
    nearest_byte,
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


# Endings of sums. A loop is compiled for each, which is a tuple known by its length.

_KEPT, _NARROW = len(Kept._fields), len(Narrow._fields)


# The arithmetic of ``definition.load_float16`` and ``store_float16``. A processor's own conversion would be
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
def nearest(value: Any, rounding: int) -> Any:
    """Return an exact sum rounded; float64 represents it, and a half more."""
    if rounding == HALF_EVEN:
        return np.rint(value)
    if rounding == HALF_UP:
        return np.floor(value + 0.5)
    return np.copysign(np.floor(abs(value) + 0.5), value)


@compiled
def lines_of(x: Array, size: int, ending: Ending) -> Array:
    """Return ``x``, or room for the rows of it that ``read`` fills; the place of a single one is 0."""
    return np.empty(size, np.float32) if len(ending) == _NARROW else x


@compiled
def totals_of(y: Array, weights: Array, count: int, ending: Ending) -> Array:
    """Return ``y``, or room for the ``count`` sums of one of its rows, whose place is 0."""
    return y if len(ending) == _KEPT else np.empty(count, weights.dtype)


@compiled
def read(x: Array, begin: int, lines: Array, start: int, count: int, ending: Any) -> bool:
    """Read a row of ``count`` cells, if lines are room; return whether a float16 among them is an infinity or NaN."""
    source, to, infinite = np.uint64(begin), np.uint64(start), False
    if len(ending) == _NARROW:
        if ending[0] == TO_HALF:
            for i in range(count):
                half = x[source + np.uint64(i)]
                infinite |= (half & _INFINITY) == _INFINITY
                lines[to + np.uint64(i)] = _as_single(half)
        else:
            for i in range(count):
                lines[to + np.uint64(i)] = np.float32(x[source + np.uint64(i)])
    return infinite


@compiled
def finish(totals: Array, y: Array, start: int, count: int, ending: Any) -> bool:
    """Store the sums of a row of ``count`` cells from ``start`` on; return whether one that is kept is not finite."""
    to, infinite = np.uint64(start), False
    if len(ending) == _KEPT:
        for i in range(count):
            nothing = y[to + np.uint64(i)] - y[to + np.uint64(i)]  # NaN of an infinity
            infinite |= nothing != nothing
    elif len(ending) == _NARROW:
        way, low, high = ending
        least, most = np.float32(low), np.float32(high)
        if way == TO_HALF:
            for i in range(count):
                y[to + np.uint64(i)] = _as_half(totals[i])
        elif way == HALF_EVEN:  # a separate loop becomes one instruction for many cells
            for i in range(count):
                y[to + np.uint64(i)] = np.int32(min(max(np.rint(totals[i]), least), most))
        else:
            for i in range(count):
                y[to + np.uint64(i)] = np.int32(min(max(rounded(totals[i], way), least), most))
    else:
        factor, rounding, low, high = ending
        # A product with a power of two is exact, and so is its sum with a half: float64 has bits to spare.
        if rounding == HALF_EVEN:
            for i in range(count):
                y[to + np.uint64(i)] = nearest_byte(min(max(totals[i] * factor, low), high))
        else:
            for i in range(count):
                y[to + np.uint64(i)] = np.int32(min(max(nearest(totals[i] * factor, rounding), low), high))
    return infinite


# Loops


@compiled
def next_row(top: int, taps: int, last: int) -> int:
    """Return the first of ``taps`` rows from ``top`` on that is not among as many rows up to ``last``."""
    return max(top, last + 1) if top + taps > last else top


@compiled
def rows(x: Array, y: Array, start: int, stop: int, call: Rows) -> bool:
    """Compute rows ``start`` to ``stop`` of ``y``, each from some rows of ``x``."""
    (height, first_rows, row_weights), ending = call
    (outputs, taps), cells = row_weights.shape, x.shape[1]
    source, target, last, infinite = x.reshape(-1), y.reshape(-1), -1, False
    lines, totals = lines_of(source, taps * cells, ending), totals_of(target, row_weights, cells, ending)
    ring, step = len(lines) // max(cells, 1), cells if len(ending) == _KEPT else 0
    for out in range(start, stop):
        image, place = divmod(out, outputs)
        top = image * height + first_rows[place]
        for row in range(next_row(top, taps, last), top + taps):
            infinite |= read(source, row * cells, lines, row % ring * cells, cells, ending)
        last = top + taps - 1
        across(lines, top, ring, cells, START, row_weights, place, totals, out * step, cells)
        infinite |= finish(totals, target, out * cells, cells, ending)
    return infinite


@compiled
def columns(x: Array, y: Array, start: int, stop: int, call: Columns) -> bool:
    """Compute rows ``start`` to ``stop`` of ``y``, each from the same row of ``x``."""
    (first, column_weights, depth, inner), ending = call
    source, target, weights, infinite = x.reshape(-1), y.reshape(-1), column_weights.reshape(-1), False
    width, cells, count = column_weights.shape[1], x.shape[1], y.shape[1]
    lines, totals = lines_of(source, cells, ending), totals_of(target, weights, count, ending)
    advance, step = 0 if len(ending) == _NARROW else cells, count if len(ending) == _KEPT else 0
    for row in range(start, stop):
        infinite |= read(source, row * cells, lines, START, cells, ending)
        along(lines, row * advance, first, weights, width, depth, inner, totals, row * step)
        infinite |= finish(totals, target, row * count, count, ending)
    return infinite


@compiled
def columns_first(x: Array, y: Array, start: int, stop: int, call: ColumnsFirst) -> bool:
    """Compute rows ``start`` to ``stop`` of ``y``: the columns of each needed row, once, then rows."""
    (height, first_rows, row_weights), (first, column_weights, depth, inner), ending = call
    (outputs, taps), width, cells, count = row_weights.shape, column_weights.shape[1], x.shape[1], y.shape[1]
    source, target, weights, infinite = x.reshape(-1), y.reshape(-1), column_weights.reshape(-1), False
    lines, totals = lines_of(source, cells, ending), totals_of(target, weights, count, ending)
    advance, step = 0 if len(ending) == _NARROW else cells, count if len(ending) == _KEPT else 0
    sums, last = np.empty(taps * count, weights.dtype), -1  # rows are computed in order, from an image's start or later
    for out in range(start, stop):
        image, place = divmod(out, outputs)
        top = image * height + first_rows[place]
        for row in range(next_row(top, taps, last), top + taps):
            infinite |= read(source, row * cells, lines, START, cells, ending)
            along(lines, row * advance, first, weights, width, depth, inner, sums, row % taps * count)
        last = top + taps - 1
        across(sums, top, taps, count, START, row_weights, place, totals, out * step, count)
        infinite |= finish(totals, target, out * count, count, ending)
    return infinite


@compiled
def rows_first(x: Array, y: Array, start: int, stop: int, call: RowsFirst) -> bool:
    """Compute rows ``start`` to ``stop`` of ``y``: rows are summed before their columns."""
    (height, first_rows, row_weights), (first, column_weights, depth, inner), ending = call
    (outputs, taps), width, cells, count = row_weights.shape, column_weights.shape[1], x.shape[1], y.shape[1]
    source, target, weights, infinite = x.reshape(-1), y.reshape(-1), column_weights.reshape(-1), False
    lines, totals = lines_of(source, taps * cells, ending), totals_of(target, weights, count, ending)
    ring, step, last = len(lines) // max(cells, 1), count if len(ending) == _KEPT else 0, -1
    begin: Any = np.intp(first.min())
    # Rows are summed only where a window reads them: a narrow region of a wide image costs what its own columns do.
    needed, places = np.intp(first.max()) + width * depth - begin, first - np.uint32(begin)
    sums = np.empty(needed, weights.dtype)
    for out in range(start, stop):
        image, place = divmod(out, outputs)
        top = image * height + first_rows[place]
        for row in range(next_row(top, taps, last), top + taps):
            infinite |= read(source, row * cells, lines, row % ring * cells, cells, ending)
        last = top + taps - 1
        across(lines, top, ring, cells, begin, row_weights, place, sums, START, needed)
        along(sums, START, places, weights, width, depth, inner, totals, out * step)
        infinite |= finish(totals, target, out * count, count, ending)
    return infinite
