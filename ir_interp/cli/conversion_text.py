"""The report of a conversion in a terminal."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING

from ir_interp.cli.folding import folded_cells, print_findings
from ir_interp.diagnostic_codes import Severity
from ir_interp.views.describe import count
from ir_interp.views.marks import OF_GRADE

if TYPE_CHECKING:
    from rich.table import Table

    from ir_interp.cli.terminal import Marked
    from ir_interp.converters.reports.conversion_report import ConversionReport, Row
    from ir_interp.converters.reports.verification import Compared, Verification


def show(report: ConversionReport) -> None:
    """Print the resizes, the operations before and after, and what verification found."""
    from ir_interp.cli.terminal import Console

    console = Console()
    rows = [(row.name, (row.configuration, row.form, _grade(row))) for row in report.rows]
    title = f"{count(len(rows), 'resize')} of {report.source.name}"
    if rows:
        console.table(("resize", "was", "became", "grade"), folded_cells(rows), title=title)
    if report.before and report.after:
        console.say("operations", "bold")
        console.print(_operations(report.before, report.after))
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
    from ir_interp.converters.reports.verification import fed_lines

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
