"""Kernels, and the filters before a resize.

A kernel is the weight of a pixel by its distance, or copying; a filter depends on how far its axis shrinks. Fields of
both settle as in ``resize_spec``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, assert_never

from ir_interp.arguments import settle
from ir_interp.errors import SpecError
from ir_interp.specs.modes import Antialias, Border, Rounding


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


_MOST_LOBES = 16


class _Kernel:
    """Fields of every kernel: its word, whether it widens where an axis shrinks, and whether it is cut at the edges.

    A kernel that ``smooths`` also changes the values of an axis that keeps its size.
    """

    __slots__ = ()
    word: ClassVar[str]
    smooths: ClassVar[bool] = False
    antialias = Antialias.OFF
    exclude_outside = False
    border = Border.EDGE

    def __post_init__(self) -> None:
        settle(self)

    @property
    def is_antialiased(self) -> bool:
        """Whether the kernel widens where an axis shrinks."""
        return self.antialias is not Antialias.OFF

    @property
    def title(self) -> str:
        """The word of the kernel, and its coefficient."""
        return self.word

    def __str__(self) -> str:
        cut = " (weights renormalised at borders)" if self.exclude_outside else ""
        border = "" if self.border is Border.EDGE else f", {self.border} border"
        return f"{self.title}{_widened(self.antialias)}{cut}{border}"


def _widened(antialias: Antialias) -> str:
    match antialias:
        case Antialias.OFF:
            return ""
        case Antialias.SHRINKING:
            return ", antialiased"
        case Antialias.ANY_SHRINKING:
            return ", antialiased on all axes if any shrinks"
        case _:
            assert_never(antialias)


@dataclass(frozen=True, slots=True, kw_only=True)
class Nearest(_Kernel):
    """Copy one source pixel.

    Examples:
        >>> spec = ir_interp.ResizeSpec(kernel=ir_interp.Nearest(rounding="floor"), target=ir_interp.Sizes((6,)))
        >>> ir_interp.resize(np.arange(4), spec)
        array([0, 0, 1, 1, 2, 3])

    """

    rounding: Rounding

    word: ClassVar[str] = "nearest"
    example: ClassVar[str] = "Nearest(rounding='round_prefer_floor')"


@dataclass(frozen=True, slots=True, kw_only=True)
class Linear(_Kernel):
    """Triangle of radius 1. Out-of-bounds samples read the ``border``, or are dropped and the weights normalised.

    Examples:
        >>> spec = ir_interp.ResizeSpec(kernel=ir_interp.Linear(antialias="shrinking"), target=ir_interp.Sizes((2,)))
        >>> ir_interp.resize(np.array([0.0, 0.0, 0.0, 7.0]), spec)
        array([0. , 3.5])

    """

    antialias: Antialias = Antialias.OFF
    exclude_outside: bool = False
    border: Border = Border.EDGE

    word: ClassVar[str] = "linear"

    def __post_init__(self) -> None:
        settle(self)
        # The tap in bounds, at the edge, would get weight 1: as if the other had read the edge.
        if self.exclude_outside and self.antialias is Antialias.OFF:
            raise SpecError("exclude_outside has no effect on a linear kernel without antialias")
        if self.exclude_outside and self.border is not Border.EDGE:
            raise SpecError("border has no effect where out-of-bounds samples are excluded")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cubic(_Kernel):
    """Keys' piecewise cubic of radius 2 with coefficient ``a``.

    Examples:
        >>> spec = ir_interp.ResizeSpec(kernel=ir_interp.Cubic(a=-0.75), target=ir_interp.Sizes((2,)))
        >>> ir_interp.resize(np.array([0.0, 0.0, 0.0, 32.0]), spec)
        array([ 0., 16.])

    """

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
        """The word of the kernel, and its coefficient."""
        return f"cubic a={self.a:g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Box(_Kernel):
    """1 within half a pixel of the sampling point, 0 elsewhere: above -1/2 and up to 1/2 (Pillow).

    Examples:
        >>> spec = ir_interp.ResizeSpec(kernel=ir_interp.Box(antialias="shrinking"), target=ir_interp.Sizes((2,)))
        >>> ir_interp.resize(np.array([0.0, 1.0, 2.0, 4.0]), spec)
        array([0.5, 3. ])

    """

    antialias: Antialias = Antialias.OFF
    exclude_outside: bool = False

    word: ClassVar[str] = "box"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hamming(_Kernel):
    """Sinc of radius 1 under a Hamming window. Weights are normalised: their sum is 1.

    Examples:
        >>> kernel = ir_interp.Hamming(antialias="shrinking", exclude_outside=True)
        >>> spec = ir_interp.ResizeSpec(kernel=kernel, target=ir_interp.Sizes((2,)))
        >>> ir_interp.resize(np.array([0.0, 0.0, 1.0, 0.0]), spec).round(3)
        array([0.04, 0.48])

    """

    antialias: Antialias = Antialias.OFF
    exclude_outside: bool = False

    word: ClassVar[str] = "hamming"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lanczos(_Kernel):
    """Sinc of a ``radius`` under the central lobe of a wider sinc. Weights are normalised: their sum is 1.

    Examples:
        >>> spec = ir_interp.ResizeSpec(kernel=ir_interp.Lanczos(radius=3), target=ir_interp.Sizes((2,)))
        >>> ir_interp.resize(np.array([0.0, 0.0, 1.0, 0.0]), spec).round(3)
        array([-0.136,  0.611])

    """

    radius: int
    antialias: Antialias = Antialias.OFF
    exclude_outside: bool = False

    word: ClassVar[str] = "lanczos"
    example: ClassVar[str] = "Lanczos(radius=3)"

    def __post_init__(self) -> None:
        settle(self)
        if not 1 <= self.radius <= _MOST_LOBES:
            raise SpecError(f"the radius of lanczos must be 1 to {_MOST_LOBES}, not {self.radius}")

    @property
    def title(self) -> str:
        """The word of the kernel, and its radius."""
        return f"lanczos radius={self.radius}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gaussian(_Kernel):
    """Bell with a standard deviation of half a pixel, cut at 3/2 pixels (TensorFlow). Weights are normalised.

    Examples:
        >>> spec = ir_interp.ResizeSpec(kernel=ir_interp.Gaussian(), target=ir_interp.Sizes((3,)))
        >>> ir_interp.resize(np.array([0.0, 1.0, 0.0]), spec).round(3)
        array([0.107, 0.787, 0.107])

    """

    antialias: Antialias = Antialias.OFF
    exclude_outside: bool = False

    word: ClassVar[str] = "gaussian"
    smooths: ClassVar[bool] = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Mitchell(_Kernel):
    """Mitchell and Netravali's piecewise cubic of radius 2, both of whose coefficients are 1/3; it smooths.

    Examples:
        >>> spec = ir_interp.ResizeSpec(kernel=ir_interp.Mitchell(), target=ir_interp.Sizes((3,)))
        >>> ir_interp.resize(np.array([0.0, 18.0, 0.0]), spec).round(3)
        array([ 1., 16.,  1.])

    """

    antialias: Antialias = Antialias.OFF
    exclude_outside: bool = False

    word: ClassVar[str] = "mitchell"
    smooths: ClassVar[bool] = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Magic(_Kernel):
    """Costella's Magic Kernel Sharp of a ``year``: 2013, of radius 5/2, or 2021, of radius 9/2 (Pillow's MKS).

    Examples:
        >>> spec = ir_interp.ResizeSpec(kernel=ir_interp.Magic(year=2021), target=ir_interp.Sizes((3,)))
        >>> ir_interp.resize(np.array([0.0, 1.0, 0.0]), spec).round(3)
        array([0.   , 1.002, 0.   ])

    """

    year: int
    antialias: Antialias = Antialias.OFF
    exclude_outside: bool = False

    word: ClassVar[str] = "magic"
    smooths: ClassVar[bool] = True
    example: ClassVar[str] = "Magic(year=2021)"

    def __post_init__(self) -> None:
        settle(self)
        if self.year not in (2013, 2021):
            raise SpecError(f"the year of a magic kernel must be 2013 or 2021, not {self.year}")

    @property
    def title(self) -> str:
        """The word of the kernel, and its year."""
        return f"magic {self.year}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mean(_Kernel):
    """Mean of all pixels that an output pixel covers, including partly covered ones (PyTorch's adaptive pooling).

    Examples:
        >>> spec = ir_interp.ResizeSpec(kernel=ir_interp.Mean(), coordinates="asymmetric", target=ir_interp.Sizes((2,)))
        >>> ir_interp.resize(np.array([1.0, 2.0, 6.0]), spec)
        array([1.5, 4. ])

    """

    word: ClassVar[str] = "mean"


@dataclass(frozen=True, slots=True, kw_only=True)
class Area(_Kernel):
    """Mean over the source interval that an output pixel covers; partly covered pixels count in part.

    Examples:
        >>> spec = ir_interp.ResizeSpec(kernel=ir_interp.Area(), coordinates="asymmetric", target=ir_interp.Sizes((2,)))
        >>> ir_interp.resize(np.array([1.0, 2.0, 6.0]), spec).round(3)
        array([1.333, 4.667])

    """

    word: ClassVar[str] = "area"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mode(_Kernel):
    """The value that covers most of the source interval of an output pixel; the least of several that cover as much.

    Examples:
        >>> spec = ir_interp.ResizeSpec(kernel=ir_interp.Mode(), coordinates="asymmetric", target=ir_interp.Sizes((2,)))
        >>> ir_interp.resize(np.array([7, 3, 7, 5, 4, 4]), spec)
        array([7, 4])

    """

    word: ClassVar[str] = "mode"


Continuous = Linear | Cubic | Box | Hamming | Lanczos | Gaussian | Mitchell | Magic
"""Kernels: pixels weighted by their distance, or copied."""


Kernel = Nearest | Continuous | Area | Mean | Mode
