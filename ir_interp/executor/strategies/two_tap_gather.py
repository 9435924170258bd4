"""Bytes from two neighbours along each of two axes, gathered one by one, in numbers that represent every sum.

Matrix products would multiply several times as many terms. The needed columns of the needed rows are gathered as bytes,
one segment of the output at a time, so that wider numbers stay in the cache.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ir_interp.array_types import Array
from ir_interp.executor.arrays.store import round_in_place
from ir_interp.executor.arrays.threads import in_threads, scratch, threads, tile_elements
from ir_interp.executor.strategies.stages import band, prepare
from ir_interp.plan.axes.taps import Taps
from ir_interp.plan.exact_sums import WholeSum
from ir_interp.plan.libraries.passes import Pass
from ir_interp.shapes import Shape
from ir_interp.spec import IntegerRounding

_TILE_ELEMENTS = 2**15  # of an output: its intermediates of 8 bytes each fit the second cache
_FEW = 0.9  # of the columns of a row; if more are needed, products are faster
_MIN_ELEMENTS = 2**13  # of an image, if there are many; a call of NumPy costs as much
_MIN_ELEMENTS_FOR_THREADS = 2**22  # of input and output together


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """One of both neighbours of every output along an axis, and its weight."""

    places: NDArray[np.intp]
    weights: Array


Sides = tuple[Side, Side]
Add = Callable[[Array, Array], None]
"""Fills sums [rows, cells] from those along the columns of the rows that they need."""


@dataclass(frozen=True, slots=True, eq=False)
class RowRange:
    """Rows of the output, ``outputs``, the rows of the input that they need, and the function that adds these up."""

    outputs: slice
    needed: slice | NDArray[np.intp]
    add: Add


class Work(NamedTuple):
    """The dtype of sums of rows, the function that stores them, and the bits that sums along columns lose before."""

    dtype: np.dtype[Any]
    store: Callable[[Array, Array], None]
    lost: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """A resize of [outer, rows, cells] to [outer, rows, cells].

    ``columns`` counts cells.
    """

    shape_in: Shape
    shape_out: Shape
    columns: Sides
    row_ranges: tuple[RowRange, ...]
    work: Work


def of_sum(sums: WholeSum, shape: Shape) -> Pairs | None:
    """Return a sum of arrays of a shape as pairs; None for another sum, or one that needs most of the columns."""
    if len(sums.windows) != 2 or any(window.weights.shape[1] > 2 for window in sums.windows):
        return None
    rows, columns = sums.windows
    if (
        not sums.is_mean
        or sums.rounding is IntegerRounding.HALF_AWAY
        or len(columns.first) * 2 > _FEW * shape[columns.axis]
    ):
        return None
    indices = [window.first[:, None] + np.arange(window.weights.shape[1]) for window in (rows, columns)]
    weights = np.ldexp(rows.weights.astype(np.float64), -sums.bits)

    def add(places: NDArray[np.intp], segment: slice, inner: int) -> Add:
        product = prepare(Taps(places, weights[segment]), 0, len(places), inner, _DOUBLE, band)

        def products(sums: Array, total: Array) -> None:  # of float64, which represents every sum, in any order
            values = scratch(3, sums.shape, _DOUBLE)
            values[...] = sums
            product.apply(values[None, product.span.in_start : product.span.in_stop], total[None])

        return products

    def finish(total: Array, target: Array) -> None:
        round_in_place(total, sums.rounding)
        np.copyto(target, total, casting="unsafe")

    sides = _sides(indices[1], columns.weights)
    return _made(shape, (rows.axis, columns.axis), (indices[0], add), sides, Work(_DOUBLE, finish))


def shortened(columns: Pass, rows: Pass, shape: Shape) -> Pairs | None:
    """Return two passes over bytes that lose intermediate bits as pairs; None for other passes."""
    if not rows.bits_each or max(stage.indices.shape[1] for stage in (columns, rows)) > 2:
        return None
    half, after = (1 << rows.bits_after) >> 1, rows.bits_after

    def add(places: NDArray[np.intp], segment: slice, _: int) -> Add:
        sides = [Side(side.places, side.weights[:, None]) for side in _sides(places, rows.weights[segment])]

        def terms(sums: Array, total: Array) -> None:
            for side, term in zip(sides, (total, scratch(3, total.shape, _WHOLE)), strict=True):
                np.take(sums, side.places, axis=0, out=term, mode="clip")
                np.multiply(term, side.weights, out=term)
                np.right_shift(term, rows.bits_each, out=term)
            np.add(total, term, out=total)

        return terms

    def finish(total: Array, target: Array) -> None:
        np.right_shift(np.add(total, half, out=total), after, out=total)
        np.copyto(target, np.clip(total, 0, 255, out=total), casting="unsafe")

    sides = _sides(columns.indices, columns.weights)
    return _made(shape, (rows.axis, columns.axis), (rows.indices, add), sides, Work(_WHOLE, finish, rows.bits_before))


def _sides(indices: Array, weights: Array) -> Sides:
    """Return both neighbours; a single one is both, with weight 0 the second time."""
    low, high = indices[:, 0], indices[:, -1]
    weight = np.zeros(len(low)) if indices.shape[1] == 1 else weights[:, 1]
    return Side(low, weights[:, 0].astype(_WHOLE)), Side(high, weight.astype(_WHOLE))


def _made(
    shape: Shape,
    axes: tuple[int, int],
    rows: tuple[NDArray[np.intp], Callable[[NDArray[np.intp], slice, int], Add]],
    columns: Sides,
    work: Work,
) -> Pairs | None:
    (first, last), (indices, add) = axes, rows
    outer, depth = math.prod(shape[:first]), math.prod(shape[last + 1 :])
    count, cells = len(indices), len(columns[0].places) * depth
    if last - first != 1 or (outer > 1 and count * cells < _MIN_ELEMENTS):
        return None
    near, far = (
        Side((side.places[:, None] * depth + np.arange(depth)).reshape(-1), np.repeat(side.weights, depth))
        for side in columns
    )
    elements = tile_elements(_TILE_ELEMENTS) if _is_shared(shape, outer * count * cells) else _TILE_ELEMENTS
    height = max(1, elements // max(cells, 1))
    row_ranges = []
    for start in range(0, count, height):
        segment = slice(start, min(start + height, count))
        used = np.unique(indices[segment])
        begin, end = int(used[0]), int(used[-1]) + 1
        needed = slice(begin, end) if len(used) == end - begin else used
        row_ranges.append(RowRange(segment, needed, add(np.searchsorted(used, indices[segment]), segment, cells)))
    lengths = (outer, shape[first], shape[last] * depth), (outer, count, cells)
    return Pairs(*lengths, (near, far), tuple(row_ranges), work)


def run(x: Array, y: Array, pairs: Pairs) -> None:
    """Fill ``y`` from ``x``."""
    source, target = x.reshape(pairs.shape_in), y.reshape(pairs.shape_out)
    waiting = iter([(item, row_range) for item in range(len(target)) for row_range in pairs.row_ranges])

    def take_ranges() -> None:
        for item, row_range in waiting:
            _fill(source[item][row_range.needed], target[item][row_range.outputs], row_range.add, pairs)

    in_threads(take_ranges, threads() if _is_shared(x.shape, y.size) else 1)


def _is_shared(shape: Shape, size: int) -> bool:
    """Return whether threads share the computation of ``size`` from an input."""
    return math.prod(shape) + size > _MIN_ELEMENTS_FOR_THREADS


def _fill(x: Array, y: Array, add: Add, pairs: Pairs) -> None:
    shape = (len(x), y.shape[1])
    taken, (sums, after) = scratch(2, shape, x.dtype), (scratch(which, shape, _WHOLE) for which in (0, 1))
    for side, whole in zip(pairs.columns, (sums, after), strict=True):
        np.take(x, side.places, axis=1, out=taken, mode="clip")
        whole[...] = taken
        np.multiply(whole, side.weights, out=whole)
    np.add(sums, after, out=sums)
    if pairs.work.lost:
        np.right_shift(sums, pairs.work.lost, out=sums)
    total = scratch(1, y.shape, pairs.work.dtype)
    add(sums, total)
    pairs.work.store(total, y)


_WHOLE, _DOUBLE = np.dtype(np.int32), np.dtype(np.float64)  # the first holds the sums along columns
