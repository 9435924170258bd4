"""Distribute the files of an audit over processes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from ir_interp.diagnostic_codes import RULES
from ir_interp.errors import ReadError
from ir_interp.options.finding_codes import BYTE_PRODUCTS

from ..predictions.saturation import saturation
from ..reports.conversion_report import Progress, silent
from ..workers import pool
from .auditing import Result, results
from .chosen_shapes import Shapes
from .findings import Finding
from .mishaps import noted


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
        result = results(paths, run=setting.run, runtimes=setting.runtimes, shapes=setting.shapes, progress=progress)
        _add_products(paths, result)
        return result
    answers: dict[int, Result] = {}
    question = pool.Question(function="ir_interp.converters.audit.file_jobs:of_one", setting=setting)
    for number, answer in pool.each(question, paths, count):
        path = paths[number]
        died = isinstance(answer, pool.Died)
        answers[number] = Result(errors=[ReadError(str(answer), path.name)]) if died else answer
        progress("auditing", len(answers), len(paths))
    ordered = [answers[number] for number in range(len(paths))]
    return Result(
        rows=[row for result in ordered for row in result.rows],
        unread=[row for result in ordered for row in result.unread],
        findings=[finding for result in ordered for finding in result.findings],
        errors=[error for result in ordered for error in result.errors],
    )


def of_one(path: Path, setting: Setting) -> Result:
    """Return the result of ``audit`` for one file."""
    return in_processes([path], 1, setting)


def _add_products(paths: Sequence[Path], result: Result) -> None:
    """Add findings about 8-bit products of the files that could be read."""
    unread = tuple(error.where for error in result.errors)
    for path in paths:
        if any(where.startswith((path.name, str(path))) for where in unread):
            continue
        with noted(result.errors, path.name):
            known = saturation(path)
            if known is not None and known.losses:
                rule = RULES[BYTE_PRODUCTS]
                result.findings.append(
                    Finding(code=rule.code, message=known.text, file=str(path), where=path.name, severity=rule.severity)
                )
