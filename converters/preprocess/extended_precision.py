"""Numbers as sums of two or three float32 tensors: OpenVINO computes nodes of float64 in float32.

A pair has 48 bits, by T. J. Dekker's sums and products (1971). Integers below 2**48 stay exact, and so does the
quotient of integers that is one itself. Other results are off by at most about 2**-45 of the largest operand.

A triple stands for a float64 in rules of sizes. Every result is rounded to 53 bits, ties to even, as float64 is: a
product of a number and an integer below 2**24 is exact in 72 bits before that, and a quotient by such an integer is
never closer to a tie than 2**-72 can resolve.
"""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from functools import reduce
from typing import TypeAlias

import numpy as np

from ..decompose.tensor import halves
from ..onnx import operators
from ..onnx.operators import NodeTensor

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
    (c, d), (e, f) = (halves(x, rounded) for x in (a, b))
    # Dekker's order: every difference and sum in it is exact.
    return product, ((c * e - product) + c * f + d * e) + d * f


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

    def like(self, x: PairOperand) -> Pair:
        """Return an operand as a pair."""
        if isinstance(x, Pair):
            return x
        return Pair(self.high.of(x)) if isinstance(x, float | int) else Pair.of(x)

    @property
    def rest(self) -> NodeTensor:
        """The low part, as a tensor."""
        return self.high.of(0.0) if self.low is None else self.low

    def __add__(self, other: PairOperand) -> Pair:
        that = self.like(other)
        high, low = exact_sum(self.high, that.high)
        lows = [x for x in (self.low, that.low) if x is not None]
        return Pair(*quick_sum(high, reduce(operator.add, [low, *lows])) if lows else (high, low))

    __radd__ = __add__

    def __neg__(self) -> Pair:
        return Pair(-self.high, None if self.low is None else -self.low)

    def __sub__(self, other: PairOperand) -> Pair:
        return self + -self.like(other)

    def __rsub__(self, other: PairOperand) -> Pair:
        return -self + other

    def __mul__(self, other: PairOperand) -> Pair:
        if isinstance(other, float) and math.frexp(other)[0] == 0.5:  # a power of 2: no error
            return Pair(self.high * other, None if self.low is None else self.low * other)
        that = self.like(other)
        high, low = exact_product(self.high, that.high)
        crossed = [rounded(x * y) for x, y in ((self.high, that.low), (that.high, self.low)) if y is not None]
        return Pair(*quick_sum(high, reduce(operator.add, [low, *crossed])) if crossed else (high, low))

    __rmul__ = __mul__

    def __truediv__(self, other: PairOperand) -> Pair:
        """Return a quotient: its first part may be off by a last place, since OpenVINO inverts constant divisors."""
        that = self.like(other)
        first = self.high / that.high
        # The residue of a rounded quotient is small; its own quotient supplies the next 24 bits.
        rest = self - that * first
        return Pair(*quick_sum(first, rest.high / that.high))

    def __rtruediv__(self, other: PairOperand) -> Pair:
        return self.like(other) / self

    def __abs__(self) -> Pair:
        return select_pair(self.high < 0.0, -self, self)

    def floor(self) -> Pair:
        """Return the floor."""
        high = self.high.floor()
        low = (high == self.high).where(self.rest.floor(), 0.0)  # beside an integer, the low part may cross it
        return Pair(*quick_sum(high, low))

    def __lt__(self, other: PairOperand) -> NodeTensor:
        return (self - other).high < 0.0

    def __gt__(self, other: PairOperand) -> NodeTensor:
        return (self - other).high > 0.0

    def __le__(self, other: PairOperand) -> NodeTensor:
        return (self - other).high <= 0.0

    def minimum(self, other: PairOperand) -> Pair:
        """Return the minimum."""
        that = self.like(other)
        return select_pair(self < that, self, that)

    def maximum(self, other: PairOperand) -> Pair:
        """Return the maximum."""
        that = self.like(other)
        return select_pair(self < that, that, self)

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


PairOperand: TypeAlias = "Pair | NodeTensor | float"


def select_pair(condition: NodeTensor, yes: Pair | float, no: Pair | float) -> Pair:
    """Return ``yes`` where the condition holds, else ``no``."""
    pair = yes if isinstance(yes, Pair) else no
    assert isinstance(pair, Pair)
    first, second = (pair.like(x) for x in (yes, no))
    return Pair(condition.where(first.high, second.high), condition.where(first.rest, second.rest))


