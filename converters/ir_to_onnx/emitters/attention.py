"""Attention, as products and a soft maximum."""

from __future__ import annotations

import math

import numpy as np

from ...onnx import operators
from ...onnx.graph import Graph
from ..layer import Op


def _attention(graph: Graph, op: Op) -> str:
    """Weight values by how queries fit keys; ``causal`` takes the place of a mask."""
    query, key, value = op.inputs[:3]
    rank = op.rank(1)
    turned = operators.transposed(graph, key, [*range(rank - 2), rank - 1, rank - 2])
    scores = graph.node("MatMul", graph.node("Mul", query, _scale(graph, op)), turned)
    shape = graph.node("Shape", scores)
    if op.flag("causal"):
        scores = _masked(graph, op, scores, _before(graph, shape))
    elif op.has(3) and op.dtype(3) == "bool":
        scores = _masked(graph, op, scores, op.inputs[3])
    elif op.has(3):
        scores = graph.node("Add", scores, op.inputs[3])
    return graph.node("MatMul", graph.node("Softmax", scores, axis=-1), value)


def _scale(graph: Graph, op: Op) -> str:
    if op.has(4):
        return op.inputs[4]
    return operators.scalar(graph, 1 / math.sqrt(op.lengths(0, [-1])[0]), op.dtype())


def _masked(graph: Graph, op: Op, scores: str, mask: str) -> str:
    return graph.node("Where", mask, scores, operators.scalar(graph, -np.inf, op.dtype()))


def _before(graph: Graph, shape: str) -> str:
    """Say for every query which keys stand at its place or before."""
    rows, columns = (_places(graph, shape, axis) for axis in (-2, -1))
    return graph.node("Not", graph.node("Less", operators.unsqueeze(graph, rows, [1]), columns))


def _places(graph: Graph, shape: str, axis: int) -> str:
    zero, one = (graph.constant(each, np.int64) for each in (0, 1))
    length = graph.node("Gather", shape, graph.constant(axis, np.int64), axis=0)
    return graph.node("Range", zero, length, one)


TABLE = {"ScaledDotProductAttention": _attention}
