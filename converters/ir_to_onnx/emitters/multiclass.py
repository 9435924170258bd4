"""Boxes of all classes suppressed, or weakened, class by class, and the best of each image listed."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ...onnx import operators
from ...onnx.graph import Graph
from ...onnx.onnx_primitives import NodeTensor, node
from .. import layer_inputs, overlaps
from ..layer import Op
from ..tensors import below, constant, joined, reduction, squeezed, tensor, with_shape
from . import suppression

_SORTS = ("classid", "score", "none")


def _multiclass_nms(graph: Graph, op: Op) -> tuple[str, ...]:
    classes, scores, shape = _scores(graph, op)
    overlap, least = op.real("iou_threshold", 0), op.real("score_threshold", 0)
    best = op.integer("nms_top_k", -1)
    scores = suppression.best_of_each(graph, scores, shape, best if overlap > 0 else 1)  # all overlap by 0
    eta, normalized = op.real("nms_eta", 1), op.flag("normalized", True)
    if op.has(2) or 0 <= eta < 1 or not normalized:
        left = _left(graph, op, scores, classes, shape)
    else:
        limit = float(suppression.below(np.array(overlap)))
        left = suppression.left(graph, op.inputs[0], scores, shape, limit, least)
    listed = _best(graph, op, left, classes, shape)
    if op.word("sort_result_type", _SORTS, "none") == "classid":
        size = graph.node("Shape", listed[0])
        order = graph.outputs(2, "TopK", listed[0], operators.cut(graph, size, [1], [2], [0]), axis=1, largest=0)[1]
        listed = [graph.node("GatherElements", x, order, axis=1) for x in listed]
    return _listed(graph, op, listed, shape)


def _left(graph: Graph, op: Op, scores: str, classes: list[int], shape: suppression.Shape) -> str:
    """Return the scores [images, classes * boxes] of kept boxes, by rules that NonMaxSuppression does not have.

    Sizes may count pixels; the threshold may fall by a factor for each kept box, until it is a half; boxes
    may be given by class, and those of all images in a row.
    """
    images, count, length = shape
    if not count:
        return graph.node("Reshape", scores, graph.ints([images, 0]))
    values, places = graph.outputs(2, "TopK", scores, graph.ints([length]), axis=2)
    boxes = graph.node("Gather", op.inputs[0], graph.ints(classes), axis=0) if op.has(2) else op.inputs[0]
    numbers = (column.unsqueeze(0 if op.has(2) else 1) for column in overlaps.columns(tensor(graph, boxes), 4))
    spread = (node("Expand", number, number.of(shape, "int64")) for number in numbers)
    order = tensor(graph, places, "int64")
    corners = joined([node("GatherElements", corner, order, axis=2).unsqueeze(3) for corner in spread], 3)
    corners = with_shape(corners, images * count, length, 4)
    poor = tensor(graph, values) < op.real("score_threshold", 0)
    good = ~(poor | ~tensor(graph, suppression.is_there(graph, values), "bool"))
    candidates = with_shape(good, images * count, length)
    limits = _limits(op.real("iou_threshold", 0), op.real("nms_eta", 1), length)
    edge = 0.0 if op.flag("normalized", True) else 1.0
    measure, adapts = partial(_overlap, edge=edge), limits.size > 1
    selected = overlaps.greedily(corners, candidates, measure, constant(graph, limits), adapts=adapts)
    values = with_shape(selected, *shape).where(tensor(graph, values), suppression.NONE).value
    left = graph.node("ScatterElements", suppression.nothing(graph, shape), places, values, axis=2)
    return graph.node("Reshape", left, graph.ints([images, count * length]))


def _limits(overlap: float, eta: float, count: int) -> NDArray[np.float32]:
    """Return the largest allowed overlap by the number of boxes kept before, if that changes."""
    limits = [np.float32(overlap)]
    while 0 <= eta < 1 and len(limits) < count:
        limits.append(limits[-1] * np.float32(eta) if limits[-1] > 0.5 else limits[-1])
    # OpenVINO suppresses from the threshold on, NonMaxSuppression beyond it: each limit is the number below.
    return np.nextafter(np.array(limits, np.float32), np.float32(-1))


def _overlap(boxes: NodeTensor, *, edge: float) -> NodeTensor:
    """Return intersection over union of every two boxes; 0 if one has no area."""
    zero = boxes.of(0)
    firsts, lasts = overlaps.columns(boxes, 4)[:2], overlaps.columns(boxes, 4)[2:]
    sides = []
    for first, last in zip(firsts, lasts, strict=True):
        begin = NodeTensor.maximum(*overlaps.each_two(first))
        end = NodeTensor.minimum(*overlaps.each_two(last))
        sides.append(overlaps.sized(begin, end, edge).maximum(zero))
    shared = sides[0] * sides[1]
    return overlaps.shares(overlaps.areas(boxes, edge), shared)


def _matrix_nms(graph: Graph, op: Op) -> tuple[str, ...]:
    """Lower the score of each box by the better one that overlaps it most, less what that one is itself overlapped."""
    classes, scores, shape = _scores(graph, op)
    none, least = (constant(graph, number) for number in (suppression.NONE, op.real("score_threshold", 0)))
    scores = (tensor(graph, scores) > least).where(tensor(graph, scores), none).value
    most = op.integer("nms_top_k", -1)
    best = graph.ints([min(most, shape[2]) if most > -1 else shape[2]])
    values, places = graph.outputs(2, "TopK", scores, best, axis=2)
    corners = [
        node("GatherElements", _of_each_class(column, shape), tensor(graph, places), axis=2)
        for column in overlaps.columns(tensor(graph, op.inputs[0]), 4)
    ]
    lowered = tensor(graph, values) * _decays(op, corners, tensor(graph, best, "int64"))
    lowered = (lowered > op.real("post_threshold", 0)).where(lowered, none)
    left = graph.node("ScatterElements", suppression.nothing(graph, shape), places, lowered.value, axis=2)
    left = graph.node("Reshape", left, graph.ints([shape[0], shape[1] * shape[2]]))
    return _listed(graph, op, _best(graph, op, left, classes, shape), shape)


def _of_each_class(number: NodeTensor, shape: suppression.Shape) -> NodeTensor:
    classes = number.unsqueeze(1)
    return node("Expand", classes, classes.of(shape, "int64"))


def _decays(op: Op, corners: list[NodeTensor], count: NodeTensor) -> NodeTensor:
    """Return by how much each score is lowered: the least factor that any better box gives it."""
    edge = 0.0 if op.flag("normalized", True) else 1.0
    boxes = joined([corner.unsqueeze(-1) for corner in corners], -1)
    zero, one = boxes.of(0), boxes.of(1)
    turned = [last < first for first, last in zip(corners[:2], corners[2:], strict=True)]
    area = (turned[0] | turned[1]).where(zero, overlaps.areas(boxes, edge))
    place, better = overlaps.each_two(below(squeezed(count, 0)))
    is_better = better < place
    shared = is_better.where(overlaps.of_corners(boxes, area, edge), zero)
    most = reduction("ReduceMax", shared, -1, keep=False).unsqueeze(-2)
    factors = _DECAYS[op.word("decay_function", tuple(_DECAYS), "linear")](op, shared, most)
    return reduction("ReduceMin", is_better.where(factors, one), -1, keep=False).minimum(one)


def _linear(op: Op, shared: NodeTensor, most: NodeTensor) -> NodeTensor:
    one, tiny = (shared.of(number, "float64") for number in (1, np.float32(1e-10)))
    above, below_one = (one - overlap.cast("float64") for overlap in (shared, most))
    return (above / (below_one + tiny)).cast("float32")


def _gaussian(op: Op, shared: NodeTensor, most: NodeTensor) -> NodeTensor:
    squares = most * most, shared * shared
    sigma = shared.of(op.real("gaussian_sigma", 2))
    return node("Exp", (squares[0] - squares[1]) * sigma)


_DECAYS: dict[str, Callable[[Op, NodeTensor, NodeTensor], NodeTensor]] = {"linear": _linear, "gaussian": _gaussian}


def _scores(graph: Graph, op: Op) -> tuple[list[int], str, suppression.Shape]:
    """Return the classes other than the background, their scores, and the numbers of images, classes and boxes.

    Boxes of images in a row are boxes of each image, those of others without a score.
    """
    grouped = op.has(2)
    classes = [n for n in range(op.lengths(1)[0 if grouped else 1]) if n != op.integer("background_class", -1)]
    scores = graph.node("Gather", op.inputs[1], graph.ints(classes), axis=0 if grouped else 1)
    if not grouped:
        images, count = op.lengths(0, [0, 1])
        return classes, scores, (images, len(classes), count)
    (images,), count = op.lengths(2), op.lengths(1)[1]
    number = layer_inputs.int64(graph, op, 2)
    end = graph.node("CumSum", number, operators.scalar(graph, 0, "int64"))
    place = graph.constant(np.arange(count), np.int64)
    begins, ends = (operators.unsqueeze(graph, edge, [1, 2]) for edge in (graph.node("Sub", end, number), end))
    inside = graph.node("And", graph.node("Not", graph.node("Less", place, begins)), graph.node("Less", place, ends))
    none = operators.scalar(graph, suppression.NONE, "float32")
    return classes, graph.node("Where", inside, scores, none), (images, len(classes), count)


def _best(graph: Graph, op: Op, left: str, classes: list[int], shape: suppression.Shape) -> list[str]:
    """Return labels, scores and places of the best [images, kept] among [images, classes * boxes]."""
    most, of_all = op.integer("keep_top_k", -1), shape[1] * shape[2]
    values, places = graph.outputs(2, "TopK", left, graph.ints([min(most, of_all) if most > -1 else of_all]), axis=1)
    numbers = graph.node("Div", places, operators.scalar(graph, shape[2], "int64"))
    return [graph.node("Gather", graph.constant(classes, np.float32), numbers), values, places]


def _listed(graph: Graph, op: Op, listed: list[str], shape: suppression.Shape) -> tuple[str, ...]:
    """Return rows of class, score and corners, the places of the boxes among all, and how many each image has."""
    (labels, values, places), (images, _, count) = listed, shape
    is_there = suppression.is_there(graph, values)
    boxes = graph.node("Mod", places, operators.scalar(graph, count, "int64"))
    if not op.has(2):
        boxes = graph.node("Add", boxes, graph.constant(np.arange(images)[:, None] * count, np.int64))
    keep = graph.node("Reshape", is_there, graph.ints([-1]))
    flat = (graph.node("Reshape", x, graph.ints([-1])) for x in (labels, values, boxes))
    labels, values, boxes = _across(graph, op, [graph.node("Compress", x, keep, axis=0) for x in flat])
    rows, numbers = _of_classes(graph, op, labels, boxes) if op.has(2) else (boxes, boxes)
    corners = graph.node("Gather", graph.node("Reshape", op.inputs[0], graph.ints([-1, 4])), rows, axis=0)
    columns = (*(operators.unsqueeze(graph, x, [1]) for x in (labels, values)), corners)
    totals = operators.reduction(graph, "ReduceSum", operators.cast(graph, is_there, "int64"), [1], keep=False)
    places = operators.unsqueeze(graph, numbers, [1])
    counts = (operators.cast(graph, x, op.result_dtype(index)) for index, x in ((1, places), (2, totals)))
    return graph.node("Concat", *columns, axis=1), *counts


def _of_classes(graph: Graph, op: Op, labels: str, boxes: str) -> tuple[str, str]:
    """Return the places of each class' boxes among [classes, boxes], and their numbers in the output."""
    classes, count = (operators.scalar(graph, length, "int64") for length in op.lengths(1))
    label = operators.cast(graph, labels, "int64")
    rows = graph.node("Add", graph.node("Mul", label, count), boxes)
    return rows, graph.node("Add", graph.node("Mul", boxes, classes), label)


def _across(graph: Graph, op: Op, rows: list[str]) -> list[str]:
    """Sort the boxes of all images together if the layer does; equal ones stay in order."""
    sort = op.word("sort_result_type", _SORTS, "none")
    if not op.flag("sort_result_across_batch") or sort == "none":
        return rows
    key, largest = (rows[1], 1) if sort == "score" else (rows[0], 0)
    order = graph.outputs(2, "TopK", key, graph.node("Shape", key), axis=0, largest=largest)[1]
    return [graph.node("Gather", row, order, axis=0) for row in rows]


TABLE = {"MulticlassNms": _multiclass_nms, "MatrixNms": _matrix_nms}
