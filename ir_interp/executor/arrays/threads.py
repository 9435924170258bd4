"""The threads that share a piece of work, and the scratch memory that each keeps."""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.array_types import Array
from ir_interp.executor.arrays.helper_threads import ActiveWaiting, Helpers


def in_threads(
    job: Callable[[], None], count: int, *, products: bool = True, waiting: ActiveWaiting | None = None
) -> None:
    """Run ``job`` in ``count`` threads at once, including this one; ``products`` is whether it uses matrix products.

    With ``waiting``, a thread that is needed again at once does not sleep before.

    A call within another one of this thread, by a signal handler or a finaliser, uses this thread only: the other call
    may hold any lock. The same holds while Python exits, and in a process that was forked in the middle of another
    thread's call.
    """
    with _calls:
        if count == 1 or _calls.depth > 1 or Forked.lost_locks:
            job()
            return
        with _single_threaded_products if products else nullcontext():
            _helpers.run(job, count - 1, waiting)


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
def _libraries() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
