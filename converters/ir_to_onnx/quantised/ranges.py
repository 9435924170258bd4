"""Ranges of a FakeQuantize: levels between two limits, and the same as integers of 8 bits."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ir_interp.array_types import Array

from ...onnx.graph import Graph
from ..layer import Op

_Numbers = NDArray[np.float32]
MOST = 256
"""Levels of 8 bits."""

_WHOLE = 1e-4  # of a level: the largest distance from an integer of a zero point that two float32 limits determine


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """Scales of an input or output, and their zero points: one each, or one for each channel."""

    scale: _Numbers
    zero: NDArray[np.float64]

    def written(self, graph: Graph, first: int = 0) -> tuple[str, str]:
        """Return scale and zero point as constants, the first level being the integer ``first``."""
        scale = graph.constant(self.scale)
        graph.exact.add(scale)
        return scale, graph.constant((self.zero + first).astype(kind(first)))

    def in_levels(self) -> Side | None:
        """Return the zero point that is left after a product applied the scales; None if channels have several."""
        same = self.zero.size and (self.zero == self.zero.flat[0]).all()
        return Side(scale=np.ones((), np.float32), zero=self.zero.ravel()[0]) if same else None

    @property
    def parts_at_ties(self) -> bool:
        """Whether QuantizeLinear rounds values right between two levels other than FakeQuantize.

        It rounds before it adds the zero point, both to even: under an odd zero point they differ. Values are known to
        lie there only if the step is a power of two.
        """
        return bool(((self.zero % 2 == 1) & (np.frexp(self.scale)[0] == 0.5)).any())

    def is_single(self) -> bool:
        """Return whether there is one scale for all."""
        return not self.scale.ndim

    def equals(self, other: Side | None) -> bool:
        """Return whether another has the same numbers."""
        return other is not None and np.array_equal(self.scale, other.scale) and np.array_equal(self.zero, other.zero)


def kind(first: int) -> type[np.int8 | np.uint8]:
    """Return the type of levels, the first of which is the integer ``first``."""
    return np.int8 if first else np.uint8


@dataclass(frozen=True, kw_only=True)
class Ranges:
    """Limits of the input and of the output, which are the first and the last of ``count`` levels.

    ``rank`` is that of the input.
    """

    count: int
    low: _Numbers
    high: _Numbers
    out_low: _Numbers
    out_high: _Numbers
    rank: int

    @property
    def scale(self) -> _Numbers:
        """The number of levels in one unit of the input."""
        return np.float32(self.count - 1) / (self.high - self.low)

    @property
    def out_step(self) -> _Numbers:
        """The distance of two levels in the output."""
        return (self.out_high - self.out_low) / np.float32(self.count - 1)

    @property
    def bounds(self) -> tuple[_Numbers, _Numbers]:
        """The limits of the input."""
        return np.minimum(self.low, self.high), np.maximum(self.low, self.high)

    @cached_property
    def before(self) -> Side | None:
        """The input as integers; None if the zero point is not an integer of 8 bits."""
        return self._side(self.low, self.high)

    @cached_property
    def after(self) -> Side | None:
        """The output as integers, as ``before``."""
        return self._side(self.out_low, self.out_high)

    @property
    def spread(self) -> tuple[int, ...]:
        """The shape that all limits have together."""
        limits = (self.low, self.high, self.out_low, self.out_high)
        return np.broadcast_shapes(*(limit.shape for limit in limits))

    @property
    def axis(self) -> int | None:
        """The axis along which limits vary, 0 if they do not; None for several, or if the rank is unknown."""
        shape = self.spread
        several = [axis + self.rank - len(shape) for axis, length in enumerate(shape) if length > 1]
        return None if len(shape) > self.rank or len(several) > 1 else sum(several)

    @property
    def are_of_channels(self) -> bool:
        """Whether each channel has its own levels, of 8 bits, in ascending order."""
        rises = (self.low < self.high).all() and (self.out_low < self.out_high).all()
        return self.count == MOST and self.axis == 1 and bool(rises)

    @property
    def have_one_zero(self) -> bool:
        """Whether each channel has its own levels, of 8 bits, all with the same zero point."""
        sides = (self.before, self.after)
        same = all(side is not None and side.in_levels() is not None for side in sides)
        return self.count == MOST and self.axis == 1 and same

    @property
    def end_at_zero(self) -> bool:
        """Whether zero is the lowest level."""
        return not self.low.any() and bool((self.high > 0).all())

    @property
    def single(self) -> Side | None:
        """The output as integers if there is one scale for all; else None."""
        is_one = all(side is not None and side.is_single() for side in (self.before, self.after))
        return self.after if is_one and self.axis is not None else None

    def from_lowest(self, step: _Numbers) -> Side:
        """Return a scale for each channel, of levels that are counted from the lowest."""
        scale = np.broadcast_to(step, self.spread).ravel()
        return Side(scale=scale, zero=np.zeros(scale.shape))

    def are_within(self, low: float, high: float) -> bool:
        """Return whether values beyond two limits become the first or last level, as the limits themselves do."""
        # A limit may lie a quarter of a level inside: half a level would still round to the first or last one, but for
        # errors of float32.
        step = (self.high - self.low) / np.float32(4 * (self.count - 1))
        return bool((step > 0).all() and (self.low + step >= low).all() and (self.high - step <= high).all())

    def of(self, values: Array) -> _Numbers:
        """Return the level of each value, from 0."""
        return np.asarray(np.rint(np.clip(values, *self.bounds) * self.scale - self.low * self.scale))

    def _side(self, low: _Numbers, high: _Numbers) -> Side | None:
        first, last = (np.broadcast_to(limit, self.spread).ravel() for limit in (low, high))
        if not 2 <= self.count <= MOST or not np.isfinite(last - first).all() or not (first < last).all():
            return None
        scale = (last - first) / np.float32(self.count - 1)
        # In float64, so that nothing but the float32 of the limits keeps the zero point from an integer.
        exact = -first.astype(np.float64) * (self.count - 1) / (last.astype(np.float64) - first)
        zero = np.rint(exact)
        if (np.abs(exact - zero) > _WHOLE).any() or (zero < 0).any() or (zero >= self.count).any():
            return None
        single = () if scale.size == 1 else scale.shape
        return Side(scale=scale.reshape(single), zero=zero.reshape(single))


def read(op: Op) -> Ranges | None:
    """Return the ranges of a FakeQuantize; None for any other layer, and for ranges known only at run time."""
    if op.layer.type.lower() != "fakequantize":
        return None
    limits = [op.value(index) for index in range(1, 5)]
    known = [np.asarray(limit, np.float32) for limit in limits if limit is not None]
    if len(known) < 4:
        return None
    low, high, out_low, out_high = known
    rank = len(op.shape() or ())
    return Ranges(count=op.integer("levels"), low=low, high=high, out_low=out_low, out_high=out_high, rank=rank)
