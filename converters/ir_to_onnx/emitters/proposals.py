"""Proposal, between the stages of a detector: anchors moved, suppressed, and the best of each image listed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...onnx import operators
from ...onnx.graph import Graph
from ..layer import Op

_Reals = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Proposals:
    """A layer, and the graph in which it is written; its boxes count the pixels at both ends, as in Caffe."""

    graph: Graph
    op: Op

    def number(self, kind: str, x: str, y: float) -> str:
        """Add a node whose second operand is a number."""
        return self.graph.node(kind, x, operators.scalar(self.graph, y, "float32"))

    def two(self, x: str, second: bool) -> str:
        """Return the first or last two of four numbers on the last axis."""
        return operators.cut(self.graph, x, [2 * second], [2 + 2 * second], [-1])

    def anchors(self, rows: int, columns: int) -> _Reals:
        """Return the corners of the anchors of every cell [rows * columns * anchors, 4]."""
        op, size = self.op, self.op.integer("base_size")
        boxes = []
        for ratio in np.array(op.reals("ratio"), np.float32):
            width = _rounded(np.sqrt(size * size / ratio))
            for scale in op.reals("scale"):
                across, down = (0.5 * (length * scale - 1) for length in (width, _rounded(width * ratio)))
                centre = 0.5 * (size - 1)
                boxes.append([centre - across, centre - down, centre + across, centre + down])
        y, x = np.mgrid[:rows, :columns] * op.integer("feat_stride")
        cells = np.stack([x, y, x, y], axis=-1).reshape(rows * columns, 1, 4)
        corners: _Reals = (cells + np.array(boxes)).reshape(-1, 4).astype(np.float32)
        return corners


def _rounded(length: np.float32) -> np.float32:
    """Round, halves up."""
    return np.float32(np.floor(length + np.float32(0.5)))


def _proposal(graph: Graph, op: Op) -> tuple[str, ...]:
    if op.word("framework", ("", "tensorflow"), ""):
        raise op.refusal("its coordinates come in TensorFlow's order")
    images, _, rows, columns = op.lengths()
    if images != 1:
        raise op.refusal(f"it lists boxes of {images} images; only one image is written")
    of = _Proposals(graph=graph, op=op)
    anchors = of.anchors(rows, columns)
    each = len(anchors) // (rows * columns)
    info = graph.node("Reshape", op.inputs[2], graph.ints([-1]))
    corners = _moved(of, anchors, _by_cell(of, 1, 4, 0, each), info)
    scores = graph.node("Mul", _by_cell(of, 0, 1, each, each), _is_large(of, corners, info))
    best = min(op.integer("pre_nms_topn"), len(anchors))
    scores, places = graph.outputs(2, "TopK", scores, graph.ints([best]), axis=0)
    return _listed(of, graph.node("Gather", corners, places, axis=0), scores, info, best)


def _by_cell(of: _Proposals, index: int, count: int, first: int, anchors: int) -> str:
    """Return numbers of anchors [rows * columns * anchors, count] (one: without the last axis)."""
    graph, x = of.graph, of.op.inputs[index]
    x = operators.cut(graph, x, [first], [first + anchors], [1]) if first else x
    return graph.node(
        "Reshape", operators.transposed(graph, x, [0, 2, 3, 1]), graph.ints([-1, count] if count > 1 else [-1])
    )


def _size(of: _Proposals, info: str) -> str:
    """Return width and height of the image."""
    return of.graph.node("Gather", info, of.graph.ints([1, 0]))


def _limited(of: _Proposals, corners: str, info: str, edge: int) -> str:
    """Move corners into the image, up to its last pixels or, with an edge of 0, up to its end."""
    most = of.number("Sub", _size(of, info), edge)
    most = of.graph.node("Concat", most, most, axis=0)
    below = of.graph.node("Min", corners, most)
    return of.number("Max", below, 0)


def _moved(of: _Proposals, anchors: _Reals, moves: str, info: str) -> str:
    """Return corners: anchors, moved and stretched."""
    graph, op = of.graph, of.op
    sizes = anchors[:, 2:] - anchors[:, :2] + 1
    centres, lengths = (graph.constant(each, np.float32) for each in (anchors[:, :2] + sizes * 0.5, sizes))
    shift = of.number("Div", of.two(moves, second=False), op.real("box_coordinate_scale", 1))
    stretch = of.number("Div", of.two(moves, second=True), op.real("box_size_scale", 1))
    centres = graph.node("Add", graph.node("Mul", shift, lengths), centres)
    halves = of.number("Mul", graph.node("Mul", graph.node("Exp", stretch), lengths), 0.5)
    made = graph.node("Concat", graph.node("Sub", centres, halves), graph.node("Add", centres, halves), axis=1)
    return _limited(of, made, info, 1) if op.flag("clip_before_nms", True) else made


def _is_large(of: _Proposals, corners: str, info: str) -> str:
    """Return 1 for a box that is large enough in both directions, else 0."""
    graph, four = of.graph, of.op.lengths(2)[-1] == 4
    scales = graph.node("Gather", info, graph.ints([3, 2] if four else [2, 2]))
    least = of.number("Mul", scales, of.op.real("min_size"))
    sizes = graph.node("Sub", of.two(corners, second=True), of.two(corners, second=False))
    small = graph.node("Less", of.number("Add", sizes, 1), least)
    return operators.reduction(
        graph, "ReduceMin", operators.cast(graph, graph.node("Not", small), "float32"), [1], keep=False
    )


def _listed(of: _Proposals, corners: str, scores: str, info: str, count: int) -> tuple[str, ...]:
    """Return rows of image and corners, and scores: those that suppression leaves, best first; see ``_filled``."""
    graph, op, most = of.graph, of.op, of.op.integer("post_nms_topn")
    wide = graph.node(
        "Concat", of.two(corners, second=False), of.number("Add", of.two(corners, second=True), 1), axis=1
    )
    names = operators.unsqueeze(graph, wide, [0]), operators.unsqueeze(graph, scores, [0, 1]), graph.ints([most])
    chosen = graph.node("NonMaxSuppression", *names, graph.constant([op.real("nms_thresh")], np.float32))
    places = operators.squeeze(graph, operators.cut(graph, chosen, [2], [3], [1]), [1])
    boxes, values = (graph.node("Gather", x, places, axis=0) for x in (corners, scores))
    boxes = _limited(of, boxes, info, 0) if op.flag("clip_after_nms") else boxes
    if op.flag("normalize"):
        size = _size(of, info)
        boxes = graph.node("Div", boxes, graph.node("Concat", size, size, axis=0))
    rows = graph.node("Pad", boxes, graph.ints([0, 1, 0, 0]))
    end = graph.constant([[-1, 0, 0, 0, 0]], np.float32)  # a mark behind the last
    made = _filled(of, graph.node("Concat", rows, end, axis=0), most, 2), _filled(of, values, most, 1)
    return made[: len(op.layer.outputs)]


def _filled(of: _Proposals, rows: str, most: int, rank: int) -> str:
    """Return as many rows as are wanted, zeros where there are less."""
    longer = operators.padded(of.graph, rows, rank, 0, 0, most)
    return operators.cut(of.graph, longer, [0], [most], [0])


TABLE = {"Proposal": _proposal}
