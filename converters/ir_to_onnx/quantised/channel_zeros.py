"""Zero points of channels before a depthwise convolution: its padding values, and a bias.

Tools that quantise each channel by its own range (nncf's mixed preset) give it its own zero point, too.
onnxruntime multiplies integers of one zero point only. So levels are counted from the lowest, the bias subtracts what
that adds to each sum, and the pads are written explicitly, as levels that are zero.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ...onnx.graph import Graph
from ..layer import Op
from ..sliding_windows import Windows
from . import channel_scales, integer_layers, small_weights
from .ranges import Side

_BYTES = Side(scale=np.ones((), np.float32), zero=np.zeros(()))
"""Levels of 8 bits as numbers."""


def convolved(graph: Graph, op: Op, over: Windows) -> str | None:
    """Return a convolution of bytes, from levels with zero points of channels; None if onnxruntime has none."""
    unscaled = channel_scales.unscaled(graph, op.inputs[0], "Sub")
    stored = small_weights.held(graph, op.inputs[1])
    shape = op.shape()
    if unscaled is None or stored is None or shape is None or None in shape or over.same:
        return None
    if not integer_layers.is_of_single_channels(op) or not integer_layers.makes_levels(op):
        return None
    stored = stored.without_groups()
    rows = op.lengths(1)[1]
    scaled = stored.times(unscaled[1].ravel().repeat(rows))
    shift = graph.maker(unscaled[0])
    zero = None if shift is None else graph.initialisers.get(shift.input[1])
    if scaled is None or scaled.since > graph.opset or shift is None or zero is None:
        return None
    x = _padded(graph, shift.input[0], zero, op.lengths(), over)
    # Counted from the lowest, each level is larger by the zero point, which adds that times the sum of the weights.
    bias = -scaled.sums() * zero.ravel().repeat(rows)
    none = (0,) * len(over.kernel)
    constants = (scaled.written(graph, op.layer.name), graph.constant(bias, np.float32))
    return graph.node("Conv", x, *constants, group=shape[1], **replace(over, begin=none, end=none).attributes)


def _padded(graph: Graph, x: str, zero: NDArray[np.float32], lengths: tuple[int, ...], over: Windows) -> str:
    """Return levels between levels that are zero; onnxruntime joins bytes if the result is rounded to them."""
    shape = list(lengths)
    for axis in reversed(range(2, len(lengths))):
        before, after = over.begin[axis - 2], over.end[axis - 2]
        if before or after:
            sides = [_level(graph, zero, [*shape[:axis], length, *shape[axis + 1 :]]) for length in (before, after)]
            joined = graph.node("Concat", *(piece for piece in (sides[0], x, sides[1]) if piece), axis=axis)
            x = integer_layers.rounded(graph, joined, _BYTES)
            shape[axis] += before + after
    return x


def _level(graph: Graph, zero: NDArray[np.float32], shape: list[int]) -> str:
    if 0 in shape:
        return ""
    level = graph.node("Expand", graph.constant(zero, np.uint8), graph.ints(shape))
    return graph.node("DequantizeLinear", level, *_BYTES.written(graph))
