"""Operators whose form depends on the operator set, and small combinations that several families use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from onnx import helper

from converters.ir_to_onnx.graph import Graph
from converters.ir_to_onnx.op import Op, as_dtype

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


def int64(graph: Graph, op: Op, index: int, *, vector: bool = True) -> str:
    """Return an input as 64-bit integers, which ONNX wants of shapes, axes and indices; as a vector where asked."""
    value = op.value(index)
    if value is not None:
        return graph.constant(value.astype(np.int64).ravel() if vector else value.astype(np.int64))
    name = op.inputs[index] if op.dtype(index) == "int64" else cast(graph, op.inputs[index], "int64")
    return graph.node("Reshape", name, graph.ints([-1])) if vector and op.shape(index) == () else name


def squeeze(graph: Graph, x: str, axes: Sequence[int]) -> str:
    """Remove axes of length 1."""
    return _with_axes(graph, "Squeeze", x, axes) if axes else x


def unsqueeze(graph: Graph, x: str, axes: Sequence[int]) -> str:
    """Add axes of length 1; they count in the result."""
    return _with_axes(graph, "Unsqueeze", x, axes) if axes else x


def _with_axes(graph: Graph, kind: str, x: str, axes: Sequence[int]) -> str:
    if graph.opset < 13:
        return graph.node(kind, x, axes=list(axes))
    return graph.node(kind, x, graph.ints(axes))


def reduced(graph: Graph, kind: str, x: str, axes: Sequence[int], keep: bool = True) -> str:
    """Reduce over some axes, at least one."""
    if graph.opset < (13 if kind == "ReduceSum" else 18):
        return graph.node(kind, x, axes=list(axes), keepdims=int(keep))
    return graph.node(kind, x, graph.ints(axes), keepdims=int(keep))


def split(graph: Graph, x: str, lengths: Sequence[int], axis: int) -> tuple[str, ...]:
    """Cut into pieces of these lengths."""
    if graph.opset < 13:
        return graph.outputs(len(lengths), "Split", x, axis=axis, split=list(lengths))
    return graph.outputs(len(lengths), "Split", x, graph.ints(lengths), axis=axis)


def clip(graph: Graph, x: str, low: ArrayLike, high: ArrayLike, dtype: str) -> str:
    """Limit to a range."""
    return graph.node("Clip", x, scalar(graph, low, dtype), scalar(graph, high, dtype))


def transposed(graph: Graph, x: str, order: Sequence[int]) -> str:
    """Permute axes; a constant is permuted at once."""
    if list(order) == list(range(len(order))):
        return x
    if x in graph.initialisers:
        return graph.constant(graph.initialisers[x].transpose(order), name=x)
    return graph.node("Transpose", x, perm=list(order))


def reshaped(graph: Graph, op: Op, x: str, lengths: Sequence[int | None]) -> str:
    """Reshape to lengths of which one may be open; a constant is reshaped at once."""
    if sum(length is None for length in lengths) > 1:
        raise op.refusal("more than one length of its input is known only at run time")
    wanted = [-1 if length is None else length for length in lengths]
    if x in graph.initialisers:
        return graph.constant(graph.initialisers[x].reshape(wanted), name=x)
    return graph.node("Reshape", x, graph.ints(wanted), allowzero=1 if 0 in wanted and graph.opset >= 14 else None)


def cut(
    graph: Graph, x: str, starts: Sequence[int], ends: Sequence[int], axes: Sequence[int], steps: Sequence[int] = ()
) -> str:
    """Slice along axes."""
    stride = graph.ints(steps) if any(step != 1 for step in steps) else ""
    return graph.node("Slice", x, graph.ints(starts), graph.ints(ends), graph.ints(axes), stride) if axes else x


def moved(rank: int, source: int, target: int) -> list[int]:
    """Return the order of axes in which ``source`` stands at ``target`` and the others keep theirs."""
    order = [axis for axis in range(rank) if axis != source]
    order.insert(target, source)
    return order


def inverse(order: Sequence[int]) -> list[int]:
    """Return the order of axes that undoes another."""
    return [int(axis) for axis in np.argsort(order)]
