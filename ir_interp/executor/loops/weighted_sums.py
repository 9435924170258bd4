"""Weighted sums along a row, and of rows: of floats, of 8-bit integers, and of their integer sums.

Arrays are flat and indexed by unsigned numbers, since a view of a row would cost as much as forty sums. The type of a
sum is that of its weights; floats are fused from 0 on, tap by tap.
"""

from __future__ import annotations

import numpy as np

from ir_interp.array_types import Array
from ir_interp.executor.compiled.calls import IN_ANY_ORDER, IN_PAIRS
from ir_interp.executor.loops.compiling import compiled
from ir_interp.executor.loops.vectors import PAIRS, added, sum_four, sum_in_any_order, sum_pairs, sum_pixels, sum_two


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
