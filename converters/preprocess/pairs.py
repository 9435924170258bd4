"""Numbers as sums of two float32 tensors, with 48 bits: OpenVINO computes nodes of float64 in float32.

T. J. Dekker's sums and products (1971). Integers below 2**48 stay exact, and so does the quotient of integers that is
one itself. Other results are off by at most about 2**-45 of the largest operand.
"""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from functools import reduce
from typing import TypeAlias

import numpy as np

from ..decompose.exact import halves
from ..onnx.onnx_primitives import NodeTensor

_FINITE = float(np.finfo(np.float32).max)  # a minimum with it changes no number, but stands behind the product


def rounded(x: NodeTensor) -> NodeTensor:
    """Return products as float32 rounds them: OpenVINO fuses a product into a sum that directly follows."""
    return x.minimum(_FINITE)


def exact_sum(a: NodeTensor, b: NodeTensor) -> tuple[NodeTensor, NodeTensor]:
    """Return a sum and its rounding error."""
    total = a + b
    # Knuth's sum of two: exact whichever operand is larger.
    part = total - a
    return total, (a - (total - part)) + (b - part)


def quick_sum(a: NodeTensor, b: NodeTensor) -> tuple[NodeTensor, NodeTensor]:
    """Return a sum and its rounding error, if ``a`` is the larger one."""
    total = a + b
    return total, b - (total - a)


def exact_product(a: NodeTensor, b: NodeTensor) -> tuple[NodeTensor, NodeTensor]:
    """Return a product and its rounding error."""
    product = rounded(a * b)
    (c, d), (e, f) = (halves(x, _ROUNDING) for x in (a, b))
    # Dekker's order: every difference and sum in it is exact.
    return product, ((c * e - product) + c * f + d * e) + d * f


class _Rounding:
    """The function that ``halves`` calls."""

    positive = staticmethod(rounded)


_ROUNDING = _Rounding()


@dataclass(frozen=True, slots=True, eq=False)
class Pair:
    """``high + low``, of which ``high`` is the nearest float32; without ``low`` it is all of the number.

    Operands may be numbers that float32 holds, and float32 tensors, too.
    """

    high: NodeTensor
    low: NodeTensor | None = None

    @staticmethod
    def of(x: NodeTensor) -> Pair:
        """Return float32 numbers, or integers below 2**24, as pairs."""
        return Pair(x if x.dtype == "float32" else x.cast("float32"))

    def like(self, x: Operand) -> Pair:
        """Return an operand as a pair."""
        if isinstance(x, Pair):
            return x
        return Pair(self.high.of(x)) if isinstance(x, float | int) else Pair.of(x)

    @property
    def rest(self) -> NodeTensor:
        """The low part, as a tensor."""
        return self.high.of(0.0) if self.low is None else self.low

    def __add__(self, other: Operand) -> Pair:
        that = self.like(other)
        high, low = exact_sum(self.high, that.high)
        lows = [x for x in (self.low, that.low) if x is not None]
        return Pair(*quick_sum(high, reduce(operator.add, [low, *lows])) if lows else (high, low))

    __radd__ = __add__

    def __neg__(self) -> Pair:
        return Pair(-self.high, None if self.low is None else -self.low)

    def __sub__(self, other: Operand) -> Pair:
        return self + -self.like(other)

    def __rsub__(self, other: Operand) -> Pair:
        return -self + other

    def __mul__(self, other: Operand) -> Pair:
        if isinstance(other, float) and math.frexp(other)[0] == 0.5:  # a power of 2: no error
            return Pair(self.high * other, None if self.low is None else self.low * other)
        that = self.like(other)
        high, low = exact_product(self.high, that.high)
        crossed = [rounded(x * y) for x, y in ((self.high, that.low), (that.high, self.low)) if y is not None]
        return Pair(*quick_sum(high, reduce(operator.add, [low, *crossed])) if crossed else (high, low))

    __rmul__ = __mul__

    def __truediv__(self, other: Operand) -> Pair:
        """Return a quotient: its first part may be off by a last place, since OpenVINO inverts constant divisors."""
        that = self.like(other)
        first = self.high / that.high
        # The residue of a rounded quotient is small; its own quotient supplies the next 24 bits.
        rest = self - that * first
        return Pair(*quick_sum(first, rest.high / that.high))

    def __rtruediv__(self, other: Operand) -> Pair:
        return self.like(other) / self

    def __abs__(self) -> Pair:
        return select(self.high < 0.0, -self, self)

    def floor(self) -> Pair:
        """Return the floor."""
        high = self.high.floor()
        low = (high == self.high).where(self.rest.floor(), 0.0)  # beside an integer, the low part may cross it
        return Pair(*quick_sum(high, low))

    def __lt__(self, other: Operand) -> NodeTensor:
        return (self - other).high < 0.0

    def __gt__(self, other: Operand) -> NodeTensor:
        return (self - other).high > 0.0

    def __le__(self, other: Operand) -> NodeTensor:
        return (self - other).high <= 0.0

    def minimum(self, other: Operand) -> Pair:
        """Return the minimum."""
        that = self.like(other)
        return select(self < that, self, that)

    def maximum(self, other: Operand) -> Pair:
        """Return the maximum."""
        that = self.like(other)
        return select(self < that, that, self)

    def unsqueeze(self, axis: int) -> Pair:
        """Return it with an axis of size 1."""
        return Pair(self.high.unsqueeze(axis), None if self.low is None else self.low.unsqueeze(axis))

    def total(self, axis: int) -> Pair:
        """Return sums of numbers from -1 to 1 along an axis: up to 4096 parts of 12 bits have an exact sum."""
        parts = [x.like(x.ops.total(x.value, axis, keep=True)) for x in self._limbs()]
        return Pair.of(parts[0]) + parts[1] + parts[2]

    def _limbs(self) -> tuple[NodeTensor, NodeTensor, NodeTensor]:
        """Return the numbers as multiples of 2**-12 and 2**-24, and the rest."""
        # Numbers from -1 to 1 have parts of at most 4096 in units of 2**-12: 2**12 of these sum to 2**24, which float32
        # holds.
        upper = rounded((self.high * 4096.0).round() / 4096.0)
        rest = self.high - upper
        middle = rounded((rest * 2.0**24).round() / 2.0**24)
        return upper, middle, (rest - middle) + self.rest


Operand: TypeAlias = "Pair | NodeTensor | float"


def select(condition: NodeTensor, yes: Pair | float, no: Pair | float) -> Pair:
    """Return ``yes`` where the condition holds, else ``no``."""
    pair = yes if isinstance(yes, Pair) else no
    assert isinstance(pair, Pair)
    first, second = (pair.like(x) for x in (yes, no))
    return Pair(condition.where(first.high, second.high), condition.where(first.rest, second.rest))
