"""Jobs of the loops that numba compiles, if installed (``pip install 'ir-interp[fast]'``), and their execution.

A job is a sum in the form that loops take: the shapes that a loop processes, and its call. Loops compute the same bits
as NumPy here, and are used from the first call on. Imports no numba.
"""

from __future__ import annotations

import importlib
import importlib.util
import math
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import metadata
from typing import Any, Protocol

import numpy as np

from ir_interp.executor.loop_calls import Call, Loop
from ir_interp.executor.threads import (
    ActiveWaiting,
    Forked,
    cached_property,
    for_each,
    in_call,
    is_within_another,
    threads,
)
from ir_interp.imports import guard_numba
from ir_interp.plan.integer_sums import Piece, Windows
from ir_interp.shapes import Array, Shape

Lengths = tuple[int, int, int]
Plain = tuple[Any, ...]
"""Numbers, arrays and plain tuples of them."""
MOST_TOGETHER = 16  # cells of a pixel that a loop along rows sums; with more, whole rows of cells are summed at once
LONGEST = 2**32  # cells of a row, which loops count by uint32
_SMALLEST = 2**8  # elements of an image, if there are many; a call costs as much


class Timing:
    """The last durations of a job on one thread and on several, in seconds.

    Whether threads pay depends on how fast the machine wakes one, on its caches and on the pauses between calls, so
    both ways are timed. At the end of each period some calls in sequence go the slower way: the first may have to wake
    a thread, the others have it at hand. Early periods are short, since few calls may mislead.
    """

    def __init__(self) -> None:
        self._seconds = {is_shared: deque[float](maxlen=_TRIES) for is_shared in (False, True)}
        self._period, self._left, self._pays = _SHORTEST, 2 * _TRIES, False

    def is_shared(self) -> bool:
        """Return whether threads are to share the next call."""
        if self._left <= 0:  # calls of several threads may count one twice
            self._begin()
        self._left -= 1
        return self._pays == (self._left >= _TRIES)

    def _begin(self) -> None:
        # calls of other threads may have been counted and not yet measured
        alone, shared = (min(self._seconds[is_shared], default=math.inf) for is_shared in (False, True))
        self._pays = shared < alone
        self._left, self._period = self._period, min(2 * self._period, _LONGEST)

    def add(self, seconds: float, *, is_shared: bool) -> None:
        """Add the duration of a call."""
        self._seconds[is_shared].append(seconds)

    def is_surely_alone(self) -> bool:
        """Return whether the next call is alone and not measured."""
        if self._pays or self._left <= 2 * _TRIES:
            return False
        self._left -= 1
        return True


_TRIES = 3  # calls each way, of which the fastest counts: whatever else the machine does makes a call slower
_SHORTEST, _LONGEST = 16, 256  # calls of a period


