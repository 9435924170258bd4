"""``ir-interp convert``: translate a file and report how exact every resize is."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperOption

import ir_interp
from ir_interp.cli import fleet, json_schemas, progress
from ir_interp.cli.command_help import Command
from ir_interp.cli.conversion_text import show
from ir_interp.cli.flags import with_options
from ir_interp.cli.invocation import check_image, command, print_result, printed_form
from ir_interp.errors import IrInterpError
from ir_interp.files.atomic import OutputError, check_outputs
from ir_interp.files.kinds import WITH_RESIZES, FileKind, listed
from ir_interp.files.paths import is_folder
from ir_interp.options.convert_options import FILE, FOLDER, ConvertOptions
from ir_interp.options.declaration import check_place, keywords
from ir_interp.translation.dialect import Semantics

if TYPE_CHECKING:
    from ir_interp.converters.pages.provenance import Provenance
    from ir_interp.converters.reports.conversion_report import ConversionReport

EXAMPLES = """
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

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the help."""
        from ir_interp.converters.sources import registry

        dialects = f" One of: {', '.join(registry.names())}."
        for option in self.params:
            if isinstance(option, TyperOption) and option.name == "dialect":
                option.help = f"{(option.help or '').removesuffix(dialects)}{dialects}"  # of a second call, too
        super().format_help(ctx, formatter)


COMMAND = NamingDialects


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
        from ir_interp.converters.pages import conversion_page, frame

        shapes = report.verification.shapes if report.verification else options.shapes
        frame.save(conversion_page.conversion_page(report, provenance(shapes=shapes)), path)

    writers = {report: _save_json, html: save_page}
    reports = {path: save for path, save in writers.items() if path}
    try:
        with progress.bar(options.quiet) as report_progress:
            complete = replace(options, reports=reports, progress=report_progress)
            conversion = ir_interp.convert(source, destination, **keywords(complete))
    # An output that cannot be written is no refusal of the model, which the page would describe.
    except OutputError:
        raise
    except (IrInterpError, ExceptionGroup) as error:
        if html:
            _save_refusal(html, source, destination, options.semantics, error, provenance(shapes=options.shapes))
        raise
    print_result(form, conversion.record, lambda: show(conversion))
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
    from ir_interp.converters.fleet.work import Conversion

    suffix = to if to.startswith(".") else f".{to}"
    written = {kind for _, kind in PATHS}
    if FileKind.of(f"x{suffix}") not in written:
        raise IrInterpError(f"--to {to!r}: expected one of {', '.join(sorted(kind.value for kind in written))}")
    root = source if is_folder(source) else Path()
    work = Conversion(root=root, destination=destination, suffix=suffix, options=options)
    results = options.results or destination / "results.jsonl"
    _, is_read = fleet.run([source], work, options, results, form)
    return 0 if is_read else 1


def _save_json(report: ConversionReport, path: Path) -> None:
    path.write_text(json_schemas.printed(report.record()) + "\n", encoding="utf-8")


def _provenance(**facts: Any) -> Provenance:
    from ir_interp.converters.pages.provenance import Provenance

    return Provenance(command=command(), **facts)


def _save_refusal(
    path: Path, source: Path, destination: Path, semantics: Semantics, error: Exception, provenance: Provenance
) -> None:
    from ir_interp.converters.pages import conversion_page, frame

    check_outputs([path], [source, destination])
    frame.save(conversion_page.refusal_page(source, destination, semantics, error, provenance), path)
