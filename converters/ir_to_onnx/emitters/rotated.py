"""Layers of rotated boxes: [x, y, width, height, angle], where x and y are centres."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from ...onnx import operators
from ...onnx.graph import Graph
from ...onnx.onnx_primitives import NodeTensor, node
from .. import layer_inputs, overlaps, sampling
from ..layer import Op
from ..tensors import joined, reduction, shape, squeezed, tensor, with_shape

# In the order around the box, so that the end of an edge is the start of the next; in sides of the box.
_CORNERS = ((-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5))


def _nms_rotated(graph: Graph, op: Op) -> tuple[str, ...]:
    """List image, class and box of those without a better overlapping box of their class."""
    (images, count), (classes,) = op.lengths(0, [0, 1]), op.lengths(1, [1])
    (most,) = op.known_integers(2, "the number of boxes of a class is")
    groups = images * classes
    scores = graph.node("Reshape", op.inputs[1], graph.ints([groups, count]))
    values, places = graph.outputs(2, "TopK", scores, graph.ints([count]), axis=1)
    group = graph.constant(np.arange(groups)[:, None].repeat(count, 1), np.int64)
    image = graph.constant(np.arange(groups)[:, None].repeat(count, 1) // classes, np.int64)
    rows = graph.node("Concat", *(operators.unsqueeze(graph, column, [2]) for column in (image, places)), axis=2)
    boxes = graph.node("GatherND", op.inputs[0], rows)
    limit, least = (graph.node("Reshape", op.inputs[index], graph.ints([1])) for index in (3, 4))
    candidates = tensor(graph, values) > tensor(graph, least)
    overlap = partial(_overlap, clockwise=op.flag("clockwise", True))
    suppressed = overlaps.greedily(tensor(graph, boxes), candidates, overlap, tensor(graph, limit))
    selected = overlaps.first_of(suppressed, most).value
    flat = (graph.node("Reshape", column, graph.ints([-1])) for column in (selected, group, places, values))
    flags, *columns = flat
    number, box, score = (graph.node("Compress", column, flags, axis=0) for column in columns)
    total = graph.node("Shape", score)
    if op.flag("sort_result_descending", True):
        score, order = graph.outputs(2, "TopK", score, total, axis=0)
        number, box = (graph.node("Gather", column, order, axis=0) for column in (number, box))
    whole = operators.scalar(graph, classes, "int64")
    parts = [graph.node("Div", number, whole), graph.node("Mod", number, whole), box]
    parts = [operators.unsqueeze(graph, part, [1]) for part in parts]
    indices = operators.cast(graph, graph.node("Concat", *parts, axis=1), op.result_dtype(0))
    reals = [operators.cast(graph, part, "float32") for part in parts[:2]]
    listed = graph.node("Concat", *reals, operators.unsqueeze(graph, score, [1]), axis=1)
    outputs = indices, listed, operators.cast(graph, total, op.result_dtype(2)) if len(op.layer.outputs) > 2 else ""
    return outputs[: len(op.layer.outputs)]


def _overlap(boxes: NodeTensor, *, clockwise: bool) -> NodeTensor:
    """Return intersection over union of every two boxes; 0 if one has no area."""
    x, y, width, height, angle = overlaps.columns(boxes, 5)
    shared = _shared(x, y, width, height, angle if clockwise else -angle)
    return overlaps.shares(width * height, shared)


def _shared(*numbers: NodeTensor) -> NodeTensor:
    """Return the area that every two boxes [x, y, width, height, angle] share.

    In the frame of the first box, which is upright there, the second has four edges. At some height, it is as wide as
    one of two edges lies right of the other; so the area is a sum over edges, of the mean place of each, limited to
    the first box, times its height in there.
    """
    (x, its_x), (y, its_y), (width, its_width), (height, its_height), (angle, its_angle) = map(
        overlaps.each_two, numbers
    )
    centre = _Point(its_x - x, its_y - y)
    turn = its_angle - angle
    centre = centre.turned(-angle)
    begin, end = _edges(_Point(its_width, its_height), turn, centre)
    reach, top = ((side * 0.5).unsqueeze(-1) for side in (width, height))
    low, high = (_limited(point.y, top) for point in (begin, end))
    slope = _quotient(end.x - begin.x, end.y - begin.y)
    # An edge is cut off at the top and bottom of the first box; its ends there lie on the same line.
    first, last = (begin.x + slope * (height - begin.y) for height in (low, high))
    # Edges go around the box, so those on the left count negatively and leave the width between both sides.
    parts = _mean(first, last, reach) * (high - low)
    return abs(reduction("ReduceSum", parts, -1, keep=False))


@dataclass(frozen=True, slots=True)
class _Point:
    """A point of a plane, or a vector."""

    x: NodeTensor
    y: NodeTensor

    def turned(self, angle: NodeTensor) -> _Point:
        """Return it turned around the origin."""
        cos, sin = node("Cos", angle), node("Sin", angle)
        x = self.x * cos - self.y * sin
        return _Point(x, self.x * sin + self.y * cos)


def _edges(sides: _Point, turn: NodeTensor, centre: _Point) -> tuple[_Point, _Point]:
    """Return the ends of the four edges of rotated boxes, along a last axis."""
    wide, high = (sides.x.of(places) for places in zip(*_CORNERS, strict=True))
    corners = _Point(sides.x.unsqueeze(-1) * wide, sides.y.unsqueeze(-1) * high).turned(turn.unsqueeze(-1))
    begin = _Point(corners.x + centre.x.unsqueeze(-1), corners.y + centre.y.unsqueeze(-1))
    return begin, _Point(begin.x.take([1, 2, 3, 0], -1), begin.y.take([1, 2, 3, 0], -1))


def _limited(place: NodeTensor, reach: NodeTensor) -> NodeTensor:
    return place.minimum(reach).maximum(-reach)


def _quotient(above: NodeTensor, below: NodeTensor) -> NodeTensor:
    """Return a quotient, or the numerator if the denominator is 0."""
    zero, one = below.of(0), below.of(1)
    return above / (below == zero).where(one, below)


def _mean(begin: NodeTensor, end: NodeTensor, reach: NodeTensor) -> NodeTensor:
    """Return the mean of all places from ``begin`` to ``end``, each limited to the reach."""
    first, last = (_limited(edge, reach) for edge in (begin, end))
    middle = (first + last) * 0.5
    # Places before the reach count as its edge, those behind it as the other, and those between as their middle.
    parts = (first - begin) * first, (last - first) * middle, (end - last) * last
    total = parts[0] + parts[1] + parts[2]
    length = end - begin
    return (length == 0).where(first, _quotient(total, length))


def _roi_align_rotated(graph: Graph, op: Op) -> NodeTensor:
    """Average samples of each cell of a rotated region."""
    depth, rows, columns = op.lengths(0, [1, 2, 3])
    size = op.integer("pooled_h"), op.integer("pooled_w")
    x, y, width, height, angle = overlaps.columns(tensor(graph, op.inputs[1]), 5)
    scale, half = x.of(op.real("spatial_scale")), x.of(0.5)
    angle = -angle if op.flag("clockwise_mode") else angle
    turn = angle.unsqueeze(1, 2)
    down, across = (
        _sampled(side * scale, cells, op.integer("sampling_ratio"))
        for side, cells in ((height, size[0]), (width, size[1]))
    )
    offset = _Point(across.places.unsqueeze(1), down.places.unsqueeze(2)).turned(-turn)
    places = [shift + (centre * scale - half).unsqueeze(1, 2) for shift, centre in ((offset.x, x), (offset.y, y))]
    image = tensor(graph, layer_inputs.int64(graph, op, 2), "int64") * (rows * columns)
    images = image.unsqueeze(1, 2, 3)
    pixels = with_shape(tensor(graph, op.inputs[0]).transposed(0, 2, 3, 1), -1, depth)
    at_x, at_y = (place.unsqueeze(3) for place in places)
    values = sampling.bilinear(pixels, images, (at_y, at_x), (rows, columns), wide=True)
    inside = sampling.is_within((at_y, at_x), (rows, columns), 1, 0)
    return _means(inside.where(values, 0), (down, across), size, depth).transposed(0, 3, 1, 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Samples:
    """Samples along one side of regions: ``places`` [regions, cells * samples] from the centre, ``most`` in a cell.

    If the number of samples follows the size of each region, these are ``counts`` [regions, 1], and ``are_there``
    [regions, samples] marks the samples of a region.
    """

    places: NodeTensor
    most: NodeTensor
    counts: NodeTensor | None = None
    are_there: NodeTensor | None = None


def _sampled(length: NodeTensor, cells: int, samples: int) -> _Samples:
    side = length.unsqueeze(1)
    if samples:
        # Samples lie in the middle of equal parts of a side, measured from its centre.
        known = (np.arange(cells * samples) + 0.5) / (cells * samples) - 0.5
        return _Samples(places=side * known, most=side.of([samples], "int64"))
    half, one, number = (side.of(value) for value in (0.5, 1, cells))
    counts = (side / number).ceil()
    most = reduction("ReduceMax", joined([with_shape(counts, -1), counts.of([1])], 0), 0).cast("int64")
    zero = most.of(0)
    step = node("Range", zero, squeezed(most, 0), most.of(1)).cast("float32")
    within = (step + half) / counts.maximum(one)
    cell = side.of(np.arange(cells)[:, None])
    share = (within.unsqueeze(1) + cell) / number
    flat = joined([shape(length), most.of([-1])], 0)
    places = side * (node("Reshape", share, flat) - half)
    return _Samples(places=places, most=most, counts=counts, are_there=step < counts)


def _means(values: NodeTensor, samples: tuple[_Samples, _Samples], size: tuple[int, int], depth: int) -> NodeTensor:
    """Return the mean of the samples of each cell [regions, rows, columns, depth]."""
    down, across = samples
    lengths = ([-1], [size[0]], down.most, [size[1]], across.most, [depth])
    apart = node("Reshape", values, joined([values.of(length, "int64") for length in lengths], 0))
    if down.counts is None or across.counts is None or down.are_there is None or across.are_there is None:
        return reduction("ReduceMean", apart, 2, 4, keep=False)
    are_there = down.are_there.unsqueeze(1, 3, 4, 5) & across.are_there.unsqueeze(1, 2, 3, 5)
    samples_there = are_there.where(apart, 0)
    one = values.of(1)
    count = (down.counts * across.counts).maximum(one)
    sums = reduction("ReduceSum", samples_there, 2, 4, keep=False)
    return sums / count.unsqueeze(2, 3)


TABLE = {"NMSRotated": _nms_rotated, "ROIAlignRotated": _roi_align_rotated}
