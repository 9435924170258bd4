"""Arithmetic, comparisons and logic on two tensors, with broadcasting."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...onnx import operators
from ...onnx.graph import Graph
from .. import layer_inputs, merged
from ..layer import WHOLE, Op
from ..quantised import small_weights

_Binary = Callable[[Graph, Op, str, str], str]


def _broadcasting(write: _Binary) -> Callable[[Graph, Op], str]:
    """Accept any kind of broadcasting."""
    return lambda graph, op: write(graph, op, op.inputs[0], _aligned(graph, op))


def _merging(merge: Callable[[Graph, Op], str | None], write: _Binary) -> Callable[[Graph, Op], str]:
    """Let the preceding node absorb a constant if it can."""
    emit = _broadcasting(write)
    return lambda graph, op: merge(graph, op) or emit(graph, op)


PDPD_TYPES = frozenset(
    ("add", "multiply", "divide", "maximum", "minimum", "squareddifference", "floormod", "mod", "power")
)
"""Layers in which OpenVINO's CPU plugin aligns as pdpd states (2026.4); in the others it does as numpy."""


def _aligned(graph: Graph, op: Op) -> str:
    """Return the second operand; pdpd aligns it with the first from an axis on, by default the first."""
    if op.word("auto_broadcast", merged.BROADCASTS, "numpy") != "pdpd":
        return op.inputs[1]
    axis, rank, second_rank = op.integer(merged.PDPD_AXIS, 0), op.rank(0), op.rank(1)
    if axis < 0:  # with the last axes, as numpy does
        return op.inputs[1]
    if axis + second_rank > rank:
        raise op.refusal(f"pdpd aligns {second_rank} axes from axis {axis} on with {rank}")
    if axis + second_rank < rank and op.layer.type.lower() not in PDPD_TYPES:
        raise op.refusal(f"OpenVINO ignores pdpd in {op.layer.type}, and aligns the last axes")
    return operators.unsqueeze(graph, op.inputs[1], range(second_rank, rank - axis))


def _node(kind: str, **attributes: int) -> _Binary:
    return lambda graph, op, x, y: graph.node(kind, x, y, **attributes)


def _bitwise(kind: str) -> _Binary:
    """Combine bits; ONNX has other nodes for booleans."""

    def write(graph: Graph, op: Op, x: str, y: str) -> str:
        if op.dtype() == "bool":
            return graph.node(kind, x, y)
        op.needs(18, graph.opset)  # which brought BitwiseAnd, BitwiseOr and BitwiseXor
        return graph.node(f"Bitwise{kind}", x, y)

    return write


def _shift(direction: str) -> _Binary:
    """Shift bits; ONNX shifts unsigned integers only."""

    def write(graph: Graph, op: Op, x: str, y: str) -> str:
        dtype = op.dtype()
        if dtype.startswith("u"):
            return graph.node("BitShift", x, y, direction=direction)
        if direction == "LEFT":
            moved = _shifted(graph, x, y, f"u{dtype}", direction)
            return operators.cast(graph, moved, dtype)
        return _halved(graph, op, x, y)

    return write


def _halved(graph: Graph, op: Op, x: str, y: str) -> str:
    """Shift signed integers to the right; negative ones by way of -1 - x, which inverts all bits."""
    wide = "int64" if op.dtype() == "int64" else "int32"
    x = x if op.dtype() == wide else operators.cast(graph, x, wide)
    one, zero = (operators.scalar(graph, number, wide) for number in (1, 0))
    is_negative = graph.node("Less", x, zero)
    size = graph.node("Where", is_negative, graph.node("Sub", graph.node("Neg", x), one), x)
    moved = operators.cast(graph, _shifted(graph, size, y, f"u{wide}", "RIGHT"), wide)
    output = graph.node("Where", is_negative, graph.node("Sub", graph.node("Neg", moved), one), moved)
    return output if op.dtype() == wide else operators.cast(graph, output, op.dtype())


def _shifted(graph: Graph, x: str, y: str, unsigned: str, direction: str) -> str:
    operands = (operators.cast(graph, operand, unsigned) for operand in (x, y))
    return graph.node("BitShift", *operands, direction=direction)


def _saturating(kind: str) -> _Binary:
    """Compute; values beyond 8 bits saturate."""

    def write(graph: Graph, op: Op, x: str, y: str) -> str:
        dtype = op.dtype()
        if dtype not in ("int8", "uint8"):
            return graph.node(kind, x, y)
        if op.text("auto_broadcast").lower() == "pdpd" and op.rank(0) != op.rank(1):
            raise op.refusal(f"OpenVINO lets {dtype} wrap around where pdpd aligns fewer axes, and saturates elsewhere")
        op.needs(12, graph.opset, dtype)  # Clip takes integers since then
        # Sums and products of 8 bits fit into 32, where they are limited before they are narrowed.
        wide = graph.node(kind, *(operators.cast(graph, operand, "int32") for operand in (x, y)))
        limits = np.iinfo(dtype)
        return operators.cast(graph, operators.clip(graph, wide, limits.min, limits.max, "int32"), dtype)

    return write


