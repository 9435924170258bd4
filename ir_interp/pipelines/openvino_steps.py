"""Steps that only OpenVINO's PrePostProcessor writes: its Interpolate, and a product for each channel."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ir_interp.array_types import Array
from ir_interp.errors import SpecError, closest
from ir_interp.executor.resize import resize
from ir_interp.ir.interpolate_dialect import DIALECT
from ir_interp.pipelines.output_size import Exactly
from ir_interp.resize_op import ResizeOp, read
from ir_interp.shapes import PartialShape
from ir_interp.translation.dialect import Context

MODES = ("nearest", "linear", "cubic", "bilinear_pillow", "bicubic_pillow")
_ROUNDED_OTHERWISE = ("bilinear_pillow", "bicubic_pillow")  # near a half, of uint8
# The operation sets whose Interpolate a PrePostProcessor writes.
VERSIONS = (4, 11)
WRITTEN: Mapping[str, Any] = {
    "shape_calculation_mode": "sizes",
    "coordinate_transformation_mode": "half_pixel",
    "nearest_mode": "round_prefer_floor",
    "antialias": False,
    "pads_begin": (0, 0, 0, 0),
    "pads_end": (0, 0, 0, 0),
    "cube_coeff": -0.75,
}
"""The attributes of every Interpolate that a PrePostProcessor writes."""
AXES: Mapping[str, tuple[int, int]] = {"nhwc": (1, 2), "nchw": (2, 3)}
"""The axes of height and width by layout."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interpolate:
    """A resize by OpenVINO's Interpolate with a PrePostProcessor's attributes, as its CPU plugin computes it.

    ``is_float`` resizes float32; otherwise the image stays uint8, and a Pillow mode may be off by 1 near a half.
    """

    mode: str
    height: int
    width: int
    version: int = 11
    layout: str = "nhwc"
    is_float: bool = True

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise SpecError(f"mode is {self.mode!r}; {closest(self.mode, MODES)}")
        if self.version not in VERSIONS or self.layout not in AXES:
            raise SpecError(f"Interpolate-{self.version} in {self.layout!r}; expected 4 or 11, in nhwc or nchw")
        if min(self.height, self.width) < 1:
            raise SpecError(f"a size of {self.height}x{self.width}; expected positive integers")

    @property
    def size(self) -> Exactly:
        """The size of every result."""
        return Exactly(height=self.height, width=self.width)

    @property
    def text(self) -> str:
        """The step in words."""
        within = ", within 1" if self.mode in _ROUNDED_OTHERWISE and not self.is_float else ""
        return f"resize {self.size.text} (OpenVINO's Interpolate, {self.mode}{within})"

    def op(self, shape: PartialShape, dtype: str) -> ResizeOp:
        """Return the layer for images of a shape in ``layout`` and of an element type."""
        attributes = {**WRITTEN, "mode": self.mode, "sizes": (self.height, self.width), "axes": AXES[self.layout]}
        context = Context(version=self.version, shape=shape, dtype=dtype)
        return read(DIALECT, attributes, context, name="resize", where=self.text)

    def run(self, x: Array) -> Array:
        """Return the resized image [height, width, channels]."""
        x = x.astype(np.float32) if self.is_float else x
        image = x[None] if self.layout == "nhwc" else x[None].transpose(0, 3, 1, 2)
        y = resize(np.ascontiguousarray(image), self.op(image.shape, x.dtype.name).spec)
        return np.ascontiguousarray(y[0] if self.layout == "nhwc" else y[0].transpose(1, 2, 0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """Pixels times a factor, in float32; one number, or one for each channel."""

    factors: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.factors) not in (1, 3) or not all(map(math.isfinite, self.factors)) or 0 in self.factors:
            expected = "expected one number other than 0, or one for each of 3 channels"
            raise SpecError(f"factors is {list(self.factors)}; {expected}")

    @property
    def text(self) -> str:
        """The step in words."""
        return f"multiply by {', '.join(f'{factor:.6g}' for factor in dict.fromkeys(self.factors))}"

    def run(self, x: Array) -> Array:
        """Return floats."""
        y: Array = x.astype(np.float32) * np.array(self.factors, np.float32)
        return y
