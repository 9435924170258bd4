"""Integer sums in the order of a library or a runtime, exact to the last bit: in NumPy, and as jobs of loops.

onnxruntime truncates a sum over the corners of cells, whose last bit decides near an integer. Every product and every
sum is therefore rounded separately, none is fused, and the terms of an output are added one by one, starting from the
first corner.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ir_interp.executor.definition import rounded
from ir_interp.executor.loop_calls import (
    Call,
    Chained,
    ColumnWindows,
    Cornered,
    Fixed,
    Paired,
    PassTaps,
    Shortened,
    StepColumns,
    Stepped,
    StepRows,
    code_of,
)
from ir_interp.executor.loop_runner import LONGEST, MOST_TOGETHER, Extents, Job, extents, lengths_of
from ir_interp.executor.threads import for_each, scratch, tile_elements
from ir_interp.plan.formulas import AxisPlan, positions
from ir_interp.plan.integer_sums import (
    CORNER_BITS,
    FIXED_BITS,
    Along,
    Corners,
    Piece,
    Range,
    Step,
    Sum,
    axes_of_steps,
    changing,
    gathered,
    steps,
)
from ir_interp.plan.library_passes import Pass, passes
from ir_interp.plan.library_weights import Sampled, across
from ir_interp.plan.taps import Plan, ascending
from ir_interp.shapes import SINGLES, Array, Shape
from ir_interp.specs import IntegerRounding, Unrounded

_MIN_ELEMENTS_FOR_THREADS = 2**20  # of the output
_TILE_ELEMENTS = 2**16  # of a segment of the output, whose float32 terms stay in the second cache
_FEW = 0.75  # of the inputs of an axis; if fewer are needed, these are copied first


class Side(NamedTuple):
    """One side of all cells along an axis, the near or the far one: inputs, and their weights."""

    places: NDArray[np.intp]
    weights: Array


Sides = tuple[Side, ...]


def sides(step: Corners, origin: Shape, lengths: Shape) -> list[Sides]:
    """Return both sides along each axis of a step, as places in an array of ``lengths`` that starts at ``origin``.

    For copied columns it is the near side, since a product with 0 changes no sum. Along a copied axis the neighbour,
    whose weight is 0, may be outside the array.
    """
    work = np.int32 if step.fixed else np.float32  # 255 * 2**20 fits
    by_axis: list[Sides] = []
    for axis, indices, weights in zip(step.axes, step.indices, step.weights, strict=True):
        places = [np.minimum(index.astype(np.intp) - origin[axis], lengths[axis] - 1) for index in indices]
        low, high = map(Side, places, [weight.astype(work) for weight in weights])
        by_axis.append((low, high) if by_axis or high.weights.any() else (low,))
    return by_axis


def run_corners(x: Array, step: Corners, origin: Shape) -> Array:
    """Return integers ``x``, which start at ``origin``, resized along the axes of a step."""
    columns, *others = sides(step, origin, x.shape)
    shape = list(x.shape)
    for axis, (low, *_) in zip(step.axes, (columns, *others), strict=True):
        shape[axis] = len(low.places)
    for place, axis in enumerate(step.axes[1:]):
        x, others[place] = _needed(x, axis, others[place])
    ends = [np.take(x, side.places, axis=step.axes[0], mode="clip") for side in columns]  # while a value is still small
    y, rows = np.empty(shape, x.dtype), step.axes[1]
    height = max(1, tile_elements(_TILE_ELEMENTS) * shape[rows] // max(1, y.size))

    def fill(start: int) -> None:
        stretch = slice(start, start + height)
        tile = [tuple(Side(side.places[stretch], side.weights[stretch]) for side in others[0])]
        _fill(y[(slice(None),) * rows + (stretch,)], ends, step, [columns, *tile, *others[1:]])

    for_each(range(0, shape[rows], height), fill, are_shared=y.size > _MIN_ELEMENTS_FOR_THREADS, products=False)
    return y


def _needed(x: Array, axis: int, of_axis: Sides) -> tuple[Array, Sides]:
    """Return the needed inputs of an axis, if they are few, and both sides as places in these."""
    used = ascending(np.concatenate([side.places for side in of_axis]))
    if len(used) >= _FEW * x.shape[axis]:
        return x, of_axis
    sides_of_used = (Side(np.searchsorted(used, side.places), side.weights) for side in of_axis)
    return np.take(x, used, axis=axis), tuple(sides_of_used)


def _fill(target: Array, ends: Sequence[Array], step: Corners, of_axes: Sequence[Sides]) -> None:
    """Fill some rows of the output from the ``ends`` of all cells along the last of the axes."""
    work = of_axes[0][0].weights.dtype
    total, term = scratch(0, target.shape, work), scratch(1, target.shape, work)
    for corner, which in enumerate(itertools.product(*(range(len(sides)) for sides in reversed(of_axes)))):
        column, *others = reversed(which)  # the last axis changes most often
        values, weight = ends[column], _aligned(of_axes[0][column].weights, step.axes[0], target.ndim)
        for axis, side, both in zip(step.axes[1:], others, of_axes[1:], strict=True):
            values = np.take(values, both[side].places, axis=axis, mode="clip")
            weight = weight * _aligned(both[side].weights, axis, target.ndim)
        into = term if corner else total
        into[...] = values
        np.multiply(weight, into, out=into)
        if corner:
            np.add(total, term, out=total)
    if step.fixed:
        np.copyto(target, np.sign(total) * (np.abs(total) >> (2 * CORNER_BITS)), casting="unsafe")
    else:
        np.copyto(target, total, casting="unsafe")  # which truncates


def run_steps(x: Array, steps: Sequence[Step], piece: Piece) -> Array:
    """Return integers ``x``, padded already, after the ``steps`` of a piece."""
    values = x
    for step in steps:
        if isinstance(step, Corners):
            values = run_corners(values, step, piece.origin)
        else:
            values = rounded(_summed(values, step, piece.origin), step.rounding, x.dtype)
    return values.astype(x.dtype)


@lru_cache(maxsize=128)
def planned_steps(bound: Plan, dtype: str, outputs: tuple[Range, ...]) -> tuple[Step, ...] | None:
    """Return the steps of a plan with taps as arrays; None if those of the spec's runtime are unknown.

    They are those of some ``outputs`` of each axis; their indices count from the start of the whole.
    """
    rank, plans = len(bound.in_shape), changing(bound)
    axes = axes_of_steps(bound.spec, frozenset(plans), rank, dtype)
    if axes is None:
        return None
    places = {}
    for axis in axes:
        places[axis] = sampled(plans.get(axis), bound.out_shape[axis], outputs[axis])
    return tuple(steps(bound.spec, axes, places, rank, dtype))


def sampled(axis: AxisPlan | None, length: int, outputs: Range) -> Sampled[Array]:
    """Return the positions of some outputs of an axis; an axis without a plan is copied."""
    if axis is None:
        at = np.arange(*outputs).astype(np.float32)
        size, scale = (np.asarray(number, np.float32) for number in (length, 1))
        return Sampled(length=size, scale=scale, at=at, xp=SINGLES)
    place = positions(replace(axis, outputs=outputs))
    at = (place.floor + place.fraction).astype(np.float32)
    size, scale = (np.asarray(number, np.float32) for number in (axis.in_size, float(axis.scale)))
    return Sampled(length=size, scale=scale, at=at, xp=SINGLES)


def step_columns(taps: object) -> list[Array]:
    """Return the taps of each output, column by column."""
    return list(taps) if isinstance(taps, tuple) else list(np.asarray(taps).T)


def _taken(x: Array, indices: Array, axis: int, origin: Shape) -> Array:
    """Return values of ``x``, which starts at ``origin``.

    Along a copied axis the neighbour, whose weight is 0, may be outside the array.
    """
    places: Array = np.minimum(indices.astype(np.intp) - origin[axis], x.shape[axis] - 1)
    return np.take(x, places, axis=axis)


def _aligned(column: Array, axis: int, rank: int) -> Array:
    return column.reshape((-1,) + (1,) * (rank - axis - 1))


def _summed(x: Array, step: Along, origin: Shape) -> Array:
    """Return the sum along one axis of ``x``, which starts at ``origin``."""
    indices = step_columns(step.indices)
    weights = [_aligned(column, step.axis, x.ndim) for column in step_columns(step.weights)]
    if step.sum is Sum.FIXED:
        half = 1 << (FIXED_BITS - 1)
        terms = (
            _taken(x, i, step.axis, origin).astype(np.int64) * w.astype(np.int64)
            for i, w in zip(indices, weights, strict=True)
        )
        return np.asarray((sum(terms) + half) >> FIXED_BITS)
    x, total = x.astype(np.float32), None
    for i, w in zip(indices, weights, strict=True):
        taken = _taken(x, i, step.axis, origin)
        if total is None:
            total = taken * w
        elif step.sum is Sum.FUSED:
            total = (taken * w.astype(np.float64) + total).astype(np.float32)
        else:
            total = total + taken * w
    return np.asarray(total)


_MOST, _MOST_IN_SINGLE = 2**15, 2**24  # of a sum in int16, and in float32
_MOST_IN_INT = 2**31
_IN_PAIRS = 4  # rows that are summed in two pairs
_OF_BLOCKS = 3  # of the orders of rows, the first
_UPPER_HALF = 16  # bits of a product that are not in its upper half


def ordered_jobs(bound: Plan, piece: Piece) -> tuple[Job, ...]:
    """Return two passes over bytes that a loop computes in their own order; empty if there is no such loop."""
    steps = piece.passes(bound, "uint8")
    if len(steps) != 2 or steps[0].axis != steps[1].axis + 1 or any(step.lanes for step in steps):
        return ()
    columns, rows = steps
    lengths = extents({stage.axis: len(stage.indices) for stage in (columns, rows)}, lengths_of(piece))
    if lengths is None or lengths.depth > MOST_TOGETHER:
        return ()
    lengths = lengths.apart(math.prod(piece.shape[: rows.axis]))
    call = _shortened(columns, rows, lengths) or _floating(bound, columns, rows, lengths, piece)
    taps = rows.indices.shape[1] * columns.indices.shape[1]
    return (Job(extents=lengths, call=call, taps=taps),) if call else ()


def _shortened(columns: Pass, rows: Pass, lengths: Extents) -> Call | None:
    """Return the call for sums that lose intermediate bits; None for other sums."""
    if rows.bits_each != _UPPER_HALF or rows.indices.shape[1] != 2 or not _fits_short(columns, rows):
        return None
    window = gathered(columns.axis, lengths.shape_in[2] // lengths.depth, columns.indices, columns.weights)
    return Shortened(
        row_indices=rows.indices,
        row_weights=rows.weights.astype(np.int32),
        columns=ColumnWindows.of(replace(window, weights=window.weights.astype(np.float32)), lengths.depth),
        bits_before=rows.bits_before,
        bits_after=rows.bits_after,
    )


def _floating(bound: Plan, columns: Pass, rows: Pass, lengths: Extents, piece: Piece) -> Call | None:
    """Return the call for sums of float32 in their order; None for other sums."""
    is_single = rows.weights.dtype == columns.weights.dtype == np.float32 and columns.rounding is Unrounded.KEPT
    if not is_single or rows.rounding is not IntegerRounding.HALF_EVEN:
        return None
    depth = lengths.depth
    cells, weights = (columns.indices * depth).astype(np.uint32), np.ascontiguousarray(columns.weights)
    taps = PassTaps(rows.indices, rows.weights, cells, weights, depth)
    if not rows.of_ipp:
        return Chained(taps)
    if columns.indices.shape[1] != _IN_PAIRS:
        return None
    channels = math.prod(bound.out_shape[columns.axis + 1 :])
    whole, _ = passes(bound, "uint8")  # a column's order depends on all columns
    orders = across(whole.indices, channels)[slice(*piece.outputs[columns.axis])]
    inner = _neighbours(columns.indices, orders, depth, lengths.shape_in[2] // depth) if depth == channels else (0, 0)
    return Paired(taps, orders, inner)


def _neighbours(indices: Array, orders: Array, depth: int, length: int) -> tuple[int, int]:
    """Return a segment of outputs in blocks with contiguous inputs, each readable and writable as four cells."""
    width = indices.shape[1]
    inside = (np.diff(indices, axis=1) == 1).all(axis=1) & ((indices[:, 0] + width - 1) * depth + 4 <= length * depth)
    inside &= orders < _OF_BLOCKS
    inside[-1] = False
    start = int(inside.argmax())
    return (start, start + int((~inside[start:]).argmax())) if inside.any() else (0, 0)


def corner_jobs(step: Corners, piece: Piece) -> tuple[Job, ...]:
    """Return a sum over the corners of a cell in the form of a loop: along columns, rows and possibly planes."""
    shape = lengths_of(piece)
    columns, *others = sides(step, piece.origin, shape)
    counts = {axis: len(low.places) for axis, (low, *_) in zip(step.axes, (columns, *others), strict=True)}
    last, first = step.axes[0], step.axes[-1]
    depth, outer = math.prod(shape[last + 1 :]), math.prod(shape[:first])
    out = tuple(counts.get(axis, length) for axis, length in enumerate(shape))
    lengths = Extents(
        shape_in=(outer, math.prod(shape[first:last]), shape[last] * depth),
        shape_out=(outer, math.prod(out[first:last]), out[last] * depth),
        out_shape=out,
        height=shape[first],
        depth=depth,
    )
    if lengths.shape_in[2] >= LONGEST or not lengths.pays:
        return ()
    unit = Side(np.zeros(1, np.intp), np.ones(1, columns[0].weights.dtype))
    high, deep = others if len(others) > 1 else (others[0], (unit,))
    corners = [(row, plane) for plane in deep for row in high]
    places = [plane.places[:, None] * shape[last - 1] + row.places for row, plane in corners]
    weights = [np.broadcast_arrays(row.weights, plane.weights[:, None]) for row, plane in corners]
    of_rows, of_planes = (np.stack(some, axis=-1).reshape(-1, len(corners)) for some in zip(*weights, strict=True))
    cells = [(side.places[:, None] * depth + np.arange(depth)).reshape(-1) for side in columns]
    call = Cornered(
        corner_rows=np.stack(places, axis=-1).reshape(-1, len(corners)),
        row_weights=of_rows,
        plane_weights=of_planes,
        columns=np.stack(cells).astype(np.uint32),
        column_weights=np.stack([np.repeat(side.weights, depth) for side in columns]),
        bits=2 * CORNER_BITS if step.fixed else 0,
    )
    return (Job(extents=lengths, call=call, taps=2 * len(corners)),)


def runtime_jobs(steps: Sequence[Along], piece: Piece, dtype: np.dtype[Any]) -> tuple[Job, ...]:
    """Return the sums of integers in the steps of a runtime, axis by axis, in the form of loops."""
    shape, jobs = lengths_of(piece), []
    for step in steps:
        job = _along(step, shape, piece.origin[step.axis], dtype)
        if job is None:
            return ()
        jobs.append(job)
        shape = job.extents.out_shape
    return tuple(jobs)


def _along(step: Along, shape: Shape, origin: int, dtype: np.dtype[Any]) -> Job | None:
    indices, weights = (np.stack(step_columns(table), axis=1) for table in (step.indices, step.weights))
    lengths = extents({step.axis: len(indices)}, shape)
    if lengths is None or (step.sum is not Sum.FIXED and weights.dtype != np.float32):
        return None
    ending: Fixed | Stepped
    bounds = np.iinfo(dtype)
    if step.sum is Sum.FIXED:
        # The largest sum, and the half that is added to it: int32 must hold both.
        largest = int(np.abs(weights).sum(axis=1).max()) * max(bounds.max, -bounds.min) + (1 << FIXED_BITS)
        weights = weights.astype(np.int32 if largest < _MOST_IN_INT else np.int64)
        ending = Fixed(bits=FIXED_BITS, least=bounds.min, most=bounds.max)
    else:
        limits = {"least": float(bounds.min), "most": float(bounds.max)}
        ending = Stepped(fused=step.sum is Sum.FUSED, rounding=code_of(step.rounding), **limits)
    places, weights = np.minimum(indices.astype(np.intp) - origin, shape[step.axis] - 1), np.ascontiguousarray(weights)
    call: StepRows | StepColumns
    if lengths.depth:
        cells = (places * lengths.depth).astype(np.uint32)
        call = StepColumns(indices=cells, weights=weights, depth=lengths.depth, ending=ending)
    else:
        call = StepRows(height=lengths.height, indices=places, weights=weights, ending=ending)
    kept_as = np.dtype(np.float32) if step.rounding is Unrounded.KEPT else None
    return Job(extents=lengths, call=call, taps=weights.shape[1], kept_as=kept_as)


def _fits_short(columns: Pass, rows: Pass) -> bool:
    """Return whether column sums of bytes fit float32, and 16 bits once shortened, as must the weights of rows."""
    most = 255 * int(np.abs(columns.weights).sum(axis=1).max())
    return most < _MOST_IN_SINGLE and max(most >> rows.bits_before, int(np.abs(rows.weights).sum(axis=1).max())) < _MOST
