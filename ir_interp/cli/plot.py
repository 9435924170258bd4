"""``ir-interp plot``: pictures of what a resize does."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import ir_interp
from ir_interp.cli import options
from ir_interp.errors import IrInterpError
from ir_interp.text.names import shown
from ir_interp.views.figures import Picture

EXAMPLES = """
Examples:

  ir-interp plot model.onnx up.png --layer up2

  ir-interp plot layer.xml matrix.png --what weights --axis 2

  ir-interp plot layer.xml changed.png --what image --against document --input photo.png
"""


def plot(
    file: Annotated[Path, typer.Argument(help="Where the resize stands: .onnx, .xml or .json.")],
    output: Annotated[Path, typer.Argument(help="A .png or .svg to write.")],
    what: Annotated[
        Picture, typer.Option(metavar="PICTURE", help="positions, weights, kernel or image.")
    ] = Picture.POSITIONS,
    layer: Annotated[str | None, typer.Option(help="Name of the resize, if the file has several.")] = None,
    axis: Annotated[
        int | None,
        typer.Option(parser=options.whole, metavar="INTEGER", help="Axis to show, if not the first that changes."),
    ] = None,
    shape: options.LayerShape = None,
    sizes: options.Sizes = None,
    scales: options.Scales = None,
    source: Annotated[Path | None, typer.Option("--input", help="For image: an array (.npy) or an image.")] = None,
    against: Annotated[
        str | None,
        typer.Option(
            help="For image: a reading, an arithmetic, or a file with another resize. Default: a runtime that differs."
        ),
    ] = None,
    quiet: options.Quiet = False,
) -> None:
    """Show where a resize samples, what it weighs by how much, or an image under two configurations."""
    for name, given in (("--input", source), ("--against", against)):
        if given is not None and what is not Picture.IMAGE:
            raise IrInterpError(f"{name} has no effect on {what.value}; it goes with --what image")
    if axis is not None and what is Picture.IMAGE:
        raise IrInterpError("--axis has no effect on an image, which shows two")
    layer, lengths = options.layer_shape(shape, layer)
    ir_interp.plot(
        file,
        output,
        what=what,
        layer=layer,
        axis=axis,
        shape=lengths,
        sizes=options.integers(sizes, "--sizes"),
        scales=options.reals(scales, "--scales"),
        x=source,
        against=against,
    )
    if not quiet:
        print(shown(f"wrote {output}"))
