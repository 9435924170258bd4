"""The stages of Detectron models that suppress boxes: proposals, and the detections in the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from ...onnx import operators
from ...onnx.graph import Graph
from .. import overlaps
from ..layer import Op

_LONGEST = float(np.log(1000 / 16))
"""The logarithm of how much longer a proposal is made at most."""


def _moved(graph: Graph, boxes: str, moves: Sequence[str], longest: float, edge: float) -> list[str]:
    """Return the corners of boxes [..., 4], moved and stretched."""
    x0, y0, x1, y1 = overlaps.columns(graph, boxes, 4)
    corners = []
    for first, last, shift, stretch in zip((x0, y0), (x1, y1), moves[:2], moves[2:], strict=True):
        length = overlaps.sized(graph, first, last, edge)
        half = operators.scalar(graph, 0.5, "float32")
        centre = graph.node("Add", first, graph.node("Mul", length, half))
        centre = graph.node("Add", graph.node("Mul", shift, length), centre)
        factor = graph.node("Exp", graph.node("Min", stretch, operators.scalar(graph, longest, "float32")))
        reach = graph.node("Mul", graph.node("Mul", factor, length), half)
        end = graph.node("Add", centre, reach)
        end = graph.node("Sub", end, operators.scalar(graph, edge, "float32")) if edge else end
        corners.append((graph.node("Sub", centre, reach), end))
    (x0, x1), (y0, y1) = corners
    return [x0, y0, x1, y1]


def _stacked(graph: Graph, numbers: Sequence[str]) -> str:
    return graph.node("Concat", *(operators.unsqueeze(graph, each, [-1]) for each in numbers), axis=-1)


def _overlap(graph: Graph, boxes: str, *, edge: float) -> str:
    return overlaps.of_corners(graph, boxes, overlaps.areas(graph, boxes, edge), edge)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Image:
    """What a layer says of its images [images, 1]: the last places in them, and the least lengths of a box.

    Lengths are ``edge`` more than the difference of corners. Boxes that are too small are left out, or else come last,
    with a score of 0, and OpenVINO measures how far boxes overlap without the edge.
    """

    last: tuple[str, str]
    least: tuple[str, str]
    edge: float
    drops_small: bool


def _proposals(graph: Graph, op: Op, anchors: str, moves: str, scores: str, image: _Image) -> tuple[str, str, str]:
    """Return boxes [images, boxes, 4] and scores [images, boxes], best first, and which of them are left.

    ``moves`` are [images, 4 * anchors, rows, columns], ``scores`` [images, anchors, rows, columns].
    """
    anchor = op.lengths(3, [-3])[0]
    by_cell = graph.node("Reshape", moves, graph.ints([0, anchor, 4, -1]))
    by_cell = graph.node("Reshape", operators.transposed(graph, by_cell, [0, 3, 1, 2]), graph.ints([0, -1, 4]))
    flat = operators.transposed(graph, graph.node("Reshape", scores, graph.ints([0, anchor, -1])), [0, 2, 1])
    flat = graph.node("Reshape", flat, graph.ints([0, -1]))
    corners = _inside(graph, image, _moved(graph, anchors, overlaps.columns(graph, by_cell, 4), _LONGEST, image.edge))
    large = graph.node("And", *(_is_large(graph, image, corners, axis) for axis in (0, 1)))
    zero = operators.scalar(graph, 0, "float32")
    flat = flat if image.drops_small else graph.node("Where", large, flat, zero)
    values, places = graph.outputs(
        2, "TopK", flat, overlaps.at_most(graph, flat, 1, op.integer("pre_nms_count")), axis=1
    )
    boxes = _stacked(graph, [graph.node("GatherElements", each, places, axis=1) for each in corners])
    limit = operators.scalar(graph, op.real("nms_threshold"), "float32")
    if image.drops_small:
        flags = graph.node("GatherElements", operators.cast(graph, large, "int32"), places, axis=1)
        candidates, edge = operators.cast(graph, flags, "bool"), image.edge
    else:
        candidates, edge = graph.node("Equal", values, values), 0.0  # all
    kept = overlaps.greedily(graph, boxes, candidates, partial(_overlap, edge=edge), limit)
    return boxes, values, overlaps.first_of(graph, kept, op.integer("post_nms_count"))


def _inside(graph: Graph, image: _Image, corners: Sequence[str]) -> list[str]:
    """Return corners moved into their images."""
    below = [graph.node("Min", each, last) for each, last in zip(corners, image.last * 2, strict=True)]
    return [graph.node("Max", each, operators.scalar(graph, 0, "float32")) for each in below]


def _is_large(graph: Graph, image: _Image, corners: Sequence[str], axis: int) -> str:
    length = overlaps.sized(graph, corners[axis], corners[axis + 2], image.edge)
    return graph.node("Not", graph.node("Less", length, image.least[axis]))


def _flat(graph: Graph, boxes: str, scores: str, kept: str) -> tuple[str, str]:
    """Return boxes and scores of what is kept, of all images in a row."""
    flags = graph.node("Reshape", kept, graph.ints([-1]))
    rows = (graph.node("Reshape", boxes, graph.ints([-1, 4])), graph.node("Reshape", scores, graph.ints([-1])))
    made, values = (graph.node("Compress", each, flags, axis=0) for each in rows)
    return made, values


def _generate_proposals(graph: Graph, op: Op) -> tuple[str, ...]:
    edge = 0.0 if op.flag("normalized", True) else 1.0
    info, numbers = op.inputs[0], op.lengths(0, [1])[0]
    places = 1, 0, (3 if numbers == 4 else 2), 2  # width, height, and what they are scaled by
    width, height, across, down = (operators.cut(graph, info, [each], [each + 1], [1]) for each in places)
    step, least = (operators.scalar(graph, each, "float32") for each in (edge, op.real("min_size")))
    last = tuple(graph.node("Sub", each, step) if edge else each for each in (width, height))
    smallest = tuple(graph.node("Mul", each, least) for each in (across, down))
    image = _Image(last=(last[0], last[1]), least=(smallest[0], smallest[1]), edge=edge, drops_small=True)
    anchors = graph.node("Reshape", op.inputs[1], graph.ints([-1, 4]))
    boxes, scores, kept = _proposals(graph, op, anchors, op.inputs[2], op.inputs[3], image)
    if op.real("nms_eta", 1) != 1:
        raise op.refusal("its threshold adapts")
    made, values = _flat(graph, boxes, scores, kept)
    kind = op.result_dtype(2)
    count = operators.reduced(graph, "ReduceSum", operators.cast(graph, kept, kind), [1], keep=False)
    return (made, values, count)[: len(op.layer.outputs)]


def _single_image(graph: Graph, op: Op) -> tuple[str, ...]:
    """Propose for one image: as many as may be, zeros behind those that there are."""
    sizes = (operators.cut(graph, op.inputs[0], [each], [each + 1], [0]) for each in (1, 0))
    width, height = (operators.unsqueeze(graph, each, [0]) for each in sizes)
    one, least = (operators.scalar(graph, each, "float32") for each in (1, op.real("min_size")))
    last = tuple(graph.node("Sub", each, one) for each in (width, height))
    moves, scores = (operators.unsqueeze(graph, op.inputs[each], [0]) for each in (2, 3))
    image = _Image(last=(last[0], last[1]), least=(least, least), edge=1.0, drops_small=False)
    boxes, scores, kept = _proposals(graph, op, op.inputs[1], moves, scores, image)
    made, values = _flat(graph, boxes, scores, kept)
    most = op.integer("post_nms_count")
    filled = (operators.padded(graph, each, rank, 0, 0, most) for each, rank in ((made, 2), (values, 1)))
    made, values = (operators.cut(graph, each, [0], [most], [0]) for each in filled)
    return made, values


def _detections(graph: Graph, op: Op) -> tuple[str, ...]:
    """Refine regions by class, suppress them in each, and list the best: zeros behind those that there are."""
    least, most = op.real("score_threshold"), op.integer("max_detections_per_image")
    if op.flag("class_agnostic_box_regression"):
        raise op.refusal("every class has the same boxes, which OpenVINO reads beyond their end")
    if least < 0:
        raise op.refusal("it lists regions without area, for its score_threshold is negative")
    boxes, scores, candidates = _by_class(graph, op, least)
    limit = operators.scalar(graph, op.real("nms_threshold"), "float32")
    kept = overlaps.greedily(graph, boxes, candidates, partial(_overlap, edge=1.0), limit)
    kept = overlaps.first_of(graph, kept, op.integer("post_nms_count"))
    return _listed(graph, op, boxes, scores, kept, most)


def _by_class(graph: Graph, op: Op, least: float) -> tuple[str, str, str]:
    """Return boxes [classes, regions, 4], scores [classes, regions], best first, and which are good enough."""
    classes = op.integer("num_classes")
    moves = graph.node("Reshape", op.inputs[1], graph.ints([-1, classes, 4]))
    moves = operators.cut(graph, operators.transposed(graph, moves, [1, 0, 2]), [1], [classes], [0])
    weights = graph.constant(op.reals("deltas_weights"), np.float32)
    shifts = overlaps.columns(graph, graph.node("Div", moves, weights), 4)
    zero = operators.scalar(graph, 0, "float32")
    corners = [
        graph.node("Max", each, zero) for each in _moved(graph, op.inputs[0], shifts, op.real("max_delta_log_wh"), 1.0)
    ]
    x0, y0, x1, y1 = overlaps.columns(graph, op.inputs[0], 4)
    has_area = graph.node("And", graph.node("Greater", x1, x0), graph.node("Greater", y1, y0))
    of_all = operators.cut(graph, operators.transposed(graph, op.inputs[2], [1, 0]), [1], [classes], [0])
    of_all = graph.node("Where", has_area, of_all, zero)
    count = operators.cut(graph, graph.node("Shape", of_all), [1], [2], [0])
    scores, places = graph.outputs(2, "TopK", of_all, count, axis=1)
    boxes = _stacked(graph, [graph.node("GatherElements", each, places, axis=1) for each in corners])
    return boxes, scores, graph.node("Greater", scores, operators.scalar(graph, least, "float32"))


def _listed(graph: Graph, op: Op, boxes: str, scores: str, kept: str, most: int) -> tuple[str, ...]:
    """List what is kept class by class; but where there is too much of it the best, whatever the class."""
    classes, ends = op.integer("num_classes"), graph.ints([-1])
    made, values = _flat(graph, boxes, scores, kept)
    labels = graph.constant(np.arange(1, classes)[:, None], np.int32)
    every = graph.node("Expand", labels, graph.node("Shape", scores))
    flags = graph.node("Reshape", kept, ends)
    labels = graph.node("Compress", graph.node("Reshape", every, ends), flags, axis=0)
    count = graph.node("Shape", values)
    zero, one = (operators.scalar(graph, each, "int64") for each in (0, 1))
    places = graph.node("Range", zero, operators.squeeze(graph, count, [0]), one)
    in_turn = graph.node("Neg", operators.cast(graph, places, "float32"))
    too_many = graph.node("Greater", count, graph.ints([most]))
    key = graph.node("Where", too_many, values, in_turn)
    order = graph.outputs(2, "TopK", key, overlaps.at_most(graph, key, 0, most), axis=0)[1]
    listed = []
    for rows, rank in ((made, 2), (labels, 1), (values, 1)):
        longer = operators.padded(graph, graph.node("Gather", rows, order, axis=0), rank, 0, 0, most)
        listed.append(operators.cut(graph, longer, [0], [most], [0]))
    return tuple(listed[: len(op.layer.outputs)])


TABLE = {
    "GenerateProposals": _generate_proposals,
    "ExperimentalDetectronGenerateProposalsSingleImage": _single_image,
    "ExperimentalDetectronDetectionOutput": _detections,
}
