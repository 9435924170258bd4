"""Boxes of all classes suppressed, or made less likely, class by class, and the best of each image listed."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ...onnx import operators
from ...onnx.graph import Graph
from .. import layer_inputs, overlaps
from ..layer import Op
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
    found = _best(graph, op, left, classes, shape)
    if op.word("sort_result_type", _SORTS, "none") == "classid":
        kept = graph.node("Shape", found[0])
        order = graph.outputs(2, "TopK", found[0], operators.cut(graph, kept, [1], [2], [0]), axis=1, largest=0)[1]
        found = [graph.node("GatherElements", x, order, axis=1) for x in found]
    return _listed(graph, op, found, shape)


def _left(graph: Graph, op: Op, scores: str, classes: list[int], shape: suppression.Shape) -> str:
    """Return the scores [images, classes * boxes] of what overlaps nothing better, as no NonMaxSuppression says it.

    Lengths may count pixels; the threshold may fall by a factor for each box that is left, until it is a half; boxes
    may come by class, and those of all images in a row.
    """
    images, count, length = shape
    if not count:
        return graph.node("Reshape", scores, graph.ints([images, 0]))
    values, places = graph.outputs(2, "TopK", scores, graph.ints([length]), axis=2)
    boxes = graph.node("Gather", op.inputs[0], graph.ints(classes), axis=0) if op.has(2) else op.inputs[0]
    numbers = (operators.unsqueeze(graph, each, [0 if op.has(2) else 1]) for each in overlaps.columns(graph, boxes, 4))
    spread = (graph.node("Expand", each, graph.ints(shape)) for each in numbers)
    sorted_ = (graph.node("GatherElements", each, places, axis=2) for each in spread)
    corners = graph.node("Concat", *(operators.unsqueeze(graph, each, [3]) for each in sorted_), axis=3)
    corners = graph.node("Reshape", corners, graph.ints([images * count, length, 4]))
    poor = graph.node("Less", values, operators.scalar(graph, op.real("score_threshold", 0), "float32"))
    good = graph.node("Not", graph.node("Or", poor, graph.node("Not", suppression.is_there(graph, values))))
    candidates = graph.node("Reshape", good, graph.ints([images * count, length]))
    limits = _limits(op.real("iou_threshold", 0), op.real("nms_eta", 1), length)
    edge = 0.0 if op.flag("normalized", True) else 1.0
    measure, adapts = partial(_overlap, edge=edge), limits.size > 1
    kept = overlaps.greedily(graph, corners, candidates, measure, graph.constant(limits), adapts=adapts)
    kept = graph.node("Reshape", kept, graph.ints(shape))
    values = graph.node("Where", kept, values, operators.scalar(graph, suppression.NONE, "float32"))
    left = graph.node("ScatterElements", suppression.nothing(graph, shape), places, values, axis=2)
    return graph.node("Reshape", left, graph.ints([images, count * length]))


def _limits(overlap: float, eta: float, count: int) -> NDArray[np.float32]:
    """Return by how much boxes may overlap at most, for each number of those left before, where that changes."""
    found = [np.float32(overlap)]
    while 0 <= eta < 1 and len(found) < count:
        found.append(found[-1] * np.float32(eta) if found[-1] > 0.5 else found[-1])
    return np.nextafter(np.array(found, np.float32), np.float32(-1))


def _overlap(graph: Graph, boxes: str, *, edge: float) -> str:
    """Return intersection over union of every two boxes; 0 where one has no area."""
    zero = operators.scalar(graph, 0, "float32")
    firsts, lasts = overlaps.columns(graph, boxes, 4)[:2], overlaps.columns(graph, boxes, 4)[2:]
    sides = []
    for first, last in zip(firsts, lasts, strict=True):
        begin, end = (graph.node(kind, *overlaps.each_two(graph, x)) for kind, x in (("Max", first), ("Min", last)))
        sides.append(graph.node("Max", overlaps.sized(graph, begin, end, edge), zero))
    shared = graph.node("Mul", *sides)
    area, other = overlaps.each_two(graph, overlaps.areas(graph, boxes, edge))
    whole = graph.node("And", *(graph.node("Greater", each, zero) for each in (area, other)))
    both = graph.node("Sub", graph.node("Add", area, other), shared)
    return graph.node("Where", whole, graph.node("Div", shared, both), zero)


def _matrix_nms(graph: Graph, op: Op) -> tuple[str, ...]:
    """Lower the score of each box by the better one that overlaps it most, as far as that itself is not overlapped."""
    classes, scores, shape = _scores(graph, op)
    none = operators.scalar(graph, suppression.NONE, "float32")
    least = operators.scalar(graph, op.real("score_threshold", 0), "float32")
    scores = graph.node("Where", graph.node("Greater", scores, least), scores, none)
    most = op.integer("nms_top_k", -1)
    best = graph.ints([min(most, shape[2]) if most > -1 else shape[2]])
    values, places = graph.outputs(2, "TopK", scores, best, axis=2)
    corners = [
        graph.node("GatherElements", _of_each_class(graph, each, shape), places, axis=2)
        for each in overlaps.columns(graph, op.inputs[0], 4)
    ]
    values = graph.node("Mul", values, _decays(graph, op, corners, best))
    good = graph.node("Greater", values, operators.scalar(graph, op.real("post_threshold", 0), "float32"))
    values = graph.node("Where", good, values, none)
    left = graph.node("ScatterElements", suppression.nothing(graph, shape), places, values, axis=2)
    left = graph.node("Reshape", left, graph.ints([shape[0], shape[1] * shape[2]]))
    return _listed(graph, op, _best(graph, op, left, classes, shape), shape)


def _of_each_class(graph: Graph, number: str, shape: suppression.Shape) -> str:
    return graph.node("Expand", operators.unsqueeze(graph, number, [1]), graph.ints(shape))


def _decays(graph: Graph, op: Op, corners: list[str], count: str) -> str:
    """Return by how much each score is lowered: the least factor that any better box gives it."""
    edge = 0.0 if op.flag("normalized", True) else 1.0
    boxes = graph.node("Concat", *(operators.unsqueeze(graph, each, [-1]) for each in corners), axis=-1)
    zero, one = (operators.scalar(graph, each, "float32") for each in (0, 1))
    turned = (graph.node("Less", last, first) for first, last in zip(corners[:2], corners[2:], strict=True))
    area = graph.node("Where", graph.node("Or", *turned), zero, overlaps.areas(graph, boxes, edge))
    place, better = overlaps.each_two(graph, _range(graph, operators.squeeze(graph, count, [0])))
    is_better = graph.node("Less", better, place)
    shared = graph.node("Where", is_better, overlaps.of_corners(graph, boxes, area, edge), zero)
    most = operators.unsqueeze(graph, operators.reduced(graph, "ReduceMax", shared, [-1], keep=False), [-2])
    kind = op.word("decay_function", tuple(_DECAYS), "linear")
    factors = _DECAYS[kind](graph, op, shared, most)
    factors = graph.node("Where", is_better, factors, one)
    return graph.node("Min", operators.reduced(graph, "ReduceMin", factors, [-1], keep=False), one)


def _range(graph: Graph, count: str) -> str:
    zero, one = (operators.scalar(graph, each, "int64") for each in (0, 1))
    return graph.node("Range", zero, count, one)


def _linear(graph: Graph, op: Op, shared: str, most: str) -> str:
    one, tiny = (operators.scalar(graph, each, "float64") for each in (1, np.float32(1e-10)))
    above, below = (graph.node("Sub", one, operators.cast(graph, each, "float64")) for each in (shared, most))
    return operators.cast(graph, graph.node("Div", above, graph.node("Add", below, tiny)), "float32")


def _gaussian(graph: Graph, op: Op, shared: str, most: str) -> str:
    squares = (graph.node("Mul", each, each) for each in (most, shared))
    sigma = operators.scalar(graph, op.real("gaussian_sigma", 2), "float32")
    return graph.node("Exp", graph.node("Mul", graph.node("Sub", *squares), sigma))


_DECAYS: dict[str, Callable[[Graph, Op, str, str], str]] = {"linear": _linear, "gaussian": _gaussian}


def _scores(graph: Graph, op: Op) -> tuple[list[int], str, suppression.Shape]:
    """Return the classes that are no background, their scores, and the numbers of images, classes and boxes.

    Boxes of images in a row are boxes of each image, those of others without a score.
    """
    grouped = op.has(2)
    classes = [each for each in range(op.lengths(1)[0 if grouped else 1]) if each != op.integer("background_class", -1)]
    scores = graph.node("Gather", op.inputs[1], graph.ints(classes), axis=0 if grouped else 1)
    if not grouped:
        images, count = op.lengths(0, [0, 1])
        return classes, scores, (images, len(classes), count)
    (images,), count = op.lengths(2), op.lengths(1)[1]
    number = layer_inputs.int64(graph, op, 2)
    end = graph.node("CumSum", number, operators.scalar(graph, 0, "int64"))
    place = graph.constant(np.arange(count), np.int64)
    begins, ends = (operators.unsqueeze(graph, each, [1, 2]) for each in (graph.node("Sub", end, number), end))
    inside = graph.node("And", graph.node("Not", graph.node("Less", place, begins)), graph.node("Less", place, ends))
    none = operators.scalar(graph, suppression.NONE, "float32")
    return classes, graph.node("Where", inside, scores, none), (images, len(classes), count)


def _best(graph: Graph, op: Op, left: str, classes: list[int], shape: suppression.Shape) -> list[str]:
    """Return labels, scores and places of the best [images, kept] among [images, classes * boxes]."""
    most, of_all = op.integer("keep_top_k", -1), shape[1] * shape[2]
    values, places = graph.outputs(2, "TopK", left, graph.ints([min(most, of_all) if most > -1 else of_all]), axis=1)
    numbers = graph.node("Div", places, operators.scalar(graph, shape[2], "int64"))
    return [graph.node("Gather", graph.constant(classes, np.float32), numbers), values, places]


def _listed(graph: Graph, op: Op, found: list[str], shape: suppression.Shape) -> tuple[str, ...]:
    """Return rows of class, score and corners, the places of the boxes among all, and how many each image has."""
    (labels, values, places), (images, _, count) = found, shape
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
    totals = operators.reduced(graph, "ReduceSum", operators.cast(graph, is_there, "int64"), [1], keep=False)
    places = operators.unsqueeze(graph, numbers, [1])
    counts = (operators.cast(graph, x, op.result_dtype(index)) for index, x in ((1, places), (2, totals)))
    return graph.node("Concat", *columns, axis=1), *counts


def _of_classes(graph: Graph, op: Op, labels: str, boxes: str) -> tuple[str, str]:
    """Return where boxes of each class stand among [classes, boxes], and the numbers that they have in the output."""
    classes, count = (operators.scalar(graph, each, "int64") for each in op.lengths(1))
    label = operators.cast(graph, labels, "int64")
    rows = graph.node("Add", graph.node("Mul", label, count), boxes)
    return rows, graph.node("Add", graph.node("Mul", boxes, classes), label)


def _across(graph: Graph, op: Op, rows: list[str]) -> list[str]:
    """Sort what was found in all images together where the layer does; equal ones stay in turn."""
    sort = op.word("sort_result_type", _SORTS, "none")
    if not op.flag("sort_result_across_batch") or sort == "none":
        return rows
    key, largest = (rows[1], 1) if sort == "score" else (rows[0], 0)
    order = graph.outputs(2, "TopK", key, graph.node("Shape", key), axis=0, largest=largest)[1]
    return [graph.node("Gather", each, order, axis=0) for each in rows]


TABLE = {"MulticlassNms": _multiclass_nms, "MatrixNms": _matrix_nms}
