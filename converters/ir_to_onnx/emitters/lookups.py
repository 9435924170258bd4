"""Tables and what is looked up in them: sums of embeddings, sorted rows, unique elements; and small algebra."""

from __future__ import annotations

import numpy as np

from ...onnx import operators
from ...onnx.graph import Graph
from ...onnx.operators import as_dtype
from .. import layer_inputs
from ..layer import Op


def _as(graph: Graph, op: Op, tensor: str, index: int = 0) -> str:
    """Return 64-bit integers in the type of an output."""
    return tensor if op.result_dtype(index) == "int64" else operators.cast(graph, tensor, op.result_dtype(index))


def _packed_sum(graph: Graph, op: Op) -> str:
    """Sum the rows of each bag; all have as many."""
    rows = graph.node("Gather", op.inputs[0], layer_inputs.int64(graph, op, 1, vector=False), axis=0)
    if op.has(2):
        rows = graph.node("Mul", rows, _weights(graph, op, 2, [2, *range(3, op.rank() + 1)]))
    return _reduced(graph, op, rows, [1], "reduction")


def _weights(graph: Graph, op: Op, index: int, axes: list[int]) -> str:
    return operators.unsqueeze(graph, op.inputs[index], axes)


def _reduced(graph: Graph, op: Op, rows: str, axes: list[int], name: str) -> str:
    kind = "ReduceMean" if op.word(name, ("sum", "mean"), "sum") == "mean" else "ReduceSum"
    return operators.reduction(graph, kind, rows, axes, keep=False)


def _offset_sum(graph: Graph, op: Op) -> str:
    """Sum the rows of bags that begin at offsets: an index is in the last bag that begins at it or before."""
    offsets = layer_inputs.int64(graph, op, 2)
    count = graph.node("Shape", offsets)
    zero, one = (operators.scalar(graph, each, "int64") for each in (0, 1))
    places = graph.node("Range", zero, graph.node("Size", op.inputs[1]), one)
    began = graph.node("Not", graph.node("Less", operators.unsqueeze(graph, places, [1]), offsets))
    numbers = operators.reduction(graph, "ReduceSum", operators.cast(graph, began, "int64"), [1], keep=False)
    return _segments(graph, op, graph.node("Sub", numbers, one), count, 3, op.word("reduction", ("sum", "mean"), "sum"))


def _segment_sum(graph: Graph, op: Op) -> str:
    return _segments(graph, op, layer_inputs.int64(graph, op, 2), layer_inputs.int64(graph, op, 3), 4, "sum")


def _segments(graph: Graph, op: Op, numbers: str, count: str, after: int, kind: str) -> str:
    """Sum rows by the number of their segment; an empty one is the row of a default index, or of zeros."""
    rank, dtype = op.rank(), op.dtype()
    rows = graph.node("Gather", op.inputs[0], layer_inputs.int64(graph, op, 1), axis=0)
    if op.has(after + 1):
        rows = graph.node("Mul", rows, _weights(graph, op, after + 1, list(range(1, rank))))
    zero, one = (operators.scalar(graph, each, "int64") for each in (0, 1))
    wanted = graph.node("Range", zero, graph.node("Squeeze", count), one)
    member = graph.node("Equal", operators.unsqueeze(graph, wanted, [1]), numbers)
    share = operators.cast(graph, member, dtype)
    sizes = operators.reduction(graph, "ReduceSum", share, [1])
    if kind == "mean":
        share = graph.node("Div", share, graph.node("Max", sizes, operators.scalar(graph, 1, dtype)))
    flat = graph.node("Flatten", rows, axis=1) if rank > 2 else rows
    made = graph.node("MatMul", share, flat)
    default = op.known_integers(after, "the default index is")[0] if op.has(after) else -1
    if default >= 0:
        row = graph.node("Gather", op.inputs[0], graph.ints([default]), axis=0)
        is_empty = graph.node("Equal", sizes, operators.scalar(graph, 0, dtype))
        made = graph.node("Where", is_empty, graph.node("Flatten", row, axis=1) if rank > 2 else row, made)
    return layer_inputs.reshaped(graph, op, made, [None, *op.lengths()[1:]]) if rank > 2 else made


def _search_sorted(graph: Graph, op: Op) -> str:
    """Count the elements of a row below a value, or up to it."""
    op.needs(12, graph.opset)
    kind = "LessOrEqual" if op.flag("right_mode") else "Less"
    row = operators.unsqueeze(graph, op.inputs[0], [op.rank() - 1])
    below = graph.node(kind, row, operators.unsqueeze(graph, op.inputs[1], [op.rank(1)]))
    count = operators.reduction(graph, "ReduceSum", operators.cast(graph, below, "int64"), [-1], keep=False)
    return _as(graph, op, count)


def _unique(graph: Graph, op: Op) -> tuple[str, ...]:
    axis = op.known_integers(1, "the axis is")[0] if op.has(1) else None
    dtype = op.dtype()
    held = dtype if dtype in ("float32", "int64") else "int64"  # what onnxruntime runs
    x = op.inputs[0] if dtype == held else operators.cast(graph, op.inputs[0], held)
    values, *places = graph.outputs(4, "Unique", x, axis=axis, sorted=int(op.flag("sorted", True)))
    return values if dtype == held else operators.cast(graph, values, dtype), *(
        _as(graph, op, tensor, index) for index, tensor in enumerate(places, 1)
    )


def _eye(graph: Graph, op: Op) -> str:
    rows, columns, diagonal = (op.known_integers(index, "a length of it is")[0] for index in range(3))
    batch = op.known_integers(3, "its batch is") if op.has(3) else ()
    one = np.eye(rows, columns, diagonal, as_dtype(op.result_dtype()))
    return graph.constant(np.broadcast_to(one, (*batch, rows, columns)), name=op.layer.name)


def _grn(graph: Graph, op: Op) -> str:
    """Divide by the norm over channels."""
    squares = operators.reduction(graph, "ReduceSum", graph.node("Mul", op.inputs[0], op.inputs[0]), [1])
    biased = graph.node("Add", squares, operators.scalar(graph, op.real("bias"), op.dtype()))
    return graph.node("Div", op.inputs[0], graph.node("Sqrt", biased))


TABLE = {
    "EmbeddingBagPackedSum": _packed_sum,
    "EmbeddingBagPacked": _packed_sum,
    "EmbeddingBagOffsetsSum": _offset_sum,
    "EmbeddingBagOffsets": _offset_sum,
    "EmbeddingSegmentsSum": _segment_sum,
    "SearchSorted": _search_sorted,
    "Unique": _unique,
    "Eye": _eye,
    "GRN": _grn,
}
