"""Matrix products."""

from __future__ import annotations

from converters.ir_to_onnx import forms
from converters.ir_to_onnx.graph import Graph
from converters.ir_to_onnx.op import Op


def _matmul(graph: Graph, op: Op) -> str:
    return graph.node("MatMul", *(_operand(graph, op, index, name) for index, name in enumerate("ab")))


def _operand(graph: Graph, op: Op, index: int, name: str) -> str:
    """Return an operand, its last two axes swapped where asked; a vector has nothing to swap."""
    if not op.flag(f"transpose_{name}"):
        return op.inputs[index]
    rank = op.rank(index)
    if rank < 2:
        return op.inputs[index]
    order = [*range(rank - 2), rank - 1, rank - 2]
    if op.is_shared(index):  # weights that others take as they are need not be stored twice
        return graph.node("Transpose", op.inputs[index], perm=order)
    return forms.transposed(graph, op.inputs[index], order)


TABLE = {"MatMul": _matmul}
