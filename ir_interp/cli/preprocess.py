"""``ir-interp preprocess``: the resize of the training in front of a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import ir_interp
from ir_interp.cli import options
from ir_interp.errors import IrInterpError
from ir_interp.text.names import shown

EXAMPLES = """
Examples:

  ir-interp preprocess model.onnx whole.onnx --like pillow:bicubic --size 224,224 --mean 123.7,116.3,103.5 --scale 58.4

  ir-interp preprocess yolo.onnx whole.onnx --like opencv:linear --size 640,640 --letterbox 114 --scale 255

  ir-interp preprocess model.onnx whole.onnx --config preprocessor_config.json
"""


def preprocess(
    model: Annotated[Path, typer.Argument(help="A model, .onnx or .xml, whose input is an image.")],
    output: Annotated[Path, typer.Argument(help="The .onnx or .xml to write, whose input is the raw image.")],
    like: Annotated[str | None, typer.Option(help="The resize of the training: pillow:bicubic, opencv:linear.")] = None,
    size: Annotated[str | None, typer.Option(help="Height and width that the model takes: 224,224.")] = None,
    letterbox: Annotated[
        int | None,
        typer.Option(
            parser=options.natural,
            metavar="COLOUR",
            help="Keep the aspect, in the middle, and fill the rest with this: 114, as YOLO does.",
        ),
    ] = None,
    image_size: Annotated[
        str | None,
        typer.Option(
            help="Height and width of all images, where known: 480,640. More calls, and IRs, can be written then."
        ),
    ] = None,
    config: Annotated[Path | None, typer.Option(help="Instead: a preprocessor_config.json of Hugging Face.")] = None,
    source: Annotated[str | None, typer.Option("--input", help="Name of the input, if the model has several.")] = None,
    mean: options.Mean = None,
    scale: options.Scale = None,
    layout: options.Layout = None,
    bgr: options.Bgr = False,
    quiet: options.Quiet = False,
) -> None:
    """Put the resize of an image library in front of a model, which takes uint8 images of any size then."""
    given = {"--like": like, "--size": size, "--mean": mean, "--scale": scale, "--letterbox": letterbox}
    if config is not None and any(each is not None for each in given.values()):
        named = ", ".join(name for name, each in given.items() if each is not None)
        raise IrInterpError(f"--config says {named} as well")
    lengths = options.integers(size, "--size")
    if config is None and (like is None or lengths is None or len(lengths) != 2):
        raise IrInterpError("--like and --size are needed, as in --like pillow:bicubic --size 224,224; or --config")
    image = ir_interp.preprocess(
        model,
        output,
        like=like,
        size=lengths,
        letterbox=letterbox,
        image_size=options.integers(image_size, "--image-size"),
        config=config,
        name=source,
        images=options.images(mean, scale, layout, bgr=bgr),
    )
    if not quiet:
        shape = (image_size or "height,width").replace(",", ", ")
        print(shown(f"wrote {output}: input {image!r}, uint8 [{shape}, 3]"))
