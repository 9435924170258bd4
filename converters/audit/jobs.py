"""Share the files of an audit among processes."""

from __future__ import annotations

import multiprocessing
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

from ir_interp.errors import ReadError

from ..report import Progress, silent
from .audit import Audited, audit

Result = tuple[list[Audited], list[ReadError]]


def in_processes(
    paths: Sequence[Path],
    count: int,
    *,
    run: bool = False,
    runtimes: Sequence[str] | None = None,
    progress: Progress = silent,
) -> Result:
    """Return what ``audit`` does, in the order of ``paths``; with ``count`` above 1 from as many processes."""
    if count == 1 or len(paths) < 2:
        return audit(paths, run=run, runtimes=runtimes, progress=progress)
    shares = [paths[start::count] for start in range(min(count, len(paths)))]
    with ProcessPoolExecutor(len(shares), multiprocessing.get_context("spawn")) as pool:
        futures = [pool.submit(audit, share, run=run, runtimes=runtimes) for share in shares]
        for done, _ in enumerate(as_completed(futures), start=1):
            progress("auditing", done, len(shares))
        results = [future.result() for future in futures]
    place = {str(path): number for number, path in enumerate(paths)}
    rows = sorted((row for found, _ in results for row in found), key=lambda row: place[row.file])
    return rows, [error for _, errors in results for error in errors]
