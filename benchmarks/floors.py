"""Show what a resize of bytes takes at least: ``python benchmarks/floors.py``, on one thread.

First bare calls of NumPy, with nothing around them: what no executor in NumPy alone can do without. Then, where numba
is installed, the stages of the compiled loops, each over the whole image, and a copy of the input.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
from cases import IMAGES, Case
from engines import ENGINES, UnsupportedError, agrees, spec_of
from tables import PEERS

_ROUNDS = 9
_FEW = 0.75  # of the rows: where fewer have a weight, these are copied first
_STRETCH, _HEIGHT = 16, 32  # rows at a time: they stay in the cache


def best(run: Callable[[], Any]) -> float:
    """Return the least milliseconds of the processor's time that a call takes."""
    taken = []
    for _ in range(_ROUNDS):
        since = time.process_time()
        run()
        taken.append(time.process_time() - since)
    return min(taken) * 1e3


def bare(case: Case) -> Callable[[], Any]:
    """Return the fastest calls of NumPy that were found for a resize of bytes; what only decides last bits is left out.

    Sums are float32, and nobody looks whether they lie near a half; weights are any; no plan, no threads, no checks.
    """
    (height, width, _), (rows, columns) = case.shape, case.sizes
    shrinks = height / rows, width / columns
    reach = {"linear": 2.0, "cubic": 4.0, "area": 1.0}.get(case.mode, 0.0)
    if case.mode == "nearest":
        return picked(case.shape, case.sizes)
    if shrinks == (2.0, 2.0):
        return halved(height, width)
    if case.mode == "linear" and not case.antialias and min(shrinks) > 2:
        return paired(case.shape, case.sizes)
    taps = [reach * max(each, 1.0) if case.antialias or case.mode == "area" else reach for each in shrinks]
    return products(case.shape, case.sizes, taps)


