"""``ir-interp plot``: pictures of what a resize does."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import ir_interp
from ir_interp.cli import progress
from ir_interp.cli.flags import with_options
from ir_interp.cli.invocation import printed_form
from ir_interp.cli.written_records import PlotRecord, report
from ir_interp.errors import IrInterpError
from ir_interp.options.declaration import check_place, keywords
from ir_interp.options.plot_options import PlotOptions
from ir_interp.options.shared_options import named_layer
from ir_interp.views.figures import Picture

EXAMPLES = """
ir-interp plot model.onnx up.png --layer up2
ir-interp plot layer.xml matrix.png --what weights --axis 2
ir-interp plot layer.xml changed.png --what image --against document --input photo.png
"""


@with_options(PlotOptions)
def plot(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file with the resize, as inspect takes it.")],
    output: Annotated[Path, typer.Argument(metavar="OUTPUT", help="The .png or .svg file to write.")],
    options: PlotOptions,
) -> None:
    """Plot where a resize samples and how it weighs.

    --what image compares an image under two definitions.
    """
    printed_form(options)  # which refuses options that exclude each other
    if options.axis is not None and options.what is Picture.IMAGE:
        raise IrInterpError("--axis has no effect on an image, which shows two")
    check_place(options, options.what.value, f"on {options.what.value}; it goes with --what image")
    with progress.bar(options.quiet, "drawing"):
        ir_interp.plot(file, output, **keywords(options) | named_layer(options.layer, options.shape))
    report(PlotRecord(source=str(file), destination=str(output), what=options.what.value), options)
