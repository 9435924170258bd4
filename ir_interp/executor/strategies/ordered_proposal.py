"""Bytes that a library sums in floats, in its own order: products propose them, in any order.

Sums near a half are recomputed as in the library, output by output.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ir_interp.array_types import Array
from ir_interp.executor.strategies.float_proposal import MOST_OF_BYTES, Places, Proposed
from ir_interp.plan.axes.taps import Taps
from ir_interp.plan.libraries.passes import Pass
from ir_interp.shapes import Shape
from ir_interp.spec import IntegerRounding, Unrounded

Add = Callable[[Places, Array, Array, Array], Array]
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
    return in_order(first, second, shape, _chained)


def _chained(_: Places, taken: Array, first: Array, second: Array) -> Array:
    return _chain(_chain(taken, first[:, None]), second)


def _chain(values: Array, weights: Array) -> Array:
    total = values[0] * weights[0]
    for value, weight in zip(values[1:], weights[1:], strict=True):
        total += value * weight
    return np.asarray(total)


def in_order(first: Pass, second: Pass, shape: Shape, add: Add) -> Proposed:
    """Return two passes over bytes of a shape, whose exact sums ``add`` computes."""
    taps = {stage.axis: Taps(stage.indices, stage.weights.astype(np.float64)) for stage in (first, second)}
    size = math.prod(float(np.abs(stage.weights).sum(axis=1).max()) for stage in (first, second))
    count = first.weights.shape[1] + second.weights.shape[1]
    doubt = 2 * MOST_OF_BYTES * size * (count + _SPARE) * _ULP  # a rounding for each term, here and there
    return Proposed(taps, shape, InOrder(first, second, shape, add), doubt)


class InOrder:
    """Single outputs of two passes; the ``second`` gives bytes."""

    def __init__(self, first: Pass, second: Pass, shape: Shape, add: Add) -> None:
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
