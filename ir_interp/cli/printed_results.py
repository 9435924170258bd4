"""Results as commands print them: JSON and its schema, folded rows, reports on written files, progress, fleets.

Identical resizes are one row with
their count, since models repeat a resize once for each of their levels or blocks. Results of many models go to a file
as they come, with a summary at the end.
"""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ir_interp.diagnostic_codes import Severity
from ir_interp.errors import IrInterpError, closest
from ir_interp.options.model_options import AuditOptions, ConvertOptions
from ir_interp.plain_text import printable
from ir_interp.records import Record, Schema, schema_of
from ir_interp.resize_op import count, shape_text
from ir_interp.translation.translate import OF_SEVERITY
from ir_interp.version import VERSION

if TYPE_CHECKING:
    from ir_interp.cli.terminal import Console, TableCell
    from ir_interp.converters.conversion.next_steps import ToAct
    from ir_interp.converters.fleet import Summary, Work

SCHEMA_VERSION = 1
"""The version of all schemas; it grows when a key changes its meaning or goes, not when one is added."""
_KEY = "schema_version"
_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_SUMMARY = "ir_interp.converters.fleet:Summary"
_RECORDS = {
    "audit": ("ir_interp.converters.audit.audit_report:Audit", _SUMMARY),
    "compare": ("ir_interp.converters.verify.model_pairs:ModelComparison", "ir_interp.views.likeness:Likeness"),
    "convert": ("ir_interp.converters.reports:ConversionReport", _SUMMARY),
    "explain": ("ir_interp.views.explanation:Explanation", "ir_interp.diagnostic_codes:Rule"),
    "fix": ("ir_interp.converters.fix:Fixed",),
    "identify": ("ir_interp.origins.candidates:Identified",),
    "inspect": ("ir_interp.cli.explanation:Inspected",),
    "plot": ("ir_interp.cli.printed_results:PlotRecord",),
    "preprocess": ("ir_interp.cli.printed_results:PreprocessRecord",),
    "run": ("ir_interp.cli.printed_results:RunRecord", "ir_interp.cli.printed_results:FolderRecord"),
    "reproduce": (
        "ir_interp.converters.reproduce.reproduction:Reproduced",
        "ir_interp.converters.reproduce.conformance_kit:Kit",
    ),
}
"""The records of each command; imported late, as most need the runtimes. Pipelines have a format of their own."""


def printed_json(record: Record) -> str:
    """Return a record as the JSON of a command, with the version of its schema."""
    return json.dumps({_KEY: SCHEMA_VERSION, **record.record()}, indent=2)


def prints_json(name: str) -> bool:
    """Say whether a command prints JSON."""
    return name in _RECORDS


def schema_of_command(name: str) -> Schema:
    """Return the schema of what ``ir-interp NAME --json`` prints. Raises IrInterpError for any other name."""
    if name not in _RECORDS:
        raise IrInterpError(f"no command {name!r} prints JSON; {closest(name, _RECORDS)}")
    title = f"ir-interp {name} --json, version {SCHEMA_VERSION}"
    kinds = [_type(place) for place in _RECORDS[name]]
    return {"$schema": _DIALECT, "title": title, **schema_of(kinds, {_KEY: SCHEMA_VERSION})}


def _type(place: str) -> type[Record]:
    module, _, name = place.partition(":")
    kind: type[Record] = getattr(importlib.import_module(module), name)
    return kind


def printed_form(options: Any) -> str:
    """Return how to print: the value of a format, or "none". Raises IrInterpError where options contradict."""
    forms = {
        "--format": options.style and str(options.style.value),
        "--json": options.as_json and "json",
        "--quiet": getattr(options, "quiet", False) and "none",
    }
    chosen = {form for form in forms.values() if form}
    if len(chosen) > 1:
        raise IrInterpError(f"{' and '.join(flag for flag, form in forms.items() if form)} exclude each other")
    return chosen.pop() if chosen else "text"


