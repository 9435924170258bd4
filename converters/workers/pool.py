"""Hand items out to processes, and take their answers as they come.

An item whose process ends is tried once more; where that ends another one, it costs only itself. So does one that takes
longer than it may.
"""

from __future__ import annotations

import atexit
import importlib
import os
import pickle
import queue
import struct
import subprocess
import threading
import time
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import Any, BinaryIO

from ir_interp.errors import IrInterpError
from ir_interp.files.scratch import scratch

from .child import started

_LENGTH = struct.Struct("<Q")  # of what is pickled, before it
_STARTS = 3  # of a process that ends before it began to work
_IDLE = 60.0  # seconds without an item, after which a process ends


@dataclass(frozen=True, slots=True)
class Died:
    """What there is instead of an answer where a process ended."""

    status: int

    def __str__(self) -> str:
        return f"the processes that worked on it died, the last with status {self.status}"


@dataclass(frozen=True, slots=True)
class Late:
    """What there is instead of an answer that took longer than the ``limit`` in seconds."""

    limit: float

    def __str__(self) -> str:
        return f"it was stopped after {self.limit:g} seconds"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked of items: ``function``, as in ``package.module:name``, is called as ``name(item, setting)``.

    ``limit`` is how many seconds that may take.
    """

    function: str
    setting: Any
    limit: float = threading.TIMEOUT_MAX


def each(question: Question, items: Sequence[Any], count: int) -> Generator[tuple[int, Any]]:
    """Yield the number of every item, and the answer to it or what there is instead, from ``count`` processes.

    Raises IrInterpError where processes do not even start.
    """
    crew = [Worker() for _ in range(max(1, min(count, len(items))))]
    idle = queue.SimpleQueue[Worker]()

    def ask(item: Any) -> Any:
        worker = idle.get()
        try:
            return worker.answer(question, item)
        finally:
            idle.put(worker)

    with ExitStack() as ended, ThreadPoolExecutor(len(crew)) as threads, ExitStack() as stopped:
        for worker in crew:
            idle.put(worker)
            ended.callback(worker.end)
            stopped.callback(worker.stop)
        asked: dict[Future[Any], int] = {}
        for number, item in enumerate(items):
            asked[threads.submit(ask, item)] = number
            if len(asked) == len(crew):
                yield from _answered(asked)
        while asked:
            yield from _answered(asked)


def _answered(asked: dict[Future[Any], int]) -> Iterator[tuple[int, Any]]:
    """Wait for an answer, and yield those that are there."""
    for future in wait(asked, return_when=FIRST_COMPLETED).done:
        yield asked.pop(future), future.result()


def answer(question: Question, item: Any) -> Any:
    """Return the answer to one item, or what there is instead, from a process that is kept for the next one.

    For threads that are not this program's own, as those of a cluster's workers.
    """
    try:
        worker = _kept.get_nowait()
    except queue.Empty:
        worker = Worker()
        atexit.register(worker.end)
    try:
        return worker.answer(question, item)
    finally:
        _kept.put(worker)


class Worker:
    """A process that answers one question after the other; where it ends, another one takes its place."""

    def __init__(self) -> None:
        self._own = ExitStack()
        self._process: subprocess.Popen[str] | None = None
        self._is_stopped = False

    def answer(self, question: Question, item: Any) -> Any:
        """Return the answer, or Died, or Late. Raises IrInterpError where processes do not even start."""
        status = 0
        for _ in range(2):  # somebody else may have ended the first
            process = self._ready()
            begin = time.monotonic()
            found = _asked(process, question, item)
            if found is not None:
                return found[0]
            status = self.end()
            if time.monotonic() - begin >= question.limit:
                return Late(question.limit)
            if self._is_stopped:
                break
        return Died(status)

    def stop(self) -> None:
        """End the process, whatever it does; no other takes its place."""
        self._is_stopped = True
        if self._process is not None:
            self._process.kill()

    def end(self) -> int:
        """End the process, and remove what it leaves; return how it ended."""
        process, self._process = self._process, None
        with suppress(OSError):  # what was still to be written to it
            self._own.close()
        return process.returncode if process else 0

    def _ready(self) -> subprocess.Popen[str]:
        """Return a process that waits for an item."""
        if self._process is not None and self._process.poll() is None:
            return self._process
        status = self.end()
        for _ in range(_STARTS):
            folder = self._own.enter_context(scratch())
            streams: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
            process = self._own.enter_context(started(_MODULE, folder=folder, fed=True, **streams))
            self._process = process
            if self._is_stopped:
                process.kill()
            if _read(_bytes(process.stdout)):
                return process
            status = self.end()
        raise IrInterpError(f"a process died with status {status} before it began to work")


_MODULE = "ir_interp.converters.workers.pool"
_kept = queue.SimpleQueue[Worker]()


def _asked(process: subprocess.Popen[str], question: Question, item: Any) -> tuple[Any] | None:
    """Return what a process says to an item; None where it ends instead, as it does at the latest after the limit."""
    timer = threading.Timer(question.limit, process.kill)
    timer.daemon = True
    timer.start()
    try:
        _write(_bytes(process.stdin), (question.function, item, question.setting))
        found: tuple[Any] | None = _read(_bytes(process.stdout))
    except OSError:  # it ended before
        return None
    finally:
        timer.cancel()
    return found


def _bytes(stream: Any) -> BinaryIO:
    return stream.buffer  # type: ignore[no-any-return]


def _write(stream: BinaryIO, value: Any) -> None:
    body = pickle.dumps(value)
    stream.write(_LENGTH.pack(len(body)) + body)
    stream.flush()


def _read(stream: BinaryIO) -> Any:
    """Return what the other side wrote; None where it has ended, be it in the middle of it."""
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    body = stream.read(length)
    return pickle.loads(body) if len(body) == length else None


def _main() -> None:
    """Answer questions until none has come for a while; what others print does not come between."""
    waiting = queue.SimpleQueue[Any]()
    threading.Thread(target=_listen, args=(waiting,), daemon=True).start()
    with os.fdopen(os.dup(1), "wb") as answers:
        os.dup2(2, 1)
        _write(answers, "ready")
        with suppress(queue.Empty):
            while True:
                function, item, setting = waiting.get(timeout=_IDLE)
                module, _, name = function.partition(":")
                _write(answers, (getattr(importlib.import_module(module), name)(item, setting),))
    os._exit(0)  # the other thread may still read


def _listen(waiting: queue.SimpleQueue[Any]) -> None:
    """Put questions where they wait. End this process with the other one, whatever it does."""
    with open(0, "rb", closefd=False) as questions:
        while (question := _read(questions)) is not None:
            waiting.put(question)
    os._exit(1)


if __name__ == "__main__":
    _main()
