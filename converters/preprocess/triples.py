"""Numbers of float64 as sums of three float32 tensors, for rules of sizes in OpenVINO, which has no float64.

Every result is rounded to 53 bits, ties to even, as float64 is: a product of a number and an integer below 2**24 is
exact in 72 bits before that, and a quotient by such an integer is never closer to a tie than 2**-72 can resolve.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from ..onnx import operators
from ..onnx.onnx_primitives import NodeTensor
from .pairs import exact_product, exact_sum, quick_sum

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

    def like(self, x: Operand) -> Triple:
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

    def __mul__(self, other: Operand) -> Triple:
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

    def __truediv__(self, other: Operand) -> Triple:
        divisor = self.like(other)
        assert divisor.middle is None, "a quotient by a fraction"
        # Long division: each quotient has 24 bits, and the rest after it is exact.
        quotients, rest = [], self.parts
        for _ in range(3):
            quotients.append(rest[0] / divisor.high)
            rest = _less(rest, quotients[-1], divisor.high)
        return _rounded(*quotients)

    def __rtruediv__(self, other: Operand) -> Triple:
        return self.like(other) / self

    def __add__(self, other: Operand) -> Triple:
        """Return the sum with a number that float32 holds."""
        addend = self.like(other)
        assert addend.middle is None, "a sum of two fractions"
        a, b, c = self.parts
        total, error = exact_sum(a, addend.high)
        middle, carry = exact_sum(error, b)
        return _rounded(total, middle, carry + c)

    def __rsub__(self, other: Operand) -> Triple:
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

    def __lt__(self, other: Operand) -> NodeTensor:
        a, b, c = self.parts
        d, e, f = self.like(other).parts
        return (a < d) | ((a == d) & ((b < e) | ((b == e) & (c < f))))

    def __gt__(self, other: Operand) -> NodeTensor:
        return self.like(other) < self

    def __le__(self, other: Operand) -> NodeTensor:
        return ~(self.like(other) < self)

    def __eq__(self, other: object) -> NodeTensor:  # type: ignore[override]
        assert isinstance(other, Triple | float | int)
        return ~(self < other) & ~(self > other)

    __hash__ = None  # type: ignore[assignment]

    def __abs__(self) -> Triple:
        negated = Triple(*(-part for part in self.parts))
        return select(self.high < 0.0, negated, self)

    @property
    def integer(self) -> NodeTensor:
        """The number as int64: an integer below 2**24."""
        return self.high.cast("int64")


Operand: TypeAlias = "Triple | float"


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


def select(condition: NodeTensor, yes: Operand, no: Operand) -> Triple:
    """Return ``yes`` where the condition holds, else ``no``."""
    triple = yes if isinstance(yes, Triple) else no
    assert isinstance(triple, Triple)
    first, second = triple.like(yes), triple.like(no)
    if first.middle is None and second.middle is None:
        return Triple(condition.where(first.high, second.high))
    return Triple(*(condition.where(one, other) for one, other in zip(first.parts, second.parts, strict=True)))


def _smaller(x: Operand, y: Operand) -> Triple:
    triple = x if isinstance(x, Triple) else y
    assert isinstance(triple, Triple)
    return select(triple.like(x) < y, x, y)


def _larger(x: Operand, y: Operand) -> Triple:
    triple = x if isinstance(x, Triple) else y
    assert isinstance(triple, Triple)
    return select(triple.like(x) < y, y, x)


class _TripleFunctions:
    """NumPy's functions for triples, which rules of sizes call."""

    floor = staticmethod(Triple.floor)
    ceil = staticmethod(Triple.ceil)
    rint = staticmethod(Triple.rint)
    abs = staticmethod(abs)
    where = staticmethod(select)
    minimum = staticmethod(_smaller)
    maximum = staticmethod(_larger)


TRIPLES = _TripleFunctions()
