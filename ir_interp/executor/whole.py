"""8-bit integers of float32 sums: those that lie near a half are summed again, as whole numbers.

So the bytes are the same whatever adds them up: matrix products of any processor, or compiled loops.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.executor.store import store
from ir_interp.executor.threads import scratch
from ir_interp.executor.tiles import Tile
from ir_interp.plan.whole import WholeSum
from ir_interp.spec import Integers

Array = NDArray[Any]
_MOST_AT_A_TIME = 2**20  # taps


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
    width = math.prod(each.weights.shape[1] for each in sums.windows)
    step = max(1, _MOST_AT_A_TIME // width)
    parts = [places[start : start + step] for start in range(0, len(places), step)]
    return np.concatenate([_summed(source, sums, shape, part) for part in parts])


def _summed(source: Array, sums: WholeSum, shape: tuple[int, ...], places: NDArray[np.intp]) -> Array:
    """Return sums of float64 products, each of them a whole number over ``2**bits``: no order of them matters."""
    index = list(np.unravel_index(places, shape))
    own = [window.weights.astype(np.float64)[index[window.axis]] for window in sums.windows]
    for place, window in enumerate(sums.windows):
        taps = window.first[index[window.axis]][:, None] + np.arange(window.weights.shape[1])
        index[window.axis] = taps.reshape(len(places), *(1,) * place, -1, *(1,) * (len(sums.windows) - 1 - place))
    resized = {window.axis for window in sums.windows}
    apart = (len(places),) + (1,) * len(resized)
    index = [each if axis in resized else each.reshape(apart) for axis, each in enumerate(index)]
    values = _taken(source, index).astype(np.float64)
    for weights in reversed(own):
        values = np.einsum("nit,nt->ni", values.reshape(len(places), -1, weights.shape[1]), weights)
    return np.ldexp(values[:, 0], -sums.bits)


def _taken(x: Array, index: Sequence[NDArray[np.intp]]) -> Array:
    """Return the elements at an index for each axis; of arrays in C order several times as fast as by these."""
    if not x.flags.c_contiguous:
        return np.asarray(x[tuple(index)])
    flat = sum(each * (stride // x.itemsize) for each, stride in zip(index, x.strides, strict=True))
    return np.take(x.reshape(-1), flat)
