"""``ir-interp plot``: pictures of what a resize does."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import ir_interp
from ir_interp.cli import options
from ir_interp.names import shown
from ir_interp.views.figures import Picture

EXAMPLES = """
Examples:

  ir-interp plot model.onnx up.png --layer up2

  ir-interp plot layer.xml matrix.png --what weights --axis 2

  ir-interp plot layer.xml changed.png --what image --against document --input photo.png
"""


def plot(
    file: Annotated[Path, typer.Argument(help="Where the resize stands: .onnx, .xml or .json.")],
    output: Annotated[Path, typer.Argument(help="A .png to write.")],
    what: Annotated[Picture, typer.Option(help="What to show.")] = Picture.POSITIONS,
    layer: Annotated[str | None, typer.Option(help="Name of the resize, if the file has several.")] = None,
    axis: Annotated[int | None, typer.Option(help="Axis to show, if not the first that changes.")] = None,
    shape: Annotated[str | None, typer.Option(help="Lengths of its input, where dynamic: 1,3,20,30.")] = None,
    sizes: Annotated[str | None, typer.Option(help="Output lengths instead of the layer's: 50,60.")] = None,
    scales: Annotated[str | None, typer.Option(help="Output / input instead of the layer's: 2,1.5.")] = None,
    source: Annotated[Path | None, typer.Option("--input", help="For image: an array (.npy) or an image.")] = None,
    against: Annotated[
        str | None, typer.Option(help="For image: a reading, an arithmetic, or a file with another resize.")
    ] = None,
) -> None:
    """Show where a resize samples, what it weighs by how much, or an image under two configurations."""
    ir_interp.plot(
        file,
        output,
        what=what,
        layer=layer,
        axis=axis,
        shape=options.integers(shape, "--shape"),
        sizes=options.integers(sizes, "--sizes"),
        scales=options.reals(scales, "--scales"),
        x=source,
        against=against,
    )
    print(shown(f"wrote {output}"))