class _PairFunctions:
    """The functions of formulas, for pairs."""

    abs, maximum, where = staticmethod(Pair.__abs__), staticmethod(Pair.maximum), staticmethod(select_pair)


PAIRS = _PairFunctions()


_BITS = 52  # behind the leading bit
_POWERS = 2.0 ** np.arange(-24, 49)  # the range of sizes, their ratios and products


@dataclass(frozen=True, slots=True, eq=False)
class Triple:
    """``high + middle + low``, each the nearest float32 to the rest; an integer below 2**24 is all in ``high``.

    Operands may be numbers, too: factors and divisors must be integers.
    """

    high: NodeTensor
    middle: NodeTensor | None = None
    low: NodeTensor | None = None

    @staticmethod
    def of(x: NodeTensor) -> Triple:
        """Return integers below 2**24."""
        return Triple(x.cast("float32"))

    def like(self, x: TripleOperand) -> Triple:
        """Return an operand as a triple."""
        if isinstance(x, Triple):
            return x
        parts, rest = [], float(x)
        for _ in range(3):
            parts.append(np.float32(rest))
            rest -= float(parts[-1])
        return Triple(*(self.high.of(part) for part in (parts if parts[1] else parts[:1])))

    @property
    def parts(self) -> tuple[NodeTensor, NodeTensor, NodeTensor]:
        """All three."""
        zero = self.high.of(0.0)
        return self.high, zero if self.middle is None else self.middle, zero if self.low is None else self.low

    def __mul__(self, other: TripleOperand) -> Triple:
        whole, number = sorted((self, self.like(other)), key=lambda x: x.middle is not None)
        assert whole.middle is None, "a product of two fractions"
        a, b, c = number.parts
        # A product of 24 by 24 bits is a float32 and its rounding error, which is one, too; only the last term is
        # rounded.
        first, error = exact_product(a, whole.high)
        second, rest = exact_product(b, whole.high)
        middle, carry = exact_sum(error, second)
        return _rounded(first, middle, carry + (rest + c * whole.high))

    __rmul__ = __mul__

    def __truediv__(self, other: TripleOperand) -> Triple:
        divisor = self.like(other)
        assert divisor.middle is None, "a quotient by a fraction"
        # Long division: each quotient has 24 bits, and the rest after it is exact.
        quotients, rest = [], self.parts
        for _ in range(3):
            quotients.append(rest[0] / divisor.high)
            rest = _less(rest, quotients[-1], divisor.high)
        return _rounded(*quotients)

    def __rtruediv__(self, other: TripleOperand) -> Triple:
        return self.like(other) / self

    def __add__(self, other: TripleOperand) -> Triple:
        """Return the sum with a number that float32 holds."""
        addend = self.like(other)
        assert addend.middle is None, "a sum of two fractions"
        a, b, c = self.parts
        total, error = exact_sum(a, addend.high)
        middle, carry = exact_sum(error, b)
        return _rounded(total, middle, carry + c)

    def __rsub__(self, other: TripleOperand) -> Triple:
        return Triple(*(-part for part in self.parts)) + other

    def floor(self) -> Triple:
        """Return the floor: below 2**24."""
        a, b, c = self.parts
        down = a.floor()
        return Triple((down == a).where(a + (b + c).floor(), down))

    def ceil(self) -> Triple:
        """Return the ceiling."""
        a, b, c = self.parts
        up = a.ceil()
        return Triple((up == a).where(a + (b + c).ceil(), up))

    def rint(self) -> Triple:
        """Return the nearest integers, ties to even."""
        down = self.floor().high
        a, b, c = self.parts
        rest, error = exact_sum(a - down, b)  # less than 1: exact
        beyond = error + c
        is_up = (rest > 0.5) | ((rest == 0.5) & (beyond > 0.0))
        is_tie = (rest == 0.5) & (beyond == 0.0)
        return Triple(down + (is_up | (is_tie & (_oddness(down) > 0.5))).where(a.of(1.0), 0.0))

    def __lt__(self, other: TripleOperand) -> NodeTensor:
        a, b, c = self.parts
        d, e, f = self.like(other).parts
        return (a < d) | ((a == d) & ((b < e) | ((b == e) & (c < f))))

    def __gt__(self, other: TripleOperand) -> NodeTensor:
        return self.like(other) < self

    def __le__(self, other: TripleOperand) -> NodeTensor:
        return ~(self.like(other) < self)

    def __eq__(self, other: object) -> NodeTensor:  # type: ignore[override]
        assert isinstance(other, Triple | float | int)
        return ~(self < other) & ~(self > other)

    __hash__ = None  # type: ignore[assignment]

    def __abs__(self) -> Triple:
        negated = Triple(*(-part for part in self.parts))
        return select_triple(self.high < 0.0, negated, self)

    @property
    def integer(self) -> NodeTensor:
        """The number as int64: an integer below 2**24."""
        return self.high.cast("int64")


