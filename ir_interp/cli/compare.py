"""``ir-interp compare``: run two models on the same inputs and report how far they differ."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import ir_interp
from ir_interp.cli import progress
from ir_interp.cli.flags import with_options
from ir_interp.cli.invocation import check_image, command, print_result, printed_form
from ir_interp.errors import IrInterpError
from ir_interp.files.atomic import check_outputs, replacing
from ir_interp.files.kinds import FOREIGN, FileKind, is_image, listed
from ir_interp.options.compare_options import CALLS, IMAGES, MODELS, CompareOptions
from ir_interp.options.declaration import check_place, keywords
from ir_interp.text.names import labels, printable
from ir_interp.text.quoting import shell
from ir_interp.views.describe import count

if TYPE_CHECKING:
    from ir_interp.cli.terminal import Console
    from ir_interp.converters.verify.comparison import ModelComparison
    from ir_interp.converters.verify.output_comparison import OutputComparison
    from ir_interp.views.likeness import Likeness

EXAMPLES = """
ir-interp compare model.onnx model.xml
ir-interp compare model.onnx model.xml --per-resize --input photo.png --mean 127.5 --std 127.5 --html report.html
ir-interp compare fp32.xml fp16.xml --shape x:1,3,640,640 --tolerance 0.01 --json
ir-interp compare model.onnx outputs.npz --input x=input.npy
ir-interp compare model.onnx program.pt2
ir-interp compare model.onnx model.tflite
ir-interp compare pillow.png opencv.png --picture apart.png
ir-interp compare photo.png --like pillow:bicubic,opencv:cubic --sizes 224,224 --picture apart.png
"""
_WIDTH = 40  # of the longest bar
_LABELS = 30  # characters beside it


@with_options(CompareOptions)
def compare(
    first: Annotated[
        Path,
        typer.Argument(metavar="FIRST", help=f"An .onnx model, an IR (.xml), {listed(FOREIGN)}, image or array."),
    ],
    second: Annotated[
        Path | None,
        typer.Argument(
            metavar="SECOND",
            help="A model like FIRST, its outputs by another program (.npz, .npy), or an image like FIRST.",
        ),
    ] = None,
    *,
    options: CompareOptions,
) -> int:
    """Compare the outputs of two models, or two images.

    Each model runs in its own runtime. Exit code 1 if outputs differ by more than the tolerance, or a
    resize does, or a quantised model does by the default settings of its runtime.
    """
    form = printed_form(options)
    if options.like:
        check_place(options, CALLS, f"with --like, which compares two resizes of {first.name}")
        return _compare_calls(first, second, options, form)
    if second is None:
        raise IrInterpError(
            "SECOND is missing: a model; or --like with two library calls, as in --like pillow:bicubic,opencv:cubic"
        )
    if is_image(first) or FileKind.of(first) is FileKind.ARRAY:
        check_place(options, IMAGES, "without --like, which compares two images")
        return _compare_images(first, second, options, form)
    check_place(options, MODELS, "without --like")
    check_image(options.image, options.html)
    files = [path for paths in options.inputs.values() for path in paths]
    images = [options.image] if options.image else []
    check_outputs([options.html] if options.html else [], [first, second, *files, *images])
    # Outputs of another program are no model that runs: the first model is compared with them.
    is_saved = FileKind.of(second) in (FileKind.ARRAYS, FileKind.ARRAY)
    with progress.bar(options.quiet) as report_progress:
        options = replace(options, progress=report_progress, reference=second if is_saved else None)
        comparison = ir_interp.compare(first, None if is_saved else second, **keywords(options))
    if options.html:
        _save_page(options.html, comparison, options)
    print_result(form, comparison.record, lambda: _show(comparison))
    return 0 if comparison.passes else 1


def _save_page(path: Path, comparison: ModelComparison, options: CompareOptions) -> None:
    from ir_interp.converters.pages import comparison_page, frame
    from ir_interp.converters.pages.provenance import Provenance

    provenance = Provenance(
        command=command(),
        models=(comparison.first, comparison.second),
        shapes=comparison.shapes,
        inputs=options.inputs,
        seed=options.seed,
        image=options.image,
    )
    frame.save(comparison_page.comparison_page(comparison, provenance), path)


def _compare_calls(file: Path, second: Path | None, options: CompareOptions, form: str) -> int:
    """Compare two libraries' resizes of an image."""
    from ir_interp.views import likeness

    like = options.like
    if second is not None or len(like) != 2:
        files = count(1 + (second is not None), "file")
        raise IrInterpError(f"--like has {count(len(like), 'call')} for {files}; expected two calls and one image")
    _check_picture(options.picture, [file])
    x, mode = likeness.read(file)
    return _likeness(*likeness.compared((like[0], like[1]), x, mode, options.sizes, options.scales), options, form)


def _compare_images(first: Path, second: Path, options: CompareOptions, form: str) -> int:
    """Compare two images, or arrays."""
    from ir_interp.views import likeness

    _check_picture(options.picture, [first, second])
    return _likeness(*likeness.compared_images((first, second)), options, form)


def _check_picture(picture: Path | None, inputs: list[Path]) -> None:
    check_outputs([picture] if picture else [], inputs)
    if picture and FileKind.of(picture) not in (FileKind.PICTURE, FileKind.DRAWING):
        raise IrInterpError(f"--picture {picture.name!r} is not the name of a picture; expected .png or .svg")


def _likeness(comparison: Likeness, pair: Any, options: CompareOptions, form: str) -> int:
    """Print how far two images differ, and draw it; return the exit code."""
    from ir_interp.views import canvas, likeness

    if options.picture:
        figure = likeness.picture(comparison, pair)
        with replacing(options.picture) as (temporary,):
            canvas.save(figure, temporary, FileKind.of(options.picture) or FileKind.PICTURE)
    print_result(form, comparison.record, lambda: print(printable(comparison.text)))
    return 1 if comparison.unequal else 0


def _show(comparison: ModelComparison) -> None:
    from ir_interp.cli.terminal import Console
    from ir_interp.converters.reports.verification import Agreement, fed_lines

    console = Console()
    for line in (*fed_lines(comparison.images), *(f"note: {text}" for text in comparison.notes)):
        console.say(line)
    for output in comparison.outputs:
        _show_output(console, output, comparison)
    for call in comparison.calls:
        console.say(call.text, "red" if call.agreement is Agreement.DIFFERS else "")
    if comparison.resizes is not None:
        rows = [(resize.name, *resize.text) for resize in comparison.resizes]
        title = f"{count(len(comparison.resizes), 'resize')}, in order"
        console.table(("resize", "its data", "its output"), rows, title=title)
        console.say(comparison.first_difference)
    if comparison.first_layer is not None:
        console.say(comparison.first_layer.text)
    if comparison.next_command:
        console.say(f"    {shell(*comparison.next_command)}")
    console.say(comparison.summary)


def _show_output(console: Console, output: OutputComparison, comparison: ModelComparison) -> None:
    called = labels((comparison.first, comparison.second))
    models = ((comparison.first, output.first), (comparison.second, output.second))
    rows = [(called[str(path)], *values.text) for path, values in models]
    console.table(("model", "shape", "min", "mean", "max"), rows, title=f"output {output.name}")
    console.say(output.verdict, "green" if output.compared.passes else "red")
    width = min(_WIDTH, console.width - _LABELS)
    most = max((bucket.count for bucket in output.histogram), default=0)
    for line in [
        f"  {bucket.label:>16} {'#' * math.ceil(width * bucket.count / most) if most else '':<{width}} {bucket.count}"
        for bucket in output.histogram
    ]:
        console.say(line)
