"""Threads that help with the work of a call, and how they and the caller wait for each other."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from queue import SimpleQueue
from typing import Protocol

import numpy as np

from ir_interp.array_types import Array


class ActiveWaiting(Protocol):
    """Waiting without sleeping and without Python's lock, for no longer than it takes to wake a thread.

    A call of a tenth of a millisecond would otherwise end before its helpers begin.
    """

    def rest(self, ended: Array, calls: Array, seen: int) -> None:
        """Add one to ``ended``, and wait until ``calls`` is another number than ``seen``."""

    def wait(self, ended: Array, count: int) -> None:
        """Wait until ``ended`` is ``count``."""


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
        self._started, self._starting = 0, threading.Lock()
        self._calls = np.zeros(1, np.int64)

    def run(self, job: Callable[[], None], count: int, waiting: ActiveWaiting | None) -> None:
        """Run ``job`` in this thread and in at most ``count`` others; raise the first error of any."""
        work = _Work(job, count, waiting)
        if self._started < count:
            self._start(count)
        try:
            for _ in range(count):
                self._queue.put(work)
            self._calls += 1
            job()
        finally:
            work.finish()  # even after an error: the others still write into the caller's arrays

    def _start(self, count: int) -> None:
        """Start threads, up to ``count`` of them."""
        with suppress(RuntimeError), self._starting:  # while Python exits, no thread can be started
            while self._started < count:
                threading.Thread(target=self._serve, name="ir_interp", daemon=True).start()
                self._started += 1

    def _serve(self) -> None:
        while True:
            work = self._queue.get()
            seen, waiting, ended = int(self._calls[0]), work.waiting, work.ended
            with self._call:
                has_begun = work.help()
            if not has_begun:
                ended = np.zeros_like(ended)
            del work  # with the arrays of the call
            if waiting:
                waiting.rest(ended, self._calls, seen)


class _Work:
    """A job that several threads run at once."""

    def __init__(self, job: Callable[[], None], count: int, waiting: ActiveWaiting | None) -> None:
        self._job, self._count = job, count
        self._places = [None] * count  # one for each helper; the caller takes those that are left
        self._errors: SimpleQueue[BaseException | None] = SimpleQueue()
        self.waiting, self.ended = waiting, np.zeros(1, np.int64)

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
