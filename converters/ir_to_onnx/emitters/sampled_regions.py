"""Regions whose cells are sampled between pixels, each from its own channels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...onnx.graph import Graph
from ...onnx.onnx_primitives import NodeTensor, node
from .. import sampling
from ..layer import Op
from ..sampling import Places
from ..tensors import constant, cut, reduction, tensor, with_shape


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
    return sampling.is_within(places, lengths, 0, -1).where(values, 0)


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
    inside = sampling.is_within((places[0], places[1]), (lengths[0], lengths[1]), 0.5, -0.5)
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
    return sampling.bilinear(pixels, first, places, (rows, columns))


def _rounded(x: NodeTensor) -> NodeTensor:
    """Round, halves away from 0."""
    magnitude = (abs(x) + 0.5).floor()
    return node("Sign", x) * magnitude


TABLE = {"DeformablePSROIPooling": _deformable_psroi_pooling}
