"""Bytes that two neighbours along each of two axes make: taken one by one, in numbers that hold every sum.

Matrix products would multiply several times as many terms. The columns that are needed are taken while they are bytes,
of the rows that are needed; a stretch of the output at a time, so that wider numbers stay in the cache.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.executor.threads import in_threads, scratch, threads, tile_elements
from ir_interp.plan.passes import Pass
from ir_interp.plan.whole import WholeSum
from ir_interp.shapes import Shape
from ir_interp.spec import Integers

Array = NDArray[Any]
_TILE_ELEMENTS = 2**15  # of an output: what is made of them in 8 bytes each fits the second cache
_FEW = 0.9  # of the columns of a row: where more are needed, products are faster
_MIN_ELEMENTS = 2**13  # of an image, where there are many: a call of NumPy costs as much
_MIN_ELEMENTS_FOR_THREADS = 2**22  # of input and output together


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """One of both neighbours of every output along an axis, and its weight."""

    places: NDArray[np.intp]
    weights: Array


Sides = tuple[Side, Side]


@dataclass(frozen=True, slots=True, eq=False)
class Stretch:
    """Some rows of the output, the rows of the input that they need, and both neighbours among these."""

    made: slice
    needed: slice | NDArray[np.intp]
    sides: Sides


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """A resize of [outer, rows, cells] to [outer, rows, cells].

    ``columns`` counts cells; ``lost`` are bits that sums along columns lose, ``store(upper, lower, target)`` adds up
    both neighbouring rows, weighed already, and may change them.
    """

    shape_in: Shape
    shape_out: Shape
    columns: Sides
    stretches: tuple[Stretch, ...]
    lost: int
    each: int
    store: Callable[[Array, Array], None]


def of_sum(sums: WholeSum, shape: Shape) -> Pairs | None:
    """Return a sum of arrays of a shape as pairs; None where it is no such sum, or needs most of the columns."""
    if len(sums.windows) != 2 or any(window.weights.shape[1] > 2 for window in sums.windows):
        return None
    rows, columns = sums.windows
    if not sums.is_mean or sums.rounding is Integers.HALF_AWAY or len(columns.first) * 2 > _FEW * shape[columns.axis]:
        return None
    indices = [window.first[:, None] + np.arange(window.weights.shape[1]) for window in (rows, columns)]
    above = _sides(indices[0], np.ldexp(rows.weights.astype(np.float64), -sums.bits), np.float64)

    def finish(total: Array, target: Array) -> None:
        np.rint(total, out=total) if sums.rounding else np.floor(np.add(total, 0.5, out=total), out=total)
        np.copyto(target, total, casting="unsafe")

    return _made(shape, (rows.axis, columns.axis), [above, _sides(indices[1], columns.weights, np.int32)], finish)


def shortened(columns: Pass, rows: Pass, shape: Shape) -> Pairs | None:
    """Return two passes over bytes that lose bits on the way as pairs; None where they are others."""
    if not rows.bits_each or max(each.indices.shape[1] for each in (columns, rows)) > 2:
        return None
    sides = [_sides(each.indices, each.weights, np.int32) for each in (rows, columns)]
    half, after = (1 << rows.bits_after) >> 1, rows.bits_after

    def finish(total: Array, target: Array) -> None:
        np.right_shift(np.add(total, half, out=total), after, out=total)
        np.copyto(target, np.clip(total, 0, 255, out=total), casting="unsafe")

    return _made(shape, (rows.axis, columns.axis), sides, finish, rows.bits_before, rows.bits_each)


def _sides(indices: Array, weights: Array, dtype: Any) -> Sides:
    """Return both neighbours; of one alone it is both, and weighs nothing the second time."""
    low, high = indices[:, 0], indices[:, -1]
    weight = np.zeros(len(low)) if indices.shape[1] == 1 else weights[:, 1]
    return Side(low, weights[:, 0].astype(dtype)), Side(high, weight.astype(dtype))


def _made(
    shape: Shape,
    axes: tuple[int, int],
    sides: Sequence[Sides],
    finish: Callable[[Array, Array], None],
    lost: int = 0,
    each: int = 0,
) -> Pairs | None:
    (first, last), (rows, columns) = axes, sides
    outer, depth = math.prod(shape[:first]), math.prod(shape[last + 1 :])
    count, cells = len(rows[0].places), len(columns[0].places) * depth
    if last - first != 1 or (outer > 1 and count * cells < _MIN_ELEMENTS):
        return None
    near, far = (
        Side((side.places[:, None] * depth + np.arange(depth)).reshape(-1), np.repeat(side.weights, depth))
        for side in columns
    )
    elements = tile_elements(_TILE_ELEMENTS) if _is_shared(shape, outer * count * cells) else _TILE_ELEMENTS
    height = max(1, elements // max(cells, 1))
    stretches = tuple(_stretch(rows, slice(start, min(start + height, count))) for start in range(0, count, height))
    return Pairs(
        (outer, shape[first], shape[last] * depth), (outer, count, cells), (near, far), stretches, lost, each, finish
    )


def _stretch(rows: Sides, made: slice) -> Stretch:
    upper, lower = (Side(side.places[made], side.weights[made, None]) for side in rows)
    used = np.unique(np.concatenate([upper.places, lower.places]))
    first, last = int(used[0]), int(used[-1])
    needed = slice(first, last + 1) if len(used) == last + 1 - first else used
    sides = tuple(Side(np.searchsorted(used, side.places), side.weights) for side in (upper, lower))
    return Stretch(made, needed, (sides[0], sides[1]))


def run(x: Array, y: Array, pairs: Pairs) -> None:
    """Fill ``y`` from ``x``."""
    source, target = x.reshape(pairs.shape_in), y.reshape(pairs.shape_out)
    waiting = iter([(item, stretch) for item in range(len(target)) for stretch in pairs.stretches])

    def take_stretches() -> None:
        for item, stretch in waiting:
            _fill(source[item][stretch.needed], target[item][stretch.made], stretch.sides, pairs)

    in_threads(take_stretches, threads() if _is_shared(x.shape, y.size) else 1, products=False)


def _is_shared(shape: Shape, made: int) -> bool:
    """Say whether threads share what is ``made`` of an input."""
    return math.prod(shape) + made > _MIN_ELEMENTS_FOR_THREADS


def _fill(x: Array, y: Array, rows: Sides, pairs: Pairs) -> None:
    shape, work = (len(x), y.shape[1]), rows[0].weights.dtype
    taken, (sums, after) = scratch(2, shape, x.dtype), (scratch(which, shape, _WHOLE) for which in (0, 1))
    for side, whole in zip(pairs.columns, (sums, after), strict=True):
        np.take(x, side.places, axis=1, out=taken, mode="clip")
        whole[...] = taken
        np.multiply(whole, side.weights, out=whole)
    np.add(sums, after, out=sums)
    if pairs.lost:
        np.right_shift(sums, pairs.lost, out=sums)
    taken, (total, lower) = scratch(2, y.shape, _WHOLE), (scratch(which, y.shape, work) for which in (1, 3))
    for side, made in zip(rows, (total, lower), strict=True):
        np.take(sums, side.places, axis=0, out=taken, mode="clip")
        made[...] = taken
        np.multiply(made, side.weights, out=made)
        if pairs.each:
            np.right_shift(made, pairs.each, out=made)
    pairs.store(np.add(total, lower, out=total), y)


_WHOLE = np.dtype(np.int32)  # holds the sums along columns
