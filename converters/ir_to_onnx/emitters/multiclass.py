"""MulticlassNms: boxes suppressed class by class, and the best of each image listed."""

from __future__ import annotations

import numpy as np

from ...onnx import operators
from ...onnx.graph import Graph
from ..op import Op
from . import suppression


def _multiclass_nms(graph: Graph, op: Op) -> tuple[str, ...]:
    _refuse(op)
    images, count = op.lengths(0, [0, 1])
    classes = [each for each in range(op.lengths(1)[1]) if each != op.integer("background_class", -1)]
    shape = images, len(classes), count
    scores = graph.node("Gather", op.inputs[1], graph.ints(classes), axis=1)
    scores = suppression.best_of_each(graph, scores, shape, op.integer("nms_top_k", -1))
    limits = (op.real(name, 0) for name in ("iou_threshold", "score_threshold"))
    left = suppression.left(graph, op.inputs[0], scores, shape, *limits)
    most, of_all = op.integer("keep_top_k", -1), count * len(classes)
    kept = graph.ints([min(most, of_all) if most > 0 else of_all])
    values, places = graph.outputs(2, "TopK", left, kept, axis=1)
    numbers = graph.node("Div", places, operators.scalar(graph, count, "int64"))
    labels = graph.node("Gather", graph.constant(classes, np.float32), numbers)
    if op.word("sort_result_type", ("classid", "score", "none"), "none") == "classid":
        order = graph.outputs(2, "TopK", labels, kept, axis=1, largest=0)[1]
        values, places, labels = (graph.node("GatherElements", x, order, axis=1) for x in (values, places, labels))
    return _listed(graph, op, (labels, values, places), (images, count))


def _refuse(op: Op) -> None:
    if op.has(2):
        raise op.refusal("its boxes come in groups of regions")
    if op.real("nms_eta", 1) != 1:
        raise op.refusal("its threshold adapts")
    if not op.flag("normalized", True):
        raise op.refusal("its boxes are in pixels")
    if op.flag("sort_result_across_batch") and op.lengths(0, [0]) != (1,):
        raise op.refusal("it sorts across images")


def _listed(graph: Graph, op: Op, found: tuple[str, str, str], shape: tuple[int, int]) -> tuple[str, ...]:
    """Return rows of class, score and corners, the places of the boxes among all, and how many each image has."""
    (labels, values, places), (images, count) = found, shape
    is_there = suppression.is_there(graph, values)
    boxes = graph.node("Mod", places, operators.scalar(graph, count, "int64"))
    first = graph.constant(np.arange(images)[:, None] * count, np.int64)
    keep = graph.node("Reshape", is_there, graph.ints([-1]))
    flat = (graph.node("Reshape", x, graph.ints([-1])) for x in (labels, values, graph.node("Add", boxes, first)))
    labels, values, boxes = (graph.node("Compress", x, keep, axis=0) for x in flat)
    corners = graph.node("Gather", graph.node("Reshape", op.inputs[0], graph.ints([-1, 4])), boxes, axis=0)
    columns = (*(operators.unsqueeze(graph, x, [1]) for x in (labels, values)), corners)
    totals = operators.reduced(graph, "ReduceSum", operators.cast(graph, is_there, "int64"), [1], keep=False)
    places = operators.unsqueeze(graph, boxes, [1])
    numbers = (operators.cast(graph, x, op.result_dtype(index)) for index, x in ((1, places), (2, totals)))
    return graph.node("Concat", *columns, axis=1), *numbers


TABLE = {"MulticlassNms": _multiclass_nms}