TripleOperand: TypeAlias = "Triple | float"


def _less(
    x: tuple[NodeTensor, NodeTensor, NodeTensor], quotient: NodeTensor, divisor: NodeTensor
) -> tuple[NodeTensor, NodeTensor, NodeTensor]:
    """Return x - quotient * divisor, whose first part is exact if the quotient is off by about a last place."""
    product, error = exact_product(quotient, divisor)
    first, rest = exact_sum(x[0], -product)
    middle, carry = exact_sum(rest, x[1] - error)
    return _ordered(first, middle, carry + x[2])


def _ordered(a: NodeTensor, b: NodeTensor, c: NodeTensor) -> tuple[NodeTensor, NodeTensor, NodeTensor]:
    """Return the same sum, each part the nearest float32 to the rest."""
    b, c = exact_sum(b, c)
    a, b = quick_sum(*exact_sum(a, b))
    b, c = exact_sum(b, c)
    return a, b, c


def _rounded(a: NodeTensor, b: NodeTensor, c: NodeTensor) -> Triple:
    """Return a sum rounded to 53 bits, ties to even."""
    a, b, c = _ordered(a, b, c)
    unit = _power(a, b) * 2.0**-_BITS
    whole = (b / unit).round()
    rest, error = exact_sum(b / unit - whole, c / unit)
    down = rest.floor()
    part = rest - down
    is_up = (part > 0.5) | ((part == 0.5) & (error > 0.0))
    is_odd = ~(_oddness(whole) == _oddness(down))
    step = (is_up | ((part == 0.5) & (error == 0.0) & is_odd)).where(a.of(1.0), 0.0)
    return Triple(*_ordered(a, whole * unit, (down + step) * unit))


def _oddness(x: NodeTensor) -> NodeTensor:
    """Return 1 for odd integers, 0 for even ones."""
    return x - (x * 0.5).floor() * 2.0


def _power(a: NodeTensor, b: NodeTensor) -> NodeTensor:
    """Return the largest power of 2 that is not above the absolute value of a + b."""
    size, rest = abs(a), (a < 0.0).where(-b, b)
    powers = a.of(_POWERS)
    is_below = ~(size.unsqueeze(1) < powers)
    chosen = is_below.where(powers, float(_POWERS[0]))
    largest = a.like(operators.reduction(a.ops.graph, "ReduceMax", chosen.value, (1,), keep=False))
    return ((size == largest) & (rest < 0.0)).where(largest * 0.5, largest)


def select_triple(condition: NodeTensor, yes: TripleOperand, no: TripleOperand) -> Triple:
    """Return ``yes`` where the condition holds, else ``no``."""
    triple = yes if isinstance(yes, Triple) else no
    assert isinstance(triple, Triple)
    first, second = triple.like(yes), triple.like(no)
    if first.middle is None and second.middle is None:
        return Triple(condition.where(first.high, second.high))
    return Triple(*(condition.where(one, other) for one, other in zip(first.parts, second.parts, strict=True)))


def _smaller(x: TripleOperand, y: TripleOperand) -> Triple:
    triple = x if isinstance(x, Triple) else y
    assert isinstance(triple, Triple)
    return select_triple(triple.like(x) < y, x, y)


def _larger(x: TripleOperand, y: TripleOperand) -> Triple:
    triple = x if isinstance(x, Triple) else y
    assert isinstance(triple, Triple)
    return select_triple(triple.like(x) < y, y, x)


class _TripleFunctions:
    """NumPy's functions for triples, which rules of sizes call."""

    floor = staticmethod(Triple.floor)
    ceil = staticmethod(Triple.ceil)
    rint = staticmethod(Triple.rint)
    abs = staticmethod(abs)
    where = staticmethod(select_triple)
    minimum = staticmethod(_smaller)
    maximum = staticmethod(_larger)


TRIPLES = _TripleFunctions()
