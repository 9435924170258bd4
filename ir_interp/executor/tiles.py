"""Run a plan tile by tile: intermediates stay small whatever the array's size, and threads share the tiles."""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.executor import half
from ir_interp.executor.bands import Band, Pick, prepare
from ir_interp.plan.geometry import Plan
from ir_interp.plan.taps import axis_taps

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

Array = NDArray[Any]
Finish = Callable[[Array, Array], None]

_TILE = 2**20  # elements of a tile's largest stage: few large steps, whose loops run outside Python
_PAYS = 2**20  # elements of input and output from which a second thread pays


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """One axis of a tile: from ``shape_in`` to ``shape_out``, each [outer, along, inner]."""

    operation: Pick | Band
    rows: slice
    shape_in: tuple[int, int, int]
    shape_out: tuple[int, int, int]


@dataclass(frozen=True, slots=True, eq=False)
class Tile:
    """Outer items ``first`` to ``stop``, and a span of the first resized axis, made by its steps."""

    first: int
    stop: int
    rows_in: slice
    rows_out: slice
    steps: tuple[Step, ...]


def run(x: Array, y: Array, bound: Plan, work: np.dtype[Any], finish: Finish) -> None:
    """Fill ``y`` with ``x``, padded already, resized along every axis of ``bound``, in arithmetic of dtype ``work``.

    ``finish(values, target)`` stores values of ``work`` where ``y`` has another dtype.
    """
    axis = min(each.axis for each in bound.axes)
    outer = math.prod(x.shape[:axis])
    source, target = (array.reshape(outer, array.shape[axis], -1) for array in (x, y))
    tiles = _tiles(bound, x.shape, work)

    waiting = iter(tiles)

    def take_tiles() -> None:
        with np.errstate(over="ignore", invalid="ignore"):  # infinities: the caller looks for them
            for tile in waiting:
                _make(tile, source, target, work, finish)

    helpers = min(_threads(), len(tiles)) - 1 if x.size + y.size > _PAYS else 0
    if not helpers:
        take_tiles()
        return
    with _single_threaded_products:
        done = [_pool(helpers).submit(take_tiles) for _ in range(helpers)]
        try:
            take_tiles()
        finally:
            for each in done:
                each.result()


def _make(tile: Tile, source: Array, target: Array, work: np.dtype[Any], finish: Finish) -> None:
    values = source[tile.first : tile.stop, tile.rows_in]
    place = target[tile.first : tile.stop, tile.rows_out]
    for index, step in enumerate(tile.steps):
        if isinstance(step.operation, Band) and not (values.dtype == work and values.flags.c_contiguous):
            # the last bit of a product with one column depends on the distance between the rows
            loaded = _scratch(2, values.shape, work)
            if values.dtype == np.float16 and work == np.float32:
                half.load(values, loaded)
            else:
                loaded[...] = values
            values = loaded
        values = values.reshape(step.shape_in)
        direct = step is tile.steps[-1] and values.dtype == place.dtype
        made = place.reshape(step.shape_out) if direct else _scratch(index % 2, step.shape_out, values.dtype)
        step.operation.apply(values[:, step.rows], made)
        values = made
    if values.dtype != place.dtype:
        finish(values.reshape(place.shape), place)


_KEPT = 2**26  # bytes of a scratch array from which it is given back
_kept = threading.local()


