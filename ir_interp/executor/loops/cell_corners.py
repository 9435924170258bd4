"""Sums over the corners of cells, with every product and every sum rounded separately, then truncated."""

from __future__ import annotations

import numpy as np

from ir_interp.array_types import Array
from ir_interp.executor.loops.compiling import compiled


@compiled
def _ends(row: Array, columns: Array, near: Array, far: Array) -> None:
    """Fill ``near`` and ``far`` with the cells of a row at both ``columns`` [2, cells], or at the near ones only."""
    for i in range(len(near)):
        near[i] = row[columns[0, i]]
    if len(columns) > 1:
        for i in range(len(far)):
            far[i] = row[columns[1, i]]


@compiled
def cornered(
    x: Array,
    y: Array,
    start: int,
    stop: int,
    corner_rows: Array,
    row_weights: Array,
    plane_weights: Array,
    columns: Array,
    column_weights: Array,
    bits: int,
) -> None:
    """Compute rows ``start`` to ``stop`` of ``y``, each from two or four ``corner_rows`` [out, corners] of ``x``.

    Integers lose their last ``bits``, towards 0. The ends of the cells of a row are kept for the next output.
    """
    count, corners = y.shape[1], corner_rows.shape[1]
    ends = np.empty((corners, 2, count), column_weights.dtype)
    buffered, near, far = np.full(corners, -1), column_weights[0], column_weights[-1]
    total = np.empty(count, column_weights.dtype)
    for out in range(start, stop):
        for corner in range(corners):
            row = corner_rows[out, corner]
            place = corner // 2 * 2 + row % 2  # neighbours have a place each
            if buffered[place] != row:
                _ends(x[row], columns, ends[place, 0], ends[place, 1])
                buffered[place] = row
            left, right = ends[place, 0], ends[place, 1]
            high, deep = row_weights[out, corner], plane_weights[out, corner]
            if len(columns) == 1:
                if corner == 0:
                    for i in range(count):
                        total[i] = near[i] * high * deep * left[i]
                else:
                    for i in range(count):
                        total[i] = total[i] + near[i] * high * deep * left[i]
            elif corner == 0:
                for i in range(count):
                    total[i] = near[i] * high * deep * left[i] + far[i] * high * deep * right[i]
            else:
                for i in range(count):
                    total[i] = total[i] + near[i] * high * deep * left[i] + far[i] * high * deep * right[i]
        line = y[out]
        for i in range(count):
            # A shift rounds down; truncation is one more for a negative sum that loses bits other than 0.
            value = np.int32(total[i])
            line[i] = ((value >> bits) + ((value < 0) & (value & ((1 << bits) - 1) != 0))) if bits else value
