"""A process that answers questions sequentially, and is replaced if it dies or takes too long.

Everything that this program runs in other processes runs in such a worker: the models of a fleet (``pool``), single
resizes in installed runtimes (``audit.probe``), and models to verify, each in a fork of a worker (``forks``).
"""

from __future__ import annotations

import atexit
import importlib
import math
import os
import pickle
import queue
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO, Any

from ir_interp.errors import IrInterpError
from ir_interp.files.scratch import scratch

from .child import started

LATER = 60
"""Seconds after the limit at which a process ends itself, if its parent hangs and has not stopped it."""

_LENGTH = struct.Struct("<Q")  # of a pickled message, before it
_STARTS = 3  # of a process that ends before it begins to work


@dataclass(frozen=True, slots=True)
class Died:
    """Stands for the answer if a process ended instead; ``status`` is negative for a signal, as in ``Popen``."""

    status: int

    def __str__(self) -> str:
        return f"the processes that worked on it died, the last with status {self.status}"


@dataclass(frozen=True, slots=True)
class Late:
    """Stands for an answer that took longer than the ``limit`` in seconds."""

    limit: float

    def __str__(self) -> str:
        return f"it was stopped after {self.limit:g} seconds"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """The call ``name(item, setting)`` of a ``function``, written ``package.module:name``, for any item.

    ``limit`` is its time limit in seconds, and ``attempts`` the number of processes that one item may kill: by default
    two, since the system may have ended the first for lack of memory.
    """

    function: str
    setting: Any = None
    limit: float = threading.TIMEOUT_MAX
    attempts: int = 2


@cache
def lasting(name: str, idle: float) -> Worker:
    """Return the process of this name, which holds what it imported and loaded until ``idle`` seconds have passed."""
    worker = Worker(idle=idle)
    atexit.register(worker.close)
    return worker


class NotStartedError(IrInterpError):
    """Processes end before they begin to work, the last with ``status``."""

    def __init__(self, status: int) -> None:
        super().__init__(f"a process died with status {status} before it began to work")
        self.status = status


class Worker:
    """A process that answers questions sequentially; if it ends, another one takes its place.

    Its temporary files go into ``folder``, by default a new one that lives as long as the process. It ends after
    ``idle`` seconds without a question.
    """

    def __init__(self, folder: Path | None = None, idle: float = threading.TIMEOUT_MAX) -> None:
        self._folder, self._idle = folder, idle
        self._resources = ExitStack()
        self._process: subprocess.Popen[bytes] | None = None
        self._is_stopped = False

    def answer(self, question: Question, item: Any) -> Any:
        """Return the answer, or Died, or Late. Raises NotStartedError if processes do not even start."""
        status = 0
        for _ in range(question.attempts):
            process = self._waiting_process(question.limit)
            if process is None:
                return Late(question.limit)
            start = time.monotonic()
            try:
                reply = _reply(process, question, item)
            except BaseException:  # a signal: the process must not go on with this item
                self.close()
                raise
            if reply is not None:
                return reply[0]
            status = self.close()
            if time.monotonic() - start >= question.limit:
                return Late(question.limit)
            if self._is_stopped:
                break
        return Died(status)

    def stop(self) -> None:
        """Kill the process, whatever it is doing; it is not replaced. May be called from any thread."""
        self._is_stopped = True
        if self._process is not None:
            self._process.kill()

    def close(self) -> int:
        """End the process, and remove its temporary files; return its status. The next question starts another."""
        process, self._process = self._process, None
        with suppress(OSError):  # closing its stdin flushes a question that it did not live to read
            self._resources.close()
        return process.returncode if process else 0

    def _waiting_process(self, seconds: float) -> subprocess.Popen[bytes] | None:
        """Return a process that waits for a question; None if it takes longer to start than ``seconds``."""
        if self._process is not None and self._process.poll() is None:
            return self._process
        status, begin = self.close(), time.monotonic()
        for _ in range(_STARTS):
            folder = self._folder or self._resources.enter_context(scratch())
            process = self._resources.enter_context(started(_MODULE, str(self._idle), folder=folder))
            self._process = process
            if self._is_stopped:
                process.kill()
            with _killed_after(process, seconds):
                is_ready = _read(process.stdout) is not None
            if is_ready:
                return process
            status = self.close()
            if time.monotonic() - begin >= seconds:
                return None
        raise NotStartedError(status)


_MODULE = "ir_interp.converters.workers.worker"


def _reply(process: subprocess.Popen[bytes], question: Question, item: Any) -> tuple[Any] | None:
    """Return the answer of a process in a tuple; None if it ends instead, at the latest at the limit."""
    with suppress(OSError), _killed_after(process, question.limit):  # it may have ended before it read the question
        _write(process.stdin, (question.function, item, question.setting, question.limit + LATER))
        reply: tuple[Any] | None = _read(process.stdout)
        return reply
    return None


@contextmanager
def _killed_after(process: subprocess.Popen[bytes], seconds: float) -> Iterator[None]:
    """Kill a process after some seconds, unless this context ends before."""
    timer = threading.Timer(seconds, process.kill)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def named(function: str) -> Callable[..., Any]:
    """Return a function, written ``package.module:name``."""
    module, _, name = function.partition(":")
    return getattr(importlib.import_module(module), name)  # type: ignore[no-any-return]


def _write(stream: IO[bytes] | None, message: Any) -> None:
    assert stream is not None
    body = pickle.dumps(message)
    stream.write(_LENGTH.pack(len(body)) + body)
    stream.flush()


def _read(stream: IO[bytes] | None) -> Any:
    body = _message(stream)
    return None if body is None else pickle.loads(body)


def _message(stream: IO[bytes] | None) -> bytes | None:
    """Return the message of the other side, unpickled; None if it has ended, even in the middle of a message."""
    assert stream is not None
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    body = stream.read(length)
    return body if len(body) == length else None


# The process itself


def _main(idle: float) -> None:
    """Answer questions until none has come for a while."""
    waiting = queue.SimpleQueue[bytes]()
    threading.Thread(target=_listen, args=(waiting,), daemon=True).start()
    with os.fdopen(os.dup(1), "wb") as answers:
        os.dup2(2, 1)  # runtimes print to stdout, which must not mix with answers
        _write(answers, "ready")
        with suppress(queue.Empty):
            while True:
                function, item, setting, seconds = pickle.loads(waiting.get(timeout=idle))
                _end_after(seconds)
                answer = named(function)(item, setting)
                _end_after(0)
                _write(answers, (answer,))
    os._exit(0)  # the other thread may still read


def _listen(waiting: queue.SimpleQueue[bytes]) -> None:
    """Forward questions. End this process with the other one, whatever it is doing: then the pipe has ended."""
    with open(0, "rb", closefd=False) as questions:
        while (message := _message(questions)) is not None:
            waiting.put(message)
    os._exit(1)


def _end_after(seconds: float) -> None:
    """Let the system end this process at a time, whatever it is doing; 0 cancels that."""
    if hasattr(signal, "alarm"):
        signal.alarm(math.ceil(min(seconds, _LONGEST_ALARM)))


_LONGEST_ALARM = 2**31 - 1  # the limit of alarm: questions without a limit ask for more

if __name__ == "__main__":
    _main(float(sys.argv[1]))