@dataclass(frozen=True, kw_only=True, eq=False)
class Extents:
    """The shapes of a loop: [outer, rows, cells] to [outer, rows, cells], and the shape of the result.

    ``height`` is the number of rows of an image, if many are stacked vertically; a pixel has ``depth`` cells.
    """

    shape_in: Lengths
    shape_out: Lengths
    out_shape: Shape
    height: int
    depth: int

    def apart(self, images: int) -> Extents:
        """Return the extents with ``images`` as a separate axis, for rows that are not contiguous."""
        lengths, made = ((images, rows // max(images, 1), cells) for _, rows, cells in (self.shape_in, self.shape_out))
        return replace(self, shape_in=lengths, shape_out=made)

    @property
    def pays(self) -> bool:
        """Return whether images are worth a call each."""
        outer, rows, cells = self.shape_out
        return outer == 1 or rows * cells >= _SMALLEST


def extents(counts: dict[int, int], shape: Shape) -> Extents | None:
    """Return the extents of an array whose axes, one or two neighbours, are resized to ``counts``.

    If a pixel has many cells, a sum along one axis is a sum of whole rows of cells, and ``depth`` is 0. None if
    loops cannot count the cells of a row, or if axes are not neighbours.
    """
    first, last = min(counts), max(counts)
    out = tuple(counts.get(axis, length) for axis, length in enumerate(shape))
    outer, depth = math.prod(shape[:first]), math.prod(shape[last + 1 :])
    cells, cells_out = shape[last] * depth, out[last] * depth
    if last - first > 1:
        return None
    if first == last and depth > MOST_TOGETHER:
        lengths, made, depth = (1, outer * shape[first], depth), (1, outer * out[first], depth), 0
    elif cells >= LONGEST:
        return None
    elif first == last:
        lengths, made = (1, outer, cells), (1, outer, cells_out)
    else:
        lengths, made = (1, outer * shape[first], cells), (1, outer * out[first], cells_out)
    return Extents(shape_in=lengths, shape_out=made, out_shape=out, height=shape[first], depth=depth)


@dataclass(frozen=True, kw_only=True, eq=False)
class Job:
    """A call of a loop on arrays of some extents.

    ``taps`` are the inputs of an output, for all axes. Copied elements are ``seen_as`` integers of their size, as is
    float16. Sums that another job continues are ``kept_as`` a type, by default that of the result.
    """

    extents: Extents
    call: Call
    taps: int = 1
    seen_as: np.dtype[Any] | None = None
    kept_as: np.dtype[Any] | None = None
    timing: Timing = field(default_factory=Timing)
    compiled: list[Loop] = field(default_factory=list)
    """The loop, once it is compiled for arrays of these types."""

    @property
    def name(self) -> str:
        """The names of its call and of the ending of its sums, if it has one."""
        ending = getattr(self.call, "ending", None)
        return "/".join(type(part).__name__ for part in (self.call, ending) if part is not None)

    @cached_property
    def arguments(self) -> Plain:
        """The call as plain tuples."""
        return _plain(self.call)

    @cached_property
    def kinds(self) -> str:
        """The types of its arguments; a loop is compiled for each set of them."""
        return _kinds(self.arguments)


def _plain(record: tuple[Any, ...]) -> Plain:
    return tuple(_plain(value) if isinstance(value, tuple) else value for value in record)


def _kinds(value: object) -> str:
    if isinstance(value, tuple):
        return f"({' '.join(map(_kinds, value))})"
    return f"{value.dtype.str}{value.flags.c_contiguous}" if isinstance(value, np.ndarray) else type(value).__name__


def lengths_of(piece: Piece) -> Shape:
    """Return the shape of the input of a piece."""
    return tuple(stop - start for start, stop in piece.inputs)


def taps_of(windows: Sequence[Windows]) -> int:
    """Return the number of inputs of an output."""
    return math.prod(window.weights.shape[1] for window in windows)


Quick = Callable[[Array, Array], bool | None]
VARIABLE = "IR_INTERP_COMPILED"
"""The environment variable that disables compiled loops when it is 0; it is read once, since that takes a while."""

_NUMPY_ALONE = ContextVar("numpy_alone", default=False)
_NEVER_SHARED, _SURELY_SHARED = 2**19, 2**26  # bytes: all inputs of all outputs
_SHARES = 2  # of every thread, so that the last to end is not long alone


class _Module(Protocol):
    """The folder ``loops``, which is imported only if numba is installed."""

    LOOPS: Mapping[type, Loop]
    waiting: ActiveWaiting


class _Loops:
    """The state of the compiled loops in this process."""

    def __init__(self) -> None:
        self._module: _Module | None = None
        self.problem = ""
        self._is_tried = False
        self._known: set[tuple[Loop, np.dtype[Any], str]] = set()
        self._lock, self._workers = threading.RLock(), set[int]()

    def get(self) -> _Module | None:
        """Return the module of loops; None if there is none, or if another thread is importing it."""
        if not self._is_tried:
            with self._work():
                if not self._is_tried:
                    self._is_tried = True  # meanwhile a signal handler or another thread runs without loops
                    self._import()
        return self._module

    def _import(self) -> None:
        if os.environ.get(VARIABLE) == "0":
            self.problem = f"{VARIABLE} is 0"
            return
        try:
            guard_numba()
            module: Any = importlib.import_module("ir_interp.executor.loops")
            self._module = module
        except (ImportError, OSError) as error:  # its own libraries, for which memory may be missing
            self.problem = f"{error}" if is_installed() else "numba is not installed"

    @property
    def is_ready(self) -> bool:
        """Whether the loops are imported and used."""
        return self._module is not None

    @cached_property
    def waiting(self) -> ActiveWaiting:
        """How threads wait for each other, compiled."""
        assert self._module is not None
        waiting = self._module.waiting
        with self._work():
            waiting.rest(np.zeros(1, np.int64), np.ones(1, np.int64), 0)
            waiting.wait(np.zeros(1, np.int64), 0)
            waiting.processor()
        return waiting

    def compiled(self, job: Job, x: Array, y: Array) -> Loop:
        """Return the loop of a job, compiled for images [outer, rows, cells] of these types."""
        if not job.compiled:
            job.compiled.append(self._loop(job, x[0], y[0]))
        return job.compiled[0]

    def _loop(self, job: Job, x: Array, y: Array) -> Loop:
        assert self._module is not None
        loop = self._module.LOOPS[type(job.call)]
        key = (loop, x.dtype, job.kinds)
        if key not in self._known:
            with self._work():
                loop(x, y, 0, 0, job.arguments)
                self._known.add(key)
        return loop

    @contextmanager
    def _work(self) -> Iterator[None]:
        """Import or compile, one thread at a time."""
        with self._lock:
            self._workers.add(threading.get_ident())
            try:
                yield
            finally:
                self._workers.discard(threading.get_ident())

    def forget_threads(self) -> None:
        """Reset in a forked process: a thread that was importing or compiling would hold numba's locks forever."""
        if self._workers - {threading.get_ident()}:
            self._module, self._is_tried, Forked.lost_locks = None, True, True
        self._lock, self._workers = threading.RLock(), set()


_loops = _Loops()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: _loops.forget_threads())


@contextmanager
def numpy_alone() -> Iterator[None]:
    """Load and compile no loops inside, which takes seconds: longer than a few resizes take in NumPy."""
    token = _NUMPY_ALONE.set(True)
    try:
        yield
    finally:
        _NUMPY_ALONE.reset(token)


@cache
def is_installed() -> bool:
    """Return whether numba is installed, without importing it."""
    return importlib.util.find_spec("numba") is not None


def state() -> str:
    """Return the loops in use, or why there are none."""
    if _loops.get() is None:
        return f"none: {_loops.problem or 'this process was forked while they were loaded'}"
    return f"numba {metadata.version('numba')}"


def load() -> bool:
    """Load the loops now, if installed and not disabled; return whether they are available."""
    return _loops.get() is not None


def quick(jobs: Sequence[Job]) -> Quick | None:
    """Return a function that does the only job, or returns None like ``run``; None where ``run`` is as fast.

    A small resize takes no longer than the steps of ``run`` around it. Without threads, scratch memory and locks, and
    with a loop that ``run`` has compiled, a call within another one can do no harm.
    """
    if len(jobs) != 1:
        return None
    [job] = jobs
    (images, *lengths_in), (_, *lengths_out) = job.extents.shape_in, job.extents.shape_out
    if images != 1:
        return None
    arguments, compiled, seen_as, taps = job.arguments, job.compiled, job.seen_as, job.taps
    timing = job.timing

    def run_loop(x: Array, y: Array) -> bool | None:
        flags, work = x.flags, y.nbytes * taps
        if not compiled or not (flags.c_contiguous and flags.aligned) or not _loops.is_ready:
            return None
        is_small = work <= min(_NEVER_SHARED, _SURELY_SHARED)
        if not is_small and threads() > 1 and (work > _SURELY_SHARED or not timing.is_surely_alone()):
            return None
        values, places = x.reshape(lengths_in), y.reshape(lengths_out)
        if seen_as is not None:
            values, places = values.view(seen_as), places.view(seen_as)
        if not flags.writeable:
            values = _as_writable(values)
        return bool(compiled[0](values, places, 0, len(places), arguments))

    return run_loop


def run(x: Array, y: Array, jobs: Sequence[Job]) -> bool | None:
    """Fill ``y``, in C order, with the result of sequential jobs on ``x``; None if loops cannot.

    Return whether an infinity or NaN occurred, which spreads to too many sums of floats.
    """
    if (
        _NUMPY_ALONE.get()
        or is_within_another()
        or not (x.flags.c_contiguous and x.flags.aligned)
        or _loops.get() is None
    ):
        return None  # a call within another, by a signal handler, may find a half-compiled loop
    infinite = False
    for job in jobs:
        target = y if job is jobs[-1] else np.empty(job.extents.out_shape, job.kept_as or y.dtype)
        values, places = x.reshape(job.extents.shape_in), target.reshape(job.extents.shape_out)
        if job.seen_as is not None:
            values, places = values.view(job.seen_as), places.view(job.seen_as)
        infinite |= _run(job, values if values.flags.writeable else _as_writable(values), places)
        x = target
    return infinite


class _Memory:
    """The memory of an array, as an object that NumPy turns into a writable one."""

    def __init__(self, x: Array) -> None:
        self._array = x
        # The flag behind the address is whether the memory is read-only.
        self.__array_interface__ = {**x.__array_interface__, "data": (x.ctypes.data, False)}


def _as_writable(x: Array) -> Array:
    """Return a view that looks writable: numba would compile a loop, which writes only to ``y``, again for others."""
    return np.asarray(_Memory(x))


def _run(job: Job, x: Array, y: Array) -> bool:
    loop, begin = _loops.compiled(job, x, y), time.perf_counter()
    is_shared = threads() > 1 and _is_shared(job, y)
    infinite = (_run_shared if is_shared else _run_alone)(loop, job, x, y)
    job.timing.add(time.perf_counter() - begin, is_shared=is_shared)
    return infinite


def _is_shared(job: Job, y: Array) -> bool:
    """Return whether threads share a job; one of medium size only where that was faster."""
    work = y.nbytes * job.taps
    return work > _SURELY_SHARED or (work > _NEVER_SHARED and job.timing.is_shared())


def _run_shared(loop: Loop, job: Job, x: Array, y: Array) -> bool:
    height = max(1, -(-y.shape[0] * y.shape[1] // (threads() * _SHARES)))
    spans, infinite = [(item, start) for item in range(len(y)) for start in range(0, y.shape[1], height)], list[int]()

    def compute(span: tuple[int, int]) -> None:
        item, start = span
        if loop(x[item], y[item], start, min(start + height, y.shape[1]), job.arguments):
            infinite.append(item)

    for_each(spans, compute, are_shared=True, products=False, waiting=_loops.waiting)
    return bool(infinite)


def _run_alone(loop: Loop, job: Job, x: Array, y: Array) -> bool:
    infinite, rows = False, y.shape[1]
    with in_call():
        for item in range(len(y)):
            infinite |= bool(loop(x[item], y[item], 0, rows, job.arguments))
    return infinite
