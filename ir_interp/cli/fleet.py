"""Many models at once: results to a file as they come, a summary at the end."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ir_interp.cli import json_schemas, progress
from ir_interp.errors import IrInterpError
from ir_interp.options.audit_options import AuditOptions
from ir_interp.options.convert_options import ConvertOptions
from ir_interp.text.names import printable
from ir_interp.version import VERSION
from ir_interp.views.describe import count

if TYPE_CHECKING:
    from ir_interp.converters.fleet.summary import Summary
    from ir_interp.converters.fleet.work import Work


def run(
    models: list[Path], work: Work, options: AuditOptions | ConvertOptions, results: Path, form: str
) -> tuple[Summary, bool]:
    """Work on all models, and print what comes of them; return that, and whether everything could be read."""
    from ir_interp.converters.audit.auditing import expanded
    from ir_interp.converters.fleet.results import Results
    from ir_interp.converters.fleet.work import Crew
    from ir_interp.converters.fleet.work import run as run_all

    if options.scheduler is not None and options.jobs > 1:
        raise IrInterpError("--jobs has no effect with --scheduler, whose workers share the files")
    inside = expanded(models)
    files, unread = inside.files, inside.closed
    work.check(files)
    work.prepare()
    crew = Crew(jobs=options.jobs, scheduler=options.scheduler)
    if options.time_limit is not None:
        crew = replace(crew, limit=options.time_limit)
    with progress.bar(options.quiet) as report_progress, Results(results, f"{VERSION} {work.identity}") as lines:
        summary = run_all(files, work, lines, crew, report_progress)
    if isinstance(options, AuditOptions) and options.table is not None:
        from ir_interp.converters.fleet import flat_table

        with Results(results, f"{VERSION} {work.identity}") as lines:
            flat_table.write(options.table, (record for _, record in lines.done(files)))
    _print(summary, form, results)
    if form == "text":
        print_skipped(inside.skipped)
    for error in unread:
        print(f"error: {printable(str(error))}", file=sys.stderr)
    return summary, not (unread or summary.errors)


def print_skipped(paths: Iterable[Path | str]) -> None:
    """Report .xml files in folders that are no IRs."""
    for path in paths:
        print(f"note: {printable(str(path))}: neither an IR nor a layer; skipped", file=sys.stderr)


def _print(summary: Summary, form: str, results: Path) -> None:
    from ir_interp.cli.terminal import Console

    if form == "json":
        print(json_schemas.printed(summary.record()))
    elif form == "text":
        console = Console()
        for title, rows in summary.tables():
            if rows:
                console.table((title, "count"), rows)
        unread = f", {count(summary.errors, 'model')} with errors" if summary.errors else ""
        console.say(f"{count(summary.models, 'model')}, {count(summary.resizes, 'resize')}{unread}: {results}")
