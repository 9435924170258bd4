"""Integers that a model computes where OpenVINO's CPU plugin rounds otherwise than ONNX.

It computes float64 in float32, and a quotient of floats as a product with the reciprocal. Either may be off by the last
bit, and an integer that is made of it by 1: another output size, or another row of the image. It divides integers in
float32 as well, which does not hold those beyond 2**24: sums of an integer resize, before they are rounded.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import openvino as ov
import openvino.opset13 as ops

from ir_interp.errors import SpecError, UnsupportedLayerError
from ir_interp.plan.axes.scaled_lengths import Factor, first_wrong_size, formula_steps

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
_FORMULAS = ("Add", "Divide", "Multiply", "Subtract")


def settle_integers(model: ov.Model, exact: frozenset[str]) -> list[ov.Node]:
    """Change a model in place; return the new nodes, whose constants must stay exact.

    Those named in ``exact`` are left alone: resizes, which are built of operations that the plugin computes correctly.
    """
    before = {node.get_name() for node in nodes_of(model)}
    for node in list(nodes_of(model)):
        if node.get_friendly_name() in exact:
            continue
        if node.get_type_name() in _FORMULAS and _element(node) == "f64":
            _compute_exactly(node)
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


def _compute_exactly(node: ov.Node) -> None:
    """Replace an integer that is made of a size by a formula of float64 by the same in float32 steps.

    Raises UnsupportedLayerError for a formula without such steps that float32 computes otherwise.
    """
    ends = [port.get_node() for port in node.output(0).get_target_inputs()]
    ends = [end for end in ends if _truncates(end)]
    formula = _formula(node) if ends else None
    if formula is None:
        return
    size, factors = formula
    try:
        steps = formula_steps(factors)
    except SpecError:
        wrong = first_wrong_size(factors)
        if wrong is None:
            return
        problem = f"a size that is computed in float64, which OpenVINO computes in float32: of {wrong} it makes another"
        raise UnsupportedLayerError(f"{problem} integer; compute it from integers", node.get_friendly_name()) from None
    rank = size.get_partial_shape().rank.get_length()
    column = OPS.unsqueeze(OPS.convert(size, "float32"), [rank])
    length = steps.of(Tensor(OPS, column), Functions(OPS)).take(0, rank)
    for end in ends:
        end.output(0).replace(ops.convert(length.value, _element(end)).output(0))


def _formula(node: ov.Node) -> tuple[ov.Output, tuple[Factor, ...]] | None:
    """Return the size, and the steps that a number is made of it by; None if it is made otherwise."""
    factors: list[Factor] = []
    while node.get_type_name() in _FORMULAS:
        values = [node.input_value(place).get_node() for place in (0, 1)]
        places = [place for place in (0, 1) if _is_number(values[place])]
        is_ordered = places == [1] or (places == [0] and node.get_type_name() in ("Multiply", "Add"))
        if not is_ordered:
            return None
        number = float(values[places[0]].data.item())
        factors.insert(0, (node.get_type_name().lower(), number))
        node = values[1 - places[0]]
    if node.get_type_name() != "Convert" or not node.input_value(0).get_element_type().is_integral_number():
        return None
    size = node.input_value(0)
    return (size, tuple(factors)) if size.get_partial_shape().rank.is_static else None


def _is_number(node: ov.Node) -> bool:
    """Return whether a node is a constant number; a vector of one would raise the rank of what it is added to."""
    return node.get_type_name() == "Constant" and bool(node.data.size == 1 and node.data.ndim <= 1)


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
    sources = list(_sources(node))
    ends = {part.get_type_name() for part in sources if part.get_type_name() in _OF_SIZES or not part.get_input_size()}
    return "ShapeOf" in ends and ends <= set(_OF_SIZES)  # others are inputs and states


def _has_range(node: ov.Node) -> bool:
    """Return whether the number of elements of a value follows from a size."""
    return any(part.get_type_name() == "Range" for part in _sources(node))


def _sources(node: ov.Node) -> Iterator[ov.Node]:
    """Yield the nodes that a value is computed from, up to those of sizes."""
    waiting, seen = [node], set()
    while waiting:
        part = waiting.pop()
        if part.get_name() not in seen:
            seen.add(part.get_name())
            yield part
            if part.get_type_name() not in _OF_SIZES:
                waiting += [part.input_value(place).get_node() for place in range(part.get_input_size())]


def _divide_precisely(node: ov.Node) -> None:
    """Let a quotient be rounded as IEEE 754 specifies; its shape stays as it is known."""
    dividend, divisor = node.input_value(0), node.input_value(1)
    shape = node.get_output_partial_shape(0)
    if shape.rank.is_dynamic:
        return
    readers = list(node.output(0).get_target_inputs())
    if _element(node) == "f64":
        dividend, divisor = (OPS.convert(x, "float32") for x in (dividend, divisor))
    is_scalar = shape.rank.get_length() == 0
    vector = OPS.elementwise("divide", OPS.unsqueeze(dividend, [0]) if is_scalar else dividend, divisor)
    result = OPS.precisely(vector)
    if is_scalar or (shape == ov.PartialShape([1]) and not _has_range(node)):
        # Only these keep their shape when an IR is reshaped.
        result = OPS.reshape(result, OPS.constant(np.array(list(shape.to_shape()), np.int64)))
    result = OPS.convert(result, "float64") if _element(node) == "f64" else result
    for reader in readers:
        reader.replace_source_output(result)
