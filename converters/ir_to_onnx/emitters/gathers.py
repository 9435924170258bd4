"""Elements read or replaced by index, chosen, ordered and counted, or looked up in tables.

Tables are those of embeddings and segments, sparse and sorted rows, and unique elements; then basic linear algebra.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...onnx import operators
from ...onnx.onnx_graph import Graph
from ...onnx.operators import NodeTensor, as_dtype, node, scalar
from .. import layers
from ..layers import WHOLE, Op, cut, joined, operand, reduction, shape, tensor, with_shape
from ..small_weights import BROADCASTS, PDPD_AXIS


def _indices(graph: Graph, op: Op, index: int = 1) -> str:
    """Return indices of a type that ONNX takes."""
    return (
        op.inputs[index] if op.dtype(index) in ("int32", "int64") else operators.cast(graph, op.inputs[index], "int64")
    )


def _gather(graph: Graph, op: Op) -> str:
    (axis,) = op.known_integers(2, "the axis is")
    batch = op.integer("batch_dims", 0)
    if batch == 0:
        return graph.node("Gather", op.inputs[0], _indices(graph, op), axis=axis)
    return _in_batches(graph, op, op.from_first(axis, op.rank()), op.from_first(batch, op.rank(1) + 1))


def _in_batches(graph: Graph, op: Op, axis: int, batch: int) -> str:
    """Gather with the leading axes of data and indices in common: GatherND, the axis moved behind these."""
    op.needs(12, graph.opset, "a gather in batches")
    rank, picked = op.rank(), op.rank(1) - batch
    data = operators.transposed(graph, op.inputs[0], operators.moved(rank, axis, batch))
    indices = layers.int64(graph, op, 1, vector=False)
    gathered = graph.node("GatherND", data, operators.unsqueeze(graph, indices, [op.rank(1)]), batch_dims=batch)
    between = axis - batch  # axes of the data in front of the gathered ones
    order = [
        *range(batch),
        *(batch + picked + i for i in range(between)),
        *(batch + i for i in range(picked)),
        *range(batch + picked + between, rank - 1 + picked),
    ]
    return operators.transposed(graph, gathered, order)


def _gather_elements(graph: Graph, op: Op) -> str:
    return graph.node("GatherElements", op.inputs[0], _indices(graph, op), axis=op.integer("axis"))


def _gather_nd(graph: Graph, op: Op) -> str:
    """Gather by index tuples; GatherND-5 joins all common axes into one."""
    batch = op.integer("batch_dims", 0)
    if batch:
        op.needs(12, graph.opset, "a gather in batches")
    gathered = graph.node(
        "GatherND", op.inputs[0], layers.int64(graph, op, 1, vector=False), batch_dims=batch if batch else None
    )
    if op.version >= 8 or batch < 2:
        return gathered
    return layers.reshaped(graph, op, gathered, op.result_shape() or op.lengths())


_REDUCTIONS = {"sum": "add", "prod": "mul", "min": "min", "max": "max", "add": "add", "mul": "mul"}
_SINCE = {"add": 16, "mul": 16, "min": 18, "max": 18}  # operator sets with the reduction


def _reduction(graph: Graph, op: Op, word: str) -> str | None:
    """Return ONNX's name of a reduction; None for none."""
    if word == "none":
        return None
    op.needs(_SINCE[_REDUCTIONS[word]], graph.opset, f"reduction {word}")
    return _REDUCTIONS[word]


def _elements(graph: Graph, op: Op) -> str:
    axis = op.from_first(op.known_integers(3, "the axis is")[0], op.rank())
    word = op.word("reduction", ("none", "sum", "prod", "min", "max", "mean"), "none")
    data, starts = op.inputs[0], word == "none" or op.flag("use_init_val", True)
    indices = layers.int64(graph, op, 1, vector=False)

    def scatter(onto: str, updates: str, kind: str) -> str:
        return graph.node("ScatterElements", onto, indices, updates, axis=axis, reduction=_reduction(graph, op, kind))

    if word == "mean":
        return _mean(graph, op, scatter, starts)
    if not starts:
        # Without the initial values, every element that is updated starts at the neutral element.
        first = _filled(graph, op, _neutral(word, op.dtype()))
        data = scatter(data, first, "none")
    return scatter(data, op.inputs[2], word)


def _filled(graph: Graph, op: Op, value: float) -> str:
    """Return a tensor of one value for every update."""
    return graph.node("Expand", scalar(graph, value, op.dtype()), graph.node("Shape", op.inputs[2]))


def _neutral(word: str, dtype: str) -> float:
    """Return the neutral element of a reduction."""
    if word in ("sum", "prod"):
        return 0 if word == "sum" else 1
    limits = np.iinfo(as_dtype(dtype)) if dtype in WHOLE else np.finfo(as_dtype(dtype))
    return limits.max if word == "min" else limits.min


