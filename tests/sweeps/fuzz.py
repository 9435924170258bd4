"""Give broken files and senseless options to every verb, and count what a program must never do.

Models, IRs, pasted layers, JSON files, arrays and options are changed at random. ``python -m tests.sweeps.fuzz
--calls 5000 --seed 3`` exits with 1 where there is any unexpected error, traceback, death, call of more than its time,
or one that takes more memory than it may. Calls run in one process after the other; ``--only 17`` repeats one of them.
"""

from __future__ import annotations

import json
import os
import resource
import select
import shutil
import subprocess
import sys
import tempfile
import time
import unicodedata
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ir_interp.files.memory import VARIABLE
from tests.support import generated
from tests.support.fuzz_calls import Call, calls
from tests.support.sweeps import aligned

SECONDS = 150.0
"""That a call may take: of processors, its children included, and of a clock. An audit ends a runtime after 120 s.

Where the clock alone says so, for others may keep the machine busy, the call is made once more, and is a hang where it
takes as long again.
"""

WAITED = 5 * SECONDS
SPARE_BYTES = 2**28
"""What a call may take beyond the program's own bound: what Python holds until it is needed again."""

_SLOW = "hang by the clock"
_CALLS_OF_A_WORKER = 1000  # then caches begin anew, and frameworks are loaded again


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What a call did that none may do."""

    call: Call
    kind: str
    text: str


@dataclass(slots=True, kw_only=True)
class Found:
    """How calls ended, and what they did that none may do."""

    ends: Counter[str] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)


# Workers


class Worker:
    """A process that answers calls, begun anew where one of them ends it."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._answered = 0

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def ask(self, call: Call, folder: Path) -> Finding | str:
        """Run a call in a folder of its files; return how it ended, or what it did that none may do."""
        found = self._ask(call, folder)
        if isinstance(found, Finding) and found.kind == _SLOW:
            found = self._ask(call, folder)
        return found

    def _ask(self, call: Call, folder: Path) -> Finding | str:
        if self._process is None or self._answered >= _CALLS_OF_A_WORKER:
            self._start()
        process = self._process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps([str(folder), list(call.arguments)]) + "\n")
        process.stdin.flush()
        self._answered += 1
        ready, _, _ = select.select([process.stdout], [], [], WAITED)
        line = process.stdout.readline() if ready else ""
        if line:
            judged = _judged(call, json.loads(line))
            if isinstance(judged, Finding):
                self._stop()  # what it took for good, and the peak of its children, is not that of later calls
            return judged
        ending = f"died with status {process.wait()}" if ready else f"did not end in {WAITED:g} s"
        self._stop()
        return Finding(call=call, kind="death" if ready else "hang", text=ending)

    def _start(self) -> None:
        self._stop()
        command = [sys.executable, "-m", "tests.sweeps.fuzz", "--worker"]
        environment = os.environ | {VARIABLE: str(_bound() / 2**30)}  # whatever a model declares
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self._process = subprocess.Popen(command, env=environment, text=True, **pipes)
        self._answered = 0

    def _stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


def _judged(call: Call, answer: dict[str, Any]) -> Finding | str:
    """Return how a call ended, or what it did that none may do."""
    errors = answer["errors"]
    for mark in ("error: unexpected", "Traceback (most recent call last)", "Warning:", "Exception ignored"):
        if mark in errors:
            lines = [line for line in errors.splitlines() if line.strip()]
            shown = next(line for line in lines if mark in line) if mark != "Traceback" else lines[-1]
            return Finding(call=call, kind="unexpected", text=shown[:300])
    if answer["code"] not in (0, 1, 2):
        return Finding(call=call, kind="exit code", text=str(answer["code"]))
    # The errors of many models are printed with their results, if they are not in a file.
    said = " ".join(answer["printed"].split())
    if "; please report it" in said:
        return Finding(call=call, kind="unexpected", text=said[-300:])
    if answer["code"] == 2 and not errors.strip() and "with errors" not in said and "--results" not in call.arguments:
        return Finding(call=call, kind="no reason", text="exit code 2 without an error")
    for whose in ("bytes", "bytes of children"):
        if answer[whose] > _bound() + SPARE_BYTES:
            return Finding(call=call, kind="memory", text=f"{answer[whose] / 2**30:.1f} GiB, {whose}")
    if answer["seconds"] > SECONDS:
        return Finding(call=call, kind="hang", text=f"{answer['seconds']:.0f} s of processors")
    if answer["clock"] > SECONDS:
        return Finding(call=call, kind=_SLOW, text=f"{answer['clock']:.0f} s, twice")
    if any(unicodedata.category(each) in ("Cc", "Cf") and each not in "\n\t" for each in errors):
        return Finding(call=call, kind="control characters", text=repr(errors[:300]))
    return f"exit code {answer['code']}"


