"""Copies, and sums of floats and of 16-bit numbers, as jobs of compiled loops."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ir_interp.executor.axis_order import in_order
from ir_interp.executor.compiled.calls import (
    TO_HALF,
    Columns,
    ColumnsFirst,
    ColumnWindows,
    Copies,
    Ending,
    Kept,
    Narrow,
    Rows,
    RowsFirst,
    RowWindows,
)
from ir_interp.executor.compiled.jobs import MOST_TOGETHER, Job, extents, lengths_of, taps_of
from ir_interp.plan.axes.distinct import distinct
from ir_interp.plan.axes.geometry import Plan
from ir_interp.plan.axes.taps import Taps
from ir_interp.plan.exact_sums import Windows, gathered
from ir_interp.plan.pieces import Piece, taps_by_axis
from ir_interp.shapes import Shape
from ir_interp.spec import IntegerRounding

# Types whose rows become float32 before they are summed.
_NARROW = ("float16", "int16", "uint16")
_SINGLE = np.dtype(np.float32)
_MOST_BETWEEN = 2  # inputs without weight within a window: Lanczos' kernel has zeros


def copies(bound: Plan, piece: Piece, dtype: np.dtype[Any]) -> tuple[Job, ...]:
    """Return the copies of a nearest resize of two neighbouring axes; empty for any other."""
    if len(bound.axes) != 2 or dtype.itemsize not in (1, 2, 4, 8) or dtype.hasobject:
        return ()
    pixels = {axis: taps.indices[:, 0] for axis, taps in taps_by_axis(bound, piece).items()}
    rows, columns = (pixels[axis] for axis in sorted(pixels))
    lengths = extents({axis: len(indices) for axis, indices in pixels.items()}, lengths_of(piece))
    if lengths is None or lengths.depth > MOST_TOGETHER:
        return ()
    lengths = lengths.apart(math.prod(piece.shape[: min(pixels)]))
    if not lengths.pays:
        return ()
    doubled = lengths.depth == 1 and len(columns) % 2 == 0 and bool((columns == np.arange(len(columns)) // 2).all())
    cells = (columns * lengths.depth).astype(np.uint32)
    call = Copies(from_rows=rows, from_columns=cells, depth=lengths.depth, doubled=doubled)
    return (Job(extents=lengths, call=call, seen_as=np.dtype(f"u{dtype.itemsize}")),)


def floats(bound: Plan, piece: Piece, dtype: np.dtype[Any], rounding: IntegerRounding) -> tuple[Job, ...]:
    """Return sums of floats along one axis or two neighbouring ones each; empty if there are no loops.

    16-bit numbers are summed as float32; integers among them are rounded.
    """
    taps = {axis: distinct(axis_taps) for axis, axis_taps in taps_by_axis(bound, piece).items()}
    if dtype.name not in (*_NARROW, "float32", "float64") or all(tap.weights is None for tap in taps.values()):
        return ()
    if not all(map(_is_dense, taps.values())):
        return ()
    numbers, shape, jobs = _numbers(dtype, rounding), lengths_of(piece), []
    windows = {axis: _windows(taps[axis], lengths_of(piece)[axis], axis, numbers.work) for axis in taps}
    for group in _groups([axis.axis for axis in in_order(bound)], shape):
        job = _job([windows[axis] for axis in group], shape, numbers)
        if job is None:
            return ()
        jobs.append(job)
        shape = job.extents.out_shape
    # Between loops sums keep all their bits; those of 16-bit numbers would be rounded to these.
    return tuple(jobs) if len(jobs) == 1 or dtype == numbers.work else ()


def _groups(order: Sequence[int], shape: Shape) -> list[tuple[int, ...]]:
    """Return axes in order, neighbours in pairs if few cells follow them, since a loop sums both at once."""
    groups: list[tuple[int, ...]] = []
    for axis in order:
        before = groups[-1] if groups else ()
        together = len(before) == 1 and abs(before[0] - axis) == 1
        if together and math.prod(shape[max(before[0], axis) + 1 :]) <= MOST_TOGETHER:
            groups[-1] = (*before, axis)
        else:
            groups.append((axis,))
    return groups


@dataclass(frozen=True, slots=True)
class _Numbers:
    """The floats in which elements are summed, their type in loops, and the ending of sums."""

    work: np.dtype[Any]
    ending: Ending
    seen_as: np.dtype[Any] | None = None


def _numbers(dtype: np.dtype[Any], rounding: IntegerRounding) -> _Numbers:
    if dtype.name not in _NARROW:
        return _Numbers(dtype, Kept())
    if dtype == np.float16:
        return _Numbers(_SINGLE, Narrow(way=TO_HALF), np.dtype(np.uint16))
    bounds = np.iinfo(dtype)
    return _Numbers(_SINGLE, Narrow(way=rounding.code, low=float(bounds.min), high=float(bounds.max)))


def _job(windows: Sequence[Windows], shape: Shape, numbers: _Numbers) -> Job | None:
    """Return the sum of an array along the axes of windows, in the order of summation."""
    lengths = extents({window.axis: len(window.first) for window in windows}, shape)
    if lengths is None:
        return None
    first, last = min(windows, key=lambda window: window.axis), max(windows, key=lambda window: window.axis)
    call: Rows | Columns | RowsFirst | ColumnsFirst
    if not lengths.depth:
        call = Rows(rows=RowWindows.of(first, lengths.height), ending=numbers.ending)
    else:
        columns = ColumnWindows.of(last, lengths.depth)
        if len(windows) == 1:
            call = Columns(columns=columns, ending=numbers.ending)
        else:
            both = ColumnsFirst if windows[0] is last else RowsFirst
            call = both(rows=RowWindows.of(first, lengths.height), columns=columns, ending=numbers.ending)
    return Job(extents=lengths, call=call, taps=taps_of(windows), seen_as=numbers.seen_as)


def _is_dense(taps: Taps) -> bool:
    """Return whether the inputs of every output are nearly contiguous; a loop gives those in between a weight of 0."""
    width = taps.indices.shape[1]
    return bool((taps.indices[:, -1] - taps.indices[:, 0] < width + _MOST_BETWEEN).all())


def _windows(taps: Taps, length: int, axis: int, dtype: np.dtype[Any]) -> Windows:
    weights = np.ones(taps.indices.shape) if taps.weights is None else taps.weights
    windows = gathered(axis, length, taps.indices, weights)
    return replace(windows, weights=windows.weights.astype(dtype))