def print_result(form: str, record: Record, show: Callable[[], None]) -> None:
    """Print a result: as JSON, or as text by ``show``; nothing in the form "none"."""
    if form == "json":
        print(printed_json(record))
    elif form == "text":
        show()


def check_image(image: Path | None, html: Path | None) -> None:
    """Raise IrInterpError for an --image that no page would show, ReadError for a file that is no image."""
    from ir_interp.views.image_arrays import pixels

    if image and not html:
        raise IrInterpError("--image has no effect without --html")
    if image:
        pixels(image)


@contextmanager
def progress_bar(quiet: bool = False, what: str = "reading") -> Iterator[Callable[[str, int, int], None]]:
    """Show a bar where somebody looks at a terminal, unless ``quiet``.

    Yields what tells it what is done, how much, and of how much.
    """
    from rich.console import Console
    from rich.progress import Progress

    from ir_interp.cli.terminal import escape

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=quiet or not console.is_terminal) as shown:
        task = shown.add_task(escape(what), total=None)
        yield lambda what, done, total: shown.update(
            task, description=escape(what), completed=done, total=total or None
        )


FindingKey = tuple[str, str, str, Severity, str]
"""The shared parts of findings that are printed as one: file, code, message, severity, next command."""
Key = TypeVar("Key", bound=Hashable)
_NAMED = 2  # resizes whose names are all shown; of more, the first and the last


def folded(rows: Iterable[tuple[str, Key]]) -> list[tuple[tuple[str, ...], Key]]:
    """Return the names of the rows that are otherwise alike, and what they share, in the order of the first ones."""
    names: dict[Key, list[str]] = {}
    for name, rest in rows:
        names.setdefault(rest, []).append(name)
    return [(tuple(those), rest) for rest, those in names.items()]


def folded_cells(rows: Iterable[tuple[str, tuple[TableCell, ...]]]) -> list[tuple[TableCell, ...]]:
    """Return the rows of a table of resizes, their names as the first cell."""
    return [(name_lines(names), *rest) for names, rest in folded(rows)]


