"""Float32 arithmetic that rounds as IEEE 754 specifies in a runtime that does not: its errors are found and added back.

Written for any kind of number that has operators: arrays, or tensors of a graph; ``xp`` holds their functions. A
product that is part of a sum may be fused into it, or not, without changing the result.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

_HALF_THE_BITS = 4097.0  # 2**12 + 1: half of the 24 bits of a float32


@dataclass(frozen=True, slots=True)
class Double:
    """A number as the sum of two float32 numbers, as exact as onnxruntime's float64 (T. J. Dekker, 1971)."""

    high: Any
    low: Any
    xp: Any

    def __add__(self, other: Double) -> Double:
        # D. E. Knuth's sum: its error is exact, whichever number is larger.
        total = self.high + other.high
        part = total - self.high
        rest = (self.high - (total - part)) + (other.high - part)
        return Double(total, rest + (self.low + other.low), self.xp)

    def __sub__(self, other: Double) -> Double:
        return self + Double(other.high * -1.0, other.low * -1.0, self.xp)

    def __truediv__(self, other: Double) -> Double:
        """Return the quotient by a number whose low part is 0."""
        quotient = self.high / other.high
        rest = _remainder(self.high, quotient, halves(other.high, self.xp), self.xp)
        # The rest of the division is a second, smaller quotient.
        return Double(quotient, (rest + self.low) / other.high, self.xp)


def quotient(dividend: Any, divisor: Any, inverse: Any, xp: Any) -> Any:
    """Return the float32 nearest to a quotient by a positive number, given 1 / divisor to a few last places.

    One correction gives the quotient, or its neighbour where a half lies closer than the error of the correction. The
    remainder, which is exact, decides which of the two is nearer.
    """
    parts = halves(divisor, xp)
    quotient = dividend * inverse
    near = quotient + _remainder(dividend, quotient, parts, xp) * inverse
    left = _remainder(dividend, near, parts, xp)
    other = near + left * (inverse * 2.0)
    half_way = xp.abs((other - near) * 0.5) * divisor  # both exact: neighbours differ by a power of 2
    return xp.where(half_way < xp.abs(left), other, near)


def _remainder(dividend: Any, quotient: Any, divisor: tuple[Any, Any], xp: Any) -> Any:
    """Return dividend - quotient * divisor, exact if the quotient is off by less than a last place."""
    (a, b), (c, d) = halves(quotient, xp), divisor
    # From the largest product to the smallest: only in this order is each difference exact.
    return (((dividend - a * c) - a * d) - b * c) - b * d


def halves(x: Any, xp: Any) -> tuple[Any, Any]:
    """Return two numbers of 12 bits each whose sum is ``x``, so that products of them are exact."""
    shifted = xp.positive(x * _HALF_THE_BITS)  # fused into the difference, the product would not be rounded
    high = shifted - (shifted - x)
    return high, x - high
