"""Regions whose cells are sampled between pixels, each from channels of its own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...onnx import operators
from ...onnx.graph import Graph
from .. import sampling
from ..layer import Op


def averaged(graph: Graph, op: Op) -> str:
    """Average samples of as many parts of each region as there are bins, each from channels of its own.

    Regions are shares of the map. Their parts are sampled in as many places as there are cells, from end to end.
    """
    size, depth, bins = op.integer("group_size"), op.integer("output_dim"), _bins(op)
    lengths = op.lengths(0, [2, 3])
    scale = operators.scalar(graph, op.real("spatial_scale"), "float32")
    share = np.arange(size) / (size - 1) if size > 1 else np.array([0.5])
    places = []  # [regions, channels, bins, bins, cells, cells], with lengths of 1
    for axis, count in enumerate(bins):
        first, last = (graph.node("Mul", each, scale) for each in _ends(graph, op, axis))
        steps = (np.arange(count)[:, None] + share) / count
        place = _along(graph, first, graph.node("Sub", last, first), steps)
        place = graph.node("Mul", place, operators.scalar(graph, lengths[axis] - 1, "float32"))
        shape = [-1, 1, count, 1, size, 1] if axis == 0 else [-1, 1, 1, count, 1, size]
        places.append(graph.node("Reshape", place, graph.ints(shape)))
    channels = np.arange(depth)[:, None, None] + np.arange(bins[0] * bins[1]).reshape(bins) * depth
    values = _sampled(graph, op, _image(graph, op), channels, (places[0], places[1]))
    inside = sampling.is_within(graph, (places[0], places[1]), (lengths[0], lengths[1]), 0, -1)
    values = graph.node("Where", inside, values, operators.scalar(graph, 0, "float32"))
    return operators.reduced(graph, "ReduceMean", values, [2, 3], keep=False)


def resized(graph: Graph, op: Op, size: Sequence[int]) -> str:
    """Sample each region, a share of the map, in as many places as are wanted, from end to end; 0 outside."""
    depth, *lengths = op.lengths(0, [1, 2, 3])
    places = []  # [regions, channels, rows, columns], with lengths of 1
    for axis, count in enumerate(size):
        share = np.arange(count) / (count - 1) if count > 1 else np.array([0.5])
        parts = (
            graph.node("Mul", end, graph.constant(each[None], np.float32))
            for end, each in zip(_ends(graph, op, axis), (1 - share, share), strict=True)
        )
        place = graph.node("Mul", graph.node("Add", *parts), operators.scalar(graph, lengths[axis] - 1, "float32"))
        places.append(graph.node("Reshape", place, graph.ints([-1, 1, count, 1] if axis == 0 else [-1, 1, 1, count])))
    values = _sampled(graph, op, _image(graph, op), np.arange(depth), (places[0], places[1]))
    inside = sampling.is_within(graph, (places[0], places[1]), (lengths[0], lengths[1]), 0, -1)
    return graph.node("Where", inside, values, operators.scalar(graph, 0, "float32"))


def _deformable_psroi_pooling(graph: Graph, op: Op) -> str:
    """Average samples of each cell of a region, moved by offsets; regions from the first of image -1 on are zeros."""
    op.word("mode", ("bilinear_deformable",), "bilinear_deformable")
    size, depth, lengths = op.integer("group_size"), op.integer("output_dim"), op.lengths(0, [2, 3])
    zero, half, one = (operators.scalar(graph, each, "float32") for each in (0, 0.5, 1))
    scale = operators.scalar(graph, op.real("spatial_scale"), "float32")
    places = []  # [regions, channels, cells, cells, bins, bins], with lengths of 1
    for axis, count in enumerate(_bins(op)):
        first, last = (_rounded(graph, each) for each in _ends(graph, op, axis))
        start, end = (
            graph.node("Sub", graph.node("Mul", each, scale), half) for each in (first, graph.node("Add", last, one))
        )
        whole = graph.node("Max", graph.node("Sub", end, start), operators.scalar(graph, 0.1, "float32"))
        steps = (np.arange(size)[:, None] + np.arange(count) / count) / size
        shape = [-1, 1, size, 1, count, 1] if axis == 0 else [-1, 1, 1, size, 1, count]
        place = graph.node("Reshape", _along(graph, start, whole, steps), graph.ints(shape))
        if op.has(2):
            moves = graph.node("Mul", _moves(graph, op, 1 - axis), operators.unsqueeze(graph, whole, [2, 3]))
            place = graph.node("Add", place, operators.unsqueeze(graph, moves, [4, 5]))
        places.append(place)
    image = _image(graph, op)
    ends = graph.node("Equal", image, operators.scalar(graph, -1, "int64"))
    ended = graph.node("CumSum", operators.cast(graph, ends, "float32"), operators.scalar(graph, 0, "int64"))
    is_there = graph.node("Equal", ended, zero)
    image = graph.node("Where", is_there, image, operators.scalar(graph, 0, "int64"))
    channels = np.arange(depth * size * size).reshape(depth, size, size)
    values = _sampled(graph, op, image, channels, (places[0], places[1]))
    inside = sampling.is_within(graph, (places[0], places[1]), (lengths[0], lengths[1]), 0.5, -0.5)
    counted = graph.node("And", inside, operators.unsqueeze(graph, is_there, [2, 3, 4, 5]))
    counted = operators.cast(graph, counted, "float32")
    held = graph.node("Mul", values, counted)
    sum_, count_ = (operators.reduced(graph, "ReduceSum", each, [4, 5], keep=False) for each in (held, counted))
    return graph.node("Div", sum_, graph.node("Max", count_, one))


def _bins(op: Op) -> tuple[int, int]:
    return op.integer("spatial_bins_y", 1), op.integer("spatial_bins_x", 1)


def _ends(graph: Graph, op: Op, axis: int) -> tuple[str, str]:
    """Return where each region [regions, 1] begins and ends on the vertical axis (0) or the horizontal one (1)."""
    first, last = (operators.cut(graph, op.inputs[1], [each - axis], [each - axis + 1], [1]) for each in (2, 4))
    return first, last


def _along(graph: Graph, first: str, whole: str, steps: NDArray[np.float64]) -> str:
    """Return places at shares of a length."""
    shares = graph.constant(steps.reshape(1, -1), np.float32)
    return graph.node("Add", graph.node("Mul", whole, shares), first)


def _image(graph: Graph, op: Op) -> str:
    """Return the image of each region [regions, 1]."""
    return operators.cast(graph, operators.cut(graph, op.inputs[1], [0], [1], [1]), "int64")


def _moves(graph: Graph, op: Op, number: int) -> str:
    """Return by what share of its region each cell [regions, channels, cells, cells] moves, across (0) or down (1)."""
    size, depth, part = op.integer("group_size"), op.integer("output_dim"), op.integer("part_size", 1)
    classes = op.lengths(2)[1] // 2
    kind = (np.arange(depth) // (depth // classes) * 2 + number)[:, None, None]
    parts = np.arange(size) * part // size
    index = graph.constant((kind * part + parts[:, None]) * part + parts, np.int64)
    moves = graph.node("Reshape", op.inputs[2], graph.ints([-1, classes * 2 * part * part]))
    scale = operators.scalar(graph, op.real("trans_std", 1), "float32")
    return graph.node("Mul", graph.node("Gather", moves, index, axis=1), scale)


def _sampled(graph: Graph, op: Op, image: str, channels: NDArray[np.int64], places: tuple[str, str]) -> str:
    """Return samples of channels, of which there is one for each output without its last two axes."""
    _, depth, rows, columns = op.lengths()
    own = graph.constant((channels * rows * columns)[..., None, None], np.int64)
    begin = graph.node("Mul", image, operators.scalar(graph, depth * rows * columns, "int64"))
    first = graph.node("Add", operators.unsqueeze(graph, begin, range(2, channels.ndim + 3)), own)
    pixels = graph.node("Reshape", op.inputs[0], graph.ints([-1]))
    return sampling.bilinear(graph, pixels, first, places, (rows, columns))


def _rounded(graph: Graph, x: str) -> str:
    """Round, halves away from 0."""
    whole = graph.node("Floor", graph.node("Add", graph.node("Abs", x), operators.scalar(graph, 0.5, "float32")))
    return graph.node("Mul", graph.node("Sign", x), whole)


TABLE = {"DeformablePSROIPooling": _deformable_psroi_pooling}
