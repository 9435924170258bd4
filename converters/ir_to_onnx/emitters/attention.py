"""Attention, as products and a softmax."""

from __future__ import annotations

import math

import numpy as np

from ...onnx.graph import Graph
from ...onnx.onnx_primitives import NodeTensor, node
from ..layer import Op
from ..tensors import constant, operand, shape


def _attention(graph: Graph, op: Op) -> NodeTensor:
    """Weight values by how well queries match keys; ``causal`` replaces a mask."""
    query, key, value = (operand(graph, op, index) for index in range(3))
    rank = op.rank(1)
    turned = key.transposed(*range(rank - 2), rank - 1, rank - 2)
    scores = query * _scale(graph, op) @ turned
    lengths = shape(scores)
    if op.flag("causal"):
        scores = _before(lengths).where(scores, -np.inf)
    elif op.has(3) and op.dtype(3) == "bool":
        scores = operand(graph, op, 3).where(scores, -np.inf)
    elif op.has(3):
        scores = scores + operand(graph, op, 3)
    return node("Softmax", scores, axis=-1) @ value


def _scale(graph: Graph, op: Op) -> NodeTensor:
    if op.has(4):
        return operand(graph, op, 4)
    return constant(graph, 1 / math.sqrt(op.lengths(0, [-1])[0]), op.dtype())


def _before(lengths: NodeTensor) -> NodeTensor:
    """Return for every query which keys stand at its place or before."""
    rows, columns = (_places(lengths, axis) for axis in (-2, -1))
    return ~(rows.unsqueeze(1) < columns)


def _places(lengths: NodeTensor, axis: int) -> NodeTensor:
    zero, one = lengths.of(0), lengths.of(1)
    return node("Range", zero, lengths.take(axis, 0), one)


TABLE = {"ScaledDotProductAttention": _attention}
