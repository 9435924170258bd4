"""``ir-interp preprocess``: the image resize used in training, in front of a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import ir_interp
from ir_interp.cli import progress
from ir_interp.cli.flags import with_options
from ir_interp.cli.invocation import printed_form
from ir_interp.cli.written_records import PreprocessRecord, report
from ir_interp.options.declaration import keywords
from ir_interp.options.preprocess_options import PreprocessOptions

EXAMPLES = """
ir-interp preprocess model.onnx ready.onnx --like pillow:bicubic --size 224,224 --mean 123.7,116.3,103.5 --std 58.4
ir-interp preprocess yolo.onnx ready.onnx --like opencv:linear --size 640,640 --letterbox 114 --std 255
ir-interp preprocess model.onnx ready.onnx --config preprocessor_config.json
"""


@with_options(PreprocessOptions)
def preprocess(
    model: Annotated[
        Path,
        typer.Argument(metavar="MODEL", help="A model whose input is an image, as convert takes it."),
    ],
    output: Annotated[
        Path, typer.Argument(metavar="OUTPUT", help="The .onnx or .xml file to write; its input is the raw image.")
    ],
    options: PreprocessOptions,
) -> None:
    """Move preprocessing into a model, exactly as in training.

    The model then takes raw uint8 images, and its resize matches the library byte for byte.
    """
    printed_form(options)  # which refuses options that exclude each other
    with progress.bar(options.quiet, "writing"):
        image = ir_interp.preprocess(model, output, **keywords(options))
    batch = [] if options.batch is None else [options.batch or "batch"]
    shape = (*batch, *(options.image_size or ("height", "width")), options.channels)
    record = PreprocessRecord(source=str(model), destination=str(output), input=image, dtype="uint8", shape=shape)
    report(record, options)
