"""Matrix products, inverse matrices by the determinants of their minors, and attention."""

from __future__ import annotations

import math

import numpy as np

from ...onnx import operators
from ...onnx.graph import Graph
from ...onnx.onnx_primitives import NodeTensor, node
from ..layer import Op
from ..quantised import byte_products, small_weights
from ..tensors import constant, operand, shape

MAX_SIZE = 6
"""Rows of the largest matrix that is inverted this way: the minors take its fourth power."""


def _inverse(graph: Graph, op: Op) -> str:
    """Divide minors by determinants; ``adjoint`` means the transposed inverse in the CPU plugin."""
    size, rank = op.lengths(axes=[-1])[0], op.rank()
    if size > MAX_SIZE:
        raise op.refusal(f"ONNX has no inverse of matrices, and these have {size} rows (up to {MAX_SIZE} are written)")
    x, transposes = op.inputs[0], op.flag("adjoint")
    if size == 1:  # a matrix of one number has no minors
        return graph.node("Div", operators.scalar(graph, 1, "float32"), x)
    whole = operators.unsqueeze(graph, graph.node("Det", x), [rank - 2, rank - 1])
    return graph.node("Div", _minors(graph, x, size, rank, transposes=transposes), whole)


def _minors(graph: Graph, x: str, size: int, rank: int, *, transposes: bool) -> str:
    """Return for each element the determinant of the matrix without its column and row, with the sign of its place."""
    flat = graph.node("Reshape", x, graph.ints([*[0] * (rank - 2), size * size]))
    places = np.arange(size * size).reshape(size, size)
    if not transposes:
        places = places.T
    left = [[np.delete(np.delete(places, row, 0), column, 1) for column in range(size)] for row in range(size)]
    minor = graph.node("Gather", flat, graph.constant(left, np.int64), axis=rank - 2)
    # The adjugate has signs in the pattern of a chessboard (Cramer).
    signs = np.where(np.add.outer(range(size), range(size)) % 2, -1, 1)
    return graph.node("Mul", graph.node("Det", minor), graph.constant(signs, np.float32))


def _matmul(graph: Graph, op: Op) -> str:
    of_bytes = byte_products.multiplied(graph, op) if op.dtype() == "int32" else None
    return of_bytes or graph.node("MatMul", *(_operand(graph, op, index, name) for index, name in enumerate("ab")))


def _operand(graph: Graph, op: Op, index: int, name: str) -> str:
    """Return an operand, its last two axes swapped if requested; a vector has nothing to swap."""
    if not op.flag(f"transpose_{name}") or op.rank(index) < 2:
        return op.inputs[index]
    stored = small_weights.turned(op.net, op.layer, index)
    if stored is not None and stored.since <= graph.opset:
        return stored.written(graph, op.layer.name)
    if op.is_shared(index):  # weights that other nodes take as they are need not be stored twice
        return graph.node("Transpose", op.inputs[index], perm=_swapped(op.rank(index)))
    return operators.transposed(graph, op.inputs[index], _swapped(op.rank(index)))


def _swapped(rank: int) -> list[int]:
    return [*range(rank - 2), rank - 1, rank - 2]


def _einsum(graph: Graph, op: Op) -> str:
    op.needs(12, graph.opset)  # which brought Einsum
    return graph.node("Einsum", *op.inputs, equation=op.text("equation"))


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


TABLE = {
    "Inverse": _inverse,
    "MatMul": _matmul,
    "Einsum": _einsum,
    "ScaledDotProductAttention": _attention,
}