def _bound() -> int:
    return 2 * 2**30


def _work() -> None:
    """Answer calls from the standard input."""
    import matplotlib as mpl

    from ir_interp.cli.main import main
    from ir_interp.files import memory

    mpl.use("agg")
    memory.limit_process()
    answers = os.fdopen(os.dup(1), "w")
    for line in sys.stdin:
        folder, arguments = json.loads(line)
        os.chdir(folder)
        answers.write(json.dumps(_answer(main, arguments)) + "\n")
        answers.flush()


def _answer(main: Any, arguments: list[str]) -> dict[str, Any]:
    with open("stdout", "w+b") as printed, open("stderr", "w+b") as errors:  # noqa: PTH123
        os.dup2(printed.fileno(), 1)
        os.dup2(errors.fileno(), 2)
        before, start, began = _peak(reset=True), sum(os.times()[:4]), time.monotonic()
        try:
            code = main(arguments)
        except SystemExit as stop:
            code = stop.code
        seconds, clock, after = sum(os.times()[:4]) - start, time.monotonic() - began, _peak()
        sys.stdout.flush()
        sys.stderr.flush()
        texts = []
        for stream in (printed, errors):
            stream.seek(0)
            texts.append(stream.read().decode(errors="replace")[-20000:])
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024  # the libraries that they load included
    answer = {"code": code, "printed": texts[0], "errors": texts[1], "seconds": seconds, "bytes": after - before}
    return answer | {"bytes of children": children, "clock": clock}


def _peak(*, reset: bool = False) -> int:
    """Return the most memory that this process has held, since it was last reset."""
    with suppress(OSError):
        if reset:
            Path("/proc/self/clear_refs").write_text("5")
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status["VmHWM"].split()[0]) * 1024


# The sweep


def originals(folder: Path) -> dict[str, bytes]:
    """Return good files by name: samples, a feature pyramid, a loop, a function, weights apart; and IRs of some."""
    from tests.support.originals import write

    write(folder)
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def sweep(
    count: int, seed: int, *, first: int = 0, only: int | None = None, runs: float = 0.03, seconds: float = 1e9
) -> Found:
    """Make calls from the ``first`` number on, at most for ``seconds``."""
    found, end = Found(), time.monotonic() + seconds
    numbers = range(first, first + count) if only is None else [only]
    with tempfile.TemporaryDirectory() as folder, Worker() as worker:
        good = Path(folder, "good")
        good.mkdir()
        for call in calls(originals(good), seed, numbers, runs=runs):
            if time.monotonic() > end:
                break
            place = Path(folder, str(call.number))
            place.mkdir()
            call.lay(place)
            answer = worker.ask(call, place)
            named = {(place / name).parent / target for name, target in call.links.items()}  # what a link leads to
            leave_out = {os.path.relpath(path, place) for path in named}
            problem = generated.problem(place, frozenset(call.files) | leave_out)
            if problem and isinstance(answer, str):
                answer = Finding(call=call, kind="generated file", text=problem)
            if isinstance(answer, Finding):
                found.findings.append(answer)
                print(f"call {call.number}, {answer.kind}: {answer.text}\n  {call.arguments}", flush=True)
            found.ends[answer if isinstance(answer, str) else answer.kind] += 1
            if only is None:
                shutil.rmtree(place, ignore_errors=True)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the sweep; print what is found, and a table."""
    import argparse

    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="the number of the first call, to continue a sweep")
    parser.add_argument("--only", type=int, help="the number of one call, to be repeated")
    parser.add_argument("--runs", type=float, default=0.03, help="part of the calls that start runtimes")
    parser.add_argument("--keep", type=Path, help="a folder for the files of calls with findings")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.worker:
        _work()
        return 0
    found = sweep(given.calls, given.seed, first=given.first, only=given.only, runs=given.runs)
    for each in found.findings if given.keep else ():
        place = given.keep / f"{given.seed}-{each.call.number}"
        place.mkdir(parents=True, exist_ok=True)
        each.call.lay(place)
        (place / "arguments.json").write_text(json.dumps(each.call.arguments))
    print(aligned([(kind, str(number)) for kind, number in sorted(found.ends.items())]))
    return 1 if found.findings else 0


if __name__ == "__main__":
    sys.exit(main())