def name_lines(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the lines that stand for the names of resizes."""
    if len(names) <= _NAMED:
        return names
    return names[0], f"... {names[-1]}", count(len(names), "resize")


def place(places: tuple[str, ...]) -> str:
    """Return the first place of a finding, and how many more there are."""
    return places[0] + (f" and {len(places) - 1} more" if len(places) > 1 else "")


def print_findings(console: Console, findings: Iterable[tuple[str, FindingKey]]) -> None:
    """Print findings by their places; under each that is no note, the command that comes next."""
    for places, (_, code, message, severity, step) in folded(findings):
        console.mark(f"{place(places)}: {code} {message}", OF_SEVERITY[severity])
        if severity is not Severity.NOTE:
            console.say(f"    {step}")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord(Record):
    """A resized array; ``resize`` is its name or call, ``dtype`` None for a store, which keeps that of its source.

    ``caveat`` is how the values may differ from those of the library that is called; empty if none do.
    """

    resize: str
    source: str
    source_shape: tuple[int, ...]
    destination: str
    shape: tuple[int, ...]
    dtype: str | None = None
    caveat: str = ""

    @property
    def text(self) -> str:
        """The resize, both shapes and the file, in one line."""
        shapes = f"{shape_text(self.source_shape)} -> {shape_text(self.shape)}"
        line = f"{self.resize}: {' '.join(filter(None, (shapes, self.dtype)))}, {self.destination}"
        return f"{line}; {self.caveat}" if self.caveat else line


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderRecord(Record):
    """Many resized images: how many were written to a folder, and why others were not."""

    resize: str
    destination: str
    images: int
    errors: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The counts, in one line."""
        failed = f", {count(len(self.errors), 'file')} with errors" if self.errors else ""
        return f"{self.resize}: {count(self.images, 'image')}{failed}, {self.destination}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlotRecord(Record):
    """A picture of a resize of ``source``; ``what`` is the value of the option of this name."""

    source: str
    destination: str
    what: str

    @property
    def text(self) -> str:
        """The file, in one line."""
        return f"wrote {self.destination}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PreprocessRecord(Record):
    """A model with preprocessing; ``shape`` of its ``input`` has a name for each dynamic dimension."""

    source: str
    destination: str
    input: str
    dtype: str
    shape: tuple[int | str, ...]

    @property
    def text(self) -> str:
        """The file and its input, in one line."""
        return f"wrote {self.destination}: input {self.input!r}, {self.dtype} [{', '.join(map(str, self.shape))}]"


def report_written(record: RunRecord | FolderRecord | PlotRecord | PreprocessRecord, options: object) -> None:
    """Print a record as the options of its command ask."""
    print_result(printed_form(options), record, lambda: print(printable(record.text)))


def print_models(console: Console, models: Sequence[ToAct], number: int, total: int) -> None:
    """Print the models to act on, each with its first problem and the command that comes next."""
    if not models:
        return
    console.say(f"models to act on: {number} of {total}", "bold")
    for model in models:
        console.mark(model.text, "bad" if model.is_error else "doubt")
        if model.command:
            console.say(f"    {model.command}")
    if number > len(models):
        console.say(f"and {number - len(models)} more")


def run_fleet(
    models: list[Path], work: Work, options: AuditOptions | ConvertOptions, results: Path, form: str
) -> tuple[Summary, int]:
    """Work on all models, and print what comes of them; return that, and the exit code of their errors.

    It is 2 if anything cannot be read, 1 if a model has no exact form, otherwise 0.
    """
    from ir_interp.converters.audit.auditing import expanded
    from ir_interp.converters.fleet import Crew, Results, run as run_all

    if options.scheduler is not None and options.jobs > 1:
        raise IrInterpError("--jobs has no effect with --scheduler, whose workers share the files")
    inside = expanded(models)
    files, unread = inside.files, inside.closed
    work.check(files)
    work.prepare()
    crew = Crew(jobs=options.jobs, scheduler=options.scheduler)
    if options.time_limit is not None:
        crew = replace(crew, limit=options.time_limit)
    with progress_bar(options.quiet) as report_progress, Results(results, f"{VERSION} {work.identity}") as lines:
        summary = run_all(files, work, lines, crew, report_progress)
    if isinstance(options, AuditOptions) and options.table is not None:
        from ir_interp.converters import fleet

        with Results(results, f"{VERSION} {work.identity}") as lines:
            fleet.write_table(options.table, (record for _, record in lines.done(files)))
    _print(summary, form, results)
    if form == "text":
        print_skipped(inside.skipped)
    for error in unread:
        print(f"error: {printable(str(error))}", file=sys.stderr)
    is_unread = bool(unread) or summary.errors > summary.refused
    return summary, 2 if is_unread else int(summary.refused > 0)


def print_skipped(paths: Iterable[Path | str]) -> None:
    """Report .xml files in folders that are no IRs."""
    for path in paths:
        print(f"note: {printable(str(path))}: neither an IR nor a layer; skipped", file=sys.stderr)


def _print(summary: Summary, form: str, results: Path) -> None:
    from ir_interp.cli.terminal import Console

    if form == "json":
        print(printed_json(summary))
    elif form == "text":
        console = Console()
        for title, rows in summary.tables():
            if rows:
                console.table((title, "count"), rows)
        print_models(console, summary.to_act, summary.models_to_act, summary.models)
        unread = f", {count(summary.errors, 'model')} with errors" if summary.errors else ""
        skipped = f", {count(summary.skipped, 'file')} skipped: already in this format" if summary.skipped else ""
        console.say(f"{count(summary.models, 'model')}, {count(summary.resizes, 'resize')}{unread}{skipped}; {results}")
    elif form == "none":  # errors are printed all the same
        failed = [model for model in summary.to_act if model.is_error]
        for model in failed:
            print(f"error: {printable(f'{model.file}: {model.problem}')}", file=sys.stderr)
        if summary.errors > len(failed):
            print(f"error: {count(summary.errors - len(failed), 'model')} more; {results} has all", file=sys.stderr)
