"""The steps of a pipeline as data that also runs: on images [height, width, channels], uint8 or float32.

Every step follows the arithmetic of the library that it names, including the rounding of sizes and floats.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

import numpy as np

from ir_interp.array_types import Array
from ir_interp.errors import ReadError, ShapeError, SpecError
from ir_interp.library_registry import load, named
from ir_interp.pipelines.openvino_steps import Interpolate, Scale
from ir_interp.pipelines.output_size import NUMPY, Exactly, Inside, OutputSize, SizeRounding
from ir_interp.resize_op import ResizeOp
from ir_interp.views.likeness import resized

_CHANNELS = 3
_BRIGHTEST = 255


class ImageStep(Protocol):
    """One step."""

    @property
    def text(self) -> str:
        """The step in words, on one line."""

    def run(self, x: Array) -> Array:
        """Return an image [height, width, channels] after this step."""


def size_of(rule: OutputSize, x: Array) -> tuple[int, int]:
    """Return the size that a rule gives for an image. Raises ShapeError for a size without pixels."""
    height, width = (int(size) for size in rule.of(np.float64(x.shape[0]), np.float64(x.shape[1]), NUMPY))
    if min(height, width) < 1:
        raise ShapeError(f"an image of {x.shape[0]}x{x.shape[1]} has no pixels left when resized {rule.text}")
    return height, width


@dataclass(frozen=True, slots=True, kw_only=True)
class Resize:
    """A resize by the call ``like`` ("pillow:bicubic") to the size of a rule."""

    like: str
    size: OutputSize

    def __post_init__(self) -> None:
        op = self.op("uint8")
        if len(op.spec.axes or ()) != 2:
            raise SpecError(f"{op.name} resizes {len(op.spec.axes or ())} axes; an image has two")

    def op(self, dtype: str) -> ResizeOp:
        """Return the call for images of an element type, or for the floats that the library converts uint8 to."""
        try:
            return load(self.like, dtype=dtype, arguments={"mode": "RGB"})
        except ReadError:
            if not named(self.like).makes_floats:
                raise
        return load(self.like, dtype="float32", arguments={"mode": "RGB"})

    @property
    def text(self) -> str:
        """The step in words."""
        return f"resize {self.size.text} ({self.like})"

    def run(self, x: Array) -> Array:
        """Return the resized image. Raises ShapeError for a size without pixels."""
        op = self.op(x.dtype.name)
        pixels = x if op.dtype == x.dtype.name else x.astype(op.dtype)
        return resized(op, pixels, size_of(self.size, x), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class CentreCrop:
    """A crop from the centre; smaller images are padded with ``colour`` first.

    ``start`` rounds half of the cropped pixels to the first row and column, ``padding`` half of the missing pixels to
    the rows and columns in front. torchvision: half_even and down; Hugging Face: down and down; its Pillow backend:
    down and up.
    """

    size: OutputSize
    start: SizeRounding
    padding: SizeRounding
    colour: tuple[float, ...] = (0.0,)

    def __post_init__(self) -> None:
        _check_colour(self.colour)

    @property
    def text(self) -> str:
        """The step in words."""
        return f"crop the centre: {self.size.text}"

    def run(self, x: Array) -> Array:
        """Return the cropped image."""
        sizes = size_of(self.size, x)
        missing = [max(size - length, 0) for size, length in zip(sizes, x.shape, strict=False)]
        before = [int(self.padding.apply(np.float64(count) / 2, NUMPY)) for count in missing]
        if any(missing):
            x = _padded(x, before, [count - begin for count, begin in zip(missing, before, strict=True)], self.colour)
        surplus = [length - size for size, length in zip(sizes, x.shape, strict=False)]
        # Half of an odd number of pixels is a tie, which libraries round in different directions.
        top, left = (int(self.start.apply(np.float64(count) / 2, NUMPY)) for count in surplus)
        return np.ascontiguousarray(x[top : top + sizes[0], left : left + sizes[1]])


class Place(Enum):
    """The position of an image in its padding: centred (an odd pixel goes after it), or at the start."""

    CENTRE = "centre"
    TOP_LEFT = "top_left"


@dataclass(frozen=True, slots=True, kw_only=True)
class PadTo:
    """Padding to a size with a colour: one number, or one for each channel, in the units of the image at that point."""

    size: OutputSize
    place: Place
    colour: tuple[float, ...] = (0.0,)

    def __post_init__(self) -> None:
        _check_colour(self.colour)

    @property
    def text(self) -> str:
        """The step in words."""
        corner = "the image in the centre" if self.place is Place.CENTRE else "the image in the top left corner"
        return f"pad to {self.size.text.removeprefix('to ')} with {_listed(self.colour)}, {corner}"

    def run(self, x: Array) -> Array:
        """Return the padded image. Raises ShapeError for an image that is larger."""
        sizes = size_of(self.size, x)
        rest = [size - length for size, length in zip(sizes, x.shape, strict=False)]
        if min(rest) < 0:
            raise ShapeError(f"an image of {x.shape[0]}x{x.shape[1]} cannot be padded to {sizes[0]}x{sizes[1]}")
        # An odd pixel goes after the image.
        before = [count // 2 if self.place is Place.CENTRE else 0 for count in rest]
        return _padded(x, before, [count - begin for count, begin in zip(rest, before, strict=True)], self.colour)


def _check_colour(colour: tuple[float, ...]) -> None:
    if len(colour) not in (1, _CHANNELS) or not all(map(math.isfinite, colour)):
        raise SpecError(f"colour is {list(colour)}; expected one number, or one for each of 3 channels")


def _padded(x: Array, before: list[int], after: list[int], colour: tuple[float, ...]) -> Array:
    height, width, channels = x.shape
    y = np.empty((before[0] + height + after[0], before[1] + width + after[1], channels), x.dtype)
    # A colour is in the units of the image at this step: truncated in bytes, kept in floats.
    y[:] = np.array(colour).astype(x.dtype)
    y[before[0] : before[0] + height, before[1] : before[1] + width] = x
    return y


@dataclass(frozen=True, slots=True)
class ReverseChannels:
    """Red, green, blue becomes blue, green, red, or the reverse."""

    @property
    def text(self) -> str:
        """The step in words."""
        return "reverse the channels (RGB to BGR)"

    def run(self, x: Array) -> Array:
        """Return the image with its channels reversed."""
        return np.ascontiguousarray(x[:, :, ::-1])


class Product(Enum):
    """The multiplication of a pixel by a factor, which determines the last bit."""

    FLOAT64 = "float64"
    """In float64, then rounded to float32 (Hugging Face, Pillow backend)."""
    FLOAT32 = "float32"
    """In float32 (Hugging Face, torchvision backend)."""
    QUOTIENT = "quotient"
    """Divided by 1 / factor in float32 (``ToTensor`` of torchvision)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rescale:
    """Pixels times ``factor``, plus ``offset``, as floats."""

    factor: float
    offset: float = 0.0
    product: Product = Product.FLOAT32

    def __post_init__(self) -> None:
        if not self.factor or not math.isfinite(self.factor):
            raise SpecError(f"rescale_factor is {self.factor:g}; expected a finite number other than 0")
        if not math.isfinite(self.offset):
            raise SpecError(f"offset is {self.offset:g}; expected a finite number")
        check_single((self.factor, self.offset))

    @property
    def text(self) -> str:
        """The step in words."""
        factor = f"divide by {1 / self.factor:g}" if abs(self.factor) < 1 else f"multiply by {self.factor:g}"
        return factor + (f", add {self.offset:g}" if self.offset else "")

    def run(self, x: Array) -> Array:
        """Return the pixels as float32."""
        if self.product is Product.FLOAT64:
            y = (x.astype(np.float64) * self.factor).astype(np.float32)
        elif self.product is Product.FLOAT32:
            y = x.astype(np.float32) * np.float32(self.factor)
        else:
            # A quotient by 255 and a product with 1/255 differ in the last bit for some pixels.
            y = x.astype(np.float32) / np.float32(1 / self.factor)
        return y + np.float32(self.offset) if self.offset else y


