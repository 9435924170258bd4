"""Operators whose form depends on the operator set, and small combinations shared by several families."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from onnx import helper

from ir_interp.errors import ReadError
from ir_interp.shapes import PartialShape

from .graph import Graph

END = np.iinfo(np.int64).max
"""A slice's end, or start, beyond every axis."""


def cast(graph: Graph, x: str, dtype: str) -> str:
    """Return ``x`` in another type; a constant is cast at once."""
    target = as_dtype(dtype)
    if x in graph.initialisers and graph.initialisers[x].size <= 64:
        return graph.constant(graph.initialisers[x].astype(target))
    return graph.node("Cast", x, to=helper.np_dtype_to_tensor_dtype(target))


def scalar(graph: Graph, value: Any, dtype: str) -> str:
    """Return a constant without dimensions."""
    return graph.constant(np.asarray(value).astype(as_dtype(dtype)))


def squeeze(graph: Graph, x: str, axes: Sequence[int]) -> str:
    """Remove axes of size 1; before an earlier permutation if there is one, so that less is permuted."""
    if not axes:
        return x
    order = permuted(graph, x)
    if order is None:
        return _with_axes(graph, "Squeeze", x, axes)
    left = [source for axis, source in enumerate(order) if axis not in axes]
    whole = _with_axes(graph, "Squeeze", _before(graph, x), sorted(order[axis] for axis in axes))
    return transposed(graph, whole, [sorted(left).index(source) for source in left])


def unsqueeze(graph: Graph, x: str, axes: Sequence[int]) -> str:
    """Add axes of size 1; they count in the result."""
    return _with_axes(graph, "Unsqueeze", x, axes) if axes else x


def _with_axes(graph: Graph, kind: str, x: str, axes: Sequence[int]) -> str:
    if graph.opset < 13:  # where axes became an input
        return graph.node(kind, x, axes=list(axes))
    return graph.node(kind, x, graph.ints(axes))


def reduction(graph: Graph, kind: str, x: str, axes: Sequence[int], keep: bool = True) -> str:
    """Reduce over some axes, at least one."""
    if graph.opset < (13 if kind == "ReduceSum" else 18):  # where axes became an input
        return graph.node(kind, x, axes=list(axes), keepdims=int(keep))
    return graph.node(kind, x, graph.ints(axes), keepdims=int(keep))


def split(graph: Graph, x: str, sizes: Sequence[int], axis: int) -> tuple[str, ...]:
    """Split into parts of these sizes."""
    if graph.opset < 13:  # where the sizes became an input
        return graph.outputs(len(sizes), "Split", x, axis=axis, split=list(sizes))
    return graph.outputs(len(sizes), "Split", x, graph.ints(sizes), axis=axis)


def clip(graph: Graph, x: str, low: ArrayLike, high: ArrayLike, dtype: str) -> str:
    """Limit to a range."""
    return graph.node("Clip", x, scalar(graph, low, dtype), scalar(graph, high, dtype))


def softened(graph: Graph, x: str, axis: int, rank: int, kind: str = "Softmax") -> str:
    """Apply a softmax; before operator set 13 it spans all axes from the given one on together."""
    if graph.opset >= 13 or axis == rank - 1:
        return graph.node(kind, x, axis=axis)
    order = moved(rank, axis, rank - 1)
    return transposed(graph, graph.node(kind, transposed(graph, x, order), axis=rank - 1), inverse(order))


def transposed(graph: Graph, x: str, order: Sequence[int]) -> str:
    """Permute axes; a constant is permuted at once, and an already permuted tensor from its source."""
    moved = permuted(graph, x)
    if moved is not None:
        x, order = _before(graph, x), [moved[axis] for axis in order]
    if list(order) == list(range(len(order))):
        return x
    if x in graph.initialisers:
        return graph.constant(graph.initialisers[x].transpose(order), name=x)
    return graph.node("Transpose", x, perm=list(order))


def permuted(graph: Graph, x: str) -> Sequence[int] | None:
    """Return the axis order of the Transpose that produces ``x``; None if there is none."""
    node = graph.maker(x)
    return list(node.attribute[0].ints) if node is not None and node.op_type == "Transpose" and node.attribute else None


def unpermuted(graph: Graph, x: str, shape: PartialShape) -> str:
    """Return ``x`` before a Transpose that moves axes of size 1 only, which keeps the order of the elements."""
    order = permuted(graph, x)
    # Axes of size 1 may move anywhere: the elements keep their order if the longer axes keep theirs.
    longer = [source for source, size in zip(order or (), shape, strict=False) if size != 1]
    return _before(graph, x) if order is not None and longer == sorted(longer) else x


def _before(graph: Graph, x: str) -> str:
    node = graph.maker(x)
    return x if node is None else str(node.input[0])


def cut(
    graph: Graph, x: str, starts: Sequence[int], ends: Sequence[int], axes: Sequence[int], steps: Sequence[int] = ()
) -> str:
    """Slice along axes, with steps since operator set 10."""
    if graph.opset < 10 and axes:
        return graph.node("Slice", x, starts=list(starts), ends=list(ends), axes=list(axes))
    stride = graph.ints(steps) if any(step != 1 for step in steps) else ""
    return graph.node("Slice", x, graph.ints(starts), graph.ints(ends), graph.ints(axes), stride) if axes else x


def padded(graph: Graph, x: str, rank: int, axis: int, before: int, after: int) -> str:
    """Pad one axis with zeros."""
    pads = [0] * (2 * rank)
    pads[axis], pads[rank + axis] = before, after
    return graph.node("Pad", x, graph.ints(pads))


def moved(rank: int, source: int, target: int) -> list[int]:
    """Return the axis order in which ``source`` stands at ``target`` and the others keep theirs."""
    order = [axis for axis in range(rank) if axis != source]
    order.insert(target, source)
    return order


def inverse(order: Sequence[int]) -> list[int]:
    """Return the axis order that undoes another."""
    return [int(axis) for axis in np.argsort(order)]


def as_dtype(name: str) -> np.dtype[Any]:
    """Return the NumPy type of a name, those of ml_dtypes included. Raises ReadError for an unknown name."""
    import ml_dtypes

    try:
        dtype: np.dtype[Any] = np.dtype(getattr(ml_dtypes, name, name))
    except TypeError:
        dtype = np.dtype(object)
    if dtype.hasobject:
        raise ReadError(f"unknown element type {name!r}")
    return dtype
