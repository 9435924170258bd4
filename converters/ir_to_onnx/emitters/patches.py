"""Patches of an image, and samples of it on a grid."""

from __future__ import annotations

import numpy as np

from ...onnx import operators
from ...onnx.graph import Graph
from .. import layer_inputs, sliding_windows
from ..layer import Op


def _extract(graph: Graph, op: Op) -> str:
    """Gather the rows, then the columns of every patch, and put them in front of the channels."""
    sizes, strides, rates = (op.integers(name) for name in ("sizes", "strides", "rates"))
    batch, depth, *space = op.lengths()
    x, lengths = op.inputs[0], []
    automatic = op.word("auto_pad", sliding_windows.AUTO_PADS)
    for place, (held, size, stride, rate) in enumerate(zip(space, sizes, strides, rates, strict=True)):
        extent, axis = (size - 1) * rate + 1, 2 + 2 * place
        count = -(-held // stride) if automatic.startswith("same") else (held - extent) // stride + 1
        total = max((count - 1) * stride + extent - held, 0) if automatic.startswith("same") else 0
        (before,), (after,) = sliding_windows.shared([total], automatic)
        if total:
            x = operators.padded(graph, x, 4 + place, axis, before, after)
        indices = np.arange(size)[:, None] * rate + np.arange(count) * stride
        x = graph.node("Gather", x, graph.constant(indices, np.int64), axis=axis)
        lengths.append(count)
    x = operators.transposed(graph, x, [0, 2, 4, 1, 3, 5])
    return layer_inputs.reshaped(graph, op, x, [batch, sizes[0] * sizes[1] * depth, *lengths])


_MODES = {"bilinear": ("bilinear", "linear"), "nearest": ("nearest", "nearest"), "bicubic": ("bicubic", "cubic")}


def _grid_sample(graph: Graph, op: Op) -> str:
    op.needs(16, graph.opset)
    mode = _MODES[op.word("mode", tuple(_MODES), "bilinear")][graph.opset >= 20]
    padding = op.word("padding_mode", ("zeros", "border", "reflection"), "zeros")
    aligned = int(op.flag("align_corners"))
    return graph.node("GridSample", *op.inputs, mode=mode, padding_mode=padding, align_corners=aligned)


TABLE = {"ExtractImagePatches": _extract, "GridSample": _grid_sample}
