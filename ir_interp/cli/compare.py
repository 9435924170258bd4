"""``ir-interp compare``: run two models on the same inputs and report how far they differ."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import ir_interp
from ir_interp.cli import json_schemas, progress
from ir_interp.cli.flags import with_options
from ir_interp.cli.invocation import check_image, command, printed_form
from ir_interp.errors import IrInterpError
from ir_interp.files.atomic import check_outputs, replacing
from ir_interp.files.kinds import FileKind
from ir_interp.options.compare_options import CALLS, MODELS, CompareOptions
from ir_interp.options.declaration import check_place, keywords
from ir_interp.text.names import labels, shown
from ir_interp.views.describe import count

if TYPE_CHECKING:
    from ir_interp.cli.terminal import Console
    from ir_interp.converters.verify.comparison import HistogramBin, ModelComparison, OutputComparison

EXAMPLES = """
ir-interp compare model.onnx model.xml
ir-interp compare model.onnx model.xml --per-resize --input photo.png --mean 127.5 --std 127.5 --html report.html
ir-interp compare fp32.xml fp16.xml --shape x:1,3,640,640 --tolerance 0.01 --json
ir-interp compare photo.png --like pillow:bicubic,opencv:cubic --sizes 224,224 --picture apart.png
"""
_WIDTH = 40  # of the longest bar
_LABELS = 30  # characters beside it


@with_options(CompareOptions)
def compare(
    first: Annotated[
        Path, typer.Argument(metavar="FIRST", help="An .onnx model or an IR (.xml); with --like, an image or array.")
    ],
    second: Annotated[
        Path | None, typer.Argument(metavar="SECOND", help="A model with the same inputs and outputs.")
    ] = None,
    *,
    options: CompareOptions,
) -> int:
    """Compare the outputs of two models or two resizes.

    Each model runs in its own runtime. Exit code 1 if the outputs differ by more than the tolerance.
    """
    form = printed_form(options)
    if options.like:
        check_place(options, CALLS, f"with --like, which compares two resizes of {first.name}")
        return _compare_calls(first, second, options, form)
    if second is None:
        raise IrInterpError(
            "SECOND is missing: a model; or --like with two library calls, as in --like pillow:bicubic,opencv:cubic"
        )
    check_place(options, MODELS, "without --like")
    check_image(options.image, options.html)
    files = [path for paths in options.inputs.values() for path in paths]
    images = [options.image] if options.image else []
    check_outputs([options.html] if options.html else [], [first, second, *files, *images])
    with progress.bar(options.quiet) as report_progress:
        comparison = ir_interp.compare(first, second, **keywords(replace(options, progress=report_progress)))
    if options.html:
        _save_page(options.html, comparison, options)
    if form == "json":
        print(json_schemas.printed(comparison.record()))
    elif form == "text":
        _show(comparison)
    return 0 if comparison.passes else 1


def _save_page(path: Path, comparison: ModelComparison, options: CompareOptions) -> None:
    from ir_interp.converters.pages import comparison_page, frame
    from ir_interp.converters.pages.provenance import Made

    made = Made(
        command=command(),
        models=(comparison.first, comparison.second),
        shapes=comparison.shapes,
        inputs=options.inputs,
        seed=options.seed,
        image=options.image,
    )
    frame.save(comparison_page.comparison_page(comparison, made), path)


def _compare_calls(file: Path, second: Path | None, options: CompareOptions, form: str) -> int:
    """Compare two libraries' resizes of an image."""
    from ir_interp.views import canvas, likeness

    like, picture = options.like, options.picture
    if second is not None or len(like) != 2:
        files = count(1 + (second is not None), "file")
        raise IrInterpError(f"--like has {count(len(like), 'call')} for {files}; expected two calls and one image")
    check_outputs([picture] if picture else [], [file])
    if picture and FileKind.of(picture) not in (FileKind.PICTURE, FileKind.DRAWING):
        raise IrInterpError(f"--picture {picture.name!r} is no name of a picture; expected .png or .svg")
    x, mode = likeness.read(file)
    comparison, pair = likeness.compared((like[0], like[1]), x, mode, options.sizes, options.scales)
    if picture:
        figure = likeness.picture(comparison, pair)
        with replacing(picture) as (temporary,):
            canvas.save(figure, temporary, FileKind.of(picture) or FileKind.PICTURE)
    if form == "json":
        print(json_schemas.printed(comparison.record()))
    elif form == "text":
        print(shown(comparison.text))
    return 1 if comparison.unequal else 0


def _show(comparison: ModelComparison) -> None:
    from ir_interp.cli.terminal import Console
    from ir_interp.converters.report import fed_lines

    console = Console()
    for line in fed_lines(comparison.images):
        console.say(line)
    for output in comparison.outputs:
        _show_output(console, output, comparison)
    if comparison.resizes is not None:
        rows = [(each.name, *each.text) for each in comparison.resizes]
        title = f"{count(len(comparison.resizes), 'resize')}, in order"
        console.table(("resize", "its data", "its output"), rows, title=title)
        console.say(comparison.first_difference)
    if comparison.first_layer is not None:
        console.say(comparison.first_layer.text)
    console.say(comparison.summary)


def _show_output(console: Console, output: OutputComparison, comparison: ModelComparison) -> None:
    called = labels((comparison.first, comparison.second))
    models = ((comparison.first, output.first), (comparison.second, output.second))
    rows = [(called[str(path)], *values.text) for path, values in models]
    console.table(("model", "shape", "min", "mean", "max"), rows, title=f"output {output.name}")
    console.say(output.verdict, "green" if output.compared.passes else "red")
    for line in _bars(output.histogram, min(_WIDTH, console.width - _LABELS)):
        console.say(line)


def _bars(histogram: tuple[HistogramBin, ...], width: int) -> list[str]:
    """Return one line a bin, the longest bar, as wide as that, for the largest."""
    most = max((each.count for each in histogram), default=0)
    return [
        f"  {each.label:>16} {'#' * math.ceil(width * each.count / most) if most else '':<{width}} {each.count}"
        for each in histogram
    ]
