"""Sums of whole numbers in loops that numba compiles, where it is installed (``pip install 'ir-interp[fast]'``).

They give the bytes that NumPy gives here, so it does not matter when they take over. They do where NumPy has worked for
as long as it takes to load them: a program that resizes a little never waits for them.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.executor import bands
from ir_interp.executor.jobs import Job
from ir_interp.executor.threads import in_threads, is_within_another, threads
from ir_interp.plan.taps import Taps

Array = NDArray[Any]
VARIABLE = "IR_INTERP_COMPILED"
"""The variable of the environment that forbids compiled loops (0), or loads them at once (1)."""

_PATIENCE = 1.0  # seconds of NumPy's work on such sums before the loops, which take about as long to load, are
_MIN_TAPS_FOR_THREADS = 2**20  # all inputs of all outputs, in bytes: less takes no longer than a thread to wake
_SHARES = 4  # of every thread: the last to end is not long alone


class _Loops:
    """What this process knows of the compiled loops."""

    def __init__(self) -> None:
        self.spent = 0.0
        self._module: Any = None
        self._is_tried = False
        self._compiled: set[tuple[str, np.dtype[Any], bool, str]] = set()
        self._agreeing: dict[np.dtype[Any], bool] = {}
        self.lock = threading.RLock()
        """Held by who imports or compiles: a fork waits for it, since numba's own locks would stay as they are."""

    def get(self, *, at_once: bool = False) -> Any:
        """Return the module of loops; None where there is none, or none yet."""
        wanted = os.environ.get(VARIABLE)
        if wanted == "0":
            return None
        if not self._is_tried and (at_once or wanted == "1" or self.spent > _PATIENCE):
            with self.lock:
                if not self._is_tried:
                    self._is_tried = True  # who asks meanwhile, a signal handler or another thread, goes without
                    if is_installed():
                        with suppress(ImportError):
                            self._module = importlib.import_module("ir_interp.executor.loops")
        return self._module

    def compiled(self, job: Job, x: Array, y: Array) -> Any:
        """Return the loop of a job, compiled for an image [rows, cells] of this type."""
        loop, key = getattr(self._module, job.loop), (job.loop, x.dtype, x.flags.writeable, job.kinds)
        if key not in self._compiled:
            with self.lock:
                loop(x, y, 0, 0, *job.arguments)
                self._compiled.add(key)
        return loop

    def sums_like_products(self, dtype: np.dtype[Any]) -> bool:
        """Say whether loops give floats the bits of this machine's matrix products: one sum after the other, fused."""
        if dtype not in self._agreeing:
            with self.lock:
                self._agreeing[dtype] = False  # who asks meanwhile, a signal handler or another thread, goes without
                self._agreeing[dtype] = _agree(self._module, dtype)
        return self._agreeing[dtype]

    @cached_property
    def converts_half(self) -> bool:
        """Say whether loops may take float16, once they are there."""
        return bool(self._module.are_converted())


def _agree(loops: Any, dtype: np.dtype[Any]) -> bool:
    """Say whether random sums along rows, and then of rows, are the same in loops and in products."""
    rng, length, count, width = np.random.default_rng(0), 96, 37, 7
    first = np.sort(rng.integers(0, length - width, count))
    taps = Taps(first[:, None] + np.arange(width), rng.standard_normal((count, width)))
    x, sums = rng.standard_normal((length, length)).astype(dtype), np.empty((count, count), dtype)
    columns, rows = (bands.prepare(taps, 0, count, inner, dtype) for inner in (1, count))
    made, products = np.empty((length, count, 1), dtype), np.empty((1, count, count), dtype)
    needed = slice(columns.span.in_start, columns.span.in_stop)
    columns.apply(np.ascontiguousarray(x[:, needed, None]), made)
    rows.apply(made[None, needed, :, 0], products)
    own = np.ascontiguousarray(taps.weights, dtype)
    loops.floats_columns_first(x, sums, 0, count, length, first, own, first.astype(np.uint32), own, 1, 0)
    return bool((products[0] == sums).all())


_loops = _Loops()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_loops.lock.acquire, after_in_parent=_loops.lock.release, after_in_child=_loops.lock.release
    )


@cache
def is_installed() -> bool:
    """Say whether numba is there; it is not imported."""
    return importlib.util.find_spec("numba") is not None


def load() -> bool:
    """Load the loops now, where they are installed and not forbidden; say whether they are there."""
    return _loops.get(at_once=True) is not None


@contextmanager
def counted() -> Iterator[None]:
    """Count how long NumPy works on what the loops would do."""
    begin = time.perf_counter()
    try:
        yield
    finally:
        _loops.spent += time.perf_counter() - begin


def run(x: Array, y: Array, made: Sequence[Job]) -> bool:
    """Fill ``y``, in C order, with what jobs make of ``x``, one after the other; False where loops cannot."""
    if is_within_another() or not (x.flags.c_contiguous and x.flags.aligned) or _loops.get() is None:
        return False  # a call within another, by a signal handler, may find a loop half compiled
    if (kind := made[0].sums_in) is not None and not _loops.sums_like_products(kind):
        return False
    if kind is not None and y.dtype == np.float16 and not _loops.converts_half:
        return False
    for job in made:
        target = y if job is made[-1] else np.empty(job.out_shape, y.dtype)
        values, places = x.reshape(job.shape_in), target.reshape(job.shape_out)
        if job.seen_as is not None:
            values, places = values.view(job.seen_as), places.view(job.seen_as)
        _run(job, values, places)
        x = target
    return True


def _run(job: Job, x: Array, y: Array) -> None:
    count = threads() if y.nbytes * job.taps > _MIN_TAPS_FOR_THREADS else 1
    height = max(1, -(-y.shape[0] * y.shape[1] // (count * _SHARES))) if count > 1 else y.shape[1]
    spans = [(item, start) for item in range(y.shape[0]) for start in range(0, y.shape[1], height)]
    waiting = iter(spans)

    def take_spans() -> None:
        loop = _loops.compiled(job, x[0], y[0])
        for item, start in waiting:
            loop(x[item], y[item], start, min(start + height, y.shape[1]), *job.arguments)

    in_threads(take_spans, min(count, len(spans)), products=False)
