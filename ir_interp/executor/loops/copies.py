"""Copies of pixels."""

from __future__ import annotations

import numpy as np

from ir_interp.array_types import Array
from ir_interp.executor.loops.compiling import compiled


@compiled
def copies(
    x: Array, y: Array, start: int, stop: int, from_rows: Array, from_columns: Array, depth: int, doubled: bool
) -> None:
    """Copy a pixel of ``x`` to each of rows ``start`` to ``stop`` of ``y``; every pixel twice if ``doubled``.

    Pixels of one, three and four channels have a loop each. Contiguous cells are copied in flat arrays, which numba's
    compiler turns into vector instructions; it does not do so for slices of rows.
    """
    count, cells, cells_in = len(from_columns), y.shape[1], x.shape[1]
    one, two, three, next_cell = np.uint32(1), np.uint32(2), np.uint32(3), np.uint64(1)
    source, target = x.reshape(-1), y.reshape(-1)
    for out in range(start, stop):
        row, line = x[from_rows[out]], y[out]
        begin, to = np.uint64(from_rows[out] * cells_in), np.uint64(out * cells)
        if out > start and from_rows[out] == from_rows[out - 1]:
            above = to - np.uint64(cells)
            for i in range(cells):
                target[to + np.uint64(i)] = target[above + np.uint64(i)]
        elif doubled:
            for i in range(count // 2):
                value, place = source[begin + np.uint64(i)], to + np.uint64(2 * i)
                target[place] = value
                target[place + next_cell] = value
        elif depth == 1:
            for i in range(count):
                line[i] = row[from_columns[i]]
        elif depth == 3:
            for i in range(count):
                at = from_columns[i]
                line[3 * i], line[3 * i + 1], line[3 * i + 2] = row[at], row[at + one], row[at + two]
        elif depth == 4:
            for i in range(count):
                at = from_columns[i]
                line[4 * i], line[4 * i + 1] = row[at], row[at + one]
                line[4 * i + 2], line[4 * i + 3] = row[at + two], row[at + three]
        else:
            for i in range(count):
                at, place = begin + np.uint64(from_columns[i]), to + np.uint64(i * depth)
                for cell in range(depth):
                    target[place + np.uint64(cell)] = source[at + np.uint64(cell)]
