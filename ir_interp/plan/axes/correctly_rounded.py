"""Sine, cosine and exponential of float64 arrays, identical on every processor.

C's library and NumPy choose their code by processor, and results differ in the last bit. Here the functions consist of
sums and products only, in pairs of float64 (T. J. Dekker, 1971) with about 100 bits, rounded once. The result is the
nearest float64 except in about one of 10^14 cases.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
# 70 digits are far more than the pairs below hold, whose own rounding is then the only error.
_PI = Fraction(3141592653589793238462643383279502884197169399375105820974944592307816, 10**69)
_LN_2 = Fraction(693147180559945309417232121458176568075500134360255254120680009493393621, 10**72)
_SPLIT = float(2**27 + 1)  # splits a float64 into halves whose products are exact
_TERMS = 27  # of a series: the next term, (pi / 4)^n / n!, is below 2^-110
_SMALL = 12  # from this term on one float is precise enough: (pi / 4)^12 / 12! is below 2^-33
_HALVINGS = 6  # of the argument of the exponential


class Pair(NamedTuple):
    """A sum of two floats; ``low`` is below half a unit in the last place of ``high``."""

    high: Any
    low: Any

    def __mul__(self, other: Any) -> Pair:
        high, low = _product(self.high, other.high)
        return _sum(high, low + (self.high * other.low + self.low * other.high))

    def __add__(self, other: Any) -> Pair:
        high, low = _sum(self.high, other.high)
        return _sum(high, low + (self.low + other.low))


def _sum(a: Any, b: Any) -> Pair:
    high = a + b  # D. E. Knuth's TwoSum: high + low is exact, whichever of a and b is larger
    other = high - a
    return Pair(high, (a - (high - other)) + (b - other))


def _product(a: Any, b: Any) -> Pair:
    (a_high, a_low), (b_high, b_low) = _halves(a), _halves(b)
    high = a * b  # T. J. Dekker's product: high + low is exact
    return Pair(high, ((a_high * b_high - high) + a_high * b_low + a_low * b_high) + a_low * b_low)


def _halves(a: Any) -> tuple[Any, Any]:
    scaled = a * _SPLIT
    high = scaled - (scaled - a)
    return high, a - high


def _pair(value: Fraction) -> Pair:
    high = float(value)
    return Pair(high, float(value - Fraction(high)))


@cache
def _factorials() -> tuple[Pair, ...]:
    return tuple(_pair(Fraction(1, math.factorial(n))) for n in range(_TERMS + 1))


def _series(square: Pair, first: int, sign: int) -> Pair:
    """Return the sum of ``sign^k square^k / (first + 2k)!``."""
    small = np.zeros_like(square.high)
    terms = range(first, _TERMS + 1, 2)
    for n in reversed([n for n in terms if n >= _SMALL]):
        small = small * square.high * sign + _factorials()[n].high
    total, step = Pair(small, 0.0), Pair(square.high * sign, square.low * sign)
    for n in reversed([n for n in terms if n < _SMALL]):
        total = total * step + _factorials()[n]
    return total


def _quotient_and_rest(x: Array, unit: Fraction) -> tuple[Array, Pair]:
    """Return the nearest multiple of the unit in ``x``, and the rest."""
    count = np.rint(x / float(unit))
    first = float(np.float32(float(unit)))  # of 24 bits, so that its multiples are exact
    second = float(np.float32(float(unit - Fraction(first))))
    rest = _pair(unit - Fraction(first) - Fraction(second))
    near = _sum(x - count * first, -count * second)
    return count, near + Pair(-count, 0.0) * rest


def _turned(x: Array, quarters: int) -> Array:
    """Return the sine of ``x`` plus a number of quarter turns."""
    count, rest = _quotient_and_rest(x, _PI / 2)
    square = rest * rest
    sine, cosine = rest * _series(square, 1, -1), _series(square, 0, -1)
    quadrant = (count + quarters) % 4
    value = np.where(quadrant % 2 == 1, cosine.high, sine.high)
    return np.asarray(np.where(quadrant >= 2, -value, value))


def sine(x: NDArray[np.floating[Any]]) -> Array:
    """Return the sine of angles in radians, up to 2^20 in size."""
    return _turned(np.asarray(x, np.float64), 0)


def cosine(x: NDArray[np.floating[Any]]) -> Array:
    """Return the cosine of angles in radians, up to 2^20 in size."""
    return _turned(np.asarray(x, np.float64), 1)


def exponential(x: NDArray[np.floating[Any]]) -> Array:
    """Return e to the power of numbers from -700 to 700."""
    count, rest = _quotient_and_rest(np.asarray(x, np.float64), _LN_2)
    part = rest * Pair(2.0**-_HALVINGS, 0.0)
    total = Pair(np.zeros_like(part.high), 0.0)
    for n in reversed(range(_TERMS // 2)):
        total = total * part + _factorials()[n]
    for _ in range(_HALVINGS):
        total = total * total
    return np.asarray(np.ldexp(total.high, count.astype(np.int64)))
