"""Integers summed in passes, exact to the last bit."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np

from ir_interp.array_types import Array
from ir_interp.executor.arrays.store import rounded
from ir_interp.executor.arrays.threads import in_threads, threads
from ir_interp.executor.arrays.tiles import Operation
from ir_interp.executor.strategies.stages import band, prepare
from ir_interp.plan.axes.geometry import Plan
from ir_interp.plan.axes.taps import Taps
from ir_interp.plan.libraries.passes import Pass
from ir_interp.plan.pieces import Piece
from ir_interp.spec import IntegerRounding, Unrounded

_MIN_ELEMENTS_FOR_THREADS = 2**21  # of input and output of a pass
_PART_ELEMENTS = 2**19  # of input and output of a part of a pass, whose 64-bit floats stay in the cache


def run(x: Array, bound: Plan, piece: Piece) -> Array:
    """Return integers ``x``, padded already, resized in the passes of a plan."""
    values = x
    for stage in piece.passes(bound, x.dtype.name):
        values = _passed(values, stage, x.dtype, _blocks(stage, bound, piece))
    return values.astype(x.dtype, copy=False)


def _blocks(step: Pass, bound: Plan, piece: Piece) -> int:
    """Return the number of cells of a row of a piece, from the first, that are in full blocks of the row."""
    if not step.lanes:
        return 0
    lengths = bound.out_shape[step.axis + 1 :]
    strides = [math.prod(lengths[place + 1 :]) for place in range(len(lengths))]
    along = (
        np.arange(*segment) * stride for segment, stride in zip(piece.outputs[step.axis + 1 :], strides, strict=True)
    )
    places = reduce(np.add.outer, along, np.zeros((), np.intp))
    return int((places < math.prod(lengths) // step.lanes * step.lanes).sum())


def _passed(x: Array, step: Pass, dtype: np.dtype[Any], blocks: int) -> Array:
    """Return a pass over ``x``, part by part, with integers of ``dtype`` if the pass ends in such.

    The first cells of a row, as many as are in ``blocks``, are summed as vectors.
    """
    outer, inner = math.prod(x.shape[: step.axis]), math.prod(x.shape[step.axis + 1 :])
    along, count = x.shape[step.axis], len(step.indices)
    shape = (*x.shape[: step.axis], count, *x.shape[step.axis + 1 :])
    source, plain = x.reshape(outer, along, inner), replace(step, axis=1)
    vectors, sums = plain.vectors() if blocks else plain, _sums(plain, inner)
    counts = None if step.counts is None else step.counts.divisors().reshape(count, inner)

    def part(place: tuple[slice, slice]) -> Array:
        cells = source[place[0], :, place[1]]
        total = sums(cells)
        finished, whole = _finished(total, step, dtype), max(blocks - place[1].start, 0)
        if counts is not None:
            finished = np.where(counts[:, place[1]] > 0, _shared(total, counts[:, place[1]], dtype), finished)
        if whole:
            finished[:, :, :whole] = _finished(_chained(cells[:, :, :whole], vectors), vectors, dtype)
        return finished

    parts = _parts(outer, along + count, inner)
    first = part(parts[0])
    result = np.empty((outer, count, inner), first.dtype if step.rounding is Unrounded.KEPT else dtype)
    result[parts[0][0], :, parts[0][1]] = first
    waiting = iter(parts[1:])

    def take_parts() -> None:
        for place in waiting:
            result[place[0], :, place[1]] = part(place)

    in_threads(take_parts, min(threads(), len(parts)) if x.size + result.size > _MIN_ELEMENTS_FOR_THREADS else 1)
    return result.reshape(shape)


def _parts(outer: int, along: int, inner: int) -> list[tuple[slice, slice]]:
    """Return parts of [outer, along, inner]: some outer items each, or some cells of one item."""
    items = max(1, _PART_ELEMENTS // max(1, along * inner))
    cells = max(_MIN_CELLS, _PART_ELEMENTS // max(1, along)) if items == 1 else inner
    starts = range(0, max(inner - _MIN_CELLS, 1), cells)  # the last part has no fewer cells than others may have
    stops = [*starts[1:], inner]
    across = [slice(start, stop) for start, stop in zip(starts, stops, strict=True)]
    return [(slice(start, start + items), columns) for start in range(0, outer, items) for columns in across]


_MIN_CELLS = 64


def _sums(step: Pass, inner: int) -> Callable[[Array], Array]:
    """Return a function that sums a part, [outer, along, inner], of a pass."""
    if step.weights.dtype.kind == "f":
        return lambda x: _chained(x, step)
    if step.bits_each:
        return lambda x: _shortened(x, step)
    if (pixels := _blocks_of(step)) is not None:
        return lambda x: _added(x, pixels)
    taps = Taps(step.indices, step.weights.astype(np.float64))
    product = prepare(taps, 0, len(step.indices), inner, _DOUBLE, band)
    return lambda x: _multiplied(x, product, len(step.indices))


_DOUBLE = np.dtype(np.float64)


def _blocks_of(step: Pass) -> list[slice] | None:
    """Return the first, the second ... pixels of all outputs if these are sums of blocks; None if they are not."""
    used = (step.weights != 0).any(axis=0)
    indices, steps = step.indices[:, used], np.diff(step.indices[:, used], axis=0)
    if not (step.weights[:, used] == 1).all() or (len(steps) and (np.ptp(steps) or steps[0, 0] < 1)):
        return None
    distance = int(steps[0, 0]) if len(steps) else 1
    return [slice(first, first + (len(indices) - 1) * distance + 1, distance) for first in indices[0].tolist()]


def _added(x: Array, pixels: list[slice]) -> Array:
    """Return sums of blocks: of integers as such, of the float64 sums of another pass as float64."""
    fits = x.dtype.itemsize <= 2 and len(pixels) < _MOST_IN_SHORT
    numbers = np.float64 if x.dtype.kind == "f" else np.int32 if fits else np.int64
    total: Array = x[:, pixels[0]].astype(numbers)
    for pixel in pixels[1:]:
        np.add(total, x[:, pixel], out=total)
    return total


_MOST_IN_SHORT = 2**15  # numbers of 16 bits whose sum has no more than 31


def _multiplied(x: Array, product: Operation, count: int) -> Array:
    """Return integer sums as products of float64 matrices, which are exact below 2**53 in any order."""
    sums = np.empty((len(x), count, x.shape[2]))
    span = product.span
    product.apply(np.ascontiguousarray(x[:, span.in_start : span.in_stop], np.float64), sums)
    return sums


def _columns(step: Pass, rank: int) -> list[tuple[Array, Array]]:
    """Return indices and weights of each tap, with the weights along their axis."""
    shape = (-1,) + (1,) * (rank - step.axis - 1)
    return [(i, w.reshape(shape)) for i, w in zip(step.indices.T, step.weights.T, strict=True)]


def _shortened(x: Array, step: Pass) -> Array:
    # Shifts round down, also the upper half of a product of 16 bits, as OpenCV's vector instructions do.
    values = x.astype(np.int64) >> step.bits_before
    terms = ((np.take(values, i, axis=step.axis) * w) >> step.bits_each for i, w in _columns(step, x.ndim))
    return np.asarray(sum(terms))


def _chained(x: Array, step: Pass) -> Array:
    values, total = x.astype(step.weights.dtype), None
    for i, w in _columns(step, x.ndim):
        term = np.take(values, i, axis=step.axis) * w
        total = term if total is None else total + term
    return np.asarray(total)


def _shared(sums: Array, counts: Array, dtype: np.dtype[Any]) -> Array:
    """Return sums of blocks that lack some pixels, divided in float32 by the number of pixels, as OpenCV does."""
    return rounded(sums.astype(np.float32) / np.maximum(counts, 1), IntegerRounding.HALF_EVEN, dtype)


def _finished(sums: Array, step: Pass, dtype: np.dtype[Any]) -> Array:
    if step.factor != 1.0:
        sums = sums.astype(np.float32) * np.float32(step.factor)
    if step.bits_after and sums.dtype.kind == "i" and step.rounding is IntegerRounding.HALF_UP:
        # A half is added before the shift, which rounds down: half up, for negative sums as well.
        sums = (sums + (1 << step.bits_after - 1)) >> step.bits_after
    elif step.bits_after:
        sums = sums * 2.0**-step.bits_after  # exact: integers below 2**53 times a power of two
    return rounded(sums, step.rounding, dtype)
