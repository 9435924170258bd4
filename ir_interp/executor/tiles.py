"""Execution of a plan in tiles: intermediates stay small whatever the array's size, and threads share the tiles."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.executor import definition
from ir_interp.executor.stages import Band, Build, Pick, TapSum, copied_first, stages
from ir_interp.executor.threads import for_each, scratch, threads, tile_elements
from ir_interp.plan.integer_sums import Piece, Range
from ir_interp.plan.taps import Taps
from ir_interp.shapes import Array

_TILE_ELEMENTS = 2**18  # of a tile's largest stage: as floats they fit the second cache
_MIN_ROWS = {False: 16, True: 32}  # of a tile; True: if an axis shrinks, tiles share many of their inputs
_ITEMS_ALONG_ROWS = 64  # of a tile: that many share the weights of an output, which are read once for all
_SHORT = 16  # neighbouring cells along the axis that is resized first, mostly the last one
_MOST_TOGETHER = 8  # cells of a pixel that are copied one by one
_PART_ELEMENTS = 2**18  # of rows that are summed at a time
_LEAST_CELLS = 1024  # of such rows
MIN_ELEMENTS_FOR_THREADS = 2**20  # of input and output together


Operation = Pick | Band | TapSum
Operations = tuple[Operation, ...]
"""The operations along an axis, in order."""


@dataclass(frozen=True, slots=True, eq=False)
class AxisStep:
    """One axis of a tile: from ``shape_in`` to ``shape_out``, each [outer, along, inner]."""

    operation: Operation
    rows: slice
    shape_in: tuple[int, int, int]
    shape_out: tuple[int, int, int]


@dataclass(frozen=True, slots=True, eq=False)
class Tile:
    """Some outer items, and a span of the first resized axis, computed by its steps."""

    items: slice
    rows_in: slice
    rows_out: slice
    steps: tuple[AxisStep, ...]


Finish = Callable[[Array, Array, Tile], None]


@dataclass(frozen=True, slots=True, eq=False)
class Tiles:
    """The tiles of a plan, whose first resized axis is ``axis``, and whether threads share them."""

    axis: int
    tiles: tuple[Tile, ...]
    are_shared: bool


def run(x: Array, y: Array, planned: Tiles, work: np.dtype[Any], finish: Finish) -> None:
    """Fill ``y`` with ``x``, padded already, resized tile by tile in arithmetic of dtype ``work``.

    ``finish(values, target, tile)`` stores values of ``work`` if ``y`` has another dtype.
    """
    outer = math.prod(x.shape[: planned.axis])
    source, target = (array.reshape(outer, array.shape[planned.axis], -1) for array in (x, y))

    def make(tile: Tile) -> None:
        with np.errstate(over="ignore", invalid="ignore"):  # infinities; the caller checks for them
            _make(tile, source, target, work, finish)

    for_each(planned.tiles, make, are_shared=planned.are_shared)


def _make(tile: Tile, source: Array, target: Array, work: np.dtype[Any], finish: Finish) -> None:
    values, place = source[tile.items, tile.rows_in], target[tile.items, tile.rows_out]
    for index, step in enumerate(tile.steps):
        operation, operand = step.operation, values.reshape(step.shape_in)[:, step.rows]
        dtype = values.dtype if isinstance(operation, Pick) else work
        # Two buffers in turn: a step reads the one that the step before it filled.
        last = step is tile.steps[-1] and dtype == place.dtype
        values = place.reshape(step.shape_out) if last else scratch(index % 2, step.shape_out, dtype)
        if isinstance(operation, Pick):
            operation.apply(operand, values)
        else:
            for cells in _parts(operation, operand, work):
                operation.apply(_loaded(operand[:, :, cells], work), values[:, :, cells])
    if values.dtype != place.dtype:
        finish(values.reshape(place.shape), place, tile)


def _parts(sums: Band | TapSum, x: Array, work: np.dtype[Any]) -> list[slice]:
    """Return parts of ``x`` [outer, along, inner] that are cast and summed at a time, so they stay in the cache."""
    inner = x.shape[2]
    is_whole = sums.depth or x.dtype in (work, np.float16)
    count = 1 if is_whole else round(x.shape[1] * inner / _PART_ELEMENTS)
    cells = max(_LEAST_CELLS, -(-inner // max(1, count) // 16) * 16)
    stops = [*range(cells, inner - _LEAST_CELLS // 2, cells), inner]
    return [slice(start, stop) for start, stop in zip([0, *stops], stops, strict=False)]


def _loaded(values: Array, work: np.dtype[Any]) -> Array:
    """Return values as sums expect them: of dtype ``work`` and in C order."""
    if values.dtype == work and values.flags.c_contiguous:
        return values
    loaded = scratch(2, values.shape, work)
    if values.dtype == np.float16 and work == np.float32:
        definition.load_float16(values, loaded)
    else:
        loaded[...] = values
    return loaded


def tiled(
    taps: Mapping[int, Taps],
    piece: Piece,
    work: np.dtype[Any],
    build: Build,
    shared_from: int,
) -> Tiles:
    """Return the tiles of a piece; its axes are in the order of ``taps``, and ``build`` creates its sums.

    A tile is several whole outer items, or one item in spans of its first resized axis. Threads share tiles if
    input and output together have more elements than ``shared_from``.
    """
    order = list(taps)
    shape = tuple(stop - start for start, stop in piece.inputs)
    first_axis = min(order)
    used = {axis: _copied_first(taps[axis], piece.outputs[axis], shape[axis + 1 :]) for axis in order}
    read_lengths = [shape[axis] if (few := used.get(axis)) is None else len(few) for axis in range(len(shape))]
    shapes = _stages(tuple(read_lengths), piece.shape, order)  # copies go before everything else
    inner = {axis: math.prod(stage[axis + 1 :]) for axis, stage in zip(order, shapes, strict=False)}

    def ready(axis: int, rows: Range) -> Operations:
        few = used[axis] if axis != first_axis else _copied_first(taps[axis], rows, shape[axis + 1 :])
        return stages(taps[axis], *rows, few, inner[axis], work, build)

    whole = {axis: ready(axis, piece.outputs[axis]) for axis in order if axis != first_axis}
    outer, (start, stop) = math.prod(shape[:first_axis]), piece.outputs[first_axis]
    item = max(math.prod(stage[first_axis:]) for stage in shapes)
    are_shared = math.prod(shape) + math.prod(piece.shape) > shared_from
    share = -(-outer // (2 * threads())) if are_shared else outer  # two for every thread
    most = tile_elements(_TILE_ELEMENTS) if are_shared else _TILE_ELEMENTS
    least = _MIN_ROWS[shape[first_axis] > stop - start]
    batch, height = _tile_size(share, stop - start, item, most, least)
    is_alone = inner[first_axis] < _SHORT and first_axis == order[-1]  # else several items would look like one axis
    if is_alone and height == stop - start and batch < min(_ITEMS_ALONG_ROWS, share):
        batch = min(_ITEMS_ALONG_ROWS, share)
        height = max(16, most // batch * height // item // 16 * 16)
    tiles = []
    for rows in _slices(stop - start, height):
        operations = whole | {first_axis: ready(first_axis, (start + rows.start, start + rows.stop))}
        rows_in = _needed(operations[first_axis][0], piece.origin[first_axis])
        for items in _slices(outer, batch):
            lengths = [items.stop - items.start, *shape[first_axis:]]
            steps = _steps(lengths, order, first_axis, operations, piece.origin)
            tiles.append(Tile(items, rows_in, rows, steps))
    return Tiles(first_axis, tuple(tiles), are_shared)


def _needed(operation: Operation, origin: int) -> slice:
    """Return the inputs of an operation, counted from ``origin``."""
    return slice(operation.span.in_start - origin, operation.span.in_stop - origin)


def _copied_first(taps: Taps, rows: Range, after: tuple[int, ...]) -> NDArray[np.intp] | None:
    return copied_first(taps, *rows, math.prod(after))


def _tile_size(items: int, rows: int, item: int, most: int, least: int) -> tuple[int, int]:
    """Return the number of items of a tile, out of ``items``, and the number of their ``rows`` in it.

    ``item`` is the number of elements of an item, ``most`` that of a tile. A tile of a part of an item has at least
    ``least`` rows.
    """
    height = rows if item <= most else max(least, most * rows // item // 16 * 16)
    return max(1, min(most // item, items)), height


def _slices(length: int, size: int) -> list[slice]:
    return [slice(start, min(start + size, length)) for start in range(0, length, size)]


def _stages(shape: tuple[int, ...], out_shape: tuple[int, ...], order: list[int]) -> list[tuple[int, ...]]:
    """Return the shapes of all stages: the input's, and the one after each axis of ``order``."""
    stages = [shape]
    for axis in order:
        stages.append((*stages[-1][:axis], out_shape[axis], *stages[-1][axis + 1 :]))
    return stages