def _mean(graph: Graph, op: Op, scatter: Callable[[str, str, str], str], starts: bool) -> str:
    """Divide sums by counts, that of the element itself included if it takes part."""
    if op.dtype() in WHOLE:
        raise op.refusal("a mean of integers")
    zeros, ones = (_filled(graph, op, value) for value in (0, 1))
    shape = graph.node("Shape", op.inputs[0])
    once = graph.node("Expand", scalar(graph, 1, op.dtype()), shape)
    onto = op.inputs[0] if starts else scatter(op.inputs[0], zeros, "none")
    # Counts are scattered as sums of ones at the same indices.
    total = scatter(onto, op.inputs[2], "sum")
    count = scatter(once if starts else scatter(once, zeros, "none"), ones, "sum")
    return graph.node("Div", total, count)


def _nd(graph: Graph, op: Op) -> str:
    word = op.word("reduction", ("none", "sum", "sub", "prod", "min", "max"), "none")
    updates = graph.node("Neg", op.inputs[2]) if word == "sub" else op.inputs[2]  # ScatterND does not subtract
    reduction = _reduction(graph, op, "sum" if word == "sub" else word)
    indices = layers.int64(graph, op, 1, vector=False)
    return graph.node("ScatterND", op.inputs[0], indices, updates, reduction=reduction)


def _update(graph: Graph, op: Op) -> str:
    """Replace slices: ScatterND, with the axis of the slices in front."""
    rank, picked = op.rank(), op.rank(1)
    axis = op.from_first(op.known_integers(3, "the axis is")[0], rank)
    indices = operators.unsqueeze(graph, layers.int64(graph, op, 1, vector=False), [picked])
    order = operators.moved(rank, axis, 0)
    data = operators.transposed(graph, op.inputs[0], order)
    last = rank - 1 + picked
    updates = operators.transposed(
        graph, op.inputs[2], [*range(axis, axis + picked), *range(axis), *range(axis + picked, last)]
    )
    return operators.transposed(graph, graph.node("ScatterND", data, indices, updates), operators.inverse(order))


def _select(graph: Graph, op: Op) -> str:
    if op.word("auto_broadcast", BROADCASTS, "numpy") == "pdpd" and op.integer(PDPD_AXIS, 0) >= 0:
        raise op.refusal("it aligns axes like pdpd, from an axis on")
    return graph.node("Where", *op.inputs)


def _topk(graph: Graph, op: Op) -> tuple[str, ...]:
    axis, largest = op.from_first(op.integer("axis"), op.rank()), op.word("mode", ("max", "min")) == "max"
    count = layers.int64(graph, op, 1)
    values, places = graph.outputs(2, "TopK", op.inputs[0], count, axis=axis, largest=int(largest))
    if op.word("sort", ("value", "index", "none")) == "index":
        # Indices are sorted by a TopK of themselves, and the values are gathered again in that order.
        places = graph.outputs(2, "TopK", places, count, axis=axis, largest=0)[0]
        values = graph.node("GatherElements", op.inputs[0], places, axis=axis)
    element = op.result_dtype(1) if len(op.layer.outputs) > 1 else "int64"
    return values, places if element == "int64" else operators.cast(graph, places, element)


def _one_hot(graph: Graph, op: Op) -> NodeTensor:
    """Compare with every index: one beyond the depth matches nothing.

    A negative one counts from the depth if ``negative_indices_mode`` is set so (version 16), else it matches nothing.
    """
    depth, rank = op.known_integers(1, "the depth is")[0], op.rank()
    axis = op.from_first(op.integer("axis"), rank + 1)
    dtype = op.dtype()
    numbers = np.arange(depth).reshape(depth, *[1] * (rank - axis))
    indices = operand(graph, op).unsqueeze(axis)
    same = indices == numbers
    wraps = op.word("negative_indices_mode", ("ignore_negative", "normalize"), "ignore_negative") == "normalize"
    if wraps and not dtype.startswith("u"):
        same = same | (indices == numbers - depth)
    return same.where(operand(graph, op, 2), operand(graph, op, 3))


def _non_zero(graph: Graph, op: Op) -> str:
    places = graph.node("NonZero", op.inputs[0])
    return places if op.result_dtype() == "int64" else operators.cast(graph, places, op.result_dtype())


def _cumsum(graph: Graph, op: Op) -> str:
    if op.dtype() not in ("float32", "int32", "int64", "uint32", "uint64"):
        raise op.refusal(f"ONNX has no CumSum of {op.dtype()}")
    flags = {name: 1 if op.flag(name) else None for name in ("exclusive", "reverse")}
    axis = layers.int64(graph, op, 1, vector=False) if op.has(1) else operators.scalar(graph, 0, "int64")
    return graph.node("CumSum", op.inputs[0], axis, **flags)


def _bucketize(graph: Graph, op: Op) -> str:
    """Count the boundaries below an element, or up to it."""
    op.needs(12, graph.opset)  # which brought GreaterOrEqual
    kind = "Greater" if op.flag("with_right_bound", True) else "GreaterOrEqual"
    below = graph.node(kind, operators.unsqueeze(graph, op.inputs[0], [op.rank()]), op.inputs[1])
    numbers = operators.cast(graph, below, op.result_dtype())
    return operators.reduction(graph, "ReduceSum", numbers, [op.rank()], keep=False)


