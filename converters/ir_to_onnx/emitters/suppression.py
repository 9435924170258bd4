"""Suppression of boxes: overlaps, non-maximum suppression, and all classes of each image.

Boxes are kept one by one, or all classes and boxes stand in a tensor of known shape. Multiclass layers suppress boxes,
or weaken them, class by class, and list the best of each image.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ir_interp.shapes import Array

from ...onnx import operators
from ...onnx.onnx_graph import Graph
from ...onnx.operators import NodeTensor, node
from .. import layers
from ..layers import Op, below, constant, cut, joined, reduction, shape, squeezed, tensor, with_shape
from .control_flow import value_info

Measure = Callable[[NodeTensor], NodeTensor]
"""Adds the overlap of every two of boxes [..., boxes, numbers]: [..., boxes, boxes]."""


def box_columns(boxes: NodeTensor, count: int) -> tuple[NodeTensor, ...]:
    """Return each number of boxes [..., boxes, count] separately."""
    return tuple(squeezed(cut(boxes, index, index + 1, -1), -1) for index in range(count))


def each_two(number: NodeTensor) -> tuple[NodeTensor, NodeTensor]:
    """Return a number of each box [..., boxes] for the first and for the second of two, to be broadcast."""
    return number.unsqueeze(-1), number.unsqueeze(-2)


def sized(first: NodeTensor, last: NodeTensor, edge: float) -> NodeTensor:
    """Return the distance between two places, plus ``edge``."""
    length = last - first
    return length + edge if edge else length


def areas(boxes: NodeTensor, edge: float) -> NodeTensor:
    """Return the areas of boxes whose sizes are ``edge`` more than the difference of their corners."""
    x0, y0, x1, y1 = box_columns(boxes, 4)
    return sized(x0, x1, edge) * sized(y0, y1, edge)


def of_corners(boxes: NodeTensor, area: NodeTensor, edge: float) -> NodeTensor:
    """Return intersection over union of every two boxes, given their areas; 0 for two that do not touch."""
    firsts, lasts = box_columns(boxes, 4)[:2], box_columns(boxes, 4)[2:]
    sides, gaps = [], []
    for first, last in zip(firsts, lasts, strict=True):
        (begin, other), (end, its_end) = each_two(first), each_two(last)
        sides.append(sized(begin.maximum(other), end.minimum(its_end), edge))
        gaps += [begin > its_end, other > end]
    shared = sides[0] * sides[1]
    apart = shared == 0
    for gap in gaps:
        # Two negative sides would multiply to a positive area.
        apart = apart | gap
    first, second = each_two(area)
    return apart.where(0, shared / (first + second - shared))


def shares(area: NodeTensor, shared: NodeTensor) -> NodeTensor:
    """Return intersection over union of every two boxes, given areas and intersections; 0 if one has no area."""
    first, second = each_two(area)
    have_areas = (first > 0) & (second > 0)
    return have_areas.where(shared / (first + second - shared), 0)


def greedily(
    boxes: NodeTensor, candidates: NodeTensor, measure: Measure, limit: NodeTensor, *, adapts: bool = False
) -> NodeTensor:
    """Return which of the candidates are kept [groups, boxes], if each kept box suppresses all later ones.

    Boxes are [groups, boxes, numbers], best first; ``candidates`` marks those that take part. Groups are processed one
    by one, to save memory. In each, a box is kept if no kept box before it overlaps it by more than the
    limit; if that ``adapts``, there is one limit for each number of boxes kept before. Starting from all, this rule
    is applied until nothing changes: then it holds for the first box, hence for the second, and so on. Few rounds are
    needed, since only boxes that suppress one another in a chain need one each.
    """
    graph = boxes.ops.graph
    inner = graph.inner()
    group = tensor(inner, inner.fresh(f"{graph.layer}/boxes"))
    taking = tensor(inner, inner.fresh(f"{graph.layer}/candidates"), "bool")
    place, later = each_two(below(squeezed(cut(shape(group), 0, 1, 0), 0)))
    is_before, shared = place < later, measure(group)

    def hits(limit: NodeTensor) -> NodeTensor:
        return ((limit.like(shared.value) > limit) & limit.like(is_before.value, "bool")).cast("float32")

    fixed = None if adapts else hits(group.like(limit.value))
    left = _settled(lambda flags: flags.like(fixed.value, "float32") if fixed else hits(_limits(flags, limit)), taking)
    kind = "bool", (None,)
    body = inner.proto(
        f"{graph.layer}/group",
        [value_info(group.value, "float32", (None, None)), value_info(taking.value, *kind)],
        [value_info(left.value, *kind)],
    )
    # Scan runs one group after the other, so that only one matrix of overlaps is in memory.
    return node("Scan", boxes, candidates, dtype="bool", body=body, num_scan_inputs=2)


def _limits(selected: NodeTensor, table: NodeTensor) -> NodeTensor:
    """Return the limit for each box, by the number of kept boxes before it."""
    best = selected.of(0, "int64")
    number = node("CumSum", selected.cast("int32"), best, exclusive=1)
    return node("Gather", selected.like(table.value, "float32"), number)


def _settled(hits: Callable[[NodeTensor], NodeTensor], candidates: NodeTensor) -> NodeTensor:
    """Apply the rule to one group until nothing changes; ``hits`` marks who suppresses whom, given the kept boxes."""
    graph = candidates.ops.graph
    body, name = graph.inner(), graph.layer
    number, going, selected = (tensor(body, body.fresh(f"{name}/{end}"), "bool") for end in ("round", "going", "kept"))
    is_hit = selected.cast("float32") @ hits(selected) > 0
    left = selected.like(candidates.value) & ~is_hit
    changes = node("Xor", left, selected).cast("float32")
    again = reduction("ReduceSum", changes, 0, keep=False) > 0
    inputs = [
        value_info(number.value, "int64", ()),
        value_info(going.value, "bool", ()),
        value_info(selected.value, "bool", (None,)),
    ]
    outputs = [value_info(again.value, "bool", ()), value_info(left.value, "bool", (None,))]
    yes = candidates.of(True)
    rounds = body.proto(f"{name}/round", inputs, outputs)
    return candidates.like(graph.node("Loop", "", yes.value, candidates.value, body=rounds))


def first_of(selected: NodeTensor, most: int) -> NodeTensor:
    """Return only so many of the kept boxes in each group [groups, boxes]; all if ``most`` is negative."""
    if most < 0:
        return selected
    number = node("CumSum", selected.cast("int32"), selected.of(1, "int64"))
    return selected & ~(number > most)


def at_most(rows: NodeTensor, axis: int, most: int) -> NodeTensor:
    """Return the size of an axis known only at run time, or ``most`` if that is less, as a vector."""
    length = cut(shape(rows), axis, axis + 1, 0)
    limit = length.of([most])
    return (length < limit).where(length, limit)


NONE = -np.inf
"""The score of boxes that are not selected."""

Shape = tuple[int, int, int]
"""Numbers of images, classes and boxes."""


def best_of_each(graph: Graph, scores: str, shape: Shape, best: int) -> str:
    """Return the scores of only so many boxes of each class; of all if ``best`` is not positive."""
    if not 0 < best < shape[-1]:
        return scores
    values, places = graph.outputs(2, "TopK", scores, graph.ints([best]), axis=2)
    return graph.node("ScatterElements", none_selected(graph, shape), places, values, axis=2)


def kept_scores(graph: Graph, boxes: str, scores: str, shape: Shape, overlap: float, least: float) -> str:
    """Return the scores [images, classes * boxes] of boxes that overlap no better one of their class."""
    first, last = operators.split(graph, boxes, [2, 2], 2)
    boxes = graph.node("Concat", first, graph.node("Max", first, last), axis=2)  # ONNX would flip boxes
    limits = (graph.constant([limit], np.float32) for limit in (overlap, least))
    chosen = graph.node("NonMaxSuppression", boxes, scores, graph.ints([shape[-1]]), *limits)
    output = graph.node("ScatterND", none_selected(graph, shape), chosen, graph.node("GatherND", scores, chosen))
    return graph.node("Reshape", output, graph.ints([shape[0], shape[1] * shape[2]]))


def none_selected(graph: Graph, shape: Shape) -> str:
    """Return scores of which none is selected."""
    return graph.node("Expand", operators.scalar(graph, NONE, "float32"), graph.ints(shape))


def is_selected(graph: Graph, scores: str) -> str:
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
    limit = layers.int64(graph, op, 2) if op.has(2) else graph.ints([0])
    overlap = op.value(3) if op.has(3) else np.zeros(())
    if overlap is None:
        threshold = op.inputs[3]
    else:
        if np.all(overlap <= 0):  # all overlap by that: one of each class is kept
            limit = graph.node("Sign", limit)
        threshold = graph.constant(threshold_below(overlap).reshape(1), np.float32)
    least = op.inputs[4] if op.has(4) else ""
    return graph.node(
        "NonMaxSuppression", *op.inputs[:2], limit, threshold, least, center_point_box=1 if centred else None
    )


def threshold_below(overlap: Array) -> Array:
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


_SORTS = ("classid", "score", "none")


def _multiclass_nms(graph: Graph, op: Op) -> tuple[str, ...]:
    classes, scores, shape = _scores(graph, op)
    overlap, least = op.real("iou_threshold", 0), op.real("score_threshold", 0)
    best = op.integer("nms_top_k", -1)
    scores = best_of_each(graph, scores, shape, best if overlap > 0 else 1)  # all overlap by 0
    eta, normalized = op.real("nms_eta", 1), op.flag("normalized", True)
    if op.has(2) or 0 <= eta < 1 or not normalized:
        left = _left(graph, op, scores, classes, shape)
    else:
        limit = float(threshold_below(np.array(overlap)))
        left = kept_scores(graph, op.inputs[0], scores, shape, limit, least)
    listed = _best(graph, op, left, classes, shape)
    if op.word("sort_result_type", _SORTS, "none") == "classid":
        size = graph.node("Shape", listed[0])
        order = graph.outputs(2, "TopK", listed[0], operators.cut(graph, size, [1], [2], [0]), axis=1, largest=0)[1]
        listed = [graph.node("GatherElements", x, order, axis=1) for x in listed]
    return _listed(graph, op, listed, shape)


def _left(graph: Graph, op: Op, scores: str, classes: list[int], shape: Shape) -> str:
    """Return the scores [images, classes * boxes] of kept boxes, by rules that NonMaxSuppression does not have.

    Sizes may count pixels; the threshold may fall by a factor for each kept box, until it is a half; boxes
    may be given by class, and those of all images in a row.
    """
    images, count, length = shape
    if not count:
        return graph.node("Reshape", scores, graph.ints([images, 0]))
    values, places = graph.outputs(2, "TopK", scores, graph.ints([length]), axis=2)
    boxes = graph.node("Gather", op.inputs[0], graph.ints(classes), axis=0) if op.has(2) else op.inputs[0]
    numbers = (column.unsqueeze(0 if op.has(2) else 1) for column in box_columns(tensor(graph, boxes), 4))
    spread = (node("Expand", number, number.of(shape, "int64")) for number in numbers)
    order = tensor(graph, places, "int64")
    corners = joined([node("GatherElements", corner, order, axis=2).unsqueeze(3) for corner in spread], 3)
    corners = with_shape(corners, images * count, length, 4)
    poor = tensor(graph, values) < op.real("score_threshold", 0)
    good = ~(poor | ~tensor(graph, is_selected(graph, values), "bool"))
    candidates = with_shape(good, images * count, length)
    limits = _decaying_limits(op.real("iou_threshold", 0), op.real("nms_eta", 1), length)
    edge = 0.0 if op.flag("normalized", True) else 1.0
    measure, adapts = partial(_overlap, edge=edge), limits.size > 1
    selected = greedily(corners, candidates, measure, constant(graph, limits), adapts=adapts)
    values = with_shape(selected, *shape).where(tensor(graph, values), NONE).value
    left = graph.node("ScatterElements", none_selected(graph, shape), places, values, axis=2)
    return graph.node("Reshape", left, graph.ints([images, count * length]))


def _decaying_limits(overlap: float, eta: float, count: int) -> NDArray[np.float32]:
    """Return the largest allowed overlap by the number of boxes kept before, if that changes."""
    limits = [np.float32(overlap)]
    while 0 <= eta < 1 and len(limits) < count:
        limits.append(limits[-1] * np.float32(eta) if limits[-1] > 0.5 else limits[-1])
    # OpenVINO suppresses from the threshold on, NonMaxSuppression beyond it: each limit is the number below.
    return np.nextafter(np.array(limits, np.float32), np.float32(-1))


def _overlap(boxes: NodeTensor, *, edge: float) -> NodeTensor:
    """Return intersection over union of every two boxes; 0 if one has no area."""
    zero = boxes.of(0)
    firsts, lasts = box_columns(boxes, 4)[:2], box_columns(boxes, 4)[2:]
    sides = []
    for first, last in zip(firsts, lasts, strict=True):
        begin = NodeTensor.maximum(*each_two(first))
        end = NodeTensor.minimum(*each_two(last))
        sides.append(sized(begin, end, edge).maximum(zero))
    shared = sides[0] * sides[1]
    return shares(areas(boxes, edge), shared)


def _matrix_nms(graph: Graph, op: Op) -> tuple[str, ...]:
    """Lower the score of each box by the better one that overlaps it most, less what that one is itself overlapped."""
    classes, scores, shape = _scores(graph, op)
    none, least = (constant(graph, number) for number in (NONE, op.real("score_threshold", 0)))
    scores = (tensor(graph, scores) > least).where(tensor(graph, scores), none).value
    most = op.integer("nms_top_k", -1)
    best = graph.ints([min(most, shape[2]) if most > -1 else shape[2]])
    values, places = graph.outputs(2, "TopK", scores, best, axis=2)
    corners = [
        node("GatherElements", _of_each_class(column, shape), tensor(graph, places), axis=2)
        for column in box_columns(tensor(graph, op.inputs[0]), 4)
    ]
    lowered = tensor(graph, values) * _decays(op, corners, tensor(graph, best, "int64"))
    lowered = (lowered > op.real("post_threshold", 0)).where(lowered, none)
    left = graph.node("ScatterElements", none_selected(graph, shape), places, lowered.value, axis=2)
    left = graph.node("Reshape", left, graph.ints([shape[0], shape[1] * shape[2]]))
    return _listed(graph, op, _best(graph, op, left, classes, shape), shape)


def _of_each_class(number: NodeTensor, shape: Shape) -> NodeTensor:
    classes = number.unsqueeze(1)
    return node("Expand", classes, classes.of(shape, "int64"))


def _decays(op: Op, corners: list[NodeTensor], count: NodeTensor) -> NodeTensor:
    """Return by how much each score is lowered: the least factor that any better box gives it."""
    edge = 0.0 if op.flag("normalized", True) else 1.0
    boxes = joined([corner.unsqueeze(-1) for corner in corners], -1)
    zero, one = boxes.of(0), boxes.of(1)
    turned = [last < first for first, last in zip(corners[:2], corners[2:], strict=True)]
    area = (turned[0] | turned[1]).where(zero, areas(boxes, edge))
    place, better = each_two(below(squeezed(count, 0)))
    is_better = better < place
    shared = is_better.where(of_corners(boxes, area, edge), zero)
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


def _scores(graph: Graph, op: Op) -> tuple[list[int], str, Shape]:
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
    number = tensor(graph, layers.int64(graph, op, 2), "int64")
    end = node("CumSum", number, number.of(0))
    place = number.of(np.arange(count))
    begins, ends = (edge.unsqueeze(1, 2) for edge in (end - number, end))
    inside = ~(place < begins) & (place < ends)
    return classes, str(inside.where(tensor(graph, scores), NONE).value), (images, len(classes), count)


def _best(graph: Graph, op: Op, left: str, classes: list[int], shape: Shape) -> list[str]:
    """Return labels, scores and places of the best [images, kept] among [images, classes * boxes]."""
    most, of_all = op.integer("keep_top_k", -1), shape[1] * shape[2]
    values, places = graph.outputs(2, "TopK", left, graph.ints([min(most, of_all) if most > -1 else of_all]), axis=1)
    numbers = graph.node("Div", places, operators.scalar(graph, shape[2], "int64"))
    return [graph.node("Gather", graph.constant(classes, np.float32), numbers), values, places]


def _listed(graph: Graph, op: Op, listed: list[str], shape: Shape) -> tuple[str, ...]:
    """Return rows of class, score and corners, the places of the boxes among all, and how many each image has."""
    (labels, values, places), (images, _, count) = listed, shape
    is_there = is_selected(graph, values)
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
    classes, count = op.lengths(1)
    label, box = tensor(graph, labels).cast("int64"), tensor(graph, boxes, "int64")
    return str((label * count + box).value), str((box * classes + label).value)


def _across(graph: Graph, op: Op, rows: list[str]) -> list[str]:
    """Sort the boxes of all images together if the layer does; equal ones stay in order."""
    sort = op.word("sort_result_type", _SORTS, "none")
    if not op.flag("sort_result_across_batch") or sort == "none":
        return rows
    key, largest = (rows[1], 1) if sort == "score" else (rows[0], 0)
    order = graph.outputs(2, "TopK", key, graph.node("Shape", key), axis=0, largest=largest)[1]
    return [graph.node("Gather", row, order, axis=0) for row in rows]


TABLE = {
    "NonMaxSuppression": _non_max_suppression,
    "MulticlassNms": _multiclass_nms,
    "MatrixNms": _matrix_nms,
}
