"""Layers that onnxruntime computes in integers: those it finds between input levels and output levels."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

import onnx

from ir_interp.ir.net import Layer

from ...onnx.graph import Graph
from ..layer import Op
from . import channel_scales, ranges, small_weights
from .ranges import Side

_MOVES = ("maxpool", "reshape", "transpose", "squeeze", "unsqueeze")  # these keep levels
_BETWEEN = (*_MOVES, "add", "relu")  # a bias
_FEW = 4
"""Channels for which onnxruntime's integer convolution is slower than the float one: mostly images."""


def are_multiplied(op: Op) -> bool:
    """Return whether a convolution should use integers: its input and its output are levels, of one scale each.

    Scales of channels qualify if weights absorb them: those of a depthwise convolution behind, and those of the
    convolution before.
    """
    if op.layer.type.lower() not in channel_scales.CONVOLUTIONS or not _takes_levels(op):
        return False
    return _feeds_channels(op) or (_feeds_levels(op) and not _has_few_channels(op))


def _takes_levels(op: Op) -> bool:
    source = op.net.source(op.layer, 0)
    side = ranges.read(replace(op, layer=source[0])) if source else None
    if side is not None and side.have_one_zero and is_of_single_channels(op):
        return True
    return levels(op, 0) is not None


def makes_levels(op: Op) -> bool:
    """Return whether the output of a convolution becomes levels that its weights can be scaled to."""
    return _feeds_channels(op) or _feeds_levels(op)


def _feeds_channels(op: Op) -> bool:
    readers, passed = _behind(op, channel_scales.BETWEEN)
    return len(readers) == 1 and _takes_scales(op, readers[0], passed)


def _feeds_levels(op: Op) -> bool:
    readers, _ = _behind(op, _BETWEEN)
    return bool(readers) and all(_single(op, reader) is not None for reader in readers)


def _behind(op: Op, passing: Sequence[str]) -> tuple[list[Layer], set[str]]:
    """Return the readers of a layer's output behind layers of some types, and the types of these."""
    result, passed = op.layer, set[str]()
    while len(readers := op.net.readers(result, result.outputs[0])) == 1 and _passes(op, readers[0], passing):
        result = readers[0]
        passed.add(result.type.lower())
    return readers, passed


def _passes(op: Op, layer: Layer, passing: Sequence[str]) -> bool:
    """Return whether a layer is of some types; an Add must add a constant."""
    kind = layer.type.lower()
    added = (op.net.source(layer, index) for index in range(len(layer.inputs) if kind == "add" else 0))
    is_bias = any(source is not None and small_weights.constant(op.net, source[0]) is not None for source in added)
    return kind in passing and (kind != "add" or is_bias)


def are_taken_in(op: Op) -> bool:
    """Return whether a depthwise convolution of integers reads a layer's output, and takes in its scales."""
    readers = (replace(op, layer=reader) for reader in op.net.readers(op.layer, op.layer.outputs[0]))
    return any(is_of_single_channels(reader) and makes_levels(reader) for reader in readers)


def is_of_single_channels(op: Op) -> bool:
    """Return whether a convolution is depthwise: each group has one channel."""
    return op.layer.type.lower() == "groupconvolution" and op.lengths(1)[2] == 1


def _has_few_channels(op: Op) -> bool:
    return op.layer.type.lower() == "convolution" and op.lengths(1)[1] <= _FEW


def _takes_scales(op: Op, layer: Layer, passed: AbstractSet[str]) -> bool:
    """Return whether a layer's output becomes levels of scales of channels that a convolution before it absorbs."""
    its = ranges.read(replace(op, layer=layer))
    return its is not None and its.are_of_channels and ("relu" not in passed or its.have_one_zero)


def _single(op: Op, layer: Layer) -> Side | None:
    its = ranges.read(replace(op, layer=layer))
    return its.single if its else None


def levels(op: Op, index: int) -> Side | None:
    """Return the scale and the zero point of an input whose values are all levels of one scale; None for others."""
    source = op.net.source(op.layer, index)
    if source is None:
        return None
    before = replace(op, layer=source[0])
    kind = source[0].type.lower()
    if kind in _MOVES:
        return levels(before, 0)
    if kind != "concat":
        return _single(op, source[0])
    first, *others = (levels(before, index) for index in range(len(source[0].inputs)))
    return first if first is not None and all(first.equals(other) for other in others) else None


def marked(graph: Graph, op: Op, tensor: str) -> str:
    """Return the result of a layer on levels, rounded to the same levels, if a convolution of integers reads it.

    This changes no value; onnxruntime finds levels only directly before a convolution.
    """
    readers = [replace(op, layer=reader) for reader in op.net.readers(op.layer, op.layer.outputs[0])]
    marks = [levels(reader, 0) for reader in readers if are_multiplied(reader)]
    if not marks or marks[0] is None:
        return tensor
    return rounded(graph, tensor, marks[0])


def rounded(graph: Graph, tensor: str, side: Side) -> str:
    """Return a tensor rounded to levels."""
    written = side.written(graph)
    return graph.node("DequantizeLinear", graph.node("QuantizeLinear", tensor, *written), *written)


def rounded_floats(graph: Graph, tensor: str) -> tuple[onnx.NodeProto, onnx.NodeProto] | None:
    """Return the nodes that round a tensor to levels and convert them to numbers, unless an integer kernel made it.

    Such levels lie in memory as floats do. onnxruntime is slow in taking their maximum, and fast if bytes have
    their channels last.
    """
    after = graph.maker(tensor)
    before = graph.maker(after.input[0]) if after is not None and after.op_type == "DequantizeLinear" else None
    if after is None or before is None or before.op_type != "QuantizeLinear":
        return None
    return (before, after) if _are_floats(graph, before.input[0]) else None


def _are_floats(graph: Graph, tensor: str) -> bool:
    maker = graph.maker(tensor)
    while maker is not None and maker.op_type in ("Relu", "LeakyRelu", "Clip", "MaxPool"):
        maker = graph.maker(maker.input[0])
    if maker is None:
        return True
    if maker.op_type == "Conv":
        return small_weights.held(graph, maker.input[1]) is None
    sources = (graph.maker(name) for name in maker.input)
    return any(source is None or source.op_type != "DequantizeLinear" for source in sources)
