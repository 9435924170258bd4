"""Resize along several axes for tensors of any size, although a runtime's Gather is right only up to some size.

Beyond that size GatherElements does the same, in twice the time. If the size is known only at run time, both stand in
the graph: the first axis that gathers is resized by one up to an entry, and by the other from there on. That entry is
the last for a small tensor and the first for a large one, so that one of the two has nothing to do. An If would be
simpler, but next to an If, OpenVINO's dynamic Interpolates may read garbage in their first inference (2026.4).
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ir_interp.shapes import PartialShape

from .apply_taps import (
    AxisTaps,
    Take,
    by_elements,
    by_gather,
    entry,
    gathered_at_once,
    gathers,
    in_columns,
    length,
    resized,
)
from .tensor import Functions, Ops, Tensor, Value


def resized_along(ops: Ops, x: Value, axes: Sequence[AxisTaps], shape: PartialShape) -> Value:
    """Return ``x`` (of ``shape``, None where dynamic) resized along all axes sequentially."""
    rank, limit, axes = len(shape), ops.largest_gather, [in_columns(ops, axis) for axis in axes]
    # Leading axes that gather nothing are right at any size.
    free = next((place for place, axis in enumerate(axes) if gathers(axis, rank)), len(axes))
    before, rest = _resized(ops, x, axes[:free], rank, by_gather), axes[free:]
    # Every runtime but OpenVINO: there a single Gather serves for all sizes.
    if not rest or math.isinf(limit.dynamic):
        return _resized(ops, before, rest, rank, by_gather)
    elements = _largest(ops, x, axes, shape)
    if not isinstance(elements, Tensor):
        return _resized(ops, before, rest, rank, by_gather if elements <= limit.static else by_elements)
    # One of the two parts is empty: both run, but only one has anything to do.
    is_small = ops.flag((elements <= limit.dynamic).value)
    parts = zip(_cut(ops, rest[0], is_small), (by_gather, by_elements), strict=True)
    return ops.concat([_resized(ops, before, [part, *rest[1:]], rank, take) for part, take in parts], rest[0].axis)


def _resized(ops: Ops, x: Value, axes: Sequence[AxisTaps], rank: int, take: Take) -> Value:
    return functools.reduce(lambda y, axis: resized(ops, y, axis, rank, take), axes, x)


def _cut(ops: Ops, axis: AxisTaps, is_small: Value) -> tuple[AxisTaps, AxisTaps]:
    """Return the taps of all outputs of an axis and of none, or of none and of all unless ``is_small``."""
    # 1 times the number of outputs cuts behind the last, 0 times before the first.
    at = ops.elementwise("multiply", is_small, _count(ops, axis.indices))
    indices, weights = (_halves(ops, array, at) for array in (axis.indices, axis.weights))
    first, others = (replace(axis, indices=indices[half], weights=weights[half]) for half in (0, 1))
    return first, others


def _halves(ops: Ops, array: Any, at: Value) -> tuple[Any, Any]:
    if array is None:
        return None, None
    if isinstance(array, tuple):
        columns = [_halves(ops, column, at) for column in array]
        return tuple(first for first, _ in columns), tuple(others for _, others in columns)
    first, others = ops.cut(_value(ops, array), at)
    return Tensor(ops, first), Tensor(ops, others)


def _value(ops: Ops, array: Any) -> Value:
    if isinstance(array, Tensor):
        return array.value
    return ops.constant(array.astype(np.int64 if np.issubdtype(array.dtype, np.integer) else np.float32))


def _largest(ops: Ops, x: Value, axes: Sequence[AxisTaps], shape: PartialShape) -> float | Tensor[Ops]:
    """Return an upper bound of the elements of each tensor between ``x`` and ``x`` resized along all axes."""
    sizes = ops.convert(ops.lengths(x), "float32") if None in shape else None
    factors: list[Any] = [entry(ops, sizes, at) if known is None else known for at, known in enumerate(shape)]
    taps: Any = 1
    for axis in axes:
        # Axes are resized sequentially: between two of them, each axis has its size before or after.
        factors[axis.axis] = _larger(ops, factors[axis.axis], _length(ops, axis.indices))
        taps = _larger(ops, taps, gathered_at_once(ops, axis))
    known = math.prod(factor for factor in (*factors, taps) if not isinstance(factor, Tensor))
    return functools.reduce(
        operator.mul, (factor for factor in (*factors, taps) if isinstance(factor, Tensor)), float(known)
    )


def _larger(ops: Ops, left: Any, right: Any) -> Any:
    at_run_time = isinstance(left, Tensor) or isinstance(right, Tensor)
    return Functions(ops).maximum(left, right) if at_run_time else max(left, right)


def _length(ops: Ops, indices: Any) -> Any:
    """Return the size to which an axis is resized."""
    indices = _first(indices)
    return length(ops, indices, 0) if isinstance(indices, Tensor) else len(indices)


def _count(ops: Ops, indices: Any) -> Value:
    """Return the same as int64 of shape [1]."""
    indices = _first(indices)
    if not isinstance(indices, Tensor):
        return ops.constant(np.array([len(indices)]))
    return ops.gather(ops.lengths(indices.value), ops.constant(np.array([0])), 0)


def _first(indices: Any) -> Any:
    return indices[0] if isinstance(indices, tuple) else indices
