"""Elements read or replaced by index."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...onnx import operators
from ...onnx.graph import Graph
from ...onnx.operators import as_dtype, scalar
from .. import layer_inputs
from ..layer import WHOLE, Op


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
    indices = layer_inputs.int64(graph, op, 1, vector=False)
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
        "GatherND", op.inputs[0], layer_inputs.int64(graph, op, 1, vector=False), batch_dims=batch if batch else None
    )
    if op.version >= 8 or batch < 2:
        return gathered
    return layer_inputs.reshaped(graph, op, gathered, op.result_shape() or op.lengths())


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
    indices = layer_inputs.int64(graph, op, 1, vector=False)

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
    indices = layer_inputs.int64(graph, op, 1, vector=False)
    return graph.node("ScatterND", op.inputs[0], indices, updates, reduction=reduction)


def _update(graph: Graph, op: Op) -> str:
    """Replace slices: ScatterND, with the axis of the slices in front."""
    rank, picked = op.rank(), op.rank(1)
    axis = op.from_first(op.known_integers(3, "the axis is")[0], rank)
    indices = operators.unsqueeze(graph, layer_inputs.int64(graph, op, 1, vector=False), [picked])
    order = operators.moved(rank, axis, 0)
    data = operators.transposed(graph, op.inputs[0], order)
    last = rank - 1 + picked
    updates = operators.transposed(
        graph, op.inputs[2], [*range(axis, axis + picked), *range(axis), *range(axis + picked, last)]
    )
    return operators.transposed(graph, graph.node("ScatterND", data, indices, updates), operators.inverse(order))


TABLE = {
    "Gather": _gather,
    "GatherElements": _gather_elements,
    "GatherND": _gather_nd,
    "ScatterElementsUpdate": _elements,
    "ScatterNDUpdate": _nd,
    "ScatterUpdate": _update,
}
