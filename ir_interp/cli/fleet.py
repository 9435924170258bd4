"""Many models at once: results to a file as they come, a summary at the end."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ir_interp.cli import progress
from ir_interp.errors import IrInterpError, ReadError
from ir_interp.text.names import shown
from ir_interp.version import VERSION
from ir_interp.views.describe import count

if TYPE_CHECKING:
    from ir_interp.converters.fleet.summary import Summary


def refuse(options: dict[str, Any], why: str) -> None:
    """Raise IrInterpError for options that are given, and have no effect."""
    for name, given in options.items():
        if given:
            raise IrInterpError(f"{name} has no effect {why}")


def run(
    models: list[Path], setting: Any, results: Path, crew: dict[str, Any], *, form: str, quiet: bool
) -> tuple[Summary, bool]:
    """Work on all models, and print what comes of them; return that, and whether everything could be read.

    ``crew`` are the fields of a ``Crew``, as far as they are given.
    """
    from ir_interp.converters.audit.auditing import expanded
    from ir_interp.converters.fleet import work
    from ir_interp.converters.fleet.results import Results

    files, closed = expanded(models)
    with progress.bar(quiet) as told, Results(results, f"{VERSION} {setting.identity}") as lines:
        given = {name: value for name, value in crew.items() if value is not None}
        summary = work.run(files, setting, lines, work.Crew(**given), told)
    _print(summary, form, results)
    _tell(closed)
    return summary, not (closed or summary.errors)


def _tell(errors: list[ReadError]) -> None:
    for error in errors:
        print(f"error: {shown(str(error))}", file=sys.stderr)


def _print(summary: Summary, form: str, results: Path) -> None:
    from ir_interp.cli.terminal import Console

    if form == "json":
        print(json.dumps(summary.record(), indent=2))
    elif form == "text":
        console = Console()
        for title, rows in summary.tables():
            if rows:
                console.table((title, "count"), rows)
        unread = f", {count(summary.errors, 'model')} with errors" if summary.errors else ""
        console.say(f"{count(summary.models, 'model')}, {count(summary.resizes, 'resize')}{unread}: {results}")
