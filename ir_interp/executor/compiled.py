"""Sums of whole numbers in loops that numba compiles, where it is installed (``pip install 'ir-interp[fast]'``).

They give the bytes that NumPy gives here, so it does not matter when they take over. They do where NumPy has worked for
as long as it takes to load them: a program that resizes a little never waits for them.
"""

from __future__ import annotations

import importlib
import importlib.util
import math
import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.executor.tiles import in_threads, threads
from ir_interp.plan.whole import WholeSum, Windows
from ir_interp.shapes import Shape
from ir_interp.spec import Integers

Array = NDArray[Any]
VARIABLE = "IR_INTERP_COMPILED"
"""The variable of the environment that forbids compiled loops (0), or loads them at once (1)."""

_PATIENCE = 1.0  # seconds of NumPy's work on such sums before the loops, which take about as long to load, are
_MIN_ELEMENTS_FOR_THREADS = 2**19  # of input and output together
_SHARES = 4  # of every thread: the last to end is not long alone
_MOST_TOGETHER = 16  # cells that move together along the last axis
_LONGEST = 2**32  # cells of a row
_ROUNDINGS = {Integers.HALF_EVEN: 0, None: 1, Integers.HALF_AWAY: 2}


class _Loops:
    """What this process knows of the compiled loops."""

    def __init__(self) -> None:
        self.spent = 0.0
        self._module: Any = None
        self._is_tried = False
        self._lock = threading.RLock()

    def get(self, *, at_once: bool = False) -> Any:
        """Return the module of loops; None where there is none, or none yet."""
        wanted = os.environ.get(VARIABLE)
        if wanted == "0":
            return None
        if not self._is_tried and (at_once or wanted == "1" or self.spent > _PATIENCE):
            with self._lock:
                if is_installed() and not self._is_tried:
                    with suppress(ImportError):
                        self._module = importlib.import_module("ir_interp.executor.loops")
                self._is_tried = True
        return self._module


_loops = _Loops()


@cache
def is_installed() -> bool:
    """Say whether numba is there; it is not imported."""
    return importlib.util.find_spec("numba") is not None


def load() -> None:
    """Load the loops now, where they are installed and not forbidden."""
    _loops.get(at_once=True)


@contextmanager
def counted() -> Iterator[None]:
    """Count how long NumPy works on what the loops would do."""
    begin = time.perf_counter()
    try:
        yield
    finally:
        _loops.spent += time.perf_counter() - begin


@dataclass(frozen=True, slots=True, eq=False)
class Job:
    """A sum as a loop takes it: of [outer, rows, cells] to [outer, rows, cells], and what its arguments are."""

    loop: str
    shape_in: tuple[int, int, int]
    shape_out: tuple[int, int, int]
    arguments: tuple[Any, ...]
    out_shape: Shape


def jobs(sums: Sequence[WholeSum], shape: Shape, dtype: np.dtype[Any]) -> tuple[Job, ...]:
    """Return the sums of arrays of a shape as loops take them; none where there is no loop for one of them."""
    made: list[Job] = []
    for each in sums:
        job = _job(each, shape, dtype)
        if job is None:
            return ()
        made.append(job)
        shape = job.out_shape
    return tuple(made)


def _job(sums: WholeSum, shape: Shape, dtype: np.dtype[Any]) -> Job | None:
    bounds = np.iinfo(dtype)
    tail = (2.0**-sums.bits, _ROUNDINGS[sums.rounding], float(bounds.min), float(bounds.max))
    first, last = sums.windows[0], sums.windows[-1]
    depth, out = math.prod(shape[last.axis + 1 :]), list(shape)
    for window in sums.windows:
        out[window.axis] = len(window.first)
    rows, cells = shape[first.axis], shape[last.axis] * depth
    if cells >= _LONGEST or last.axis - first.axis > 1:
        return None
    own: tuple[Any, ...]
    outer, places = math.prod(shape[: first.axis]), len(last.first) * depth
    if first is not last:
        loop, lengths, own = "rows_then_columns", (outer, rows, cells), (*_rows(first), *_columns(last, depth), depth)
        made = (outer, len(first.first), places)
    elif depth <= _MOST_TOGETHER:
        loop, lengths, own = "columns", (1, outer, cells), (*_columns(last, depth), depth)
        made = (1, outer, places)
    else:
        loop, lengths, own = "rows", (outer, rows, depth), _rows(first)
        made = (outer, len(first.first), depth)
    return Job(loop, lengths, made, (*own, *tail), tuple(out))


def _rows(window: Windows) -> tuple[Array, Array]:
    return window.first, window.weights


def _columns(window: Windows, depth: int) -> tuple[Array, Array]:
    return (window.first * depth).astype(np.uint32), window.weights


def run(x: Array, y: Array, made: Sequence[Job]) -> bool:
    """Fill ``y``, in C order, with what jobs make of ``x``, one after the other; False where there are no loops."""
    loops = _loops.get() if made and x.flags.c_contiguous else None
    if loops is None:
        return False
    for job in made:
        target = y if job is made[-1] else np.empty(job.out_shape, y.dtype)
        _run(getattr(loops, job.loop), x.reshape(job.shape_in), target.reshape(job.shape_out), job.arguments)
        x = target
    return True


def _run(loop: Any, x: Array, y: Array, arguments: tuple[Any, ...]) -> None:
    count = threads() if x.size + y.size > _MIN_ELEMENTS_FOR_THREADS else 1
    height = max(1, -(-y.shape[0] * y.shape[1] // (count * _SHARES))) if count > 1 else y.shape[1]
    spans = [(item, start) for item in range(y.shape[0]) for start in range(0, y.shape[1], height)]
    waiting = iter(spans)

    def take_spans() -> None:
        for item, start in waiting:
            loop(x[item], y[item], start, min(start + height, y.shape[1]), *arguments)

    in_threads(take_spans, min(count, len(spans)), products=False)
