"""Padding, and cropping by negative pads."""

from __future__ import annotations

from collections.abc import Sequence

from ...onnx import operators
from ...onnx.graph import Graph
from ...onnx.onnx_primitives import NodeTensor, node
from ...onnx.operators import END
from .. import layer_inputs
from ..layer import Op
from ..tensors import tensor

_MODES = ("constant", "edge", "reflect", "symmetric")


def _pad(graph: Graph, op: Op) -> str:
    mode = op.word("pad_mode", _MODES)
    if mode == "constant":
        return graph.node("Pad", op.inputs[0], _pads(graph, op), op.inputs[3] if op.has(3) else "", mode=mode)
    if op.value(1) is None or op.value(2) is None:
        return _padded_at_run_time(graph, op, mode)
    begin, end = (op.known_integers(index, "pads are") for index in (1, 2))
    if mode == "symmetric":
        return _mirrored(graph, op, begin, end)
    x = _cropped(graph, op.inputs[0], begin, end)
    pads = [max(pad, 0) for pad in (*begin, *end)]
    return graph.node("Pad", x, graph.ints(pads), mode=mode) if any(pads) else x


def _padded_at_run_time(graph: Graph, op: Op, mode: str) -> str:
    """Pad by a node, which takes negative pads too; ONNX has none for symmetric reflection."""
    if mode != "symmetric":
        return graph.node("Pad", op.inputs[0], _pads(graph, op), mode=mode)
    x, shape = op.inputs[0], graph.node("Shape", op.inputs[0])
    begin, end = (layer_inputs.int64(graph, op, index) for index in (1, 2))
    for axis in range(op.rank()):
        at = operators.scalar(graph, axis, "int64")
        numbers = (tensor(graph, graph.node("Gather", source, at), "int64") for source in (shape, begin, end))
        x = graph.node("Gather", x, _backwards(*numbers).value, axis=axis)
    return x


def _backwards(length: NodeTensor, before: NodeTensor, after: NodeTensor) -> NodeTensor:
    """Return the source indices of a padded axis under symmetric reflection: -1 is 0 again, as at the end."""
    one = length.of(1)
    begin, stop = -before, length + after
    place = node("Range", begin, stop, one)
    negative = -place - one
    place = (place < 0).where(negative, place)
    again = length + length - one - place
    return (place < length).where(place, again)


def _pads(graph: Graph, op: Op) -> str:
    begin, end = op.value(1), op.value(2)
    if begin is not None and end is not None:
        return graph.ints([*map(int, begin.ravel()), *map(int, end.ravel())])
    return graph.node("Concat", layer_inputs.int64(graph, op, 1), layer_inputs.int64(graph, op, 2), axis=0)


def _cropped(graph: Graph, x: str, begin: Sequence[int], end: Sequence[int]) -> str:
    axes = [axis for axis, pads in enumerate(zip(begin, end, strict=True)) if min(pads) < 0]
    starts = [max(-begin[axis], 0) for axis in axes]
    ends = [end[axis] if end[axis] < 0 else END for axis in axes]
    return operators.cut(graph, x, starts, ends, axes)


def _mirrored(graph: Graph, op: Op, begin: Sequence[int], end: Sequence[int]) -> str:
    """Pad by symmetric reflection: slices with a step of -1, joined."""
    x = _cropped(graph, op.inputs[0], begin, end)
    for axis, (before, after) in enumerate(zip(begin, end, strict=True)):
        parts = [x]
        if before > 0:
            parts.insert(0, operators.cut(graph, x, [before - 1], [-END], [axis], [-1]))
        if after > 0:
            parts.append(operators.cut(graph, x, [END], [-after - 1], [axis], [-1]))
        x = graph.node("Concat", *parts, axis=axis) if len(parts) > 1 else x
    return x


TABLE = {"Pad": _pad}
