"""The kernel of a spec: how pixels are weighed by their distance, or copied; its fields settle as in ``parts``."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from ir_interp.errors import SpecError
from ir_interp.spec.fields import settle
from ir_interp.spec.modes import Antialias, Border, Rounding

_MOST_LOBES = 16


class _Kernel:
    """What every kernel has: its word, and whether it is widened where an axis shrinks, and cut at the edges.

    One that ``smooths`` changes the values of an axis that keeps its length too.
    """

    __slots__ = ()
    word: ClassVar[str]
    smooths: ClassVar[bool] = False
    antialias = Antialias.OFF
    exclude_outside = False
    border = Border.EDGE

    @property
    def is_antialiased(self) -> bool:
        """Whether it is widened where an axis shrinks."""
        return self.antialias is not Antialias.OFF

    @property
    def title(self) -> str:
        """Its word, and coefficient."""
        return self.word

    def __str__(self) -> str:
        cut = ", without taps outside" if self.exclude_outside else ""
        border = "" if self.border is Border.EDGE else f", {self.border} border"
        return f"{self.title}{_WIDENED[self.antialias]}{cut}{border}"


_WIDENED = {
    Antialias.OFF: "",
    Antialias.SHRINKING: ", antialiased",
    Antialias.ANY_SHRINKING: ", antialiased on all axes if any shrinks",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Nearest(_Kernel):
    """Copy one source pixel."""

    rounding: Rounding

    word: ClassVar[str] = "nearest"
    example: ClassVar[str] = "Nearest(rounding='round_prefer_floor')"

    def __post_init__(self) -> None:
        settle(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Linear(_Kernel):
    """Triangle of radius 1. Taps beyond the image fall on its ``border``, or are left out and the rest sum to 1."""

    antialias: Antialias = Antialias.OFF
    exclude_outside: bool = False
    border: Border = Border.EDGE

    word: ClassVar[str] = "linear"

    def __post_init__(self) -> None:
        settle(self)
        if self.exclude_outside and self.antialias is Antialias.OFF:
            raise SpecError("exclude_outside has no effect on a linear kernel without antialias")
        if self.exclude_outside and self.border is not Border.EDGE:
            raise SpecError("border has no effect where taps outside are left out")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cubic(_Kernel):
    """Keys' piecewise cubic of radius 2 with coefficient ``a``."""

    a: float
    antialias: Antialias = Antialias.OFF
    exclude_outside: bool = False

    word: ClassVar[str] = "cubic"
    example: ClassVar[str] = "Cubic(a=-0.75)"

    def __post_init__(self) -> None:
        settle(self)
        if not math.isfinite(self.a):
            raise SpecError(f"the cubic coefficient must be finite, not {self.a}")

    @property
    def title(self) -> str:
        """Its word, and coefficient."""
        return f"cubic a={self.a:g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Box(_Kernel):
    """1 within half a pixel of the sampling point, 0 elsewhere: above -1/2 and up to 1/2 (Pillow)."""

    antialias: Antialias = Antialias.OFF
    exclude_outside: bool = False

    word: ClassVar[str] = "box"

    def __post_init__(self) -> None:
        settle(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hamming(_Kernel):
    """Sinc of radius 1, under a Hamming window. Weights are made to sum to 1."""

    antialias: Antialias = Antialias.OFF
    exclude_outside: bool = False

    word: ClassVar[str] = "hamming"

    def __post_init__(self) -> None:
        settle(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lanczos(_Kernel):
    """Sinc of a ``radius``, under the middle of a wider sinc. Weights are made to sum to 1."""

    radius: int
    antialias: Antialias = Antialias.OFF
    exclude_outside: bool = False

    word: ClassVar[str] = "lanczos"
    example: ClassVar[str] = "Lanczos(radius=3)"

    def __post_init__(self) -> None:
        settle(self)
        if not 1 <= self.radius <= _MOST_LOBES:
            raise SpecError(f"the radius of lanczos is 1 to {_MOST_LOBES}, not {self.radius}")

    @property
    def title(self) -> str:
        """Its word, and radius."""
        return f"lanczos radius={self.radius}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gaussian(_Kernel):
    """Bell of a standard deviation of half a pixel, cut at 3/2 pixels (TensorFlow). Weights are made to sum to 1."""

    antialias: Antialias = Antialias.OFF
    exclude_outside: bool = False

    word: ClassVar[str] = "gaussian"
    smooths: ClassVar[bool] = True

    def __post_init__(self) -> None:
        settle(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mitchell(_Kernel):
    """Mitchell and Netravali's piecewise cubic of radius 2, both of whose coefficients are 1/3; it smooths."""

    antialias: Antialias = Antialias.OFF
    exclude_outside: bool = False

    word: ClassVar[str] = "mitchell"
    smooths: ClassVar[bool] = True

    def __post_init__(self) -> None:
        settle(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Magic(_Kernel):
    """Costella's Magic Kernel Sharp, of a ``year``: 2013, of radius 5/2, or 2021, of radius 9/2 (Pillow's MKS)."""

    year: int
    antialias: Antialias = Antialias.OFF
    exclude_outside: bool = False

    word: ClassVar[str] = "magic"
    smooths: ClassVar[bool] = True
    example: ClassVar[str] = "Magic(year=2021)"

    def __post_init__(self) -> None:
        settle(self)
        if self.year not in (2013, 2021):
            raise SpecError(f"magic kernels are of 2013 and 2021, not of {self.year}")

    @property
    def title(self) -> str:
        """Its word, and year."""
        return f"magic {self.year}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mean(_Kernel):
    """Mean of whole pixels: of every one that an output pixel covers, be it in part (PyTorch's adaptive pooling)."""

    word: ClassVar[str] = "mean"


@dataclass(frozen=True, slots=True, kw_only=True)
class Area(_Kernel):
    """Mean over the source interval that an output pixel covers, partly covered pixels counted in part."""

    word: ClassVar[str] = "area"


Continuous = Linear | Cubic | Box | Hamming | Lanczos | Gaussian | Mitchell | Magic
"""What weighs pixels by their distance."""


Kernel = Nearest | Continuous | Area | Mean
