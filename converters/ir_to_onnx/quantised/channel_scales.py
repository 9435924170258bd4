"""Scales of channels between two convolutions, absorbed by their weights: then integers go in and come out.

Before a depthwise convolution, tools quantise each channel by its own scale. onnxruntime multiplies
integers of one scale only.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx
from numpy.typing import NDArray

from ...onnx.graph import Graph
from ..layer import Op
from . import small_weights

_Numbers = NDArray[np.float32]
_PASSED = {"relu": "Relu", "maxpool": "MaxPool"}
"""Layers through which positive factors may be moved, and their nodes."""


def scaled_before(graph: Graph, op: Op, factors: _Numbers, shifts: _Numbers | None = None) -> str | None:
    """Return the input of a layer times factors of channels, by the convolution before it; None if none can.

    ``shifts`` are added to that, but not through a Relu. The convolution and the layers between are written anew, and
    the first ones left out at the end.
    """
    tensor, passed = op.inputs[0], list[onnx.NodeProto]()
    if not is_alone(op):
        return None
    # A positive factor commutes with Relu and maximum, a summand with the maximum only.
    moved_through = _PASSED.values() if shifts is None else ("MaxPool",)
    while (node := graph.maker(tensor)) is not None and node.op_type in moved_through:
        passed.append(node)
        tensor = node.input[0]
    if node is None or node.op_type != "Conv" or len(node.output) != 1:
        return None
    stored = small_weights.held(graph, node.input[1])
    biases = [graph.initialisers.get(name) for name in node.input[2:]]
    scaled = None if stored is None else stored.times(factors)
    if scaled is None or scaled.since > graph.opset or any(bias is None for bias in biases):
        return None
    added = [values * factors.ravel() for values in biases if values is not None]
    added += [] if shifts is None else [shifts.ravel()]
    bias = [graph.constant(np.asarray(sum(added), np.float32))] if added else []
    output = graph.again(node, node.input[0], scaled.written(graph, graph.layer), *bias)
    for step in reversed(passed):
        output = graph.again(step, output)
    return output


def is_alone(op: Op) -> bool:
    """Return whether this layer is the only reader of the convolution before it and the layers between."""
    layer, index = op.layer, 0
    while (source := op.net.source(layer, index)) is not None:
        # Another reader needs the unscaled values.
        if len(op.net.readers(*source)) > 1:
            return False
        layer, kind = source[0], source[0].type.lower()
        if kind in CONVOLUTIONS:
            return True
        if kind not in BETWEEN:
            return False
        # One of two inputs is a constant; the chain goes on at the other.
        producer = op.net.source(layer, 0)
        index = 1 if producer is not None and producer[0].type.lower() in ("const", "convert") else 0
    return False


def unscaled(graph: Graph, tensor: str, made_by: str = "DequantizeLinear") -> tuple[str, _Numbers] | None:
    """Return levels, and the factors of channels that turn them into a tensor; None for any other tensor.

    ``made_by`` is the operation that produces the levels: Sub if their zero was several bytes.
    """
    node = graph.maker(tensor)
    factors = graph.initialisers.get(node.input[1]) if node is not None and node.op_type == "Mul" else None
    if node is None or factors is None or factors.ndim < 2 or factors.size != factors.shape[1]:
        return None
    before = graph.maker(node.input[0])
    return (node.input[0], factors) if before is not None and before.op_type == made_by else None


def kept_in_floats(graph: Graph, op: Op, tensor: str, *, ends_at_zero: bool = False, of_integers: bool = False) -> str:
    """Return a tensor that is about to be rounded, such that weights before it stay unchanged.

    Between input levels and output levels, onnxruntime converts float weights to integers of one scale, which moves
    most results by some levels. It does not notice that the lowest number limits nothing, nor
    that a LeakyRelu with slope 0 is a Relu, which costs no more; the latter is possible if the lowest level
    ``ends_at_zero``. With ``of_integers`` integer weights are protected as well. Levels that are rounded
    to other levels would become one rounding, to neither.
    """
    if _are_levels(graph, tensor):
        return in_floats(graph, tensor)
    node = graph.maker(_through(graph, tensor, _SEEN_THROUGH))
    if node is None or node.op_type not in _ROUNDED_BY_ONNXRUNTIME:
        return tensor
    if not of_integers and small_weights.held(graph, node.input[1]) is not None:
        return tensor
    source = graph.maker(_through(graph, node.input[0], _MOVES))
    if source is None or source.op_type != "DequantizeLinear":
        return tensor
    last = graph.maker(tensor)
    if last is not None and last.op_type == "Relu" and is_alone(op):
        return graph.node("LeakyRelu", last.input[0], alpha=0.0)
    if ends_at_zero:
        return graph.node("LeakyRelu", tensor, alpha=0.0)
    return in_floats(graph, tensor)


def _are_levels(graph: Graph, tensor: str) -> bool:
    node = graph.maker(tensor)
    while node is not None and node.op_type in _MOVES:
        node = graph.maker(node.input[0])
    return node is not None and node.op_type == "DequantizeLinear"


def in_floats(graph: Graph, tensor: str) -> str:
    """Return a tensor that onnxruntime takes for a different one."""
    return graph.node("Max", tensor, graph.constant(np.finfo(np.float32).min))  # which limits nothing


_ROUNDED_BY_ONNXRUNTIME = ("Conv", "ConvTranspose", "Gemm")
_MOVES = ("MaxPool", "Reshape", "Transpose", "Squeeze", "Unsqueeze", "Slice")
_SEEN_THROUGH = (*_MOVES, "Relu", "Clip")
_TAKEN_IN = ("Mul", "Add")
"""Arithmetic with a constant that onnxruntime fuses into a convolution."""


def _through(graph: Graph, tensor: str, kinds: Sequence[str]) -> str:
    while (node := graph.maker(tensor)) is not None and (node.op_type in kinds or _is_taken_in(graph, node)):
        tensor = next(name for name in node.input if name not in graph.initialisers)
    return tensor


def _is_taken_in(graph: Graph, node: onnx.NodeProto) -> bool:
    return node.op_type in _TAKEN_IN and any(name in graph.initialisers for name in node.input)


CONVOLUTIONS = ("convolution", "groupconvolution")
BETWEEN = (*_PASSED, "add")
"""Layers allowed behind a convolution: a bias, and those through which factors are moved."""
