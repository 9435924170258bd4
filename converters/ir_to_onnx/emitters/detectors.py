"""Layers of detectors with anchors: prior boxes, Proposal between the stages, DetectionOutput at the end.

Prior boxes are constants if the shapes of the feature map and the image are static. Proposal moves and suppresses
anchors; DetectionOutput decodes and suppresses boxes. Both list the best of each image.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...onnx import operators
from ...onnx.onnx_graph import Graph
from ...onnx.operators import NodeTensor, node
from .. import layers
from ..layers import Op, cut, joined, operand, reduction, squeezed, tensor, with_shape
from . import suppression

_Point = tuple[np.float32, np.float32]
_Reals = NDArray[np.float32]
_F32 = np.float32
_FIRST = np.array([True, True, False, False])  # of corners: limited from below, the others from above


def _prior_box(graph: Graph, op: Op) -> str:
    (rows, columns), (height, width) = _sizes(op)
    step, scaled = op.real("step", 0), op.flag("scale_all_sizes", True)
    smallest = _reals(op, "min_size")
    if not scaled:
        step = height / rows if step == -1 else step * height
        smallest = smallest * _F32(height)
    steps = (_F32(step), _F32(step)) if step else (_F32(width / columns), _F32(height / rows))
    centres = _centres(rows, columns, steps, 0.5 if step == 0 else op.real("offset"))
    boxes = [box for centre in centres for box in _boxes_at(op, centre, smallest, scaled)]
    image = np.array([width, height, width, height], _F32)
    # OpenVINO multiplies by the reciprocal here, and divides in PriorBoxClustered: last bits differ.
    ends = np.array([box for box, _ in boxes], _F32) * (1 / image)
    limited = np.array([flags for _, flags in boxes])[:, None]
    ends = np.where(limited & _FIRST, np.maximum(ends, 0), np.where(limited & ~_FIRST, np.minimum(ends, 1), ends))
    return _output(graph, op, (np.clip(ends, 0, 1) if op.flag("clip") else ends).astype(_F32))


def _sizes(op: Op) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return op.known_integers(0, "the size of its feature map is"), op.known_integers(1, "the size of its image is")


def _reals(op: Op, name: str) -> _Reals:
    return np.array(op.reals(name), _F32)


def _centres(rows: int, columns: int, steps: _Point, offset: float) -> Iterator[_Point]:
    for row in range(rows):
        for column in range(columns):
            yield (_F32(column) + _F32(offset)) * steps[0], (_F32(row) + _F32(offset)) * steps[1]


_Box = tuple[list[_F32], bool]


def _boxes_at(op: Op, centre: _Point, smallest: _Reals, scaled: bool) -> Iterator[_Box]:
    """Yield corners of the boxes around a point, and whether they are clipped to the image in any case."""
    yield from _fixed_boxes(op, centre)
    ratios, largest = _ratios(op), _reals(op, "max_size")
    for index, size in enumerate(smallest):
        yield _around(centre, size, size)
        square = [_around(centre, side, side) for side in np.sqrt(size * largest[index : index + 1])]
        others = (
            _stretched(centre, smallest[index if scaled else 0], ratios) if _has_ratios(scaled, index, smallest) else []
        )
        yield from [*square, *others] if op.flag("min_max_aspect_ratios_order", True) else [*others, *square]


def _has_ratios(scaled: bool, index: int, smallest: _Reals) -> bool:
    return scaled or index == len(smallest) - 1


def _stretched(centre: _Point, size: _F32, ratios: Sequence[_F32]) -> list[_Box]:
    return [_around(centre, size * np.sqrt(ratio), size / np.sqrt(ratio)) for ratio in ratios]


def _around(centre: _Point, width: _F32, height: _F32, limited: bool = False) -> _Box:
    (x, y), half = centre, _F32(0.5)
    return [x - width * half, y - height * half, x + width * half, y + height * half], limited


def _ratios(op: Op) -> list[_F32]:
    """Return the ratios other than 1, each once, and their inverses if requested."""
    ratios = [_F32(1)]
    for ratio in _reals(op, "aspect_ratio"):
        if all(abs(ratio - known) >= 1e-6 for known in ratios):  # as OpenVINO tells ratios apart
            ratios += [ratio, 1 / ratio] if op.flag("flip") else [ratio]
    return [known for known in ratios if abs(known - 1) >= 1e-6]


def _fixed_boxes(op: Op, centre: _Point) -> Iterator[_Box]:
    """Yield boxes of fixed sizes, a grid of them in the place of each."""
    fixed, densities = _reals(op, "fixed_ratio"), op.reals("density")
    for index, size in enumerate(_reals(op, "fixed_size")):
        square = [(_F32(int(size)), _F32(int(size)))] if densities and not fixed.size else []
        roots = np.sqrt(fixed if fixed.size else np.array(_ratios(op), _F32))
        for width, height in [*square, *((size * root, size / root) for root in roots)]:
            for place in _grid(centre, size, int(densities[index])):
                yield _around(place, width, height, limited=True)


def _grid(centre: _Point, size: _F32, count: int) -> Iterator[_Point]:
    """Yield the centres of a box's parts; OpenVINO rounds their distance down."""
    shift = int(size / count)
    corner = [place - int(size) // 2 + _F32(shift / 2) for place in centre]
    for row in range(count):
        for column in range(count):
            yield _F32(corner[0] + column * shift), _F32(corner[1] + row * shift)


def _prior_box_clustered(graph: Graph, op: Op) -> str:
    (rows, columns), (height, width) = _sizes(op)
    step = op.real("step", 0)
    steps = [_F32(op.real(name, 0) or step) for name in ("step_w", "step_h")]
    across, down = steps if any(steps) else (_F32(width / columns), _F32(height / rows))
    sizes = list(zip(_reals(op, "width"), _reals(op, "height"), strict=True))
    centres = _centres(rows, columns, (across, down), op.real("offset"))
    boxes = np.array([_around(centre, *size)[0] for centre in centres for size in sizes], _F32)
    boxes /= np.array([width, height, width, height], _F32)
    return _output(graph, op, np.clip(boxes, 0, 1) if op.flag("clip", True) else boxes)


def _output(graph: Graph, op: Op, boxes: _Reals) -> str:
    """Return the boxes, and a row of variances."""
    declared = op.result_shape()
    if declared is not None and declared[1] not in (None, boxes.size):
        raise op.refusal(f"its attributes call for {declared[1]} numbers and yield {boxes.size}")
    variances = np.array(op.reals("variance") or (0.1,), _F32)
    return graph.constant(np.stack([boxes.ravel(), np.resize(variances, boxes.size)]), name=op.layer.name)


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
    return _listed_regions(op, corners.take(corners.like(places, "int64"), 0), scores.like(values), info)


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


def _listed_regions(op: Op, corners: NodeTensor, scores: NodeTensor, info: NodeTensor) -> tuple[NodeTensor, ...]:
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
        return x.like(layers.reshaped(self.graph, self.op, x.value, lengths))

    def ordered(self, key: NodeTensor, count: int) -> NodeTensor:
        """Return the indices that sort numbers in ascending order; equal ones stay in order."""
        names = self.graph.outputs(2, "TopK", key.value, self.graph.ints([count]), axis=-1, largest=0)
        return key.like(names[1], "int64")


def _detection_output(graph: Graph, op: Op) -> NodeTensor:
    detections = _read(graph, op)
    boxes, scores = _decoded(detections), _scores(detections)
    limits = op.real("nms_threshold"), op.real("confidence_threshold", 0)
    left = suppression.kept_scores(graph, boxes.value, scores, detections.shape, *limits)
    return _listed_detections(detections, boxes, tensor(graph, left))


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
    of_all = layers.reshaped(graph, op, op.inputs[1], [detections.images, detections.priors, -1])
    scores = tensor(graph, of_all).transposed(0, 2, 1).take(detections.classes, 1)
    return suppression.best_of_each(graph, scores.value, detections.shape, op.integer("top_k", -1))


def _listed_detections(detections: _Detections, boxes: NodeTensor, scores: NodeTensor) -> NodeTensor:
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


TABLE = {
    "PriorBox": _prior_box,
    "PriorBoxClustered": _prior_box_clustered,
    "Proposal": _proposal,
    "DetectionOutput": _detection_output,
}
