"""Sums of whole numbers that 8-bit integers make, as loops take them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ir_interp.executor.compiled.float_jobs import LONGEST, MOST_TOGETHER, Job, columns_of, rows_of, safe
from ir_interp.plan.exact_sums import WholeSum, Windows, reduced
from ir_interp.shapes import Shape
from ir_interp.spec import IntegerRounding

Array = NDArray[Any]
_MOST, _MOST_IN_SINGLE = 2**15, 2**24  # of a sum in int16, and in float32
_HALVED = (1, 3, 4)  # channels of images whose halves have a loop
_FEW_ROWS = 0.6  # inputs of an output row: where there are fewer, it is faster to sum their columns first, once
_BOTH = 8  # cells of two pixels, as a loop reads them
_FEW = {3: 4.0, 4: 2.5}  # by channels, inputs of a row for each output: with fewer, sums of whole rows are faster


def jobs(sums: Sequence[WholeSum], shape: Shape, dtype: np.dtype[Any]) -> tuple[Job, ...]:
    """Return the sums of arrays of a shape as loops take them; none where there is no loop for one of them."""
    made: list[Job] = []
    for each in sums:
        job = _job(reduced(each), shape, dtype)
        if job is None:
            return ()
        made.append(job)
        shape = job.out_shape
    return tuple(made)


def _job(sums: WholeSum, shape: Shape, dtype: np.dtype[Any]) -> Job | None:
    first, last = sums.windows[0], sums.windows[-1]
    depth, out = math.prod(shape[last.axis + 1 :]), list(shape)
    for window in sums.windows:
        out[window.axis] = len(window.first)
    outer, rows, cells = math.prod(shape[: first.axis]), shape[first.axis], shape[last.axis] * depth
    if cells >= LONGEST or last.axis - first.axis > 1:
        return None
    taps, places = math.prod(each.weights.shape[1] for each in sums.windows), len(last.first) * depth
    bounds = np.iinfo(dtype)
    tail = (sums.bits, sums.rounding.code, bounds.min, bounds.max)
    if first is not last:
        loop, own = _of_both(sums, depth, rows, cells, dtype, tail)
        lengths, made = (1, outer * rows, cells), (1, outer * out[first.axis], places)
        return Job(loop, lengths, made, (rows, *own), tuple(out), taps)
    if depth <= MOST_TOGETHER:
        own = (*columns_of(last, depth), depth, safe(last, depth))
        return Job("columns", (1, outer, cells), (1, outer, places), own + tail, tuple(out), taps)
    made = (1, outer * out[first.axis], depth)
    return Job("rows", (1, outer * rows, depth), made, (rows, *rows_of(first), *tail), tuple(out), taps)


def _of_both(
    sums: WholeSum, depth: int, rows: int, cells: int, dtype: np.dtype[Any], tail: tuple[int, ...]
) -> tuple[str, tuple[Any, ...]]:
    """Return the loop of a sum along two axes, and its arguments."""
    first, last = sums.windows
    if depth in _HALVED and dtype == np.uint8 and _are_halves(sums):
        to_even = int(sums.rounding is IntegerRounding.HALF_EVEN)
        return "halves", (first.first, int(last.first[0]) * depth, depth, to_even)
    if depth in _FEW and cells >= _FEW[depth] * depth * len(last.first) and _are_pairs(sums):
        return "blended", (first.first, first.weights.astype(np.int32), *_pairs(last, depth, cells, sums.bits))
    most = max(abs(tail[-2]), tail[-1])
    in_floats = np.float32 if most * first.largest * last.largest < _MOST_IN_SINGLE else np.float64
    if rows <= _FEW_ROWS * len(first.first):
        loop, first, last = "columns_then_rows", _weighed(first, in_floats), _weighed(last, np.int32)
    else:
        first = _weighed(first, np.int16 if most * first.largest < _MOST else np.int32)
        loop, last = "rows_then_columns", _weighed(last, in_floats)
    return loop, (*rows_of(first), *columns_of(last, depth), depth, safe(last, depth), *tail)


def _weighed(window: Windows, dtype: DTypeLike) -> Windows:
    return replace(window, weights=window.weights.astype(dtype))


def _are_halves(sums: WholeSum) -> bool:
    """Say whether every output is the mean of two rows by two columns, these side by side."""
    two = all(each.weights.shape[1] == 2 and (each.weights == 1).all() for each in sums.windows)
    are_beside = bool((np.diff(sums.windows[-1].first) == 2).all())
    return (
        sums.bits == 2 and two and are_beside and sums.rounding in (IntegerRounding.HALF_EVEN, IntegerRounding.HALF_UP)
    )


def _are_pairs(sums: WholeSum) -> bool:
    """Say whether every output is a mean of two rows by two columns, rounded half to even."""
    two = all(each.weights.shape[1] == 2 for each in sums.windows)
    return two and sums.is_mean and sums.rounding is IntegerRounding.HALF_EVEN


def _pairs(columns: Windows, depth: int, cells: int, bits: int) -> tuple[Array, Array, int, int]:
    """Return what ``blended`` takes: first cells, their weights, the depth, of how many outputs all is read at once."""
    weights = np.ldexp(columns.weights.astype(np.float64), -bits)
    first = columns.first * depth
    beyond = first + _BOTH > cells
    beyond[-1] |= depth < 4
    return first.astype(np.uint32), weights, depth, int(beyond.argmax()) if beyond.any() else len(beyond)
