"""Bytes that float32 sums propose, sums near a half being recomputed exactly; and bytes of two neighbours, gathered.

The bytes are therefore the same for matrix products of any processor, and for compiled loops. For a library that sums
in floats, they are recomputed in its own order. Two by two neighbours are gathered as bytes, one segment of the
output at a time, so that wider numbers stay in the cache; products would multiply several times as many terms.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from ir_interp.executor import tiles
from ir_interp.executor.definition import Extent, are_rows_first, round_in_place, store
from ir_interp.executor.stages import band, prepare
from ir_interp.executor.threads import for_each, scratch, tile_elements
from ir_interp.plan.integer_sums import ABOUT_ONE, Piece, WholeSum, doubt
from ir_interp.plan.library_passes import Pass
from ir_interp.plan.taps import Taps, ascending
from ir_interp.shapes import Array, Shape
from ir_interp.specs import IntegerRounding, Unrounded

Places = NDArray[np.intp]
_MOST_AT_A_TIME = 2**17  # taps: as float64 they stay in the second cache
_MANY_TAPS = 2**14  # of a tile, whose inputs are read while in the cache; fewer wait, since a call costs as much
_SHARED_FROM = 2**22  # elements of input and output; with fewer, threads wait for each other as long as they work
MOST_OF_BYTES = 255  # signed ones are at most 128 in size, so this bounds both
_SINGLE = np.dtype(np.float32)


class Sums(Protocol):
    """Exact sums of single outputs, whose bytes are then certain; ``taps`` is the number of inputs of each."""

    rounding: IntegerRounding
    taps: int

    def windows(self, source: Array) -> Array:
        """Return the windows that ``at`` reads."""

    def at(self, places: Places, windows: Array) -> Array:
        """Return the sums of the outputs at ``places``, before rounding."""


class Proposed:
    """A sum of bytes along one axis or two, in float32; sums near a half are recomputed by ``exact``.

    ``taps`` are those of each axis; ``doubt`` is the largest difference of float32 from ``exact``.
    """

    def __init__(self, taps: Mapping[int, Taps], shape: Shape, exact: Sums, doubt: float) -> None:
        self.exact, self.doubt = exact, doubt
        out = tuple(len(taps[axis].indices) if axis in taps else length for axis, length in enumerate(shape))
        piece = Piece(tuple((0, length) for length in out), tuple((0, length) for length in shape))
        self.shape, self.axis, self._tiles = (
            out,
            min(taps),
            tiles.tiled(_in_order(taps, shape), piece, _SINGLE, band, _SHARED_FROM),
        )
        weights = [np.zeros(1) if tap.weights is None else tap.weights for tap in taps.values()]
        largest = math.prod(float(np.abs(weight).sum(axis=1).max()) for weight in weights)
        self.is_mean = min(weight.min() for weight in weights) >= 0 and largest <= ABOUT_ONE

    def run(self, x: Array, y: Array) -> None:
        """Fill ``y`` from ``x``."""
        rounding = Rounding(self, x, y)
        tiles.run(x, y, self._tiles, _SINGLE, rounding.store)
        rounding.settle()


def run_proposal(x: Array, y: Array, proposals: Sequence[Proposed]) -> None:
    """Fill ``y`` from ``x`` by sequential sums, each of which gives bytes."""
    for proposal in proposals:
        target = y if proposal is proposals[-1] else np.empty(proposal.shape, y.dtype)
        proposal.run(x, target)
        x = target


def proposed(sums: WholeSum, shape: Shape, dtype: np.dtype[Any]) -> Proposed:
    """Return the float32 proposal of an integer sum, for arrays of a shape."""
    taps, bits = {}, sums.bits
    for window in sums.windows:
        indices = window.first[:, None] + np.arange(window.weights.shape[1])
        taps[window.axis] = Taps(indices, np.ldexp(window.weights.astype(np.float64), -bits))
        bits = 0  # the number of fractional bits of the others, which float32 does not need
    bounds = np.iinfo(dtype)
    return Proposed(taps, shape, Exact(sums, shape), doubt(sums, max(bounds.max, -bounds.min)))


def _in_order(taps: Mapping[int, Taps], shape: Shape) -> Mapping[int, Taps]:
    """Return taps along axes, in the order of summation."""
    axes = sorted(taps)
    if len(axes) == 2:
        rows, columns = (Extent(shape[axis], len(taps[axis].indices), taps[axis].indices.size) for axis in axes)
        axes = axes if are_rows_first(rows, columns, math.prod(shape[axes[1] + 1 :])) else axes[::-1]
    return {axis: taps[axis] for axis in axes}


class Exact:
    """Single outputs of a sum in integers."""

    def __init__(self, sums: WholeSum, shape: Shape) -> None:
        self.rounding, self._bits = sums.rounding, sums.bits
        self._axes = tuple(window.axis for window in sums.windows)
        self._first = [window.first for window in sums.windows]
        self._weights = [window.weights.astype(np.float64) for window in sums.windows]
        self._widths = tuple(window.weights.shape[1] for window in sums.windows)
        self.taps = math.prod(self._widths)
        out = dict(zip(self._axes, map(len, self._first), strict=True))
        self._shape = tuple(out.get(axis, length) for axis, length in enumerate(shape))

    def windows(self, source: Array) -> Array:
        """Return the windows of ``source`` that outputs may weight."""
        return sliding_window_view(source, self._widths, self._axes)

    def at(self, places: Places, windows: Array) -> Array:
        """Return the sums of the outputs at ``places``, before rounding."""
        step = max(1, _MOST_AT_A_TIME // self.taps)
        if len(places) <= step:
            return self._summed(places, windows)
        parts = [places[start : start + step] for start in range(0, len(places), step)]
        return np.concatenate([self._summed(part, windows) for part in parts])

    def _summed(self, places: Places, windows: Array) -> Array:
        """Return sums of float64 products, each an integer over ``2**bits``, so that the order makes no difference."""
        index = list(np.unravel_index(places, self._shape))
        weights = [table[index[axis]] for axis, table in zip(self._axes, self._weights, strict=True)]
        for axis, starts in zip(self._axes, self._first, strict=True):
            index[axis] = starts[index[axis]]
        values = windows[tuple(index)].astype(np.float64)
        for factor in reversed(weights):
            values = np.einsum("n...t,nt->n...", values, factor)
        return np.ldexp(values, -self._bits)


class Rounding:
    """Rounds the float32 sums of a resize of ``x`` to ``y`` tile by tile, and recomputes those near a half."""

    def __init__(self, proposed: Proposed, x: Array, y: Array) -> None:
        self._proposed, self._exact, self._made = proposed, proposed.exact, y
        self._windows, self._lowest = self._exact.windows(x), int(np.iinfo(y.dtype).min)
        self._waiting: list[Places] = []

    def store(self, values: Array, target: Array, tile: tiles.Tile) -> None:
        """Round the ``values`` of a tile, in place, to ``target``, [items, along, inner] both."""
        doubt = self._proposed.doubt
        if doubt:
            self._propose(values, target, doubt, tile)
        elif self._proposed.is_mean:
            round_in_place(values, self._exact.rounding)
            np.copyto(target, values, casting="unsafe")
        else:
            store(values, target, self._exact.rounding)

    def _propose(self, values: Array, target: Array, doubt: float, tile: tiles.Tile) -> None:
        # The least and the largest byte that the exact sum may be: if they differ, the sum is recomputed. Signed
        # bytes are shifted to unsigned ones, whose casts truncate downwards, and shifted back at the end.
        lowest, bits = self._lowest, target.view(np.uint8)
        np.add(values, np.float32(0.5 - doubt - lowest), out=values)
        if not self._proposed.is_mean:  # a cast of a float outside the range of a byte is undefined
            np.clip(values, 0.0, 255.5, out=values)
        least = scratch(3, values.shape, bits.dtype)
        np.copyto(least, values, casting="unsafe")
        np.copyto(bits, np.add(values, np.float32(2 * doubt), out=values), casting="unsafe")
        places = np.flatnonzero(np.not_equal(least, bits))
        if lowest:
            np.bitwise_xor(bits, 128, out=bits)
        if len(places):
            self._waiting.append(self._of_output(places, tile))
            if self._exact.taps * len(places) > _MANY_TAPS:
                self._sum_again(self._waiting.pop())

    def settle(self) -> None:
        """Recompute the sums that still wait for it."""
        if self._waiting:
            self._sum_again(np.concatenate(self._waiting))

    def _of_output(self, places: Places, tile: tiles.Tile) -> Places:
        """Return places in a tile as places in the output."""
        axis, shape = self._proposed.axis, self._made.shape
        inner = math.prod(shape[axis + 1 :])
        items, rest = np.divmod(places, (tile.rows_out.stop - tile.rows_out.start) * inner)
        return np.asarray(((items + tile.items.start) * shape[axis] + tile.rows_out.start) * inner + rest)

    def _sum_again(self, places: Places) -> None:
        settled = np.empty(len(places), self._made.dtype)
        store(self._exact.at(places, self._windows), settled, self._exact.rounding)
        self._made.reshape(-1)[places] = settled


AddInOrder = Callable[[Places, Array, Array, Array], Array]
"""Takes places along the first axis, values [first, second, places], weights of either axis [taps, places]; adds up."""
_SPARE = 8  # roundings of the largest sum: of products, and of the final rounding
_ULP = 2.0**-24  # largest relative error of a float32 rounding


def chains(stages: tuple[Pass, ...], shape: Shape) -> Proposed | None:
    """Return two passes over bytes of a shape, each a chain of sums of floats; None for other passes."""
    if len(stages) != 2 or not all(stage.weights.dtype.kind == "f" for stage in stages):
        return None
    first, second = stages
    if first.rounding is not Unrounded.KEPT or second.rounding not in (
        IntegerRounding.HALF_EVEN,
        IntegerRounding.HALF_AWAY,
    ):
        return None
    if first.is_turned or second.is_turned or first.factor * second.factor != 1.0:
        return None
    return sums_in_order(first, second, shape, _chained)


def _chained(_: Places, taken: Array, first: Array, second: Array) -> Array:
    return _chain(_chain(taken, first[:, None]), second)


def _chain(values: Array, weights: Array) -> Array:
    total = values[0] * weights[0]
    for value, weight in zip(values[1:], weights[1:], strict=True):
        total += value * weight
    return np.asarray(total)


def sums_in_order(first: Pass, second: Pass, shape: Shape, add: AddInOrder) -> Proposed:
    """Return two passes over bytes of a shape, whose exact sums ``add`` computes."""
    taps = {stage.axis: Taps(stage.indices, stage.weights.astype(np.float64)) for stage in (first, second)}
    size = math.prod(float(np.abs(stage.weights).sum(axis=1).max()) for stage in (first, second))
    count = first.weights.shape[1] + second.weights.shape[1]
    doubt = 2 * MOST_OF_BYTES * size * (count + _SPARE) * _ULP  # a rounding for each term, here and there
    return Proposed(taps, shape, InOrder(first, second, shape, add), doubt)


class InOrder:
    """Single outputs of two passes; the ``second`` gives bytes."""

    def __init__(self, first: Pass, second: Pass, shape: Shape, add: AddInOrder) -> None:
        self._first, self._second, self._add = first, second, add
        assert second.rounding is not Unrounded.KEPT
        self.rounding = second.rounding
        self.taps = first.weights.shape[1] * second.weights.shape[1]
        out = {stage.axis: len(stage.indices) for stage in (first, second)}
        self._shape = tuple(out.get(axis, length) for axis, length in enumerate(shape))

    def windows(self, source: Array) -> Array:
        """Return the windows that ``at`` reads."""
        return source

    def at(self, places: Places, windows: Array) -> Array:
        """Return the sums of the outputs at ``places``, before rounding."""
        place = np.unravel_index(places, self._shape)
        of_first, of_second = place[self._first.axis], place[self._second.axis]
        index: list[Array] = list(place)
        index[self._first.axis] = self._first.indices[of_first].T[:, None]
        index[self._second.axis] = self._second.indices[of_second].T
        taken = windows[tuple(index)].astype(self._first.weights.dtype)
        return self._add(of_first, taken, self._first.weights[of_first].T, self._second.weights[of_second].T)


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


def pairs_of_sum(sums: WholeSum, shape: Shape) -> Pairs | None:
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
        used = ascending(indices[segment])
        begin, end = int(used[0]), int(used[-1]) + 1
        needed = slice(begin, end) if len(used) == end - begin else used
        row_ranges.append(RowRange(segment, needed, add(np.searchsorted(used, indices[segment]), segment, cells)))
    lengths = (outer, shape[first], shape[last] * depth), (outer, count, cells)
    return Pairs(*lengths, (near, far), tuple(row_ranges), work)


def run_gather(x: Array, y: Array, pairs: Pairs) -> None:
    """Fill ``y`` from ``x``."""
    source, target = x.reshape(pairs.shape_in), y.reshape(pairs.shape_out)

    def fill(part: tuple[int, RowRange]) -> None:
        item, row_range = part
        _fill(source[item][row_range.needed], target[item][row_range.outputs], row_range.add, pairs)

    parts = [(item, row_range) for item in range(len(target)) for row_range in pairs.row_ranges]
    for_each(parts, fill, are_shared=_is_shared(x.shape, y.size))


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
