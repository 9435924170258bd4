"""Non-maximum suppression: one by one, or all classes and boxes in a tensor of known shape."""

from __future__ import annotations

import numpy as np

from ir_interp.array_types import Array

from ...onnx import operators
from ...onnx.graph import Graph
from .. import layer_inputs
from ..layer import Op

NONE = -np.inf
"""The score of boxes that are not selected."""

Shape = tuple[int, int, int]
"""Numbers of images, classes and boxes."""


def best_of_each(graph: Graph, scores: str, shape: Shape, best: int) -> str:
    """Return the scores of only so many boxes of each class; of all if ``best`` is not positive."""
    if not 0 < best < shape[-1]:
        return scores
    values, places = graph.outputs(2, "TopK", scores, graph.ints([best]), axis=2)
    return graph.node("ScatterElements", nothing(graph, shape), places, values, axis=2)


def left(graph: Graph, boxes: str, scores: str, shape: Shape, overlap: float, least: float) -> str:
    """Return the scores [images, classes * boxes] of boxes that overlap no better one of their class."""
    first, last = operators.split(graph, boxes, [2, 2], 2)
    boxes = graph.node("Concat", first, graph.node("Max", first, last), axis=2)  # ONNX would flip boxes
    limits = (graph.constant([limit], np.float32) for limit in (overlap, least))
    chosen = graph.node("NonMaxSuppression", boxes, scores, graph.ints([shape[-1]]), *limits)
    output = graph.node("ScatterND", nothing(graph, shape), chosen, graph.node("GatherND", scores, chosen))
    return graph.node("Reshape", output, graph.ints([shape[0], shape[1] * shape[2]]))


def nothing(graph: Graph, shape: Shape) -> str:
    """Return scores of which none is selected."""
    return graph.node("Expand", operators.scalar(graph, NONE, "float32"), graph.ints(shape))


def is_there(graph: Graph, scores: str) -> str:
    """Return which scores belong to a selected box."""
    return graph.node("Greater", scores, operators.scalar(graph, NONE, "float32"))


def _non_max_suppression(graph: Graph, op: Op) -> tuple[str, ...]:
    """Select boxes; OpenVINO returns as many rows as it selects in every version, though pages before the fifth pad."""
    chosen = _chosen(graph, op)
    scores = graph.node("GatherND", op.inputs[1], chosen)
    count = operators.cut(graph, graph.node("Shape", chosen), [0], [1], [0])
    if op.flag("sort_result_descending", True):
        scores, order = graph.outputs(2, "TopK", scores, count, axis=0)
        chosen = graph.node("Gather", chosen, order, axis=0)
    rows = graph.node("Concat", _places(graph, chosen), operators.unsqueeze(graph, scores, [1]), axis=1)
    outputs = [_as(graph, op, 0, chosen), rows]
    if len(op.layer.outputs) > 2:
        outputs.append(_as(graph, op, 2, count))
    return tuple(outputs[: len(op.layer.outputs)])


def _chosen(graph: Graph, op: Op) -> str:
    """Return image, class and box of each selected box."""
    if op.has(5) and np.any(op.known(5, "soft_nms_sigma is")):
        raise op.refusal("it lowers the scores of overlapping boxes by soft_nms_sigma")
    centred = op.word("box_encoding", ("corner", "center"), "corner") == "center"
    limit = layer_inputs.int64(graph, op, 2) if op.has(2) else graph.ints([0])
    overlap = op.value(3) if op.has(3) else np.zeros(())
    if overlap is None:
        threshold = op.inputs[3]
    else:
        if np.all(overlap <= 0):  # all overlap by that: one of each class is kept
            limit = graph.node("Sign", limit)
        threshold = graph.constant(below(overlap).reshape(1), np.float32)
    least = op.inputs[4] if op.has(4) else ""
    return graph.node(
        "NonMaxSuppression", *op.inputs[:2], limit, threshold, least, center_point_box=1 if centred else None
    )


def below(overlap: Array) -> Array:
    """Return the threshold from 0 to 1 above which boxes overlap by ``overlap`` at least.

    OpenVINO suppresses boxes that overlap by exactly that, ONNX keeps them. A threshold known only at run time is used
    unchanged; if it is 0, two boxes without area overlap.
    """
    return np.clip(np.nextafter(overlap.astype(np.float32), np.float32(-np.inf)), 0, 1)


def _places(graph: Graph, chosen: str) -> str:
    """Return batch and class of the selected boxes, as numbers."""
    return operators.cast(graph, operators.cut(graph, chosen, [0], [2], [1]), "float32")


def _as(graph: Graph, op: Op, index: int, tensor: str) -> str:
    dtype = op.result_dtype(index)
    return tensor if dtype == "int64" else operators.cast(graph, tensor, dtype)


TABLE = {"NonMaxSuppression": _non_max_suppression}
