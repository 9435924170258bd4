"""Elements taken by index."""

from __future__ import annotations

from ...onnx import operators
from ...onnx.graph import Graph
from .. import layer_inputs
from ..layer import Op


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
    made = graph.node("GatherND", data, operators.unsqueeze(graph, indices, [op.rank(1)]), batch_dims=batch)
    between = axis - batch  # axes of the data in front of the gathered ones
    order = [
        *range(batch),
        *(batch + picked + i for i in range(between)),
        *(batch + i for i in range(picked)),
        *range(batch + picked + between, rank - 1 + picked),
    ]
    return operators.transposed(graph, made, order)


def _gather_elements(graph: Graph, op: Op) -> str:
    return graph.node("GatherElements", op.inputs[0], _indices(graph, op), axis=op.integer("axis"))


def _gather_nd(graph: Graph, op: Op) -> str:
    """Gather by index tuples; GatherND-5 joins all common axes into one."""
    batch = op.integer("batch_dims", 0)
    if batch:
        op.needs(12, graph.opset, "a gather in batches")
    made = graph.node(
        "GatherND", op.inputs[0], layer_inputs.int64(graph, op, 1, vector=False), batch_dims=batch if batch else None
    )
    if op.version >= 8 or batch < 2:
        return made
    return layer_inputs.reshaped(graph, op, made, op.result_shape() or op.lengths())


TABLE = {"Gather": _gather, "GatherElements": _gather_elements, "GatherND": _gather_nd}
