"""DetectionOutput, the end of SSD detectors: boxes decoded, suppressed, and the best of each image listed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...onnx.graph import Graph
from ...onnx.onnx_primitives import NodeTensor, node
from .. import layer_inputs
from ..layer import Op
from ..tensors import cut, joined, reduction, squeezed, tensor
from . import suppression

_CODES = ("corner", "center_size", "corner_size")
_PREFIX = "caffe.PriorBoxParameter."
_REFUSED = {
    "decrease_label_id": (False, True, "it takes the best class of each prior only"),
    "normalized": (False, False, "its boxes are in pixels"),
    "share_location": (True, False, "every class has boxes of its own"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Detections:
    """A layer and its counts: of images, of priors, and the classes other than the background."""

    graph: Graph
    op: Op
    images: int
    priors: int
    classes: tuple[int, ...]

    @property
    def shape(self) -> suppression.Shape:
        """Numbers of images, classes and priors."""
        return self.images, len(self.classes), self.priors

    @property
    def kept(self) -> int:
        """The largest number of detections of an image."""
        most, of_class = self.op.integers("keep_top_k")[0], self.op.integer("top_k", -1)
        return most if most > 0 else (of_class if of_class > 0 else self.priors) * len(self.classes)

    def reshaped(self, x: NodeTensor, *lengths: int) -> NodeTensor:
        """Reshape; a constant is reshaped at once."""
        return x.like(layer_inputs.reshaped(self.graph, self.op, x.value, lengths))

    def ordered(self, key: NodeTensor, count: int) -> NodeTensor:
        """Return the indices that sort numbers in ascending order; equal ones stay in order."""
        names = self.graph.outputs(2, "TopK", key.value, self.graph.ints([count]), axis=-1, largest=0)
        return key.like(names[1], "int64")


def _half(x: NodeTensor, second: bool) -> NodeTensor:
    """Return the first or last two of four numbers on the last axis."""
    return cut(x, 2 * second, 2 + 2 * second, -1)


def _detection_output(graph: Graph, op: Op) -> NodeTensor:
    detections = _read(graph, op)
    boxes, scores = _decoded(detections), _scores(detections)
    limits = op.real("nms_threshold"), op.real("confidence_threshold", 0)
    left = suppression.left(graph, boxes.value, scores, detections.shape, *limits)
    return _listed(detections, boxes, tensor(graph, left))


def _read(graph: Graph, op: Op) -> _Detections:
    for name, (default, refused, reason) in _REFUSED.items():
        if op.flag(name, default) == refused:
            raise op.refusal(reason)
    if not op.integer("top_k", -1):
        raise op.refusal("its top_k is 0, which leaves nothing")
    if op.has(3):
        raise op.refusal("it refines the boxes of another detector")
    images, numbers = op.lengths(1)
    priors = op.lengths(2)[-1] // 4
    classes = [label for label in range(numbers // priors) if label != op.integer("background_label_id", 0)]
    return _Detections(graph=graph, op=op, images=images, priors=priors, classes=tuple(classes))


def _decoded(detections: _Detections) -> NodeTensor:
    """Return corners: priors, moved and scaled by the detections."""
    graph, op, count = detections.graph, detections.op, detections.priors
    code = op.word("code_type", [f"{_PREFIX}{code}".lower() for code in _CODES], f"{_PREFIX}CORNER".lower())
    batch, rows, _ = op.lengths(2)
    table = detections.reshaped(tensor(graph, op.inputs[2]), batch, rows, count, 4)
    priors = squeezed(cut(table, 0, 1, 1), 1)
    moves = detections.reshaped(tensor(graph, op.inputs[0]), detections.images, count, 4)
    if not op.flag("variance_encoded_in_target"):
        moves = moves * squeezed(cut(table, 1, 2, 1), 1)
    boxes = _DECODERS[code.rsplit(".", 1)[1]](priors, moves)
    return _within_image(boxes) if op.flag("clip_before_nms") else boxes


def _within_image(corners: NodeTensor) -> NodeTensor:
    return node("Clip", corners, corners.of(0), corners.of(1))


def _from_corners(priors: NodeTensor, moves: NodeTensor) -> NodeTensor:
    return priors + moves


def _from_sized_corners(priors: NodeTensor, moves: NodeTensor) -> NodeTensor:
    sizes = _half(priors, second=True) - _half(priors, second=False)
    return priors + moves * joined([sizes, sizes], -1)


def _from_centres(priors: NodeTensor, moves: NodeTensor) -> NodeTensor:
    first, last, place, stretch = (_half(x, second) for x in (priors, moves) for second in (False, True))
    sizes = last - first
    middles = (first + last) * 0.5
    centres = place * sizes + middles
    halves = node("Exp", stretch) * sizes * 0.5
    return joined([centres - halves, centres + halves], -1)


_DECODERS = {"corner": _from_corners, "center_size": _from_centres, "corner_size": _from_sized_corners}


def _scores(detections: _Detections) -> str:
    """Return the scores [images, classes, priors], only the best of each class if ``top_k`` is set."""
    graph, op = detections.graph, detections.op
    of_all = layer_inputs.reshaped(graph, op, op.inputs[1], [detections.images, detections.priors, -1])
    scores = tensor(graph, of_all).transposed(0, 2, 1).take(detections.classes, 1)
    return suppression.best_of_each(graph, scores.value, detections.shape, op.integer("top_k", -1))


def _listed(detections: _Detections, boxes: NodeTensor, scores: NodeTensor) -> NodeTensor:
    """List the best of each image by class and score: image, class, score, corners; and a mark behind the last."""
    graph, count, images = detections.graph, detections.kept, detections.images
    most = min(count, detections.priors * len(detections.classes))
    best = graph.outputs(2, "TopK", scores.value, graph.ints([most]), axis=1)
    values, places = scores.like(best[0]), scores.like(best[1], "int64")
    classes = places / detections.priors
    labels = node("Gather", values.of(detections.classes), classes)
    # Boxes come in order of score; sorting them by class, with the absent ones last, keeps that order in each class.
    order = detections.ordered(_is_there(values).where(labels, max(detections.classes) + 1), most)
    values, places, labels = (node("GatherElements", x, order, axis=1) for x in (values, places, labels))
    corners = _corners(detections, boxes, node("Mod", places, places.of(detections.priors)), most)
    numbers = values.of(np.repeat(np.arange(images), most).reshape(images, most, 1))
    columns = (numbers, *(column.unsqueeze(2) for column in (labels, values)), corners)
    rows = detections.reshaped(joined(columns, 2), images * most, 7)
    return _marked(detections, rows, _is_there(detections.reshaped(values, images * most)), images * most)


def _is_there(scores: NodeTensor) -> NodeTensor:
    return scores > suppression.NONE


def _corners(detections: _Detections, boxes: NodeTensor, priors: NodeTensor, count: int) -> NodeTensor:
    places = node("Expand", priors.unsqueeze(2), priors.of([detections.images, count, 4]))
    corners = node("GatherElements", boxes, places, axis=1)
    return _within_image(corners) if detections.op.flag("clip_after_nms") else corners


def _marked(detections: _Detections, rows: NodeTensor, is_there: NodeTensor, count: int) -> NodeTensor:
    """Return the valid rows in front, then rows of image -1, and zeros elsewhere."""
    length = detections.images * detections.kept
    flags = is_there.cast("float32")
    order = detections.ordered(-flags, count)
    listed = is_there.unsqueeze(1).where(rows, 0).take(order, 0)
    if length > count:  # keep_top_k may be larger than the number of boxes
        listed = node("Pad", listed, listed.of([0, 0, length - count, 0], "int64"))
    total = reduction("ReduceSum", flags, 0)
    is_behind = flags.of(np.arange(length)) == total
    mark = is_behind.cast("float32").unsqueeze(1) * [[-1, 0, 0, 0, 0, 0, 0]]
    return detections.reshaped(listed + mark, 1, 1, length, 7)


TABLE = {"DetectionOutput": _detection_output}
