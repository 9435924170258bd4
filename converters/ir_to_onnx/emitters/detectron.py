"""Layers of Detectron models: grids of priors, the best regions, features of regions from a pyramid.

Then the stages that suppress boxes: proposals, and the final detections.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from ...onnx import operators
from ...onnx.onnx_graph import Graph
from ...onnx.operators import NodeTensor, node
from ..layers import Op, cut, joined, operand, reduction, shape, squeezed, tensor, with_shape
from . import suppression

_CANONICAL = 224, 2  # the size of a region, and its level of the pyramid


def _prior_grid(graph: Graph, op: Op) -> str:
    """Place priors in the middle of every cell of a feature map."""
    shapes = op.lengths(1, [2, 3]), op.lengths(2, [2, 3])
    rows, columns = shapes[0]
    if (op.integer("h", 0) or rows, op.integer("w", 0) or columns) != shapes[0]:
        raise op.refusal("its grid differs in size from its feature map, and OpenVINO writes out of bounds")
    steps = (op.real(f"stride_{axis}", 0) for axis in "yx")
    down, across = (step or image / cell for step, image, cell in zip(steps, shapes[1], shapes[0], strict=True))
    y, x = (np.mgrid[:rows, :columns] + 0.5) * np.reshape([down, across], [2, 1, 1])
    places = graph.constant(np.stack([x, y, x, y], axis=-1)[:, :, None], np.float32)
    priors = graph.node("Add", op.inputs[0], places)
    return graph.node("Reshape", priors, graph.ints([-1, 4])) if op.flag("flatten", True) else priors


def _top_regions(graph: Graph, op: Op) -> str:
    count = min(op.integer("max_rois"), op.lengths(1)[0])
    return graph.node("Gather", op.inputs[0], graph.outputs(2, "TopK", op.inputs[1], graph.ints([count]))[1], axis=0)


def _features(graph: Graph, op: Op) -> tuple[str | NodeTensor, ...]:
    """Sample every level of a pyramid for every region, and take the level that suits its size."""
    op.until(21, graph.opset, "RoiAlign")
    aligned = op.flag("aligned")
    if aligned:
        op.needs(16, graph.opset, "aligned regions")  # RoiAlign shifts by half a pixel since then
    form = None if aligned or graph.opset < 16 else "output_half_pixel"
    count, size = graph.node("Shape", operators.cut(graph, op.inputs[0], [0], [1], [1])), op.integer("output_size")
    images = graph.node("Expand", operators.scalar(graph, 0, "int64"), operators.cut(graph, count, [0], [1], [0]))
    scales = op.integers("pyramid_scales")
    levels = [
        graph.node(
            "RoiAlign",
            name,
            _widened(graph, op, scale) if aligned else op.inputs[0],
            images,
            coordinate_transformation_mode=form,
            output_height=size,
            output_width=size,
            sampling_ratio=op.integer("sampling_ratio"),
            spatial_scale=1 / scale,
        )
        for name, scale in zip(op.inputs[1:], scales, strict=True)
    ]
    level, features = _level(graph, op), tensor(graph, levels[0])
    for number, deeper in enumerate(levels[1:]):
        is_deeper = level > number + 0.5
        features = is_deeper.unsqueeze(2, 3).where(tensor(graph, deeper), features)
    return features, graph.node("Identity", op.inputs[0])


def _widened(graph: Graph, op: Op, least: int) -> str:
    """Return regions at least one pixel of the level in size: RoiAlign ensures this only if it is not aligned."""
    first, sizes = _corner_and_sizes(graph, op)
    longer = sizes.maximum(least)
    return str(joined([first, first + longer], 1).value)


def _corner_and_sizes(graph: Graph, op: Op) -> tuple[NodeTensor, NodeTensor]:
    first, last = (cut(operand(graph, op), start, start + 2, 1) for start in (0, 2))
    return first, last - first


def _level(graph: Graph, op: Op) -> NodeTensor:
    """Return the level of every region [regions, 1]: one more for twice the size."""
    length, level = _CANONICAL
    _, sizes = _corner_and_sizes(graph, op)
    area = cut(sizes, 0, 1, 1) * cut(sizes, 1, 2, 1)
    ratio = node("Sqrt", area) / length
    # The summand is that of Detectron: it keeps the logarithm finite for a region without area.
    return (node("Log", ratio + 1e-6) / math.log(2) + level).floor()


_LONGEST = float(np.log(1000 / 16))
"""The logarithm of the largest factor by which a proposal may grow."""


def _moved(boxes: NodeTensor, moves: Sequence[NodeTensor], longest: float, edge: float) -> list[NodeTensor]:
    """Return the corners of boxes [..., 4], moved and scaled."""
    x0, y0, x1, y1 = suppression.box_columns(boxes, 4)
    corners = []
    for first, last, shift, stretch in zip((x0, y0), (x1, y1), moves[:2], moves[2:], strict=True):
        length = suppression.sized(first, last, edge)
        half = length.of(0.5)
        centre = first + length * half
        centre = shift * length + centre
        reach = node("Exp", stretch.minimum(longest)) * length * half
        end = centre + reach
        end = end - edge if edge else end
        corners.append((centre - reach, end))
    (x0, x1), (y0, y1) = corners
    return [x0, y0, x1, y1]


def _stacked(numbers: Sequence[NodeTensor]) -> NodeTensor:
    return joined([number.unsqueeze(-1) for number in numbers], -1)


def _overlap(boxes: NodeTensor, *, edge: float) -> NodeTensor:
    return suppression.of_corners(boxes, suppression.areas(boxes, edge), edge)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Image:
    """Limits of the images [images, 1]: their last places, and the smallest sizes of a box.

    Sizes are ``edge`` more than the difference of corners. Boxes that are too small are left out, or else come last,
    with a score of 0, and OpenVINO measures overlap without the edge.
    """

    last: tuple[NodeTensor, NodeTensor]
    least: tuple[NodeTensor, NodeTensor]
    edge: float
    drops_small: bool


Candidates = tuple[NodeTensor, NodeTensor, NodeTensor]
"""Boxes, best first, their scores, and a flag for each: whether it is kept, or takes part."""


def _proposals(op: Op, anchors: NodeTensor, moves: NodeTensor, scores: NodeTensor, image: _Image) -> Candidates:
    """Return boxes [images, boxes, 4] and scores [images, boxes], best first, and which of them are kept.

    ``moves`` are [images, 4 * anchors, rows, columns], ``scores`` [images, anchors, rows, columns].
    """
    anchor = op.lengths(3, [-3])[0]
    by_cell = with_shape(with_shape(moves, 0, anchor, 4, -1).transposed(0, 3, 1, 2), 0, -1, 4)
    flat = with_shape(with_shape(scores, 0, anchor, -1).transposed(0, 2, 1), 0, -1)
    corners = _inside(image, _moved(anchors, suppression.box_columns(by_cell, 4), _LONGEST, image.edge))
    large = _is_large(image, corners, 0) & _is_large(image, corners, 1)
    zero = flat.of(0)
    flat = flat if image.drops_small else large.where(flat, zero)
    values, places = _sorted(flat, suppression.at_most(flat, 1, op.integer("pre_nms_count")), 1)
    boxes = _stacked([node("GatherElements", corner, places, axis=1) for corner in corners])
    limit = boxes.of(op.real("nms_threshold"))
    if image.drops_small:
        candidates = node("GatherElements", large.cast("int32"), places, axis=1).cast("bool")
        edge = image.edge
    else:
        candidates, edge = values == values, 0.0  # all
    flags = suppression.greedily(boxes, candidates, partial(_overlap, edge=edge), limit)
    return boxes, values, suppression.first_of(flags, op.integer("post_nms_count"))


def _sorted(scores: NodeTensor, count: NodeTensor, axis: int) -> tuple[NodeTensor, NodeTensor]:
    """Return the best scores along an axis, and their places."""
    values, places = scores.ops.graph.outputs(2, "TopK", scores.value, count.value, axis=axis)
    return scores.like(values), scores.like(places, "int64")


def _inside(image: _Image, corners: Sequence[NodeTensor]) -> list[NodeTensor]:
    """Return corners moved into their images."""
    below = [corner.minimum(last) for corner, last in zip(corners, image.last * 2, strict=True)]
    return [corner.maximum(0) for corner in below]


def _is_large(image: _Image, corners: Sequence[NodeTensor], axis: int) -> NodeTensor:
    length = suppression.sized(corners[axis], corners[axis + 2], image.edge)
    return ~(length < image.least[axis])


def _flat(boxes: NodeTensor, scores: NodeTensor, chosen: NodeTensor) -> tuple[NodeTensor, NodeTensor]:
    """Return boxes and scores of the kept ones, of all images in a row."""
    flags = with_shape(chosen, -1)
    rows = with_shape(boxes, -1, 4), with_shape(scores, -1)
    return node("Compress", rows[0], flags, axis=0), node("Compress", rows[1], flags, axis=0)


def _filled(rows: NodeTensor, rank: int, most: int) -> NodeTensor:
    """Return the largest allowed number of rows, with zeros behind the actual ones."""
    longer = operators.padded(rows.ops.graph, rows.value, rank, 0, 0, most)
    return cut(rows.like(longer), 0, most, 0)


def _generate_proposals(graph: Graph, op: Op) -> tuple[NodeTensor, ...]:
    edge = 0.0 if op.flag("normalized", True) else 1.0
    info, numbers = tensor(graph, op.inputs[0]), op.lengths(0, [1])[0]
    places = 1, 0, (3 if numbers == 4 else 2), 2  # width, height, and their scales
    width, height, across, down = (cut(info, place, place + 1, 1) for place in places)
    step, least = info.of(edge), info.of(op.real("min_size"))
    last = (width - step, height - step) if edge else (width, height)
    image = _Image(last=last, least=(across * least, down * least), edge=edge, drops_small=True)
    anchors = with_shape(tensor(graph, op.inputs[1]), -1, 4)
    moves, scores = (tensor(graph, name) for name in op.inputs[2:4])
    boxes, scores, flags = _proposals(op, anchors, moves, scores, image)
    if op.real("nms_eta", 1) != 1:
        raise op.refusal("its threshold is adaptive")
    rows, values = _flat(boxes, scores, flags)
    count = reduction("ReduceSum", flags.cast(op.result_dtype(2)), 1, keep=False)
    return (rows, values, count)[: len(op.layer.outputs)]


def _single_image(graph: Graph, op: Op) -> tuple[NodeTensor, ...]:
    """Propose for one image: the largest allowed number, with zeros behind the actual ones."""
    info = tensor(graph, op.inputs[0])
    sizes = (cut(info, number, number + 1, 0) for number in (1, 0))
    width, height = (size.unsqueeze(0) for size in sizes)
    one, least = info.of(1), info.of(op.real("min_size"))
    last = width - one, height - one
    moves, scores = (tensor(graph, op.inputs[number]).unsqueeze(0) for number in (2, 3))
    image = _Image(last=last, least=(least, least), edge=1.0, drops_small=False)
    boxes, scores, flags = _proposals(op, tensor(graph, op.inputs[1]), moves, scores, image)
    rows, values = _flat(boxes, scores, flags)
    most = op.integer("post_nms_count")
    return _filled(rows, 2, most), _filled(values, 1, most)


def _detections(graph: Graph, op: Op) -> tuple[NodeTensor, ...]:
    """Refine regions by class, suppress them in each, and list the best, with zeros behind the actual ones."""
    least, most = op.real("score_threshold"), op.integer("max_detections_per_image")
    if op.flag("class_agnostic_box_regression"):
        raise op.refusal("all classes share boxes, which OpenVINO reads out of bounds")
    if least < 0:
        raise op.refusal("its negative score_threshold lists regions without area")
    boxes, scores, candidates = _by_class(graph, op, least)
    limit = boxes.of(op.real("nms_threshold"))
    flags = suppression.greedily(boxes, candidates, partial(_overlap, edge=1.0), limit)
    flags = suppression.first_of(flags, op.integer("post_nms_count"))
    return _listed(op, boxes, scores, flags, most)


def _by_class(graph: Graph, op: Op, least: float) -> Candidates:
    """Return boxes [classes, regions, 4], scores [classes, regions], best first, and which are good enough."""
    classes = op.integer("num_classes")
    regions, moves, scores = (tensor(graph, name) for name in op.inputs[:3])
    moves = cut(with_shape(moves, -1, classes, 4).transposed(1, 0, 2), 1, classes, 0)
    shifts = suppression.box_columns(moves / op.reals("deltas_weights"), 4)
    zero = moves.of(0)
    corners = [corner.maximum(zero) for corner in _moved(regions, shifts, op.real("max_delta_log_wh"), 1.0)]
    # A region without area has no candidates in any class.
    x0, y0, x1, y1 = suppression.box_columns(regions, 4)
    has_area = (x1 > x0) & (y1 > y0)
    of_all = has_area.where(cut(scores.transposed(1, 0), 1, classes, 0), zero)
    scores, places = _sorted(of_all, cut(shape(of_all), 1, 2, 0), 1)
    boxes = _stacked([node("GatherElements", corner, places, axis=1) for corner in corners])
    return boxes, scores, scores > least


def _listed(op: Op, boxes: NodeTensor, scores: NodeTensor, selected: NodeTensor, most: int) -> tuple[NodeTensor, ...]:
    """List the kept boxes class by class; if there are too many, the best of all classes."""
    ends = scores.of([-1], "int64")
    rows, values = _flat(boxes, scores, selected)
    labels = scores.of(np.arange(1, op.integer("num_classes"))[:, None], "int32")
    every = node("Expand", labels, shape(scores))
    flags = node("Reshape", selected, ends)
    labels = node("Compress", node("Reshape", every, ends), flags, axis=0)
    count = shape(values)
    zero, one = count.of(0), count.of(1)
    places = node("Range", zero, squeezed(count, 0), one)
    in_turn = -places.cast("float32")
    # The key of TopK is the score if boxes must go, and their turn otherwise, so that one node serves both.
    key = (count > [most]).where(values, in_turn)
    order = _sorted(key, suppression.at_most(key, 0, most), 0)[1]
    columns = (rows, 2), (labels, 1), (values, 1)
    listed = [_filled(node("Gather", column, order, axis=0), rank, most) for column, rank in columns]
    return tuple(listed[: len(op.layer.outputs)])


TABLE = {
    "ExperimentalDetectronPriorGridGenerator": _prior_grid,
    "ExperimentalDetectronTopKROIs": _top_regions,
    "ExperimentalDetectronROIFeatureExtractor": _features,
    "GenerateProposals": _generate_proposals,
    "ExperimentalDetectronGenerateProposalsSingleImage": _single_image,
    "ExperimentalDetectronDetectionOutput": _detections,
}