def _extreme(kind: str) -> _Binary:
    def write(graph: Graph, op: Op, x: str, y: str) -> str:
        op.needs(12 if op.dtype() in WHOLE else 0, graph.opset, op.dtype())
        if op.dtype() in ("int16", "uint16"):
            raise op.refusal(f"onnxruntime has no {kind} of {op.dtype()}")
        return merged.known_extreme(graph, kind, x, y) or graph.node(kind, x, y)

    return write


def _power(graph: Graph, op: Op, x: str, y: str) -> str:
    _refuse_narrow(op)
    op.needs(12 if op.dtype() in WHOLE else 0, graph.opset, op.dtype())
    return graph.node("Pow", x, y)


def _refuse_narrow(op: Op) -> None:
    if op.dtype() not in ("float32", "int32", "int64"):
        raise op.refusal(f"no form of {op.dtype()} computes what OpenVINO does")


def _negated(kind: str) -> _Binary:
    return lambda graph, op, x, y: graph.node("Not", graph.node(kind, x, y))


def _or_equal(kind: str) -> _Binary:
    """Compare by a node of operator set 12, or by two: "not less" would be true of NaN."""

    def write(graph: Graph, op: Op, x: str, y: str) -> str:
        if graph.opset >= 12:
            return graph.node(f"{kind}OrEqual", x, y)
        return graph.node("Or", graph.node(kind, x, y), graph.node("Equal", x, y))

    return write


def _mod(graph: Graph, op: Op, x: str, y: str) -> str:
    # With fmod, the result takes the sign of the dividend, as in OpenVINO.
    return graph.node("Mod", x, y, fmod=1)


def _divide(graph: Graph, op: Op, x: str, y: str) -> str:
    """Divide, integers towards zero: OpenVINO's CPU plugin ignores m_pythondiv, except under pdpd."""
    if op.dtype() in WHOLE and op.text("auto_broadcast").lower() == "pdpd":
        raise op.refusal("integers are divided under pdpd")
    return graph.node("Div", x, y)


def _floor_mod(graph: Graph, op: Op, x: str, y: str) -> str:
    if op.dtype() in WHOLE:
        return graph.node("Mod", x, y)
    whole = graph.node("Floor", graph.node("Div", x, y))
    return graph.node("Sub", x, graph.node("Mul", y, whole))


def _squared_difference(graph: Graph, op: Op, x: str, y: str) -> str:
    _refuse_narrow(op)
    difference = graph.node("Sub", x, y)
    return graph.node("Mul", difference, difference)


def _prelu(graph: Graph, op: Op) -> str:
    """Scale negative values; a vector of slopes belongs to the channels.

    A single slope is a LeakyRelu, which onnxruntime fuses with the convolution before it.
    """
    known, slope, shape, other = op.value(1), op.inputs[1], op.shape(0), op.shape(1)
    if known is not None and known.size and known.dtype.kind == "f" and (known == known.flat[0]).all():
        return graph.node("LeakyRelu", op.inputs[0], alpha=float(known.flat[0]))
    if shape is None or other is None:
        raise op.refusal("the ranks of its inputs are unknown")
    # ONNX broadcasts from the last axis on, where a vector would meet the width.
    if len(other) == 1 and len(shape) > 2 and other[0] != 1:
        slope = layer_inputs.reshaped(graph, op, slope, [other[0], *[1] * (len(shape) - 2)])
    return graph.node("PRelu", op.inputs[0], slope)


def _stored_or_merged(graph: Graph, op: Op) -> str | None:
    stored = small_weights.read(op.net, op.layer)
    aligned = op.word("auto_broadcast", merged.BROADCASTS, "numpy") != "pdpd"
    if aligned and stored is not None and stored.since <= graph.opset:
        return stored.written(graph, op.layer.name)
    return merged.multiplied(graph, op)


_BINARY: dict[str, _Binary] = {
    "Add": _saturating("Add"),
    "Subtract": _saturating("Sub"),
    "Multiply": _saturating("Mul"),
    "Divide": _divide,
    "Power": _power,
    "Maximum": _extreme("Max"),
    "Minimum": _extreme("Min"),
    "Mod": _mod,
    "FloorMod": _floor_mod,
    "SquaredDifference": _squared_difference,
    "Equal": _node("Equal"),
    "NotEqual": _negated("Equal"),
    "Greater": _node("Greater"),
    "GreaterEqual": _or_equal("Greater"),
    "Less": _node("Less"),
    "LessEqual": _or_equal("Less"),
    "LogicalAnd": _node("And"),
    "LogicalOr": _node("Or"),
    "LogicalXor": _node("Xor"),
    "BitwiseLeftShift": _shift("LEFT"),
    "BitwiseRightShift": _shift("RIGHT"),
    **{f"Bitwise{kind}": _bitwise(kind) for kind in ("And", "Or", "Xor")},
}

TABLE = {kind: _broadcasting(write) for kind, write in _BINARY.items()} | {
    "Add": _merging(merged.added, _BINARY["Add"]),
    "Multiply": _merging(_stored_or_merged, _BINARY["Multiply"]),
    "Maximum": _merging(merged.limited_below, _BINARY["Maximum"]),
    "Minimum": _merging(merged.limited_above, _BINARY["Minimum"]),
    "PReLU": _prelu,
}
