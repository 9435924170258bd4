"""The threads that share a piece of work, their scratch memory, and attributes that are computed without a lock.

Helpers and the caller wait for each other; a process forked meanwhile must not wait forever.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import cache
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from ir_interp.shapes import Array

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

Value = TypeVar("Value")
Part = TypeVar("Part")


class cached_property(Generic[Value]):  # noqa: N801 (used as a decorator, like functools.cached_property)
    """A property that is computed once per object, or twice if two threads need it at the same time.

    ``functools.cached_property`` holds a lock while it computes in Python 3.11; a process forked meanwhile would wait
    forever.
    """

    def __init__(self, compute: Callable[[Any], Value]) -> None:
        self._compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> cached_property[Value]: ...

    @overload
    def __get__(self, instance: object, owner: type) -> Value: ...

    def __get__(self, instance: object | None, owner: type) -> cached_property[Value] | Value:
        if instance is None:
            return self
        value = self._compute(instance)
        instance.__dict__[self._name] = value
        return value


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


def for_each(
    parts: Sequence[Part],
    work: Callable[[Part], object],
    *,
    are_shared: bool,
    products: bool = True,
    waiting: ActiveWaiting | None = None,
) -> None:
    """Do ``work`` on each part, in several threads at once if ``are_shared``; a slow one takes fewer parts.

    ``products`` is whether it uses matrix products. With ``waiting``, a thread that is needed again at once does not
    sleep before.

    A call within another one of this thread, by a signal handler or a finaliser, uses this thread only: the other call
    may hold any lock. The same holds while Python exits, and in a process that was forked in the middle of another
    thread's call.
    """
    queue, count = iter(parts), min(threads(), len(parts)) if are_shared else 1

    def take_parts() -> None:
        for part in queue:
            work(part)

    with _calls:
        if count <= 1 or _calls.depth > 1 or Forked.lost_locks:
            take_parts()
            return
        with _single_threaded_products if products else nullcontext():
            _helpers.run(take_parts, count - 1, waiting)


class _Calls(threading.local):
    """The number of nested calls of this thread."""

    depth = 0

    def __enter__(self) -> None:
        self.depth += 1
        _busy.add(threading.get_ident())

    def __exit__(self, *_: object) -> None:
        self.depth -= 1
        if not self.depth:
            _busy.discard(threading.get_ident())


_busy: set[int] = set()
"""The threads that are in a call."""
_calls = _Calls()
_helpers = Helpers(_calls)


class Forked:
    """State inherited through a fork."""

    lost_locks = False
    """Whether a thread was in a call when this process was forked: locks of BLAS or of imports may be held forever."""


def in_call() -> _Calls:
    """Return a context of a call that runs in this thread only."""
    return _calls


def is_within_another() -> bool:
    """Return whether this call is nested in another one of this thread: by a signal handler or a finaliser."""
    return _calls.depth > 0


_MAX_SCRATCH_BYTES = 2**26  # of an array whose memory is kept
_kept = threading.local()


def scratch(which: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Return a reusable array of this thread, since fresh memory costs more than the arithmetic."""
    needed = math.prod(shape) * dtype.itemsize
    if needed > _MAX_SCRATCH_BYTES or dtype.hasobject or _calls.depth > 1:  # the outer call uses the kept memory
        return np.empty(shape, dtype)
    buffers: dict[int, NDArray[np.uint8]] = _kept.__dict__.setdefault("buffers", {})
    if which not in buffers or buffers[which].size < needed:
        buffers[which] = np.empty(needed, np.uint8)
    return buffers[which][:needed].view(dtype).reshape(shape)


@contextmanager
def alone() -> Iterator[None]:
    """Let the calls of this thread use no others, which have work of their own."""
    before, _place.is_alone = _place.is_alone, True
    try:
        yield
    finally:
        _place.is_alone = before


class _Place(threading.local):
    is_alone = False


_place = _Place()


def threads() -> int:
    """Return the number of threads that share tiles, including the caller's: IR_INTERP_THREADS, or at most 4."""
    if _place.is_alone:
        return 1
    setting = os.environ.get("IR_INTERP_THREADS", "")
    return max(1, int(setting)) if setting.isdecimal() else min(4, os.cpu_count() or 1)


_SHARED = 4  # times the elements of a single thread's tile


def tile_elements(alone: int) -> int:
    """Return the number of elements of a tile, ``alone`` for a single thread.

    Tiles that threads share are larger, since each step of a small one would wait for Python's lock as long as it runs.
    """
    return alone * _SHARED if threads() > 1 else alone


class _SingleThreadedProducts:
    """A context in which a matrix product uses one thread, since our threads share the tiles already.

    The setting is global to the process, so the first to enter changes it, and the last to leave restores it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._limits: Any = None

    def forget(self) -> None:
        """Reset after a fork, in which other threads are gone. The setting is kept, since BLAS may be locked."""
        self._lock = threading.Lock()
        self._inside = 0

    def __enter__(self) -> None:
        with self._lock:
            self._inside += 1
            if self._limits is None and not Forked.lost_locks:
                self._limits = _libraries().limit(limits=1, user_api="blas")

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside = max(0, self._inside - 1)
            if not self._inside and self._limits is not None and not Forked.lost_locks:
                self._limits.restore_original_limits()
                self._limits = None


_single_threaded_products = _SingleThreadedProducts()


def _forget_threads() -> None:
    """Forget the threads of the parent, which do not survive a fork; whatever waits for them would wait forever."""
    Forked.lost_locks |= bool(_busy - {threading.get_ident()})
    _busy.intersection_update({threading.get_ident()})
    _helpers.forget()
    _single_threaded_products.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_threads)


def blas() -> str:
    """Return the BLAS that multiplies NumPy's matrices, and the processor that its kernels are for."""
    blas = [library for library in _libraries().info() if library["user_api"] == "blas"]
    rows = [
        f"{library['internal_api']} {library['version']}, kernels of {library.get('architecture')}" for library in blas
    ]
    return "; ".join(rows) or "unknown"


@cache
def _libraries() -> ThreadpoolController:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
