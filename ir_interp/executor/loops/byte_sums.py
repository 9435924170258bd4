"""Sums of 8-bit integers along one axis, which are exact in int32.

Images are [rows, columns * depth], with many of ``height`` rows stacked vertically. An output weights a window of
inputs, which begins at ``first`` and is as wide as ``weights`` [outputs, width].
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ir_interp.array_types import Array
from ir_interp.executor.loops.compiling import START, compiled
from ir_interp.executor.loops.rounding import HALF_EVEN, HALF_UP
from ir_interp.executor.loops.vectors import nearest_byte
from ir_interp.executor.loops.weighted_sums import across, along


@compiled
def _store(sums: Array, factor: Any, half: Any, rounding: int, low: Any, high: Any, target: Array, start: int) -> None:
    """Store sums times ``factor``, rounded, and clipped to ``low`` and ``high``, from ``start`` on."""
    to = np.uint64(start)
    # A product with a power of two is exact, and so is its sum with a half: float64 has bits to spare.
    if rounding == HALF_EVEN:
        for i in range(len(sums)):
            target[to + np.uint64(i)] = nearest_byte(min(max(sums[i] * factor, low), high))
    elif rounding == HALF_UP:
        for i in range(len(sums)):
            target[to + np.uint64(i)] = np.int32(min(max(np.floor(sums[i] * factor + half), low), high))
    else:
        for i in range(len(sums)):
            value = np.copysign(np.floor(abs(sums[i] * factor) + half), sums[i])
            target[to + np.uint64(i)] = np.int32(min(max(value, low), high))


@compiled
def bytes_columns(
    x: Array,
    y: Array,
    start: int,
    stop: int,
    first_columns: Array,
    column_weights: Array,
    depth: int,
    inner: tuple[int, int, int],
    bits: int,
    rounding: int,
    least: int,
    most: int,
) -> None:
    """Compute rows ``start`` to ``stop`` of ``y``, each from the same row of ``x``."""
    source, target, flat = x.reshape(-1), y.reshape(-1), column_weights.reshape(-1)
    sums = np.empty(y.shape[1], column_weights.dtype)
    for row in range(start, stop):
        along(source, row * x.shape[1], first_columns, flat, column_weights.shape[1], depth, inner, sums, START)
        _store(sums, 2.0**-bits, 0.5, rounding, float(least), float(most), target, row * y.shape[1])


@compiled
def bytes_rows(
    x: Array,
    y: Array,
    start: int,
    stop: int,
    height: int,
    first_rows: Array,
    row_weights: Array,
    bits: int,
    rounding: int,
    least: int,
    most: int,
) -> None:
    """Compute rows ``start`` to ``stop`` of ``y``, each from some rows of ``x``."""
    outputs, cells = len(row_weights), x.shape[1]
    source, target, sums = x.reshape(-1), y.reshape(-1), np.empty(cells, row_weights.dtype)
    for out in range(start, stop):
        image, place = divmod(out, outputs)
        top = image * height + first_rows[place]
        across(source, top, len(x), cells, START, row_weights, place, sums, START, cells)
        _store(sums, 2.0**-bits, 0.5, rounding, float(least), float(most), target, out * cells)
