"""Bytes that shrink by a whole factor, with weights such as halves and quarters: slices, added up in 16 bits."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.executor.threads import in_threads, scratch, threads
from ir_interp.plan.whole import WholeSum, Windows, reduced
from ir_interp.shapes import Shape
from ir_interp.spec import Integers

Array = NDArray[Any]
_MOST = 2**15  # what a sum and what rounds it stay below
_TILE_ELEMENTS = 2**17  # of inputs: as 16-bit numbers they fit the second cache
_MOST_CHANNELS = 8  # up to here slices of one channel, which are long, are faster than those of all
_MIN_ELEMENTS = 2**13  # of an image, where there are many: a call of NumPy costs as much
_MIN_ELEMENTS_FOR_THREADS = 2**20  # of the output


@dataclass(frozen=True, slots=True)
class Even:
    """Sums along an axis whose outputs all weigh alike, at equal distances: output 0 begins at input ``first``."""

    first: int
    step: int
    count: int
    weights: tuple[int, ...]

    def slices(self, start: int = 0, stop: int | None = None) -> Iterator[tuple[slice, int]]:
        """Yield, for each tap, the inputs that outputs ``start`` to ``stop`` weigh with it, and its weight."""
        length = (self.count if stop is None else stop) - start
        for tap, weight in enumerate(self.weights):
            begin = self.first + start * self.step + tap
            yield slice(begin, begin + (length - 1) * self.step + 1, self.step), weight


@dataclass(frozen=True, slots=True)
class Factors:
    """A resize of [outer, rows, columns, depth] to as many axes, over ``2**bits``."""

    shape_in: Shape
    shape_out: Shape
    rows: Even
    columns: Even
    bits: int
    to_even: bool


def of_sum(sums: WholeSum, shape: Shape, most: int) -> Factors | None:
    """Return a sum of arrays of a shape, no value above ``most``, by whole factors; None where it is no such sum."""
    sums = reduced(sums)
    if len(sums.windows) != 2 or sums.rounding not in (Integers.HALF_EVEN, None):
        return None
    rows, columns = sums.windows
    total = math.prod(int(window.weights[0].sum()) for window in sums.windows)
    is_mean = total == 2**sums.bits and min(window.weights.min() for window in sums.windows) >= 0
    along, across = _even(columns), _even(rows)
    if columns.axis != rows.axis + 1 or not is_mean or (most + 1) * total >= _MOST or not along or not across:
        return None
    outer, depth = math.prod(shape[: rows.axis]), math.prod(shape[columns.axis + 1 :])
    made = (outer, across.count, along.count, depth)
    if outer > 1 and math.prod(made[1:]) < _MIN_ELEMENTS:
        return None
    shape_in = (outer, shape[rows.axis], shape[columns.axis], depth)
    return Factors(shape_in, made, across, along, sums.bits, sums.rounding is Integers.HALF_EVEN)


def _even(window: Windows) -> Even | None:
    steps = np.diff(window.first)
    if np.ptp(window.weights, axis=0).any() or (len(steps) and (steps[0] < 1 or np.ptp(steps))):
        return None
    step = int(steps[0]) if len(steps) else 1
    return Even(int(window.first[0]), step, len(window.first), tuple(window.weights[0].tolist()))


def run(x: Array, y: Array, made: Factors) -> None:
    """Fill ``y`` from ``x``."""
    source, target = x.reshape(made.shape_in), y.reshape(made.shape_out)
    row = made.shape_in[2] * made.shape_in[3]
    height = max(1, _TILE_ELEMENTS // row)
    starts = [(item, start) for item in range(len(target)) for start in range(0, made.rows.count, height)]
    waiting = iter(starts)

    def take_stretches() -> None:
        for item, start in waiting:
            stop = min(start + height, made.rows.count)
            _fill(source[item], target[item, start:stop], start, stop, made)

    in_threads(take_stretches, threads() if y.size > _MIN_ELEMENTS_FOR_THREADS else 1, products=False)


def _fill(x: Array, y: Array, start: int, stop: int, made: Factors) -> None:
    sums = scratch(0, (stop - start, *x.shape[1:]), _SHORT)
    for place, (rows, weight) in enumerate(made.rows.slices(start, stop)):
        _added(x[rows], weight, sums, is_first=place == 0)
    total, depth = scratch(1, y.shape, _SHORT), x.shape[2]
    for place, (columns, weight) in enumerate(made.columns.slices()):
        if depth > _MOST_CHANNELS:
            _added(sums[:, columns], weight, total, is_first=place == 0)
        for cell in range(depth if depth <= _MOST_CHANNELS else 0):
            _added(sums[:, columns, cell], weight, total[:, :, cell], is_first=place == 0)
    if made.bits:
        if made.to_even:
            odd = scratch(2, y.shape, _SHORT)
            np.bitwise_and(np.right_shift(total, made.bits, out=odd), 1, out=odd)
            np.add(total, odd, out=total)
        np.add(total, (1 << made.bits - 1) - made.to_even, out=total)
        np.right_shift(total, made.bits, out=total)
    np.copyto(y, total, casting="unsafe")


_SHORT = np.dtype(np.int16)


def _added(values: Array, weight: int, total: Array, *, is_first: bool) -> None:
    if is_first:
        np.multiply(values, weight, out=total, dtype=_SHORT) if weight != 1 else np.copyto(total, values)
    elif weight == 1:
        np.add(total, values, out=total)
    else:
        np.add(total, np.multiply(values, weight, dtype=_SHORT), out=total)