def _steps(
    lengths: list[int], order: list[int], first_axis: int, operations: dict[int, Operations], origin: tuple[int, ...]
) -> tuple[AxisStep, ...]:
    """Return the steps of a tile whose input has these ``lengths``: outer items, the first resized axis, the rest.

    Copies of the needed inputs go before everything else; the rest is then cast and multiplied.
    """
    rows = operations[first_axis][0].span
    lengths[1] = rows.in_stop - rows.in_start
    copies = [(axis, operations[axis][0]) for axis in sorted(order) if len(operations[axis]) > 1]
    steps = []
    for axis, operation in [*copies, *((axis, operations[axis][-1]) for axis in order)]:
        place, is_first = axis - first_axis + 1, operation is operations[axis][0]
        before = _split(lengths, place)
        is_cut = is_first and axis == first_axis  # the tile begins where its inputs do
        needed = slice(None) if is_cut else _needed(operation, origin[axis] if is_first else 0)
        lengths[place] = operation.span.out_stop - operation.span.out_start
        step = AxisStep(operation, needed, before, _split(lengths, place))
        steps.append(step if is_cut or not isinstance(operation, Pick) else _taken(operation, step))
    return tuple(steps)


def _taken(pick: Pick, step: AxisStep) -> AxisStep:
    """Return copies by index in the form that is fast in NumPy: whole arrays, with elements of 1, 2, 4 or more bytes.

    NumPy would first copy an array that is not in C order, and copy each pixel of three channels by a call.
    """
    (outer, along, inner), out_along = step.shape_in, step.shape_out[1]
    if not pick.is_by_index:
        return step
    depth = inner if inner < _MOST_TOGETHER and inner & (inner - 1) else 1
    pixels = inner // depth
    by_cell = pick.of_cells(step.rows.start or 0, depth)
    return AxisStep(by_cell, slice(None), (outer, along * depth, pixels), (outer, out_along * depth, pixels))


def _split(lengths: list[int], place: int) -> tuple[int, int, int]:
    return math.prod(lengths[:place]), lengths[place], math.prod(lengths[place + 1 :])
