"""Proposal, between the stages of a detector: anchors moved, suppressed, and the best of each image listed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...onnx import operators
from ...onnx.graph import Graph
from ...onnx.onnx_primitives import NodeTensor, node
from ..layer import Op
from ..tensors import cut, joined, operand, reduction, squeezed, with_shape

_Reals = NDArray[np.float32]


def _anchors(op: Op, rows: int, columns: int) -> _Reals:
    """Return the corners of the anchors of every cell [rows * columns * anchors, 4].

    Boxes count the pixels at both ends, as in Caffe.
    """
    size, boxes = op.integer("base_size"), []
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


def _proposal(graph: Graph, op: Op) -> tuple[NodeTensor, ...]:
    if op.word("framework", ("", "tensorflow"), ""):
        raise op.refusal("its coordinates are in TensorFlow's order")
    images, _, rows, columns = op.lengths()
    if images != 1:
        raise op.refusal(f"it lists boxes of {images} images; only one image is written")
    anchors = _anchors(op, rows, columns)
    of_cell = len(anchors) // (rows * columns)
    info = with_shape(operand(graph, op, 2), -1)
    corners = _moved(op, anchors, _by_cell(operand(graph, op, 1), 4, 0, of_cell), info)
    scores = _by_cell(operand(graph, op), 1, of_cell, of_cell) * _is_large(op, corners, info)
    best = min(op.integer("pre_nms_topn"), len(anchors))
    values, places = graph.outputs(2, "TopK", scores.value, graph.ints([best]), axis=0)
    return _listed(op, corners.take(corners.like(places, "int64"), 0), scores.like(values), info)


def _half(x: NodeTensor, second: bool) -> NodeTensor:
    """Return the first or last two of four numbers on the last axis."""
    return cut(x, 2 * second, 2 + 2 * second, -1)


def _by_cell(x: NodeTensor, count: int, first: int, anchors: int) -> NodeTensor:
    """Return numbers of anchors [rows * columns * anchors, count] (one: without the last axis)."""
    x = cut(x, first, first + anchors, 1) if first else x
    return with_shape(x.transposed(0, 2, 3, 1), *([-1, count] if count > 1 else [-1]))


def _size(info: NodeTensor) -> NodeTensor:
    """Return width and height of the image."""
    return node("Gather", info, info.of([1, 0], "int64"))


def _limited(corners: NodeTensor, info: NodeTensor, edge: int) -> NodeTensor:
    """Move corners into the image, up to its last pixels or, with an edge of 0, up to its end."""
    most = _size(info) - edge
    return corners.minimum(joined([most, most], 0)).maximum(0)


def _moved(op: Op, anchors: _Reals, moves: NodeTensor, info: NodeTensor) -> NodeTensor:
    """Return corners: anchors, moved and scaled."""
    # Both ends of an anchor are pixels of it, so its size is one more than their distance.
    sizes = anchors[:, 2:] - anchors[:, :2] + 1
    centres, lengths = (moves.of(corners, "float32") for corners in (anchors[:, :2] + sizes * 0.5, sizes))
    shift = _half(moves, second=False) / op.real("box_coordinate_scale", 1)
    stretch = _half(moves, second=True) / op.real("box_size_scale", 1)
    centres = shift * lengths + centres
    halves = node("Exp", stretch) * lengths * 0.5
    corners = joined([centres - halves, centres + halves], 1)
    return _limited(corners, info, 1) if op.flag("clip_before_nms", True) else corners


def _is_large(op: Op, corners: NodeTensor, info: NodeTensor) -> NodeTensor:
    """Return 1 for a box that is large enough in both directions, else 0."""
    four = op.lengths(2)[-1] == 4
    least = node("Gather", info, info.of([3, 2] if four else [2, 2], "int64")) * op.real("min_size")
    sizes = _half(corners, second=True) - _half(corners, second=False)
    is_small = sizes + 1 < least
    return reduction("ReduceMin", (~is_small).cast("float32"), 1, keep=False)


def _listed(op: Op, corners: NodeTensor, scores: NodeTensor, info: NodeTensor) -> tuple[NodeTensor, ...]:
    """Return rows of image and corners, and scores: those kept by suppression, best first; see ``_filled``."""
    most = op.integer("post_nms_topn")
    # NonMaxSuppression measures areas as differences; the last pixel of a box is part of it.
    wide = joined([_half(corners, second=False), _half(corners, second=True) + 1], 1)
    boxes, values, limit = wide.unsqueeze(0), scores.unsqueeze(0, 1), scores.of([most], "int64")
    chosen = node("NonMaxSuppression", boxes, values, limit, scores.of([op.real("nms_thresh")]), dtype="int64")
    places = squeezed(cut(chosen, 2, 3, 1), 1)
    boxes, values = corners.take(places, 0), scores.take(places, 0)
    boxes = _limited(boxes, info, 0) if op.flag("clip_after_nms") else boxes
    if op.flag("normalize"):
        size = _size(info)
        boxes = boxes / joined([size, size], 0)
    rows = node("Pad", boxes, boxes.of([0, 1, 0, 0], "int64"))
    end = rows.of([[-1, 0, 0, 0, 0]])  # a mark behind the last
    listed = _filled(joined([rows, end], 0), most, 2), _filled(values, most, 1)
    return listed[: len(op.layer.outputs)]


def _filled(rows: NodeTensor, most: int, rank: int) -> NodeTensor:
    """Return the requested number of rows, padded with zeros."""
    longer = operators.padded(rows.ops.graph, rows.value, rank, 0, 0, most)
    return cut(rows.like(longer), 0, most, 0)


TABLE = {"Proposal": _proposal}
