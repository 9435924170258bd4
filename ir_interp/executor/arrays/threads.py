"""The threads that share a piece of work, and the memory that each keeps for its next one."""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable
from contextlib import nullcontext, suppress
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

Array = NDArray[Any]


def in_threads(job: Callable[[], None], count: int, *, products: bool = True) -> None:
    """Run ``job``, which makes matrix ``products`` or none, in ``count`` threads at once, this one among them.

    A call from within another one of this thread, by a signal handler or a finaliser, takes this thread alone: the
    other may hold any lock, or be what the threads of the pool wait for. So does a call while Python ends, and one in a
    process that was forked from the middle of another thread's call.
    """
    with _calls:
        if count == 1 or _calls.depth > 1 or Forked.lost_locks:
            job()
            return
        with _single_threaded_products if products else nullcontext():
            done: list[Future[None]] = []
            try:
                with suppress(RuntimeError):  # while Python ends, no thread can be started
                    for _ in range(count - 1):
                        done.append(_pool(count - 1).submit(_help, job))
                job()
            finally:
                for each in done:
                    each.result()


def _help(job: Callable[[], None]) -> None:
    with _calls:
        job()


class _Calls(threading.local):
    """How many calls, each within another, this thread is in."""

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


class Forked:
    """What a fork left to this process."""

    lost_locks = False
    """Whether a thread was in a call when this process was forked: locks of BLAS or of imports may be held for ever."""


def in_call() -> _Calls:
    """Return a context of a call that makes all in this thread."""
    return _calls


def is_within_another() -> bool:
    """Say whether this is a call from within another one of this thread: by a signal handler or a finaliser."""
    return _calls.depth > 0


_MAX_SCRATCH_BYTES = 2**26  # of an array whose memory is kept
_kept = threading.local()


def scratch(which: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Return an array of this thread's own whose memory is used again: fresh memory costs more than the arithmetic."""
    needed = math.prod(shape) * dtype.itemsize
    if needed > _MAX_SCRATCH_BYTES or dtype.hasobject or _calls.depth > 1:  # the call outside uses what is kept
        return np.empty(shape, dtype)
    buffers: dict[int, NDArray[np.uint8]] = _kept.__dict__.setdefault("buffers", {})
    if which not in buffers or buffers[which].size < needed:
        buffers[which] = np.empty(needed, np.uint8)
    return buffers[which][:needed].view(dtype).reshape(shape)


def threads() -> int:
    """Return how many threads share the tiles, the caller's among them: IR_INTERP_THREADS, else at most 4."""
    given = os.environ.get("IR_INTERP_THREADS", "")
    return max(1, int(given)) if given.isdecimal() else min(4, os.cpu_count() or 1)


@cache
def wake_seconds() -> float:
    """Return how long it takes until a second thread has helped, measured when it is first needed."""
    times = []
    for _ in range(_TRIES):
        begin = time.perf_counter()
        in_threads(lambda: None, 2, products=False)
        times.append(time.perf_counter() - begin)
    return min(times)


_TRIES = 8
_SHARED = 4


def tile_elements(alone: int) -> int:
    """Return how many elements a tile has, ``alone`` where one thread makes all.

    Tiles that threads share are larger: each step of a small one waits for Python's lock, which costs what it takes.
    """
    return alone * _SHARED if threads() > 1 else alone


@cache
def _pool(count: int) -> ThreadPoolExecutor:
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(count, "ir_interp")


class _SingleThreadedProducts:
    """A context in which a matrix product takes one thread: ours share the tiles already.

    The setting is the process's. So the first to enter makes it, and the last to leave takes it back.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._limits: Any = None

    def forget(self) -> None:
        """Start anew: after a fork the other threads inside are gone. The setting stays, for BLAS may be locked."""
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
    """Forget what other threads did: they do not survive a fork, and what waits for them would do so for ever."""
    Forked.lost_locks |= bool(_busy - {threading.get_ident()})
    _busy.intersection_update({threading.get_ident()})
    _pool.cache_clear()
    wake_seconds.cache_clear()
    _single_threaded_products.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_threads)


def blas() -> str:
    """Return which BLAS multiplies NumPy's matrices, and for which processor its kernels are."""
    found = [each for each in _libraries().info() if each["user_api"] == "blas"]
    rows = [f"{each['internal_api']} {each['version']}, kernels of {each.get('architecture')}" for each in found]
    return "; ".join(rows) or "unknown"


@cache
def _libraries() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
