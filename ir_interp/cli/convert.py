"""``ir-interp convert``: translate a file, and say how exact every resize came out."""

from __future__ import annotations

import json
from enum import Enum
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand, TyperOption

import ir_interp
from ir_interp.atomic import OutputError, check_outputs
from ir_interp.cli import options, progress
from ir_interp.errors import IrInterpError
from ir_interp.translation.dialect import Semantics
from ir_interp.views.describe import count

if TYPE_CHECKING:
    from rich.table import Table

    from ir_interp.converters.report import Compared, ConversionReport, Verification

EXAMPLES = """
Examples:

  ir-interp convert model.onnx model.xml

  ir-interp convert model.onnx model.xml --shape image:1,3,640,640 --report report.json

  ir-interp convert model.xml model.onnx --opset 17 --html report.html

  ir-interp convert layer.xml resize.onnx

  ir-interp convert model.onnx portable.onnx --target tensorrt

  ir-interp convert model.onnx resizes.json --dialect tensorrt
"""


class Only(Enum):
    """A form that every resize must take."""

    NATIVE = "native"
    DECOMPOSED = "decomposed"


class NamingDialects(TyperCommand):
    """A command whose help names the dialects that there are; found late, as that takes a while."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the help."""
        from ir_interp.converters import registry

        for option in self.params:
            if isinstance(option, TyperOption) and option.name == "dialect":
                option.help = f"{option.help} One of: {', '.join(registry.names())}."
        super().format_help(ctx, formatter)


def convert(
    source: Annotated[Path, typer.Argument(help="An .onnx model, an IR or pasted layer (.xml), or layers as .json.")],
    destination: Annotated[Path, typer.Argument(help="An .xml (with its .bin), .onnx, .json or .py file.")],
    opset: Annotated[int | None, typer.Option(help="ONNX operator set: 11 to 21, of a single layer from 7.")] = None,
    dialect: Annotated[str, typer.Option(help="Dialect of a .json file to write.")] = "tensorrt",
    semantics: Annotated[
        Semantics,
        typer.Option(help="Which reading to take where several exist, types at the ends of an IR v10 included."),
    ] = Semantics.RUNTIME,
    target: Annotated[
        str | None, typer.Option(help="Of .onnx to .onnx, who is to run it: onnx:11 and the like, tensorrt, openvino.")
    ] = None,
    only: Annotated[Only | None, typer.Option(help="One form for all resizes of an .xml, or for a target.")] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Refuse what is not exact for every shape.")] = False,
    fp16: Annotated[bool, typer.Option("--fp16", help="Store weights of an .xml in half precision.")] = False,
    verify: Annotated[bool, typer.Option(help="Run both in their own runtimes before writing.")] = True,
    shape: options.Shapes = None,
    array: options.Arrays = None,
    seed: options.Seed = 0,
    mean: options.Mean = None,
    scale: options.Scale = None,
    layout: options.Layout = None,
    bgr: options.Bgr = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
    report: options.Json = None,
    html: options.Html = None,
) -> None:
    """Translate a file, and prove it; refuse what has no exact form, and write nothing then.

    What has the name of a result is replaced, but nothing that is read. The page of --html tells of a refusal, too.
    """
    shapes, inputs = options.shapes(shape or []), options.files(array or [])
    wanted = {report: _save_json, html: _save_page}
    try:
        with progress.bar() as report_progress:
            done = ir_interp.convert(
                source,
                destination,
                opset=opset,
                dialect=dialect,
                semantics=semantics,
                target=target,
                only=only and only.value,
                strict=strict,
                fp16=fp16,
                verify=verify,
                shapes=shapes,
                inputs=inputs,
                images=options.images(mean, scale, layout, bgr=bgr),
                seed=seed,
                progress=report_progress,
                reports={path: save for path, save in wanted.items() if path},
            )
    except OutputError:
        raise
    except (IrInterpError, ExceptionGroup) as error:
        if html:
            _save_refusal(html, source, destination, semantics, error)
        raise
    if as_json:
        print(_json(done))
    else:
        _show(done)


def _json(report: ConversionReport) -> str:
    return json.dumps(report.record(), indent=2)


def _save_json(report: ConversionReport, path: Path) -> None:
    path.write_text(_json(report) + "\n", encoding="utf-8")


def _save_page(report: ConversionReport, path: Path) -> None:
    from ir_interp.converters.pages import conversion_page, frame

    frame.save(conversion_page.conversion_page(report), path)


def _save_refusal(path: Path, source: Path, destination: Path, semantics: Semantics, error: Exception) -> None:
    from ir_interp.converters.pages import conversion_page, frame

    check_outputs([path], [source, destination])
    frame.save(conversion_page.refusal_page(source, destination, semantics, error), path)


def _show(report: ConversionReport) -> None:
    from rich.table import Table

    from ir_interp.cli.terminal import Console, escape

    console = Console()
    table = Table(title=escape(f"{count(len(report.rows), 'resize')} of {report.source.name}"), title_justify="left")
    for column in ("resize", "was", "became", "grade"):
        table.add_column(column, overflow="fold")
    for row in report.rows:
        grade = row.grade.value + (f" ({row.note})" if row.note else "")
        table.add_row(*map(escape, (row.name, row.configuration, row.form, grade)))
    if report.rows:
        console.print(table)
    if report.before and report.after:
        console.print(_operations(report.before, report.after))
    for line in _verified(report.verification):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    console.print(f"wrote {report.destination}", markup=False, highlight=False, soft_wrap=True)


def _operations(before: dict[str, int], after: dict[str, int]) -> Table:
    from rich.table import Table

    from ir_interp.cli.terminal import escape

    table = Table(title="operations", title_justify="left")
    for name, counts in (("before", before), ("after", after)):
        table.add_column(name)
        table.add_column(str(sum(counts.values())), justify="right")
    for (mine, many), (theirs, more) in zip_longest(before.items(), after.items(), fillvalue=("", "")):
        table.add_row(escape(mine), str(many), escape(theirs), str(more))
    return table


def _verified(verification: Verification | None) -> list[str]:
    if verification is None:
        return ["not verified"]
    return [
        *([verification.note] if verification.note else []),
        *map(_compared, (*verification.outputs, *verification.alone)),
    ]


def _compared(each: Compared) -> str:
    found = f"largest difference {each.absolute:.3g}, relative {each.relative:.3g} (allowed {each.limit:.3g})"
    return f"{each.kind} {each.name!r}: " + "; ".join(filter(None, (found, each.doubt)))
