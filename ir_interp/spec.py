"""What one resize computes, in no format's own words. Pure data: no NumPy, no files, no shapes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

from ir_interp.errors import SpecError


class Coordinates(Enum):
    """How an output index becomes a source coordinate (formulas in ``geometry``)."""

    HALF_PIXEL = "half_pixel"
    HALF_PIXEL_SYMMETRIC = "half_pixel_symmetric"
    PYTORCH_HALF_PIXEL = "pytorch_half_pixel"
    ALIGN_CORNERS = "align_corners"
    ASYMMETRIC = "asymmetric"
    TF_HALF_PIXEL_FOR_NN = "tf_half_pixel_for_nn"


@dataclass(frozen=True, slots=True, kw_only=True)
class Crop:
    """``tf_crop_and_resize``: the output spans a window of the source, in fractions of its corners.

    ``roi`` holds (start, end) per resized axis in the order of ``ResizeSpec.axes``; ``None`` means that it is an
    input at run time. Outputs whose source lies outside the image are ``extrapolation``.
    """

    roi: tuple[tuple[float, float], ...] | None
    extrapolation: float = 0.0

    def __post_init__(self) -> None:
        if self.roi is not None and not self.roi:
            raise SpecError("roi is empty; tf_crop_and_resize needs a start and an end for every resized axis")
        if self.roi is not None and not all(math.isfinite(edge) for window in self.roi for edge in window):
            raise SpecError(f"roi must be finite, not {self.roi}")


class Rounding(Enum):
    """Which neighbour a nearest resize takes."""

    ROUND_PREFER_FLOOR = "round_prefer_floor"
    ROUND_PREFER_CEIL = "round_prefer_ceil"
    FLOOR = "floor"
    CEIL = "ceil"
    SIMPLE = "simple"  # on each axis: ceil where it shrinks, floor elsewhere


class Antialias(Enum):
    """Whether a kernel is widened to cover all the source pixels that fall into one output pixel."""

    OFF = "off"
    SHRINKING = "shrinking"  # on each axis that shrinks (ONNX, Pillow, PyTorch)
    ANY_SHRINKING = "any_shrinking"  # if any axis shrinks, on every axis by its own scale (OpenVINO's `linear`)


@dataclass(frozen=True, slots=True, kw_only=True)
class Nearest:
    """Copy one source pixel."""

    rounding: Rounding


@dataclass(frozen=True, slots=True, kw_only=True)
class Linear:
    """Triangle of radius 1. Taps beyond the image fall on its edge, or are left out and the rest made to sum to 1."""

    antialias: Antialias = Antialias.OFF
    exclude_outside: bool = False

    def __post_init__(self) -> None:
        if self.exclude_outside and self.antialias is Antialias.OFF:
            raise SpecError("exclude_outside has no effect on a linear kernel without antialias")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cubic:
    """Keys' piecewise cubic of radius 2 with coefficient ``a``."""

    a: float
    antialias: Antialias = Antialias.OFF
    exclude_outside: bool = False

    def __post_init__(self) -> None:
        if not math.isfinite(self.a):
            raise SpecError(f"the cubic coefficient must be finite, not {self.a}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Area:
    """Mean over the source interval that an output pixel covers, partly covered pixels counted in part."""


Kernel = Nearest | Linear | Cubic | Area


@dataclass(frozen=True, slots=True)
class Sizes:
    """The wanted output lengths, in the order of ``ResizeSpec.axes``."""

    values: tuple[int, ...]

    def __post_init__(self) -> None:
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

    def __post_init__(self) -> None:
        for scale in self.values:
            if not (math.isfinite(scale) and scale > 0):
                raise SpecError(f"scales must be finite and greater than 0: {list(self.values)}")

    def __len__(self) -> int:
        return len(self.values)

    def __str__(self) -> str:
        return f"scales {list(self.values)}"


class AtRunTime(Enum):
    """A target that is an input of the model."""

    SIZES = "sizes"
    SCALES = "scales"


class Aspect(Enum):
    """What ``sizes`` bound when the aspect ratio is kept."""

    STRETCH = "stretch"
    NOT_LARGER = "not_larger"
    NOT_SMALLER = "not_smaller"


class Step(Enum):
    """Source units per output index where ``scales`` are given (with ``sizes`` it is always input / output)."""

    GIVEN = "given"  # 1 / scale
    GIVEN_UNLESS_EQUAL = "given_unless_equal"  # the same, but an axis that keeps its length is copied
    RATIO = "ratio"  # input / output; scales only determine the output lengths


class Length(Enum):
    """What plays the output length in ``align_corners`` and ``tf_crop_and_resize``."""

    WHOLE = "whole"  # the number of output elements
    FRACTIONAL = "fractional"  # scale * input length, before it is rounded down


@dataclass(frozen=True, slots=True, kw_only=True)
class Pad:
    """Zeros laid around one axis before the resize."""

    axis: int
    begin: int
    end: int


class Arithmetic(Enum):
    """In what numbers lengths and coordinates are computed: they differ where a coordinate falls on a tie."""

    EXACT = "exact"  # rationals
    ONNXRUNTIME = "onnxruntime"  # float32 in onnxruntime's order, ties recognised within 1e-6
    OPENVINO = "openvino"  # float32 in the order of OpenVINO's CPU plugin


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
        if self.axes is not None and len(set(self.axes)) != len(self.axes):
            raise SpecError(f"axes must not repeat: {list(self.axes)}")
        if self.axes is not None and isinstance(self.target, Sizes | Scales) and len(self.axes) != len(self.target):
            raise SpecError(f"{self.target} and axes {list(self.axes)} differ in length")
        if self.aspect is not Aspect.STRETCH and self.gives_scales:
            raise SpecError(f"keep_aspect_ratio_policy {self.aspect.value} needs sizes, not scales")
        if isinstance(self.kernel, Area) and self.coordinates not in AREA_COORDINATES:
            known = " or ".join(mode.value for mode in AREA_COORDINATES)
            raise SpecError(f"area takes {known} coordinates, not {_name(self.coordinates)}")

    @property
    def gives_sizes(self) -> bool:
        """Whether output lengths are given, now or at run time."""
        return isinstance(self.target, Sizes) or self.target is AtRunTime.SIZES

    @property
    def gives_scales(self) -> bool:
        """Whether output / input ratios are given, now or at run time."""
        return isinstance(self.target, Scales) or self.target is AtRunTime.SCALES


AREA_COORDINATES = (Coordinates.ASYMMETRIC, Coordinates.ALIGN_CORNERS)


def _name(coordinates: Coordinates | Crop) -> str:
    return coordinates.value if isinstance(coordinates, Coordinates) else "tf_crop_and_resize"
