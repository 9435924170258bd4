"""Integers summed as image libraries do, exact to the last bit: in passes, in Intel's patches, in Pillow's blocks.

Intel's library within OpenCV sums in the orders of ``library_weights.Order``, patch by patch. Blocks of full pixels are
averaged in Pillow's numbers (``Reduce.c``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.errors import SpecError
from ir_interp.executor.byte_proposals import Places, Proposed, sums_in_order
from ir_interp.executor.definition import rounded
from ir_interp.executor.stages import band, prepare
from ir_interp.executor.threads import for_each
from ir_interp.executor.tiles import Operation
from ir_interp.plan.integer_sums import Piece, Range
from ir_interp.plan.library_passes import Pass, passes
from ir_interp.plan.library_weights import Order, Orders, Patch, patches
from ir_interp.plan.taps import Plan, Reduced, Taps, ascending
from ir_interp.shapes import Array, Shape, resolve_axes
from ir_interp.specs import IntegerRounding, Unrounded

_MIN_ELEMENTS_FOR_THREADS = 2**21  # of input and output of a pass
_PART_ELEMENTS = 2**19  # of input and output of a part of a pass, whose 64-bit floats stay in the cache


def run_passes(x: Array, bound: Plan, piece: Piece) -> Array:
    """Return integers ``x``, padded already, resized in the passes of a plan."""
    values = x
    for stage in piece.passes(bound, x.dtype.name):
        values = _passed(values, stage, x.dtype, _blocks(stage, bound, piece))
    return values.astype(x.dtype, copy=False)


def _blocks(step: Pass, bound: Plan, piece: Piece) -> int:
    """Return the number of cells of a row of a piece, from the first, that are in full blocks of the row."""
    if not step.lanes:
        return 0
    lengths = bound.out_shape[step.axis + 1 :]
    strides = [math.prod(lengths[place + 1 :]) for place in range(len(lengths))]
    along = (
        np.arange(*segment) * stride for segment, stride in zip(piece.outputs[step.axis + 1 :], strides, strict=True)
    )
    places = reduce(np.add.outer, along, np.zeros((), np.intp))
    return int((places < math.prod(lengths) // step.lanes * step.lanes).sum())


def _passed(x: Array, step: Pass, dtype: np.dtype[Any], blocks: int) -> Array:
    """Return a pass over ``x``, part by part, with integers of ``dtype`` if the pass ends in such.

    The first cells of a row, as many as are in ``blocks``, are summed as vectors.
    """
    outer, inner = math.prod(x.shape[: step.axis]), math.prod(x.shape[step.axis + 1 :])
    along, count = x.shape[step.axis], len(step.indices)
    shape = (*x.shape[: step.axis], count, *x.shape[step.axis + 1 :])
    source, plain = x.reshape(outer, along, inner), replace(step, axis=1)
    vectors, sums = plain.vectors() if blocks else plain, _sums(plain, inner)
    counts = None if step.counts is None else step.counts.divisors().reshape(count, inner)

    def part(place: tuple[slice, slice]) -> Array:
        cells = source[place[0], :, place[1]]
        total = sums(cells)
        finished, whole = _finished(total, step, dtype), max(blocks - place[1].start, 0)
        if counts is not None:
            finished = np.where(counts[:, place[1]] > 0, _shared(total, counts[:, place[1]], dtype), finished)
        if whole:
            finished[:, :, :whole] = _finished(_chained(cells[:, :, :whole], vectors), vectors, dtype)
        return finished

    parts = _parts(outer, along + count, inner)
    first = part(parts[0])
    result = np.empty((outer, count, inner), first.dtype if step.rounding is Unrounded.KEPT else dtype)
    result[parts[0][0], :, parts[0][1]] = first

    def store(place: tuple[slice, slice]) -> None:
        result[place[0], :, place[1]] = part(place)

    for_each(parts[1:], store, are_shared=x.size + result.size > _MIN_ELEMENTS_FOR_THREADS)
    return result.reshape(shape)


def _parts(outer: int, along: int, inner: int) -> list[tuple[slice, slice]]:
    """Return parts of [outer, along, inner]: some outer items each, or some cells of one item."""
    items = max(1, _PART_ELEMENTS // max(1, along * inner))
    cells = max(_MIN_CELLS, _PART_ELEMENTS // max(1, along)) if items == 1 else inner
    starts = range(0, max(inner - _MIN_CELLS, 1), cells)  # the last part has no fewer cells than others may have
    stops = [*starts[1:], inner]
    across = [slice(start, stop) for start, stop in zip(starts, stops, strict=True)]
    return [(slice(start, start + items), columns) for start in range(0, outer, items) for columns in across]


_MIN_CELLS = 64


def _sums(step: Pass, inner: int) -> Callable[[Array], Array]:
    """Return a function that sums a part, [outer, along, inner], of a pass."""
    if step.weights.dtype.kind == "f":
        return lambda x: _chained(x, step)
    if step.bits_each:
        return lambda x: _shortened(x, step)
    if (pixels := _blocks_of(step)) is not None:
        return lambda x: _added(x, pixels)
    taps = Taps(step.indices, step.weights.astype(np.float64))
    product = prepare(taps, 0, len(step.indices), inner, _DOUBLE, band)
    return lambda x: _multiplied(x, product, len(step.indices))


_DOUBLE = np.dtype(np.float64)


def _blocks_of(step: Pass) -> list[slice] | None:
    """Return the first, the second ... pixels of all outputs if these are sums of blocks; None if they are not."""
    used = (step.weights != 0).any(axis=0)
    indices, steps = step.indices[:, used], np.diff(step.indices[:, used], axis=0)
    if not (step.weights[:, used] == 1).all() or (len(steps) and (np.ptp(steps) or steps[0, 0] < 1)):
        return None
    distance = int(steps[0, 0]) if len(steps) else 1
    return [slice(first, first + (len(indices) - 1) * distance + 1, distance) for first in indices[0].tolist()]


def _added(x: Array, pixels: list[slice]) -> Array:
    """Return sums of blocks: of integers as such, of the float64 sums of another pass as float64."""
    fits = x.dtype.itemsize <= 2 and len(pixels) < _MOST_IN_SHORT
    numbers = np.float64 if x.dtype.kind == "f" else np.int32 if fits else np.int64
    total: Array = x[:, pixels[0]].astype(numbers)
    for pixel in pixels[1:]:
        np.add(total, x[:, pixel], out=total)
    return total


_MOST_IN_SHORT = 2**15  # numbers of 16 bits whose sum has no more than 31


def _multiplied(x: Array, product: Operation, count: int) -> Array:
    """Return integer sums as products of float64 matrices, which are exact below 2**53 in any order."""
    sums = np.empty((len(x), count, x.shape[2]))
    span = product.span
    product.apply(np.ascontiguousarray(x[:, span.in_start : span.in_stop], np.float64), sums)
    return sums


def _columns(step: Pass, rank: int) -> list[tuple[Array, Array]]:
    """Return indices and weights of each tap, with the weights along their axis."""
    shape = (-1,) + (1,) * (rank - step.axis - 1)
    return [(i, w.reshape(shape)) for i, w in zip(step.indices.T, step.weights.T, strict=True)]


def _shortened(x: Array, step: Pass) -> Array:
    # Shifts round down, also the upper half of a product of 16 bits, as OpenCV's vector instructions do.
    values = x.astype(np.int64) >> step.bits_before
    terms = ((np.take(values, i, axis=step.axis) * w) >> step.bits_each for i, w in _columns(step, x.ndim))
    return np.asarray(sum(terms))


def _chained(x: Array, step: Pass) -> Array:
    values, total = x.astype(step.weights.dtype), None
    for i, w in _columns(step, x.ndim):
        term = np.take(values, i, axis=step.axis) * w
        total = term if total is None else total + term
    return np.asarray(total)


def _shared(sums: Array, counts: Array, dtype: np.dtype[Any]) -> Array:
    """Return sums of blocks that lack some pixels, divided in float32 by the number of pixels, as OpenCV does."""
    return rounded(sums.astype(np.float32) / np.maximum(counts, 1), IntegerRounding.HALF_EVEN, dtype)


def _finished(sums: Array, step: Pass, dtype: np.dtype[Any]) -> Array:
    if step.factor != 1.0:
        sums = sums.astype(np.float32) * np.float32(step.factor)
    if step.bits_after and sums.dtype.kind == "i" and step.rounding is IntegerRounding.HALF_UP:
        # A half is added before the shift, which rounds down: half up, for negative sums as well.
        sums = (sums + (1 << step.bits_after - 1)) >> step.bits_after
    elif step.bits_after:
        sums = sums * 2.0**-step.bits_after  # exact: integers below 2**53 times a power of two
    return rounded(sums, step.rounding, dtype)


_PATCH_ELEMENTS = 2**17  # of a part of a patch, whose intermediates of 8 bytes each stay in the cache
_MIN_PATCH_ELEMENTS_FOR_THREADS = 2**20  # of the output


def run_ipp(x: Array, bound: Plan, piece: Piece) -> Array:
    """Return integers ``x``, padded already, resized."""
    across, down = passes(bound, x.dtype.name)
    axis, channels = down.axis, math.prod(bound.out_shape[across.axis + 1 :])
    source = x.reshape(math.prod(x.shape[:axis]), *x.shape[axis : axis + 2], -1)
    result = np.empty((len(source), *piece.shape[axis : axis + 2], source.shape[3]), x.dtype)
    every = patches(down.indices, across.indices, channels, x.dtype.name)
    cut = [_within(patch, piece.outputs[axis], piece.outputs[axis + 1]) for patch in every]
    parts = [part for patch in cut for part in _parts_of_patch(patch, len(source) * source.shape[3])]
    columns, rows = piece.passes(bound, x.dtype.name)

    def store(part: Patch) -> None:
        sums = _summed_patch(source, part, rows, columns)
        result[:, part.rows[:, None], part.columns] = rounded(sums, IntegerRounding.HALF_EVEN, x.dtype)

    for_each(parts, store, are_shared=result.size > _MIN_PATCH_ELEMENTS_FOR_THREADS, products=False)
    return result.reshape(*x.shape[:axis], *result.shape[1:3], *x.shape[axis + 2 :])


def proposed_ipp(bound: Plan, piece: Piece, shape: Shape) -> Proposed:
    """Return a uint8 resize as products propose it."""
    across, down = passes(bound, "uint8")
    channels = math.prod(bound.out_shape[across.axis + 1 :])
    orders: list[Orders | None] = []
    order_of = np.zeros(piece.shape[across.axis], np.intp)
    for patch in patches(down.indices, across.indices, channels, "uint8"):  # for bytes each patch has all rows
        columns = _within(patch, piece.outputs[down.axis], piece.outputs[across.axis]).columns
        order_of[columns] = len(orders)
        orders.append(patch.orders)

    def add(columns: Places, taken: Array, across: Array, down: Array) -> Array:
        sums, of_column = np.empty(len(columns), np.float32), order_of[columns]
        for which, order in enumerate(orders):
            at = of_column == which
            sums[at] = _of_rows(order, taken[:, :, at], across[:, at], down[:, at])
        return sums

    of_columns, of_rows = piece.passes(bound, "uint8")
    return sums_in_order(of_columns, of_rows, shape, add)


def _of_rows(orders: Orders | None, beside: Array, across: Array, down: Array) -> Array:
    """Return sums of values [columns, rows, places]."""
    if orders is None:
        return _between(_between(beside, across), down)
    sums = {order: _added_in_order(order, beside, across[:, None]) for order in set(orders.across)}
    return _added_in_order(orders.down, [sums[order][row] for row, order in enumerate(orders.across)], down)


def _within(patch: Patch, rows: Range, columns: Range) -> Patch:
    """Return the part of a patch in a segment of rows and of columns, counted from there."""
    return replace(patch, rows=_cut(patch.rows, *rows), columns=_cut(patch.columns, *columns))


def _cut(places: NDArray[np.intp], start: int, stop: int) -> NDArray[np.intp]:
    return places[(places >= start) & (places < stop)] - start


def _parts_of_patch(patch: Patch, depth: int) -> Iterator[Patch]:
    """Yield some rows of a patch at a time, of ``depth`` values where they meet a column."""
    count = max(1, _PATCH_ELEMENTS // max(1, len(patch.columns) * depth))
    for start in range(0, len(patch.rows) if len(patch.columns) else 0, count):
        yield replace(patch, rows=patch.rows[start : start + count])


def _summed_patch(x: Array, part: Patch, rows: Pass, columns: Pass) -> Array:
    """Return the sums of a part of [outer, rows, columns, channels]."""
    high, wide = rows.indices[part.rows], columns.indices[part.columns]
    needed = ascending(high)
    band, places = x[:, needed].astype(np.float32), np.searchsorted(needed, high).T
    beside = [band[:, :, column] for column in wide.T]
    across = columns.weights[part.columns].T[:, :, None]
    down = rows.weights[part.rows].T[:, :, None, None]
    if part.orders is None:
        blended = _between(beside, across)
        return _between([blended[:, place] for place in places], down)
    sums = {order: _added_in_order(order, beside, across) for order in set(part.orders.across)}
    above = [sums[order][:, row] for order, row in zip(part.orders.across, places, strict=True)]
    return _added_in_order(part.orders.down, above, down)


def _between(values: Sequence[Array] | Array, weights: Array) -> Array:
    low, high = values
    return _fused(high - low, weights[1], low)


def _added_in_order(order: Order, values: Sequence[Array] | Array, weights: Array) -> Array:
    totals = []
    for start, *others in order.chains:
        total = values[start] * weights[start]
        for tap in others:
            fused = order.fused
            total = _fused(values[tap], weights[tap], total) if fused else total + values[tap] * weights[tap]
        totals.append(total)
    return np.asarray(sum(totals[1:], totals[0]))


def _fused(values: Array, weights: Array, total: Array) -> Array:
    """Return ``total + values * weights`` in float32, rounded once, since float64 represents the product."""
    products = np.multiply(values, weights, dtype=np.float64)
    products += total
    return products.astype(np.float32)


BITS = 24
"""Fractional bits of the factor of a sum of bytes."""


def averaged_blocks(x: Array, reduction: Reduced, bound: Plan, piece: Piece, rest: Piece) -> Array:
    """Return integers ``x``, the inputs of a ``piece`` of a plan, averaged: the inputs of a piece of the ``rest``.

    Raises SpecError for pixels whose sums overflow in Pillow.
    """
    _check_sums(x, reduction)
    sums, counts = x, np.ones((1,) * x.ndim, np.int64)
    for axis, blocks in zip(resolve_axes(bound.spec.axes, x.ndim), reduction.blocks, strict=True):
        start, stop = rest.inputs[axis]
        edges = blocks.edges[start : stop + 1] - piece.inputs[axis][0]
        sums = _summed_blocks(sums.swapaxes(0, axis), edges).swapaxes(0, axis)
        counts = counts * np.diff(edges).reshape((-1,) + (1,) * (x.ndim - axis - 1))
    if x.dtype != np.uint8:
        # Pillow multiplies by the reciprocal, in float64, for all types but bytes.
        return rounded(sums * (1.0 / counts), IntegerRounding.HALF_AWAY, x.dtype).astype(x.dtype)
    return np.ascontiguousarray((((sums + counts // 2) * inverses(counts)) >> BITS).astype(x.dtype))


def _check_sums(x: Array, reduction: Reduced) -> None:
    """Raise SpecError for pixels of mode I whose sums may exceed int32, in which Pillow adds up to 2x2 of them."""
    count = math.prod(min(blocks.size, _IN_A_ROW) for blocks in reduction.blocks)
    most = 2**31 // count
    if x.dtype != np.int32 or not x.size or (-most <= int(x.min()) and int(x.max()) < most):
        return
    problem = f"Pillow's sums of mode I for reducing_gap may overflow for pixels beyond {most}"
    raise SpecError(f"{problem}; leave reducing_gap out, or use mode F")


_IN_A_ROW = 2  # pixels of a row, and rows, that Reduce.c adds at a time in integers


def _summed_blocks(x: Array, edges: Array) -> Array:
    """Return sums over blocks of the first axis, all as long as the first but for the last, which may be shorter."""
    length, last = int(edges[1] - edges[0]), int(edges[-1])
    total: Array = x[int(edges[0]) : last : length].astype(np.int64)
    for offset in range(1, length):  # whole slices, since a sum of each block alone takes five times as long
        part = x[int(edges[0]) + offset : last : length]
        total[: len(part)] += part
    return total


def inverses(counts: Array) -> Array:
    """Return the factors of sums of ``counts`` bytes."""
    return (np.float32(2.0 ** (BITS + 8)) / (counts * 2**8).astype(np.float32)).astype(np.int64)