def _as(graph: Graph, op: Op, tensor: str, index: int = 0) -> str:
    """Return 64-bit integers in the type of an output."""
    return tensor if op.result_dtype(index) == "int64" else operators.cast(graph, tensor, op.result_dtype(index))


def _packed_sum(graph: Graph, op: Op) -> NodeTensor:
    """Sum the rows of each bag; all have the same number."""
    rows = operand(graph, op).take(tensor(graph, layers.int64(graph, op, 1, vector=False), "int64"), 0)
    if op.has(2):
        rows = rows * operand(graph, op, 2).unsqueeze(2, *range(3, op.rank() + 1))
    kind = "ReduceMean" if _bag_reduction(op) == "mean" else "ReduceSum"
    return reduction(kind, rows, 1, keep=False)


def _bag_reduction(op: Op) -> str:
    """Return how rows become one; the names of older layers say that they add them."""
    return "sum" if op.layer.type.lower().endswith("sum") else op.word("reduction", ("sum", "mean"), "sum")


def _offset_sum(graph: Graph, op: Op) -> str | NodeTensor:
    """Sum the rows of bags that begin at offsets: an index belongs to the last bag that begins at it or before."""
    offsets = tensor(graph, layers.int64(graph, op, 2), "int64")
    count = shape(offsets)
    zero, one = offsets.of(0), offsets.of(1)
    places = node("Range", zero, node("Size", operand(graph, op, 1), dtype="int64"), one)
    # The number of bags that have begun, less one, is the bag of an index.
    began = ~(places.unsqueeze(1) < offsets)
    numbers = reduction("ReduceSum", began.cast("int64"), 1, keep=False)
    return _segments(graph, op, numbers - one, count, 3, _bag_reduction(op))


def _segment_sum(graph: Graph, op: Op) -> str | NodeTensor:
    numbers, count = (tensor(graph, layers.int64(graph, op, index), "int64") for index in (2, 3))
    return _segments(graph, op, numbers, count, 4, "sum")


def _segments(graph: Graph, op: Op, numbers: NodeTensor, count: NodeTensor, after: int, kind: str) -> str | NodeTensor:
    """Sum rows by the number of their segment; an empty one is the row of a default index, or of zeros."""
    rank, dtype, table = op.rank(), op.dtype(), operand(graph, op)
    rows = table.take(tensor(graph, layers.int64(graph, op, 1), "int64"), 0)
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
    return layers.reshaped(graph, op, sums.value, [None, *op.lengths()[1:]]) if rank > 2 else sums


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


def _segment_max(graph: Graph, op: Op) -> NodeTensor:
    """Scatter rows into those of their segments, keeping the largest; rows of no segment are left out."""
    op.needs(18, graph.opset, "a scatter that keeps the largest")  # ScatterND reduces by max since then
    dtype = op.dtype()
    numbers = tensor(graph, layers.int64(graph, op, 1), "int64")
    count = _segment_count(graph, op, numbers)
    run_as = "int32" if dtype == "int64" else dtype  # as OpenVINO does on CPU
    least = np.iinfo(run_as).min if dtype in WHOLE else np.finfo(np.float32).min
    rows = count + 1  # a last row for numbers of no segment
    row = (numbers < count).where(numbers, count).unsqueeze(1)
    x = operand(graph, op)
    empty = node("Expand", x.of(least), joined([rows, cut(shape(x), 1, operators.END, 0)], 0))
    output = node("ScatterND", empty, row, x, reduction="max")
    if op.word("fill_mode", ("zero", "lowest")) == "zero":
        none, flags = x.of(False, "bool"), node("Expand", x.of(True, "bool"), shape(numbers))
        is_held = node("ScatterND", node("Expand", none, rows), row, flags)
        output = with_shape(is_held, -1, *[1] * (op.rank() - 1)).where(output, 0)
    return node("Slice", output, count.of([0]), count, count.of([0]))


def _segment_count(graph: Graph, op: Op, numbers: NodeTensor) -> NodeTensor:
    """Return the number of segments: one more than the last number if no input specifies it."""
    if op.has(2):
        return tensor(graph, layers.int64(graph, op, 2), "int64")
    return cut(numbers, -1, operators.END, 0) + 1


def _fill_empty_rows(graph: Graph, op: Op) -> tuple[str, ...]:
    """Add an element to each empty row, and sort all by row; elements of one row keep their order."""
    indices = layers.int64(graph, op, 2, vector=False)
    zero, one = (operators.scalar(graph, number, "int64") for number in (0, 1))
    height = graph.node("Gather", layers.int64(graph, op, 1), zero)
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
    "Gather": _gather,
    "GatherElements": _gather_elements,
    "GatherND": _gather_nd,
    "ScatterElementsUpdate": _elements,
    "ScatterNDUpdate": _nd,
    "ScatterUpdate": _update,
    "Select": _select,
    "TopK": _topk,
    "OneHot": _one_hot,
    "NonZero": _non_zero,
    "CumSum": _cumsum,
    "Bucketize": _bucketize,
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
