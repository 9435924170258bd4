"""Calls that each run in a separate process, forked from a worker that has already imported their modules.

Importing a runtime takes longer than most models run, and a verification runs several. Only Linux ends a fork with its
parent, so elsewhere a call runs in a worker that is started for it.
"""

from __future__ import annotations

import ctypes
import importlib
import os
import signal
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ir_interp.files.memory import allow_declared, allow_files, limit_process

from ..runtimes.telemetry import openvino_silent, silent_environment
from .worker import Died, Late, NotStartedError, Question, Worker, named

VARIABLE = "IR_INTERP_FORKS"
"""The environment variable that is 0 where a fork may hang, as under an emulator with threads of its own."""

_CAN_FORK = sys.platform == "linux" and os.environ.get(VARIABLE) != "0"
_END_WITH_PARENT = 1  # PR_SET_PDEATHSIG of prctl


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A ``function`` of an ``argument``, ``package.module:name``, that returns an exit code, and its requirements.

    It may take ``seconds``, and as much memory as the bound allows beyond ``files``, for a model whose tensors are of
    ``declared`` bytes. ``imports`` are the modules that it needs. Its temporary files go into ``folder``.
    """

    function: str
    argument: Any
    folder: Path
    imports: tuple[str, ...]
    seconds: int
    files: tuple[Path, ...]
    declared: float = 0.0

    @property
    def errors(self) -> Path:
        """The file that takes its stderr."""
        return self.folder.absolute() / "errors.txt"


@contextmanager
def forks() -> Iterator[Forks]:
    """Yield a runner of calls; nested contexts share it, in one thread."""
    outer = _CURRENT.get()
    if outer and outer.owner == os.getpid():
        yield outer
        return
    inner = Forks()
    token = _CURRENT.set(inner)
    try:
        yield inner
    finally:
        _CURRENT.reset(token)
        inner.close()


@dataclass(slots=True)
class Forks:
    """Runs calls; the worker from which their processes are forked starts with the first."""

    owner: int = field(default_factory=os.getpid)
    _worker: Worker | None = None

    def run(self, call: Call) -> tuple[int, str]:
        """Run a call; return its exit code, negative for a signal, and its stderr.

        Raises TimeoutError if it takes longer than its seconds; it is stopped then.
        """
        call.errors.write_bytes(b"")
        # The worker lives longer than this call: settings that the caller changes meanwhile are part of each question.
        environment = {**silent_environment(), "TMPDIR": str(call.folder.absolute())}
        self._worker = self._worker or Worker(call.folder.parent)
        function = f"{__name__}:{'_in_a_fork' if _CAN_FORK else '_here'}"
        question = Question(function=function, setting=(Path.cwd(), environment), limit=call.seconds, attempts=1)
        try:
            answer = self._worker.answer(question, call)
        except NotStartedError as error:
            answer = Died(error.status)
        if isinstance(answer, Late):
            raise TimeoutError
        if not _CAN_FORK:
            self.close()
        code = answer.status if isinstance(answer, Died) else answer
        return code, call.errors.read_text(encoding="utf-8", errors="replace")

    def close(self) -> None:
        """End the worker, and with it its forks."""
        if self._worker:
            self._worker.close()
        self._worker = None


_CURRENT: ContextVar[Forks | None] = ContextVar("forks", default=None)


# In the worker


def _in_a_fork(call: Call, setting: tuple[Path, Mapping[str, str]]) -> int:
    """Run a call in a fork of this process, and return its exit code."""
    _import(call)
    worker = os.getpid()
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    code = 1
    try:
        ctypes.CDLL(None).prctl(_END_WITH_PARENT, signal.SIGKILL)
        if os.getppid() == worker:  # otherwise the parent ended before the line above
            code = _here(call, setting)
    except Exception:  # whatever is wrong with the call
        traceback.print_exc()
    finally:
        os._exit(code)


def _import(call: Call) -> None:
    """Import the modules of a call; if that fails, the call itself will report it."""
    with suppress(Exception), openvino_silent():
        for module in (call.function.partition(":")[0], *call.imports):
            importlib.import_module(module)


def _here(call: Call, setting: tuple[Path, Mapping[str, str]]) -> int:
    """Run a call in this process, and return its exit code."""
    folder, environment = setting
    os.chdir(folder)
    os.dup2(os.open(call.errors, os.O_WRONLY), 2)
    os.environ.clear()
    os.environ.update(environment)
    limit_process()
    allow_files(*call.files)
    allow_declared(call.declared)
    try:
        code: int = named(call.function)(call.argument)
        return code
    finally:
        sys.stderr.flush()
