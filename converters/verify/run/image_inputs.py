"""Images as inputs of models."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.errors import IrInterpError, SpecError
from ir_interp.shapes import PartialShape
from ir_interp.views.image_arrays import opened, pillow, plain

from ..graphs import ModelInput

LAYOUTS = ("nchw", "nhwc")
_DEPTHS = (1, 3)  # channels of images
_MULTIPLE = 32  # what networks shrink by: where lengths are dynamic, images are shrunk to multiples of this


@dataclass(frozen=True, slots=True, kw_only=True)
class Images:
    """How images become the floats of an input: (pixel - mean) / scale, of each channel in the model's order.

    ``mean`` and ``scale`` hold a number for all channels, or one for each; ``layout`` is "nchw" or "nhwc", by default
    what the lengths of the input tell; with ``bgr`` blue comes first. Inputs of integers take pixels as they are.
    """

    mean: tuple[float, ...] = ()
    scale: tuple[float, ...] = ()
    layout: str = ""
    bgr: bool = False

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


def is_channel_last(lengths: PartialShape) -> bool:
    """Say whether an input takes images with the channels last, as far as its lengths tell."""
    return len(lengths) >= 3 and lengths[-1] in _DEPTHS and lengths[-3] not in _DEPTHS


def read(path: Path, target: ModelInput, shape: Sequence[int] | None, images: Images) -> NDArray[Any]:
    """Return an image as an array for an input: of ``shape`` where that is given, else of the lengths it must have.

    Raises ReadError for what is no image, IrInterpError where the input takes none.
    """
    lengths: PartialShape = tuple(shape) if shape is not None else target.lengths
    # A file holds one image, so that the batch must be 1.
    if len(lengths) not in (3, 4) or (len(lengths) == 4 and lengths[0] not in (None, 1)):
        raise IrInterpError(f"{path.name}: an image is no input of this kind; {target.text}")
    last = images.layout == "nhwc" if images.layout else is_channel_last(lengths)
    height, width, depth = lengths[-3:] if last else (lengths[-2], lengths[-1], lengths[-3])
    pixels: NDArray[Any] = _pixels(path, depth, height, width)
    pixels = pixels[:, :, ::-1] if images.bgr else pixels  # before means and scales, which are in the model's order
    pixels = pixels if last else pixels.transpose(2, 0, 1)
    pixels = pixels[None] if len(lengths) == 4 else pixels
    if np.dtype(target.dtype).kind == "f":
        pixels = images.normalised(pixels, pixels.ndim - 1 if last else pixels.ndim - 3)
    return np.ascontiguousarray(pixels.astype(target.dtype))


def _pixels(path: Path, depth: int | None, height: int | None, width: int | None) -> NDArray[np.uint8]:
    """Return an image as uint8 of height, width and channels, resized by Pillow where the input has lengths."""
    if depth not in (None, *_DEPTHS):
        raise IrInterpError(f"{path.name}: an image has 1 or 3 channels, not {depth}")
    grey = depth == 1
    with opened(path) as image:
        opaque = plain(image, path).convert("L" if grey else "RGB")
        sizes = tuple(map(_size, opaque.size, (width, height)))
        resized = opaque if opaque.size == sizes else opaque.resize(sizes, pillow().Resampling.BILINEAR)
        pixels = np.asarray(resized, np.uint8)
    return pixels[:, :, None] if grey else pixels


def _size(size: int, required: int | None) -> int:
    return required if required is not None else max(_MULTIPLE, size // _MULTIPLE * _MULTIPLE)
