"""Integer results of weighted sums in the steps of a runtime, exact to the last bit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from ir_interp.array_types import Array
from ir_interp.executor.arrays.store import rounded
from ir_interp.executor.strategies import onnxruntime_corners
from ir_interp.plan.axes.coordinates import AxisPlan, positions
from ir_interp.plan.axes.geometry import Plan
from ir_interp.plan.pieces import Piece, Range
from ir_interp.plan.runtimes.integer_steps import FIXED_BITS, Along, Corners, Step, Sum, axes_of_steps, changing, steps
from ir_interp.plan.runtimes.integer_weights import SINGLE, Sampled
from ir_interp.shapes import Shape


def run(x: Array, steps: Sequence[Step], piece: Piece) -> Array:
    """Return integers ``x``, padded already, after the ``steps`` of a piece."""
    values = x
    for step in steps:
        if isinstance(step, Corners):
            values = onnxruntime_corners.run(values, step, piece.origin)
        else:
            values = rounded(_summed(values, step, piece.origin), step.rounding, x.dtype)
    return values.astype(x.dtype)


@lru_cache(maxsize=128)
def planned(bound: Plan, dtype: str, outputs: tuple[Range, ...]) -> tuple[Step, ...] | None:
    """Return the steps of a plan with taps as arrays; None if those of the spec's runtime are unknown.

    They are those of some ``outputs`` of each axis; their indices count from the start of the whole.
    """
    rank, plans = len(bound.in_shape), changing(bound)
    axes = axes_of_steps(bound.spec, frozenset(plans), rank, dtype)
    if axes is None:
        return None
    places = {}
    for axis in axes:
        places[axis] = sampled(plans.get(axis), bound.out_shape[axis], outputs[axis])
    return tuple(steps(bound.spec, axes, places, rank, dtype))


def sampled(axis: AxisPlan | None, length: int, outputs: Range) -> Sampled:
    """Return the positions of some outputs of an axis; an axis without a plan is copied."""
    if axis is None:
        at = np.arange(*outputs).astype(np.float32)
        return Sampled(length=np.float32(length), scale=np.float32(1), at=at, xp=SINGLE)
    place = positions(replace(axis, outputs=outputs))
    at = (place.floor + place.fraction).astype(np.float32)
    return Sampled(length=np.float32(axis.in_size), scale=np.float32(float(axis.scale)), at=at, xp=SINGLE)


def columns(taps: Any) -> list[Array]:
    """Return the taps of each output, column by column."""
    return list(taps) if isinstance(taps, tuple) else list(np.asarray(taps).T)


def _taken(x: Array, indices: Array, axis: int, origin: Shape) -> Array:
    """Return values of ``x``, which starts at ``origin``.

    Along a copied axis the neighbour, whose weight is 0, may be outside the array.
    """
    places: Array = np.minimum(indices.astype(np.intp) - origin[axis], x.shape[axis] - 1)
    return np.take(x, places, axis=axis)


def _aligned(column: Array, axis: int, rank: int) -> Array:
    return column.reshape((-1,) + (1,) * (rank - axis - 1))


def _summed(x: Array, step: Along, origin: Shape) -> Array:
    """Return the sum along one axis of ``x``, which starts at ``origin``."""
    indices = columns(step.indices)
    weights = [_aligned(column, step.axis, x.ndim) for column in columns(step.weights)]
    if step.sum is Sum.FIXED:
        half = 1 << (FIXED_BITS - 1)
        terms = (
            _taken(x, i, step.axis, origin).astype(np.int64) * w.astype(np.int64)
            for i, w in zip(indices, weights, strict=True)
        )
        return np.asarray((sum(terms) + half) >> FIXED_BITS)
    x, total = x.astype(np.float32), None
    for i, w in zip(indices, weights, strict=True):
        taken = _taken(x, i, step.axis, origin)
        if total is None:
            total = taken * w
        elif step.sum is Sum.FUSED:
            total = (taken * w.astype(np.float64) + total).astype(np.float32)
        else:
            total = total + taken * w
    return np.asarray(total)
