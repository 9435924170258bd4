"""Sequences: greedy CTC decoders, and beams of a search, followed back from their last step."""

from __future__ import annotations

import numpy as np
import onnx

from ...onnx import operators
from ...onnx.graph import Graph
from ...onnx.onnx_primitives import NodeTensor, node
from .. import layer_inputs
from ..inner_nets import value_info
from ..layer import Op
from ..tensors import as_type, cut, joined, operand, reduction, tensor


def _ctc(graph: Graph, op: Op) -> NodeTensor:
    """Decode [time, batch, classes]; the last class is blank, and a mask ends each sequence where it is first 0."""
    steps, _, classes = op.lengths()
    best = _best(graph, op).transposed(1, 0)
    # A sequence has ended at its first 0, whatever follows.
    mask = operand(graph, op, 1).cast("float32").transposed(1, 0)
    ended = mask == 0
    lengths = node("CumSum", ended.cast("int32"), mask.of(1, "int64")) == 0
    flags = op.flag("ctc_merge_repeated", True)
    rows, _ = _packed(best, lengths, best.of(classes - 1), steps, merge=flags)
    return rows.cast(op.result_dtype()).unsqueeze(2, 3)


def _ctc_with_lengths(graph: Graph, op: Op) -> tuple[NodeTensor, ...]:
    """Decode [batch, time, classes]; sequences have lengths, and the blank class may be any."""
    _, steps, classes = op.lengths()
    lengths = operand(graph, op, 1).cast("int64").unsqueeze(1)
    within = lengths.of(np.arange(steps)[None]) < lengths
    blank = tensor(graph, layer_inputs.int64(graph, op, 2) if op.has(2) else graph.ints([classes - 1]), "int64")
    packed = _packed(_best(graph, op), within, blank, steps, merge=op.flag("merge_repeated", True))
    return tuple(as_type(output, op.result_dtype(index)) for index, output in enumerate(packed))


def _best(graph: Graph, op: Op) -> NodeTensor:
    return node("ArgMax", operand(graph, op), dtype="int64", axis=2, keepdims=0)


def _packed(
    best: NodeTensor, within: NodeTensor, blank: NodeTensor, steps: int, *, merge: bool
) -> tuple[NodeTensor, NodeTensor]:
    """Return the classes of each row that count, moved to its front, with -1 behind them, and their number."""
    counts = within & ~(best == blank)
    if merge and steps > 1:
        later, earlier = cut(best, 1, steps, 1), cut(best, 0, steps - 1, 1)
        changed = ~(later == earlier)
        first = cut(best == best, 0, 1, 1)
        counts = counts & joined([first, changed], 1)
    numbers = counts.cast("int64")
    # TopK of ones and zeros moves the ones to the front, in order: equal values keep their places in ONNX.
    order = numbers.like(numbers.ops.graph.outputs(2, "TopK", numbers.value, numbers.of([steps]).value, axis=1)[1])
    minus = best.of(-1)
    rows = node("GatherElements", counts.where(best, minus), order, axis=1)
    return rows, reduction("ReduceSum", numbers, 1, keep=False)


def _gather_tree(graph: Graph, op: Op) -> str:
    """Read every beam from its last step to its first; steps after its end are the end token."""
    dtype = op.dtype()
    parents = layer_inputs.int64(graph, op, 1, vector=False)
    end = graph.node("Reshape", op.inputs[3], graph.ints([1]))
    shape = graph.node("Shape", op.inputs[0])
    steps, batch, width = (operators.cut(graph, shape, [i], [i + 1], [0]) for i in range(3))
    zero, one = (operators.scalar(graph, number, "int64") for number in (0, 1))
    beams = graph.node("Range", zero, operators.squeeze(graph, width, [0]), one)
    output = graph.node("Expand", beams, graph.node("Concat", batch, width, axis=0))
    longest = operators.unsqueeze(graph, layer_inputs.int64(graph, op, 2), [1])
    body = _step(graph, op, parents, steps, longest, end)
    _, rows = graph.outputs(2, "Loop", operators.squeeze(graph, steps, [0]), "", output, body=body)
    # The loop goes from the last step to the first, so its rows are reversed.
    beam = operators.cut(graph, rows, [operators.END], [-operators.END], [0], [-1])
    ended = operators.cast(graph, graph.node("Equal", beam, end), "int32")
    before = graph.node("CumSum", ended, zero, exclusive=1)
    is_over = graph.node("Greater", before, operators.scalar(graph, 0, "int32"))
    beams_at = graph.node("Where", is_over, end, beam)
    return beams_at if op.result_dtype() == dtype else operators.cast(graph, beams_at, op.result_dtype())


def _step(graph: Graph, op: Op, parents: str, steps: str, longest: str, end: str) -> onnx.GraphProto:
    """Return the body: from the beam of each place, the tokens of a level and the beams of the level before."""
    inner, name = graph.inner(), op.layer.name
    number, going, beam = (inner.fresh(f"{name}/{part}") for part in ("step", "going", "beam"))
    following = inner.node("Add", number, operators.scalar(inner, 1, "int64"))
    level = inner.node("Sub", steps, following)
    token, parent = (
        inner.node("GatherElements", _row(inner, source, level), beam, axis=1) for source in (op.inputs[0], parents)
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


TABLE = {
    "CTCGreedyDecoder": _ctc,
    "CTCGreedyDecoderSeqLen": _ctc_with_lengths,
    "GatherTree": _gather_tree,
}
