"""Regions of an image: YOLO's, and those pooled for a second stage."""

from __future__ import annotations

import numpy as np

from ...onnx import operators
from ...onnx.graph import Graph
from ...onnx.onnx_primitives import NodeTensor
from .. import layer_inputs
from ..layer import Op
from ..tensors import cut, reduction, squeezed, tensor
from . import sampled_regions

_COORDINATES = 4  # of a box: OpenVINO ends the process for some other numbers


def _region_yolo(graph: Graph, op: Op) -> str:
    """Apply the sigmoid to places, objectness and classes of every anchor; sizes stay as they are."""
    soft, classes, coordinates = op.flag("do_softmax", True), op.integer("classes"), op.integer("coords")
    if coordinates != _COORDINATES:
        raise op.refusal(f"its boxes have {coordinates} coordinates; expected {_COORDINATES}")
    anchors = op.integer("num") if soft else len(op.integers("mask", ()))
    batch, _, rows, columns = op.lengths()
    length = coordinates + 1 + classes
    x = layer_inputs.reshaped(graph, op, op.inputs[0], [batch, anchors, length, rows, columns])
    pieces = operators.split(graph, x, [2, coordinates - 2, 1, classes], 2)
    places, sizes, objects, chances = pieces
    chances = operators.softened(graph, chances, 2, 5) if soft else graph.node("Sigmoid", chances)
    activated = [graph.node("Sigmoid", places), sizes, graph.node("Sigmoid", objects), chances]
    joined = graph.node("Concat", *activated, axis=2)
    return layer_inputs.reshaped(graph, op, joined, op.result_shape() or ())


def _reorg_yolo(graph: Graph, op: Op) -> str:
    """Read the elements as those of a larger map with fewer channels, and move its blocks into the channels."""
    stride = op.integer("stride")
    batch, depth, rows, columns = op.lengths()
    apart = [batch, depth // stride**2, rows * stride, columns * stride]
    output = graph.node("SpaceToDepth", layer_inputs.reshaped(graph, op, op.inputs[0], apart), blocksize=stride)
    return layer_inputs.reshaped(graph, op, output, [batch, depth * stride**2, rows // stride, columns // stride])


def _roi_pooling(graph: Graph, op: Op) -> str | NodeTensor:
    whole = op.integers("output_roi", ()) or op.integers("output_size", ()) or (None, None)
    size = [op.integer(name, default) for name, default in zip(("pooled_h", "pooled_w"), whole, strict=True)]
    if op.word("method", ("max", "bilinear"), "max") == "bilinear":
        return sampled_regions.resized(graph, op, size)
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
        layer_inputs.int64(graph, op, 2),
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
        return sampled_regions.averaged(graph, op)
    size, depth = op.integer("group_size"), op.integer("output_dim")
    images, _, *space = op.lengths()
    x = tensor(graph, layer_inputs.reshaped(graph, op, op.inputs[0], [images, depth, size, size, *space]), op.dtype())
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


TABLE = {
    "RegionYolo": _region_yolo,
    "ReorgYolo": _reorg_yolo,
    "ROIPooling": _roi_pooling,
    "ROIAlign": _roi_align,
    "PSROIPooling": _psroi_pooling,
}
