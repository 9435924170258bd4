"""DetectionOutput, the end of SSD detectors: boxes decoded, suppressed, and the best of each image listed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...onnx import operators
from ...onnx.graph import Graph
from .. import layer_inputs
from ..layer import Op
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
    """A layer and its numbers: of images, of priors, and the classes that are no background."""

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
        """How many detections an image has at most."""
        most, each = self.op.integers("keep_top_k")[0], self.op.integer("top_k", -1)
        return most if most > 0 else (each if each > 0 else self.priors) * len(self.classes)

    def number(self, kind: str, x: str, y: float, dtype: str = "float32") -> str:
        """Add a node whose second operand is a number."""
        return self.graph.node(kind, x, operators.scalar(self.graph, y, dtype))

    def reshaped(self, x: str, *lengths: int) -> str:
        """Reshape."""
        return layer_inputs.reshaped(self.graph, self.op, x, lengths)

    def half(self, x: str, second: bool) -> str:
        """Return the first or last two of four numbers on the last axis."""
        return operators.cut(self.graph, x, [2 if second else 0], [4 if second else 2], [-1])

    def ordered(self, key: str, count: int) -> str:
        """Return the places of numbers from small to large; of equal ones the first come first."""
        return self.graph.outputs(2, "TopK", key, self.graph.ints([count]), axis=-1, largest=0)[1]


def _detection_output(graph: Graph, op: Op) -> str:
    detections = _read(graph, op)
    boxes, scores = _decoded(detections), _scores(detections)
    return _listed(detections, boxes, _suppressed(detections, boxes, scores))


def _read(graph: Graph, op: Op) -> _Detections:
    for name, (default, refused, reason) in _REFUSED.items():
        if op.flag(name, default) == refused:
            raise op.refusal(reason)
    if op.has(3):
        raise op.refusal("it refines the boxes of another detector")
    images, numbers = op.lengths(1)
    priors = op.lengths(2)[-1] // 4
    classes = [each for each in range(numbers // priors) if each != op.integer("background_label_id", 0)]
    return _Detections(graph=graph, op=op, images=images, priors=priors, classes=tuple(classes))


def _decoded(detections: _Detections) -> str:
    """Return corners: priors, moved and stretched by what was detected."""
    graph, op, count = detections.graph, detections.op, detections.priors
    code = op.word("code_type", [f"{_PREFIX}{code}".lower() for code in _CODES], f"{_PREFIX}CORNER".lower())
    batch, rows, _ = op.lengths(2)
    held = detections.reshaped(op.inputs[2], batch, rows, count, 4)
    priors = operators.squeeze(graph, operators.cut(graph, held, [0], [1], [1]), [1])
    moves = detections.reshaped(op.inputs[0], detections.images, count, 4)
    if not op.flag("variance_encoded_in_target"):
        variances = operators.squeeze(graph, operators.cut(graph, held, [1], [2], [1]), [1])
        moves = graph.node("Mul", moves, variances)
    boxes = _DECODERS[code.rsplit(".", 1)[1]](detections, priors, moves)
    return operators.clip(graph, boxes, 0, 1, "float32") if op.flag("clip_before_nms") else boxes


def _from_corners(detections: _Detections, priors: str, moves: str) -> str:
    return detections.graph.node("Add", priors, moves)


def _from_sized_corners(detections: _Detections, priors: str, moves: str) -> str:
    graph = detections.graph
    sizes = graph.node("Sub", detections.half(priors, second=True), detections.half(priors, second=False))
    return graph.node("Add", priors, graph.node("Mul", moves, graph.node("Concat", sizes, sizes, axis=-1)))


def _from_centres(detections: _Detections, priors: str, moves: str) -> str:
    graph = detections.graph
    first, last, place, stretch = (detections.half(x, second) for x in (priors, moves) for second in (False, True))
    sizes = graph.node("Sub", last, first)
    middles = detections.number("Mul", graph.node("Add", first, last), 0.5)
    centres = graph.node("Add", graph.node("Mul", place, sizes), middles)
    halves = detections.number("Mul", graph.node("Mul", graph.node("Exp", stretch), sizes), 0.5)
    return graph.node("Concat", graph.node("Sub", centres, halves), graph.node("Add", centres, halves), axis=-1)


_DECODERS = {"corner": _from_corners, "center_size": _from_centres, "corner_size": _from_sized_corners}


def _scores(detections: _Detections) -> str:
    """Return the scores [images, classes, priors], only the best of each class where ``top_k`` says so."""
    graph, op, best = detections.graph, detections.op, detections.op.integer("top_k", -1)
    of_all = detections.reshaped(op.inputs[1], detections.images, detections.priors, -1)
    scores = graph.node(
        "Gather", operators.transposed(graph, of_all, [0, 2, 1]), graph.ints(detections.classes), axis=1
    )
    return suppression.best_of_each(graph, scores, detections.shape, best)


def _suppressed(detections: _Detections, boxes: str, scores: str) -> str:
    limits = detections.op.real("nms_threshold"), detections.op.real("confidence_threshold", 0)
    return suppression.left(detections.graph, boxes, scores, detections.shape, *limits)


def _listed(detections: _Detections, boxes: str, scores: str) -> str:
    """List the best of each image by class and score: image, class, score, corners; and a mark behind the last."""
    graph, count, images = detections.graph, detections.kept, detections.images
    most = min(count, detections.priors * len(detections.classes))
    values, places = graph.outputs(2, "TopK", scores, graph.ints([most]), axis=1)
    labels = _labels(detections, places)
    order = detections.ordered(
        graph.node("Where", suppression.is_there(graph, values), labels, _last(detections)), most
    )
    values, places, labels = (graph.node("GatherElements", x, order, axis=1) for x in (values, places, labels))
    corners = _corners(detections, boxes, detections.number("Mod", places, detections.priors, "int64"), most)
    numbers = graph.constant(np.repeat(np.arange(images), most).reshape(images, most, 1), np.float32)
    columns = (numbers, *(operators.unsqueeze(graph, each, [2]) for each in (labels, values)), corners)
    rows = detections.reshaped(graph.node("Concat", *columns, axis=2), images * most, 7)
    return _marked(
        detections, rows, suppression.is_there(graph, detections.reshaped(values, images * most)), images * most
    )


def _last(detections: _Detections) -> str:
    return operators.scalar(detections.graph, max(detections.classes) + 1, "float32")


def _labels(detections: _Detections, places: str) -> str:
    index = detections.number("Div", places, detections.priors, "int64")
    return detections.graph.node("Gather", detections.graph.constant(detections.classes, np.float32), index)


def _corners(detections: _Detections, boxes: str, priors: str, count: int) -> str:
    graph = detections.graph
    wanted = graph.node("Expand", operators.unsqueeze(graph, priors, [2]), graph.ints([detections.images, count, 4]))
    corners = graph.node("GatherElements", boxes, wanted, axis=1)
    return operators.clip(graph, corners, 0, 1, "float32") if detections.op.flag("clip_after_nms") else corners


def _marked(detections: _Detections, rows: str, is_there: str, count: int) -> str:
    """Return rows with those that are there in front, an image of -1 behind them, and zeros elsewhere."""
    graph, length = detections.graph, detections.images * detections.kept
    flags = operators.cast(graph, is_there, "float32")
    order = detections.ordered(graph.node("Neg", flags), count)
    kept = graph.node("Where", operators.unsqueeze(graph, is_there, [1]), rows, operators.scalar(graph, 0, "float32"))
    kept = graph.node("Gather", kept, order, axis=0)
    if length > count:
        kept = graph.node("Pad", kept, graph.ints([0, 0, length - count, 0]))
    total = operators.reduction(graph, "ReduceSum", flags, [0])
    behind = graph.node("Equal", graph.constant(np.arange(length), np.float32), total)
    mark = graph.node("Mul", operators.unsqueeze(graph, operators.cast(graph, behind, "float32"), [1]), _mark(graph))
    return detections.reshaped(graph.node("Add", kept, mark), 1, 1, length, 7)


def _mark(graph: Graph) -> str:
    return graph.constant([[-1, 0, 0, 0, 0, 0, 0]], np.float32)


TABLE = {"DetectionOutput": _detection_output}
