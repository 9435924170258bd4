"""Bytes that shrink by an integer factor, with weights such as halves and quarters: slices, added up in 16 bits."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ir_interp.array_types import Array
from ir_interp.executor.arrays.threads import in_threads, scratch, threads, tile_elements
from ir_interp.plan.exact_sums import WholeSum, Windows, in_lowest_terms
from ir_interp.shapes import Shape
from ir_interp.spec import IntegerRounding

_MOST = 2**15  # limit of a sum and of its rounding constant
_TILE_ELEMENTS = 2**18  # of inputs: as 16-bit numbers they nearly fit the second cache
_MOST_CHANNELS = 8  # up to here slices of one channel, which are long, are faster than those of all
_MIN_ELEMENTS = 2**13  # of an image, if there are many; a call of NumPy costs as much
_MIN_ELEMENTS_FOR_THREADS = 2**20  # of the output


@dataclass(frozen=True, slots=True)
class Even:
    """Sums along an axis with equal weights for all outputs, at equal distances: output 0 begins at input ``first``."""

    first: int
    step: int
    count: int
    weights: tuple[int, ...]

    def slices(self, start: int = 0, stop: int | None = None) -> Iterator[tuple[slice, int]]:
        """Yield, for each tap, the inputs of outputs ``start`` to ``stop``, and the weight."""
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
    """Return a sum of arrays of a shape, no value above ``most``, by integer factors; None for any other sum."""
    sums = in_lowest_terms(sums)
    if len(sums.windows) != 2 or sums.rounding not in (IntegerRounding.HALF_EVEN, IntegerRounding.HALF_UP):
        return None
    rows, columns = sums.windows
    total = math.prod(int(window.weights[0].sum()) for window in sums.windows)
    is_mean = total == 2**sums.bits and min(window.weights.min() for window in sums.windows) >= 0
    along, across = _even(columns), _even(rows)
    if columns.axis != rows.axis + 1 or not is_mean or (most + 1) * total >= _MOST or not along or not across:
        return None
    outer, depth = math.prod(shape[: rows.axis]), math.prod(shape[columns.axis + 1 :])
    out_shape = (outer, across.count, along.count, depth)
    if outer > 1 and math.prod(out_shape[1:]) < _MIN_ELEMENTS:
        return None
    shape_in = (outer, shape[rows.axis], shape[columns.axis], depth)
    return Factors(shape_in, out_shape, across, along, sums.bits, sums.rounding is IntegerRounding.HALF_EVEN)


def _even(window: Windows) -> Even | None:
    steps = np.diff(window.first)
    if np.ptp(window.weights, axis=0).any() or (len(steps) and (steps[0] < 1 or np.ptp(steps))):
        return None
    step = int(steps[0]) if len(steps) else 1
    return Even(int(window.first[0]), step, len(window.first), tuple(window.weights[0].tolist()))


def run(x: Array, y: Array, factors: Factors) -> None:
    """Fill ``y`` from ``x``."""
    source, target = x.reshape(factors.shape_in), y.reshape(factors.shape_out)
    row = factors.shape_in[2] * factors.shape_in[3]
    height = max(1, tile_elements(_TILE_ELEMENTS) // row)
    starts = [(item, start) for item in range(len(target)) for start in range(0, factors.rows.count, height)]
    waiting = iter(starts)

    def take_stretches() -> None:
        for item, start in waiting:
            stop = min(start + height, factors.rows.count)
            _fill(source[item], target[item, start:stop], start, stop, factors)

    in_threads(take_stretches, threads() if y.size > _MIN_ELEMENTS_FOR_THREADS else 1, products=False)


def _fill(x: Array, y: Array, start: int, stop: int, factors: Factors) -> None:
    sums, total = scratch(0, (stop - start, *x.shape[1:]), _SHORT), scratch(1, y.shape, _SHORT)
    _add([(x[rows], weight) for rows, weight in factors.rows.slices(start, stop)], sums)
    taken = [(sums[:, columns], weight) for columns, weight in factors.columns.slices()]
    if y.shape[2] > _MOST_CHANNELS:
        _add(taken, total)
    else:
        for cell in range(y.shape[2]):
            _add([(values[:, :, cell], weight) for values, weight in taken], total[:, :, cell])
    if factors.bits:
        if factors.to_even:  # adds one less than a half, and 1 if the quotient is odd
            odd = scratch(2, y.shape, _SHORT)
            np.bitwise_and(np.right_shift(total, factors.bits, out=odd), 1, out=odd)
            np.add(total, odd, out=total)
        np.add(total, (1 << factors.bits - 1) - factors.to_even, out=total)
        np.right_shift(total, factors.bits, out=total)
    np.copyto(y, total, casting="unsafe")


_SHORT = np.dtype(np.int16)


def _add(terms: Sequence[tuple[Array, int]], total: Array) -> None:
    """Fill ``total`` with the sum of values times their weights; the first two are added at once if possible."""
    (first, weight), *others = terms
    if others and weight == others[0][1] == 1:
        np.add(first, others.pop(0)[0], out=total, dtype=_SHORT)
    else:
        np.multiply(first, weight, out=total, dtype=_SHORT)
    for values, weight in others:
        np.add(total, values if weight == 1 else np.multiply(values, weight, dtype=_SHORT), out=total, dtype=_SHORT)