def _scratch(which: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Return an array of this thread's own whose memory is used again: fresh memory costs more than the arithmetic."""
    needed = math.prod(shape) * dtype.itemsize
    if needed > _KEPT or dtype.hasobject:
        return np.empty(shape, dtype)
    buffers: dict[int, NDArray[np.uint8]] = _kept.__dict__.setdefault("buffers", {})
    if which not in buffers or buffers[which].size < needed:
        buffers[which] = np.empty(needed, np.uint8)
    return buffers[which][:needed].view(dtype).reshape(shape)


@lru_cache(maxsize=128)
def _tiles(bound: Plan, shape: tuple[int, ...], work: np.dtype[Any]) -> tuple[Tile, ...]:
    """Return the tiles of a plan: several outer items whole, or one item in spans of its first resized axis."""
    taps = {axis.axis: each for axis, each in zip(bound.axes, axis_taps(bound), strict=True)}
    order = [axis.axis for axis in sorted(bound.axes, key=lambda axis: (axis.out_size / axis.in_size, -axis.axis))]
    first = min(taps)
    outer, rows = math.prod(shape[:first]), bound.out_shape[first]
    stages = list(_stages(shape, bound.out_shape, order))
    item = max(math.prod(stage[first:]) for stage in stages)
    batch = min(max(1, _TILE // item), max(1, -(-outer // (2 * _threads()))))
    height = rows if item <= _TILE else max(16, _TILE * rows // item // 16 * 16)
    inner = {axis: math.prod(stage[axis + 1 :]) for axis, stage in zip(order, stages, strict=False)}
    others = {axis: prepare(taps[axis], 0, bound.out_shape[axis], inner[axis], work) for axis in order if axis != first}
    tiles = []
    for start in range(0, rows, height):
        stop = min(start + height, rows)
        operations = others | {first: prepare(taps[first], start, stop, inner[first], work)}
        for begin in range(0, outer, batch):
            end = min(begin + batch, outer)
            steps = _steps([end - begin, *shape[first:]], order, first, operations)
            needed = operations[first].span
            tiles.append(Tile(begin, end, slice(needed.in_start, needed.in_stop), slice(start, stop), steps))
    return tuple(tiles)


def _stages(shape: tuple[int, ...], out_shape: tuple[int, ...], order: list[int]) -> Iterator[tuple[int, ...]]:
    """Yield the shapes on the way: the input's, and the one after each axis of ``order``."""
    lengths = list(shape)
    yield tuple(lengths)
    for axis in order:
        lengths[axis] = out_shape[axis]
        yield tuple(lengths)


def _steps(lengths: list[int], order: list[int], first: int, operations: dict[int, Pick | Band]) -> tuple[Step, ...]:
    """Return the steps of a tile whose input has these ``lengths``: outer items, the first resized axis, the rest."""
    rows = operations[first].span
    lengths[1] = rows.in_stop - rows.in_start
    steps = []
    for axis in order:
        place, span = axis - first + 1, operations[axis].span
        before = _split(lengths, place)
        needed = slice(None) if axis == first else slice(span.in_start, span.in_stop)
        lengths[place] = span.out_stop - span.out_start
        steps.append(Step(operations[axis], needed, before, _split(lengths, place)))
    return tuple(steps)


def _split(lengths: list[int], place: int) -> tuple[int, int, int]:
    return math.prod(lengths[:place]), lengths[place], math.prod(lengths[place + 1 :])


def _threads() -> int:
    """Return how many threads share the tiles, the caller's among them: IR_INTERP_THREADS, else at most 4."""
    given = os.environ.get("IR_INTERP_THREADS", "")
    return max(1, int(given)) if given.isdecimal() else min(4, os.cpu_count() or 1)


@cache
def _pool(count: int) -> ThreadPoolExecutor:
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(count, "ir_interp")


if hasattr(os, "register_at_fork"):  # threads do not survive a fork; a pool without them would wait for ever
    os.register_at_fork(after_in_child=_pool.cache_clear)


class _SingleThreadedProducts:
    """A context in which a matrix product takes one thread: ours share the tiles already.

    The setting is the process's. So the first to enter makes it, and the last to leave takes it back.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._limits: Any = None

    def __enter__(self) -> None:
        with self._lock:
            self._inside += 1
            if self._inside == 1:
                self._limits = _libraries().limit(limits=1, user_api="blas")

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._limits.restore_original_limits()


_single_threaded_products = _SingleThreadedProducts()


@cache
def _libraries() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
