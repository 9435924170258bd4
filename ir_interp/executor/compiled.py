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

from ir_interp.executor.threads import in_threads, is_within_another, threads
from ir_interp.plan.geometry import Plan
from ir_interp.plan.passes import Pass
from ir_interp.plan.pieces import Piece
from ir_interp.plan.taps import axis_taps
from ir_interp.plan.whole import WholeSum, Windows, gathered
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
_SMALLEST = 2**8  # elements of an image, where there are many: a call costs as much
_ROUNDINGS = {Integers.HALF_EVEN: 0, None: 1, Integers.HALF_AWAY: 2}


class _Loops:
    """What this process knows of the compiled loops."""

    def __init__(self) -> None:
        self.spent = 0.0
        self._module: Any = None
        self._is_tried = False
        self._compiled: set[tuple[str, np.dtype[Any], bool]] = set()
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

    def compiled(self, name: str, x: Array, y: Array, arguments: tuple[Any, ...]) -> Any:
        """Return a loop that is compiled for an image [rows, cells] of this type."""
        loop, key = getattr(self._module, name), (name, x.dtype, x.flags.writeable)
        if key not in self._compiled:
            with self.lock:
                loop(x, y, 0, 0, *arguments)
                self._compiled.add(key)
        return loop


_loops = _Loops()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_loops.lock.acquire, after_in_parent=_loops.lock.release, after_in_child=_loops.lock.release
    )


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
    """A sum as a loop takes it: of [outer, rows, cells] to [outer, rows, cells], and what its arguments are.

    Elements that are copied are ``seen_as`` integers of their size.
    """

    loop: str
    shape_in: tuple[int, int, int]
    shape_out: tuple[int, int, int]
    arguments: tuple[Any, ...]
    out_shape: Shape
    seen_as: np.dtype[Any] | None = None


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
    return Job(loop, lengths, made, (*own, *tail), tuple(out)) if _pays(made) else None


def _pays(made: tuple[int, int, int]) -> bool:
    """Say whether outputs [outer, rows, cells] are worth a call each."""
    return made[0] == 1 or made[1] * made[2] >= _SMALLEST


def copies(bound: Plan, piece: Piece, dtype: np.dtype[Any]) -> tuple[Job, ...]:
    """Return the copies of a nearest resize of two neighbouring axes as a loop takes them; none of another."""
    axes = sorted(bound.axes, key=lambda each: each.axis)
    if len(axes) != 2 or axes[1].axis != axes[0].axis + 1 or dtype.itemsize not in (1, 2, 4, 8) or dtype.hasobject:
        return ()
    taken = zip(bound.axes, axis_taps(bound), strict=True)
    taps = {axis.axis: piece.taps(each, axis.axis).indices[:, 0] for axis, each in taken}
    shape = _lengths(piece)
    first, last = axes[0].axis, axes[1].axis
    depth, outer = math.prod(shape[last + 1 :]), math.prod(shape[:first])
    places = (outer, len(taps[first]), len(taps[last]) * depth)
    if depth > _MOST_TOGETHER or shape[last] * depth >= _LONGEST or not _pays(places):
        return ()
    own = (taps[first], (taps[last] * depth).astype(np.uint32), depth)
    bits = np.dtype(f"u{dtype.itemsize}")
    return (Job("copies", (outer, shape[first], shape[last] * depth), places, own, piece.shape, bits),)


def in_order(made: Sequence[Pass], piece: Piece) -> tuple[Job, ...]:
    """Return two passes over bytes that a loop makes in their own order; none where there is no such loop."""
    if len(made) != 2 or made[0].axis != made[1].axis + 1:
        return ()
    (columns, rows), shape, out_shape = made, _lengths(piece), piece.shape
    depth, outer = math.prod(shape[columns.axis + 1 :]), math.prod(shape[: rows.axis])
    if depth > _MOST_TOGETHER or shape[columns.axis] * depth >= _LONGEST:
        return ()
    lengths = (outer, shape[rows.axis], shape[columns.axis] * depth)
    places = (outer, len(rows.indices), len(columns.indices) * depth)
    if rows.bits_each and rows.indices.shape[1] == 2:
        window = gathered(columns.axis, shape[columns.axis], columns.indices, columns.weights)
        bits = (rows.bits_before, rows.bits_each, rows.bits_after)
        short = (rows.indices, rows.weights.astype(np.int32), *_columns(window, depth), depth, *bits)
        return (Job("shortened", lengths, places, short, out_shape),)
    if rows.weights.dtype == columns.weights.dtype == np.float32 and columns.rounding is None:
        cells = (columns.indices * depth).astype(np.uint32)
        own = (rows.indices, rows.weights, cells, columns.weights, depth, 0.0, 255.0)
        return (Job("chained", lengths, places, own, out_shape),) if rows.rounding is Integers.HALF_EVEN else ()
    return ()


def _lengths(piece: Piece) -> Shape:
    return tuple(stop - start for start, stop in piece.inputs)


def _rows(window: Windows) -> tuple[Array, Array]:
    return window.first, window.weights


def _columns(window: Windows, depth: int) -> tuple[Array, Array]:
    return (window.first * depth).astype(np.uint32), window.weights


def run(x: Array, y: Array, made: Sequence[Job]) -> bool:
    """Fill ``y``, in C order, with what jobs make of ``x``, one after the other; False where loops cannot."""
    if is_within_another() or not (x.flags.c_contiguous and x.flags.aligned) or _loops.get() is None:
        return False  # a call within another, by a signal handler, may find a loop half compiled
    for job in made:
        target = y if job is made[-1] else np.empty(job.out_shape, y.dtype)
        values, places = x.reshape(job.shape_in), target.reshape(job.shape_out)
        if job.seen_as is not None:
            values, places = values.view(job.seen_as), places.view(job.seen_as)
        _run(job, values, places)
        x = target
    return True


def _run(job: Job, x: Array, y: Array) -> None:
    count = threads() if x.size + y.size > _MIN_ELEMENTS_FOR_THREADS else 1
    height = max(1, -(-y.shape[0] * y.shape[1] // (count * _SHARES))) if count > 1 else y.shape[1]
    spans = [(item, start) for item in range(y.shape[0]) for start in range(0, y.shape[1], height)]
    waiting = iter(spans)

    def take_spans() -> None:
        loop = _loops.compiled(job.loop, x[0], y[0], job.arguments)
        for item, start in waiting:
            loop(x[item], y[item], start, min(start + height, y.shape[1]), *job.arguments)

    in_threads(take_spans, min(count, len(spans)), products=False)
