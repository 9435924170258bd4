"""``ir-interp convert``: translate a file, and say how exact every resize came out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import ir_interp
from ir_interp.cli import options
from ir_interp.dialect import Semantics

if TYPE_CHECKING:
    from converters.report import ConversionReport

EXAMPLES = """
Examples:

  ir-interp convert model.onnx model.xml --verify

  ir-interp convert layer.xml resize.onnx --opset 11

  ir-interp convert model.onnx resizes.json --dialect tensorrt
"""


def convert(
    source: Annotated[Path, typer.Argument(help="An .onnx model, an IR or pasted layer (.xml), or layers as .json.")],
    destination: Annotated[Path, typer.Argument(help="An .xml (with its .bin), .onnx, .json or .py file.")],
    opset: Annotated[int | None, typer.Option(help="ONNX operator set to write, 7 to 21.")] = None,
    dialect: Annotated[str, typer.Option(help="Dialect of a .json file to write: tensorrt or tflite.")] = "tensorrt",
    semantics: Annotated[
        Semantics, typer.Option(help="Which reading to take where several exist.")
    ] = Semantics.RUNTIME,
    verify: Annotated[bool, typer.Option("--verify", help="Run both in their own runtimes before writing.")] = False,
    shape: Annotated[list[str] | None, typer.Option(help="Input lengths for --verify: x:1,3,640,640.")] = None,
) -> None:
    """Translate a file; refuse what has no exact form, and write nothing then."""
    report = ir_interp.convert(
        source,
        destination,
        opset=opset,
        dialect=dialect,
        semantics=semantics,
        verify=verify,
        shapes=options.shapes(shape or []),
    )
    _show(report)


def _show(report: ConversionReport) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console()
    table = Table(title=escape(f"{len(report.rows)} resizes of {report.source.name}"), title_justify="left")
    for column in ("resize", "became", "grade"):
        table.add_column(column, overflow="fold")
    for row in report.rows:
        grade = row.grade.value + (f" ({row.note})" if row.note else "")
        table.add_row(escape(row.name), escape(row.form), escape(grade))
    console.print(table)
    for name, difference in (report.differences or {}).items():
        console.print(f"output {name}: largest difference {difference:.3g}", markup=False, highlight=False)
    console.print(f"wrote {report.destination}", markup=False, highlight=False, soft_wrap=True)
