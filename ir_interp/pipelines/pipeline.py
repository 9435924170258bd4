"""A pipeline: an ordered list of steps between an image and the input of a model.

Steps are data that also runs: on images [height, width, channels], uint8 or float32. Every step follows the arithmetic
of the library that it names, including the rounding of sizes and floats. ``Interpolate`` and ``Scale`` are those that
only OpenVINO's PrePostProcessor writes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from types import UnionType
from typing import Any, Protocol, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import ArrayLike

from ir_interp import plain_text
from ir_interp.errors import ReadError, ShapeError, SpecError, closest
from ir_interp.executor.resize import as_array, resize
from ir_interp.ir.interpolate_dialect import DIALECT
from ir_interp.libraries import canonical, load, named
from ir_interp.options.shared_options import LAYOUTS
from ir_interp.pipelines.rules import (
    CHANNELS,
    NUMPY,
    RULES,
    AlphaRule,
    Exactly,
    Inside,
    SizeRounding,
    SizeRule,
    without_alpha,
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


_CHANNELS = 3
_BRIGHTEST = 255


class ImageStep(Protocol):
    """One step."""

    @property
    def text(self) -> str:
        """The step in words, on one line."""

    def run(self, x: Array) -> Array:
        """Return an image [height, width, channels] after this step."""


def size_of(rule: SizeRule, x: Array) -> tuple[int, int]:
    """Return the size that a rule gives for an image. Raises ShapeError for a size without pixels."""
    height, width = (int(size) for size in rule.of(np.float64(x.shape[0]), np.float64(x.shape[1]), NUMPY))
    if min(height, width) < 1:
        raise ShapeError(f"an image of {x.shape[0]}x{x.shape[1]} has no pixels left when resized {rule.text}")
    return height, width


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


_VERSION = 1
_KINDS_OF: dict[Any, dict[str, type]] = {
    hint: {kind.__name__: kind for kind in kinds} for hint, kinds in ((ImageStep, STEPS), (SizeRule, RULES))
}
_KIND = "kind"  # the key for the name of a step or rule


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Pipeline:
    """The preprocessing of an image in training: ``steps`` in order, then the ``layout`` "nchw" or "nhwc".

    ``name`` is its origin: "CLIPImageProcessor (torchvision backend)". ``alpha`` is what happens to a fourth channel
    first. Called with an image, uint8 [height, width, 3 or 4], it returns the result of the library's own pipeline,
    without the batch axis.

    Raises SpecError for another layout.

    Examples:
        >>> import numpy as np
        >>> from ir_interp import Pipeline
        >>> pipeline = Pipeline.of_json('{"version": 1, "steps": [{"kind": "Rescale", "factor": 0.5}]}')
        >>> pipeline(np.full((1, 1, 3), 3, np.uint8)).ravel()
        array([1.5, 1.5, 1.5], dtype=float32)

    """

    steps: tuple[ImageStep, ...]
    name: str = ""
    layout: str = "nchw"
    alpha: AlphaRule = AlphaRule.REFUSED

    def __post_init__(self) -> None:
        if self.layout not in LAYOUTS:
            raise SpecError(f"layout is {self.layout!r}; expected {' or '.join(LAYOUTS)}")

    def __call__(self, image: ArrayLike) -> Array:
        """Return an image after all steps: [3, height, width], or [height, width, 3] in the layout "nhwc".

        Raises ShapeError for an array other than uint8 [height, width, 3], for a fourth channel if the library refuses
        it, and for a size without pixels.
        """
        x = as_array(image, "image")
        if x.dtype == np.uint8 and x.ndim == 3 and x.shape[-1] == CHANNELS:
            x = without_alpha(x, self.alpha, self.name)
        if x.dtype != np.uint8 or x.ndim != 3 or x.shape[-1] != 3 or not x.size:
            raise ShapeError(f"an array of {x.dtype} {list(x.shape)}; expected an image, uint8 [height, width, 3]")
        for step in self.steps:
            x = step.run(x)
        return np.ascontiguousarray(x.transpose(2, 0, 1)) if self.layout == "nchw" else x

    def __repr__(self) -> str:
        steps = self.text.replace("\n", "; ")
        return plain_text.notebook_line("Pipeline", f"{self.name}: {steps}" if self.name else steps)

    def _repr_html_(self) -> str:
        """Return a table for notebooks: a row for each step."""
        steps = ((str(place), text) for place, text in enumerate(self.text.splitlines(), 1))
        return plain_text.notebook_columns(self.name or "Pipeline", ("", "step"), steps)

    @property
    def size(self) -> tuple[int, int] | None:
        """The height and width after all steps if they are the same for every image; otherwise None."""
        sized = [step.size for step in self.steps if hasattr(step, "size")]
        fixed: tuple[int, int] | None = sized[-1].fixed if sized else None
        return fixed

    @property
    def calls(self) -> tuple[Resize, ...]:
        """The resizes among the steps."""
        return tuple(step for step in self.steps if isinstance(step, Resize))

    @property
    def text(self) -> str:
        """The steps, one per line."""
        order = "channels first" if self.layout == "nchw" else "channels last"
        return "\n".join([*(step.text for step in self.steps), order])

    def json(self) -> str:
        """Return the pipeline as JSON, which ``of_json`` reads."""
        steps = [_record(step) for step in self.steps]
        described = {"name": self.name, "layout": self.layout, "alpha": self.alpha.value}
        document = {"version": _VERSION, **described, "steps": steps}
        return json.dumps(document, indent=2)

    @staticmethod
    def of_json(text: str | Mapping[str, Any]) -> Pipeline:
        """Return the pipeline that ``json`` wrote.

        Raises ReadError for other text, and for an unknown version, step or key; the message names it.
        """
        document = _decoded(text) if isinstance(text, str) else dict(text)
        if document.pop("version", None) != _VERSION:
            raise ReadError(f"unsupported pipeline version; expected {_VERSION}")
        steps = document.pop("steps", None)
        if not isinstance(steps, list):
            raise ReadError("steps is not a list")
        strings = {name: document.pop(name) for name in ("name", "layout") if name in document}
        alpha = document.pop("alpha", AlphaRule.REFUSED.value)
        if document:
            raise ReadError(f"unknown key {min(document)!r}; expected version, name, layout, alpha or steps")
        if not all(isinstance(value, str) for value in strings.values()):
            raise ReadError("name and layout must be strings")
        try:
            settled = tuple(_value(step, ImageStep) for step in steps)
            return Pipeline(steps=settled, alpha=_value(alpha, AlphaRule), **strings)
        except SpecError as error:
            raise ReadError(f"not a pipeline: {error}") from None


def _decoded(text: str) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ReadError(f"not JSON: {error}") from error
    if not isinstance(document, dict):
        raise ReadError("not a pipeline; expected an object with version and steps")
    return document


def _record(value: object) -> object:
    """Return a step, a rule or a field as data for JSON."""
    if isinstance(value, Enum):
        return value.value
    if is_dataclass(value) and not isinstance(value, type):
        named = {field.name: _record(getattr(value, field.name)) for field in fields(value)}
        return {_KIND: type(value).__name__} | named
    return list(value) if isinstance(value, tuple) else value


def _value(value: Any, hint: Any) -> Any:
    """Return a JSON value as a field of a type. Raises SpecError for a value of another type."""
    if hint in _KINDS_OF:
        return _object(value, _KINDS_OF[hint])
    if get_origin(hint) is UnionType:  # a number or none
        return None if value is None else _value(value, get_args(hint)[0])
    if get_origin(hint) is tuple:
        if not isinstance(value, list):
            raise SpecError(f"{value!r} where a list is expected")
        return tuple(_value(item, get_args(hint)[0]) for item in value)
    if issubclass(hint, Enum):
        choices = [member.value for member in hint]
        if not isinstance(value, str) or value not in choices:
            raise SpecError(f"{value!r}; {closest(str(value), choices)}")
        return hint(value)
    return _plain(value, hint)


def _plain(value: Any, hint: type) -> Any:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if hint is float and is_number:
        return float(value)
    if type(value) is not hint:
        raise SpecError(f"{value!r} where {hint.__name__} is expected")
    return value


def _object(value: object, kinds: Mapping[str, type]) -> Any:
    kind = value.get(_KIND) if isinstance(value, dict) else value
    if not isinstance(value, dict) or not isinstance(kind, str) or kind not in kinds:
        raise SpecError(f"kind {kind!r}; {closest(str(kind), kinds)}")
    cls = kinds[kind]
    hints = get_type_hints(cls)
    names = {field.name for field in fields(cls)}
    unknown = value.keys() - names - {_KIND}
    if unknown:
        raise SpecError(f"{cls.__name__} has no {min(unknown)!r}; {closest(min(unknown), names)}")
    try:
        return cls(**{name: _value(value[name], hints[name]) for name in names & value.keys()})
    except TypeError as error:  # a field is missing
        raise SpecError(f"{cls.__name__}: {str(error).partition(') ')[2] or error}") from None
