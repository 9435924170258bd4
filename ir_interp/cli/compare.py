"""``ir-interp compare``: run two models on the same inputs, and say how far they differ."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import ir_interp
from ir_interp.atomic import check_outputs
from ir_interp.cli import options, progress
from ir_interp.views.describe import count

if TYPE_CHECKING:
    from rich.table import Table

    from ir_interp.cli.terminal import Console
    from ir_interp.converters.verify.first_difference import Located
    from ir_interp.converters.verify.models import HistogramBin, ModelComparison, OutputComparison

EXAMPLES = """
Examples:

  ir-interp compare model.onnx model.xml

  ir-interp compare model.onnx model.xml --per-resize --input x=photo.png --mean 127.5 --scale 127.5 --html report.html

  ir-interp compare fp32.xml fp16.xml --shape x:1,3,640,640 --tolerance 0.01 --json
"""
_WIDTH = 40  # of the longest bar


def compare(
    first: Annotated[Path, typer.Argument(help="An .onnx model or an IR (.xml).")],
    second: Annotated[Path, typer.Argument(help="Another, of the same inputs and outputs.")],
    shape: options.Shapes = None,
    array: options.Arrays = None,
    seed: options.Seed = 0,
    mean: options.Mean = None,
    scale: options.Scale = None,
    layout: options.Layout = None,
    bgr: options.Bgr = False,
    tolerance: Annotated[
        float | None,
        typer.Option(help="Allowed, of the largest value. Default 1e-4, or the first's own spread."),
    ] = None,
    per_resize: Annotated[bool, typer.Option("--per-resize", help="Walk the resizes, and name the first one.")] = False,
    per_layer: Annotated[bool, typer.Option("--per-layer", help="Find the first layer that differs.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
    html: options.Html = None,
) -> int:
    """Run two models, each in its own runtime, and compare their outputs."""
    inputs = options.files(array or [])
    check_outputs([html] if html else [], [first, second, *(path for paths in inputs.values() for path in paths)])
    with progress.bar() as report_progress:
        found = ir_interp.compare(
            first,
            second,
            shapes=options.shapes(shape or []),
            inputs=inputs,
            images=options.images(mean, scale, layout, bgr=bgr),
            seed=seed,
            tolerance=tolerance,
            per_resize=per_resize,
            per_layer=per_layer,
            progress=report_progress,
        )
    if html:
        from ir_interp.converters.pages import comparison_page, frame

        frame.save(comparison_page.comparison_page(found), html)
    if as_json:
        print(json.dumps(found.record(), indent=2))
    else:
        _show(found)
    return 0 if found.passes else 1


def _show(found: ModelComparison) -> None:
    from ir_interp.cli.terminal import Console

    console = Console()
    for output in found.outputs:
        _show_output(console, output, found)
    if found.resizes is not None:
        console.print(_resizes_table(found.resizes))
        console.print(found.first_difference, markup=False, highlight=False, soft_wrap=True)
    if found.first_layer is not None:
        console.print(found.first_layer.text, markup=False, highlight=False, soft_wrap=True)
    console.print(found.summary, highlight=False)


def _show_output(console: Console, output: OutputComparison, found: ModelComparison) -> None:
    from rich.table import Table

    from ir_interp.cli.terminal import escape

    table = Table(title=escape(f"output {output.name}"), title_justify="left")
    for column in ("", "shape", "min", "mean", "max"):
        table.add_column(column, overflow="fold")
    for path, values in ((found.first, output.first), (found.second, output.second)):
        table.add_row(escape(path.name), *values.text)
    console.print(table)
    for line in (output.verdict, *_bars(output.histogram)):
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def _bars(histogram: tuple[HistogramBin, ...]) -> list[str]:
    """Return one line a bin, the longest bar for the largest."""
    most = max((each.count for each in histogram), default=0)
    return [
        f"  {each.label:>16} {'#' * math.ceil(_WIDTH * each.count / most) if most else '':<{_WIDTH}} {each.count}"
        for each in histogram
    ]


def _resizes_table(resizes: tuple[Located, ...]) -> Table:
    from rich.table import Table

    from ir_interp.cli.terminal import escape

    table = Table(title=f"{count(len(resizes), 'resize')}, in order", title_justify="left")
    for column in ("resize", "its data", "its output"):
        table.add_column(column, overflow="fold")
    for each in resizes:
        table.add_row(escape(each.name), *each.text)
    return table
