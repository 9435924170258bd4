"""Share the files of an audit among processes."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from ir_interp.errors import IrInterpError, ReadError
from ir_interp.scratch import scratch

from ..child import started
from ..report import Progress, silent
from .audit import audit
from .findings import Audited
from .shapes import Shapes

Result = tuple[list[Audited], list[ReadError]]


def in_processes(
    paths: Sequence[Path],
    count: int,
    *,
    run: bool = False,
    runtimes: Sequence[str] | None = None,
    lengths: Shapes | None = None,
    progress: Progress = silent,
) -> Result:
    """Return what ``audit`` does, in the order of ``paths``; with ``count`` above 1 from as many processes.

    Raises IrInterpError where one of them dies.
    """
    if count == 1 or len(paths) < 2:
        return audit(paths, run=run, runtimes=runtimes, lengths=lengths, progress=progress)
    shares = [paths[start::count] for start in range(min(count, len(paths)))]
    with scratch() as folder:
        answers = [folder / str(number) for number in range(len(shares))]
        for share, answer in zip(shares, answers, strict=True):
            answer.write_bytes(pickle.dumps((share, run, runtimes, lengths)))
        _work(answers, progress)
        results: list[Result] = [pickle.loads(answer.read_bytes()) for answer in answers]
    place = {str(path): number for number, path in enumerate(paths)}
    rows = sorted((row for found, _ in results for row in found), key=lambda row: place[row.file])
    return rows, [error for _, errors in results for error in errors]


def _work(shares: Sequence[Path], progress: Progress) -> None:
    """Put the answer into the file of every share, each in a process of its own."""
    with ExitStack() as stack:
        streams: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        module = "ir_interp.converters.audit.jobs"
        children = [
            stack.enter_context(started(module, str(share), folder=share.parent, **streams)) for share in shares
        ]
        for done, child in enumerate(children, start=1):
            if child.wait():
                raise IrInterpError(f"a process of the audit died with status {child.returncode}")
            progress("auditing", done, len(shares))


def _main(place: Path) -> None:
    share, run, runtimes, lengths = pickle.loads(place.read_bytes())
    place.write_bytes(pickle.dumps(audit(share, run=run, runtimes=runtimes, lengths=lengths)))


if __name__ == "__main__":
    _main(Path(sys.argv[1]))
