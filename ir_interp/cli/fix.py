"""``ir-interp fix``: repair likely exporter mistakes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import ir_interp
from ir_interp.cli import progress
from ir_interp.cli.flags import with_options
from ir_interp.cli.invocation import print_result, printed_form
from ir_interp.options.declaration import keywords
from ir_interp.options.fix_options import FixOptions
from ir_interp.views.describe import count

if TYPE_CHECKING:
    from ir_interp.cli.terminal import Console
    from ir_interp.converters.fix.fixed_files import Fixed
    from ir_interp.converters.verify.output_comparison import OutputComparison

EXAMPLES = """
ir-interp fix model.onnx fixed.onnx
ir-interp fix model.onnx fixed.onnx --select IRI012 --layer shrink
ir-interp fix model.onnx fixed.onnx --input photo.png --std 255
"""


@with_options(FixOptions)
def fix(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="An .onnx model.")],
    output: Annotated[Path, typer.Argument(metavar="OUTPUT", help="The .onnx file to write.")],
    options: FixOptions,
) -> None:
    """Repair likely exporter mistakes in an ONNX model.

    These are the findings IRI011 to IRI016 and IRI018 of `ir-interp audit`. Nothing else in the model changes.
    """
    form = printed_form(options)
    with progress.bar(options.quiet) as report_progress:
        done = ir_interp.fix(model, output, **keywords(replace(options, progress=report_progress)))
    print_result(form, done.record, lambda: _show(done))


def _show(done: Fixed) -> None:
    from ir_interp.cli.terminal import Console
    from ir_interp.converters.reports.verification import fed_lines

    console = Console()
    rows = [
        (repair.op.name, remedy.code, remedy.text, done.changed(repair))
        for repair in done.repaired
        for remedy in repair.remedies
    ]
    title = f"{count(len(rows), 'mistake')} of {done.source.name} repaired"
    console.table(("resize", "mistake", "change", "its output"), rows, title=title)
    for error in done.unread:
        console.say(f"not read, left as it is: {error}")
    if done.note:
        console.say(done.note)
    if done.comparison:
        for line in fed_lines(done.comparison.images):
            console.say(line)
        for output in done.comparison.outputs:
            _show_output(console, output)
    if done.unsigned_products:
        console.say(f"weights of {count(done.unsigned_products, '8-bit product')} made unsigned: no sum saturates")
    if rows or done.unsigned_products:
        console.say("every other node, constant and name is as it was, byte for byte")
    console.say(f"wrote {done.destination}" + ("" if rows or done.unsigned_products else ", a copy"))


def _show_output(console: Console, output: OutputComparison) -> None:
    rows = [("before", *output.first.text), ("after", *output.second.text)]
    console.table(("", "shape", "min", "mean", "max"), rows, title=f"output {output.name}, which {output.seen.apart}")
