"""Run many single resizes in installed runtimes: jobs in a child process, started again after each death."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.files.scratch import scratch

from ..report import Progress, silent
from ..runtimes.messages import reason
from ..runtimes.running import ALL, Run
from ..runtimes.telemetry import openvino_silent
from ..workers.child import started

_SECONDS = 120  # for a job, and for what all of them import


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A model of one input (.onnx, .xml) to run in a runtime on an array (.npy)."""

    runtime: str
    model: str
    array: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What came of a job: its output, or what the runtime said, or how it died."""

    output: NDArray[Any] | None = None
    refusal: str = ""
    crash: str = ""


def run(jobs: Sequence[Job], progress: Progress = silent) -> list[Ran]:
    """Return what comes of each job. One that dies or hangs costs only itself."""
    answers: list[Ran] = []
    with scratch() as folder:
        while len(answers) < len(jobs):
            answers += _batch(jobs[len(answers) :], folder, lambda n: progress("running", n, len(jobs)), answers)
    return answers


def _batch(jobs: Sequence[Job], folder: Path, report_progress: Callable[[int], None], before: list[Ran]) -> list[Ran]:
    """Run jobs in one child; where it dies, return the answers up to the job that it died of, that one included."""
    (folder / "jobs.json").write_text(json.dumps([asdict(job) for job in jobs]))
    for path in folder.glob("answer*"):
        path.unlink()
    streams: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    seconds = _SECONDS * len(jobs)
    with started("ir_interp.converters.audit.probe", str(folder), folder=folder, seconds=seconds, **streams) as child:
        ending = _follow(child, len(jobs), lambda n: report_progress(len(before) + n))
    found = [_answer(folder, place) for place in range(len(jobs))]
    done = next((place for place, each in enumerate(found) if each is None), len(jobs))
    answers = [each for each in found[:done] if each is not None]
    return answers if done == len(jobs) else [*answers, Ran(crash=ending)]


def _follow(child: subprocess.Popen[str], count: int, report_progress: Callable[[int], None]) -> str:
    """Wait for a child that prints a line for each job; return how it ended."""
    assert child.stdout is not None
    hung = threading.Event()

    def stop() -> None:
        hung.set()
        child.kill()

    for number in range(1, count + 1):
        timer = threading.Timer(_SECONDS, stop)
        timer.start()
        line = child.stdout.readline()
        timer.cancel()
        if not line:
            break
        report_progress(number)
    status = child.wait()
    return f"it did not finish in {_SECONDS} s" if hung.is_set() else f"it died with status {status}"


def _answer(folder: Path, place: int) -> Ran | None:
    if (folder / f"answer{place}.npy").exists():
        return Ran(output=np.load(folder / f"answer{place}.npy"))
    if (folder / f"answer{place}.txt").exists():
        return Ran(refusal=(folder / f"answer{place}.txt").read_text())
    return None


def _main(folder: Path) -> None:
    jobs = [Job(**each) for each in json.loads((folder / "jobs.json").read_text())]
    told = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # runtimes print as well, and what reads here counts lines
    for place, job in enumerate(jobs):
        try:
            output = INSTALLED[job.runtime](job.model, np.load(job.array))
            temporary = folder / f"part{place}.npy"
            np.save(temporary, output)
            temporary.rename(folder / f"answer{place}.npy")
        except Exception as error:  # whatever a runtime throws
            (folder / f"answer{place}.txt").write_text(reason(error))
        print(place, file=told, flush=True)


def _in_openvino(model: str, x: NDArray[Any]) -> NDArray[Any]:
    with openvino_silent():
        import openvino  # noqa: F401  # and later imports find it
    return ALL["openvino"].run(model, x)


INSTALLED: Mapping[str, Run] = {
    **{name: each.run for name, each in ALL.items() if each.is_installed},
    "openvino": _in_openvino,
    "openvino-converted": _in_openvino,
}
"""The runtimes that can be run, and how; there is no TensorRT that every machine can install."""

if __name__ == "__main__":
    _main(Path(sys.argv[1]))
