"""Copies of pixels."""

from __future__ import annotations

import numpy as np

from ir_interp.array_types import Array
from ir_interp.executor.loops.compiling import compiled


@compiled
def copies(
    x: Array, y: Array, start: int, stop: int, from_rows: Array, from_columns: Array, depth: int, doubled: bool
) -> None:
    """Copy a pixel of ``x`` to each of rows ``start`` to ``stop`` of ``y``; every pixel twice if ``doubled``."""
    count = len(from_columns)
    one, two = np.uint32(1), np.uint32(2)
    for out in range(start, stop):
        row, line = x[from_rows[out]], y[out]
        if out > start and from_rows[out] == from_rows[out - 1]:
            line[:] = y[out - 1]
        elif doubled:
            for i in range(count // 2):
                value = row[i]
                line[2 * i] = value
                line[2 * i + 1] = value
        elif depth == 1:
            for i in range(count):
                line[i] = row[from_columns[i]]
        elif depth == 3:
            for i in range(count):
                at = from_columns[i]
                line[3 * i], line[3 * i + 1], line[3 * i + 2] = row[at], row[at + one], row[at + two]
        else:
            for i in range(count):
                for cell in range(depth):
                    line[i * depth + cell] = row[from_columns[i] + np.uint32(cell)]
