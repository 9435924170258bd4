"""Distribute the files of an audit over processes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from ir_interp.errors import ReadError

from ..reports.conversion_report import Progress, silent
from ..workers import pool
from .auditing import audit
from .chosen_shapes import Shapes
from .findings import Audited

Result = tuple[list[Audited], list[ReadError]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """The arguments of ``audit`` that are the same for every file."""

    run: bool = False
    runtimes: Collection[str] | None = None
    shapes: Shapes | None = None


def in_processes(paths: Sequence[Path], count: int, setting: Setting, progress: Progress = silent) -> Result:
    """Return the results of ``audit``, in the order of ``paths``; with ``count`` above 1 from as many processes.

    A file that ends its process is reported as unreadable.
    """
    if count == 1 or len(paths) < 2:
        return audit(paths, run=setting.run, runtimes=setting.runtimes, shapes=setting.shapes, progress=progress)
    results: dict[int, Result] = {}
    question = pool.Question(function="ir_interp.converters.audit.file_jobs:of_one", setting=setting)
    for number, answer in pool.each(question, paths, count):
        path = paths[number]
        results[number] = ([], [ReadError(str(answer), path.name)]) if isinstance(answer, pool.Died) else answer
        progress("auditing", len(results), len(paths))
    ordered = [results[number] for number in range(len(paths))]
    return [row for rows, _ in ordered for row in rows], [error for _, errors in ordered for error in errors]


def of_one(path: Path, setting: Setting) -> Result:
    """Return the result of ``audit`` for one file."""
    return audit([path], run=setting.run, runtimes=setting.runtimes, shapes=setting.shapes)
