"""FakeQuantize: as integers if they compute the same, else in the arithmetic of OpenVINO's CPU plugin."""

from __future__ import annotations

import numpy as np
import onnx
from numpy.typing import NDArray

from ir_interp.ir.ir_files import tensor_name

from ...onnx import low_precision as in_levels
from ...onnx.onnx_graph import Graph
from .. import integer_layers, small_weights
from ..integer_layers import Ranges, Side
from ..layers import Op
from ..small_weights import BROADCASTS

_Numbers = NDArray[np.float32]
_SINCE_AXIS = 13  # QuantizeLinear has an axis since then
_ONE = Side(scale=np.ones((), np.float32), zero=np.zeros(()))
"""Bytes as numbers."""


def _fake_quantize(graph: Graph, op: Op) -> str:
    if op.word("auto_broadcast", BROADCASTS, "numpy") == "pdpd":
        raise op.refusal("it aligns axes like pdpd")
    levels = integer_layers.read_ranges(op)
    if levels is None:
        raise op.refusal("its ranges are known only at run time")
    # The first that computes the same: the fewest operations first.
    return _in_integers(graph, op, levels) or _in_channels(graph, op, levels) or _in_floats(graph, op, levels)


def _in_integers(graph: Graph, op: Op, levels: Ranges) -> str | None:
    """Return QuantizeLinear and DequantizeLinear, for constants only the latter; None if they compute something else.

    They are the same where zero is a level, except for some ranges that differ right between two levels.
    """
    axis, before, after = levels.axis, levels.before, levels.after
    if before is None or after is None or axis is None:
        return None
    source = op.net.source(op.layer, 0)
    stored = small_weights.constant(op.net, source[0]) if source else None
    if stored is not None:
        return _stored(graph, op, levels.of(stored.astype(np.float32)), after, axis)
    if before.parts_at_ties:
        return None
    return _rounded(graph, op, levels, before, after)


def _stored(graph: Graph, op: Op, numbers: _Numbers, after: Side, axis: int) -> str | None:
    """Return levels of constants, which are signed if the middle one is zero."""
    along = axis if after.scale.ndim else None
    if along is not None and graph.opset < _SINCE_AXIS:
        return None
    # Weights of a zero in the middle become signed integers without a zero point.
    middle = op.integer("levels") // 2
    first = -middle if (after.zero == middle).all() else 0
    x = graph.constant((numbers + first).astype(integer_layers.level_type(first)), name=op.layer.name)
    return graph.node("DequantizeLinear", x, *after.written(graph, first), axis=along)


def _rounded(graph: Graph, op: Op, levels: Ranges, before: Side, after: Side) -> str | None:
    """Return values rounded to levels, as numbers again.

    Integers are unsigned, and have one scale where a convolution of integers produces them: onnxruntime fails on one
    before a QuantizeLinear of several, and on some signed ones, which it makes unsigned itself.
    """
    # QuantizeLinear limits to 256 levels by itself; fewer are limited before.
    x = op.inputs[0] if levels.count == integer_layers.MOST else _limited(graph, op.inputs[0], levels)
    if not before.is_single():
        return _of_channels(graph, op, levels, x)
    relu = _movable(graph, op, before, after) if levels.count == integer_layers.MOST else None
    if relu is not None:
        output = integer_layers.rounded(graph, relu.input[0], before)
        return integer_layers.rounded(graph, graph.node("LeakyRelu", output, alpha=0.0), before)
    x = integer_layers.kept_in_floats(graph, op, x, ends_at_zero=levels.end_at_zero)
    x = graph.node("QuantizeLinear", x, *before.written(graph))
    return graph.node("DequantizeLinear", x, *after.written(graph))


def _of_channels(graph: Graph, op: Op, levels: Ranges, x: str) -> str | None:
    """Return levels of a scale for each channel; None if an operator set before 13 has no form for their zeros.

    If a convolution of integers absorbs their scales, before or behind, they are integers of one scale.
    """
    integers = _bytes(graph, op, levels, x)
    if integers is None or levels.after is None:
        return None
    if graph.opset >= _SINCE_AXIS and not integer_layers.are_taken_in(op):
        return graph.node("DequantizeLinear", integers, *levels.after.written(graph), axis=levels.axis)
    result, theirs = tensor_name(op.layer, op.layer.outputs[0]), levels.after.in_levels()
    whole = graph.fresh(in_levels.levels_name(result))
    if theirs is not None:
        graph.rename(graph.node("DequantizeLinear", integers, *theirs.written(graph)), whole)
    else:
        counted = _counted(graph, result, integers)
        zero = levels.after.zero.reshape(levels.spread).astype(np.float32)
        graph.rename(graph.node("Sub", counted, graph.constant(zero)), whole)
    return _product(graph, whole, levels.out_step)