def _cells(width: int, columns: int) -> Any:
    return ((np.arange(columns) * width // columns)[:, None] * 3 + np.arange(3)).reshape(-1)


def picked(shape: tuple[int, ...], sizes: tuple[int, ...]) -> Callable[[], Any]:
    """Return copies by index: of rows, and of the cells of these."""
    x, y = _image(shape), np.empty((sizes[0], sizes[1] * 3), np.uint8)
    needed, cells = np.arange(sizes[0]) * shape[0] // sizes[0], _cells(shape[1], sizes[1])
    part = np.empty((_STRETCH, shape[1] * 3), np.uint8)

    def run() -> None:
        for start in range(0, len(y), _STRETCH):
            made = y[start : start + _STRETCH]
            np.take(x, needed[start : start + _STRETCH], axis=0, out=part[: len(made)], mode="clip")
            np.take(part[: len(made)], cells, axis=1, out=made, mode="clip")

    return run


def paired(shape: tuple[int, ...], sizes: tuple[int, ...]) -> Callable[[], Any]:
    """Return sums of two neighbours: both columns picked as bytes, weighed as floats, and summed by a product."""
    x, y = _image(shape), np.empty((sizes[0], sizes[1] * 3), np.uint8)
    first = np.arange(sizes[0]) * shape[0] // sizes[0]
    needed = np.stack([first, np.minimum(first + 1, shape[0] - 1)], axis=1).reshape(-1)
    cells, count = _cells(shape[1], sizes[1]), sizes[1] * 3
    rows, taken = np.empty((2 * _STRETCH, x.shape[1]), np.uint8), np.empty((2 * _STRETCH, 2 * count), np.uint8)
    wide, made = np.empty(taken.shape, np.float32), np.empty((_STRETCH, count), np.float32)
    along, down = np.full(2 * count, 0.5, np.float32), np.full((_STRETCH // 4, 4, 16), 1 / 16, np.float32)

    def run() -> None:
        for start in range(0, len(y), _STRETCH):
            target = y[start : start + _STRETCH]
            np.take(x, needed[2 * start : 2 * (start + _STRETCH)], axis=0, out=rows[: 2 * len(target)], mode="clip")
            for places, half in ((cells, taken[:, :count]), (cells + 3, taken[:, count:])):
                half[...] = rows.take(places, axis=1, mode="clip")
            wide[...] = taken
            np.multiply(wide, along, out=wide)
            np.matmul(down, wide.reshape(len(down), 16, count), out=made.reshape(len(down), 4, count))
            np.copyto(target, np.add(made, 0.5, out=made)[: len(target)], casting="unsafe")

    return run


def products(shape: tuple[int, ...], sizes: tuple[int, ...], taps: list[float]) -> Callable[[], Any]:
    """Return sums as matrix products, a few rows at a time: bytes made floats, both axes, rounding, storing.

    Where few rows have a weight, these are copied before.
    """
    x, y = _image(shape), np.empty((sizes[0], sizes[1] * 3), np.uint8)
    height, cells = min(_HEIGHT, sizes[0]), shape[1] * 3
    ratios, few = [shape[0] / sizes[0], shape[1] / sizes[1]], np.arange(shape[0])
    if taps[0] < _FEW * ratios[0]:
        first = np.arange(sizes[0]) * shape[0] // sizes[0]
        few, ratios[0] = (first[:, None] + np.arange(int(taps[0]))).reshape(-1) % shape[0], taps[0]
    reach = [math.ceil((block - 1) * ratio + tap) for block, ratio, tap in zip((4, 5), ratios, taps, strict=True)]
    needed = min(len(few), math.ceil((height - 4) * ratios[0]) + reach[0])
    wide, rows = np.zeros((needed, cells), np.float32), np.zeros((height, cells), np.float32)
    blocks = height // 4, sizes[1] // 5
    steps = (needed - reach[0]) // max(1, blocks[0] - 1), (shape[1] - reach[1]) // max(1, blocks[1] - 1)
    above = np.ndarray((blocks[0], reach[0], cells), np.float32, wide, 0, (steps[0] * cells * 4, cells * 4, 4))
    beside = np.ndarray((blocks[1], height, reach[1] * 3), np.float32, rows, 0, (steps[1] * 12, cells * 4, 4))
    down, along = (np.full(lengths, 0.01, np.float32) for lengths in ((4, reach[0]), (blocks[1], reach[1] * 3, 15)))
    made = np.zeros((height, sizes[1] * 3), np.float32) if ratios[1] != 1 else rows
    whole = made[:, : blocks[1] * 15].reshape(height, blocks[1], 15).transpose(1, 0, 2)

    def run() -> None:
        for start in range(0, sizes[0], height):
            target = y[start : start + height]
            begin = min(int(start * ratios[0]), len(few) - needed)
            wide[...] = x[few[begin : begin + needed]] if len(few) < len(x) else x[begin : begin + needed]
            np.matmul(down, above, out=rows[: blocks[0] * 4].reshape(blocks[0], 4, cells))
            if made is not rows:
                np.matmul(beside, along, out=whole)
            np.copyto(target, np.add(made, 0.5, out=made)[: len(target)], casting="unsafe")

    return run


def _image(shape: tuple[int, ...]) -> Any:
    return np.random.default_rng(0).integers(0, 256, (shape[0], shape[1] * 3), np.uint8)


def floors() -> str:
    """Return a table: what the bare calls take, and the best peer that computes the same."""
    lines, ratios = ["| case | bare calls, ms | best peer, ms | ratio |", "|---|---:|---:|---:|"], []
    for case in (case for case in IMAGES if case.dtype == "uint8"):
        peer, least = _best_peer(case), best(bare(case))
        ratios.append(least / peer)
        lines.append(f"| {case.name} | {least:.2f} | {peer:.2f} | {ratios[-1]:.2f} |")
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    return "\n".join([*lines, f"| geometric mean | | | {mean:.2f} |"])


def _best_peer(case: Case) -> float:
    x, found = np.random.default_rng(0).integers(0, 256, case.shape, np.uint8), [math.inf]
    for name in PEERS:
        with suppress(ImportError, UnsupportedError):
            run = ENGINES[name](case, 1)
            if agrees(case, x, run(x)):
                found.append(best(lambda run=run: run(x)))
    return min(found)


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


def halved(height: int, width: int) -> Callable[[], Any]:
    """Return sums of slices in 16 bits: rows, columns, rounding half to even, storing."""
    x, y = _image((height, width)), np.empty((height // 2, width * 3 // 2), np.uint8)
    sums, made = np.empty((_STRETCH, width * 3), np.int16), np.zeros((_STRETCH, width * 3 // 2), np.int16)
    odd = np.empty_like(made)

    def run() -> None:
        for start in range(0, len(y), _STRETCH):
            stretch = x[2 * start : 2 * (start + _STRETCH)]
            count = len(stretch) // 2
            np.add(stretch[0::2], stretch[1::2], out=sums[:count], dtype=np.int16)
            for cell in range(3):
                np.add(sums[:, cell::6], sums[:, cell + 3 :: 6], out=made[:, cell::3])
            np.bitwise_and(np.right_shift(made, 2, out=odd), 1, out=odd)
            np.add(np.add(made, odd, out=made), 1, out=made)
            np.copyto(y[start : start + count], np.right_shift(made, 2, out=made)[:count], casting="unsafe")

    return run


def stages() -> None:
    """Print the stages of the loops for images of bytes that they sum along two axes."""
    import numba

    import ir_interp
    from ir_interp.executor.loops import byte_sums as sums, floats as taps

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
        if job.call.name == "RowsFirst/Whole":
            each |= by_stage(job, x, y)
        return (
            f"{case.name} ({job.call.name}): {', '.join(f'{name} {best(step):.3f}' for name, step in each.items())} ms"
        )

    def by_stage(job: Any, x: Any, y: Any) -> dict[str, Callable[[], Any]]:
        _, first, row_weights, cells, weights, depth, safe, bits, way, low, high = job.call.arguments
        begin, number = int(cells.min()), weights.dtype.type
        count = int(cells.max()) + weights.shape[1] * depth - begin
        made, total = np.zeros(count, row_weights.dtype), np.zeros(job.extents.shape_out[2], weights.dtype)
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
    print(floors(), by_phases(), sep="\n\n")
    try:
        stages()
    except ImportError:
        print("numba is not installed: no loops")


if __name__ == "__main__":
    main()
