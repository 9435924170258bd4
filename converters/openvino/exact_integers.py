"""Integers that a model computes where OpenVINO's CPU plugin rounds otherwise than ONNX.

It computes float64 in float32, and a quotient of floats as a product with the reciprocal. Either may be off by the last
bit, and an integer that is made of it by 1: another output size, or another row of the image. It divides integers in
float32 as well, which does not hold those beyond 2**24: sums of an integer resize, before they are rounded.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import numpy as np
import openvino as ov
import openvino.opset13 as ops

from ir_interp.errors import SpecError
from ir_interp.plan.axes.scaled_lengths import length_steps

from ..decompose.tensor import Functions, Tensor
from .node_names import nodes_of
from .openvino_primitives import OPS

_OF_SIZES = ("Constant", "ShapeOf")
_ROUNDED = ("Ceiling", "Equal", "Floor", "FloorMod", "Greater", "GreaterEqual", "Less", "LessEqual", "Mod", "Round")
_BETWEEN = (
    *("Abs", "Add", "Clamp", "Maximum", "Minimum", "Multiply", "Negative", "Sign", "Subtract"),
    *("Broadcast", "Concat", "Convert", "Gather", "Reshape", "Squeeze", "Unsqueeze"),
)
_FLOATS = ("f32", "f64")


def settle_integers(model: ov.Model) -> list[ov.Node]:
    """Change a model in place; return the new nodes, whose constants must stay exact."""
    before = {node.get_name() for node in nodes_of(model)}
    for node in list(nodes_of(model)):
        if node.get_type_name() == "Multiply" and _element(node) == "f64":
            _scale_exactly(node)
        elif node.get_type_name() == "Divide" and _element(node) in _FLOATS and _decides(node):
            _divide_precisely(node)
        elif node.get_type_name() == "Divide" and _element(node) == "i32":
            _shift(node)
    return [node for node in nodes_of(model) if node.get_name() not in before]


def _shift(node: ov.Node) -> None:
    """Replace the quotient of integers by a power of 2, which the CPU plugin truncates, by a shift."""
    dividend, divisor = node.input_value(0), node.input_value(1).get_node()
    if divisor.get_type_name() != "Constant" or divisor.data.size != 1:
        return
    power = int(divisor.data.item())
    if power < 2 or power & (power - 1):
        return
    readers = list(node.output(0).get_target_inputs())
    is_negative = ops.less(dividend, ops.constant(np.int32(0)))
    raised = ops.add(dividend, ops.select(is_negative, ops.constant(np.int32(power - 1)), ops.constant(np.int32(0))))
    quotient = OPS.shifted(raised.output(0), power.bit_length() - 1)
    for reader in readers:
        reader.replace_source_output(quotient)


def _element(node: ov.Node) -> str:
    return str(node.get_output_element_type(0).get_type_name())


def _scale_exactly(node: ov.Node) -> None:
    """Replace floor(size * scale) of float64 by the same in float32 steps."""
    pairs = ((node.input_value(place), node.input_value(1 - place)) for place in (0, 1))
    for scale, data in pairs:
        source, number = data.get_node(), scale.get_node()
        if number.get_type_name() != "Constant" or number.data.size != 1 or source.get_type_name() != "Convert":
            continue
        size, rank = source.input_value(0), data.get_partial_shape().rank
        value = float(number.data.item())
        ends = [port.get_node() for port in node.output(0).get_target_inputs()]
        ends = [end for end in ends if _truncates(end)]
        is_size = size.get_element_type().is_integral_number() and rank.is_static and value > 0
        if not ends or not is_size or number.data.ndim > rank.get_length():
            return
        with suppress(SpecError):  # the proof then decides
            column = OPS.unsqueeze(OPS.convert(size, "float32"), [rank.get_length()])
            length = length_steps(value).of(Tensor(OPS, column), Functions(OPS)).take(0, rank.get_length())
            for end in ends:
                end.output(0).replace(ops.convert(length.value, _element(end)).output(0))
        return


def _truncates(node: ov.Node) -> bool:
    """Return whether a node rounds numbers of 0 or more down."""
    return node.get_type_name() == "Floor" or _converts_to_integers(node)


def _converts_to_integers(node: ov.Node) -> bool:
    return node.get_type_name() == "Convert" and bool(node.get_output_element_type(0).is_integral_number())


def _decides(node: ov.Node) -> bool:
    """Return whether a quotient is computed from sizes alone, and an integer is made of it."""
    return _follows_from_sizes(node) and any(map(_rounds, _readers(node)))


def _readers(node: ov.Node) -> Iterator[ov.Node]:
    """Yield the nodes that read a number, unchanged or after additions and products."""
    waiting, seen = [node], set()
    while waiting:
        for port in waiting.pop().output(0).get_target_inputs():
            reader = port.get_node()
            if reader.get_name() not in seen:
                seen.add(reader.get_name())
                yield reader
                waiting += [reader] if reader.get_type_name() in _BETWEEN and _element(reader) in _FLOATS else []


def _rounds(node: ov.Node) -> bool:
    return node.get_type_name() in _ROUNDED or _converts_to_integers(node)


def _follows_from_sizes(node: ov.Node) -> bool:
    """Return whether sizes and constants, but no data, determine a value that is not constant."""
    waiting, seen, has_sizes = [node], set(), False
    while waiting:
        part = waiting.pop()
        if part.get_name() in seen:
            continue
        seen.add(part.get_name())
        if part.get_type_name() in _OF_SIZES:
            has_sizes |= part.get_type_name() == "ShapeOf"
        elif not part.get_input_size():
            return False  # an input, or a state
        else:
            waiting += [part.input_value(place).get_node() for place in range(part.get_input_size())]
    return has_sizes


def _divide_precisely(node: ov.Node) -> None:
    dividend, divisor = node.input_value(0), node.input_value(1)
    rank = node.output(0).get_partial_shape().rank
    if rank.is_dynamic:
        return
    readers = list(node.output(0).get_target_inputs())
    if _element(node) == "f64":
        dividend, divisor = (OPS.convert(x, "float32") for x in (dividend, divisor))
    vector = OPS.elementwise("divide", OPS.unsqueeze(dividend, [0]) if not rank.get_length() else dividend, divisor)
    precise = OPS.precisely(vector)
    result = precise if rank.get_length() else ops.squeeze(precise, np.array([0])).output(0)
    result = OPS.convert(result, "float64") if _element(node) == "f64" else result
    for reader in readers:
        reader.replace_source_output(result)
