"""Choosing, ordering, counting: Select, TopK, OneHot, NonZero, CumSum, Bucketize."""

from __future__ import annotations

import numpy as np

from ...onnx import operators
from ...onnx.graph import Graph
from .. import layer_inputs
from ..layer import Op
from ..merged import BROADCASTS, PDPD_AXIS


def _select(graph: Graph, op: Op) -> str:
    if op.word("auto_broadcast", BROADCASTS, "numpy") == "pdpd" and op.integer(PDPD_AXIS, 0) >= 0:
        raise op.refusal("it aligns axes like pdpd, from an axis on")
    return graph.node("Where", *op.inputs)


def _topk(graph: Graph, op: Op) -> tuple[str, ...]:
    axis, largest = op.from_first(op.integer("axis"), op.rank()), op.word("mode", ("max", "min")) == "max"
    count = layer_inputs.int64(graph, op, 1)
    values, places = graph.outputs(2, "TopK", op.inputs[0], count, axis=axis, largest=int(largest))
    if op.word("sort", ("value", "index", "none")) == "index":
        # Indices are sorted by a TopK of themselves, and the values are gathered again in that order.
        places = graph.outputs(2, "TopK", places, count, axis=axis, largest=0)[0]
        values = graph.node("GatherElements", op.inputs[0], places, axis=axis)
    element = op.result_dtype(1) if len(op.layer.outputs) > 1 else "int64"
    return values, places if element == "int64" else operators.cast(graph, places, element)


def _one_hot(graph: Graph, op: Op) -> str:
    """Compare with every index: one beyond the depth matches nothing.

    A negative one counts from the depth if ``negative_indices_mode`` is set so (version 16), else it matches nothing.
    """
    depth, rank = op.known_integers(1, "the depth is")[0], op.rank()
    axis = op.from_first(op.integer("axis"), rank + 1)
    dtype = op.dtype()
    numbers = np.arange(depth).reshape(depth, *[1] * (rank - axis))
    indices = operators.unsqueeze(graph, op.inputs[0], [axis])
    same = graph.node("Equal", indices, graph.constant(numbers, dtype))
    wraps = op.word("negative_indices_mode", ("ignore_negative", "normalize"), "ignore_negative") == "normalize"
    if wraps and not dtype.startswith("u"):
        same = graph.node("Or", same, graph.node("Equal", indices, graph.constant(numbers - depth, dtype)))
    return graph.node("Where", same, op.inputs[2], op.inputs[3])


def _non_zero(graph: Graph, op: Op) -> str:
    places = graph.node("NonZero", op.inputs[0])
    return places if op.result_dtype() == "int64" else operators.cast(graph, places, op.result_dtype())


def _cumsum(graph: Graph, op: Op) -> str:
    if op.dtype() not in ("float32", "int32", "int64", "uint32", "uint64"):
        raise op.refusal(f"ONNX has no CumSum of {op.dtype()}")
    flags = {name: 1 if op.flag(name) else None for name in ("exclusive", "reverse")}
    axis = layer_inputs.int64(graph, op, 1, vector=False) if op.has(1) else operators.scalar(graph, 0, "int64")
    return graph.node("CumSum", op.inputs[0], axis, **flags)


def _bucketize(graph: Graph, op: Op) -> str:
    """Count the boundaries below an element, or up to it."""
    op.needs(12, graph.opset)  # which brought GreaterOrEqual
    kind = "Greater" if op.flag("with_right_bound", True) else "GreaterOrEqual"
    below = graph.node(kind, operators.unsqueeze(graph, op.inputs[0], [op.rank()]), op.inputs[1])
    numbers = operators.cast(graph, below, op.result_dtype())
    return operators.reduction(graph, "ReduceSum", numbers, [op.rank()], keep=False)


TABLE = {
    "Select": _select,
    "TopK": _topk,
    "OneHot": _one_hot,
    "NonZero": _non_zero,
    "CumSum": _cumsum,
    "Bucketize": _bucketize,
}
