"""``ir-interp convert`` and ``compare``: translate a file, and report how far two models or images differ."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperOption

import ir_interp
from ir_interp.cli import printed_results
from ir_interp.cli.command_line import with_options
from ir_interp.cli.commands import Command, called_command
from ir_interp.cli.printed_results import check_image, folded_cells, print_findings, print_result, printed_form
from ir_interp.diagnostic_codes import Severity
from ir_interp.errors import IrInterpError
from ir_interp.files.kinds import FOREIGN, WITH_RESIZES, FileKind, is_image, listed
from ir_interp.files.writing import OutputError, check_outputs, is_folder, replacing
from ir_interp.options.declaration import check_place, keywords
from ir_interp.options.model_options import CALLS, FILE, FOLDER, IMAGES, MODELS, CompareOptions, ConvertOptions
from ir_interp.plain_text import labels, printable, quote_shell
from ir_interp.resize_op import count
from ir_interp.translation.dialect import Semantics
from ir_interp.translation.translate import OF_GRADE

if TYPE_CHECKING:
    from rich.table import Table

    from ir_interp.cli.terminal import Console, Marked
    from ir_interp.converters.pages.frame import Provenance
    from ir_interp.converters.reports import Compared, ConversionReport, Row, Verification
    from ir_interp.converters.verify.model_pairs import ModelComparison
    from ir_interp.converters.verify.tolerances import OutputComparison
    from ir_interp.views.likeness import Likeness


def show_conversion(report: ConversionReport) -> None:
    """Print the resizes, the operations before and after, and what verification found."""
    from ir_interp.cli.terminal import Console

    console = Console()
    rows = [(row.name, (row.configuration, row.form, _grade(row))) for row in report.rows]
    title = f"{count(len(rows), 'resize')} of {report.source.name}"
    if rows:
        console.table(("resize", "was", "became", "grade"), folded_cells(rows), title=title)
    if report.operations.before and report.operations.after:
        console.say("operations", "bold")
        console.print(_operations(report.operations.before, report.operations.after))
    for state in report.states:
        console.say(state.text)
    for note in report.notes:
        console.say(f"note: {note}")
    print_findings(
        console,
        (
            (
                mistake.where,
                (str(report.source), mistake.code, mistake.message, Severity(mistake.severity), mistake.command),
            )
            for mistake in report.mistakes
        ),
    )
    for line in _verified(report.verification):
        console.say(line)
    console.say(f"wrote {report.destination}")


def _grade(row: Row) -> Marked:
    from ir_interp.cli.terminal import Marked

    return Marked(row.exactness + (f" ({row.note})" if row.note else ""), OF_GRADE[row.grade])


def _operations(before: dict[str, int], after: dict[str, int]) -> Table:
    from rich.table import Table

    from ir_interp.cli.terminal import escape

    table = Table()
    for name, counts in (("before", before), ("after", after)):
        table.add_column(name)
        table.add_column(str(sum(counts.values())), justify="right")
    for (mine, many), (theirs, more) in zip_longest(before.items(), after.items(), fillvalue=("", "")):
        table.add_row(escape(mine), str(many), escape(theirs), str(more))
    return table


def _verified(verification: Verification | None) -> list[str]:
    if verification is None:
        return ["not verified"]
    from ir_interp.converters.reports import fed_lines

    return [
        *fed_lines(verification.images),
        *([verification.note] if verification.note else []),
        *([f"levels: {verification.levels.verdict}"] if verification.levels else []),
        *map(_compared, (*verification.outputs, *verification.alone)),
        *(call.text for call in verification.calls),
    ]


def _compared(result: Compared) -> str:
    difference = (
        f"largest difference {result.absolute:.3g}, relative {result.relative:.3g} (allowed {result.limit:.3g})"
    )
    return f"{result.kind} {result.name!r}: " + "; ".join(filter(None, (difference, result.doubt)))


CONVERT_EXAMPLES = """
ir-interp convert model.onnx model.xml
ir-interp convert model.onnx model.xml --shape image:1,3,640,640 --report report.json
ir-interp convert model.xml model.onnx --opset 17 --html report.html
ir-interp convert layer.xml resize.onnx
ir-interp convert model.onnx portable.onnx --target tensorrt
ir-interp convert model.onnx resizes.json --dialect tensorrt
ir-interp convert program.pt2 model.xml
ir-interp convert model.tflite model.onnx
ir-interp convert model.keras model.xml
ir-interp convert zoo/ converted/ --to .xml --jobs 4
"""


class NamingDialects(Command):
    """A command whose help names the installed dialects; looked up late, as that takes a while."""

    def format_help(self, ctx: object, formatter: object) -> None:
        """Print the help."""
        from ir_interp.converters import dialects

        (option,) = (each for each in self.params if isinstance(each, TyperOption) and each.name == "dialect")
        before = option.help  # the option outlives this help
        option.help = f"{before or ''} One of: {', '.join(dialects.names())}."
        try:
            super().format_help(ctx, formatter)
        finally:
            option.help = before


@with_options(ConvertOptions)
def convert(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="SOURCE",
            help=f"A model or layers: {listed(WITH_RESIZES)}.",
        ),
    ],
    destination: Annotated[
        Path, typer.Argument(metavar="DESTINATION", help="The .xml (with its .bin), .onnx, .json or .py file to write.")
    ],
    options: ConvertOptions,
) -> int:
    """Convert a model or layer and prove the result.

    A resize without an exact form is refused, and nothing is written. Existing outputs are overwritten; inputs never
    are. --html also describes a refusal.

    With --to, every model of a folder becomes a file in the folder DESTINATION, and results.jsonl there reports each.
    Files that already have the format are skipped.
    """
    form = printed_form(options)
    if options.to is not None:
        check_place(options, FOLDER, "with --to")
        return _convert_folder(source, destination, options.to, options, form)
    _check_file(source)
    check_place(options, FILE, "without --to")
    report, html, image = options.report, options.html, options.image
    check_image(image, html)
    check_outputs([path for path in (destination, report, html) if path], [image] if image else [])
    # Without a verification nothing is random.
    seed = options.seed if options.verify else None
    provenance = partial(_provenance, models=(source,), inputs=options.inputs, seed=seed, image=image)

    def save_page(report: ConversionReport, path: Path) -> None:
        from ir_interp.converters.pages import conversion_and_comparison_pages, frame

        shapes = report.verification.shapes if report.verification else options.shapes
        frame.save(conversion_and_comparison_pages.conversion_page(report, provenance(shapes=shapes)), path)

    writers = {report: _save_json, html: save_page}
    reports = {path: save for path, save in writers.items() if path}
    try:
        with printed_results.progress_bar(options.quiet) as report_progress:
            complete = replace(options, reports=reports, progress=report_progress)
            conversion = ir_interp.convert(source, destination, **keywords(complete))
    # An output that cannot be written is no refusal of the model, which the page would describe.
    except OutputError:
        raise
    except (IrInterpError, ExceptionGroup) as error:
        if html:
            _save_refusal(html, source, destination, options.semantics, error, provenance(shapes=options.shapes))
        raise
    print_result(form, conversion, lambda: show_conversion(conversion))
    return 0


def _check_file(source: Path) -> None:
    """Raise IrInterpError for a folder other than a SavedModel."""
    from ir_interp.converters.sources.readers import model_file

    if is_folder(model_file(source)):
        remedy = f"to convert its models: ir-interp convert {source} converted --to .xml"
        raise IrInterpError(f"{source}: is a folder; expected a model; {remedy}")


def _convert_folder(source: Path, destination: Path, to: str, options: ConvertOptions, form: str) -> int:
    """Convert every model of a folder, with the options that one file would be converted with."""
    from ir_interp.converters.conversion.routes import PATHS
    from ir_interp.converters.fleet import Conversion

    suffix = to if to.startswith(".") else f".{to}"
    written = {kind for _, kind in PATHS}
    if FileKind.of(f"x{suffix}") not in written:
        raise IrInterpError(f"--to {to!r}: expected one of {', '.join(sorted(kind.value for kind in written))}")
    root = source if is_folder(source) else Path()
    work = Conversion(root=root, destination=destination, suffix=suffix, options=options)
    results = options.results or destination / "results.jsonl"
    _, code = printed_results.run_fleet([source], work, options, results, form)
    return code


def _save_json(report: ConversionReport, path: Path) -> None:
    path.write_text(printed_results.printed_json(report) + "\n", encoding="utf-8")


def _provenance(**facts: Any) -> Provenance:
    from ir_interp.converters.pages.frame import Provenance

    return Provenance(command=called_command(), **facts)


def _save_refusal(
    path: Path, source: Path, destination: Path, semantics: Semantics, error: Exception, provenance: Provenance
) -> None:
    from ir_interp.converters.pages import conversion_and_comparison_pages, frame

    check_outputs([path], [source, destination])
    frame.save(conversion_and_comparison_pages.refusal_page(source, destination, semantics, error, provenance), path)


COMPARE_EXAMPLES = """
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
    with printed_results.progress_bar(options.quiet) as report_progress:
        options = replace(options, progress=report_progress, reference=second if is_saved else None)
        comparison = ir_interp.compare(first, None if is_saved else second, **keywords(options))
    if options.html:
        _save_page(options.html, comparison, options)
    print_result(form, comparison, lambda: _show(comparison))
    return 0 if comparison.passes else 1


