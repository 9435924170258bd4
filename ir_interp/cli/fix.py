"""``ir-interp fix``: mend what an audit calls an exporter's likely mistake."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import ir_interp
from ir_interp.cli import options, progress
from ir_interp.rules import RULES
from ir_interp.views.describe import count

if TYPE_CHECKING:
    from ir_interp.cli.terminal import Console
    from ir_interp.converters.fix.fixed_files import Fixed
    from ir_interp.converters.verify.comparison import OutputComparison

EXAMPLES = """
Examples:

  ir-interp fix model.onnx mended.onnx

  ir-interp fix model.onnx mended.onnx --select IRI012 --layer shrink

  ir-interp fix model.onnx mended.onnx --input image=photo.png --scale 255
"""


def _codes(incomplete: str) -> list[str]:
    return [code for code in RULES if code.startswith(("IRI01", incomplete)) and code.startswith(incomplete)]


def fix(
    model: Annotated[Path, typer.Argument(help="An .onnx model.")],
    output: Annotated[Path, typer.Argument(help="The .onnx to write.")],
    select: Annotated[
        list[str] | None,
        typer.Option(help="Codes to mend, or their beginnings: IRI012. Default: all of IRI01.", autocompletion=_codes),
    ] = None,
    ignore: Annotated[
        list[str] | None, typer.Option(help="Codes not to mend, or their beginnings.", autocompletion=_codes)
    ] = None,
    layer: Annotated[list[str] | None, typer.Option(help="Only the resize of this name.")] = None,
    verify: Annotated[bool, typer.Option(help="Run it before and after, and say what changes.")] = True,
    shape: options.InputShapes = None,
    array: options.Arrays = None,
    seed: options.Seed = 0,
    mean: options.Mean = None,
    scale: options.Scale = None,
    layout: options.Layout = None,
    bgr: options.Bgr = False,
    style: options.Style = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Mend what `audit` calls likely mistakes of an exporter (IRI011 to IRI015), and change nothing else."""
    form = options.style(style, as_json, quiet)
    with progress.bar(quiet) as report_progress:
        done = ir_interp.fix(
            model,
            output,
            select=select or (),
            ignore=ignore or (),
            layers=layer or (),
            verify=verify,
            shapes=options.shapes(shape or []),
            inputs=options.files(array or []),
            images=options.images(mean, scale, layout, bgr=bgr),
            seed=seed,
            progress=report_progress,
        )
    if form == "json":
        print(json.dumps(done.record(), indent=2))
    elif form == "text":
        _show(done)


def _show(done: Fixed) -> None:
    from ir_interp.cli.terminal import Console

    console = Console()
    rows = [
        (each.op.name, remedy.code, remedy.text, done.changed(each)) for each in done.mended for remedy in each.remedies
    ]
    title = f"{count(len(rows), 'mistake')} of {done.source.name} mended"
    console.table(("resize", "mistake", "change", "its output"), rows, title=title)
    if done.note:
        console.say(done.note)
    if done.comparison:
        for output in done.comparison.outputs:
            _show_output(console, output)
    if rows:
        console.say("every other node, constant and name is as it was, byte for byte")
    console.say(f"wrote {done.destination}" + ("" if rows else ", a copy"))


def _show_output(console: Console, output: OutputComparison) -> None:
    rows = [("before", *output.first.text), ("after", *output.second.text)]
    console.table(("", "shape", "min", "mean", "max"), rows, title=f"output {output.name}, which {output.seen.apart}")
