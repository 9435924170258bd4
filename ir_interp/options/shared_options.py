"""Options that several commands share, and the types of their values."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from enum import Enum
from functools import partial
from typing import Any

from ir_interp import arguments
from ir_interp.errors import IrInterpError, SpecError
from ir_interp.files.kinds import FileKind, is_image
from ir_interp.files.paths import is_folder
from ir_interp.options.declaration import option, options_set
from ir_interp.options.image_options import Images
from ir_interp.options.value_kinds import (
    FILES,
    LAYER_SHAPE,
    NATURAL,
    PAIR,
    PATH,
    POSITIVE,
    SCALES,
    SHAPES,
    SIZES,
    SWITCH,
    WORD,
    Kind,
    file,
    member,
)
from ir_interp.options.value_texts import LayerShape
from ir_interp.pipelines.backends import Backend
from ir_interp.translation.dialect import Semantics

Files = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]

Progress = Callable[[str, int, int], None]
"""Receives what is being done, how much of it is done, and the total (0 if unknown)."""


def silent(what: str, done: int, total: int) -> None:
    """Tell nobody."""


class Format(Enum):
    """How results are printed."""

    TEXT = "text"
    JSON = "json"


def _images(value: Any, name: str) -> Images:
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
