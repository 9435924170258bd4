"""8-bit integers of float32 sums: those that lie near a half are summed again, as whole numbers.

So the bytes are the same whatever adds them up: matrix products of any processor, or compiled loops.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from ir_interp.executor.store import store
from ir_interp.executor.threads import scratch
from ir_interp.executor.tiles import Tile
from ir_interp.plan.whole import WholeSum
from ir_interp.spec import Integers

Array = NDArray[Any]
_MOST_AT_A_TIME = 2**17  # taps: as float64 they stay in the second cache


class Rounding:
    """What rounds the float32 sums of one resize tile by tile, notes which lie near a half, and sums these again."""

    def __init__(self, sums: WholeSum) -> None:
        self._sums = sums
        self._doubtful: list[NDArray[np.intp]] = []

    def store(self, values: Array, target: Array, tile: Tile) -> None:
        """Round the ``values`` of a tile, which change, to ``target``, [items, along, inner] both."""
        bounds, nearest = np.iinfo(target.dtype), scratch(3, values.shape, values.dtype)
        np.rint(values, out=nearest)
        np.subtract(values, nearest, out=values)
        np.abs(values, out=values)
        places = np.flatnonzero(values.reshape(-1) > np.float32(0.5 - self._sums.doubt))
        np.clip(nearest, bounds.min, bounds.max, out=nearest)
        target[...] = nearest
        if len(places):  # of the tile; those of the output follow
            item, inner = values.shape[1] * values.shape[2], values.shape[2]
            items, rest = np.divmod(places, item)
            whole = len(self._sums.windows[0].first) * inner
            self._doubtful.append((items + tile.items.start) * whole + rest + tile.rows_out.start * inner)

    def settle(self, x: Array, y: Array) -> None:
        """Sum again, from ``x``, what is doubtful in ``y``."""
        if self._doubtful:
            places = np.concatenate(self._doubtful)
            made = np.empty(len(places), y.dtype)
            store(exactly(x, self._sums, y.shape, places), made, self._sums.rounding or Integers.HALF_EVEN)
            y.reshape(-1)[places] = made


def exactly(source: Array, sums: WholeSum, shape: tuple[int, ...], places: NDArray[np.intp]) -> Array:
    """Return the sums of the outputs at ``places`` of an output of a ``shape``, as they are before rounding."""
    step = max(1, _MOST_AT_A_TIME // math.prod(each.weights.shape[1] for each in sums.windows))
    parts = [places[start : start + step] for start in range(0, len(places), step)]
    return np.concatenate([_summed(source, sums, shape, part) for part in parts])


def _summed(source: Array, sums: WholeSum, shape: tuple[int, ...], places: NDArray[np.intp]) -> Array:
    """Return sums of float64 products, each of them a whole number over ``2**bits``: no order of them matters."""
    index = list(np.unravel_index(places, shape))
    weights = [window.weights.astype(np.float64)[index[window.axis]] for window in sums.windows]
    for window in sums.windows:
        index[window.axis] = window.first[index[window.axis]]
    widths = tuple(window.weights.shape[1] for window in sums.windows)
    seen = sliding_window_view(source, widths, tuple(window.axis for window in sums.windows))
    values = seen[tuple(index)].astype(np.float64)
    for each in reversed(weights):
        values = np.einsum("n...t,nt->n...", values, each)
    return np.ldexp(values, -sums.bits)
