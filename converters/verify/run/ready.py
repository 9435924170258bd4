"""Run requests, each in a process of its own, forked from one that has loaded the runtimes.

To load them takes longer than most models run, and a verification runs several times. Elsewhere than on Linux, where
alone the system ends a child with its parent, each request starts anew.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field
from pathlib import Path
from socket import socket, socketpair
from typing import Any

from ir_interp.files.memory import allow_declared, allow_files, limit_process

from ...runtimes.telemetry import openvino_silent, silent_environment
from ...workers.child import LATER, started
from . import runners

_END_WITH_PARENT = 1  # PR_SET_PDEATHSIG of prctl
_ANSWER = 16  # bytes at most


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """The file of a request, what it runs in, for how many ``seconds`` at most, and the files that it reads.

    ``declared`` are the bytes of the tensors of its model.
    """

    request: Path
    in_openvino: bool
    seconds: int
    files: Sequence[Path]
    declared: float = 0.0


@contextmanager
def ready() -> Iterator[Ready]:
    """Yield what runs requests; the same for all of a thread that are within."""
    outer = _READY.get()
    if outer and outer.owner == os.getpid():
        yield outer
        return
    found = Ready()
    token = _READY.set(found)
    try:
        yield found
    finally:
        _READY.reset(token)
        found.stop()


@dataclass(slots=True)
class Ready:
    """Runs requests; the process from which theirs are forked starts with the first."""

    owner: int = field(default_factory=os.getpid)
    _server: _Server | None = None  # None before the first request, and after one that ended it
    _end: ExitStack = field(default_factory=ExitStack)

    def run(self, task: Task) -> tuple[int, str]:
        """Run a request; return its exit code and what it wrote to stderr.

        It may take as much memory as is allowed beyond its files. Raises TimeoutError where it takes longer than its
        seconds; it is stopped then.
        """
        errors = task.request.with_suffix(".errors")
        if sys.platform == "linux":
            code = self._forked(task, errors)
        else:
            code = _alone(task, errors)
        return code, errors.read_text(encoding="utf-8", errors="replace")

    def stop(self) -> None:
        """End the process, and with it what was forked from it."""
        self._server = None
        self._end.close()

    def _forked(self, task: Task, errors: Path) -> int:
        errors.touch()
        environment = {**silent_environment(), "TMPDIR": str(task.request.parent.absolute())}
        work = _Work(
            request=str(task.request.absolute()),
            errors=str(errors.absolute()),
            in_openvino=task.in_openvino,
            seconds=task.seconds,
            files=[str(path.absolute()) for path in task.files],
            declared=task.declared,
            folder=str(Path.cwd()),
            environment=environment,
        )
        self._server = self._server or self._end.enter_context(_server(task.request.parent))
        try:
            code, is_there = self._server.ask(work)
        except BaseException:  # too late, or a signal: what was asked shall not go on
            self.stop()
            raise
        if not is_there:
            self.stop()
        return code


_READY: ContextVar[Ready | None] = ContextVar("ready", default=None)


def _alone(task: Task, errors: Path) -> int:
    with errors.open("w", encoding="utf-8") as stream:
        process = started(
            runners.__name__,
            str(task.request),
            folder=task.request.parent,
            seconds=task.seconds,
            files=task.files,
            declared=task.declared,
            stdout=subprocess.DEVNULL,
            stderr=stream,
        )
        with process as child:
            try:
                return child.wait(timeout=task.seconds)
            except subprocess.TimeoutExpired:
                raise TimeoutError from None


# The process that is ready


@dataclass(frozen=True, slots=True, kw_only=True)
class _Work:
    """A task as it is told to the process that is ready; ``environment`` and current ``folder`` are those of now."""

    request: str
    errors: str
    in_openvino: bool
    seconds: int
    files: list[str]
    declared: float
    folder: str
    environment: dict[str, str]


@dataclass(frozen=True, slots=True)
class _Server:
    process: subprocess.Popen[str]
    talk: socket

    def ask(self, work: _Work) -> tuple[int, bool]:
        """Return the exit code of what runs a request, or of the server if that ended, and whether it is still there.

        Raises TimeoutError where it takes longer than it may.
        """
        self.talk.settimeout(work.seconds)
        with suppress(ConnectionError):
            self.talk.sendall(f"{json.dumps(asdict(work))}\n".encode())
        with suppress(ConnectionError):
            if answer := self.talk.recv(_ANSWER):
                return int(answer), True
        return self.process.wait(), False


@contextmanager
def _server(folder: Path) -> Iterator[_Server]:
    mine, theirs = socketpair()
    streams: dict[str, Any] = {
        "stdout": subprocess.DEVNULL,
        "stderr": subprocess.DEVNULL,
        "pass_fds": [theirs.fileno()],
    }
    with mine, theirs, started(__name__, str(theirs.fileno()), folder=folder, **streams) as process:
        theirs.close()
        yield _Server(process, mine)


def _serve(talk: socket) -> None:
    for line in talk.makefile():
        work = _Work(**json.loads(line))
        _load(work)
        server = os.getpid()
        child = os.fork()
        if not child:
            os._exit(_forked(work, server))
        talk.sendall(b"%d" % os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


def _load(work: _Work) -> None:
    """Load what runs a request; where it cannot be loaded, the request will say so."""
    modules = ("openvino",) if work.in_openvino else ("onnx", "onnxruntime")
    with suppress(Exception), openvino_silent():
        for module in modules:
            importlib.import_module(module)


def _forked(work: _Work, server: int) -> int:
    """Run a request in this process, which ends with its parent, or when its time is over."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_END_WITH_PARENT, signal.SIGKILL)
        signal.alarm(work.seconds + LATER)
    if os.getppid() != server:  # it has ended already
        return 1
    os.dup2(os.open(work.errors, os.O_WRONLY), sys.stderr.fileno())
    os.environ.clear()
    os.environ.update(work.environment)
    os.chdir(work.folder)
    limit_process()
    allow_files(*map(Path, work.files))
    allow_declared(work.declared)
    try:
        return runners.answer(work.request)
    finally:
        sys.stderr.flush()


if __name__ == "__main__":
    _serve(socket(fileno=int(sys.argv[1])))
