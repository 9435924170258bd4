"""8-bit integers from float32 sums: sums near a half are recomputed exactly, in integers.

The bytes are therefore the same for matrix products of any processor, and for compiled loops.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from ir_interp.array_types import Array
from ir_interp.executor.arrays import tiles
from ir_interp.executor.arrays.store import round_in_place, store
from ir_interp.executor.arrays.threads import scratch
from ir_interp.executor.axis_order import Extent, are_rows_first
from ir_interp.executor.strategies.stages import band
from ir_interp.plan.axes.taps import Taps
from ir_interp.plan.exact_sums import ABOUT_ONE, WholeSum, doubt
from ir_interp.plan.pieces import Piece
from ir_interp.shapes import Shape
from ir_interp.spec import IntegerRounding

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


def run(x: Array, y: Array, proposals: Sequence[Proposed]) -> None:
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
