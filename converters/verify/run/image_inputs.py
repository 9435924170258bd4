"""Images as inputs of models."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.errors import IrInterpError
from ir_interp.options.image_options import Images
from ir_interp.shapes import PartialShape
from ir_interp.views.image_arrays import opened, pillow, plain

from ...reports.verification import FedImage
from ..graphs import ModelInput

_DEPTHS = (1, 3)  # channels of images


def is_channel_last(shape: PartialShape) -> bool:
    """Return whether an input takes images with the channels last, as far as its shape shows."""
    return len(shape) >= 3 and shape[-1] in _DEPTHS and shape[-3] not in _DEPTHS


def read(path: Path, target: ModelInput, shape: Sequence[int] | None, images: Images) -> NDArray[Any]:
    """Return an image as an array for an input: of ``shape`` if specified, else of the shape that the input requires.

    Dynamic dimensions take the image's own size; it is resized to static ones.

    Raises ReadError for a file that is not an image, IrInterpError if the input takes none.
    """
    lengths, last = _layout(path, target, shape, images)
    height, width, depth = _dimensions(lengths, last)
    pixels: NDArray[Any] = _pixels(path, depth, height, width)
    pixels = pixels[:, :, ::-1] if images.bgr else pixels  # before means and scales, which are in the model's order
    pixels = pixels if last else pixels.transpose(2, 0, 1)
    pixels = pixels[None] if len(lengths) == 4 else pixels
    if np.dtype(target.dtype).kind == "f":
        pixels = images.normalised(pixels, pixels.ndim - 1 if last else pixels.ndim - 3)
    return np.ascontiguousarray(pixels.astype(target.dtype))


def fed(path: Path, target: ModelInput, shape: Sequence[int] | None, images: Images) -> FedImage:
    """Return the sizes at which ``read`` feeds an image; the file's header is enough."""
    height, width, _ = _dimensions(*_layout(path, target, shape, images))
    with opened(path) as image:
        columns, rows = image.size
    size = (rows if height is None else height, columns if width is None else width)
    return FedImage(input=target.name, file=str(path), size=size, file_size=(rows, columns))


def _layout(path: Path, target: ModelInput, shape: Sequence[int] | None, images: Images) -> tuple[PartialShape, bool]:
    """Return the shape of an input as far as it is settled, and whether its channels come last."""
    lengths: PartialShape = tuple(shape) if shape is not None else target.lengths
    # A file holds one image, so that the batch must be 1.
    if len(lengths) not in (3, 4) or (len(lengths) == 4 and lengths[0] not in (None, 1)):
        raise IrInterpError(f"{path.name}: an image does not fit this input; {target.text}")
    return lengths, images.layout == "nhwc" if images.layout else is_channel_last(lengths)


def _dimensions(lengths: PartialShape, is_last: bool) -> tuple[int | None, int | None, int | None]:
    """Return height, width and channels of a shape."""
    height, width, depth = lengths[-3:] if is_last else (lengths[-2], lengths[-1], lengths[-3])
    return height, width, depth


def _pixels(path: Path, depth: int | None, height: int | None, width: int | None) -> NDArray[np.uint8]:
    """Return an image as uint8 of height, width and channels, resized by Pillow to the input's static sizes."""
    if depth not in (None, *_DEPTHS):
        raise IrInterpError(f"{path.name}: an image has 1 or 3 channels, not {depth}")
    grey = depth == 1
    with opened(path) as image:
        opaque = plain(image, path).convert("L" if grey else "RGB")
        sizes = tuple(size if need is None else need for size, need in zip(opaque.size, (width, height), strict=True))
        resized = opaque if opaque.size == sizes else opaque.resize(sizes, pillow().Resampling.BILINEAR)
        pixels = np.asarray(resized, np.uint8)
    return pixels[:, :, None] if grey else pixels
