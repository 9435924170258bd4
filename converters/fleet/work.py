"""Audit or convert many models: the records of all of them, and what they come to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ir_interp.errors import IrInterpError, leaves

from ..audit import audit_report
from ..audit.formats import record as audit_record
from ..conversion.converting import convert
from ..conversion.options import Options as ConvertOptions
from ..report import Progress, silent
from ..workers import pool
from . import cluster
from .exporters import UNKNOWN, exporter
from .results import Results, stamp
from .summary import Summary


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
        return repr((str(self.destination), self.suffix, replace(self.options, progress=silent, reports={})))

    def of(self, path: Path) -> Path:
        """Return where the result of a model goes."""
        inside = path.relative_to(self.root) if path.is_relative_to(self.root) else Path(path.name)
        return (self.destination / inside).with_suffix(self.suffix)


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
    setting: audit_report.Options | Conversion,
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


def record_of(path: Path, setting: audit_report.Options | Conversion) -> dict[str, Any]:
    """Return the record of one model; what goes wrong is part of it."""
    own = {"file": str(path), "stamp": stamp(path), "exporter": exporter(path)}
    try:
        return own | (_converted(path, setting) if isinstance(setting, Conversion) else _audited(path, setting))
    except (IrInterpError, ExceptionGroup) as error:
        return own | {"resizes": [], "errors": [{"where": str(path), "message": str(each)} for each in leaves(error)]}
    except Exception as error:  # of one model among thousands
        return _unanswered(path, f"unexpected {type(error).__name__}: {error}") | {"exporter": own["exporter"]}


def _audited(path: Path, options: audit_report.Options) -> dict[str, Any]:
    return audit_record(audit_report.audited([path], replace(options, jobs=1, progress=silent)))


def _converted(path: Path, conversion: Conversion) -> dict[str, Any]:
    destination = conversion.of(path)
    destination.parent.mkdir(parents=True, exist_ok=True)
    done = convert(path, destination, conversion.options)
    rows = [{"name": row.name, "form": row.form, "grade": row.grade.value} for row in done.rows]
    return {"destination": str(destination), "resizes": rows, "errors": []}


def _unanswered(path: Path, why: object) -> dict[str, Any]:
    """Return the record of a model that no process read to its end; nor does this one, which has no time limit."""
    errors = [{"where": str(path), "message": str(why)}]
    return {"file": str(path), "stamp": stamp(path), "exporter": UNKNOWN, "resizes": [], "errors": errors}