@dataclass(frozen=True, slots=True, kw_only=True)
class Normalise:
    """(pixel - mean) / deviation in float32; one number each, or one for each channel."""

    mean: tuple[float, ...]
    deviation: tuple[float, ...]

    def __post_init__(self) -> None:
        for name, numbers in (("mean", self.mean), ("deviation", self.deviation)):
            if len(numbers) not in (1, _CHANNELS) or not all(map(math.isfinite, numbers)):
                raise SpecError(f"{name} is {list(numbers)}; expected one finite number, or one for each of 3 channels")
        if 0 in self.deviation:
            raise SpecError("deviation is 0 for a channel; expected numbers other than 0")
        check_single((*self.mean, *self.deviation))

    @property
    def text(self) -> str:
        """The step in words."""
        return f"subtract {_listed(self.mean)}, divide by {_listed(self.deviation)}"

    def run(self, x: Array) -> Array:
        """Return normalised floats."""
        # Mean and deviation are rounded to float32 before anything is computed, as in the libraries' tensors.
        return (x.astype(np.float32) - np.array(self.mean, np.float32)) / np.array(self.deviation, np.float32)


def check_single(numbers: Iterable[float]) -> None:
    """Raise SpecError for a number that becomes an infinity, or 0, in float32."""
    for number in numbers:
        with np.errstate(over="ignore", under="ignore"):
            single = np.float32(number)
        if not np.isfinite(single) or (number and not single):
            raise SpecError(f"mean or scale {number:g} is outside the range of float32")


def _listed(numbers: tuple[float, ...]) -> str:
    if len(set(numbers)) == 1:
        return f"{numbers[0]:.6g}"
    return ", ".join(f"{number:.6g}" for number in numbers)


STEPS: tuple[type, ...] = (Resize, CentreCrop, PadTo, ReverseChannels, Rescale, Normalise, Interpolate, Scale)
"""All steps, for readers of JSON."""


def letterbox(like: str, height: int, width: int, colour: float) -> tuple[Resize, PadTo]:
    """Return the steps of Ultralytics' ``LetterBox``: resized to fit, centred, padded with one colour."""
    if not 0 <= colour <= _BRIGHTEST:
        raise SpecError(f"letterbox is {colour}; expected the colour of the padding, from 0 to 255")
    fit = Inside(height=height, width=width, rounding=SizeRounding.HALF_EVEN)
    frame = Exactly(height=height, width=width)
    return Resize(like=like, size=fit), PadTo(size=frame, place=Place.CENTRE, colour=(float(colour),))
