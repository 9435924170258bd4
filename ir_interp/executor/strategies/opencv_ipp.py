"""Integers summed as in Intel's library within OpenCV: in the orders of ``opencv_ipp_order``, patch by patch."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ir_interp.array_types import Array
from ir_interp.executor.arrays.store import rounded
from ir_interp.executor.arrays.threads import in_threads, threads
from ir_interp.executor.strategies.float_proposal import Places, Proposed
from ir_interp.executor.strategies.ordered_proposal import in_order
from ir_interp.plan.axes.geometry import Plan
from ir_interp.plan.libraries.opencv_ipp_order import Order, Orders, Patch, patches
from ir_interp.plan.libraries.passes import Pass, passes
from ir_interp.plan.pieces import Piece, Range
from ir_interp.shapes import Shape
from ir_interp.spec import IntegerRounding

_PART_ELEMENTS = 2**17  # of a part of a patch, whose intermediates of 8 bytes each stay in the cache
_MIN_ELEMENTS_FOR_THREADS = 2**20  # of the output


def run(x: Array, bound: Plan, piece: Piece) -> Array:
    """Return integers ``x``, padded already, resized."""
    across, down = passes(bound, x.dtype.name)
    axis, channels = down.axis, math.prod(bound.out_shape[across.axis + 1 :])
    source = x.reshape(math.prod(x.shape[:axis]), *x.shape[axis : axis + 2], -1)
    result = np.empty((len(source), *piece.shape[axis : axis + 2], source.shape[3]), x.dtype)
    every = patches(down.indices, across.indices, channels, x.dtype.name)
    cut = [_within(patch, piece.outputs[axis], piece.outputs[axis + 1]) for patch in every]
    waiting = iter([part for patch in cut for part in _parts(patch, len(source) * source.shape[3])])
    columns, rows = piece.passes(bound, x.dtype.name)

    def take_parts() -> None:
        for part in waiting:
            sums = _summed(source, part, rows, columns)
            result[:, part.rows[:, None], part.columns] = rounded(sums, IntegerRounding.HALF_EVEN, x.dtype)

    in_threads(take_parts, threads() if result.size > _MIN_ELEMENTS_FOR_THREADS else 1, products=False)
    return result.reshape(*x.shape[:axis], *result.shape[1:3], *x.shape[axis + 2 :])


def proposed(bound: Plan, piece: Piece, shape: Shape) -> Proposed:
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
    return in_order(of_columns, of_rows, shape, add)


def _of_rows(orders: Orders | None, beside: Array, across: Array, down: Array) -> Array:
    """Return sums of values [columns, rows, places]."""
    if orders is None:
        return _between(_between(beside, across), down)
    sums = {order: _added(order, beside, across[:, None]) for order in set(orders.across)}
    return _added(orders.down, [sums[order][row] for row, order in enumerate(orders.across)], down)


def _within(patch: Patch, rows: Range, columns: Range) -> Patch:
    """Return the part of a patch in a segment of rows and of columns, counted from there."""
    return replace(patch, rows=_cut(patch.rows, *rows), columns=_cut(patch.columns, *columns))


def _cut(places: NDArray[np.intp], start: int, stop: int) -> NDArray[np.intp]:
    return places[(places >= start) & (places < stop)] - start


def _parts(patch: Patch, depth: int) -> Iterator[Patch]:
    """Yield some rows of a patch at a time, of ``depth`` values where they meet a column."""
    count = max(1, _PART_ELEMENTS // max(1, len(patch.columns) * depth))
    for start in range(0, len(patch.rows) if len(patch.columns) else 0, count):
        yield replace(patch, rows=patch.rows[start : start + count])


def _summed(x: Array, part: Patch, rows: Pass, columns: Pass) -> Array:
    """Return the sums of a part of [outer, rows, columns, channels]."""
    high, wide = rows.indices[part.rows], columns.indices[part.columns]
    needed = np.unique(high)
    band, places = x[:, needed].astype(np.float32), np.searchsorted(needed, high).T
    beside = [band[:, :, column] for column in wide.T]
    across = columns.weights[part.columns].T[:, :, None]
    down = rows.weights[part.rows].T[:, :, None, None]
    if part.orders is None:
        blended = _between(beside, across)
        return _between([blended[:, place] for place in places], down)
    sums = {order: _added(order, beside, across) for order in set(part.orders.across)}
    above = [sums[order][:, row] for order, row in zip(part.orders.across, places, strict=True)]
    return _added(part.orders.down, above, down)


def _between(values: Sequence[Array] | Array, weights: Array) -> Array:
    low, high = values
    return _fused(high - low, weights[1], low)


def _added(order: Order, values: Sequence[Array] | Array, weights: Array) -> Array:
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
