"""``ir-interp inspect``: every resize of a file, its formula in words, and what to know about it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

import ir_interp
from ir_interp.op import ResizeOp
from ir_interp.translation.dialect import Semantics
from ir_interp.views import describe
from ir_interp.views.describe import count

EXAMPLES = """
Examples:

  ir-interp inspect model.onnx

  ir-interp inspect model.xml --json

  ir-interp inspect layer.xml --semantics document
"""


def inspect(
    file: Annotated[Path, typer.Argument(help="An .onnx model, an IR or pasted layers (.xml), or layers as .json.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
    semantics: Annotated[
        Semantics, typer.Option(help="Which reading to take where several exist.")
    ] = Semantics.RUNTIME,
) -> None:
    """Show every resize of a file."""
    found = ir_interp.load(file, semantics=semantics)
    if as_json:
        print(json.dumps([_record(op) for op in found], indent=2))
    else:
        _show(file, found)


def _record(op: ResizeOp) -> dict[str, Any]:
    return {
        "name": op.name,
        "where": op.where,
        "dialect": op.dialect,
        "version": op.version,
        "shape": op.shape,
        "dtype": op.dtype,
        "target": op.spec.resized_to,
        "formula": describe.formula(op.spec),
        "arithmetic": op.spec.arithmetic.value,
        "diagnostics": [{"code": each.code, "message": each.message} for each in op.diagnostics],
    }


def _show(file: Path, found: list[ResizeOp]) -> None:
    from rich.table import Table

    from ir_interp.cli.terminal import Console, escape

    console = Console()
    table = Table(title=escape(f"{count(len(found), 'resize')} in {file.name}"), title_justify="left")
    for column in ("resize", "input", "target", "computes"):
        table.add_column(column, overflow="fold")
    for op in found:
        name = f"{escape(op.name or op.where)}\n{op.dialect} {op.version}"
        cells = (describe.shape_text(op.shape), op.spec.resized_to, describe.formula(op.spec))
        table.add_row(name, *map(escape, cells))
    console.print(table)
    for op in found:
        for diagnostic in op.diagnostics:
            console.print(f"{op.where}: {diagnostic}", style="yellow", markup=False, soft_wrap=True)
