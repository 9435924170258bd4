"""Sums of integers in the order of a library or a runtime, or with a library's own loss of bits; and settled sums.

In the steps of a runtime (``executor.ordered_sums.run_steps``), an output weights inputs at ``indices`` [outputs, taps]
by ``weights`` [outputs, taps]. Integer sums have the type of their weights; others are float32, with each product
rounded, or fused into the sum as float64 represents it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ir_interp.executor.loop_calls import (
    BLOCK,
    Chained,
    ColumnWindows,
    Fixed,
    Paired,
    Settled,
    SettledColumnsFirst,
    SettledRowsFirst,
    Shortened,
    StepColumns,
    Stepped,
    StepRows,
)
from ir_interp.executor.loops.compilation import compiled
from ir_interp.executor.loops.vectors import (
    HALF_EVEN,
    HALF_UP,
    KEPT,
    START,
    blend,
    exact_away,
    exact_even,
    exact_up,
    fused,
    lowest,
    nearest_byte,
    nearest_or_doubtful,
    rounded,
    sum_alternate,
    sum_beside,
    sum_fused,
)
from ir_interp.executor.loops.windows import along, nearest, next_row
from ir_interp.plan.library_weights import Across
from ir_interp.shapes import Array

_FIXED = len(Fixed._fields)  # endings are known by their lengths
_BLACK, _WHITE = np.float32(0), np.float32(255)
# Plain integers: in a compiled loop, a member of an enumeration is a boxed object.
_PAIRS, _FORWARD = Across.PAIRS.value, Across.FORWARD.value
_ALTERNATE, _FUSED_ALTERNATE = Across.ALTERNATE.value, Across.FUSED_ALTERNATE.value


@compiled
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


@compiled
def shortened(x: Array, y: Array, start: int, stop: int, call: Shortened) -> None:
    """Compute rows ``start`` to ``stop`` of ``y`` by sums of two rows, which lose bits before and after the weighting.

    Each needed row is summed along its columns once, in integers that float32 represents, and then fits 16 bits. The
    upper half of a product, which is added, is therefore one instruction.
    """
    row_indices, row_weights, columns, bits_before, bits_after = call
    first_columns, column_weights, depth, inner = columns
    before, after, half, count = np.int32(bits_before), np.int32(bits_after), np.int32(0), y.shape[1]
    source, weights, width = x.reshape(-1), column_weights.reshape(-1), column_weights.shape[1]
    if bits_after:
        half = np.int32(1 << (bits_after - 1))
    sums, short, buffered = np.empty(count, np.float32), np.empty((2, count), np.int16), np.full(2, -1)
    for out in range(start, stop):
        for tap in range(2):
            row = row_indices[out, tap]
            # The two rows of an output are neighbours, so their last bits differ, and each has a buffer of its own.
            if buffered[row % 2] != row:
                along(source, row * x.shape[1], first_columns, weights, width, depth, inner, sums, START)
                shortened_row = short[row % 2]
                for i in range(count):
                    shortened_row[i] = np.int16(np.int32(sums[i]) >> before)
                buffered[row % 2] = row
        upper, lower = short[row_indices[out, 0] % 2], short[row_indices[out, 1] % 2]
        weight, weight_below, line = np.int32(row_weights[out, 0]), np.int32(row_weights[out, 1]), y[out]
        for i in range(count):
            above, below = np.int32(upper[i]) * weight >> 16, np.int32(lower[i]) * weight_below >> 16
            line[i] = min(max((above + below + half) >> after, 0), 255)


@compiled
def _ordered_pixel(
    x: Array, begin: int, indices: Array, weights: Array, i: int, depth: int, order: int, sums: Array, to: int
) -> None:
    """Store the sums of four pixels of a row, cell by cell, in an order of ``library_weights.Across``."""
    nothing, first, second, third, fourth = np.float32(0), weights[i, 0], weights[i, 1], weights[i, 2], weights[i, 3]
    for cell in range(depth):
        at = begin + cell
        a, b = np.float32(x[at + indices[i, 0]]), np.float32(x[at + indices[i, 1]])
        c, d = np.float32(x[at + indices[i, 2]]), np.float32(x[at + indices[i, 3]])
        if order == _FORWARD:
            total = fused(fused(fused(fused(nothing, a, first), b, second), c, third), d, fourth)
        elif order == _PAIRS:
            total = (a * first + b * second) + (c * third + d * fourth)
        elif order == _ALTERNATE:
            total = (a * first + c * third) + (b * second + d * fourth)
        elif order == _FUSED_ALTERNATE:
            total = fused(fused(nothing, a, first), c, third) + fused(fused(nothing, b, second), d, fourth)
        else:
            total = fused(fused(nothing, d, fourth), a, first) + fused(fused(nothing, c, third), b, second)
        sums[to + cell] = total


@compiled
def _ordered_along(
    x: Array,
    begin: int,
    indices: Array,
    weights: Array,
    depth: int,
    orders: Array,
    inner: tuple[int, int],
    sums: Array,
    to: int,
) -> None:
    """Fill ``sums`` from ``to`` on along a row from ``begin`` on: four products each, in its order.

    ``inner`` outputs share one order and have contiguous inputs, so that four cells may be read and written.
    """
    flat, begun, ended = weights.reshape(-1), inner[0], inner[1]
    for i in range(begun):
        _ordered_pixel(x, begin, indices, weights, i, depth, orders[i], sums, to + i * depth)
    if orders[begun] == _FORWARD:
        for i in range(begun, ended):
            sum_fused(x, begin + np.intp(indices[i, 0]), depth, flat, i, 4, sums, to + i * depth)
    elif orders[begun] == _FUSED_ALTERNATE:
        for i in range(begun, ended):
            sum_alternate(x, begin + np.intp(indices[i, 0]), depth, flat, i, 4, sums, to + i * depth)
    else:
        for i in range(begun, ended):
            sums[to + i] = sum_beside(x, begin + np.intp(indices[i, 0]), flat, 4 * i)
    for i in range(ended, len(indices)):
        _ordered_pixel(x, begin, indices, weights, i, depth, orders[i], sums, to + i * depth)


@compiled
def paired(x: Array, y: Array, start: int, stop: int, call: Paired) -> None:
    """Compute rows ``start`` to ``stop`` of ``y`` by float32 sums of four columns, then of two fused pairs of rows."""
    (row_indices, row_weights, column_indices, column_weights, depth), orders, inner = call
    count, source = y.shape[1], x.reshape(-1)
    sums, buffered = np.empty(4 * count, np.float32), np.full(4, -1)
    for out in range(start, stop):
        for tap in range(4):
            row = row_indices[out, tap]
            # Four consecutive rows have four remainders, so none takes the buffer of another.
            if buffered[row % 4] != row:
                begin, place = row * x.shape[1], row % 4 * count
                _ordered_along(source, begin, column_indices, column_weights, depth, orders, inner, sums, place)
                buffered[row % 4] = row
        at, weights, line = row_indices[out] % 4 * count, row_weights[out], y[out]
        first, second = sums[at[0] : at[0] + count], sums[at[1] : at[1] + count]
        third, fourth = sums[at[2] : at[2] + count], sums[at[3] : at[3] + count]
        for i in range(count):
            upper = fused(second[i] * weights[1], first[i], weights[0])
            lower = fused(fourth[i] * weights[3], third[i], weights[2])
            line[i] = nearest_byte(min(max(upper + lower, _BLACK), _WHITE))


@compiled
def chained(x: Array, y: Array, start: int, stop: int, call: Chained) -> None:
    """Compute rows ``start`` to ``stop`` of ``y`` by float32 sums in order: of columns, then of rows; half to even."""
    ((row_indices, row_weights, column_indices, column_weights, depth),) = call
    sums, total = np.empty(y.shape[1], np.float32), np.empty(y.shape[1], np.float32)
    for out in range(start, stop):
        for tap in range(row_indices.shape[1]):
            weight = row_weights[out, tap]
            # Adding 0 changes no bit of a sum of bytes, and an edge has many such rows.
            if tap and weight == 0:
                continue
            _each_column(x[row_indices[out, tap]], column_indices, column_weights, depth, sums)
            if tap == 0:
                for i in range(len(sums)):
                    total[i] = sums[i] * weight
            else:
                for i in range(len(sums)):
                    total[i] += sums[i] * weight
        line = y[out]
        for i in range(len(line)):
            line[i] = nearest_byte(min(max(total[i], _BLACK), _WHITE))


@compiled
def _first(value: Any, weight: Any, ending: Stepped | Fixed) -> Any:
    """Return the sum of one product."""
    if len(ending) == _FIXED:
        # A sum that starts from a half and is shifted is rounded half up, since the shift rounds down.
        return weight * value + (1 << (ending[0] - 1))
    return np.float32(value) * weight


@compiled
def _next(total: Any, value: Any, weight: Any, ending: Stepped | Fixed) -> Any:
    """Return a sum and another product."""
    if len(ending) == _FIXED:
        return total + weight * value
    if ending[0]:
        # Exact: a product of two float32 has 48 bits. Only the sum is rounded.
        return np.float32(np.float64(np.float32(value)) * np.float64(weight) + np.float64(total))
    return total + np.float32(value) * weight


@compiled
def _store(line: Array, ending: Any, y: Array, start: int) -> None:
    """Store sums from ``start`` on, unchanged, or rounded and clipped to the range of an integer type."""
    to = np.uint64(start)
    if len(ending) == _FIXED:
        bits, least, most = ending
        for i in range(len(line)):
            y[to + np.uint64(i)] = min(max(line[i] >> bits, least), most)
    else:
        _, rounding, least, most = ending
        if rounding == KEPT:
            for i in range(len(line)):
                y[to + np.uint64(i)] = line[i]
        else:
            for i in range(len(line)):
                # Clipped as float64: float32 does not hold 2^31 - 1.
                y[to + np.uint64(i)] = np.int64(min(max(np.float64(rounded(line[i], rounding)), least), most))


@compiled
def step_rows(x: Array, y: Array, start: int, stop: int, call: StepRows) -> None:
    """Compute rows ``start`` to ``stop`` of ``y``, each from some rows of ``x``."""
    height, indices, weights, ending = call
    (outputs, taps), cells = weights.shape, x.shape[1]
    source, target, line = x.reshape(-1), y.reshape(-1), np.empty(cells, weights.dtype)
    for out in range(start, stop):
        image, place = divmod(out, outputs)
        for tap in range(taps):
            begin, weight = np.uint64((image * height + indices[place, tap]) * cells), weights[place, tap]
            if tap:
                for i in range(cells):
                    line[i] = _next(line[i], source[begin + np.uint64(i)], weight, ending)
            else:
                for i in range(cells):
                    line[i] = _first(source[begin + np.uint64(i)], weight, ending)
        _store(line, ending, target, out * cells)


@compiled
def step_columns(x: Array, y: Array, start: int, stop: int, call: StepColumns) -> None:
    """Compute rows ``start`` to ``stop`` of ``y``, each from the same row of ``x``; ``indices`` count cells."""
    indices, weights, depth, ending = call
    (outputs, taps), cells, count = weights.shape, x.shape[1], y.shape[1]
    source, target, line = x.reshape(-1), y.reshape(-1), np.empty(count, weights.dtype)
    for row in range(start, stop):
        begin = row * cells
        for i in range(outputs):
            for cell in range(depth):
                total = _first(source[begin + np.intp(indices[i, 0]) + cell], weights[i, 0], ending)
                for tap in range(1, taps):
                    value = source[begin + np.intp(indices[i, tap]) + cell]
                    total = _next(total, value, weights[i, tap], ending)
                line[i * depth + cell] = total
        _store(line, ending, target, row * count)


# Sums of 8-bit integers along two axes in float32, where those in doubt are summed again.
#
# float32 sums take half of the time of sums in int32 and float64, which hold all of them. Their error is bounded
# (``plan.integer_sums.error_bound``), so only sums about halfway between two bytes are in doubt, a few in a thousand.
# Outputs of short weights are exact, even at a half. ``windows`` explains the parameters.

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
