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
    PATH,
    POSITIVE,
    REALS,
    SHAPES,
    SWITCH,
    WHOLES,
    WORD,
    Kind,
    LayerShape,
    file,
    member,
)
from ir_interp.pipelines.backends import Backend
from ir_interp.translation.dialect import Semantics

Files = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]

Progress = Callable[[str, int, int], None]
"""Is told what is being done, how much of it, and of how much in all (0 where nobody knows)."""


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


def semantics(text: str, **known: Any) -> Any:
    """Declare the reading of a source."""
    reading = member(Semantics, "Semantics | str", "READING")
    return option(reading, text, "--semantics", default=Semantics.RUNTIME, **known)


of_command_line = partial(option, is_keyword=False, decides=False)
of_python = partial(option, decides=False, takes_none=True)
progress = partial(of_python, Kind(takes="Progress", check=arguments.function), default=silent)

# What models run on

shapes = partial(
    option, SHAPES, "Lengths of an input, where dynamic: x:1,3,640,640; of an only one, 1,3,640,640.", "--shape"
)
inputs = partial(
    option, FILES, "An input to run on, else made up: x=image.npy, x=photo.png, x=folder; or several.", "--input"
)
seed = partial(option, NATURAL, "Of what is made up.", "--seed", default=0)
images = partial(option, Kind(takes="Images", check=_images), parts=Images, make=Images, takes_none=True)

# One resize

layer = partial(option, WORD)
layer_shape = partial(
    option, LAYER_SHAPE, "Lengths of its input, where dynamic: 1,3,20,30, or with its name, up:1,3,20,30.", "--shape"
)
sizes = partial(
    option, WHOLES, "Output lengths instead of the file's, of the resized axes or of all: 50,60.", "--sizes"
)
scales = partial(
    option, REALS, "Output / input instead of the file's, of the resized axes or of all: 2,1.5.", "--scales"
)
LAYER = "Name of the resize, if the file has several."

# What is printed and written about results

style = partial(
    of_command_line, member(Format, "Format | str", "FORMAT"), "text (the default) or json.", "--format", default=None
)
as_json = partial(of_command_line, SWITCH, "The same as --format json.", "--json")
quiet = partial(
    of_command_line, SWITCH, "Print errors only; the exit code and files written tell the rest.", "--quiet", "-q"
)
html = partial(
    of_command_line, file("page", FileKind.PAGE), "Write the report to this file too, as one page of HTML.", "--html"
)

report = partial(
    of_command_line, file("report", FileKind.JSON), "Write the report to this file too, as JSON.", "--report"
)
image = partial(of_command_line, PATH, "An image on which the page of --html shows what changes.", "--image")

# Pipelines

backend = partial(
    option,
    member(Backend, "Backend | str", "BACKEND"),
    "What resizes in a configuration that does not tell: pil (Pillow) or torchvision.",
    "--backend",
    default=None,
    takes_none=True,
)

# Many models

jobs = partial(option, POSITIVE, decides=False, default=1)
results = partial(
    of_command_line,
    file("file of results", FileKind.LINES),
    "Of many models: add the result of each to this file as it comes, one line of JSON; skip what it holds.",
    "--results",
)
scheduler = partial(
    of_command_line, WORD, "With --results, of a dask.distributed cluster: tcp://...", "--scheduler", metavar="ADDRESS"
)
time_limit = partial(
    of_command_line,
    POSITIVE,
    "Of many models: what takes longer is stopped, and told as an error (default: 1800).",
    "--time-limit",
    metavar="SECONDS",
)


VERIFICATION, IMAGES, SHAPE = "verification", "an image among the inputs", "a shape"
VERIFICATION_OR_FREEZE = "verification or freeze"
"""What options about the inputs of models need beside themselves."""


def check_needs(options: Any) -> None:
    """Raise SpecError for an option that is set, and has no effect since what it needs is missing."""
    files = [path for paths in options.inputs.values() for path in paths]
    fulfilled = {
        VERIFICATION: getattr(options, "verify", True),
        VERIFICATION_OR_FREEZE: getattr(options, "verify", True) or getattr(options, "freeze", False),
        SHAPE: bool(options.shapes),
        IMAGES: any(is_image(path) or is_folder(path) for path in files),
    }
    for each in options_set(options):
        if each.needs and not fulfilled[each.needs]:
            raise SpecError(f"{each.name} has no effect without {each.needs}")


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
