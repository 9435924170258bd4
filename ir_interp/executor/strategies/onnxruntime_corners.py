"""The truncated sum over the corners of cells by which onnxruntime interpolates integers, in its order of operations.

A sum near an integer is decided by its last bit. Every product and every sum is therefore rounded separately, none is
fused, and the terms of an output are added one by one, starting from the first corner.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ir_interp.array_types import Array
from ir_interp.executor.arrays.threads import in_threads, scratch, threads, tile_elements
from ir_interp.plan.runtimes.integer_steps import CORNER_BITS, Corners
from ir_interp.shapes import Shape

_MIN_ELEMENTS_FOR_THREADS = 2**20  # of the output
_TILE_ELEMENTS = 2**16  # of a segment of the output, whose float32 terms stay in the second cache
_FEW = 0.75  # of the inputs of an axis; if fewer are needed, these are copied first


class Side(NamedTuple):
    """One side of all cells along an axis, the near or the far one: inputs, and their weights."""

    places: NDArray[np.intp]
    weights: Array


Sides = tuple[Side, ...]


def sides(step: Corners, origin: Shape, lengths: Shape) -> list[Sides]:
    """Return both sides along each axis of a step, as places in an array of ``lengths`` that starts at ``origin``.

    For copied columns it is the near side, since a product with 0 changes no sum. Along a copied axis the neighbour,
    whose weight is 0, may be outside the array.
    """
    work = np.int32 if step.fixed else np.float32  # 255 * 2**20 fits
    by_axis: list[Sides] = []
    for axis, indices, weights in zip(step.axes, step.indices, step.weights, strict=True):
        places = [np.minimum(index.astype(np.intp) - origin[axis], lengths[axis] - 1) for index in indices]
        low, high = map(Side, places, [weight.astype(work) for weight in weights])
        by_axis.append((low, high) if by_axis or high.weights.any() else (low,))
    return by_axis


def run(x: Array, step: Corners, origin: Shape) -> Array:
    """Return integers ``x``, which start at ``origin``, resized along the axes of a step."""
    columns, *others = sides(step, origin, x.shape)
    shape = list(x.shape)
    for axis, (low, *_) in zip(step.axes, (columns, *others), strict=True):
        shape[axis] = len(low.places)
    for place, axis in enumerate(step.axes[1:]):
        x, others[place] = _needed(x, axis, others[place])
    ends = [np.take(x, side.places, axis=step.axes[0], mode="clip") for side in columns]  # while a value is still small
    y, rows = np.empty(shape, x.dtype), step.axes[1]
    height = max(1, tile_elements(_TILE_ELEMENTS) * shape[rows] // max(1, y.size))
    waiting = iter(range(0, shape[rows], height))

    def take_tiles() -> None:
        for start in waiting:
            stretch = slice(start, start + height)
            tile = [tuple(Side(side.places[stretch], side.weights[stretch]) for side in others[0])]
            _fill(y[(slice(None),) * rows + (stretch,)], ends, step, [columns, *tile, *others[1:]])

    in_threads(take_tiles, threads() if y.size > _MIN_ELEMENTS_FOR_THREADS else 1, products=False)
    return y


def _needed(x: Array, axis: int, of_axis: Sides) -> tuple[Array, Sides]:
    """Return the needed inputs of an axis, if they are few, and both sides as places in these."""
    used = np.unique(np.concatenate([side.places for side in of_axis]))
    if len(used) >= _FEW * x.shape[axis]:
        return x, of_axis
    sides_of_used = (Side(np.searchsorted(used, side.places), side.weights) for side in of_axis)
    return np.take(x, used, axis=axis), tuple(sides_of_used)


def _fill(target: Array, ends: Sequence[Array], step: Corners, of_axes: Sequence[Sides]) -> None:
    """Fill some rows of the output from the ``ends`` of all cells along the last of the axes."""
    work = of_axes[0][0].weights.dtype
    total, term = scratch(0, target.shape, work), scratch(1, target.shape, work)
    for corner, which in enumerate(itertools.product(*(range(len(sides)) for sides in reversed(of_axes)))):
        column, *others = reversed(which)  # the last axis changes most often
        values, weight = ends[column], _aligned(of_axes[0][column].weights, step.axes[0], target.ndim)
        for axis, side, both in zip(step.axes[1:], others, of_axes[1:], strict=True):
            values = np.take(values, both[side].places, axis=axis, mode="clip")
            weight = weight * _aligned(both[side].weights, axis, target.ndim)
        into = term if corner else total
        into[...] = values
        np.multiply(weight, into, out=into)
        if corner:
            np.add(total, term, out=total)
    if step.fixed:
        np.copyto(target, np.sign(total) * (np.abs(total) >> (2 * CORNER_BITS)), casting="unsafe")
    else:
        np.copyto(target, total, casting="unsafe")  # which truncates


def _aligned(column: Array, axis: int, rank: int) -> Array:
    return column.reshape((-1,) + (1,) * (rank - axis - 1))
