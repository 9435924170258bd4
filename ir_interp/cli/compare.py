"""``ir-interp compare``: run two models on the same inputs, and say how far they differ."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import ir_interp
from ir_interp.cli import options, progress
from ir_interp.errors import IrInterpError
from ir_interp.files.atomic import check_outputs, replacing
from ir_interp.files.kinds import FileKind
from ir_interp.text.names import labels, shown
from ir_interp.views.describe import count

if TYPE_CHECKING:
    from ir_interp.cli.terminal import Console
    from ir_interp.converters.verify.comparison import HistogramBin, ModelComparison, OutputComparison

EXAMPLES = """
Examples:

  ir-interp compare model.onnx model.xml

  ir-interp compare model.onnx model.xml --per-resize --input x=photo.png --mean 127.5 --scale 127.5 --html report.html

  ir-interp compare fp32.xml fp16.xml --shape x:1,3,640,640 --tolerance 0.01 --json

  ir-interp compare photo.png --like pillow:bicubic --like opencv:cubic --sizes 224,224 --picture apart.png
"""
_WIDTH = 40  # of the longest bar
_LABELS = 30  # characters beside it


def compare(
    first: Annotated[Path, typer.Argument(help="An .onnx model or an IR (.xml); with --like, an image or array.")],
    second: Annotated[Path | None, typer.Argument(help="Another, of the same inputs and outputs.")] = None,
    like: Annotated[
        list[str] | None,
        typer.Option(help="Twice: resize an image as calls of image libraries, such as pillow:bicubic, opencv:cubic."),
    ] = None,
    sizes: Annotated[str | None, typer.Option(help="With --like: output lengths, 224,224.")] = None,
    scales: Annotated[str | None, typer.Option(help="With --like: output / input, 0.5,0.5.")] = None,
    picture: Annotated[Path | None, typer.Option(help="With --like: a .png or .svg of where they differ.")] = None,
    shape: options.InputShapes = None,
    array: options.Arrays = None,
    seed: options.Seed = 0,
    mean: options.Mean = None,
    scale: options.Scale = None,
    layout: options.Layout = None,
    bgr: options.Bgr = False,
    tolerance: Annotated[
        float | None,
        typer.Option(
            parser=options.number,
            metavar="NUMBER",
            help="Allowed, of the largest value. Default 1e-4, else segment by segment.",
        ),
    ] = None,
    per_resize: Annotated[bool, typer.Option("--per-resize", help="Walk the resizes, and name the first one.")] = False,
    per_layer: Annotated[bool, typer.Option("--per-layer", help="Find the first layer that differs.")] = False,
    style: options.Style = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
    html: options.Html = None,
    image: options.Image = None,
) -> int:
    """Run two models, each in its own runtime, and compare their outputs."""
    if like:
        for name, given in {
            "--shape": shape, "--input": array, "--seed": seed, "--mean": mean, "--scale": scale, "--layout": layout,
            "--bgr": bgr, "--tolerance": tolerance is not None, "--per-resize": per_resize, "--per-layer": per_layer,
            "--html": html, "--image": image,
        }.items():  # fmt: skip
            if given:
                raise IrInterpError(f"{name} has no effect with --like, which compares two resizes of {first.name}")
        return _compare_like(like, first, second, sizes, scales, picture, options.style(style, as_json, quiet))
    if second is None:
        raise IrInterpError("a second model is missing; or two --like, as in --like pillow:bicubic --like opencv:cubic")
    for name, given in (("--sizes", sizes), ("--scales", scales), ("--picture", picture)):
        if given is not None:
            raise IrInterpError(f"{name} has no effect without --like")
    inputs = options.files(array or [])
    options.check_image(image, html)
    read = [first, second, *(path for paths in inputs.values() for path in paths), *([image] if image else [])]
    check_outputs([html] if html else [], read)
    form = options.style(style, as_json, quiet)
    with progress.bar(quiet) as report_progress:
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
        from ir_interp.converters.pages.made import Made

        made = Made(
            command=options.command(),
            models=(first, second),
            shapes=found.shapes,
            inputs=inputs,
            seed=seed,
            image=image,
        )
        frame.save(comparison_page.comparison_page(found, made), html)
    if form == "json":
        print(json.dumps(found.record(), indent=2))
    elif form == "text":
        _show(found)
    return 0 if found.passes else 1


def _compare_like(
    like: list[str],
    file: Path,
    second: Path | None,
    sizes: str | None,
    scales: str | None,
    picture: Path | None,
    form: str,
) -> int:
    """Compare two libraries' resizes of an image."""
    from ir_interp.views import canvas, likeness

    if second is not None or len(like) != 2:
        raise IrInterpError(f"--like is given {len(like)} times for an image; expected two calls and one image")
    check_outputs([picture] if picture else [], [file])
    if picture and FileKind.of(picture) not in (FileKind.PICTURE, FileKind.DRAWING):
        raise IrInterpError(f"--picture {picture.name!r} is no name of a picture; expected .png or .svg")
    x, mode = likeness.read(file)
    lengths = options.integers(sizes, "--sizes"), options.reals(scales, "--scales")
    found, pair = likeness.compared((like[0], like[1]), x, mode, *lengths)
    if picture:
        figure = likeness.picture(found, pair)
        with replacing(picture) as (temporary,):
            canvas.save(figure, temporary, FileKind.of(picture) or FileKind.PICTURE)
    if form == "json":
        print(json.dumps(found.record(), indent=2))
    elif form == "text":
        print(shown(found.text))
    return 1 if found.unequal else 0


def _show(found: ModelComparison) -> None:
    from ir_interp.cli.terminal import Console

    console = Console()
    for output in found.outputs:
        _show_output(console, output, found)
    if found.resizes is not None:
        rows = [(each.name, *each.text) for each in found.resizes]
        title = f"{count(len(found.resizes), 'resize')}, in order"
        console.table(("resize", "its data", "its output"), rows, title=title)
        console.say(found.first_difference)
    if found.first_layer is not None:
        console.say(found.first_layer.text)
    console.say(found.summary)


def _show_output(console: Console, output: OutputComparison, found: ModelComparison) -> None:
    called = labels((found.first, found.second))
    models = ((found.first, output.first), (found.second, output.second))
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
