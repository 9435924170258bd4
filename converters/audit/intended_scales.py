"""The value of a scale before it was rounded to half precision: the fraction that was intended."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import count

import numpy as np

from ir_interp.plan.axes.geometry import scaled_length
from ir_interp.shapes import PartialShape
from ir_interp.spec import Arithmetic

_SMALLEST = 2**-10  # of the scales that may have been written as a fraction
_SIMPLE = 16  # the largest denominator that distinguishes a fraction from a ratio of sizes; tenths and thirds need less
_HALF_A_LEVEL = 0.5 + 2**-16  # the farthest that rounding to a level moves a scale, and float32's own rounding
_SAME = 2**-21  # relative distance of a float32 scale from the fraction that it stands for


def rounded_to_half(scales: Sequence[float], in_sizes: PartialShape, *, is_certain: bool) -> list[int]:
    """Return the places of the scales that half precision has changed.

    ``in_sizes`` are the sizes that the scales multiply, None if unknown. ``is_certain`` means that the file proves the
    rounding. Otherwise the values must prove it: all of them fit half precision, and some lie beside a simple fraction.
    """
    if not is_certain and any(float(_half(scale)) != scale for scale in scales):
        return []
    places = enumerate(zip(scales, in_sizes, strict=True))
    return [place for place, (scale, in_size) in places if _is_rounded(scale, in_size, is_certain)]


def _is_rounded(scale: float, in_size: int | None, is_certain: bool) -> bool:
    fraction = before_half(scale)
    if fraction is None or float(_half(scale)) != scale or fraction == Fraction(scale):
        return False
    is_simple = fraction.denominator <= _SIMPLE
    is_ratio = in_size is not None and (Fraction(scale) * in_size).denominator == 1
    return (is_simple or not is_ratio) if is_certain else (is_simple and not is_ratio)


def _half(scale: float) -> np.float16:
    with np.errstate(over="ignore"):
        return np.float16(scale)


def before_half(scale: float) -> Fraction | None:
    """Return the fraction that a half-precision scale probably was: the simplest one that rounds to it.

    So 2.3008 was 2.3, and 0.6665 was 2/3. Returns None for a scale that is too small or too large to decide.
    """
    half = _half(scale)
    if half < _SMALLEST or not np.isfinite(half):
        return None
    return _simplest(scale, lambda fraction: np.float16(float(fraction)) == half)


def _simplest(scale: float, is_near: Callable[[Fraction], bool]) -> Fraction:
    # Every float is a fraction over a power of 2, so the search ends.
    tried = (Fraction(round(Fraction(scale) * below), below) for below in count(1))
    return next(fraction for fraction in tried if is_near(fraction))


def before_levels(scale: float, step: float) -> Fraction:
    """Return the fraction that a scale probably was before it became a level times ``step``: the simplest one.

    So 1.0039 was 1, as a level of 2 / 255.
    """
    return _simplest(scale, lambda fraction: abs(float(fraction) - scale) <= step * _HALF_A_LEVEL)


def unrounded(scale: float, in_size: int | None, arithmetic: Arithmetic) -> float:
    """Return, in float32, the scale that half precision rounded to ``scale``; see ``in_float32``."""
    fraction = before_half(scale)
    assert fraction is not None
    return in_float32(fraction, in_size, arithmetic)


def in_float32(fraction: Fraction, in_size: int | None, arithmetic: Arithmetic) -> float:
    """Return an intended scale in float32.

    For a known ``in_size`` it gives as many pixels in ``arithmetic`` as the fraction does in PyTorch, which multiplies
    in float64: 100 * 2.3 is 229 there. Float32 gives 230, so the next smaller number that gives 229 is returned.
    """
    nearest = np.float32(float(fraction))
    if in_size is None:
        return float(nearest)
    intended = size_in_double(fraction, in_size)
    while (rounded := scaled_length(Fraction(in_size), Fraction(float(nearest)), arithmetic)) != intended:
        nearest = np.nextafter(nearest, np.float32(np.inf if rounded < intended else 0))
    return float(nearest)


def size_in_double(fraction: Fraction, in_size: int) -> int:
    """Return floor(in_size * scale) in float64, as PyTorch computes it."""
    return math.floor(in_size * float(fraction))


def falls_short_in_double(scale: float, in_size: int, out_size: int) -> bool:
    """Return whether ``out_size`` is the float64 result for a fraction whose exact product is one more.

    ``scale`` may be some float32 steps away from that fraction, as ``unrounded`` returns it.
    """
    fraction = _simplest(scale, lambda near: abs(near / Fraction(scale) - 1) <= _SAME)
    return fraction * in_size == out_size + 1 and size_in_double(fraction, in_size) == out_size