def _counted(graph: Graph, result: str, integers: str) -> str:
    """Return bytes as numbers, under a name that verification looks for."""
    counted = graph.fresh(in_levels.counted_name(result))
    graph.rename(graph.node("DequantizeLinear", integers, *_ONE.written(graph)), counted)
    return counted


def _bytes(graph: Graph, op: Op, levels: Ranges, x: str) -> str | None:
    """Return levels of channels as bytes, counted from the lowest: by a convolution whose weights absorb their scales.

    Otherwise by a QuantizeLinear along the axis, or by products if the operator set has none.
    """
    before = None if levels.before is None or levels.before.parts_at_ties else levels.before
    sides = before.in_levels() if before is not None else None
    shift = None if sides is not None else -levels.low * levels.scale
    if before is None and not levels.are_of_channels:
        return None
    is_full = levels.count == integer_layers.MOST
    taken = integer_layers.scaled_before(graph, op, levels.scale, shift) if is_full else None
    if taken is not None:
        return graph.node("QuantizeLinear", taken, *(sides or _ONE).written(graph))
    if graph.opset >= _SINCE_AXIS:
        side = before or levels.from_lowest(np.float32(1) / levels.scale)
        x = x if before is not None else graph.node("Add", x, graph.constant(-levels.low))
        x = integer_layers.kept_in_floats(graph, op, x, ends_at_zero=levels.end_at_zero, of_integers=True)
        return graph.node("QuantizeLinear", x, *side.written(graph), axis=levels.axis)
    if sides is None and not levels.are_of_channels:
        return None
    scaled = _product(graph, x, levels.scale) if shift is None else _line(graph, x, levels.scale, shift)
    scaled = integer_layers.kept_in_floats(graph, op, scaled)
    return graph.node("QuantizeLinear", scaled, *(sides or _ONE).written(graph))


def _movable(graph: Graph, op: Op, before: Side, after: Side) -> onnx.NodeProto | None:
    """Return a Relu without other readers that can as well follow the rounding of a convolution of integers.

    If zero is not the lowest level, onnxruntime does not see that a Relu only limits levels, and multiplies floats.
    Rounding keeps the order of values and zero, so limiting afterwards gives the same; a LeakyRelu with slope 0 is one
    that onnxruntime looks up for each level.
    """
    node = graph.maker(op.inputs[0])
    if before.zero == 0 or not before.equals(after) or node is None or node.op_type != "Relu":
        return None
    source = graph.maker(node.input[0])
    is_of_integers = source is not None and source.op_type == "Conv" and small_weights.held(graph, source.input[1])
    return node if is_of_integers and integer_layers.is_alone(op) else None


def _in_channels(graph: Graph, op: Op, levels: Ranges) -> str | None:
    """Return levels of bytes that are shifted in floats, each channel by its own; None if bytes are no gain.

    QuantizeLinear limits and rounds just as FakeQuantize does: two operations instead of three; and if a convolution
    produces its input, that becomes one of integers.
    """
    if not levels.are_of_channels or _is_constant(op):
        return None
    if levels.after is not None:
        return _of_channels(graph, op, levels, op.inputs[0])
    integers = _bytes(graph, op, levels, op.inputs[0])
    if integers is None or graph.opset < _SINCE_AXIS:
        counted = integers and _counted(graph, tensor_name(op.layer, op.layer.outputs[0]), integers)
        return counted and _line(graph, counted, levels.out_step, levels.out_low)
    steps = levels.from_lowest(levels.out_step).written(graph)
    whole = graph.node("DequantizeLinear", integers, *steps, axis=levels.axis)
    return graph.node("Add", whole, graph.constant(levels.out_low))


def _is_constant(op: Op) -> bool:
    source = op.net.source(op.layer, 0)
    return source is not None and small_weights.constant(op.net, source[0]) is not None


def _product(graph: Graph, x: str, factors: _Numbers) -> str:
    constant = graph.constant(factors)
    graph.exact.add(constant)  # in half precision, the factors would move the levels
    return graph.node("Mul", x, constant)


def _in_floats(graph: Graph, op: Op, levels: Ranges) -> str:
    """Limit, scale and shift, round half to even, scale and shift back."""
    x = _line(graph, _limited(graph, op.inputs[0], levels), levels.scale, -levels.low * levels.scale)
    return _line(graph, graph.node("Round", x), levels.out_step, levels.out_low)


def _limited(graph: Graph, x: str, levels: Ranges) -> str:
    low, high = levels.bounds
    return graph.node("Min", graph.node("Max", x, graph.constant(low)), graph.constant(high))


def _line(graph: Graph, x: str, scale: _Numbers, shift: _Numbers) -> str:
    """Return x * scale + shift, without operations that change nothing."""
    if np.any(scale != 1):
        x = graph.node("Mul", x, graph.constant(scale))
    return graph.node("Add", x, graph.constant(shift)) if np.any(shift != 0) else x


TABLE = {"FakeQuantize": _fake_quantize}
