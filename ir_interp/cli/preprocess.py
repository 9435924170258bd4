"""``ir-interp preprocess``: the image resize used in training, in front of a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import ir_interp
from ir_interp.cli import progress
from ir_interp.cli.flags import with_options
from ir_interp.errors import IrInterpError
from ir_interp.options.declaration import keywords, options_set
from ir_interp.options.preprocess_options import STATED, PreprocessOptions
from ir_interp.text.names import shown
from ir_interp.views.describe import count

EXAMPLES = """
ir-interp preprocess model.onnx ready.onnx --like pillow:bicubic --size 224,224 --mean 123.7,116.3,103.5 --std 58.4
ir-interp preprocess yolo.onnx ready.onnx --like opencv:linear --size 640,640 --letterbox 114 --std 255
ir-interp preprocess model.onnx ready.onnx --config preprocessor_config.json
"""


@with_options(PreprocessOptions)
def preprocess(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model (.onnx or .xml) whose input is an image.")],
    output: Annotated[
        Path, typer.Argument(metavar="OUTPUT", help="The .onnx or .xml file to write; its input is the raw image.")
    ],
    options: PreprocessOptions,
) -> None:
    """Add a library's image resize to a model's input.

    The model then takes uint8 images of any size and matches the library byte for byte.
    """
    stated = [each.flag for each in options_set(options) if each.name in STATED]
    if options.config is not None and stated:
        raise IrInterpError(f"--config already specifies {', '.join(stated)}")
    if options.config is None:
        _check_target(options)
    with progress.bar(options.quiet, "writing"):
        image = ir_interp.preprocess(model, output, **keywords(options))
    if not options.quiet:
        batch = [] if options.batch is None else [options.batch or "batch"]
        shape = [*batch, *(options.image_size or ("height", "width")), options.channels]
        print(shown(f"wrote {output}: input {image!r}, uint8 [{', '.join(map(str, shape))}]"))


def _check_target(options: PreprocessOptions) -> None:
    """Raise IrInterpError, which names the option, where no configuration and not both of call and size are given."""
    if options.like is None and options.size is None:
        raise IrInterpError("--like and --size are missing, as in --like pillow:bicubic --size 224,224; or --config")
    if options.like is None:
        raise IrInterpError("--like is missing: the resize used in training, as in --like pillow:bicubic")
    if options.size is None:
        raise IrInterpError("--size is missing: height and width of the model's input, as in --size 224,224")
    if len(options.size) != 2:
        raise IrInterpError(
            f"--size has {count(len(options.size), 'number')}; expected height and width, as in 224,224"
        )
