"""How images become inputs of models."""

from __future__ import annotations

import math
from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.errors import IrInterpError, SpecError
from ir_interp.options.declaration import option
from ir_interp.options.value_kinds import NUMBERS, SWITCH, WORD
from ir_interp.text.keyword_names import name_keywords

IMAGE_RANK = 4
"""The rank of inputs and outputs that hold images: a batch, channels, height and width."""
LAYOUTS = NCHW, NHWC = "nchw", "nhwc"
_RANGES = {"0-255": 1.0, "0-1": 255.0}
"""Ranges of pixels that mean and scale may be meant for, and what makes pixels from 0 to 255 of their numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Images:
    """How images become the floats of an input: (pixel - mean) / scale, of each channel in the model's order.

    ``mean`` and ``scale`` hold a number for all channels, or one for each; ``layout`` is "nchw" or "nhwc", by
    default inferred from the shape of the input; with ``bgr`` blue comes first. Inputs of integers take pixels as they
    are. Images keep their own size; static dimensions, or a chosen shape, resize them by Pillow (bilinear).
    Pixels are from 0 to 255; with ``pixel_range`` "0-1", ``mean`` and ``scale`` are meant for pixels from 0 to 1.

    Examples:
        >>> images = ir_interp.Images(mean=(104, 117, 123), scale=(57.5,), bgr=True)
        >>> images.scale
        (57.5,)

    """

    mean: tuple[float, ...] = option(
        NUMBERS, "Mean to subtract from pixels: 127.5, or per channel 104,117,123.", "--mean"
    )
    scale: tuple[float, ...] = option(
        NUMBERS, "Divisor, usually 255 times the standard deviation: 58.4, or per channel.", "--std", "--scale"
    )
    layout: str = option(
        WORD, "Layout of image inputs: nchw or nhwc. Default: inferred from their shape.", "--layout", make=str
    )
    bgr: bool = option(SWITCH, "Feed the channels in the order blue, green, red.", "--bgr")
    pixel_range: str = option(WORD, "Pixel range of --mean and --std: 0-255 (the default) or 0-1.", "--range", make=str)

    def __post_init__(self) -> None:
        try:
            self._check()
        except SpecError as error:
            name_keywords(error, signature(type(self)).parameters)
            raise

    def _check(self) -> None:
        if self.layout and self.layout not in LAYOUTS:
            raise SpecError(f"--layout is {self.layout!r}; expected {' or '.join(LAYOUTS)}")
        for name, numbers in (("--mean", self.mean), ("--std", self.scale)):
            if not all(map(math.isfinite, numbers)):
                raise SpecError(f"{name} is {', '.join(map(str, numbers))}; expected finite numbers")
            if len(numbers) not in (0, 1, 3):
                raise SpecError(f"{name} has {len(numbers)} numbers; expected one, or one for each of 3 channels")
        if 0 in self.scale:
            raise SpecError("--std holds a 0, and pixels are divided by it")
        self._check_range()

    def _check_range(self) -> None:
        """Raise SpecError for an unknown range; and without one for numbers that only pixels from 0 to 1 have.

        The statistics of ImageNet are often given for those: 0.485 and 0.229 on pixels from 0 to 255 are a mistake.
        """
        if self.pixel_range:
            if self.pixel_range not in _RANGES:
                raise SpecError(f"--range is {self.pixel_range!r}; expected {' or '.join(_RANGES)}")
            if not (self.mean or self.scale):
                raise SpecError("--range has no effect without --mean or --std")
            return
        small = [number for number in (*self.mean, *self.scale) if 0 < abs(number) < 1]
        if small:
            problem = f"{small[0]:g} as --mean or --std looks meant for pixels from 0 to 1, but they are from 0 to 255"
            raise SpecError(f"--range is missing: {problem}; expected 0-1, or 0-255 if that is meant")

    @property
    def in_pixels(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Mean and scale for pixels from 0 to 255; with the range "0-1", 255 is also the scale where none is given."""
        factor = _RANGES[self.pixel_range or "0-255"]
        scale = self.scale or ((1.0,) if factor > 1 else ())
        return tuple(factor * number for number in self.mean), tuple(factor * number for number in scale)

    def normalised(self, pixels: NDArray[Any], depth_axis: int) -> NDArray[np.float32]:
        """Return pixels as floats; ``depth_axis`` is that of the channels."""
        shape = [1] * pixels.ndim
        shape[depth_axis] = -1
        for numbers in (self.mean, self.scale):
            if len(numbers) > 1 and len(numbers) != pixels.shape[depth_axis]:
                raise IrInterpError(f"{len(numbers)} numbers for {pixels.shape[depth_axis]} channels")
        means, scales = self.in_pixels
        mean, scale = (np.array(numbers).reshape(shape) for numbers in (means or (0,), scales or (1,)))
        floats: NDArray[np.float32] = ((pixels - mean) / scale).astype(np.float32)
        return floats
