"""Beams of a search, followed back from their last step."""

from __future__ import annotations

import onnx

from ...onnx import operators
from ...onnx.graph import Graph
from .. import layer_inputs
from ..inner_nets import value_info
from ..layer import Op


def _gather_tree(graph: Graph, op: Op) -> str:
    """Read every beam from its last step to its first; steps after its end are the end token."""
    dtype = op.dtype()
    parents = layer_inputs.int64(graph, op, 1, vector=False)
    end = graph.node("Reshape", op.inputs[3], graph.ints([1]))
    first = graph.node("Shape", op.inputs[0])
    steps, held, width = (operators.cut(graph, first, [i], [i + 1], [0]) for i in range(3))
    zero, one = (operators.scalar(graph, each, "int64") for each in (0, 1))
    beams = graph.node("Range", zero, operators.squeeze(graph, width, [0]), one)
    own = graph.node("Expand", beams, graph.node("Concat", held, width, axis=0))
    longest = operators.unsqueeze(graph, layer_inputs.int64(graph, op, 2), [1])
    body = _step(graph, op, parents, steps, longest, end)
    _, rows = graph.outputs(2, "Loop", operators.squeeze(graph, steps, [0]), "", own, body=body)
    beam = operators.cut(graph, rows, [operators.END], [-operators.END], [0], [-1])
    ended = operators.cast(graph, graph.node("Equal", beam, end), "int32")
    before = graph.node("CumSum", ended, zero, exclusive=1)
    is_over = graph.node("Greater", before, operators.scalar(graph, 0, "int32"))
    made = graph.node("Where", is_over, end, beam)
    return made if op.result_dtype() == dtype else operators.cast(graph, made, op.result_dtype())


def _step(graph: Graph, op: Op, parents: str, steps: str, longest: str, end: str) -> onnx.GraphProto:
    """Return the body: from the beam of each place, the tokens of a level and the beams of the level before."""
    inner, name = graph.inner(), op.layer.name
    number, going, beam = (inner.fresh(f"{name}/{each}") for each in ("step", "going", "beam"))
    following = inner.node("Add", number, operators.scalar(inner, 1, "int64"))
    level = inner.node("Sub", steps, following)
    token, parent = (
        inner.node("GatherElements", _row(inner, each, level), beam, axis=1) for each in (op.inputs[0], parents)
    )
    is_in = inner.node("Less", level, longest)
    outputs = [
        inner.node("Identity", going),
        inner.node("Where", is_in, parent, beam),
        inner.node("Where", is_in, token, end),
    ]
    inputs = [value_info(number, "int64", ()), value_info(going, "bool", ()), value_info(beam, "int64", (None, None))]
    kinds = ("bool", ()), ("int64", (None, None)), (op.dtype(), (None, None))
    ends = [value_info(tensor, *kind) for tensor, kind in zip(outputs, kinds, strict=True)]
    return inner.proto(f"{name}/body", inputs, ends)


def _row(graph: Graph, x: str, level: str) -> str:
    return operators.squeeze(graph, graph.node("Gather", x, level, axis=0), [0])


TABLE = {"GatherTree": _gather_tree}
