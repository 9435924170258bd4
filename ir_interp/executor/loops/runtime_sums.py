"""Sums of integers along an axis in the steps of a runtime: ``executor.strategies.runtime_integer_sums`` tap by tap.

An output weights inputs at ``indices`` [outputs, taps] by ``weights`` [outputs, taps]. Integer sums have the type of
their weights; others are float32, with each product rounded, or fused into the sum as float64 represents it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ir_interp.array_types import Array
from ir_interp.executor.loops.compiling import compiled
from ir_interp.executor.loops.rounding import KEPT, rounded


@compiled
def _store(line: Array, rounding: int, least: float, most: float, y: Array, start: int) -> None:
    """Store float32 sums from ``start`` on, unchanged, or rounded and clipped to the range of an integer type."""
    to = np.uint64(start)
    if rounding == KEPT:
        for i in range(len(line)):
            y[to + np.uint64(i)] = line[i]
    else:
        for i in range(len(line)):
            # Clipped as float64: float32 does not hold 2^31 - 1.
            y[to + np.uint64(i)] = np.int64(min(max(np.float64(rounded(line[i], rounding)), least), most))


@compiled
def _add(x: Array, begin: int, weight: Any, fused: bool, line: Array) -> None:
    """Add to every cell of a line a cell of ``x``, from ``begin`` on, times a weight."""
    source = np.uint64(begin)
    if fused:
        for i in range(len(line)):
            # Exact: a product of two float32 has 48 bits. Only the sum is rounded.
            product = np.float64(np.float32(x[source + np.uint64(i)])) * np.float64(weight)
            line[i] = np.float32(product + np.float64(line[i]))
    else:
        for i in range(len(line)):
            line[i] += np.float32(x[source + np.uint64(i)]) * weight


@compiled
def float_rows(
    x: Array,
    y: Array,
    start: int,
    stop: int,
    height: int,
    indices: Array,
    weights: Array,
    fused: bool,
    rounding: int,
    least: float,
    most: float,
) -> None:
    """Compute rows ``start`` to ``stop`` of ``y``, each from some rows of ``x``."""
    (outputs, taps), cells = weights.shape, x.shape[1]
    source, target, line = x.reshape(-1), y.reshape(-1), np.empty(cells, np.float32)
    for out in range(start, stop):
        image, place = divmod(out, outputs)
        begin = np.uint64((image * height + indices[place, 0]) * cells)
        for i in range(cells):
            line[i] = np.float32(source[begin + np.uint64(i)]) * weights[place, 0]
        for tap in range(1, taps):
            _add(source, (image * height + indices[place, tap]) * cells, weights[place, tap], fused, line)
        _store(line, rounding, least, most, target, out * cells)


@compiled
def float_columns(
    x: Array,
    y: Array,
    start: int,
    stop: int,
    indices: Array,
    weights: Array,
    depth: int,
    fused: bool,
    rounding: int,
    least: float,
    most: float,
) -> None:
    """Compute rows ``start`` to ``stop`` of ``y``, each from the same row of ``x``; ``indices`` count cells."""
    (outputs, taps), cells, count = weights.shape, x.shape[1], y.shape[1]
    source, target, line = x.reshape(-1), y.reshape(-1), np.empty(count, np.float32)
    for row in range(start, stop):
        begin = row * cells
        for i in range(outputs):
            for cell in range(depth):
                total = np.float32(source[begin + np.intp(indices[i, 0]) + cell]) * weights[i, 0]
                for tap in range(1, taps):
                    value = np.float32(source[begin + np.intp(indices[i, tap]) + cell])
                    if fused:
                        product = np.float64(value) * np.float64(weights[i, tap])
                        total = np.float32(product + np.float64(total))
                    else:
                        total += value * weights[i, tap]
                line[i * depth + cell] = total
        _store(line, rounding, least, most, target, row * count)


@compiled
def fixed_rows(
    x: Array,
    y: Array,
    start: int,
    stop: int,
    height: int,
    indices: Array,
    weights: Array,
    bits: int,
    least: int,
    most: int,
) -> None:
    """Compute rows ``start`` to ``stop`` of ``y`` by sums of integers over ``2**bits``, rounded half up."""
    (outputs, taps), cells, half = weights.shape, x.shape[1], weights.dtype.type(1 << (bits - 1))
    source, target, line = x.reshape(-1), y.reshape(-1), np.empty(cells, weights.dtype)
    for out in range(start, stop):
        image, place = divmod(out, outputs)
        # A sum that starts from a half and is shifted is rounded half up, since the shift rounds down.
        line[:] = half
        for tap in range(taps):
            begin, weight = np.uint64((image * height + indices[place, tap]) * cells), weights[place, tap]
            for i in range(cells):
                line[i] += weight * source[begin + np.uint64(i)]
        for i in range(cells):
            target[np.uint64(out * cells + i)] = min(max(line[i] >> bits, least), most)


@compiled
def fixed_columns(
    x: Array,
    y: Array,
    start: int,
    stop: int,
    indices: Array,
    weights: Array,
    depth: int,
    bits: int,
    least: int,
    most: int,
) -> None:
    """Compute rows ``start`` to ``stop`` of ``y``, each from the same row of ``x``; ``indices`` count cells."""
    (outputs, taps), cells, count = weights.shape, x.shape[1], y.shape[1]
    source, target, half = x.reshape(-1), y.reshape(-1), weights.dtype.type(1 << (bits - 1))
    for row in range(start, stop):
        begin = row * cells
        for i in range(outputs):
            for cell in range(depth):
                total = half
                for tap in range(taps):
                    total += weights[i, tap] * source[begin + np.intp(indices[i, tap]) + cell]
                target[row * count + i * depth + cell] = min(max(total >> bits, least), most)
