"""What a resize is for compiled loops: which loop, the shapes that it sees, and its arguments."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.executor import corners
from ir_interp.executor.bands import along
from ir_interp.executor.order import in_order as axes_in_order
from ir_interp.executor.products import PANEL
from ir_interp.plan.geometry import Plan
from ir_interp.plan.integers import CORNER_BITS, Corners
from ir_interp.plan.ipp import is_in_one_order, patches
from ir_interp.plan.passes import Pass
from ir_interp.plan.pieces import Piece
from ir_interp.plan.taps import Taps, axis_taps
from ir_interp.plan.whole import WholeSum, Windows, gathered, reduced
from ir_interp.shapes import Shape
from ir_interp.spec import Integers

Array = NDArray[Any]
_MOST_TOGETHER = 16  # cells that move together along the last axis
_LONGEST = 2**32  # cells of a row
_MOST, _MOST_IN_SINGLE = 2**15, 2**24  # of a sum in int16, and in float32
_SMALLEST = 2**8  # elements of an image, where there are many: a call costs as much
_ROUNDINGS = {Integers.HALF_EVEN: 0, None: 1, Integers.HALF_AWAY: 2}
_UPPER_HALF = 16  # bits of a product that its upper half has lost
_HALVED = (1, 3, 4)  # channels of images whose halves have a loop
_MOST_TAPS = 4  # of single cells along a row: the products of longer sums are faster


@dataclass(frozen=True, eq=False)
class Job:
    """A sum as a loop takes it: of [outer, rows, cells] to [outer, rows, cells], and what its arguments are.

    ``taps`` are the inputs of an output, all axes together. Elements that are copied are ``seen_as`` integers of their
    size.
    """

    loop: str
    shape_in: tuple[int, int, int]
    shape_out: tuple[int, int, int]
    arguments: tuple[Any, ...]
    out_shape: Shape
    taps: int = 1
    seen_as: np.dtype[Any] | None = None

    @cached_property
    def kinds(self) -> str:
        """The types of its arguments, for each set of which a loop is compiled."""
        arrays = [each for each in self.arguments if isinstance(each, np.ndarray)]
        return " ".join(f"{each.dtype.str}{each.flags.c_contiguous}" for each in arrays)


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
    sums, bounds = reduced(sums), np.iinfo(dtype)
    most = max(abs(bounds.min), bounds.max)
    own: tuple[Any, ...]
    tail = (sums.bits, _ROUNDINGS[sums.rounding], bounds.min, bounds.max)
    first, last = sums.windows[0], sums.windows[-1]
    depth, out = math.prod(shape[last.axis + 1 :]), list(shape)
    for window in sums.windows:
        out[window.axis] = len(window.first)
    rows, cells = shape[first.axis], shape[last.axis] * depth
    if cells >= _LONGEST or last.axis - first.axis > 1:
        return None
    outer, places = math.prod(shape[: first.axis]), len(last.first) * depth
    taps = math.prod(each.weights.shape[1] for each in sums.windows)
    if first is not last:
        if _are_halves(sums, dtype) and depth in _HALVED:
            own = (rows, first.first, int(last.first[0]) * depth, depth, int(sums.rounding is Integers.HALF_EVEN))
            return Job("halves", (1, outer * rows, cells), (1, outer * out[first.axis], places), own, tuple(out))
        first = replace(first, weights=first.weights.astype(np.int16 if most * first.largest < _MOST else np.int32))
        exact = most * first.largest * last.largest < _MOST_IN_SINGLE
        last = replace(last, weights=last.weights.astype(np.float32 if exact else np.float64))
        own = (rows, *_rows(first), *_columns(last, depth), depth, _safe(last, depth))
        made = (1, outer * out[first.axis], places)
        return Job("rows_then_columns", (1, outer * rows, cells), made, own + tail, tuple(out), taps)
    if depth <= _MOST_TOGETHER:
        own = (*_columns(last, depth), depth, _safe(last, depth))
        return Job("columns", (1, outer, cells), (1, outer, places), own + tail, tuple(out), taps)
    made = (1, outer * out[first.axis], depth)
    return Job("rows", (1, outer * rows, depth), made, (rows, *_rows(first), *tail), tuple(out), taps)


def _are_halves(sums: WholeSum, dtype: np.dtype[Any]) -> bool:
    """Say whether sums, reduced, are means of two rows by two columns, these side by side."""
    is_mean = sums.bits == 2 and all(each.weights.shape[1] == 2 and (each.weights == 1).all() for each in sums.windows)
    columns = sums.windows[-1].first
    rounds = sums.rounding in (Integers.HALF_EVEN, None)
    return is_mean and rounds and dtype == np.uint8 and bool((np.diff(columns) == 2).all())


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
    columns, twice = taps[last], np.arange(len(taps[last])) // 2
    doubled = depth == 1 and len(columns) % 2 == 0 and bool((columns == twice).all())
    own = (taps[first], (columns * depth).astype(np.uint32), depth, doubled)
    bits = np.dtype(f"u{dtype.itemsize}")
    return (Job("copies", (outer, shape[first], shape[last] * depth), places, own, piece.shape, seen_as=bits),)


def in_order(made: Sequence[Pass], piece: Piece, whole: Shape) -> tuple[Job, ...]:
    """Return two passes over bytes that a loop makes in their own order; none where there is no such loop.

    ``whole`` are the lengths of the whole output: its channels may decide what the order is.
    """
    if len(made) != 2 or made[0].axis != made[1].axis + 1:
        return ()
    if any(each.lanes for each in made):
        return ()
    (columns, rows), shape, out_shape = made, _lengths(piece), piece.shape
    depth, outer = math.prod(shape[columns.axis + 1 :]), math.prod(shape[: rows.axis])
    if depth > _MOST_TOGETHER or shape[columns.axis] * depth >= _LONGEST:
        return ()
    lengths = (outer, shape[rows.axis], shape[columns.axis] * depth)
    places = (outer, len(rows.indices), len(columns.indices) * depth)
    taps = rows.indices.shape[1] * columns.indices.shape[1]
    if rows.bits_each == _UPPER_HALF and rows.indices.shape[1] == 2 and _fits_short(columns, rows):
        window = gathered(columns.axis, shape[columns.axis], columns.indices, columns.weights)
        window = replace(window, weights=window.weights.astype(np.float32))
        places_of = (*_columns(window, depth), depth, _safe(window, depth))
        short = (rows.indices, rows.weights.astype(np.int32), *places_of, rows.bits_before, rows.bits_after)
        return (Job("shortened", lengths, places, short, out_shape, taps),)
    if rows.weights.dtype == columns.weights.dtype == np.float32 and columns.rounding is None:
        channels = math.prod(whole[columns.axis + 1 :])
        if rows.of_ipp and not is_in_one_order(patches(rows.indices, columns.indices, channels, "uint8")):
            return ()
        cells = (columns.indices * depth).astype(np.uint32)
        inner = (_neighbours(columns.indices, depth, shape[columns.axis]),) if rows.of_ipp else ()
        own = (rows.indices, rows.weights, cells, np.ascontiguousarray(columns.weights), depth, *inner, 0.0, 255.0)
        loop = "paired" if rows.of_ipp else "chained"
        return (Job(loop, lengths, places, own, out_shape, taps),) if rows.rounding is Integers.HALF_EVEN else ()
    return ()


def _neighbours(indices: Array, depth: int, length: int) -> tuple[int, int]:
    """Return a stretch of outputs whose inputs are neighbours; of its pixels four cells may be read and written."""
    width = indices.shape[1]
    inside = (np.diff(indices, axis=1) == 1).all(axis=1) & ((indices[:, 0] + width - 1) * depth + 4 <= length * depth)
    inside[-1] = False
    start = int(inside.argmax())
    return (start, start + int((~inside[start:]).argmax())) if depth == 3 and inside.any() else (0, 0)


def cornered(step: Corners, piece: Piece) -> tuple[Job, ...]:
    """Return a sum over the corners of cells as a loop takes it: along columns, rows and, it may be, planes."""
    shape, out = _lengths(piece), list(_lengths(piece))
    columns, *others = corners.sides(step, piece.origin, shape)
    for axis, (low, *_) in zip(step.axes, (columns, *others), strict=True):
        out[axis] = len(low.places)
    last, first = step.axes[0], step.axes[-1]
    depth, outer = math.prod(shape[last + 1 :]), math.prod(shape[:first])
    rows, cells = math.prod(shape[first:last]), shape[last] * depth
    if cells >= _LONGEST:
        return ()
    unit = corners.Side(np.zeros(1, np.intp), np.ones(1, columns[0].weights.dtype))
    high, deep = others if len(others) > 1 else (others[0], (unit,))
    each = [(row, plane) for plane in deep for row in high]
    places = [plane.places[:, None] * shape[last - 1] + row.places for row, plane in each]
    weights = [np.broadcast_arrays(row.weights, plane.weights[:, None]) for row, plane in each]
    of_cells = [(side.places[:, None] * depth + np.arange(depth)).reshape(-1) for side in columns]
    own = (
        np.stack(places, axis=-1).reshape(-1, len(each)),
        *(np.stack(some, axis=-1).reshape(-1, len(each)) for some in zip(*weights, strict=True)),
        np.stack(of_cells).astype(np.uint32),
        np.stack([np.repeat(side.weights, depth) for side in columns]),
        2 * CORNER_BITS if step.fixed else 0,
    )
    made = (outer, math.prod(out[first:last]), out[last] * depth)
    return (Job("cornered", (outer, rows, cells), made, own, tuple(out), 2 * len(each)),) if _pays(made) else ()


def _fits_short(columns: Pass, rows: Pass) -> bool:
    """Say whether sums of bytes along columns fit float32, and 16 bits once they lost some; so do weights of rows."""
    most = 255 * int(np.abs(columns.weights).sum(axis=1).max())
    return most < _MOST_IN_SINGLE and max(most >> rows.bits_before, int(np.abs(rows.weights).sum(axis=1).max())) < _MOST


def _lengths(piece: Piece) -> Shape:
    return tuple(stop - start for start, stop in piece.inputs)


def _rows(window: Windows) -> tuple[Array, Array]:
    return window.first, window.weights


def _columns(window: Windows, depth: int) -> tuple[Array, Array]:
    return (window.first * depth).astype(np.uint32), window.weights


def floats(bound: Plan, piece: Piece, dtype: np.dtype[Any]) -> tuple[Job, ...]:
    """Return sums of floats along one axis, or two neighbours, as a loop takes them; none of others.

    Axes go in the order of the products, each sum is rounded as theirs is.
    """
    order = axes_in_order(bound)
    if not order or dtype.name not in ("float32", "float64"):
        return ()
    first, last = min(each.axis for each in order), max(each.axis for each in order)
    taps = {axis.axis: each for axis, each in zip(bound.axes, axis_taps(bound), strict=True)}
    kinds = [along(each) for each in taps.values()]
    shape, out = _lengths(piece), piece.shape
    depth, outer = math.prod(shape[last + 1 :]), math.prod(shape[:first])
    if len(order) > last - first + 1 or last - first > 1:
        return ()
    if all(kind.copied is not None for kind in kinds) or any(kind.longest > PANEL for kind in kinds):
        return ()
    windows = {axis: _floats(taps[axis], piece, axis, dtype) for axis in taps}
    count = math.prod(each.weights.shape[1] for each in windows.values())
    if len(order) == 1 and depth > _MOST_TOGETHER:
        lengths, made = (1, outer * shape[first], depth), (1, outer * out[first], depth)
        return (Job("floats_rows", lengths, made, (shape[first], *_rows(windows[first])), out, count),)
    cells, places = shape[last] * depth, out[last] * depth
    if depth > _MOST_TOGETHER or cells >= _LONGEST or (depth < 3 and windows[last].weights.shape[1] > _MOST_TAPS):
        return ()
    own = (*_columns(windows[last], depth), depth, _safe(windows[last], depth))
    if len(order) == 1:
        return (Job("floats_columns", (1, outer, cells), (1, outer, places), own, out, count),)
    loop = "floats_columns_first" if order[0].axis == last else "floats_rows_first"
    lengths, made = (1, outer * shape[first], cells), (1, outer * out[first], places)
    return (Job(loop, lengths, made, (shape[first], *_rows(windows[first]), *own), out, count),)


def _floats(taps: Taps, piece: Piece, axis: int, dtype: np.dtype[Any]) -> Windows:
    cut = piece.taps(taps, axis)
    weights = np.ones(cut.indices.shape) if cut.weights is None else cut.weights
    made = gathered(axis, _lengths(piece)[axis], cut.indices, weights)
    return replace(made, weights=made.weights.astype(dtype))


def _safe(columns: Windows, depth: int) -> int:
    """Return of how many outputs, the first, pixels of three or four cells may be read and written as four."""
    if depth not in (3, 4):
        return 0
    width = columns.weights.shape[1]
    beyond = (columns.first + width - 1) * depth + 4 > (int(columns.first.max()) + width) * depth
    beyond[-1] |= depth < 4
    return int(beyond.argmax()) if beyond.any() else len(beyond)
