"""How images become inputs of models, the options that several commands share, and the types of their values."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from functools import partial
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp import arguments
from ir_interp.errors import IrInterpError, SpecError
from ir_interp.files.kinds import FileKind, is_image
from ir_interp.files.writing import is_folder
from ir_interp.options.declaration import (
    FILES,
    LAYER_SHAPE,
    NATURAL,
    NUMBERS,
    PAIR,
    PATH,
    POSITIVE,
    SCALES,
    SHAPES,
    SIZES,
    SWITCH,
    WORD,
    Kind,
    LayerShape,
    file,
    member,
    option,
    options_set,
)
from ir_interp.pipelines.rules import Backend
from ir_interp.plain_text import name_keywords
from ir_interp.shapes import Array
from ir_interp.translation.dialect import Semantics

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

    def normalised(self, pixels: Array, depth_axis: int) -> NDArray[np.float32]:
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


Files = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]

Progress = Callable[[str, int, int], None]
"""Receives what is being done, how much of it is done, and the total (0 if unknown)."""


def silent(what: str, done: int, total: int) -> None:
    """Tell nobody."""


class Format(Enum):
    """How results are printed."""

    TEXT = "text"
    JSON = "json"


def _images(value: object, name: str) -> Images:
    if not isinstance(value, Images):
        raise arguments.misfit(value, name, "Images")
    return value


# The headings of help; options without one stand under "Options"

TEST_INPUTS, REPORTS, MANY_FILES = "Test inputs", "Reports", "Many files"

READING = (
    "Definition to apply where several exist: runtime, document, reference, observed (onnxruntime with its faults) or "
    "an OpenVINO release."
)


semantics = partial(
    option,
    member(Semantics, "Semantics | str", "READING"),
    READING,
    "--semantics",
    default=Semantics.RUNTIME,
    complete="semantics",
)
of_command_line = partial(option, is_keyword=False, decides=False)
of_python = partial(option, decides=False, takes_none=True)
progress = partial(of_python, Kind(takes="Progress", check=arguments.function), default=silent)

# Inputs of models

shapes = partial(
    option, SHAPES, "Sizes of dynamic inputs: 1,3,640,640, or x:1,3,640,640 if there are several.", "--shape"
)
inputs = partial(
    option,
    FILES,
    "Arrays, images or folders to run on: photo.png, or x=photo.png if there are several inputs. Default: random.",
    "--input",
    panel=TEST_INPUTS,
)
seed = partial(option, NATURAL, "Seed for random inputs.", "--seed", default=0, panel=TEST_INPUTS)
images = partial(
    option,
    Kind(takes="Images", check=_images),
    parts=Images,
    make=Images,
    takes_none=True,
    panel=TEST_INPUTS,
)

# One resize

layer = partial(option, WORD, complete="layers")
layer_shape = partial(
    option, LAYER_SHAPE, "Sizes of a dynamic input: 1,3,20,30, or up:1,3,20,30 to name the resize too.", "--shape"
)
sizes = partial(
    option, SIZES, "Output sizes of the resized axes or of all axes: 50,60. Default: the file's.", "--sizes"
)
scales = partial(
    option, SCALES, "Output / input, of the resized axes or of all axes: 2,1.5. Default: the file's.", "--scales"
)
LAYER = "Name of the resize, if the file has several."

# Reports

_reported = partial(of_command_line, panel=REPORTS)
style = partial(
    _reported, member(Format, "Format | str", "FORMAT"), "text (the default) or json.", "--format", default=None
)
as_json = partial(_reported, SWITCH, "Print JSON; `ir-interp explain COMMAND --schema` prints its schema.", "--json")
quiet = partial(_reported, SWITCH, "Print errors only.", "--quiet", "-q")
html = partial(_reported, file("page", FileKind.PAGE), "Write the report as one HTML page.", "--html")
report = partial(_reported, file("report", FileKind.JSON), "Write the report as JSON.", "--report")
image = partial(_reported, PATH, "Image on which the HTML page shows the differences.", "--image")

# Pipelines

backend = partial(
    option,
    member(Backend, "Backend | str", "BACKEND"),
    "Library that resizes if the configuration names none: pil (Pillow) or torchvision.",
    "--backend",
    default=None,
    takes_none=True,
)

image_size = partial(
    option,
    PAIR,
    "Height and width of every image, if fixed: 480,640. Supports more calls.",
    "--image-size",
)

# Many models

_of_many = partial(of_command_line, panel=MANY_FILES)
jobs = partial(option, POSITIVE, "Number of processes.", "--jobs", decides=False, default=1, panel=MANY_FILES)
results = partial(
    _of_many,
    file("file of results", FileKind.LINES),
    "Append a line of JSON per model; skip models already in the file.",
    "--results",
)
scheduler = partial(
    _of_many, WORD, "With --results: run on a dask.distributed cluster: tcp://...", "--scheduler", metavar="ADDRESS"
)
time_limit = partial(
    _of_many,
    POSITIVE,
    "Stop a model after this time and report an error. Default: 1800.",
    "--time-limit",
    metavar="SECONDS",
)


VERIFICATION, IMAGES, SHAPE, PREPROCESS = "verification", "an image among the inputs", "--shape", "--preprocess"
VERIFICATION_OR_FREEZE = "verification or freeze"
"""Needs of options about the inputs of models."""


def check_needs(options: Any) -> None:
    """Raise SpecError for an option that is set, and has no effect since what it needs is missing."""
    files = [path for paths in options.inputs.values() for path in paths]
    fulfilled = {
        VERIFICATION: getattr(options, "verify", True),
        VERIFICATION_OR_FREEZE: getattr(options, "verify", True) or getattr(options, "freeze", False),
        SHAPE: bool(options.shapes),
        PREPROCESS: bool(getattr(options, "preprocess", None)),
        IMAGES: any(is_image(path) or is_folder(path) for path in files),
    }
    for setting in options_set(options):
        if setting.needs and not fulfilled[setting.needs]:
            raise SpecError(f"{setting.flag} has no effect without {setting.needs}")


def named_layer(layer: str | None, shape: LayerShape | None) -> dict[str, Any]:
    """Return the name and the shape of a resize as keywords, where either option may name it.

    Raises IrInterpError where they name two.
    """
    if shape is None:
        return {"layer": layer, "shape": None}
    if shape.name and layer not in (None, shape.name):
        text = f"{shape.name}:{','.join(map(str, shape.lengths))}"
        raise IrInterpError(f"--shape {text!r} is that of {shape.name!r}, but --layer names {layer!r}")
    return {"layer": shape.name or layer, "shape": shape.lengths}
