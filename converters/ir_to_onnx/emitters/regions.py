"""Regions of an image: YOLO's, those pooled for a second stage, and rotated ones.

First maps sampled between their pixels, at places known at run time; then regions whose cells are sampled so, each
from its own channels. A rotated box is [x, y, width, height, angle], where x and y are its centre.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial, reduce

import numpy as np
from numpy.typing import NDArray

from ...onnx import operators
from ...onnx.onnx_graph import Graph
from ...onnx.operators import NodeTensor, node
from .. import layers
from ..layers import Op, constant, cut, joined, reduction, shape, squeezed, tensor, with_shape
from . import suppression

Places = tuple[NodeTensor, NodeTensor]
"""Places of samples: y, x."""


def bilinear(
    pixels: NodeTensor, first: NodeTensor, places: Places, lengths: tuple[int, int], *, wide: bool = False
) -> NodeTensor:
    """Return values at places, which are limited to the map.

    ``pixels`` are all of all maps in a row [pixels, ...], ``first`` is where the map of each place begins in there.
    If the pixels are ``wide``, [pixels, channels], the places have a last axis of size 1 for these.
    """
    cells, shares = [], []
    for place, length in zip(places, lengths, strict=True):
        inside = place.maximum(0).minimum(length - 1)
        cell = inside.floor()
        following = (cell + 1).minimum(length - 1)
        share = inside - cell
        cells.append([index.cast("int64") for index in (cell, following)])
        shares.append([1 - share, share])
    width = first.of(lengths[1])
    parts = []
    for row, high in zip(cells[0], shares[0], strict=True):
        begin = first + row * width
        for column, across in zip(cells[1], shares[1], strict=True):
            values = pixels.take(begin + column, 0)
            values = squeezed(values, -2) if wide else values
            parts.append((high * across, values))
    return reduce(operator.add, [share * values for share, values in parts])


def is_within(places: Places, lengths: tuple[int, int], before: float, after: float) -> NodeTensor:
    """Return which places lie in a map, or so little before and after it."""
    beyond = (
        compare(place, end)
        for place, length in zip(places, lengths, strict=True)
        for compare, end in ((operator.lt, -before), (operator.gt, length + after))
    )
    outside: NodeTensor = reduce(operator.or_, beyond)
    return ~outside


def averaged(graph: Graph, op: Op) -> NodeTensor:
    """Average samples of as many parts of each region as there are bins, each from its own channels.

    Regions are shares of the map. Their parts are sampled in as many places as there are cells, from end to end.
    """
    size, depth, bins = op.integer("group_size"), op.integer("output_dim"), _bins(op)
    lengths = op.lengths(0, [2, 3])
    scale = constant(graph, op.real("spatial_scale"))
    share = _from_end_to_end(size)
    places = []  # [regions, channels, bins, bins, cells, cells], with sizes of 1
    for axis, count in enumerate(bins):
        first, last = (end * scale for end in _ends(graph, op, axis))
        steps = (np.arange(count)[:, None] + share) / count
        place = _along(first, last - first, steps) * (lengths[axis] - 1)
        places.append(with_shape(place, *([-1, 1, count, 1, size, 1] if axis == 0 else [-1, 1, 1, count, 1, size])))
    channels = np.arange(depth)[:, None, None] + np.arange(bins[0] * bins[1]).reshape(bins) * depth
    values = _inside(graph, op, channels, (places[0], places[1]), (lengths[0], lengths[1]))
    return reduction("ReduceMean", values, 2, 3, keep=False)


def resized(graph: Graph, op: Op, size: Sequence[int]) -> NodeTensor:
    """Sample each region, a share of the map, in the given number of places, from end to end; 0 outside."""
    depth, *lengths = op.lengths(0, [1, 2, 3])
    places = []  # [regions, channels, rows, columns], with sizes of 1
    for axis, count in enumerate(size):
        share = _from_end_to_end(count)
        first, last = _ends(graph, op, axis)
        place = (first * (1 - share)[None] + last * share[None]) * (lengths[axis] - 1)
        places.append(with_shape(place, *([-1, 1, count, 1] if axis == 0 else [-1, 1, 1, count])))
    return _inside(graph, op, np.arange(depth), (places[0], places[1]), (lengths[0], lengths[1]))


def _from_end_to_end(count: int) -> NDArray[np.float64]:
    """Return places from 0 to 1; a single one lies in the middle."""
    return np.arange(count) / (count - 1) if count > 1 else np.array([0.5])


def _inside(graph: Graph, op: Op, channels: NDArray[np.int64], places: Places, lengths: tuple[int, int]) -> NodeTensor:
    """Return samples of channels, 0 outside the map."""
    values = _sampled(graph, op, _image(graph, op), channels, places)
    return is_within(places, lengths, 0, -1).where(values, 0)


def _deformable_psroi_pooling(graph: Graph, op: Op) -> NodeTensor:
    """Average samples of each cell of a region, moved by offsets; regions from the first of image -1 on are zeros."""
    op.word("mode", ("bilinear_deformable",), "bilinear_deformable")
    size, depth, lengths = op.integer("group_size"), op.integer("output_dim"), op.lengths(0, [2, 3])
    zero, half, one = (constant(graph, number) for number in (0, 0.5, 1))
    scale = constant(graph, op.real("spatial_scale"))
    places = []  # [regions, channels, cells, cells, bins, bins], with sizes of 1
    for axis, count in enumerate(_bins(op)):
        first, last = (_rounded(end) for end in _ends(graph, op, axis))
        start, end = (edge * scale - half for edge in (first, last + one))
        # OpenVINO gives a region at least a tenth of a pixel.
        extent = (end - start).maximum(0.1)
        steps = (np.arange(size)[:, None] + np.arange(count) / count) / size
        lengths_of_1 = [-1, 1, size, 1, count, 1] if axis == 0 else [-1, 1, 1, size, 1, count]
        place = with_shape(_along(start, extent, steps), *lengths_of_1)
        if op.has(2):
            moves = _moves(graph, op, 1 - axis) * extent.unsqueeze(2, 3)
            place = place + moves.unsqueeze(4, 5)
        places.append(place)
    image = _image(graph, op)
    # The first region of image -1 ends the list, whatever follows.
    ended = node("CumSum", (image == -1).cast("float32"), image.of(0))
    is_there = ended == zero
    image = is_there.where(image, 0)
    channels = np.arange(depth * size * size).reshape(depth, size, size)
    values = _sampled(graph, op, image, channels, (places[0], places[1]))
    inside = is_within((places[0], places[1]), (lengths[0], lengths[1]), 0.5, -0.5)
    counted = (inside & is_there.unsqueeze(2, 3, 4, 5)).cast("float32")
    total, count_ = (reduction("ReduceSum", terms, 4, 5, keep=False) for terms in (values * counted, counted))
    return total / count_.maximum(one)  # a cell without samples is 0


def _bins(op: Op) -> tuple[int, int]:
    return op.integer("spatial_bins_y", 1), op.integer("spatial_bins_x", 1)


def _ends(graph: Graph, op: Op, axis: int) -> tuple[NodeTensor, NodeTensor]:
    """Return where each region [regions, 1] begins and ends on the vertical axis (0) or the horizontal one (1)."""
    regions = tensor(graph, op.inputs[1])
    return cut(regions, 2 - axis, 3 - axis, 1), cut(regions, 4 - axis, 5 - axis, 1)


def _along(first: NodeTensor, extent: NodeTensor, steps: NDArray[np.float64]) -> NodeTensor:
    """Return places at shares of a length."""
    return extent * steps.reshape(1, -1) + first


def _image(graph: Graph, op: Op) -> NodeTensor:
    """Return the image of each region [regions, 1]."""
    return cut(tensor(graph, op.inputs[1]), 0, 1, 1).cast("int64")


def _moves(graph: Graph, op: Op, number: int) -> NodeTensor:
    """Return by what share of its region each cell [regions, channels, cells, cells] moves, across (0) or down (1)."""
    size, depth, part = op.integer("group_size"), op.integer("output_dim"), op.integer("part_size", 1)
    classes = op.lengths(2)[1] // 2
    kind = (np.arange(depth) // (depth // classes) * 2 + number)[:, None, None]
    parts = np.arange(size) * part // size
    index = constant(graph, (kind * part + parts[:, None]) * part + parts, "int64")
    moves = with_shape(tensor(graph, op.inputs[2]), -1, classes * 2 * part * part)
    scale = moves.of(op.real("trans_std", 1))
    return moves.take(index, 1) * scale


def _sampled(graph: Graph, op: Op, image: NodeTensor, channels: NDArray[np.int64], places: Places) -> NodeTensor:
    """Return samples of channels, one channel for each output without its last two axes."""
    _, depth, rows, columns = op.lengths()
    offsets = image.of((channels * rows * columns)[..., None, None])
    begin = image * (depth * rows * columns)
    first = begin.unsqueeze(*range(2, channels.ndim + 3)) + offsets
    pixels = with_shape(tensor(graph, op.inputs[0]), -1)
    return bilinear(pixels, first, places, (rows, columns))


def _rounded(x: NodeTensor) -> NodeTensor:
    """Round, halves away from 0."""
    magnitude = (abs(x) + 0.5).floor()
    return node("Sign", x) * magnitude


_COORDINATES = 4  # of a box: OpenVINO ends the process for some other numbers


def _region_yolo(graph: Graph, op: Op) -> str:
    """Apply the sigmoid to places, objectness and classes of every anchor; sizes stay as they are."""
    soft, classes, coordinates = op.flag("do_softmax", True), op.integer("classes"), op.integer("coords")
    if coordinates != _COORDINATES:
        raise op.refusal(f"its boxes have {coordinates} coordinates; expected {_COORDINATES}")
    anchors = op.integer("num") if soft else len(op.integers("mask", ()))
    batch, _, rows, columns = op.lengths()
    length = coordinates + 1 + classes
    x = layers.reshaped(graph, op, op.inputs[0], [batch, anchors, length, rows, columns])
    pieces = operators.split(graph, x, [2, coordinates - 2, 1, classes], 2)
    places, sizes, objects, chances = pieces
    chances = operators.softened(graph, chances, 2, 5) if soft else graph.node("Sigmoid", chances)
    activated = [graph.node("Sigmoid", places), sizes, graph.node("Sigmoid", objects), chances]
    joined = graph.node("Concat", *activated, axis=2)
    return layers.reshaped(graph, op, joined, op.result_shape() or ())


def _reorg_yolo(graph: Graph, op: Op) -> str:
    """Read the elements as those of a larger map with fewer channels, and move its blocks into the channels."""
    stride = op.integer("stride")
    batch, depth, rows, columns = op.lengths()
    apart = [batch, depth // stride**2, rows * stride, columns * stride]
    output = graph.node("SpaceToDepth", layers.reshaped(graph, op, op.inputs[0], apart), blocksize=stride)
    return layers.reshaped(graph, op, output, [batch, depth * stride**2, rows // stride, columns // stride])


def _roi_pooling(graph: Graph, op: Op) -> str | NodeTensor:
    whole = op.integers("output_roi", ()) or op.integers("output_size", ()) or (None, None)
    size = [op.integer(name, default) for name, default in zip(("pooled_h", "pooled_w"), whole, strict=True)]
    if op.word("method", ("max", "bilinear"), "max") == "bilinear":
        return resized(graph, op, size)
    op.until(21, graph.opset, "MaxRoiPool")
    return graph.node(
        "MaxRoiPool", op.inputs[0], op.inputs[1], pooled_shape=size, spatial_scale=op.real("spatial_scale")
    )


def _roi_align(graph: Graph, op: Op) -> str:
    """Sample regions; ``half_pixel`` moves their corners by half a pixel before they are scaled too.

    The maximum of samples is that of finer cells of one sample each, since onnxruntime takes it of their weighted
    parts; OpenVINO starts from 0.
    """
    op.until(21, graph.opset, "RoiAlign")
    aligned = op.word("aligned_mode", ("asymmetric", "half_pixel", "half_pixel_for_nn"), "asymmetric")
    samples, regions = op.integer("sampling_ratio"), op.inputs[1]
    if aligned != "asymmetric":
        op.needs(16, graph.opset, f"aligned_mode {aligned}")  # RoiAlign shifts by half a pixel since then
    if aligned == "half_pixel":
        regions = graph.node("Add", regions, operators.scalar(graph, 0.5, op.dtype(1)))
    largest = op.word("mode", ("avg", "max")) == "max"
    finer = samples if largest else 1
    if finer == 0:
        raise op.refusal("it takes the largest of samples whose number depends on the region")
    form = "output_half_pixel" if aligned == "asymmetric" else None
    output = graph.node(
        "RoiAlign",
        op.inputs[0],
        regions,
        layers.int64(graph, op, 2),
        coordinate_transformation_mode=form if graph.opset >= 16 else None,
        output_height=op.integer("pooled_h") * finer,
        output_width=op.integer("pooled_w") * finer,
        sampling_ratio=samples if finer == 1 else 1,
        spatial_scale=op.real("spatial_scale"),
    )
    if finer > 1:
        # Finer cells of one sample each lie where the samples of a cell did.
        output = graph.node("MaxPool", output, kernel_shape=[finer, finer], strides=[finer, finer])
    return graph.node("Relu", output) if largest else output


def _psroi_pooling(graph: Graph, op: Op) -> NodeTensor:
    """Average, in each cell of a region, the channels of that cell only: products with membership matrices."""
    if op.word("mode", ("average", "bilinear"), "average") != "average":
        return averaged(graph, op)
    size, depth = op.integer("group_size"), op.integer("output_dim")
    images, _, *space = op.lengths()
    x = tensor(graph, layers.reshaped(graph, op, op.inputs[0], [images, depth, size, size, *space]), op.dtype())
    image = squeezed(cut(tensor(graph, op.inputs[1], op.dtype()), 0, 1, 1), 1).cast("int64")
    maps = x.take(image, 0)
    columns, rows = (_members(graph, op, axis, space[1 - axis], size) for axis in range(2))
    sums = rows.unsqueeze(1, 3, 4) @ maps
    sums = sums @ columns.unsqueeze(1, 2, 5)
    heights, widths = (reduction("ReduceSum", shares, 2) for shares in (rows, columns))
    area = heights @ widths.transposed(0, 2, 1)
    area = area.unsqueeze(1).maximum(1)  # a cell without pixels has the mean 0
    return squeezed(sums, 4, 5) / area


def _members(graph: Graph, op: Op, axis: int, length: int, size: int) -> NodeTensor:
    """Return [regions, cells, length]: 1 where a pixel is in a cell, which begins rounded down and ends rounded up."""
    regions = tensor(graph, op.inputs[1], op.dtype())
    scale = regions.of(op.real("spatial_scale"))
    corners = [cut(regions, axis + corner, axis + corner + 1, 1) for corner in (1, 3)]
    first, last = ((corner + 0.5).floor() for corner in corners)  # rounded, halves up: corners are not negative
    start = first * scale
    end = (last + 1) * scale
    # OpenVINO gives a region at least a tenth of a pixel.
    step = (end - start).maximum(0.1) / size
    numbers = [regions.of(np.arange(size) + offset, "float32") for offset in (0, 1)]
    begins, ends = (step * number + start for number in numbers)
    pixels = regions.of(np.arange(length), "float32")
    is_before = pixels < begins.floor().unsqueeze(2)
    is_below = pixels < ends.ceil().unsqueeze(2)
    return (~is_before & is_below).cast(op.dtype())


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
    suppressed = suppression.greedily(tensor(graph, boxes), candidates, overlap, tensor(graph, limit))
    selected = suppression.first_of(suppressed, most).value
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
    x, y, width, height, angle = suppression.box_columns(boxes, 5)
    shared = _shared(x, y, width, height, angle if clockwise else -angle)
    return suppression.shares(width * height, shared)


def _shared(*numbers: NodeTensor) -> NodeTensor:
    """Return the area that every two boxes [x, y, width, height, angle] share.

    In the frame of the first box, which is upright there, the second has four edges. At some height, it is as wide as
    one of two edges lies right of the other; so the area is a sum over edges, of the mean place of each, limited to
    the first box, times its height in there.
    """
    (x, its_x), (y, its_y), (width, its_width), (height, its_height), (angle, its_angle) = map(
        suppression.each_two, numbers
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
    x, y, width, height, angle = suppression.box_columns(tensor(graph, op.inputs[1]), 5)
    scale, half = x.of(op.real("spatial_scale")), x.of(0.5)
    angle = -angle if op.flag("clockwise_mode") else angle
    turn = angle.unsqueeze(1, 2)
    down, across = (
        _sample_places(side * scale, cells, op.integer("sampling_ratio"))
        for side, cells in ((height, size[0]), (width, size[1]))
    )
    offset = _Point(across.places.unsqueeze(1), down.places.unsqueeze(2)).turned(-turn)
    places = [shift + (centre * scale - half).unsqueeze(1, 2) for shift, centre in ((offset.x, x), (offset.y, y))]
    image = tensor(graph, layers.int64(graph, op, 2), "int64") * (rows * columns)
    images = image.unsqueeze(1, 2, 3)
    pixels = with_shape(tensor(graph, op.inputs[0]).transposed(0, 2, 3, 1), -1, depth)
    at_x, at_y = (place.unsqueeze(3) for place in places)
    values = bilinear(pixels, images, (at_y, at_x), (rows, columns), wide=True)
    inside = is_within((at_y, at_x), (rows, columns), 1, 0)
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


def _sample_places(length: NodeTensor, cells: int, samples: int) -> _Samples:
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


TABLE = {
    "DeformablePSROIPooling": _deformable_psroi_pooling,
    "RegionYolo": _region_yolo,
    "ReorgYolo": _reorg_yolo,
    "ROIPooling": _roi_pooling,
    "ROIAlign": _roi_align,
    "PSROIPooling": _psroi_pooling,
    "NMSRotated": _nms_rotated,
    "ROIAlignRotated": _roi_align_rotated,
}
