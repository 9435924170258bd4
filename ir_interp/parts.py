"""What a spec is made of: kernels, targets, windows and pads.

Every field takes its type, or what is converted to it without a doubt: the word of an enumeration, a list for a
tuple, 6.0 for 6, NumPy's scalars. Anything else is a SpecError at once (``fields``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from ir_interp.errors import SpecError
from ir_interp.fields import settle
from ir_interp.modes import Antialias, Border, Rounding


@dataclass(frozen=True, slots=True, kw_only=True)
class Crop:
    """``tf_crop_and_resize``: the output spans a window of the source, in fractions of its corners.

    ``roi`` holds (start, end) per resized axis in the order of ``ResizeSpec.axes``; ``None`` means that it is an
    input at run time. Outputs whose source lies outside the image are ``extrapolation``. ``scales_window`` says that
    scales multiply the part of an axis that its window takes, not all of it.
    """

    roi: tuple[tuple[float, float], ...] | None
    extrapolation: float = 0.0
    scales_window: bool = False

    word: ClassVar[str] = "tf_crop_and_resize"
    example: ClassVar[str] = "Crop(roi=((0.25, 0.75), (0, 1)))"

    def __post_init__(self) -> None:
        settle(self)
        if self.roi is not None and not self.roi:
            raise SpecError("roi is empty; tf_crop_and_resize needs a start and an end for every resized axis")
        if self.roi is not None and not all(abs(edge) <= 2**31 for window in self.roi for edge in window):
            raise SpecError(f"roi must be finite, and within 2**31: {list(self.roi)}")

    def __str__(self) -> str:
        return self.word

    @property
    def edges(self) -> tuple[float, ...] | None:
        """The starts of all windows, then their ends, as in ONNX; None where known only at run time."""
        return None if self.roi is None else tuple(edge for side in zip(*self.roi, strict=True) for edge in side)

    @property
    def formula(self) -> str:
        """The source coordinate of output index ``i``."""
        return "start * (in - 1) + i * (end - start) * (in - 1) / (out - 1)"


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


_MOST_LOBES = 16


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


@dataclass(frozen=True, slots=True)
class Sizes:
    """The wanted output lengths, in the order of ``ResizeSpec.axes``."""

    values: tuple[int, ...]

    example: ClassVar[str] = "Sizes((50, 60))"

    def __post_init__(self) -> None:
        settle(self, values="sizes")
        if not all(0 <= size < 2**63 for size in self.values):
            raise SpecError(f"sizes must be at least 0, and fit 64 bits: {list(self.values)}")

    def __len__(self) -> int:
        return len(self.values)

    def __str__(self) -> str:
        return f"sizes {list(self.values)}"


@dataclass(frozen=True, slots=True)
class Scales:
    """The wanted output / input ratios, in the order of ``ResizeSpec.axes``; float32 values."""

    values: tuple[float, ...]

    example: ClassVar[str] = "Scales((2.0, 2.0))"

    def __post_init__(self) -> None:
        settle(self, values="scales")
        for scale in self.values:
            if not _LEAST <= scale <= _LARGEST:
                raise SpecError(f"scales must be finite and greater than 0 as float32: {list(self.values)}")

    def __len__(self) -> int:
        return len(self.values)

    def __str__(self) -> str:
        return f"scales {list(self.values)}"


_LEAST, _LARGEST = 2.0**-149, (2 - 2.0**-23) * 2.0**127  # of the finite float32 above 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Pad:
    """Zeros laid around one axis before the resize."""

    axis: int
    begin: int
    end: int

    example: ClassVar[str] = "Pad(axis=2, begin=0, end=1)"

    def __post_init__(self) -> None:
        settle(self)
        if not 0 <= min(self.begin, self.end) <= max(self.begin, self.end) < 2**63:
            raise SpecError(f"pads must be at least 0, and fit 64 bits: {self}")

    def __str__(self) -> str:
        return f"axis {self.axis} ({self.begin}, {self.end})"
