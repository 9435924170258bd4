"""The report of an audit in a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from ir_interp.cli.folding import folded_cells, print_findings
from ir_interp.files.kinds import FileKind
from ir_interp.processor import processor
from ir_interp.text.quoting import shell
from ir_interp.views.describe import count

if TYPE_CHECKING:
    from ir_interp.cli.terminal import Cell, Console
    from ir_interp.converters.audit.audit_report import Audit
    from ir_interp.converters.audit.findings import Audited, Finding, UnreadResize


_NAMED = 5  # files that a note names


def show(report: Audit) -> None:
    """Print a table for each file, then the findings, each with the next step."""
    from ir_interp.cli.terminal import Console
    from ir_interp.converters.audit.findings import by_runtimes
    from ir_interp.converters.audit.preprocessing import by_input

    console = Console()
    for those in by_runtimes(report.rows):
        _show_files(console, those)
    _show_unread(console, report.unread)
    for costs in by_input(report.preprocessing):
        if costs.finding is None:
            console.say(f"{costs.where}: {costs.text}")
    _show_findings(console, report.findings)
    for line in _notes(report):
        console.say(line)
    unread = f", {count(len(report.errors), 'file')} not read" if report.errors else ""
    more = "; `ir-interp explain CODE` explains a finding" if report.findings else ""
    total = count(len(report.rows) + len(report.unread), "resize")
    console.say(f"{total}, {count(len(report.findings), 'finding')}{unread}{more}")


def _notes(report: Audit) -> Iterator[str]:
    """Yield the models without resizes, and what an audit of an IR cannot see."""
    if report.empty:
        more = f" and {count(len(report.empty) - _NAMED, 'more file')}" if len(report.empty) > _NAMED else ""
        yield f"no resize in {', '.join(report.empty[:_NAMED])}{more}"
    files = (*report.files, *report.empty)
    converted = next((file for file in files if FileKind.of(file) is FileKind.IR), "")
    if converted:
        step = shell("ir-interp", "compare", "SOURCE.onnx", converted)
        yield f"note: what a converter lost is invisible in its IR; `{step}` finds it"


def _show_findings(console: Console, findings: Sequence[Finding]) -> None:
    """Print findings of one kind in a file as one, with the command that comes next."""
    from ir_interp.converters.conversion.next_steps import mistaken, next_step

    files = mistaken(findings)
    print_findings(
        console,
        (
            (finding.where, (finding.file, finding.code, finding.message, finding.severity, next_step(finding, files)))
            for finding in findings
        ),
    )


def _show_files(console: Console, rows: Sequence[Audited]) -> None:
    """Print a table for each file; the file is named above it."""
    ran = ["run"] if any(row.ran for row in rows) else []
    columns = ("resize", *rows[0].titles.values(), *ran)
    for label, those in groupby(rows, key=lambda row: row.label):
        cells = ((row.op.name or row.op.where, (*_verdicts(row), *([row.ran] if ran else []))) for row in those)
        console.table(columns, folded_cells(cells), title=label)
    seen = {name for row in rows for name in row.seen}
    idle = [title for name, title in rows[0].titles.items() if name not in seen]
    if seen:
        console.say(f"run on this processor: {processor().value}")
    if seen and idle:
        console.say(f"predicted, not run: {', '.join(idle)}")


def _show_unread(console: Console, rows: Sequence[UnreadResize]) -> None:
    """Print a table for each file of the resizes that cannot be read."""
    for label, those in groupby(rows, key=lambda row: row.label):
        cells = ((row.resize or row.where, ("unknown", row.problem)) for row in those)
        console.table(("resize", "every runtime", "cannot be read"), folded_cells(cells), title=label)


def _verdicts(row: Audited) -> tuple[Cell, ...]:
    from ir_interp.cli.terminal import Marked
    from ir_interp.converters.audit.formats import TONES

    return tuple(Marked(row.verdicts[name].short, TONES[row.verdicts[name].kind]) for name in row.titles)
