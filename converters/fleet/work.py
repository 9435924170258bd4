"""Audit or convert many models: the records of all of them, and what they come to."""

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
from ir_interp.options.declaration import about_flag, identity

from ..audit import audit_report
from ..audit.formats import record as audit_record
from ..conversion.converting import convert
from ..conversion.effects import check_options
from ..conversion.routes import conversion_kinds
from ..report import Progress, silent
from ..workers import pool
from . import cluster
from .exporters import UNKNOWN, exporter
from .results import Results, stamp
from .summary import Summary


@dataclass(frozen=True, slots=True, kw_only=True)
class Auditing:
    """What is asked of every model."""

    options: AuditOptions

    @property
    def identity(self) -> str:
        """What decides over the result of a model, as text."""
        runtimes = audit_report.asked_runtimes(self.options)  # "installed" stands for other runtimes on another day
        return identity(replace(self.options, runtimes=None if runtimes is None else tuple(sorted(runtimes))))

    def check(self, paths: Sequence[Path]) -> None:
        """Raise SpecError for options that mean nothing, before any model is read."""
        audit_report.check_options(self.options)

    def prepare(self) -> None:
        """Make nothing: an audit writes only its results."""

    def record(self, path: Path) -> dict[str, Any]:
        """Return what an audit of one model found."""
        audit = audit_report.audited([path], replace(self.options, jobs=1, progress=silent))
        return {**audit_record(audit.with_severities(self.options.severities).without(self.options.per_file_ignores))}


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversion:
    """What becomes of every model: ``root`` is the folder that its place is counted from."""

    root: Path
    destination: Path
    suffix: str
    options: ConvertOptions

    @property
    def identity(self) -> str:
        """What decides over the result of a model, as text."""
        return repr((str(self.destination), self.suffix, identity(self.options)))

    def of(self, path: Path) -> Path:
        """Return where the result of a model goes."""
        inside = path.relative_to(self.root) if path.is_relative_to(self.root) else Path(path.name)
        return (self.destination / inside).with_suffix(self.suffix)

    def check(self, paths: Sequence[Path]) -> None:
        """Raise IrInterpError for options without an effect on any model, and for two models with one result.

        Where an option has an effect on models of one kind, those of another kind are refused one by one.
        """
        pairs = [(path, conversion_kinds(path, self.of(path))) for path in paths]
        sources = [(path, kinds) for path, kinds in pairs if kinds is not None]
        problems = list({kinds: self._problem(path, kinds) for path, kinds in sources}.values())
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
        """Make the folder of the results. Raises OutputError where that is not possible."""
        try:
            self.destination.mkdir(exist_ok=True)
        except OSError as error:
            raise OutputError(f"{self.destination} cannot be made: {error.strerror or error}") from None

    def record(self, path: Path) -> dict[str, Any]:
        """Convert one model, and return what it became."""
        destination = self.of(path)
        destination.parent.mkdir(parents=True, exist_ok=True)
        report = convert(path, destination, replace(self.options, progress=silent))
        rows = [{"name": row.name, "form": row.form, "grade": row.grade.value} for row in report.rows]
        return {"destination": str(destination), "resizes": rows, "errors": []}


Work = Auditing | Conversion


@dataclass(frozen=True, slots=True, kw_only=True)
class Crew:
    """Who does it: so many processes, or the workers of a cluster; and how many seconds a model may take."""

    jobs: int = 1
    scheduler: str | None = None
    limit: float = 1800

    def each(self, function: str, items: Sequence[Any], setting: Any) -> Iterator[tuple[int, Any]]:
        """Yield the number of an item and the answer to it, as they come."""
        question = pool.Question(function=function, setting=setting, limit=self.limit)
        if self.scheduler is not None:
            return cluster.each(question, items, self.scheduler)
        return pool.each(question, items, self.jobs)


def run(
    paths: Sequence[Path],
    setting: Work,
    results: Results,
    crew: Crew,
    progress: Progress = silent,
) -> Summary:
    """Add the record of every model to ``results``, but for those that are there, and return what all come to."""
    summary, waiting = Summary(), dict.fromkeys(paths)
    for path, record in results.done(list(waiting)):
        summary.add(record)
        del waiting[path]
    total, left = len(paths), list(waiting)
    progress("models", total - len(left), total)
    for number, answer in crew.each(f"{__package__}.work:record_of", left, setting) if left else ():
        record = answer if isinstance(answer, dict) else _unanswered(left[number], answer)
        if isinstance(answer, pool.Late):
            record["stamp"] = []  # of no file: the next run tries it again
        results.add(record)
        summary.add(record)
        progress("models", summary.models, total)
    return summary


def record_of(path: Path, setting: Work) -> dict[str, Any]:
    """Return the record of one model; what goes wrong is part of it."""
    own = {"file": str(path), "stamp": stamp(path), "exporter": exporter(path)}
    try:
        return own | setting.record(path)
    except (IrInterpError, ExceptionGroup) as error:
        problems = (about_flag(each, type(setting.options)) for each in leaves(error))
        return own | {"resizes": [], "errors": [{"where": str(path), "message": str(each)} for each in problems]}
    except Exception as error:  # of one model among thousands
        return _unanswered(path, f"unexpected {type(error).__name__}: {error}") | {"exporter": own["exporter"]}


def _unanswered(path: Path, why: object) -> dict[str, Any]:
    """Return the record of a model that no process read to its end; nor does this one, which has no time limit."""
    errors = [{"where": str(path), "message": str(why)}]
    return {"file": str(path), "stamp": stamp(path), "exporter": UNKNOWN, "resizes": [], "errors": errors}
