"""Sums of bytes in the order of a library or a runtime, as loops take them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.executor.compiled.float_jobs import LONGEST, MOST_TOGETHER, Job, columns_of, lengths_of, pays, safe
from ir_interp.executor.strategies import onnxruntime_corners, runtime_integer_sums
from ir_interp.plan.exact_sums import gathered
from ir_interp.plan.libraries.opencv_ipp_order import across
from ir_interp.plan.libraries.passes import Pass
from ir_interp.plan.pieces import Piece
from ir_interp.plan.runtimes.integer_steps import CORNER_BITS, FIXED_BITS, Along, Corners, Sum
from ir_interp.shapes import Shape
from ir_interp.spec import IntegerRounding

Array = NDArray[Any]
_MOST, _MOST_IN_SINGLE = 2**15, 2**24  # of a sum in int16, and in float32
_MOST_IN_INT = 2**31
_IN_PAIRS = 4  # rows that are summed in two pairs
_OF_BLOCKS = 3  # of the orders of rows, the first
_UPPER_HALF = 16  # bits of a product that its upper half has lost


def in_order(whole: Sequence[Pass], piece: Piece, out: Shape) -> tuple[Job, ...]:
    """Return two passes over bytes that a loop makes in their own order; none where there is no such loop.

    The ``whole`` of them, to an output of lengths ``out``, decides what the order of a piece is.
    """
    if len(whole) != 2 or whole[0].axis != whole[1].axis + 1:
        return ()
    if any(each.lanes for each in whole):
        return ()
    (columns, rows), shape, out_shape = map(piece.of_pass, whole), lengths_of(piece), piece.shape
    depth, outer = math.prod(shape[columns.axis + 1 :]), math.prod(shape[: rows.axis])
    if depth > MOST_TOGETHER or shape[columns.axis] * depth >= LONGEST:
        return ()
    lengths = (outer, shape[rows.axis], shape[columns.axis] * depth)
    places = (outer, len(rows.indices), len(columns.indices) * depth)
    taps = rows.indices.shape[1] * columns.indices.shape[1]
    if rows.bits_each == _UPPER_HALF and rows.indices.shape[1] == 2 and _fits_short(columns, rows):
        window = gathered(columns.axis, shape[columns.axis], columns.indices, columns.weights)
        window = replace(window, weights=window.weights.astype(np.float32))
        places_of = (*columns_of(window, depth), depth, safe(window, depth))
        short = (rows.indices, rows.weights.astype(np.int32), *places_of, rows.bits_before, rows.bits_after)
        return (Job("shortened", lengths, places, short, out_shape, taps),)
    if rows.weights.dtype == columns.weights.dtype == np.float32 and columns.rounding is None:
        cells = (columns.indices * depth).astype(np.uint32)
        own = (rows.indices, rows.weights, cells, np.ascontiguousarray(columns.weights), depth)
        if rows.rounding is not IntegerRounding.HALF_EVEN or (rows.of_ipp and columns.indices.shape[1] != _IN_PAIRS):
            return ()
        if not rows.of_ipp:
            return (Job("chained", lengths, places, (*own, 0.0, 255.0), out_shape, taps),)
        channels, made = math.prod(out[columns.axis + 1 :]), slice(*piece.outputs[columns.axis])
        orders = across(whole[0].indices, channels)[made]
        inner = _neighbours(columns.indices, orders, depth, shape[columns.axis]) if depth == channels else (0, 0)
        return (Job("paired", lengths, places, (*own, orders, inner, 0.0, 255.0), out_shape, taps),)
    return ()


def _neighbours(indices: Array, orders: Array, depth: int, length: int) -> tuple[int, int]:
    """Return a stretch of outputs in blocks whose inputs are neighbours; of each four cells may be read, written."""
    width = indices.shape[1]
    inside = (np.diff(indices, axis=1) == 1).all(axis=1) & ((indices[:, 0] + width - 1) * depth + 4 <= length * depth)
    inside &= orders < _OF_BLOCKS
    inside[-1] = False
    start = int(inside.argmax())
    return (start, start + int((~inside[start:]).argmax())) if inside.any() else (0, 0)


def cornered(step: Corners, piece: Piece) -> tuple[Job, ...]:
    """Return a sum over the corners of cells as a loop takes it: along columns, rows and, it may be, planes."""
    shape, out = lengths_of(piece), list(lengths_of(piece))
    columns, *others = onnxruntime_corners.sides(step, piece.origin, shape)
    for axis, (low, *_) in zip(step.axes, (columns, *others), strict=True):
        out[axis] = len(low.places)
    last, first = step.axes[0], step.axes[-1]
    depth, outer = math.prod(shape[last + 1 :]), math.prod(shape[:first])
    rows, cells = math.prod(shape[first:last]), shape[last] * depth
    if cells >= LONGEST:
        return ()
    unit = onnxruntime_corners.Side(np.zeros(1, np.intp), np.ones(1, columns[0].weights.dtype))
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
    return (Job("cornered", (outer, rows, cells), made, own, tuple(out), 2 * len(each)),) if pays(made) else ()


def of_runtime(steps: Sequence[Along], piece: Piece, dtype: np.dtype[Any]) -> tuple[Job, ...]:
    """Return the sums of integers in the steps of a runtime, one axis after the other, as loops take them."""
    shape, made = lengths_of(piece), []
    for step in steps:
        job = _along(step, shape, piece.origin[step.axis], dtype)
        if job is None:
            return ()
        made.append(job)
        shape = job.out_shape
    return tuple(made)


def _along(step: Along, shape: Shape, origin: int, dtype: np.dtype[Any]) -> Job | None:
    indices, weights = (np.stack(runtime_integer_sums.columns(each), axis=1) for each in (step.indices, step.weights))
    places = np.minimum(indices.astype(np.intp) - origin, shape[step.axis] - 1)
    depth, outer, length = math.prod(shape[step.axis + 1 :]), math.prod(shape[: step.axis]), shape[step.axis]
    if length * depth >= LONGEST or (step.sum is not Sum.FIXED and weights.dtype != np.float32):
        return None
    bounds, out = np.iinfo(dtype), (*shape[: step.axis], len(places), *shape[step.axis + 1 :])
    tail: tuple[Any, ...]
    if step.sum is Sum.FIXED:
        largest = int(np.abs(weights).sum(axis=1).max()) * max(bounds.max, -bounds.min) + (1 << FIXED_BITS)
        weights = weights.astype(np.int32 if largest < _MOST_IN_INT else np.int64)
        kind, tail = "fixed", (FIXED_BITS, bounds.min, bounds.max)
    else:
        kind = "float"
        tail = (step.sum is Sum.FUSED, step.rounding.code if step.rounding else 0, float(bounds.min), float(bounds.max))
    kept_as = np.dtype(np.float32) if step.rounding is None else None
    if depth <= MOST_TOGETHER:
        own = ((places * depth).astype(np.uint32), np.ascontiguousarray(weights), depth, *tail)
        lengths, made = (1, outer, length * depth), (1, outer, len(places) * depth)
        return Job(f"{kind}_columns", lengths, made, own, out, weights.shape[1], kept_as=kept_as)
    lengths, made = (1, outer * length, depth), (1, outer * len(places), depth)
    own = (length, places, np.ascontiguousarray(weights), *tail)
    return Job(f"{kind}_rows", lengths, made, own, out, weights.shape[1], kept_as=kept_as)


def _fits_short(columns: Pass, rows: Pass) -> bool:
    """Say whether sums of bytes along columns fit float32, and 16 bits once they lost some; so do weights of rows."""
    most = 255 * int(np.abs(columns.weights).sum(axis=1).max())
    return most < _MOST_IN_SINGLE and max(most >> rows.bits_before, int(np.abs(rows.weights).sum(axis=1).max())) < _MOST
