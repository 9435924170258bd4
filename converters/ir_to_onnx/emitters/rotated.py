"""Layers of boxes that are rotated: [x, y, width, height, angle], places being those of centres."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from ...onnx import operators
from ...onnx.graph import Graph
from .. import layer_inputs, overlaps, sampling
from ..layer import Op

_CORNERS = ((-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5))


def _nms_rotated(graph: Graph, op: Op) -> tuple[str, ...]:
    """List image, class and box of what overlaps nothing better of its class."""
    (images, count), (classes,) = op.lengths(0, [0, 1]), op.lengths(1, [1])
    (most,) = op.known_integers(2, "the number of boxes of a class is")
    groups = images * classes
    scores = graph.node("Reshape", op.inputs[1], graph.ints([groups, count]))
    values, places = graph.outputs(2, "TopK", scores, graph.ints([count]), axis=1)
    group = graph.constant(np.arange(groups)[:, None].repeat(count, 1), np.int64)
    image = graph.constant(np.arange(groups)[:, None].repeat(count, 1) // classes, np.int64)
    rows = graph.node("Concat", *(operators.unsqueeze(graph, each, [2]) for each in (image, places)), axis=2)
    boxes = graph.node("GatherND", op.inputs[0], rows)
    limit, least = (graph.node("Reshape", op.inputs[each], graph.ints([1])) for each in (3, 4))
    candidates = graph.node("Greater", values, least)
    overlap = partial(_overlap, clockwise=op.flag("clockwise", True))
    kept = overlaps.first_of(graph, overlaps.greedily(graph, boxes, candidates, overlap, limit), most)
    flat = (graph.node("Reshape", each, graph.ints([-1])) for each in (kept, group, places, values))
    flags, *found = flat
    number, box, score = (graph.node("Compress", each, flags, axis=0) for each in found)
    total = graph.node("Shape", score)
    if op.flag("sort_result_descending", True):
        score, order = graph.outputs(2, "TopK", score, total, axis=0)
        number, box = (graph.node("Gather", each, order, axis=0) for each in (number, box))
    whole = operators.scalar(graph, classes, "int64")
    parts = [graph.node("Div", number, whole), graph.node("Mod", number, whole), box]
    parts = [operators.unsqueeze(graph, each, [1]) for each in parts]
    indices = operators.cast(graph, graph.node("Concat", *parts, axis=1), op.result_dtype(0))
    reals = [operators.cast(graph, each, "float32") for each in parts[:2]]
    listed = graph.node("Concat", *reals, operators.unsqueeze(graph, score, [1]), axis=1)
    made = indices, listed, operators.cast(graph, total, op.result_dtype(2)) if len(op.layer.outputs) > 2 else ""
    return made[: len(op.layer.outputs)]


def _overlap(graph: Graph, boxes: str, *, clockwise: bool) -> str:
    """Return intersection over union of every two boxes; 0 where one has no area."""
    x, y, width, height, angle = overlaps.columns(graph, boxes, 5)
    angle = angle if clockwise else graph.node("Neg", angle)
    shared = _shared(graph, (x, y, width, height, angle))
    area, other = overlaps.each_two(graph, graph.node("Mul", width, height))
    zero = operators.scalar(graph, 0, "float32")
    whole = graph.node("And", *(graph.node("Greater", each, zero) for each in (area, other)))
    both = graph.node("Sub", graph.node("Add", area, other), shared)
    return graph.node("Where", whole, graph.node("Div", shared, both), zero)


def _shared(graph: Graph, boxes: tuple[str, str, str, str, str]) -> str:
    """Return the area that every two boxes share.

    Seen from the first, which then is upright, the second is four edges. A box between two of them is as wide, at some
    height, as the one lies right of the other; so the area is a sum over edges, of the mean place of each, limited to
    the first box, times how high it goes in there.
    """
    (x, its_x), (y, its_y), (width, its_width), (height, its_height), (angle, its_angle) = (
        overlaps.each_two(graph, each) for each in boxes
    )
    right, up = (graph.node("Sub", to, from_) for to, from_ in ((its_x, x), (its_y, y)))
    turn = graph.node("Sub", its_angle, angle)
    across, above = _turned(graph, right, up, graph.node("Neg", angle))
    wide, high = (graph.constant(each, np.float32) for each in zip(*_CORNERS, strict=True))
    spread_x, spread_y = (
        graph.node("Mul", operators.unsqueeze(graph, side, [-1]), each)
        for side, each in ((its_width, wide), (its_height, high))
    )
    ends = _turned(graph, spread_x, spread_y, operators.unsqueeze(graph, turn, [-1]))
    from_x, from_y = (
        graph.node("Add", end, operators.unsqueeze(graph, each, [-1]))
        for end, each in zip(ends, (across, above), strict=True)
    )
    to_x, to_y = (graph.node("Gather", each, graph.ints([1, 2, 3, 0]), axis=-1) for each in (from_x, from_y))
    half = operators.scalar(graph, 0.5, "float32")
    reach, top = (operators.unsqueeze(graph, graph.node("Mul", side, half), [-1]) for side in (width, height))
    low, high = (_limited(graph, each, top) for each in (from_y, to_y))
    slope = _quotient(graph, graph.node("Sub", to_x, from_x), graph.node("Sub", to_y, from_y))
    begin, end = (
        graph.node("Add", from_x, graph.node("Mul", slope, graph.node("Sub", each, from_y))) for each in (low, high)
    )
    parts = graph.node("Mul", _mean(graph, begin, end, reach), graph.node("Sub", high, low))
    return graph.node("Abs", operators.reduced(graph, "ReduceSum", parts, [-1], keep=False))


def _turned(graph: Graph, x: str, y: str, angle: str) -> tuple[str, str]:
    cos, sin = graph.node("Cos", angle), graph.node("Sin", angle)
    new_x = graph.node("Sub", graph.node("Mul", x, cos), graph.node("Mul", y, sin))
    return new_x, graph.node("Add", graph.node("Mul", x, sin), graph.node("Mul", y, cos))


def _limited(graph: Graph, place: str, reach: str) -> str:
    return graph.node("Max", graph.node("Min", place, reach), graph.node("Neg", reach))


def _quotient(graph: Graph, above: str, below: str) -> str:
    """Return a quotient, or what is above where nothing is below."""
    zero, one = (operators.scalar(graph, each, "float32") for each in (0, 1))
    return graph.node("Div", above, graph.node("Where", graph.node("Equal", below, zero), one, below))


def _mean(graph: Graph, begin: str, end: str, reach: str) -> str:
    """Return the mean of all places from ``begin`` to ``end``, each limited to the reach."""
    first, last = (_limited(graph, each, reach) for each in (begin, end))
    middle = graph.node("Mul", graph.node("Add", first, last), operators.scalar(graph, 0.5, "float32"))
    parts = (
        graph.node("Mul", graph.node("Sub", first, begin), first),
        graph.node("Mul", graph.node("Sub", last, first), middle),
        graph.node("Mul", graph.node("Sub", end, last), last),
    )
    sum_ = graph.node("Add", graph.node("Add", parts[0], parts[1]), parts[2])
    whole = graph.node("Sub", end, begin)
    upright = graph.node("Equal", whole, operators.scalar(graph, 0, "float32"))
    return graph.node("Where", upright, first, _quotient(graph, sum_, whole))


def _roi_align_rotated(graph: Graph, op: Op) -> str:
    """Average samples of each cell of a rotated region."""
    depth, rows, columns = op.lengths(0, [1, 2, 3])
    size = op.integer("pooled_h"), op.integer("pooled_w")
    x, y, width, height, angle = overlaps.columns(graph, op.inputs[1], 5)
    scale, half = (operators.scalar(graph, each, "float32") for each in (op.real("spatial_scale"), 0.5))
    angle = graph.node("Neg", angle) if op.flag("clockwise_mode") else angle
    turn = operators.unsqueeze(graph, angle, [1, 2])
    down, across = (
        _sampled(graph, graph.node("Mul", side, scale), cells, op.integer("sampling_ratio"))
        for side, cells in ((height, size[0]), (width, size[1]))
    )
    spread = (operators.unsqueeze(graph, across.places, [1]), operators.unsqueeze(graph, down.places, [2]))
    places = []
    for place, centre in zip(_turned(graph, *spread, graph.node("Neg", turn)), (x, y), strict=True):
        middle = graph.node("Sub", graph.node("Mul", centre, scale), half)
        places.append(graph.node("Add", place, operators.unsqueeze(graph, middle, [1, 2])))
    image = graph.node("Mul", layer_inputs.int64(graph, op, 2), operators.scalar(graph, rows * columns, "int64"))
    first = operators.unsqueeze(graph, image, [1, 2, 3])
    pixels = graph.node("Reshape", operators.transposed(graph, op.inputs[0], [0, 2, 3, 1]), graph.ints([-1, depth]))
    at_x, at_y = (operators.unsqueeze(graph, each, [3]) for each in places)
    values = sampling.bilinear(graph, pixels, first, (at_y, at_x), (rows, columns), wide=True)
    inside = sampling.is_within(graph, (at_y, at_x), (rows, columns), 1, 0)
    values = graph.node("Where", inside, values, operators.scalar(graph, 0, "float32"))
    return operators.transposed(graph, _means(graph, values, (down, across), size, depth), [0, 3, 1, 2])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Samples:
    """Samples along one side of regions: ``places`` [regions, cells * samples] from the centre, ``most`` in a cell.

    Where each region has as many as it is long, these are ``counts`` [regions, 1], and ``are_there`` [regions, samples]
    says which of the most a region has.
    """

    places: str
    most: str
    counts: str = ""
    are_there: str = ""


def _sampled(graph: Graph, length: str, cells: int, samples: int) -> _Samples:
    side = operators.unsqueeze(graph, length, [1])
    if samples:
        known = ((np.arange(cells * samples) + 0.5) / (cells * samples) - 0.5).astype(np.float32)
        return _Samples(places=graph.node("Mul", side, graph.constant(known)), most=graph.ints([samples]))
    half, one, number = (operators.scalar(graph, each, "float32") for each in (0.5, 1, cells))
    counts = graph.node("Ceil", graph.node("Div", side, number))
    listed = graph.node(
        "Concat", graph.node("Reshape", counts, graph.ints([-1])), graph.constant([1], np.float32), axis=0
    )
    most = operators.cast(graph, operators.reduced(graph, "ReduceMax", listed, [0]), "int64")
    ends = operators.scalar(graph, 0, "int64"), operators.squeeze(graph, most, [0]), operators.scalar(graph, 1, "int64")
    step = operators.cast(graph, graph.node("Range", *ends), "float32")
    within = graph.node("Div", graph.node("Add", step, half), graph.node("Max", counts, one))
    cell = graph.constant(np.arange(cells)[:, None], np.float32)
    share = graph.node("Div", graph.node("Add", operators.unsqueeze(graph, within, [1]), cell), number)
    flat = graph.node("Concat", graph.node("Shape", length), graph.ints([-1]), axis=0)
    places = graph.node("Mul", side, graph.node("Sub", graph.node("Reshape", share, flat), half))
    return _Samples(places=places, most=most, counts=counts, are_there=graph.node("Less", step, counts))


def _means(graph: Graph, values: str, samples: tuple[_Samples, _Samples], size: tuple[int, int], depth: int) -> str:
    """Return the mean of the samples of each cell [regions, rows, columns, depth]."""
    down, across = samples
    lengths = ([-1], [size[0]], down.most, [size[1]], across.most, [depth])
    parts = (each if isinstance(each, str) else graph.ints(each) for each in lengths)
    apart = graph.node("Reshape", values, graph.node("Concat", *parts, axis=0))
    if not down.counts:
        return operators.reduced(graph, "ReduceMean", apart, [2, 4], keep=False)
    there = (
        operators.unsqueeze(graph, each.are_there, axes)
        for each, axes in ((down, [1, 3, 4, 5]), (across, [1, 2, 3, 5]))
    )
    held = graph.node("Where", graph.node("And", *there), apart, operators.scalar(graph, 0, "float32"))
    one = operators.scalar(graph, 1, "float32")
    count = graph.node("Max", graph.node("Mul", down.counts, across.counts), one)
    sums = operators.reduced(graph, "ReduceSum", held, [2, 4], keep=False)
    return graph.node("Div", sums, operators.unsqueeze(graph, count, [2, 3]))


TABLE = {"NMSRotated": _nms_rotated, "ROIAlignRotated": _roi_align_rotated}
