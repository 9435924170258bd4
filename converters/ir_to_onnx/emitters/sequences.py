"""Greedy CTC decoders of sequences."""

from __future__ import annotations

import numpy as np

from ...onnx.graph import Graph
from ...onnx.onnx_primitives import NodeTensor, node
from .. import layer_inputs
from ..layer import Op
from ..tensors import as_type, cut, joined, operand, reduction, tensor


def _ctc(graph: Graph, op: Op) -> NodeTensor:
    """Decode [time, batch, classes]; the last class is blank, and a mask ends each sequence where it is first 0."""
    steps, _, classes = op.lengths()
    best = _best(graph, op).transposed(1, 0)
    lengths = _going(operand(graph, op, 1).cast("float32").transposed(1, 0))
    flags = op.flag("ctc_merge_repeated", True)
    rows, _ = _packed(best, lengths, best.of(classes - 1), steps, merge=flags)
    return rows.cast(op.result_dtype()).unsqueeze(2, 3)


def _going(mask: NodeTensor) -> NodeTensor:
    """Return for every step whether its sequence has not ended yet: there is no 0 at it or before."""
    ended = mask == 0
    return node("CumSum", ended.cast("int32"), mask.of(1, "int64")) == 0


def _ctc_with_lengths(graph: Graph, op: Op) -> tuple[NodeTensor, ...]:
    """Decode [batch, time, classes]; sequences have lengths, and the blank class may be any."""
    _, steps, classes = op.lengths()
    lengths = operand(graph, op, 1).cast("int64").unsqueeze(1)
    within = lengths.of(np.arange(steps)[None]) < lengths
    blank = tensor(graph, layer_inputs.int64(graph, op, 2) if op.has(2) else graph.ints([classes - 1]), "int64")
    packed = _packed(_best(graph, op), within, blank, steps, merge=op.flag("merge_repeated", True))
    return tuple(as_type(each, op.result_dtype(index)) for index, each in enumerate(packed))


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
    order = numbers.like(numbers.ops.graph.outputs(2, "TopK", numbers.value, numbers.of([steps]).value, axis=1)[1])
    minus = best.of(-1)
    rows = node("GatherElements", counts.where(best, minus), order, axis=1)
    return rows, reduction("ReduceSum", numbers, 1, keep=False)


TABLE = {"CTCGreedyDecoder": _ctc, "CTCGreedyDecoderSeqLen": _ctc_with_lengths}
