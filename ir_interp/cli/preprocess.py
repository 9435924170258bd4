"""``ir-interp preprocess``: the resize of the training in front of a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import ir_interp
from ir_interp.cli.flags import with_options
from ir_interp.errors import IrInterpError
from ir_interp.options.declaration import keywords, options_set
from ir_interp.options.preprocess_options import STATED, PreprocessOptions
from ir_interp.text.names import shown

EXAMPLES = """
Examples:

  ir-interp preprocess model.onnx whole.onnx --like pillow:bicubic --size 224,224 --mean 123.7,116.3,103.5 --scale 58.4

  ir-interp preprocess yolo.onnx whole.onnx --like opencv:linear --size 640,640 --letterbox 114 --scale 255

  ir-interp preprocess model.onnx whole.onnx --config preprocessor_config.json
"""


@with_options(PreprocessOptions)
def preprocess(
    model: Annotated[Path, typer.Argument(help="A model, .onnx or .xml, whose input is an image.")],
    output: Annotated[Path, typer.Argument(help="The .onnx or .xml to write, whose input is the raw image.")],
    options: PreprocessOptions,
) -> None:
    """Put the resize of an image library in front of a model, which takes uint8 images of any size then."""
    stated = [each.flag for each in options_set(options) if each.name in STATED]
    if options.config is not None and stated:
        raise IrInterpError(f"--config says {', '.join(stated)} as well")
    if options.config is None and (options.like is None or options.size is None or len(options.size) != 2):
        raise IrInterpError("--like and --size are needed, as in --like pillow:bicubic --size 224,224; or --config")
    image = ir_interp.preprocess(model, output, **keywords(options))
    if not options.quiet:
        batch = [] if options.batch is None else [options.batch or "batch"]
        shape = [*batch, *(options.image_size or ("height", "width")), options.channels]
        print(shown(f"wrote {output}: input {image!r}, uint8 [{', '.join(map(str, shape))}]"))
