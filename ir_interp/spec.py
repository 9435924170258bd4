"""What one resize computes, in no format's own words. Pure data: no files, no tensors.

Every field takes its type, or what is converted to it without a doubt: the word of an enumeration, a list for a
tuple, 6.0 for 6, NumPy's scalars. Anything else is a SpecError (``fields``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from ir_interp.errors import SpecError, spelled
from ir_interp.fields import settle
from ir_interp.modes import Antialias, Arithmetic, Aspect, AtRunTime, Coordinates, Length, Rounding, Step
from ir_interp.shapes import PartialShape, Shape, resolve_axes

__all__ = [
    "AREA_COORDINATES",
    "Antialias",
    "Area",
    "Arithmetic",
    "Aspect",
    "AtRunTime",
    "Coordinates",
    "Crop",
    "Cubic",
    "Kernel",
    "Length",
    "Linear",
    "Nearest",
    "Pad",
    "ResizeSpec",
    "Rounding",
    "Scales",
    "Sizes",
    "Step",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Crop:
    """``tf_crop_and_resize``: the output spans a window of the source, in fractions of its corners.

    ``roi`` holds (start, end) per resized axis in the order of ``ResizeSpec.axes``; ``None`` means that it is an
    input at run time. Outputs whose source lies outside the image are ``extrapolation``.
    """

    roi: tuple[tuple[float, float], ...] | None
    extrapolation: float = 0.0

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
    def formula(self) -> str:
        """The source coordinate of output index ``i``."""
        return "start * (in - 1) + i * (end - start) * (in - 1) / (out - 1)"


class _Kernel:
    """What every kernel has: its word, and whether it is widened where an axis shrinks, and cut at the edges."""

    __slots__ = ()
    word: ClassVar[str]
    antialias = Antialias.OFF
    exclude_outside = False

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
        return f"{self.title}{_WIDENED[self.antialias]}{cut}"


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
    """Triangle of radius 1. Taps beyond the image fall on its edge, or are left out and the rest made to sum to 1."""

    antialias: Antialias = Antialias.OFF
    exclude_outside: bool = False

    word: ClassVar[str] = "linear"

    def __post_init__(self) -> None:
        settle(self)
        if self.exclude_outside and self.antialias is Antialias.OFF:
            raise SpecError("exclude_outside has no effect on a linear kernel without antialias")


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
class Area(_Kernel):
    """Mean over the source interval that an output pixel covers, partly covered pixels counted in part."""

    word: ClassVar[str] = "area"


Kernel = Nearest | Linear | Cubic | Area


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


@dataclass(frozen=True, slots=True, kw_only=True)
class ResizeSpec:
    """One resize, whatever the input's shape.

    ``axes`` is ``None`` for every axis, else lists the resized ones; negative entries count from the last.
    ``target`` is ``AtRunTime`` where sizes or scales are an input of the model, ``None`` where nothing says which.
    """

    kernel: Kernel
    coordinates: Coordinates | Crop = Coordinates.HALF_PIXEL
    axes: tuple[int, ...] | None = None
    target: Sizes | Scales | AtRunTime | None = None
    aspect: Aspect = Aspect.STRETCH
    step: Step = Step.GIVEN
    length: Length = Length.WHOLE
    pads: tuple[Pad, ...] = ()
    arithmetic: Arithmetic = Arithmetic.EXACT

    def __post_init__(self) -> None:
        settle(self)
        if self.axes is not None and len(set(self.axes)) != len(self.axes):
            raise SpecError(f"axes must not repeat: {list(self.axes)}")
        if self.axes is not None and isinstance(self.target, Sizes | Scales) and len(self.axes) != len(self.target):
            raise SpecError(f"{self.target} and axes {list(self.axes)} differ in length")
        if self.aspect is not Aspect.STRETCH and self.gives_scales:
            raise SpecError(f"keep_aspect_ratio_policy {self.aspect} needs sizes, not scales")
        if isinstance(self.kernel, Area) and self.coordinates not in AREA_COORDINATES:
            known = " or ".join(map(str, AREA_COORDINATES))
            raise SpecError(f"area takes {known} coordinates, not {self.coordinates}")

    @property
    def gives_sizes(self) -> bool:
        """Whether output lengths are given, now or at run time."""
        return isinstance(self.target, Sizes) or self.target is AtRunTime.SIZES

    @property
    def gives_scales(self) -> bool:
        """Whether output / input ratios are given, now or at run time."""
        return isinstance(self.target, Scales) or self.target is AtRunTime.SCALES

    @property
    def formula(self) -> str:
        """The source coordinate of output index ``i``, as in ``(i + 1/2) * step - 1/2, step = in / out``."""
        source, step = self.coordinates.formula, ""
        if "step" in source and (self.gives_sizes or self.step is Step.RATIO):
            step = ", step = in / out"
        elif "step" in source and self.gives_scales:
            step = ", step = 1 / scale"
        if isinstance(self.kernel, Nearest):
            source = self.kernel.rounding.of(source)
        elif isinstance(self.kernel, Area):
            source += ", averaged over what a pixel covers"
        zeros = "; zeros around " + ", ".join(map(str, self.pads)) if self.pads else ""
        return source + step + zeros

    @property
    def resized_to(self) -> str:
        """The target and its axes, as in ``sizes 50, 60 on axes 2, 3``."""
        axes = "all axes" if self.axes is None else "axes " + ", ".join(map(str, self.axes))
        policy = "" if self.aspect is Aspect.STRETCH else f" ({self.aspect})"
        match self.target:
            case Sizes(values):
                return f"sizes {', '.join(map(str, values))}{policy} on {axes}"
            case Scales(values):
                return f"scales {', '.join(f'{value:g}' for value in values)} on {axes}"
            case None:
                return f"sizes or scales at run time{policy} on {axes}"
            case at_run_time:
                return f"{at_run_time} at run time{policy} on {axes}"

    def padding(self, rank: int) -> tuple[Shape, Shape]:
        """Return how many zeros are laid before and after every axis of an input. Raises ShapeError, as in ``plan``."""
        begin, end = [0] * rank, [0] * rank
        for pad, axis in zip(self.pads, resolve_axes(tuple(pad.axis for pad in self.pads), rank), strict=True):
            begin[axis], end[axis] = pad.begin, pad.end
        return tuple(begin), tuple(end)

    def padded(self, shape: PartialShape) -> PartialShape:
        """Return the lengths of an input with its pads; None where unknown."""
        sums = zip(shape, *self.padding(len(shape)), strict=True)
        return tuple(None if length is None else length + begin + end for length, begin, end in sums)

    def __str__(self) -> str:
        return f"{self.kernel}, {self.coordinates}: {self.formula}; {self.resized_to}"

    def summary(self) -> dict[str, str]:
        """Return what it is made of, as text by name."""
        rows = {"mode": f"{self.kernel}, {self.coordinates}", "formula": self.formula, "target": self.resized_to}
        if isinstance(self.coordinates, Crop):
            rows |= {"roi": spelled(self.coordinates.roi), "extrapolation": spelled(self.coordinates.extrapolation)}
        return rows | {name: str(getattr(self, name)) for name in ("step", "length", "arithmetic")}

    def _repr_html_(self) -> str:
        """Return a table for notebooks."""
        from ir_interp.views.notebook import table

        return table(self.summary())


AREA_COORDINATES = (Coordinates.ASYMMETRIC, Coordinates.ALIGN_CORNERS)
