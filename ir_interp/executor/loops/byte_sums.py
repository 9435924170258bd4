"""Sums of 8-bit integers along two axes in float32, where those in doubt are summed again.

float32 sums take half of the time of sums in int32 and float64, which hold all of them. Their error is bounded
(``plan.integer_sums.error_bound``), so only sums about halfway between two bytes are in doubt, a few in a thousand.
Outputs of short weights are exact, even at a half. ``windows`` explains the parameters.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ir_interp.executor.loop_calls import BLOCK, ColumnWindows, Settled, SettledColumnsFirst, SettledRowsFirst
from ir_interp.executor.loops.compilation import compiled
from ir_interp.executor.loops.vectors import (
    HALF_EVEN,
    HALF_UP,
    START,
    blend,
    exact_away,
    exact_even,
    exact_up,
    lowest,
    nearest_or_doubtful,
)
from ir_interp.executor.loops.windows import along, nearest, next_row
from ir_interp.shapes import Array

_EXACT = 0  # the limits of a row, if sums of all its columns are exact
_LINE = 16  # float32 numbers of a line of the cache
_FEW = 8  # inputs along an axis; the sums of a wider window are vectors


@compiled
def _aligned(count: int) -> Array:
    """Return room for sums that begins where a line of the cache does: vectors across two lines take twice as long."""
    room = np.empty(count + _LINE, np.float32)
    return room[(-room.ctypes.data // 4) % _LINE :][:count]


@compiled
def _blended(x: Array, starts: Array, begin: int, weights: Array, tap: int, sums: Array, count: int) -> None:
    """Fill ``count`` cells of ``sums`` with weighted sums of the rows of ``x`` at ``starts``, from ``begin`` on."""
    for block in range(count // BLOCK):
        blend(x, starts, begin + block * BLOCK, weights, tap, len(starts), sums, block * BLOCK)
    if count % BLOCK and count > BLOCK:
        blend(x, starts, begin + count - BLOCK, weights, tap, len(starts), sums, count - BLOCK)
    elif count < BLOCK:
        for i in range(count):
            total = np.float32(0)
            for row in range(len(starts)):
                total += weights[tap + row] * np.float32(x[starts[row] + begin + i])
            sums[i] = total


@compiled
def _rounded(
    sums: Array, rounding: int, low: Any, high: Any, limits: Array, limit: int, line: Array, masks: Array
) -> Any:
    """Store the sums of a row in ``line``; return whether any are in doubt, as the masks of their blocks tell.

    Masks are stored, since a branch on each of them would wait for the whole computation of its block.
    """
    every = np.uint64(0)
    for block in range(len(masks)):
        mask, at = np.uint64(0), block * BLOCK
        if limit > _EXACT:
            mask = nearest_or_doubtful(sums, at, low, high, line, limits, (limit - 1) * len(sums))
        elif rounding == HALF_EVEN:
            exact_even(sums, at, low, high, line)
        elif rounding == HALF_UP:
            exact_up(sums, at, low, high, line)
        else:
            exact_away(sums, at, low, high, line)
        masks[block] = mask
        every |= mask
    return every != 0


@compiled
def _settle(
    x: Array,
    line: Array,
    masks: Array,
    begin: int,
    cells: int,
    place: int,
    windows: ColumnWindows,
    sums: Array,
    ending: Settled,
) -> None:
    """Sum outputs of a row that are in doubt again, in integers; inputs begin at ``begin``, in rows of ``cells``."""
    factor, rounding, low, high, rows, columns, _, _ = ending
    first_columns, _, depth, _ = windows
    height, width = rows.shape[1], columns.shape[1]
    span = (width - 1) * depth + 1
    for block in range(len(masks)):
        mask = masks[block]
        while mask:
            output = block * BLOCK + lowest(mask)
            mask &= mask - np.uint64(1)
            column = np.intp(np.uint32(output) // np.uint32(depth))
            at, total = np.uint64(begin + np.intp(first_columns[column]) + output - column * depth), np.int64(0)
            if width < _FEW:
                for i in range(height):
                    part, cell = np.int64(0), at + np.uint64(i * cells)
                    for j in range(width):
                        part += np.int64(columns[column, j]) * np.int64(x[cell + np.uint64(j * depth)])
                    total += part * np.int64(rows[place, i])
            else:
                for j in range(span):
                    sums[np.uint64(j)] = 0
                for i in range(height):
                    weight, cell = rows[place, i], at + np.uint64(i * cells)
                    for j in range(span):
                        sums[np.uint64(j)] += weight * np.int32(x[cell + np.uint64(j)])
                for j in range(width):
                    total += np.int64(columns[column, j]) * np.int64(sums[j * depth])
            line[output] = np.int32(min(max(nearest(total * factor, rounding), low), high))


@compiled
def rows_first(x: Array, y: Array, start: int, stop: int, call: SettledRowsFirst) -> None:
    """Compute rows ``start`` to ``stop`` of ``y``: whole rows are summed, many cells at once, before their columns."""
    (height, first_rows, row_weights), columns, ending = call
    first_columns, column_weights, depth, inner = columns
    _, rounding, least, most, _, _, row_limits, limits = ending
    (outputs, taps), width, cells, made = row_weights.shape, column_weights.shape[1], x.shape[1], y.shape[1]
    source, target, weights, factors = x.reshape(-1), y.reshape(-1), column_weights.reshape(-1), row_weights.reshape(-1)
    begin: Any = np.intp(first_columns.min())
    count = np.intp(first_columns.max()) + width * depth - begin
    low, high = np.float32(least), np.float32(most)
    places, starts, sums = first_columns - np.uint32(begin), np.empty(taps, np.intp), _aligned(count)
    total, line = _aligned(limits.shape[1]), np.empty(limits.shape[1], y.dtype)
    masks, flat_limits = np.empty(limits.shape[1] // BLOCK, np.uint64), limits.reshape(-1)
    part = np.empty(width * depth, np.int32)
    for out in range(start, stop):
        image, place = divmod(out, outputs)
        first = (image * height + first_rows[place]) * cells
        for tap in range(taps):
            starts[tap] = first + tap * cells
        _blended(source, starts, begin, factors, place * taps, sums, count)
        along(sums, START, places, weights, width, depth, inner, total, START)
        if _rounded(total, rounding, low, high, flat_limits, row_limits[place], line, masks):
            _settle(source, line, masks, first, cells, place, columns, part, ending)
        to = np.uint64(out * made)
        for i in range(made):
            target[to + np.uint64(i)] = line[np.uint64(i)]


@compiled
def columns_first(x: Array, y: Array, start: int, stop: int, call: SettledColumnsFirst) -> None:
    """Compute rows ``start`` to ``stop`` of ``y``: the columns of each needed row, once, then rows."""
    (height, first_rows, row_weights), columns, ending = call
    first_columns, column_weights, depth, inner = columns
    _, rounding, least, most, _, _, row_limits, limits = ending
    (outputs, taps), width, cells, made = row_weights.shape, column_weights.shape[1], x.shape[1], y.shape[1]
    source, target, weights, factors = x.reshape(-1), y.reshape(-1), column_weights.reshape(-1), row_weights.reshape(-1)
    low, high = np.float32(least), np.float32(most)
    starts, last = np.empty(taps, np.intp), -1
    sums, total = _aligned(taps * limits.shape[1]), _aligned(limits.shape[1])
    line, masks = np.empty(limits.shape[1], y.dtype), np.empty(limits.shape[1] // BLOCK, np.uint64)
    part, flat_limits = np.empty(width * depth, np.int32), limits.reshape(-1)
    for out in range(start, stop):
        image, place = divmod(out, outputs)
        first = image * height + first_rows[place]
        for row in range(next_row(first, taps, last), first + taps):
            along(source, row * cells, first_columns, weights, width, depth, inner, sums, row % taps * limits.shape[1])
        last = first + taps - 1
        for tap in range(taps):
            starts[tap] = (first + tap) % taps * limits.shape[1]
        _blended(sums, starts, START, factors, place * taps, total, made)
        if _rounded(total, rounding, low, high, flat_limits, row_limits[place], line, masks):
            _settle(source, line, masks, first * cells, cells, place, columns, part, ending)
        to = np.uint64(out * made)
        for i in range(made):
            target[to + np.uint64(i)] = line[np.uint64(i)]
