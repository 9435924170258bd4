"""Resize along one axis, given its taps: by a copy, by a matrix, or by a weighted sum of copies."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .tensor import Functions, Ops, Tensor, Value

_DENSE = 256  # up to this size a matrix product is faster than gathered copies
_FEW = 4  # taps: so many copies are faster than a sum over a further axis


@dataclass(frozen=True, slots=True, kw_only=True)
class AxisTaps:
    """The taps of one axis, as arrays or as tensors: a copy if ``weights`` is None.

    ``in_size`` and the number of taps are None if known only at run time. ``in_columns`` splits indices and weights
    into tuples, an entry for each tap.
    """

    axis: int
    indices: Any
    in_size: int | None = None
    count: int | None = None
    weights: Any = None
    beyond: Any = None


@dataclass(frozen=True, slots=True)
class Place:
    """An axis of a tensor of some rank, and the rank of the indices at which entries of it are taken (1 or 2)."""

    axis: int
    rank: int
    indices: int = 1


Take = Callable[[Ops, Value, Value, Place], Value]
"""Returns the entries of an axis at indices: (ops, x, indices, place)."""


def by_gather(ops: Ops, x: Value, indices: Value, place: Place) -> Value:
    """Take entries by one Gather."""
    return ops.gather(x, indices, place.axis)


def by_elements(ops: Ops, x: Value, indices: Value, place: Place) -> Value:
    """Take entries by GatherElements, which needs an index for each element."""
    before, rest = ops.cut(ops.lengths(x), ops.constant(np.array([place.axis])))
    _, after = ops.cut(rest, ops.constant(np.array([1])))
    if place.indices == 1:
        return _elements(ops, x, indices, place, ops.concat([before, ops.lengths(indices), after], 0))
    # GatherElements returns one entry for each index along an axis, so a further axis is joined first.
    flat = ops.reshape(indices, ops.constant(np.array([-1])))
    taken = _elements(ops, x, flat, place, ops.concat([before, ops.lengths(flat), after], 0))
    return ops.reshape(taken, ops.concat([before, ops.lengths(indices), after], 0))


def _elements(ops: Ops, x: Value, indices: Value, place: Place, shape: Value) -> Value:
    behind = tuple(range(1, place.rank - place.axis))
    places = ops.broadcast(ops.unsqueeze(indices, behind) if behind else indices, shape)
    return ops.gather_elements(x, places, place.axis)


def resized(ops: Ops, x: Value, axis: AxisTaps, rank: int, take: Take) -> Value:
    """Return ``x`` resized along one axis."""
    return _way(axis, rank)(ops, x, axis, rank, take)


def gathers(axis: AxisTaps, rank: int) -> bool:
    """Return whether ``resized`` takes entries of ``x``."""
    return _way(axis, rank) not in (_product, _run_time_product)


def gathered_at_once(ops: Ops, axis: AxisTaps) -> Any:
    """Return how many taps of an output are taken at once."""
    if axis.weights is None or (axis.count is not None and axis.count <= _FEW):
        return 1
    return length(ops, axis.indices, 1) if isinstance(axis.indices, Tensor) else axis.indices.shape[1]


def _way(axis: AxisTaps, rank: int) -> Callable[[Ops, Value, AxisTaps, int, Take], Value]:
    if axis.weights is None:
        return _copies
    if axis.in_size is not None and axis.in_size <= _DENSE:
        return _product
    if axis.count is not None and axis.count <= _FEW:
        return _few
    if rank > 5:  # a Multiply of rank 7 may compute garbage in OpenVINO's CPU plugin
        return _run_time_product if axis.in_size is None else _product
    return _many


def in_columns(ops: Ops, axis: AxisTaps) -> AxisTaps:
    """Return the few taps of run time one by one, so that nodes built from them twice are shared."""
    if not isinstance(axis.weights, Tensor) or axis.count is None or axis.count > _FEW:
        return axis
    indices, weights = (
        tuple(_column(ops, array, tap) for tap in range(axis.count)) for array in (axis.indices, axis.weights)
    )
    return replace(axis, indices=indices, weights=weights)


def length(ops: Ops, array: Tensor[Ops], axis: int) -> Tensor[Ops]:
    """Return the size of an axis."""
    return entry(ops, ops.convert(ops.lengths(array.value), "float32"), axis)


def entry(ops: Ops, vector: Value, place: int) -> Tensor[Ops]:
    """Return one entry of a vector as a float32 tensor."""
    return Tensor(ops, ops.gather(vector, ops.constant(np.int64(place)), 0))


def _index(ops: Ops, indices: Any) -> Value:
    if isinstance(indices, Tensor):
        return ops.convert(indices.value, "int64")
    return ops.constant(indices.astype(np.int64))


def aligned(ops: Ops, array: Any, axes: range) -> Value:
    """Return an array with trailing axes of size 1, so that it broadcasts with ``x`` from its axis on."""
    if isinstance(array, Tensor):
        return ops.unsqueeze(array.value, tuple(axes)) if axes else array.value
    dtype = array.dtype if array.dtype == np.bool_ else np.float32
    return ops.constant(array.astype(dtype).reshape(array.shape + (1,) * len(axes)))


def _copies(ops: Ops, x: Value, axis: AxisTaps, rank: int, take: Take) -> Value:
    return take(ops, x, _index(ops, axis.indices), Place(axis.axis, rank))


def _many(ops: Ops, x: Value, axis: AxisTaps, rank: int, take: Take) -> Value:
    """Return a sum over a further axis, that of the taps."""
    taps = take(ops, x, _index(ops, axis.indices), Place(axis.axis, rank, indices=2))
    weighted = ops.elementwise("multiply", taps, aligned(ops, axis.weights, range(2, rank - axis.axis + 1)))
    return ops.total(weighted, axis.axis + 1, keep=False)


def _few(ops: Ops, x: Value, axis: AxisTaps, rank: int, take: Take) -> Value:
    """Return a weighted sum of a few gathered copies: cheap if the axis is long."""
    assert axis.count is not None
    after = range(1, rank - axis.axis)
    terms = []
    for tap in range(axis.count):
        taken = take(ops, x, _index(ops, _column(ops, axis.indices, tap)), Place(axis.axis, rank))
        terms.append(ops.elementwise("multiply", taken, aligned(ops, _column(ops, axis.weights, tap), after)))
    return functools.reduce(functools.partial(ops.elementwise, "add"), terms)


def _column(ops: Ops, array: Any, tap: int) -> Any:
    if isinstance(array, tuple):
        return array[tap]
    if isinstance(array, Tensor):
        return Tensor(ops, ops.gather(array.value, ops.constant(np.int64(tap)), 1))
    return array[:, tap]


def _product(ops: Ops, x: Value, axis: AxisTaps, rank: int, take: Take) -> Value:
    """Return a product by a matrix of all weights: fastest if the axis is short."""
    assert axis.in_size is not None
    matrix = np.zeros((len(axis.indices), axis.in_size))
    # Taps that repeat a pixel, at an edge, add up; an assignment would keep the last.
    np.add.at(matrix, (np.arange(len(matrix))[:, None], axis.indices), axis.weights)
    # A product from the left needs no transpose around it.
    if axis.axis == rank - 2:
        return ops.matmul(ops.constant(matrix.astype(np.float32)), x)
    return _multiplied(ops, x, ops.constant(np.ascontiguousarray(matrix.T, np.float32)), axis.axis, rank)


def _run_time_product(ops: Ops, x: Value, axis: AxisTaps, rank: int, take: Take) -> Value:
    """Return a product by a matrix of all weights that is built at run time."""
    xp = Functions(ops)
    # A comparison with every index scatters the weights: ScatterND does not add them before operator set 16.
    met = xp.expand_dims(axis.indices, 2) == xp.arange(0, length(ops, Tensor(ops, x), axis.axis))
    matrix = xp.sum(xp.where(met, xp.expand_dims(axis.weights, 2), 0.0), axis=1, keepdims=False)
    return _multiplied(ops, x, ops.transpose(matrix.value, (1, 0)), axis.axis, rank)


def _multiplied(ops: Ops, x: Value, right: Value, axis: int, rank: int) -> Value:
    """Return ``x`` with ``axis`` multiplied by a matrix from the right."""
    if axis == rank - 1:
        return ops.matmul(x, right)
    order = list(range(rank))
    order[axis], order[-1] = order[-1], order[axis]
    return ops.transpose(ops.matmul(ops.transpose(x, order), right), order)