def _save_page(path: Path, comparison: ModelComparison, options: CompareOptions) -> None:
    from ir_interp.converters.pages import conversion_and_comparison_pages, frame
    from ir_interp.converters.pages.frame import Provenance

    provenance = Provenance(
        command=called_command(),
        models=(comparison.first, comparison.second),
        shapes=comparison.shapes,
        inputs=options.inputs,
        seed=options.seed,
        image=options.image,
    )
    frame.save(conversion_and_comparison_pages.comparison_page(comparison, provenance), path)


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
    from ir_interp.views import figures, likeness

    if options.picture:
        figure = likeness.picture(comparison, pair)
        with replacing(options.picture) as (temporary,):
            figures.save(figure, temporary, FileKind.of(options.picture) or FileKind.PICTURE)
    print_result(form, comparison, lambda: print(printable(comparison.text)))
    return 1 if comparison.unequal else 0


def _show(comparison: ModelComparison) -> None:
    from ir_interp.cli.terminal import Console
    from ir_interp.converters.reports import Agreement, fed_lines
    from ir_interp.converters.verify.task_metrics import WORST

    console = Console()
    for line in (*fed_lines(comparison.images), *(f"note: {text}" for text in comparison.notes)):
        console.say(line)
    for output in comparison.outputs:
        _show_output(console, output, comparison)
    if comparison.inputs:
        console.say(f"the worst of {len(comparison.inputs)} inputs", "bold")
    for each in comparison.inputs[:WORST]:
        console.say(each.text)
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
        console.say(f"    {quote_shell(*comparison.next_command)}")
    console.say(comparison.summary)


def _show_output(console: Console, output: OutputComparison, comparison: ModelComparison) -> None:
    called = labels((comparison.first, comparison.second))
    models = ((comparison.first, output.first), (comparison.second, output.second))
    rows = [(called[str(path)], *values.text) for path, values in models]
    console.table(("model", "shape", "min", "mean", "max"), rows, title=f"output {output.name}")
    console.say(output.verdict, "green" if output.compared.passes else "red")
    for metric in output.metrics:
        console.say(metric.text)
    width = min(_WIDTH, console.width - _LABELS)
    most = max((bucket.count for bucket in output.histogram), default=0)
    for line in [
        f"  {bucket.label:>16} {'#' * math.ceil(width * bucket.count / most) if most else '':<{width}} {bucket.count}"
        for bucket in output.histogram
    ]:
        console.say(line)


COMMANDS = {
    "convert": (convert, CONVERT_EXAMPLES, NamingDialects),
    "compare": (compare, COMPARE_EXAMPLES),
}
"""The functions of the commands and their examples, by name."""
