"""How images become inputs of models."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.errors import IrInterpError, SpecError
from ir_interp.options.declaration import option
from ir_interp.options.value_kinds import NUMBERS, SWITCH, WORD

LAYOUTS = ("nchw", "nhwc")


@dataclass(frozen=True, slots=True, kw_only=True)
class Images:
    """How images become the floats of an input: (pixel - mean) / scale, of each channel in the model's order.

    ``mean`` and ``scale`` hold a number for all channels, or one for each; ``layout`` is "nchw" or "nhwc", by default
    what the lengths of the input tell; with ``bgr`` blue comes first. Inputs of integers take pixels as they are.
    """

    mean: tuple[float, ...] = option(
        NUMBERS, "Taken from the pixels of images: 127.5, or one a channel: 104,117,123.", "--mean"
    )
    scale: tuple[float, ...] = option(NUMBERS, "What pixels are divided by then: 255, or one a channel.", "--scale")
    layout: str = option(
        WORD, "Of inputs that are images: nchw, nhwc; else as their lengths tell.", "--layout", make=str
    )
    bgr: bool = option(SWITCH, "Blue comes first in images.", "--bgr")

    def __post_init__(self) -> None:
        if self.layout and self.layout not in LAYOUTS:
            raise SpecError(f"layout is {self.layout!r}; expected {' or '.join(LAYOUTS)}")
        for name, numbers in (("mean", self.mean), ("scale", self.scale)):
            if not all(map(math.isfinite, numbers)):
                raise SpecError(f"{name} is {', '.join(map(str, numbers))}; expected finite numbers")
            if len(numbers) not in (0, 1, 3):
                raise SpecError(f"{name} has {len(numbers)} numbers; expected one, or one for each of 3 channels")
        if 0 in self.scale:
            raise SpecError("scale holds a 0, and pixels are divided by it")

    def normalised(self, pixels: NDArray[Any], depth_axis: int) -> NDArray[np.float32]:
        """Return pixels as floats; ``depth_axis`` is that of the channels."""
        shape = [1] * pixels.ndim
        shape[depth_axis] = -1
        for numbers in (self.mean, self.scale):
            if len(numbers) > 1 and len(numbers) != pixels.shape[depth_axis]:
                raise IrInterpError(f"{len(numbers)} numbers for {pixels.shape[depth_axis]} channels")
        mean, scale = (np.array(each).reshape(shape) for each in (self.mean or (0,), self.scale or (1,)))
        floats: NDArray[np.float32] = ((pixels - mean) / scale).astype(np.float32)
        return floats
