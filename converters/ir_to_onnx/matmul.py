"""Matrix products, and attention, which is made of them."""

from __future__ import annotations

import math

import numpy as np

from converters.ir_to_onnx import forms
from converters.ir_to_onnx.graph import Graph
from converters.ir_to_onnx.op import Op


def _matmul(graph: Graph, op: Op) -> str:
    return graph.node("MatMul", *(_operand(graph, op, index, name) for index, name in enumerate("ab")))


def _operand(graph: Graph, op: Op, index: int, name: str) -> str:
    """Return an operand, its last two axes swapped where asked; a vector has nothing to swap."""
    if not op.flag(f"transpose_{name}") or op.rank(index) < 2:
        return op.inputs[index]
    if op.is_shared(index):  # weights that others take as they are need not be stored twice
        return graph.node("Transpose", op.inputs[index], perm=_swapped(op.rank(index)))
    return forms.transposed(graph, op.inputs[index], _swapped(op.rank(index)))


def _swapped(rank: int) -> list[int]:
    return [*range(rank - 2), rank - 1, rank - 2]


def _attention(graph: Graph, op: Op) -> str:
    """Weigh values by the soft maximum of query times key."""
    query, key, value = op.inputs[:3]
    scaled = graph.node("Mul", query, op.inputs[4] if op.has(4) else _scale(graph, op))
    weights = graph.node("MatMul", scaled, graph.node("Transpose", key, perm=_swapped(op.rank(1))))
    mask = _mask(graph, op)
    weights = graph.node("Add", weights, mask) if mask else weights
    return graph.node("MatMul", graph.node("Softmax", weights, axis=-1), value)


def _scale(graph: Graph, op: Op) -> str:
    (width,) = op.lengths(0, [-1])
    return forms.scalar(graph, 1 / math.sqrt(width), op.dtype())


def _mask(graph: Graph, op: Op) -> str:
    """Return what to add to the weights: the mask, where it is not of truth values, or nothing."""
    op.needs(13, graph.opset)
    if op.flag("causal"):
        rows, columns = *op.lengths(0, [-2]), *op.lengths(1, [-2])
        return graph.constant(np.where(np.tri(rows, columns, dtype=np.bool_), 0, -np.inf), op.dtype())
    if not op.has(3) or op.dtype(3) != "bool":
        return op.inputs[3] if op.has(3) else ""
    zero, never = (forms.scalar(graph, number, op.dtype()) for number in (0, -np.inf))
    return graph.node("Where", op.inputs[3], zero, never)


def _einsum(graph: Graph, op: Op) -> str:
    op.needs(12, graph.opset)
    return graph.node("Einsum", *op.inputs, equation=op.layer.attributes.get("equation", ""))


TABLE = {"MatMul": _matmul, "Einsum": _einsum, "ScaledDotProductAttention": _attention}
