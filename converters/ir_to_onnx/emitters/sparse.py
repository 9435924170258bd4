"""Segments of rows and sparse tensors."""

from __future__ import annotations

import numpy as np

from ...onnx import operators
from ...onnx.graph import Graph
from .. import layer_inputs
from ..layer import WHOLE, Op


def _segment_max(graph: Graph, op: Op) -> str:
    """Scatter rows into those of their segments, keeping the largest; rows of no segment are left out."""
    op.needs(18, graph.opset, "a scatter that keeps the largest")
    dtype = op.dtype()
    numbers = layer_inputs.int64(graph, op, 1)
    count = _segments(graph, op, numbers)
    held = "int32" if dtype == "int64" else dtype  # as OpenVINO does on CPU
    least = np.iinfo(held).min if dtype in WHOLE else np.finfo(np.float32).min
    one = graph.node("Add", count, graph.ints([1]))  # a last row for numbers of no segment
    row = graph.node("Where", graph.node("Less", numbers, count), numbers, count)
    rest = operators.cut(graph, graph.node("Shape", op.inputs[0]), [1], [operators.END], [0])
    empty = graph.node("Expand", operators.scalar(graph, least, dtype), graph.node("Concat", one, rest, axis=0))
    made = graph.node("ScatterND", empty, operators.unsqueeze(graph, row, [1]), op.inputs[0], reduction="max")
    if op.word("fill_mode", ("zero", "lowest")) == "zero":
        none = graph.node("Expand", operators.scalar(graph, False, "bool"), one)
        flags = graph.node("Expand", operators.scalar(graph, True, "bool"), graph.node("Shape", numbers))
        is_held = graph.node("ScatterND", none, operators.unsqueeze(graph, row, [1]), flags)
        shape = graph.ints([-1, *[1] * (op.rank() - 1)])
        made = graph.node("Where", graph.node("Reshape", is_held, shape), made, operators.scalar(graph, 0, dtype))
    return graph.node("Slice", made, graph.ints([0]), count, graph.ints([0]))


def _segments(graph: Graph, op: Op, numbers: str) -> str:
    """Return the number of segments: one more than the last number if no input specifies it."""
    if op.has(2):
        return layer_inputs.int64(graph, op, 2)
    return graph.node("Add", operators.cut(graph, numbers, [-1], [operators.END], [0]), graph.ints([1]))


def _fill_empty_rows(graph: Graph, op: Op) -> tuple[str, ...]:
    """Add an element to each empty row, and sort all by row; elements of one row keep their order."""
    indices = layer_inputs.int64(graph, op, 2, vector=False)
    zero, one = (operators.scalar(graph, each, "int64") for each in (0, 1))
    height = graph.node("Gather", layer_inputs.int64(graph, op, 1), zero)
    own = operators.squeeze(graph, operators.cut(graph, indices, [0], [1], [1]), [1])
    blank = graph.node("Expand", operators.scalar(graph, True, "bool"), operators.unsqueeze(graph, height, [0]))
    flags = graph.node("Expand", operators.scalar(graph, False, "bool"), graph.node("Shape", own))
    is_empty = graph.node("ScatterND", blank, operators.unsqueeze(graph, own, [1]), flags)
    added = operators.transposed(graph, graph.node("NonZero", is_empty), [1, 0])
    pairs = graph.node("Concat", indices, graph.node("Concat", added, graph.node("Sub", added, added), axis=1), axis=0)
    filling = graph.node("Expand", op.inputs[3], operators.cut(graph, graph.node("Shape", added), [0], [1], [0]))
    values = graph.node("Concat", op.inputs[0], filling, axis=0)
    rows = operators.squeeze(graph, operators.cut(graph, pairs, [0], [1], [1]), [1])
    count = graph.node("Size", rows)
    keys = graph.node("Add", graph.node("Mul", rows, count), graph.node("Range", zero, count, one))
    _, order = graph.outputs(2, "TopK", keys, operators.unsqueeze(graph, count, [0]), axis=0, largest=0)
    made = graph.node("Gather", pairs, order, axis=0), graph.node("Gather", values, order, axis=0), is_empty
    kind = op.result_dtype(0)
    return made[0] if kind == "int64" else operators.cast(graph, made[0], kind), *made[1:]


TABLE = {"SegmentMax": _segment_max, "SparseFillEmptyRows": _fill_empty_rows}
