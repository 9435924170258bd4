"""Run many single resizes in installed runtimes: jobs of a worker, whose process is replaced after each death.

TensorRT, whose engines need a GPU, is not among them; ``auditing`` asks its importer.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ir_interp.shapes import Array

from ..reports import Progress, silent
from ..runtimes.execution import reason
from ..runtimes.runtime import Run, Runner, runtimes
from ..workers import Died, Late, Question, Worker

ALL: Mapping[str, Runner] = {name: runtime.runner for name, runtime in runtimes().items() if runtime.runner}
"""The runners of all runtimes that can be installed, by the names that audits use."""
RUNNERS: Mapping[str, Runner] = {name: ALL[name] for name in ALL if runtimes()[name].reads_onnx}
"""Those of ONNX models."""


_SECONDS = 120  # for a job, and for what all of them import


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A model of one input (.onnx, .xml) to run in a runtime on an array (.npy)."""

    runtime: str
    model: str
    array: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """The outcome of a job: its output, the runtime's error, or how the process died.

    ``lacks`` is an error about this machine instead, which shows nothing of the runtime.
    """

    output: Array | None = None
    refusal: str = ""
    crash: str = ""
    lacks: str = ""


def run(jobs: Sequence[Job], progress: Progress = silent) -> list[Ran]:
    """Return the outcome of each job. Each runtime has a process; a job that dies or hangs affects only itself."""
    question = Question(function=f"{__name__}:answer", limit=_SECONDS, attempts=1)
    results: list[Ran] = []
    with one_worker() as workers:
        for job in jobs:
            results.append(_ran(job, workers.of(_process(job.runtime)).answer(question, job)))
            progress("running", len(results), len(jobs))
    return results


def _process(runtime: str) -> str:
    """Return the name of a runtime's process: that of its package."""
    return ALL[runtime].package if runtime in ALL else "openvino"


class Workers:
    """Workers by name; each starts with its first question."""

    def __init__(self) -> None:
        self._by_name: dict[str, Worker] = {}

    def of(self, name: str) -> Worker:
        """Return a worker."""
        return self._by_name.setdefault(name, Worker())

    def close(self) -> None:
        """End their processes."""
        for worker in self._by_name.values():
            worker.close()


@contextmanager
def one_worker() -> Iterator[Workers]:
    """Yield a worker for each runtime; nested contexts share them, in one thread. Paths of jobs are then absolute."""
    pid, outer = _CURRENT.get() or (0, None)
    if outer and pid == os.getpid():
        yield outer
        return
    with closing(Workers()) as inner:
        token = _CURRENT.set((os.getpid(), inner))
        try:
            yield inner
        finally:
            _CURRENT.reset(token)


_CURRENT: ContextVar[tuple[int, Workers] | None] = ContextVar("workers", default=None)


def _ran(job: Job, answer: Path | str | Died | Late) -> Ran:
    if isinstance(answer, Late):
        return Ran(crash=f"it did not finish in {_SECONDS} s")
    if isinstance(answer, Died):
        return Ran(crash=f"it died with status {answer.status}")
    if isinstance(answer, Path):
        return Ran(output=np.load(answer))
    lacks = ALL[job.runtime].lacks if job.runtime in ALL else ""
    return Ran(lacks=answer) if lacks and lacks in answer else Ran(refusal=answer)


def answer(job: Job, _: None) -> Path | str:
    """Run a job in this process; return the file of its output, or the runtime's error instead."""
    try:
        output = INSTALLED[job.runtime](job.model, np.load(job.array))
        path = Path(tempfile.gettempdir(), "output.npy")  # in the worker's folder; pickled, it would be copied twice
        np.save(path, output)
    except Exception as error:  # whatever a runtime raises
        return reason(error)
    return path


INSTALLED: Mapping[str, Run] = {
    **{name: interpreter.run for name, interpreter in ALL.items() if interpreter.is_installed},
    "openvino": ALL["openvino"].run,
    "openvino-converted": ALL["openvino"].run,
}
"""The runtimes that can be run, and how."""
