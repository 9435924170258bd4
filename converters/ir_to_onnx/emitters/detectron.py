"""Layers of Detectron models: grids of priors, the best regions, features of regions from a pyramid."""

from __future__ import annotations

import math

import numpy as np

from ...onnx import operators
from ...onnx.graph import Graph
from ...onnx.onnx_primitives import NodeTensor, node
from ..layer import Op
from ..tensors import cut, joined, operand, tensor

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


TABLE = {
    "ExperimentalDetectronPriorGridGenerator": _prior_grid,
    "ExperimentalDetectronTopKROIs": _top_regions,
    "ExperimentalDetectronROIFeatureExtractor": _features,
}
