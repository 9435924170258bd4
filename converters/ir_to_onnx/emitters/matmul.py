"""Matrix products."""

from __future__ import annotations

from ...onnx import operators
from ...onnx.graph import Graph
from ..layer import Op
from ..quantised import byte_products, small_weights


def _matmul(graph: Graph, op: Op) -> str:
    of_bytes = byte_products.multiplied(graph, op) if op.dtype() == "int32" else None
    return of_bytes or graph.node("MatMul", *(_operand(graph, op, index, name) for index, name in enumerate("ab")))


def _operand(graph: Graph, op: Op, index: int, name: str) -> str:
    """Return an operand, its last two axes swapped if requested; a vector has nothing to swap."""
    if not op.flag(f"transpose_{name}") or op.rank(index) < 2:
        return op.inputs[index]
    held = small_weights.turned(op.net, op.layer, index)
    if held is not None and held.since <= graph.opset:
        return held.written(graph, op.layer.name)
    if op.is_shared(index):  # weights that other nodes take as they are need not be stored twice
        return graph.node("Transpose", op.inputs[index], perm=_swapped(op.rank(index)))
    return operators.transposed(graph, op.inputs[index], _swapped(op.rank(index)))


def _swapped(rank: int) -> list[int]:
    return [*range(rank - 2), rank - 1, rank - 2]


def _einsum(graph: Graph, op: Op) -> str:
    op.needs(12, graph.opset)
    return graph.node("Einsum", *op.inputs, equation=op.text("equation"))


TABLE = {"MatMul": _matmul, "Einsum": _einsum}
