"""Table lookups: sums of embeddings, sorted rows, unique elements; and basic linear algebra."""

from __future__ import annotations

import numpy as np

from ...onnx import operators
from ...onnx.graph import Graph
from ...onnx.onnx_primitives import NodeTensor, node
from ...onnx.operators import as_dtype
from .. import layer_inputs
from ..layer import Op
from ..tensors import operand, reduction, shape, tensor


def _as(graph: Graph, op: Op, tensor: str, index: int = 0) -> str:
    """Return 64-bit integers in the type of an output."""
    return tensor if op.result_dtype(index) == "int64" else operators.cast(graph, tensor, op.result_dtype(index))


def _packed_sum(graph: Graph, op: Op) -> NodeTensor:
    """Sum the rows of each bag; all have the same number."""
    rows = operand(graph, op).take(tensor(graph, layer_inputs.int64(graph, op, 1, vector=False), "int64"), 0)
    if op.has(2):
        rows = rows * operand(graph, op, 2).unsqueeze(2, *range(3, op.rank() + 1))
    kind = "ReduceMean" if _reduction(op) == "mean" else "ReduceSum"
    return reduction(kind, rows, 1, keep=False)


def _reduction(op: Op) -> str:
    return op.word("reduction", ("sum", "mean"), "sum")


def _offset_sum(graph: Graph, op: Op) -> str | NodeTensor:
    """Sum the rows of bags that begin at offsets: an index belongs to the last bag that begins at it or before."""
    offsets = tensor(graph, layer_inputs.int64(graph, op, 2), "int64")
    count = shape(offsets)
    zero, one = offsets.of(0), offsets.of(1)
    places = node("Range", zero, node("Size", operand(graph, op, 1), dtype="int64"), one)
    began = ~(places.unsqueeze(1) < offsets)
    numbers = reduction("ReduceSum", began.cast("int64"), 1, keep=False)
    return _segments(graph, op, numbers - one, count, 3, _reduction(op))


def _segment_sum(graph: Graph, op: Op) -> str | NodeTensor:
    numbers, count = (tensor(graph, layer_inputs.int64(graph, op, index), "int64") for index in (2, 3))
    return _segments(graph, op, numbers, count, 4, "sum")


def _segments(graph: Graph, op: Op, numbers: NodeTensor, count: NodeTensor, after: int, kind: str) -> str | NodeTensor:
    """Sum rows by the number of their segment; an empty one is the row of a default index, or of zeros."""
    rank, dtype, table = op.rank(), op.dtype(), operand(graph, op)
    rows = table.take(tensor(graph, layer_inputs.int64(graph, op, 1), "int64"), 0)
    if op.has(after + 1):
        rows = rows * operand(graph, op, after + 1).unsqueeze(*range(1, rank))
    zero, one = count.of(0), count.of(1)
    segments = node("Range", zero, node("Squeeze", count), one)
    share = (segments.unsqueeze(1) == numbers).cast(dtype)
    sizes = reduction("ReduceSum", share, 1)
    if kind == "mean":
        share = share / sizes.maximum(1)
    sums = share @ _flat(rows, rank)
    default = op.known_integers(after, "the default index is")[0] if op.has(after) else -1
    if default >= 0:
        row = table.take([default], 0)
        is_empty = sizes == 0
        sums = is_empty.where(_flat(row, rank), sums)
    return layer_inputs.reshaped(graph, op, sums.value, [None, *op.lengths()[1:]]) if rank > 2 else sums


def _flat(rows: NodeTensor, rank: int) -> NodeTensor:
    """Return rows of numbers as a matrix."""
    return node("Flatten", rows, axis=1) if rank > 2 else rows


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
    held = dtype if dtype in ("float32", "int64") else "int64"  # the types that onnxruntime runs
    x = op.inputs[0] if dtype == held else operators.cast(graph, op.inputs[0], held)
    values, *places = graph.outputs(4, "Unique", x, axis=axis, sorted=int(op.flag("sorted", True)))
    return values if dtype == held else operators.cast(graph, values, dtype), *(
        _as(graph, op, tensor, index) for index, tensor in enumerate(places, 1)
    )


def _eye(graph: Graph, op: Op) -> str:
    rows, columns, diagonal = (op.known_integers(index, "one of its sizes is")[0] for index in range(3))
    batch = op.known_integers(3, "its batch is") if op.has(3) else ()
    one = np.eye(rows, columns, diagonal, as_dtype(op.result_dtype()))
    return graph.constant(np.broadcast_to(one, (*batch, rows, columns)), name=op.layer.name)


def _grn(graph: Graph, op: Op) -> NodeTensor:
    """Divide by the norm over channels."""
    x = operand(graph, op)
    return x / node("Sqrt", reduction("ReduceSum", x * x, 1) + op.real("bias"))


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
