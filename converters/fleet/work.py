"""Audit or convert many models: a record for each, and a summary."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ir_interp.errors import IrInterpError, leaves
from ir_interp.files.atomic import OutputError
from ir_interp.files.kinds import FileKind
from ir_interp.options.audit_options import AuditOptions
from ir_interp.options.convert_options import ConvertOptions
from ir_interp.options.declaration import identity
from ir_interp.text.keyword_names import flags_stay

from ..audit import audit_report
from ..audit.formats import record as audit_record
from ..conversion.converting import convert
from ..conversion.effects import check_options
from ..conversion.routes import conversion_kinds
from ..reports.conversion_report import Progress, silent
from ..workers import pool
from . import cluster
from .exporters import UNKNOWN, exporter
from .results import Results, stamp
from .summary import Summary


@dataclass(frozen=True, slots=True, kw_only=True)
class Auditing:
    """The options that are the same for every model."""

    options: AuditOptions

    @property
    def identity(self) -> str:
        """The options that the result of a model depends on, as text."""
        runtimes = audit_report.asked_runtimes(self.options)  # "installed" stands for other runtimes on another day
        return identity(replace(self.options, runtimes=None if runtimes is None else tuple(sorted(runtimes))))

    def check(self, paths: Sequence[Path]) -> None:
        """Raise SpecError for meaningless options, before any model is read."""
        audit_report.check_options(self.options)

    def prepare(self) -> None:
        """Do nothing: an audit writes only its results."""

    def record(self, path: Path) -> dict[str, Any]:
        """Return the result of auditing one model."""
        audit = audit_report.audited([path], replace(self.options, jobs=1, progress=silent))
        return {**audit_record(audit.with_severities(self.options.severities).without(self.options.per_file_ignores))}


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversion:
    """The conversion of every model: ``root`` is the folder to which its path is relative."""

    root: Path
    destination: Path
    suffix: str
    options: ConvertOptions

    @property
    def identity(self) -> str:
        """The options that the result of a model depends on, as text."""
        return repr((str(self.destination), self.suffix, identity(self.options)))

    def of(self, path: Path) -> Path:
        """Return where the result of a model goes."""
        inside = path.relative_to(self.root) if path.is_relative_to(self.root) else Path(path.name)
        return (self.destination / inside).with_suffix(self.suffix)

    def check(self, paths: Sequence[Path]) -> None:
        """Raise IrInterpError for options without an effect on any model, and for two models with one result.

        If an option has an effect on models of one kind only, those of another kind are refused one by one.
        """
        pairs = [(path, conversion_kinds(path, self.of(path))) for path in paths]
        sources = [(path, kinds) for path, kinds in pairs if kinds is not None]
        problems = list({kinds: self._problem(path, kinds) for path, kinds in sources}.values())
        # Only if no model is affected is the option a mistake of the whole call.
        if problems and problems[0] is not None and all(problems):
            raise problems[0]
        sources_of: dict[Path, Path] = {}
        for path, _ in sources:
            other = sources_of.setdefault(self.of(path), path)
            if other != path:
                raise IrInterpError(f"{other} and {path} would both become {self.of(path)}; convert them one by one")

    def _problem(self, path: Path, kinds: tuple[FileKind, FileKind]) -> IrInterpError | None:
        try:
            check_options(kinds, self.options, path.name)
        except IrInterpError as problem:
            return problem
        return None

    def prepare(self) -> None:
        """Create the folder of the results. Raises OutputError if that fails."""
        try:
            self.destination.mkdir(exist_ok=True)
        except OSError as error:
            raise OutputError(f"{self.destination} cannot be created: {error.strerror or error}") from None

    def record(self, path: Path) -> dict[str, Any]:
        """Convert one model, and return the result."""
        destination = self.of(path)
        destination.parent.mkdir(parents=True, exist_ok=True)
        report = convert(path, destination, replace(self.options, progress=silent))
        rows = [{"name": row.name, "form": row.form, "grade": row.grade.value} for row in report.rows]
        findings = [mistake.record() for mistake in report.mistakes]
        return {"destination": str(destination), "resizes": rows, "findings": findings, "errors": []}


Work = Auditing | Conversion


@dataclass(frozen=True, slots=True, kw_only=True)
class Crew:
    """The workers: a number of processes, or those of a cluster; and the time limit of a model in seconds."""

    jobs: int = 1
    scheduler: str | None = None
    limit: float = 1800

    def each(self, function: str, items: Sequence[Any], setting: Any) -> Iterator[tuple[int, Any]]:
        """Yield the number of an item and its answer, as they finish."""
        question = pool.Question(function=function, setting=setting, limit=self.limit)
        if self.scheduler is not None:
            return cluster.each(question, items, self.scheduler)
        return pool.each(question, items, self.jobs)


def run(paths: Sequence[Path], setting: Work, results: Results, crew: Crew, progress: Progress = silent) -> Summary:
    """Add the record of every model to ``results`` unless it is there, and return the summary."""
    summary, waiting = Summary(), dict.fromkeys(paths)
    for path, record in results.done(list(waiting)):
        summary.add(record)
        del waiting[path]
    total, left = len(paths), list(waiting)
    progress("models", total - len(left), total)
    for number, answer in crew.each(f"{__package__}.work:record_of", left, setting) if left else ():
        record = answer if isinstance(answer, dict) else _unanswered(left[number], answer)
        if isinstance(answer, pool.Late):
            record["stamp"] = []  # with no file state: the next run tries it again
        results.add(record)
        summary.add(record)
        progress("models", summary.models, total)
    return summary


def record_of(path: Path, setting: Work) -> dict[str, Any]:
    """Return the record of one model; errors are part of it."""
    identity = {"file": str(path), "stamp": stamp(path), "exporter": exporter(path)}
    try:
        with flags_stay():  # a fleet is a command, and this process need not be the one that runs it
            return identity | setting.record(path)
    except (IrInterpError, ExceptionGroup) as error:
        errors = [{"where": str(path), "message": str(leaf)} for leaf in leaves(error)]
        return identity | {"resizes": [], "errors": errors}
    except Exception as error:  # of one model among thousands
        return _unanswered(path, f"unexpected {type(error).__name__}: {error}") | {"exporter": identity["exporter"]}


def _unanswered(path: Path, why: object) -> dict[str, Any]:
    """Return the record of a model that no process finished; this one does not read it either, having no time limit."""
    errors = [{"where": str(path), "message": str(why)}]
    return {"file": str(path), "stamp": stamp(path), "exporter": UNKNOWN, "resizes": [], "errors": errors}
