"""Table lookups: sums of embeddings and segments, sparse and sorted rows, unique elements; basic linear algebra."""

from __future__ import annotations

import numpy as np

from ...onnx import operators
from ...onnx.graph import Graph
from ...onnx.onnx_primitives import NodeTensor, node
from ...onnx.operators import as_dtype
from .. import layer_inputs
from ..layer import WHOLE, Op
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
    """Return how rows become one; the names of older layers say that they add them."""
    return "sum" if op.layer.type.lower().endswith("sum") else op.word("reduction", ("sum", "mean"), "sum")


def _offset_sum(graph: Graph, op: Op) -> str | NodeTensor:
    """Sum the rows of bags that begin at offsets: an index belongs to the last bag that begins at it or before."""
    offsets = tensor(graph, layer_inputs.int64(graph, op, 2), "int64")
    count = shape(offsets)
    zero, one = offsets.of(0), offsets.of(1)
    places = node("Range", zero, node("Size", operand(graph, op, 1), dtype="int64"), one)
    # The number of bags that have begun, less one, is the bag of an index.
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
    # Segments become a matrix of zeros and ones, so that one product sums them all.
    share = (segments.unsqueeze(1) == numbers).cast(dtype)
    sizes = reduction("ReduceSum", share, 1)
    if kind == "mean":
        share = share / sizes.maximum(1)  # an empty segment is not divided by 0
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
    op.needs(12, graph.opset)  # which brought LessOrEqual
    kind = "LessOrEqual" if op.flag("right_mode") else "Less"
    row = operators.unsqueeze(graph, op.inputs[0], [op.rank() - 1])
    below = graph.node(kind, row, operators.unsqueeze(graph, op.inputs[1], [op.rank(1)]))
    count = operators.reduction(graph, "ReduceSum", operators.cast(graph, below, "int64"), [-1], keep=False)
    return _as(graph, op, count)


def _unique(graph: Graph, op: Op) -> tuple[str, ...]:
    axis = op.known_integers(1, "the axis is")[0] if op.has(1) else None
    dtype = op.dtype()
    run_as = dtype if dtype in ("float32", "int64") else "int64"  # the types that onnxruntime runs
    x = op.inputs[0] if dtype == run_as else operators.cast(graph, op.inputs[0], run_as)
    values, *places = graph.outputs(4, "Unique", x, axis=axis, sorted=int(op.flag("sorted", True)))
    return values if dtype == run_as else operators.cast(graph, values, dtype), *(
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


def _segment_max(graph: Graph, op: Op) -> str:
    """Scatter rows into those of their segments, keeping the largest; rows of no segment are left out."""
    op.needs(18, graph.opset, "a scatter that keeps the largest")  # ScatterND reduces by max since then
    dtype = op.dtype()
    numbers = layer_inputs.int64(graph, op, 1)
    count = _segment_count(graph, op, numbers)
    run_as = "int32" if dtype == "int64" else dtype  # as OpenVINO does on CPU
    least = np.iinfo(run_as).min if dtype in WHOLE else np.finfo(np.float32).min
    one = graph.node("Add", count, graph.ints([1]))  # a last row for numbers of no segment
    row = graph.node("Where", graph.node("Less", numbers, count), numbers, count)
    rest = operators.cut(graph, graph.node("Shape", op.inputs[0]), [1], [operators.END], [0])
    empty = graph.node("Expand", operators.scalar(graph, least, dtype), graph.node("Concat", one, rest, axis=0))
    output = graph.node("ScatterND", empty, operators.unsqueeze(graph, row, [1]), op.inputs[0], reduction="max")
    if op.word("fill_mode", ("zero", "lowest")) == "zero":
        none = graph.node("Expand", operators.scalar(graph, False, "bool"), one)
        flags = graph.node("Expand", operators.scalar(graph, True, "bool"), graph.node("Shape", numbers))
        is_held = graph.node("ScatterND", none, operators.unsqueeze(graph, row, [1]), flags)
        shape = graph.ints([-1, *[1] * (op.rank() - 1)])
        output = graph.node("Where", graph.node("Reshape", is_held, shape), output, operators.scalar(graph, 0, dtype))
    return graph.node("Slice", output, graph.ints([0]), count, graph.ints([0]))


def _segment_count(graph: Graph, op: Op, numbers: str) -> str:
    """Return the number of segments: one more than the last number if no input specifies it."""
    if op.has(2):
        return layer_inputs.int64(graph, op, 2)
    return graph.node("Add", operators.cut(graph, numbers, [-1], [operators.END], [0]), graph.ints([1]))


def _fill_empty_rows(graph: Graph, op: Op) -> tuple[str, ...]:
    """Add an element to each empty row, and sort all by row; elements of one row keep their order."""
    indices = layer_inputs.int64(graph, op, 2, vector=False)
    zero, one = (operators.scalar(graph, number, "int64") for number in (0, 1))
    height = graph.node("Gather", layer_inputs.int64(graph, op, 1), zero)
    row = operators.squeeze(graph, operators.cut(graph, indices, [0], [1], [1]), [1])
    blank = graph.node("Expand", operators.scalar(graph, True, "bool"), operators.unsqueeze(graph, height, [0]))
    flags = graph.node("Expand", operators.scalar(graph, False, "bool"), graph.node("Shape", row))
    is_empty = graph.node("ScatterND", blank, operators.unsqueeze(graph, row, [1]), flags)
    added = operators.transposed(graph, graph.node("NonZero", is_empty), [1, 0])
    # An added element lies in column 0.
    pairs = graph.node("Concat", indices, graph.node("Concat", added, graph.node("Sub", added, added), axis=1), axis=0)
    filling = graph.node("Expand", op.inputs[3], operators.cut(graph, graph.node("Shape", added), [0], [1], [0]))
    values = graph.node("Concat", op.inputs[0], filling, axis=0)
    rows = operators.squeeze(graph, operators.cut(graph, pairs, [0], [1], [1]), [1])
    count = graph.node("Size", rows)
    # The place is part of the key, so that no two keys are equal.
    keys = graph.node("Add", graph.node("Mul", rows, count), graph.node("Range", zero, count, one))
    _, order = graph.outputs(2, "TopK", keys, operators.unsqueeze(graph, count, [0]), axis=0, largest=0)
    outputs = graph.node("Gather", pairs, order, axis=0), graph.node("Gather", values, order, axis=0), is_empty
    kind = op.result_dtype(0)
    return outputs[0] if kind == "int64" else operators.cast(graph, outputs[0], kind), *outputs[1:]


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
    "SegmentMax": _segment_max,
    "SparseFillEmptyRows": _fill_empty_rows,
}
