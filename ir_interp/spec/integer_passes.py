"""Sums of integers axis by axis, as data, for cases that are not a member of ``modes.Integers``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ir_interp.errors import SpecError
from ir_interp.spec.fields import settle
from ir_interp.spec.modes import Between, IntegerRounding, Passes

_WIDEST = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedPoint:
    """Sums of integers: each weight becomes an integer over ``2**bits``, rounded half away from zero.

    If the largest weight does not fit ``width`` bits, sign included, there are fewer fractional bits accordingly.
    ``elements`` is the number of bits of the summed integers. With ``lanes``, full blocks of that many values of a row
    are summed along the first axis as vectors of float32, from the last tap to the first. ``passes`` are not AT_ONCE.

    Examples:
        >>> print(ir_interp.FixedPoint(bits=22))
        weights of 22 bits, sums rounded between axes, the last axis first

    """

    bits: int
    width: int = 32
    between: Between = Between.ROUNDED
    passes: Passes = Passes.LAST_FIRST
    elements: int = 8
    lanes: int | None = None

    word: ClassVar[str] = "fixed_point"
    example: ClassVar[str] = "FixedPoint(bits=22)"

    def __post_init__(self) -> None:
        settle(self)
        if not (1 <= self.bits < 32 and 2 <= self.width <= 32):
            raise SpecError(f"weights must have 1 to 31 fractional bits, in a width of 2 to 32: {self}")
        if self.elements not in (8, _WIDEST):
            raise SpecError(f"fixed-point sums require elements of 8 or 16 bits, not {self.elements}")
        if self.passes is Passes.AT_ONCE:
            raise SpecError(f"fixed-point sums must be of one axis after the other: {self}")
        _check_lanes(self)

    def __str__(self) -> str:
        narrower = "" if self.width == 32 else f" that fit {self.width}"
        return f"weights of {self.bits} bits{narrower}, {_order(self)}{_vectors(self.lanes)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class FloatingPoint:
    """Sums of float32 or float64 products, from the first tap to the last, rounded to integers by ``rounding``.

    With ``lanes``, full blocks of that many values of a row are summed along the first axis from the last tap to the
    first.

    Examples:
        >>> print(ir_interp.FloatingPoint(bits=32, rounding="half_up"))
        float32, sums kept in full between axes, the last axis first, rounded half up

    """

    bits: int
    between: Between = Between.KEPT
    passes: Passes = Passes.LAST_FIRST
    rounding: IntegerRounding = IntegerRounding.HALF_EVEN
    lanes: int | None = None

    word: ClassVar[str] = "floating_point"
    example: ClassVar[str] = "FloatingPoint(bits=32)"

    def __post_init__(self) -> None:
        settle(self)
        if self.bits not in (32, 64):
            raise SpecError(f"floats must have 32 or 64 bits, not {self.bits}")
        if self.between is Between.SHORTENED:
            raise SpecError(f"sums of floats must be kept or rounded between axes: {self}")
        # The only library that sums over all axes at once is SciPy, which rounds so.
        if self.passes is Passes.AT_ONCE and (self.between, self.rounding) != (Between.KEPT, IntegerRounding.HALF_AWAY):
            raise SpecError(f"sums over all axes at once must be rounded half away from zero, at the end: {self}")
        _check_lanes(self)

    def __str__(self) -> str:
        return f"float{self.bits}, {_order(self)}, {_ROUNDED[self.rounding]}{_vectors(self.lanes)}"


_SUMS = {Between.ROUNDED: "rounded", Between.KEPT: "kept in full", Between.SHORTENED: "shortened"}
_FIRST = {
    Passes.LAST_FIRST: "the last axis first",
    Passes.UNLESS_TALL: "the last axis first unless the image is over 100 times as tall as wide and gets shorter",
    Passes.BY_LOSS: "the last axis first unless the first loses more than twice as many pixels",
}
_ROUNDED = {
    IntegerRounding.HALF_EVEN: "rounded half to even",
    IntegerRounding.HALF_UP: "rounded half up",
    IntegerRounding.HALF_AWAY: "rounded half away from zero",
    IntegerRounding.CUT_OFF: "rounded towards zero",
}


def _order(sums: FixedPoint | FloatingPoint) -> str:
    """Return the order of the axes, and what happens to sums between them."""
    if sums.passes is Passes.AT_ONCE:
        return "sums over all axes at once"
    return f"sums {_SUMS[sums.between]} between axes, {_FIRST[sums.passes]}"


def _vectors(lanes: int | None) -> str:
    return "" if lanes is None else f", in blocks of {lanes} values from the last tap to the first"


def _check_lanes(sums: FixedPoint | FloatingPoint) -> None:
    if sums.lanes is not None and (sums.lanes < 1 or sums.between is not Between.KEPT or sums.bits == _DOUBLE):
        raise SpecError(f"lanes must be at least 1, in sums that keep their bits and are not float64: {sums}")


_DOUBLE = 64
