"""Decoders of sequences: CTC, greedily."""

from __future__ import annotations

import numpy as np

from ...onnx import operators
from ...onnx.graph import Graph
from .. import layer_inputs
from ..layer import Op


def _ctc(graph: Graph, op: Op) -> str:
    """Decode [time, batch, classes]; the last class is blank, and a mask ends each sequence where it is first 0."""
    steps, _, classes = op.lengths()
    best = operators.transposed(graph, _best(graph, op), [1, 0])
    going = operators.transposed(graph, operators.cast(graph, op.inputs[1], "float32"), [1, 0])
    lengths = _going(graph, going, steps)
    flags = op.flag("ctc_merge_repeated", True)
    rows, _ = _packed(graph, best, lengths, operators.scalar(graph, classes - 1, "int64"), steps, merge=flags)
    return operators.unsqueeze(graph, operators.cast(graph, rows, op.result_dtype()), [2, 3])


def _going(graph: Graph, mask: str, steps: int) -> str:
    """Say for every step whether its sequence has not ended yet: no 0 stands at it or before."""
    ended = graph.node("Equal", mask, operators.scalar(graph, 0, "float32"))
    before = graph.node("CumSum", operators.cast(graph, ended, "int32"), operators.scalar(graph, 1, "int64"))
    return graph.node("Equal", before, operators.scalar(graph, 0, "int32"))


def _ctc_with_lengths(graph: Graph, op: Op) -> tuple[str, ...]:
    """Decode [batch, time, classes]; sequences have lengths, and the blank class may be any."""
    _, steps, classes = op.lengths()
    lengths = operators.unsqueeze(graph, operators.cast(graph, op.inputs[1], "int64"), [1])
    within = graph.node("Less", graph.constant(np.arange(steps)[None], np.int64), lengths)
    blank = layer_inputs.int64(graph, op, 2) if op.has(2) else graph.ints([classes - 1])
    rows, count = _packed(graph, _best(graph, op), within, blank, steps, merge=op.flag("merge_repeated", True))
    made = zip((rows, count), (op.result_dtype(index) for index in range(2)), strict=True)
    return tuple(each if dtype == "int64" else operators.cast(graph, each, dtype) for each, dtype in made)


def _best(graph: Graph, op: Op) -> str:
    return graph.node("ArgMax", op.inputs[0], axis=2, keepdims=0)


def _packed(graph: Graph, best: str, within: str, blank: str, steps: int, *, merge: bool) -> tuple[str, str]:
    """Return the classes of each row that count, moved to its front, with -1 behind them, and their number."""
    kept = graph.node("And", within, graph.node("Not", graph.node("Equal", best, blank)))
    if merge and steps > 1:
        later, earlier = (
            operators.cut(graph, best, [start], [end], [1]) for start, end in ((1, steps), (0, steps - 1))
        )
        changed = graph.node("Not", graph.node("Equal", later, earlier))
        first = operators.cut(graph, graph.node("Equal", best, best), [0], [1], [1])
        kept = graph.node("And", kept, graph.node("Concat", first, changed, axis=1))
    numbers = operators.cast(graph, kept, "int64")
    order = graph.outputs(2, "TopK", numbers, graph.ints([steps]), axis=1)[1]
    minus = operators.scalar(graph, -1, "int64")
    rows = graph.node("GatherElements", graph.node("Where", kept, best, minus), order, axis=1)
    return rows, operators.reduction(graph, "ReduceSum", numbers, [1], keep=False)


TABLE = {"CTCGreedyDecoder": _ctc, "CTCGreedyDecoderSeqLen": _ctc_with_lengths}
