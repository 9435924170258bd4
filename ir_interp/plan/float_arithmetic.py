"""Arithmetic of floats that is identical everywhere: sine, cosine, exponential, and sizes that scales give.

C's library and NumPy choose their code by processor, and results differ in the last bit. Here the functions consist of
sums and products only, in pairs of float64 (T. J. Dekker, 1971) with about 100 bits, rounded once. The result is the
nearest float64 except in about one of 10^14 cases.
Sizes are float64's floor(size * scale), or ceil, in float32 steps: 0.7 in float64 gives 7 for a size of 10, and 62
for a size of 90: both products are a bit less than the integer, and the first is rounded up to it. Graphs compute sizes
in float32, which rounds at other sizes, and OpenVINO even computes its float64 so. So the steps are sums of exact
float32 products, and are tried for every size up to LARGEST.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction
from functools import cache, lru_cache
from itertools import combinations
from typing import Any, NamedTuple, assert_never

import numpy as np
from numpy.typing import NDArray

from ir_interp.errors import SpecError
from ir_interp.shapes import ARRAYS, Operations, Values

Array = NDArray[np.float64]
# 70 digits are far more than the pairs below hold, whose own rounding is then the only error.
_PI = Fraction(3141592653589793238462643383279502884197169399375105820974944592307816, 10**69)
_LN_2 = Fraction(693147180559945309417232121458176568075500134360255254120680009493393621, 10**72)
_SPLIT = float(2**27 + 1)  # splits a float64 into halves whose products are exact
_TERMS = 27  # of a series: the next term, (pi / 4)^n / n!, is below 2^-110
_SMALL = 12  # from this term on one float is precise enough: (pi / 4)^12 / 12! is below 2^-33
_HALVINGS = 6  # of the argument of the exponential


Floats = float | NDArray[np.float64]
"""Numbers in float64."""


class Pair(NamedTuple):
    """A sum of two floats; ``low`` is below half a unit in the last place of ``high``."""

    high: Floats
    low: Floats

    def __mul__(self, other: Pair) -> Pair:  # type: ignore[override]
        high, low = _product(self.high, other.high)
        return _sum(high, low + (self.high * other.low + self.low * other.high))

    def __add__(self, other: Pair) -> Pair:  # type: ignore[override]
        high, low = _sum(self.high, other.high)
        return _sum(high, low + (self.low + other.low))


def _sum(a: Floats, b: Floats) -> Pair:
    high = a + b  # D. E. Knuth's TwoSum: high + low is exact, whichever of a and b is larger
    other = high - a
    return Pair(high, (a - (high - other)) + (b - other))


def _product(a: Floats, b: Floats) -> Pair:
    (a_high, a_low), (b_high, b_low) = _halves(a), _halves(b)
    high = a * b  # T. J. Dekker's product: high + low is exact
    return Pair(high, ((a_high * b_high - high) + a_high * b_low + a_low * b_high) + a_low * b_low)


def _halves(a: Floats) -> tuple[Floats, Floats]:
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


LARGEST = 2**16
"""The largest size of an axis whose output size is proven."""

_BITS = 8  # of each part of a scale: its product with a size of 16 bits is a float32 number
_EXACT_PARTS = 3  # what follows them contributes less than 2**-7 times the scale
_MARGIN = np.float32(2**-19)  # more than the rounding errors of the steps, whichever order or fused product is chosen


@dataclass(frozen=True, slots=True, kw_only=True)
class LengthSteps:
    """The steps of one scale: ``parts`` sum up to it, and ``shifts`` apply from the sizes ``starts`` on.

    ``more`` is added to the result: ceil is one more than floor, except at integers, which shifts move below.
    """

    parts: tuple[np.float32, ...]
    starts: NDArray[np.float32]
    shifts: NDArray[np.float32]
    more: int = 0

    def of(self, size: Values, xp: Operations[Values]) -> Values:
        """Return the sizes of a float32 column of sizes."""
        *exact, rest = [size * float(part) for part in self.parts]
        left = rest
        if len(self.starts):
            left = left + xp.sum((xp.tensor(self.starts) <= size) * xp.tensor(self.shifts), axis=-1, keepdims=True)
        wholes = [xp.floor(product) for product in exact]
        for product, whole in zip(exact, wholes, strict=True):
            left = left + (product - whole)
        for whole in wholes[1:]:
            wholes[0] = wholes[0] + whole
        length = wholes[0] + xp.floor(left) if wholes else xp.floor(left)
        return length + float(self.more) if self.more else length


class Rounding(Enum):
    """How a number becomes a size: down, up, or to the nearest integer, of two the even one or the larger."""

    DOWN = "down"
    UP = "up"
    EVEN = "even"
    AWAY = "away"

    def of(self, numbers: NDArray[Any]) -> Array:
        """Return the sizes of numbers."""
        wide = numbers.astype(np.float64)
        match self:
            case Rounding.DOWN:
                return np.floor(wide)
            case Rounding.UP:
                return np.ceil(wide)
            case Rounding.EVEN:
                return np.rint(wide)
            case Rounding.AWAY:
                return np.floor(wide + 0.5)
            case _:
                assert_never(self)

    def of_ratio(self, number: Fraction) -> int:
        """Return the size of a rational number."""
        match self:
            case Rounding.DOWN:
                return math.floor(number)
            case Rounding.UP:
                return math.ceil(number)
            case Rounding.EVEN:
                return round(number)
            case Rounding.AWAY:
                return math.floor(number + Fraction(1, 2))
            case _:
                assert_never(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeScale:
    """A scale by which a model computes sizes, and how their products are rounded."""

    scale: float
    rounding: Rounding = Rounding.DOWN


Factor = tuple[str, float]
"""A step of a formula: ``multiply``, ``divide``, ``add``, ``subtract``, ``maximum`` or ``minimum``, and a number."""


def length_steps(scale: float) -> LengthSteps:
    """Return the steps that compute float64's floor(size * scale) for every size up to LARGEST.

    Raises SpecError if there are none: the product comes closer to an integer than float32 can tell.
    """
    return formula_steps((("multiply", scale),))


@lru_cache(maxsize=256)
def formula_steps(factors: tuple[Factor, ...], rounding: Rounding = Rounding.DOWN) -> LengthSteps:
    """Return the same for a size that is multiplied and divided several times, each result rounded to float64.

    There are no steps for sizes that are rounded to the nearest integer.
    """
    if any(name not in ("multiply", "divide") or number <= 0 for name, number in factors):
        raise SpecError("only products and quotients of a size and positive numbers have steps in float32")
    if rounding not in (Rounding.DOWN, Rounding.UP):
        raise SpecError("only sizes that are rounded down or up have steps in float32")
    more = int(rounding is Rounding.UP)
    expected = rounding.of(computed(factors, _SIZES.astype(np.float64)))
    scale = float(computed(factors, np.ones(1))[0])
    plain = LengthSteps(parts=(np.float32(scale),), starts=_NONE, shifts=_NONE)
    if np.array_equal(_computed(plain), expected):
        return plain
    for steps in (replace(steps, more=more) for steps in _candidates(scale, expected - more)):
        if all(np.array_equal(_computed(_shifted(steps, slack)), expected) for slack in (-_MARGIN, _MARGIN)):
            return steps
    raise SpecError(f"float32 cannot compute the output sizes of scale {scale!r}; pass sizes instead")


def computed(factors: tuple[Factor, ...], sizes: NDArray[Any]) -> NDArray[Any]:
    """Return the results of a formula, each step of it in the type of ``sizes``."""
    for name, number in factors:
        sizes = getattr(np, name)(sizes, sizes.dtype.type(number))
    return sizes


def first_wrong_size(factors: tuple[Factor, ...], rounding: Rounding = Rounding.DOWN) -> int | None:
    """Return the least size of which float32 makes another integer than float64; None if there is none."""
    exact, single = (rounding.of(computed(factors, _SIZES.astype(kind))) for kind in (np.float64, np.float32))
    wrong = np.flatnonzero(exact != single)
    return int(_SIZES[wrong[0]]) if len(wrong) else None


def first_size_apart(
    factors: tuple[Factor, ...], others: tuple[Factor, ...], rounding: Rounding, dtype: str
) -> int | None:
    """Return the least size for which two formulas in a float type round to different integers, or None."""
    mine, theirs = (rounding.of(computed(steps, _SIZES.astype(dtype))) for steps in (factors, others))
    apart = np.flatnonzero(mine != theirs)
    return int(_SIZES[apart[0]]) if len(apart) else None


def is_right_in_float32(scale: float) -> bool:
    """Return whether one product of float32 gives float64's floor(size * scale) for every size up to LARGEST."""
    try:
        return len(length_steps(scale).parts) == 1
    except SpecError:
        return False


