"""An audit as a whole: which models, which resizes of these, and which findings are wanted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

from ir_interp.errors import ReadError, SpecError, closest
from ir_interp.rules import RULES, Severity
from ir_interp.text.names import labels

from ..forecasts.runtimes_asked import NAMES, named
from ..report import Progress, silent
from ..sources.readers import Source, as_file, shown_path
from .auditing import expanded
from .chosen_shapes import check
from .file_jobs import Setting, in_processes
from .findings import Audited, Finding
from .preprocessing import CODE, Cost, Preprocessing, measured


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What is asked of an audit; ``ir_interp.audit`` says what each means."""

    run: bool = False
    runtimes: tuple[str, ...] | None = None
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    jobs: int = 1
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    preprocessing: Preprocessing | None = None
    progress: Progress = silent

    def __post_init__(self) -> None:
        for word in self.runtimes or ():
            _check_runtime(word)
        for word in (*self.select, *self.ignore):
            _check_code(word, tuple(RULES))
        if self.jobs < 1:
            raise SpecError(f"jobs is {self.jobs}; expected at least 1")

    @property
    def asked(self) -> frozenset[str] | None:
        """The runtimes that are asked, by name; None for those that every audit asks."""
        return None if self.runtimes is None else named(self.runtimes)

    @property
    def identity(self) -> str:
        """What decides over the result of a model, as text."""
        return repr(
            (
                self.run,
                self.asked and sorted(self.asked),
                self.select,
                self.ignore,
                sorted(self.shapes.items()),
                self.preprocessing,
            )
        )

    def wants(self, code: str) -> bool:
        """Say whether a code is selected, and not ignored more precisely than it is selected."""
        chosen = max((len(each) for each in self.select or ("",) if code.startswith(each)), default=-1)
        unwanted = max((len(each) for each in self.ignore if code.startswith(each)), default=-1)
        return chosen > unwanted


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """Every resize of some models with its verdicts, the findings that are wanted, and what could not be read.

    ``preprocessing`` is what another resize before a model costs, where that was asked for.
    """

    rows: tuple[Audited, ...]
    findings: tuple[Finding, ...]
    errors: tuple[ReadError, ...] = ()
    preprocessing: tuple[Cost, ...] = ()

    def with_severities(self, severities: Mapping[str, Severity]) -> Audit:
        """Return the same audit, in which findings about a runtime have another severity.

        Raises SpecError for a name that is no runtime's.
        """
        for name in severities:
            _check_runtime(name)
        found = (replace(each, severity=severities.get(each.runtime or "", each.severity)) for each in self.findings)
        return replace(self, findings=tuple(found))

    def fails(self, *on: str) -> bool:
        """Say whether something was found that matters: a finding that is no note, of any kind or of some.

        Kinds are "differs", "refused" (or crashes), "unknown", "mistake", or codes and their beginnings.
        Raises SpecError for others.
        """
        wanted = codes_of(on)
        return any(each.severity is not Severity.NOTE and each.code.startswith(wanted) for each in self.findings)


FAILURES = {
    "differs": ("IRI00", "IRI023"),
    "refused": ("IRI021", "IRI022"),
    "unknown": ("IRI025",),
    "mistake": ("IRI01",),
}
"""Kinds of findings, by the beginnings of their codes."""


def codes_of(kinds: Sequence[str]) -> tuple[str, ...]:
    """Return the beginnings of the codes that some kinds of findings, or codes, stand for; every code's for none.

    Raises SpecError for other words.
    """
    for word in kinds:
        if word not in FAILURES:
            _check_code(word, (*FAILURES, *RULES))
    return tuple(code for word in kinds for code in FAILURES.get(word, (word,))) or ("",)


def _check_runtime(name: str) -> None:
    if name not in NAMES:
        raise SpecError(f"unknown runtime {name!r}; {closest(name, NAMES)}")


def _check_code(word: str, known: Sequence[str]) -> None:
    if not word or not any(code.startswith(word) for code in RULES):
        raise SpecError(f"no code begins with {word!r}; {closest(word, known)}")


def audited(sources: Sequence[Source], options: Options) -> Audit:
    """Return the audit of some models, and of those in folders; see ``ir_interp.audit``."""
    with ExitStack() as stack:
        paths = [stack.enter_context(as_file(source, "models")) for source in sources]
        names = {str(path): str(shown_path(each, path)) for each, path in zip(sources, paths, strict=True)}
        files, closed = expanded(paths)
        if options.shapes:
            check(files, options.shapes)
        setting = Setting(run=options.run, runtimes=options.asked, lengths=options.shapes)
        rows, errors = in_processes(files, options.jobs, setting, options.progress)
        errors = [*closed, *errors]
        costs: list[Cost] = []
        if options.preprocessing is not None and options.wants(CODE):
            unread = {error.where for error in errors}
            called = labels(names.get(str(path), str(path)) for path in files)
            readable = {path: called[names.get(str(path), str(path))] for path in files if path.name not in unread}
            costs, more = measured(readable, options.preprocessing, options.shapes)
            costs = [replace(each, file=names.get(each.file, each.file)) for each in costs]
            errors += more
    rows = _labelled([replace(row, file=names.get(row.file, row.file)) for row in rows])
    asked = ((*row.findings, *(row.on_request if options.select else ())) for row in rows)
    findings = tuple(each for row in asked for each in row if options.wants(each.code))
    before = tuple(each.finding for each in costs if each.likeness.unequal)
    return Audit(rows=tuple(rows), findings=(*before, *findings), errors=tuple(errors), preprocessing=tuple(costs))


def _labelled(rows: Sequence[Audited]) -> list[Audited]:
    """Return resizes whose places begin with a name that no other file has."""
    called = labels(row.file for row in rows)
    return [_under(row, called[row.file]) for row in rows]


def _under(row: Audited, label: str) -> Audited:
    where = label + row.op.where.removeprefix(Path(row.file).name)
    return replace(row, label=label, op=replace(row.op, where=where))
