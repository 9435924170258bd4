"""The steps of pipelines, each with all its forms except nodes: data, text, NumPy, and lines of source code.

Steps run on images [height, width, channels], uint8 or float32. Every step follows the arithmetic of the library that
it names, including the rounding of sizes and floats. ``Interpolate`` and ``Scale`` are those that only OpenVINO's
PrePostProcessor writes. The lines of a step replace an image in the variable ``x``; they raise InexactError if the
libraries of that language lack the step.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, get_args

import numpy as np

from ir_interp.errors import InexactError, ReadError, ShapeError, SpecError, closest
from ir_interp.executor.resize import resize
from ir_interp.ir.interpolate_dialect import DIALECT
from ir_interp.libraries import canonical, load, named
from ir_interp.pipelines.rules import (
    IN_CPP,
    IN_PYTHON,
    NUMPY,
    Exactly,
    Inside,
    SizeRounding,
    SizeRule,
    sized_in_cpp,
    sized_in_python,
)
from ir_interp.resize_op import ResizeOp, read
from ir_interp.shapes import Array, PartialShape
from ir_interp.translation.dialect import Context
from ir_interp.views.likeness import resized

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

    def numpy_lines(self) -> Iterator[str]:
        """Yield lines of Python on NumPy, for an image x [height, width, 3]."""
        raise InexactError(self.text, "Python", reason="only OpenVINO resizes this way")

    def torch_lines(self) -> Iterator[str]:
        """Yield lines of Python on PyTorch, for a tensor x [3, height, width]."""
        raise InexactError(self.text, "torch", reason="only OpenVINO resizes this way")

    def cpp_lines(self) -> Iterator[str]:
        """Yield lines of C++ on OpenCV, for an image x."""
        raise InexactError(self.text, "C++", reason="only OpenVINO resizes this way")


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

    def numpy_lines(self) -> Iterator[str]:
        """Yield lines of Python on NumPy, for an image x [height, width, 3]."""
        yield f"x = x.astype(np.float32) * np.array({list(self.factors)}, np.float32)"

    def torch_lines(self) -> Iterator[str]:
        """Yield lines of Python on PyTorch, for a tensor x [3, height, width]."""
        yield f"x = x.float() * torch.tensor({list(self.factors)}).view(-1, 1, 1)"

    def cpp_lines(self) -> Iterator[str]:
        """Yield lines of C++ on OpenCV, for an image x."""
        yield from _tables(factor=self.factors)
        yield "x = each(x, [](float p, int channel) { return p * factor[channel]; });"


_CHANNELS = 3
_BRIGHTEST = 255


def size_of(rule: SizeRule, x: Array) -> tuple[int, int]:
    """Return the size that a rule gives for an image. Raises ShapeError for a size without pixels."""
    height, width = (int(size) for size in rule.of(np.float64(x.shape[0]), np.float64(x.shape[1]), NUMPY))
    if min(height, width) < 1:
        raise ShapeError(f"an image of {x.shape[0]}x{x.shape[1]} has no pixels left when resized {rule.text}")
    return height, width


_OPENCV = {"nearest": "INTER_NEAREST", "linear": "INTER_LINEAR", "cubic": "INTER_CUBIC", "area": "INTER_AREA"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Resize:
    """A resize by the call ``like`` ("pillow:bicubic") to the size of a rule."""

    like: str
    size: SizeRule

    def __post_init__(self) -> None:
        object.__setattr__(self, "like", canonical(self.like))
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

    def numpy_lines(self) -> Iterator[str]:
        """Yield lines of Python on NumPy, for an image x [height, width, 3]."""
        yield from sized_in_python(self.size)
        library, _, word = self.like.partition(":")
        word, *arguments = word.split(",")
        name = library.partition("@")[0]
        if name == "pillow" and not arguments:
            yield f"x = np.asarray(Image.fromarray(x).resize((width, height), Image.Resampling.{word.upper()}))"
        elif name == "opencv" and word in _OPENCV and not arguments:
            yield f"x = cv2.resize(x, (width, height), interpolation=cv2.{_OPENCV[word]})"
        elif name == "torchvision" and {argument.partition("=")[0] for argument in arguments} <= {"antialias"}:
            antialias = "antialias=false" not in arguments
            mode = word.upper().replace("-", "_")
            yield "planes = torch.from_numpy(np.ascontiguousarray(x.transpose(2, 0, 1)))"
            yield f"mode = InterpolationMode.{mode}"
            yield f"planes = functional.resize(planes, [height, width], interpolation=mode, antialias={antialias})"
            yield "x = planes.numpy().transpose(1, 2, 0)"
        else:
            raise InexactError(self.like, "Python", reason="no known call has these arguments")

    def torch_lines(self) -> Iterator[str]:
        """Yield lines of Python on PyTorch, for a tensor x [3, height, width]."""
        library, _, call = self.like.partition(":")
        mode, *arguments = call.split(",")
        if library.partition("@")[0] != "torchvision" or not {argument.partition("=")[0] for argument in arguments} <= {
            "antialias"
        }:
            raise InexactError(self.like, "torch", reason="expected resizes of torchvision")
        yield from sized_in_python(self.size, "x.shape[-2:]")
        yield f"mode = InterpolationMode.{mode.upper().replace('-', '_')}"
        antialias = "antialias=false" not in arguments
        yield f"x = functional.resize(x, [height, width], interpolation=mode, antialias={antialias})"

    def cpp_lines(self) -> Iterator[str]:
        """Yield lines of C++ on OpenCV, for an image x."""
        library, _, word = self.like.partition(":")
        if library.partition("@")[0] != "opencv" or word not in _OPENCV:
            raise InexactError(self.like, "C++", reason=f"expected resizes of opencv: {', '.join(_OPENCV)}")
        yield from sized_in_cpp(self.size)
        yield "cv::Mat y;"
        yield f"cv::resize(x, y, cv::Size(width, height), 0, 0, cv::{_OPENCV[word]});"
        yield "x = y;"


@dataclass(frozen=True, slots=True, kw_only=True)
class CentreCrop:
    """A crop from the centre; smaller images are padded with ``colour`` first.

    ``start`` rounds half of the cropped pixels to the first row and column, ``padding`` half of the missing pixels to
    the rows and columns in front. torchvision: half_even and down; Hugging Face: down and down; its Pillow backend:
    down and up.
    """

    size: SizeRule
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

    def numpy_lines(self) -> Iterator[str]:
        """Yield lines of Python on NumPy, for an image x [height, width, 3]."""
        yield from sized_in_python(self.size)
        yield "missing = [max(height - x.shape[0], 0), max(width - x.shape[1], 0)]"
        yield f"before = [{IN_PYTHON.rounded(self.padding, 'count / 2')} for count in missing]"
        yield from _padding("[count - first for count, first in zip(missing, before)]", self.colour)
        starts = IN_PYTHON.rounded(self.start, "(length - size) / 2")
        yield f"top, left = ({starts} for length, size in zip(x.shape, (height, width)))"
        yield "x = x[top : top + height, left : left + width]"

    def torch_lines(self) -> Iterator[str]:
        """Yield lines of Python on PyTorch, for a tensor x [3, height, width]."""
        yield from sized_in_python(self.size, "x.shape[-2:]")
        yield "missing = [max(height - x.shape[-2], 0), max(width - x.shape[-1], 0)]"
        yield f"before = [{IN_PYTHON.rounded(self.padding, 'count / 2')} for count in missing]"
        yield from _torch_padding("[count - first for count, first in zip(missing, before)]", self.colour)
        starts = IN_PYTHON.rounded(self.start, "(length - size) / 2")
        yield f"top, left = ({starts} for length, size in zip(x.shape[-2:], (height, width)))"
        yield "x = x[:, top : top + height, left : left + width]"

    def cpp_lines(self) -> Iterator[str]:
        """Yield lines of C++ on OpenCV, for an image x."""
        yield from sized_in_cpp(self.size)
        yield "const int down = std::max(height - x.rows, 0), across = std::max(width - x.cols, 0);"
        halves = (IN_CPP.rounded(self.padding, f"{count} / 2.0") for count in ("down", "across"))
        yield "const int above = int({}), before = int({});".format(*halves)
        yield f"x = padded(x, above, down - above, before, across - before, {_colour(self.colour)});"
        starts = (IN_CPP.rounded(self.start, f"({count}) / 2.0") for count in ("x.rows - height", "x.cols - width"))
        yield "const int top = int({}), left = int({});".format(*starts)
        yield "x = x(cv::Rect(left, top, width, height)).clone();"


class Place(Enum):
    """The position of an image in its padding: centred (an odd pixel goes after it), or at the start."""

    CENTRE = "centre"
    TOP_LEFT = "top_left"


@dataclass(frozen=True, slots=True, kw_only=True)
class PadTo:
    """Padding to a size with a colour: one number, or one for each channel, in the units of the image at that point."""

    size: SizeRule
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

    def numpy_lines(self) -> Iterator[str]:
        """Yield lines of Python on NumPy, for an image x [height, width, 3]."""
        yield from sized_in_python(self.size)
        yield "rest = [height - x.shape[0], width - x.shape[1]]"
        yield f"before = [{'count // 2' if self.place is Place.CENTRE else '0'} for count in rest]"
        yield from _padding("[count - first for count, first in zip(rest, before)]", self.colour)

    def torch_lines(self) -> Iterator[str]:
        """Yield lines of Python on PyTorch, for a tensor x [3, height, width]."""
        yield from sized_in_python(self.size, "x.shape[-2:]")
        yield "rest = [height - x.shape[-2], width - x.shape[-1]]"
        yield f"before = [{'count // 2' if self.place is Place.CENTRE else '0'} for count in rest]"
        yield from _torch_padding("[count - first for count, first in zip(rest, before)]", self.colour)

    def cpp_lines(self) -> Iterator[str]:
        """Yield lines of C++ on OpenCV, for an image x."""
        yield from sized_in_cpp(self.size)
        yield "const int down = height - x.rows, across = width - x.cols;"
        share = " / 2" if self.place is Place.CENTRE else " * 0"
        yield f"const int above = down{share}, before = across{share};"
        yield f"x = padded(x, above, down - above, before, across - before, {_colour(self.colour)});"


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

    def numpy_lines(self) -> Iterator[str]:
        """Yield lines of Python on NumPy, for an image x [height, width, 3]."""
        yield "x = np.ascontiguousarray(x[:, :, ::-1])"

    def torch_lines(self) -> Iterator[str]:
        """Yield lines of Python on PyTorch, for a tensor x [3, height, width]."""
        yield "x = x.flip(0)"

    def cpp_lines(self) -> Iterator[str]:
        """Yield lines of C++ on OpenCV, for an image x."""
        yield "cv::Mat y;"
        yield "cv::cvtColor(x, y, cv::COLOR_RGB2BGR);"
        yield "x = y;"


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

    def numpy_lines(self) -> Iterator[str]:
        """Yield lines of Python on NumPy, for an image x [height, width, 3]."""
        if self.product is Product.FLOAT64:
            yield f"x = (x.astype(np.float64) * {self.factor!r}).astype(np.float32)"
        elif self.product is Product.FLOAT32:
            yield f"x = x.astype(np.float32) * np.float32({self.factor!r})"
        else:
            yield f"x = x.astype(np.float32) / np.float32({1 / self.factor!r})"
        if self.offset:
            yield f"x = x + np.float32({self.offset!r})"

    def torch_lines(self) -> Iterator[str]:
        """Yield lines of Python on PyTorch, for a tensor x [3, height, width]."""
        if self.product is Product.FLOAT64:
            yield f"x = (x.double() * {self.factor!r}).float()"
        elif self.product is Product.FLOAT32:
            yield f"x = x.float() * {self.factor!r}"
        else:
            yield f"x = x.float() / torch.tensor({1 / self.factor!r})"
        if self.offset:
            yield f"x = x + {self.offset!r}"

    def cpp_lines(self) -> Iterator[str]:
        """Yield lines of C++ on OpenCV, for an image x."""
        factor = {
            Product.FLOAT64: f"float(double(p) * {self.factor!r})",
            Product.FLOAT32: f"p * {_single(self.factor)}",
            Product.QUOTIENT: f"p / {_single(1 / self.factor)}",
        }[self.product]
        offset = f" + {_single(self.offset)}" if self.offset else ""
        yield f"x = each(x, [](float p, int) {{ return {factor}{offset}; }});"


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

    def numpy_lines(self) -> Iterator[str]:
        """Yield lines of Python on NumPy, for an image x [height, width, 3]."""
        yield f"x = x.astype(np.float32) - np.array({list(self.mean)}, np.float32)"
        yield f"x = x / np.array({list(self.deviation)}, np.float32)"

    def torch_lines(self) -> Iterator[str]:
        """Yield lines of Python on PyTorch, for a tensor x [3, height, width]."""
        yield f"x = x.float() - torch.tensor({list(self.mean)}).view(-1, 1, 1)"
        yield f"x = x / torch.tensor({list(self.deviation)}).view(-1, 1, 1)"

    def cpp_lines(self) -> Iterator[str]:
        """Yield lines of C++ on OpenCV, for an image x."""
        yield from _tables(mean=self.mean, deviation=self.deviation)
        yield "x = each(x, [](float p, int channel) { return (p - mean[channel]) / deviation[channel]; });"


def check_single(numbers: Iterable[float]) -> None:
    """Raise SpecError for a number that becomes an infinity, or 0, in float32."""
    for number in numbers:
        with np.errstate(over="ignore", under="ignore"):
            single = np.float32(number)
        if not np.isfinite(single) or (number and not single):
            raise SpecError(f"mean or scale {number:g} is outside the range of float32")


def _padding(after: str, colour: tuple[float, ...]) -> Iterator[str]:
    yield f"after = {after}"
    yield "padded = np.empty((x.shape[0] + before[0] + after[0], x.shape[1] + before[1] + after[1], 3), x.dtype)"
    yield f"padded[:] = np.array({list(colour)}).astype(x.dtype)"
    yield "padded[before[0] : before[0] + x.shape[0], before[1] : before[1] + x.shape[1]] = x"
    yield "x = padded"


def _torch_padding(after: str, colour: tuple[float, ...]) -> Iterator[str]:
    yield f"after = {after}"
    yield "shape = (3, x.shape[-2] + before[0] + after[0], x.shape[-1] + before[1] + after[1])"
    yield f"padded = torch.tensor({list(colour)}).to(x.dtype).view(-1, 1, 1).expand(shape).clone()"
    yield "padded[:, before[0] : before[0] + x.shape[-2], before[1] : before[1] + x.shape[-1]] = x"
    yield "x = padded"


def _colour(colour: tuple[float, ...]) -> str:
    return f"cv::Scalar({', '.join(map(repr, colour * 3 if len(colour) == 1 else colour))})"


def _tables(**numbers: tuple[float, ...]) -> Iterator[str]:
    for name, values in numbers.items():
        listed = ", ".join(map(_single, values * 3 if len(values) == 1 else values))
        yield f"static const float {name}[] = {{{listed}}};"


def _single(number: float) -> str:
    """Return a float32 as a literal."""
    return f"{float(np.float32(number))!r}f"


def _listed(numbers: tuple[float, ...]) -> str:
    if len(set(numbers)) == 1:
        return f"{numbers[0]:.6g}"
    return ", ".join(f"{number:.6g}" for number in numbers)


ImageStep = Resize | CentreCrop | PadTo | ReverseChannels | Rescale | Normalise | Interpolate | Scale
"""All steps: each has a ``text``, computes in NumPy by ``run``, and has lines of source code."""
STEPS: tuple[type, ...] = get_args(ImageStep)


def letterbox(like: str, height: int, width: int, colour: float) -> tuple[Resize, PadTo]:
    """Return the steps of Ultralytics' ``LetterBox``: resized to fit, centred, padded with one colour."""
    if not 0 <= colour <= _BRIGHTEST:
        raise SpecError(f"letterbox is {colour}; expected the colour of the padding, from 0 to 255")
    fit = Inside(height=height, width=width, rounding=SizeRounding.HALF_EVEN)
    frame = Exactly(height=height, width=width)
    return Resize(like=like, size=fit), PadTo(size=frame, place=Place.CENTRE, colour=(float(colour),))
