"""Filters before the resize, as data; they depend on how far each axis shrinks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ir_interp.errors import SpecError
from ir_interp.spec.fields import settle
from ir_interp.spec.modes import Border


@dataclass(frozen=True, slots=True, kw_only=True)
class Reduce:
    """Blocks of pixels are averaged and rounded to integers where an axis shrinks by ``2 * gap`` or more.

    A block is the longest that leaves at least ``gap`` times the pixels of the output (Pillow's ``reducing_gap``).

    Examples:
        >>> print(ir_interp.Reduce(gap=2))
        blocks averaged first, gap 2

    """

    gap: float

    word: ClassVar[str] = "reduce"
    example: ClassVar[str] = "Reduce(gap=2.0)"

    def __post_init__(self) -> None:
        settle(self)
        if not self.gap >= 1:
            raise SpecError(f"the gap of blocks must be at least 1, not {self.gap}")

    def __str__(self) -> str:
        return f"blocks averaged first, gap {self.gap:g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Smooth:
    """Each shrinking axis is smoothed by a Gaussian of standard deviation (step - 1) / 2, cut at four of these.

    ``border`` determines the pixels beyond the image (scikit-image's ``anti_aliasing``).

    Examples:
        >>> print(ir_interp.Smooth(border="symmetric"))
        smoothed by a Gaussian first, border symmetric

    """

    border: Border = Border.MIRRORED

    word: ClassVar[str] = "smooth"

    def __post_init__(self) -> None:
        settle(self)

    def __str__(self) -> str:
        return f"smoothed by a Gaussian first, border {self.border}"
