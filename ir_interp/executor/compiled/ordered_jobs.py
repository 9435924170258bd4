"""Sums of integers in the order of a library or a runtime, as jobs of compiled loops."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ir_interp.array_types import Array
from ir_interp.executor.compiled.calls import (
    Call,
    Chained,
    ColumnWindows,
    Cornered,
    Fixed,
    Paired,
    Shortened,
    StepColumns,
    Stepped,
    StepRows,
)
from ir_interp.executor.compiled.jobs import LONGEST, MOST_TOGETHER, Extents, Job, extents, lengths_of
from ir_interp.executor.strategies import onnxruntime_corners, runtime_integer_sums
from ir_interp.plan.axes.geometry import Plan
from ir_interp.plan.exact_sums import gathered
from ir_interp.plan.libraries.opencv_ipp_order import across
from ir_interp.plan.libraries.passes import Pass, passes
from ir_interp.plan.pieces import Piece
from ir_interp.plan.runtimes.integer_steps import CORNER_BITS, FIXED_BITS, Along, Corners, Sum
from ir_interp.shapes import Shape
from ir_interp.spec import IntegerRounding, Unrounded

_MOST, _MOST_IN_SINGLE = 2**15, 2**24  # of a sum in int16, and in float32
_MOST_IN_INT = 2**31
_IN_PAIRS = 4  # rows that are summed in two pairs
_OF_BLOCKS = 3  # of the orders of rows, the first
_UPPER_HALF = 16  # bits of a product that are not in its upper half


def in_order(bound: Plan, piece: Piece) -> tuple[Job, ...]:
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
    taps: dict[str, Any] = {
        "row_indices": rows.indices,
        "row_weights": rows.weights,
        "column_indices": (columns.indices * depth).astype(np.uint32),
        "column_weights": np.ascontiguousarray(columns.weights),
        "depth": depth,
    }
    if not rows.of_ipp:
        return Chained(**taps)
    if columns.indices.shape[1] != _IN_PAIRS:
        return None
    channels = math.prod(bound.out_shape[columns.axis + 1 :])
    whole, _ = passes(bound, "uint8")  # a column's order depends on all columns
    orders = across(whole.indices, channels)[slice(*piece.outputs[columns.axis])]
    inner = _neighbours(columns.indices, orders, depth, lengths.shape_in[2] // depth) if depth == channels else (0, 0)
    return Paired(**taps, orders=orders, inner=inner)


def _neighbours(indices: Array, orders: Array, depth: int, length: int) -> tuple[int, int]:
    """Return a segment of outputs in blocks with contiguous inputs, each readable and writable as four cells."""
    width = indices.shape[1]
    inside = (np.diff(indices, axis=1) == 1).all(axis=1) & ((indices[:, 0] + width - 1) * depth + 4 <= length * depth)
    inside &= orders < _OF_BLOCKS
    inside[-1] = False
    start = int(inside.argmax())
    return (start, start + int((~inside[start:]).argmax())) if inside.any() else (0, 0)


def cornered(step: Corners, piece: Piece) -> tuple[Job, ...]:
    """Return a sum over the corners of a cell in the form of a loop: along columns, rows and possibly planes."""
    shape = lengths_of(piece)
    columns, *others = onnxruntime_corners.sides(step, piece.origin, shape)
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
    unit = onnxruntime_corners.Side(np.zeros(1, np.intp), np.ones(1, columns[0].weights.dtype))
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


def of_runtime(steps: Sequence[Along], piece: Piece, dtype: np.dtype[Any]) -> tuple[Job, ...]:
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
    indices, weights = (np.stack(runtime_integer_sums.columns(table), axis=1) for table in (step.indices, step.weights))
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
        ending = Stepped(fused=step.sum is Sum.FUSED, rounding=step.rounding.code, **limits)
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
