"""Show what a resize of bytes takes at least: ``python benchmarks/floors.py``, on one thread.

First bare calls of NumPy, with nothing around them: what no executor in NumPy alone can do without. Then, where numba
is installed, the stages of the compiled loops, each over the whole image, and a copy of the input.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from cases import IMAGES, Case
from engines import spec_of

_ROUNDS = 9
_STRETCH = 16  # rows at a time: they stay in the cache


def best(run: Callable[[], Any]) -> float:
    """Return the least milliseconds of the processor's time that a call takes."""
    taken = []
    for _ in range(_ROUNDS):
        since = time.process_time()
        run()
        taken.append(time.process_time() - since)
    return min(taken) * 1e3


def bare(height: int, width: int, rows: int, columns: int) -> str:
    """Return what it takes to pick both neighbours of every column, of the needed rows; nothing is computed."""
    x = np.zeros((height, width * 3), np.uint8)
    first = np.arange(rows) * height // rows
    needed = np.unique(np.concatenate([first, np.minimum(first + 1, height - 1)]))
    cells = ((np.arange(columns) * width // columns)[:, None] * 3 + np.arange(3)).reshape(-1)
    taken = np.empty((_STRETCH, columns * 3), np.uint8)

    def take() -> None:
        for start in range(0, len(needed), _STRETCH):
            part = x[needed[start : start + _STRETCH]]
            for places in (cells, cells + 3):
                np.take(part, places, axis=1, out=taken[: len(part)], mode="clip")

    return f"{width}x{height} to {columns}x{rows}: both neighbours taken {best(take):.2f} ms"


def by_phases() -> str:
    """Return what one neighbour of every column takes by index, and by slices: every 20 columns make 7."""
    x, y = np.zeros((448, 640 * 3), np.uint8), np.empty((448, 224 * 3), np.uint8)
    columns = np.arange(224) * 20 // 7
    cells = (columns[:, None] * 3 + np.arange(3)).reshape(-1)
    groups, made = x.reshape(-1, 20 * 3), y.reshape(-1, 7 * 3)

    def slices() -> None:
        for place in range(7 * 3):
            made[:, place] = groups[:, cells[place]]

    by_index = best(lambda: np.take(x, cells, axis=1, out=y, mode="clip"))
    return f"640 columns to 224, 448 rows: by index {by_index:.2f} ms, by slices {best(slices):.2f} ms"


def halved(height: int, width: int) -> str:
    """Return what halving takes: rows, columns, rounding half to even, storing."""
    stretch = 2 * _STRETCH
    x, y = np.zeros((stretch, width * 3), np.uint8), np.empty((_STRETCH, width * 3 // 2), np.uint8)
    sums, made = np.empty((_STRETCH, width * 3), np.int16), np.zeros((_STRETCH, width * 3 // 2), np.int16)
    odd, times = np.empty_like(made), height // stretch

    def columns() -> None:
        for cell in range(3):
            np.add(sums[:, cell::6], sums[:, cell + 3 :: 6], out=made[:, cell::3])

    def rounding() -> None:
        np.bitwise_and(np.right_shift(made, 2, out=odd), 1, out=odd)
        np.add(np.add(made, odd, out=made), 1, out=made)
        np.right_shift(made, 2, out=made)

    steps: dict[str, Callable[[], Any]] = {
        "rows": lambda: np.add(x[0::2], x[1::2], out=sums, dtype=np.int16),
        "columns": columns,
        "rounding": rounding,
        "storing": lambda: np.copyto(y, made, casting="unsafe"),
    }
    taken = (f"{name} {best(lambda step=step: [step() for _ in range(times)]):.2f}" for name, step in steps.items())
    return f"{width}x{height} halved: {', '.join(taken)} ms"


def stages() -> None:
    """Print the stages of the loops for images of bytes that they sum along two axes."""
    import numba

    import ir_interp
    from ir_interp.executor.loops import sums, taps

    @numba.njit
    def rows(x: Any, cells: Any, begin: Any, count: Any, first: Any, weights: Any, made: Any) -> None:
        for out in range(len(weights)):
            taps.across(x, first[out], len(x) // cells, cells, begin, weights, out, made, 0, count)

    @numba.njit
    def columns(x: Any, first: Any, weights: Any, width: Any, depth: Any, safe: Any, made: Any, times: Any) -> None:
        for _ in range(times):
            taps.along(x, 0, first, weights, width, depth, safe, made, 0)

    @numba.njit
    def rounding(x: Any, factor: Any, half: Any, way: Any, low: Any, high: Any, y: Any, times: Any) -> None:
        for out in range(times):
            sums._store(x, factor, half, way, low, high, y, out * len(x))

    def of_case(case: Case) -> str:
        x = np.random.default_rng(0).integers(0, 256, case.shape, np.uint8)
        run = ir_interp.prepare(spec_of(case), case.shape, "uint8")
        (job,) = run._jobs
        y, copy = run(x), x.copy()
        each: dict[str, Callable[[], Any]] = {
            "whole": lambda: run(x, out=y),
            "copy of input": lambda: np.copyto(copy, x),
        }
        if job.loop == "rows_then_columns":
            each |= by_stage(job, x, y)
        return f"{case.name} ({job.loop}): {', '.join(f'{name} {best(step):.3f}' for name, step in each.items())} ms"

    def by_stage(job: Any, x: Any, y: Any) -> dict[str, Callable[[], Any]]:
        _, first, row_weights, cells, weights, depth, safe, bits, way, low, high = job.arguments
        begin, number = int(cells.min()), weights.dtype.type
        count = int(cells.max()) + weights.shape[1] * depth - begin
        made, total = np.zeros(count, row_weights.dtype), np.zeros(job.shape_out[2], weights.dtype)
        along = (cells - np.uint32(begin), weights.reshape(-1), weights.shape[1], depth, safe, total, len(first))
        stored = (number(2.0**-bits), number(0.5), way, number(low), number(high), y.reshape(-1), len(first))
        return {
            "rows": lambda: rows(x.reshape(-1), job.shape_in[2], begin, count, first, row_weights, made),
            "columns": lambda: columns(made, *along),
            "rounding": lambda: rounding(total, *stored),
        }

    print(*filter(None, map(of_case, (case for case in IMAGES if case.dtype == "uint8"))), sep="\n")


def main() -> None:
    """Print both."""
    os.environ.update(IR_INTERP_THREADS="1", IR_INTERP_COMPILED="1")
    print(bare(480, 640, 224, 224), bare(3279, 4928, 567, 852), by_phases(), halved(2160, 3840), sep="\n")
    try:
        stages()
    except ImportError:
        print("numba is not installed: no loops")


if __name__ == "__main__":
    main()