def _candidates(scale: float, expected: NDArray[np.float64]) -> Iterator[LengthSteps]:
    """Yield steps of a scale by ratios near it, and without; ``expected`` are the output sizes of all sizes."""
    ratios = (Fraction(scale).limit_denominator(LARGEST // share) for share in (1, 16, 256))
    for ratio in dict.fromkeys(ratios):
        if ratio > 0:
            yield _of_ratio(scale, ratio, expected)
    yield LengthSteps(parts=_parts(Fraction(scale)), starts=_NONE, shifts=_NONE)


def _shifted(steps: LengthSteps, slack: np.float32) -> LengthSteps:
    return replace(steps, starts=np.append(np.float32(0), steps.starts), shifts=np.append(slack, steps.shifts))


_NONE = np.zeros(0, np.float32)
_SIZES = np.arange(1, LARGEST + 1)


def _computed(steps: LengthSteps) -> NDArray[np.float32]:
    column: NDArray[np.float32] = steps.of(_SIZES.astype(np.float32)[:, None], ARRAYS)
    return column[:, 0]


def _of_ratio(scale: float, ratio: Fraction, expected: NDArray[np.float64]) -> LengthSteps:
    """Return the steps of a scale near a ratio, which multiplies some sizes to an integer.

    Half of 1 / denominator is added where float64 gives that integer, and subtracted where it gives the one below:
    other products are further away from integers. Which of the two applies changes at a few sizes only.
    """
    sizes = np.arange(ratio.denominator, LARGEST + 1, ratio.denominator)
    integers = sizes // ratio.denominator * ratio.numerator
    is_below = expected[sizes - 1] < integers
    changes = np.flatnonzero(np.diff(is_below)) + 1
    half = 0.5 / ratio.denominator
    first = -half if is_below[0] else half
    signs = np.where(is_below[changes], -2 * half, 2 * half)
    return LengthSteps(
        parts=_parts(Fraction(scale)),
        starts=np.append(0, sizes[changes]).astype(np.float32),
        shifts=np.append(first, signs).astype(np.float32),
    )


def _parts(scale: Fraction) -> tuple[np.float32, ...]:
    """Return numbers of a few bits, and a last one of more, that sum up to a scale."""
    parts = []
    unit = Fraction(2) ** (math.floor(math.log2(scale)) + 1)
    for _ in range(_EXACT_PARTS):
        unit /= 2**_BITS
        part = scale // unit * unit
        scale -= part
        parts += [np.float32(float(part))] if part else []
    return (*parts, np.float32(float(scale)))


# Sizes that reveal how a size was computed

Rule = Callable[[NDArray[np.float64], SizeScale], NDArray[np.float64]]
"""Returns output sizes, given sizes and a scale."""


def _of_float64(sizes: NDArray[np.float64], by: SizeScale) -> NDArray[np.float64]:
    return by.rounding.of(sizes * by.scale)


def _of_float32(sizes: NDArray[np.float64], by: SizeScale) -> NDArray[np.float64]:
    return by.rounding.of(sizes.astype(np.float32) * np.float32(by.scale))


def _of_openvino(sizes: NDArray[np.float64], by: SizeScale) -> NDArray[np.float64]:
    return _of_float32(sizes, replace(by, scale=float(np.float32(by.scale) + np.float32(1e-6))))


def _of_simplest(sizes: NDArray[np.float64], by: SizeScale) -> NDArray[np.float64]:
    """Return the sizes under the simplest ratio that is the scale in float32, as a program may have it."""
    ratio = Fraction(simplest(by.scale))
    return np.array([by.rounding.of_ratio(int(size) * ratio) for size in sizes], np.float64)


def _of_simplest_in_float64(sizes: NDArray[np.float64], by: SizeScale) -> NDArray[np.float64]:
    return by.rounding.of(sizes * float(simplest(by.scale)))


_RULES: tuple[Rule, ...] = (_of_float64, _of_float32, _of_openvino, _of_simplest, _of_simplest_in_float64)


@lru_cache(maxsize=256)
def simplest(scale: float) -> Fraction:
    """Return the ratio of the least denominator that has the same float32 number as ``scale``."""
    denominator = 1
    while denominator < LARGEST:
        ratio = Fraction(round(Fraction(scale) * denominator), denominator)
        if np.float32(float(ratio)) == np.float32(scale):
            return ratio
        denominator += 1
    return Fraction(scale)


@lru_cache(maxsize=256)
def deciding_sizes(scale: float, most: int, rounding: Rounding = Rounding.DOWN) -> tuple[int, ...]:
    """Return sizes up to ``most`` at which float64, float32, rationals and OpenVINO give different output sizes.

    There are a few: each two of them that differ anywhere differ at one of these sizes, among the least.
    """
    sizes = np.arange(1, most + 1).astype(np.float64)
    lengths = [rule(sizes, SizeScale(scale=scale, rounding=rounding)) for rule in _RULES]
    chosen: list[int] = []
    for one, other in combinations(lengths, 2):
        places = np.flatnonzero((one != other) & (np.minimum(one, other) > 0))
        if len(places) and not any(place in places for place in chosen):
            chosen.append(int(places[0]))
    return tuple(sorted(place + 1 for place in chosen))
