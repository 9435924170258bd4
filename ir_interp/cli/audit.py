"""``ir-interp audit``: what every runtime makes of every resize, before anything is converted."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import ir_interp
from ir_interp.atomic import check_outputs
from ir_interp.cli import options, progress
from ir_interp.names import shown
from ir_interp.rules import Severity
from ir_interp.views.describe import count

if TYPE_CHECKING:
    from ir_interp.converters.audit.audit import Audited, Finding
    from ir_interp.errors import ReadError

EXAMPLES = """
Examples:

  ir-interp audit model.onnx

  ir-interp audit models/ --jobs 2 --ignore IRI022 --format sarif

  ir-interp audit model.onnx --run --shape x:1,3,640,640 --runtime openvino --html report.html
"""


class Format(Enum):
    """How findings are printed."""

    TEXT = "text"
    JSON = "json"
    GITHUB = "github"
    SARIF = "sarif"


def audit(
    models: Annotated[list[Path], typer.Argument(help=".onnx models, IRs (.xml), or folders of them.")],
    run: Annotated[bool, typer.Option("--run", help="Run the installed runtimes as well, and compare.")] = False,
    shape: options.Shapes = None,
    runtime: Annotated[list[str] | None, typer.Option(help="Only these: onnxruntime, openvino, tensorrt, ...")] = None,
    select: Annotated[list[str] | None, typer.Option(help="Codes to report, or their beginnings: IRI02.")] = None,
    ignore: Annotated[list[str] | None, typer.Option(help="Codes not to report, or their beginnings.")] = None,
    style: Annotated[Format, typer.Option("--format", help="How to print.")] = Format.TEXT,
    jobs: Annotated[int, typer.Option(min=1, help="Processes that share the files.")] = 1,
    html: options.Html = None,
) -> int:
    """Say what each runtime makes of each resize, and what is likely a mistake. Exit code 1 where anything is found."""
    from ir_interp.converters.audit.audit import models as expanded
    from ir_interp.converters.audit.formats import FORMATS

    check_outputs([html] if html else [], expanded(models))
    with progress.bar() as report_progress:
        found = ir_interp.audit(
            models,
            run=run,
            shapes=options.shapes(shape or []),
            runtimes=runtime,
            select=select or (),
            ignore=ignore or (),
            jobs=jobs,
            progress=report_progress,
        )
    if html:
        from ir_interp.converters.pages import audit_page, frame

        frame.save(audit_page.audit_page(found.rows, found.findings, found.errors), html)
    if style is Format.TEXT:
        _show(found.rows, found.findings, found.errors)
    else:
        print(FORMATS[style.value](found.rows, found.findings, found.errors))
    for error in found.errors:
        print(f"error: {shown(str(error))}", file=sys.stderr)
    if found.errors:
        return 2
    return 1 if any(each.rule.severity is not Severity.NOTE for each in found.findings) else 0


def _show(rows: Sequence[Audited], findings: Sequence[Finding], errors: Sequence[ReadError]) -> None:
    from rich.table import Table

    from ir_interp.cli.terminal import Console, escape
    from ir_interp.converters.audit.audit import by_runtimes

    console = Console()
    for those in by_runtimes(rows):
        titles = those[0].titles
        table = Table(title_justify="left")
        ran = ["run"] if any(row.ran for row in those) else []
        for column in ("resize", *titles.values(), *ran):
            table.add_column(escape(column), overflow="fold")
        for row in those:
            verdicts = (row.verdicts[each].short for each in titles)
            table.add_row(*map(escape, (row.name, *verdicts, *([row.ran] if ran else []))))
        console.print(table)
    for finding in findings:
        line = f"{finding.where}: {finding.code} {finding.message}"
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    codes = ", ".join(dict.fromkeys(sorted(each.code for each in findings)))
    more = f" ({codes}; `ir-interp explain CODE` says more)" if codes else ""
    unread = f", {count(len(errors), 'file')} not read" if errors else ""
    console.print(
        f"{count(len(rows), 'resize')}, {count(len(findings), 'finding')}{unread}{more}",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )
