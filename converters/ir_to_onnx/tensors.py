"""Tensors as emitters use them: handles whose operators add nodes, and shape operations that only ONNX has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..decompose.tensor import Tensor
from ..onnx import operators
from ..onnx.graph import Graph
from ..onnx.onnx_primitives import NodeTensor, Primitives, node
from .layer import Op


@dataclass(frozen=True, slots=True)
class _EmitterPrimitives(Primitives):
    """Adds nodes of a layer: comparisons keep their own node types, as other exporters write them."""

    def elementwise(self, name: str, *values: str) -> str:
        """Return an elementwise operation."""
        if name == "greater":
            return self.graph.node("Greater", *values)
        return Primitives.elementwise(self, name, *values)


def tensor(graph: Graph, name: str, dtype: str = "float32") -> NodeTensor:
    """Return the handle of a tensor of a graph."""
    return Tensor(_EmitterPrimitives(graph), name, dtype)


def operand(graph: Graph, op: Op, index: int = 0) -> NodeTensor:
    """Return an input of a layer."""
    return tensor(graph, op.inputs[index], op.dtype(index))


def constant(graph: Graph, value: object, dtype: str = "float32") -> NodeTensor:
    """Return a constant of an element type."""
    return tensor(graph, "", dtype).of(value)


def as_type(x: NodeTensor, dtype: str) -> NodeTensor:
    """Return it in an element type, without a node if it has that type already."""
    return x if x.dtype == dtype else x.cast(dtype)


def squeezed(x: NodeTensor, *axes: int) -> NodeTensor:
    """Remove axes of size 1."""
    return x.like(operators.squeeze(x.ops.graph, x.value, axes))


def cut(x: NodeTensor, start: int, stop: int, axis: int) -> NodeTensor:
    """Return the entries of an axis from ``start`` up to, but not including, ``stop``."""
    return x.like(operators.cut(x.ops.graph, x.value, [start], [stop], [axis]))


def reduction(kind: str, x: NodeTensor, *axes: int, keep: bool = True) -> NodeTensor:
    """Reduce over some axes, at least one."""
    return x.like(operators.reduction(x.ops.graph, kind, x.value, axes, keep))


def with_shape(x: NodeTensor, *lengths: int) -> NodeTensor:
    """Reshape to static sizes, of which one may be -1."""
    return node("Reshape", x, x.of(lengths, "int64"))


def shape(x: NodeTensor) -> NodeTensor:
    """Return the shape of a tensor, int64."""
    return node("Shape", x, dtype="int64")


def below(count: NodeTensor) -> NodeTensor:
    """Return the integers from 0 up to, but not including, a scalar."""
    zero, one = count.of(0), count.of(1)
    return node("Range", zero, count, one)


def joined(tensors: Sequence[NodeTensor], axis: int) -> NodeTensor:
    """Return tensors joined along an axis."""
    return node("Concat", *tensors, axis=axis)
