"""Resize along one axis, given its taps: by a copy, by a matrix, or by a weighted sum of copies."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ir_interp.shapes import PartialShape

from .symbols import Functions, Ops, Symbol, Value

_DENSE = 256  # up to this length a product by a matrix is faster than gathered copies
_FEW = 4  # taps: so many copies are faster than a sum over a further axis


@dataclass(frozen=True, slots=True, kw_only=True)
class AxisTaps:
    """The taps of one axis, as arrays or as symbols: a copy where ``weights`` is None.

    ``in_size`` and the number of taps are None where only run time knows them. ``in_columns`` makes of indices and
    weights a tuple, an entry for each tap.
    """

    axis: int
    in_size: int | None
    count: int | None
    indices: Any
    weights: Any
    beyond: Any


def resized(ops: Ops, x: Value, axis: AxisTaps, rank: int) -> Value:
    """Return ``x`` resized along one axis."""
    if axis.weights is None:
        return ops.gather(x, _index(ops, axis.indices), axis.axis)
    if axis.in_size is not None and axis.in_size <= _DENSE:
        return _product(ops, x, axis, rank)
    if axis.count is not None and axis.count <= _FEW:
        return _few(ops, x, axis, axis.count, rank)
    if rank > 5:  # a Multiply of rank 7 may compute garbage in OpenVINO's CPU plugin
        return _run_time_product(ops, x, axis, rank) if axis.in_size is None else _product(ops, x, axis, rank)
    taps = ops.gather(x, _index(ops, axis.indices), axis.axis)
    after = range(2, rank - axis.axis + 1)
    weighted = ops.elementwise("multiply", taps, aligned(ops, axis.weights, after))
    return ops.total(weighted, axis.axis + 1, keep=False)


def in_columns(ops: Ops, axis: AxisTaps) -> AxisTaps:
    """Return few taps of run time one by one, so that whatever is built of them twice has them in common."""
    if not isinstance(axis.weights, Symbol) or axis.count is None or axis.count > _FEW:
        return axis
    indices, weights = (
        tuple(_column(ops, array, tap) for tap in range(axis.count)) for array in (axis.indices, axis.weights)
    )
    return replace(axis, indices=indices, weights=weights)


def symbols(axis: AxisTaps) -> list[Value]:
    """Return the values of run time that taps consist of."""
    arrays = (axis.indices, axis.weights)
    columns = [each for array in arrays for each in (array if isinstance(array, tuple) else (array,))]
    return [each.value for each in columns if isinstance(each, Symbol)]


def gathers(axis: AxisTaps) -> bool:
    """Say whether ``resized`` gathers entries of ``x``."""
    return axis.weights is None or axis.in_size is None or axis.in_size > _DENSE


def largest(ops: Ops, x: Value, axes: Sequence[AxisTaps], shape: PartialShape) -> float | Symbol:
    """Return a bound of the elements of each tensor between ``x`` and ``x`` resized along all axes."""
    factors: list[Any] = [length if length is not None else _length(ops, x, at) for at, length in enumerate(shape)]
    taps: Any = 1
    for axis in axes:
        length, at_once = _extent(ops, axis)
        factors[axis.axis] = _larger(ops, factors[axis.axis], length)
        taps = _larger(ops, taps, at_once)
    known = math.prod(each for each in (*factors, taps) if not isinstance(each, Symbol))
    return functools.reduce(operator.mul, (each for each in (*factors, taps) if isinstance(each, Symbol)), float(known))


def _larger(ops: Ops, left: Any, right: Any) -> Any:
    open_ends = isinstance(left, Symbol) or isinstance(right, Symbol)
    return Functions(ops).maximum(left, right) if open_ends else max(left, right)


def _length(ops: Ops, x: Value, axis: int) -> Symbol:
    return entry(ops, ops.convert(ops.lengths(x), "float32"), axis)


def _extent(ops: Ops, axis: AxisTaps) -> tuple[Any, Any]:
    """Return the length that an axis is resized to, and how many taps are gathered at once."""
    at_once = axis.weights is None or (axis.count is not None and axis.count <= _FEW)
    if not isinstance(axis.indices, Symbol):
        return len(axis.indices), 1 if at_once else axis.indices.shape[1]
    return _length(ops, axis.indices.value, 0), 1 if at_once else _length(ops, axis.indices.value, 1)


def entry(ops: Ops, vector: Value, place: int) -> Symbol:
    """Return one entry of a vector as a symbol."""
    return Symbol(ops, ops.gather(vector, ops.constant(np.int64(place)), 0))


def _index(ops: Ops, indices: Any) -> Value:
    if isinstance(indices, Symbol):
        return ops.convert(indices.value, "int64")
    return ops.constant(indices.astype(np.int64))


def aligned(ops: Ops, array: Any, axes: range) -> Value:
    """Return an array with trailing axes of length 1, so that it goes with ``x`` from its axis on."""
    if isinstance(array, Symbol):
        return ops.unsqueeze(array.value, tuple(axes)) if axes else array.value
    dtype = array.dtype if array.dtype == np.bool_ else np.float32
    return ops.constant(array.astype(dtype).reshape(array.shape + (1,) * len(axes)))


def _few(ops: Ops, x: Value, axis: AxisTaps, count: int, rank: int) -> Value:
    """Return a weighted sum of a few gathered copies: cheap where the axis is long."""
    after = range(1, rank - axis.axis)
    terms = []
    for tap in range(count):
        taken = ops.gather(x, _index(ops, _column(ops, axis.indices, tap)), axis.axis)
        terms.append(ops.elementwise("multiply", taken, aligned(ops, _column(ops, axis.weights, tap), after)))
    return functools.reduce(functools.partial(ops.elementwise, "add"), terms)


def _column(ops: Ops, array: Any, tap: int) -> Any:
    if isinstance(array, tuple):
        return array[tap]
    if isinstance(array, Symbol):
        return Symbol(ops, ops.gather(array.value, ops.constant(np.int64(tap)), 1))
    return array[:, tap]


def _product(ops: Ops, x: Value, axis: AxisTaps, rank: int) -> Value:
    """Return a product by a matrix of all weights: the fastest where the axis is short."""
    assert axis.in_size is not None
    matrix = np.zeros((len(axis.indices), axis.in_size))
    np.add.at(matrix, (np.arange(len(matrix))[:, None], axis.indices), axis.weights)
    if axis.axis == rank - 2:
        return ops.matmul(ops.constant(matrix.astype(np.float32)), x)
    return _multiplied(ops, x, ops.constant(np.ascontiguousarray(matrix.T, np.float32)), axis.axis, rank)


def _run_time_product(ops: Ops, x: Value, axis: AxisTaps, rank: int) -> Value:
    """Return a product by a matrix of all weights that is made at run time."""
    xp = Functions(ops)
    length = entry(ops, ops.convert(ops.lengths(x), "float32"), axis.axis)
    met = xp.expand_dims(axis.indices, 2) == xp.arange(0, length)
    matrix = xp.sum(xp.where(met, xp.expand_dims(axis.weights, 2), 0.0), axis=1, keepdims=False)
    return _multiplied(ops, x, ops.transpose(matrix.value, (1, 0)), axis.axis, rank)


def _multiplied(ops: Ops, x: Value, right: Value, axis: int, rank: int) -> Value:
    """Return ``x`` with ``axis`` multiplied by a matrix from the right."""
    if axis == rank - 1:
        return ops.matmul(x, right)
    order = list(range(rank))
    order[axis], order[-1] = order[-1], order[axis]
    return ops.transpose(ops.matmul(ops.transpose(x, order), right), order)
