"""Threads that help with the work of a call, and how they and the caller wait for each other."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from queue import SimpleQueue
from typing import Protocol

import numpy as np

from ir_interp.array_types import Array

_UNKNOWN = -1


def _unknown_processor() -> int:
    return _UNKNOWN


class ActiveWaiting(Protocol):
    """Waiting without sleeping and without Python's lock, for no longer than it takes to wake a thread.

    A call of a tenth of a millisecond would otherwise end before its helpers begin.
    """

    def rest(self, ended: Array, calls: Array, seen: int) -> None:
        """Add one to ``ended``, and wait until ``calls`` is another number than ``seen``."""

    def wait(self, ended: Array, count: int) -> None:
        """Wait until ``ended`` is ``count``."""

    def processor(self) -> int:
        """Return the number of the processor that runs this thread, if the system tells; else -1."""


class Helpers:
    """Threads that wait for work, started as needed; Python exits without waiting for them.

    They work in the context ``call``.
    """

    def __init__(self, call: AbstractContextManager[object]) -> None:
        self._call = call
        self.forget()

    def forget(self) -> None:
        """Start anew, in a forked process, where these threads do not exist."""
        self._queue: SimpleQueue[_Work] = SimpleQueue()
        self._threads, self._starting = list[threading.Thread](), threading.Lock()
        self._avoided, self._processor = _UNKNOWN, _unknown_processor
        self._calls = np.zeros(1, np.int64)

    def run(self, job: Callable[[], None], count: int, waiting: ActiveWaiting | None) -> None:
        """Run ``job`` in this thread and in at most ``count`` others; raise the first error of any."""
        work = _Work(job, count, int(self._calls[0]) + 1, waiting)
        if len(self._threads) < count:
            self._start(count)
        if waiting:
            self._processor = waiting.processor
        self._avoid(self._processor())
        try:
            for _ in range(count):
                self._queue.put(work)
            self._calls[0] = work.number
            job()
        finally:
            work.finish()  # even after an error: the others still write into the caller's arrays

    def _start(self, count: int) -> None:
        """Start threads, up to ``count`` of them."""
        with suppress(RuntimeError), self._starting:  # while Python exits, no thread can be started
            while len(self._threads) < count:
                thread = threading.Thread(target=self._serve, name="ir_interp", daemon=True)
                thread.start()
                self._threads.append(thread)
                self._avoided = _UNKNOWN

    def _avoid(self, processor: int) -> None:
        """Keep the threads off the processor of the caller.

        Linux wakes a thread where its caller runs, and may leave both there for many milliseconds.
        """
        if processor == self._avoided:
            return
        self._avoided = processor
        with suppress(AttributeError, OSError):  # on other systems, and where a sandbox forbids it
            others = os.sched_getaffinity(os.getpid()) - {processor}
            for thread in self._threads if others else ():
                os.sched_setaffinity(thread.native_id or 0, others)

    def _serve(self) -> None:
        while True:
            work = self._queue.get()
            waiting, ended, number = work.waiting, work.ended, work.number
            with self._call:
                has_begun = work.help()
            if not has_begun:
                ended = np.zeros_like(ended)
            del work  # with the arrays of the call
            if waiting:
                waiting.rest(ended, self._calls, number)  # not at all if another call has begun


class _Work:
    """A job that several threads run at once, in the call of this ``number``."""

    def __init__(self, job: Callable[[], None], count: int, number: int, waiting: ActiveWaiting | None) -> None:
        self._job, self._count = job, count
        self._places = [None] * count  # one for each helper; the caller takes those that are left
        self._errors: SimpleQueue[BaseException | None] = SimpleQueue()
        self.number, self.waiting, self.ended = number, waiting, np.zeros(1, np.int64)

    def help(self) -> bool:
        """Run the job, unless the caller is done; return whether it ran."""
        try:
            self._places.pop()
        except IndexError:
            return False
        error = None
        try:
            self._job()
        except BaseException as raised:
            error = raised
        self._errors.put(error)
        return True

    def finish(self) -> None:
        """Wait for the helpers that have begun."""
        begun = self._count
        with suppress(IndexError):
            while True:
                self._places.pop()
                begun -= 1
        if begun and self.waiting:
            self.waiting.wait(self.ended, begun)
        errors = [self._errors.get() for _ in range(begun)]
        for error in errors:
            if error is not None:
                raise error
