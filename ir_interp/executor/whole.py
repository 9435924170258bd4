"""8-bit integers of float32 sums: those that lie near a half are summed again, as whole numbers.

So the bytes are the same whatever adds them up: matrix products of any processor, or compiled loops.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.executor.store import store as store_at_once
from ir_interp.executor.tiles import Tile, scratch
from ir_interp.plan.whole import WholeSum
from ir_interp.spec import Integers

Array = NDArray[Any]
_MOST_AT_A_TIME = 2**20  # taps


def store(values: Array, target: Array, tile: Tile, *, source: Array, sums: WholeSum, shape: tuple[int, ...]) -> None:
    """Round the float32 ``values`` of a tile, which may change, to ``target``, a part of an output of a ``shape``.

    ``source`` is what was resized.
    """
    off = scratch(3, values.shape, values.dtype)
    np.rint(values, out=off)
    np.subtract(values, off, out=off)
    np.abs(off, out=off)
    items, rows, cells = np.nonzero(off > 0.5 - sums.doubt)
    store_at_once(values, target, sums.rounding or Integers.HALF_EVEN)
    if len(items):
        height = shape[sums.windows[0].axis]
        places = ((items + tile.items.start) * height + rows + tile.rows_out.start) * values.shape[2] + cells
        made = np.empty(len(places), target.dtype)
        store_at_once(exactly(source, sums, shape, places), made, sums.rounding or Integers.HALF_EVEN)
        target[items, rows, cells] = made


def exactly(source: Array, sums: WholeSum, shape: tuple[int, ...], places: NDArray[np.intp]) -> Array:
    """Return the sums of the outputs at ``places`` of an output of a ``shape``, as they are before rounding."""
    width = 1
    for each in sums.windows:
        width *= each.weights.shape[1]
    step = max(1, _MOST_AT_A_TIME // width)
    parts = [places[start : start + step] for start in range(0, len(places), step)]
    return np.concatenate([_summed(source, sums, shape, part) for part in parts])


def _summed(source: Array, sums: WholeSum, shape: tuple[int, ...], places: NDArray[np.intp]) -> Array:
    index = [each.reshape(-1, 1, 1) for each in np.unravel_index(places, shape)]
    weights = np.full((1, 1, 1), 2.0**-sums.bits)
    for window, along in zip(sums.windows, ((-1, 1), (1, -1)), strict=False):
        out = index[window.axis].reshape(-1)
        count = window.weights.shape[1]
        index[window.axis] = window.first[out].reshape(-1, 1, 1) + np.arange(count).reshape(1, *along)
        weights = weights * window.weights[out].reshape(-1, *((count, 1) if along[0] < 0 else (1, count)))
    return np.asarray((source[tuple(index)] * weights).sum(axis=(1, 2)))
