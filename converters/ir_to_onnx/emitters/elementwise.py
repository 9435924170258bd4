"""Constants and conversions, functions of a single tensor, and arithmetic on two tensors, with broadcasting."""

from __future__ import annotations

import math
from collections.abc import Callable

import ml_dtypes
import numpy as np

from ir_interp.ir.interpolates import read_constant
from ir_interp.ir.ir_files import NF4

from ...onnx import operators
from ...onnx.onnx_graph import Graph
from ...onnx.operators import NodeTensor, as_dtype, node, scalar
from .. import layers, small_weights
from ..layers import WHOLE, Op, as_type, operand, tensor

_SINCE = {"float8_e4m3fn": 19, "float8_e5m2": 19, "int4": 21, "uint4": 21, "nf4": 21}  # operator sets with the type
_HALVES = ("float16", "bfloat16")
_FEW = 2**10  # elements, for which a Cast to float32 would take more bytes than half precision saves
_NARROW = ("int16", "int8", "uint16", "uint8")


def _const(graph: Graph, op: Op) -> str:
    """Keep the type of the file, so that half precision is stored and converted to float32; a few numbers at once."""
    op.read.update(("element_type", "shape", "offset", "size"))  # by the net
    stored, used = op.layer.outputs[0].dtype or "", op.result_dtype()
    op.needs(_SINCE.get(stored, 0), graph.opset, f"element type {stored}")
    value = read_constant(op.layer, op.net.binary)
    if stored == "nf4":
        codes = graph.constant(np.searchsorted(NF4, value).astype(ml_dtypes.uint4), name=op.layer.name)
        return graph.node("Gather", graph.constant(NF4), operators.cast(graph, codes, "int32"))
    if stored in _HALVES and value.size <= _FEW:
        return graph.constant(value.astype(used), name=op.layer.name)
    name = graph.constant(value, name=op.layer.name)
    return name if stored == used else operators.cast(graph, name, used)


def _convert(graph: Graph, op: Op) -> str:
    """Cast; numbers beyond a narrow integer wrap around, as those of 32 bits do."""
    source, target, x = op.dtype(), op.result_dtype(), op.inputs[0]
    if source == target:
        return x
    # ONNX leaves a cast of floats beyond the range of an integer open; of integers it keeps the lowest bits.
    if target in _NARROW and source not in WHOLE:
        x = operators.cast(graph, x, "int32")
    return operators.cast(graph, x, target)


def _promoted(graph: Graph, op: Op) -> tuple[str, ...]:
    """Cast both inputs to the type of their outputs."""
    op.read.update(("promote_unsafe", "pytorch_scalar_promotion", "u64_integer_promotion_target"))  # by OpenVINO
    target = op.result_dtype()
    return tuple(
        source if op.dtype(index) == target else operators.cast(graph, source, target)
        for index, source in enumerate(op.inputs)
    )


def _fake_convert(graph: Graph, op: Op) -> NodeTensor:
    """Round to 8-bit floating-point numbers; scaled and shifted before, and back after."""
    op.needs(19, graph.opset, "8-bit floating point numbers")  # Cast has them since then
    kind = op.word("destination_type", tuple(_EIGHT_BITS), "f8e4m3")
    scale = operand(graph, op, 1)
    x = operand(graph, op) * scale
    x = x - operand(graph, op, 2) if op.has(2) else x
    limit = _LARGEST[kind]
    # A cast to 8 bits may turn larger numbers into infinity or NaN, depending on its saturation.
    x = x.like(operators.clip(graph, x.value, -limit, limit, "float32"))
    x = x.cast("float16").cast(_EIGHT_BITS[kind]).cast("float32")  # OpenVINO rounds twice
    x = x + operand(graph, op, 2) if op.has(2) else x
    return x / scale


_EIGHT_BITS = {"f8e4m3": "float8_e4m3fn", "f8e5m2": "float8_e5m2"}
_LARGEST = {"f8e4m3": 448.0, "f8e5m2": 57344.0}  # the largest finite values of both formats


_Emitter = Callable[[Graph, Op], str | NodeTensor]


def _unary(kind: str) -> _Emitter:
    return lambda graph, op: graph.node(kind, op.inputs[0])


def _rounded(kind: str) -> _Emitter:
    """Round; integers are round."""
    return lambda graph, op: op.inputs[0] if op.dtype() in WHOLE else graph.node(kind, op.inputs[0])


def _relu(graph: Graph, op: Op) -> str:
    if op.dtype() in ("float32", "float64"):
        return graph.node("Relu", op.inputs[0])
    op.needs(12, graph.opset, op.dtype())  # Max takes integers since then
    return graph.node("Max", op.inputs[0], scalar(graph, 0, op.dtype()))


def _round(graph: Graph, op: Op) -> str | NodeTensor:
    x = op.inputs[0]
    if op.dtype() in WHOLE:
        return x
    if op.word("mode", ("half_to_even", "half_away_from_zero"), "half_to_even") == "half_to_even":
        return graph.node("Round", x)
    number = operand(graph, op)
    # The magnitude is rounded, since floor(x + 0.5) would move -2.5 to -2 instead of away from 0.
    magnitude = (abs(number) + 0.5).floor()
    return node("Sign", number) * magnitude


def _clamp(graph: Graph, op: Op) -> str:
    """Limit to a range; the limits of integers are integers, in narrow types as a conversion makes them."""
    low, high, dtype = op.real("min"), op.real("max"), op.dtype()
    if dtype in WHOLE:
        limits = np.iinfo(as_dtype(dtype))
        low, high = (min(max(limit, limits.min), limits.max) for limit in (low, high))
        least, most = (math.trunc, math.trunc) if limits.bits < 32 else (math.ceil, math.floor)
        low, high = min(least(low), most(high)), most(high)
        op.needs(12, graph.opset, dtype)  # Clip takes integers since then
    return operators.clip(graph, op.inputs[0], low, high, dtype)


def _elu(graph: Graph, op: Op) -> str:
    return graph.node("Elu", op.inputs[0], alpha=op.real("alpha"))


def _number(op: Op, index: int, what: str) -> float | None:
    """Return the single number of an input; None if it is known only at run time."""
    value = op.value(index)
    return None if value is None else float(value.ravel()[0])


def _selu(graph: Graph, op: Op) -> str:
    alpha, gamma = _number(op, 1, "alpha"), _number(op, 2, "lambda")
    if alpha is None or gamma is None:
        raise op.refusal("alpha or lambda is known only at run time")
    return graph.node("Selu", op.inputs[0], alpha=alpha, gamma=gamma)


def _hard_sigmoid(graph: Graph, op: Op) -> str | NodeTensor:
    alpha, beta = _number(op, 1, "alpha"), _number(op, 2, "beta")
    if alpha is not None and beta is not None:
        return graph.node("HardSigmoid", op.inputs[0], alpha=alpha, beta=beta)
    # HardSigmoid takes its numbers as attributes, so numbers of run time need the formula.
    x, slope, shift = (operand(graph, op, index) for index in range(3))
    return _clipped(x * slope + shift, 1)


def _clipped(x: NodeTensor, high: int) -> NodeTensor:
    return node("Clip", x, x.of(0), x.of(high))


def _hsigmoid(graph: Graph, op: Op) -> NodeTensor:
    return _sixths(operand(graph, op))


def _sixths(x: NodeTensor) -> NodeTensor:
    return _clipped(x + 3, 6) / 6


def _hswish(graph: Graph, op: Op) -> str | NodeTensor:
    if graph.opset >= 14:  # which brought HardSwish
        return graph.node("HardSwish", op.inputs[0])
    x = operand(graph, op)
    return x * _sixths(x)


def _swish(graph: Graph, op: Op) -> NodeTensor:
    x = operand(graph, op)
    scaled = x * operand(graph, op, 1) if op.has(1) and _number(op, 1, "beta") != 1 else x
    return x * node("Sigmoid", scaled)


def _mish(graph: Graph, op: Op) -> str | NodeTensor:
    if graph.opset >= 18:  # which brought Mish
        return graph.node("Mish", op.inputs[0])
    x = operand(graph, op)
    return x * node("Tanh", node("Softplus", x))


def _gelu(graph: Graph, op: Op) -> str | NodeTensor:
    form = op.word("approximation_mode", ("erf", "tanh"), "erf")
    if graph.opset >= 20:  # which brought Gelu
        return graph.node("Gelu", op.inputs[0], approximate="tanh" if form == "tanh" else None)
    x = operand(graph, op)
    share = _GELU[form](x)
    return x * 0.5 * (share + 1)


def _gelu_erf(x: NodeTensor) -> NodeTensor:
    return node("Erf", x * math.sqrt(0.5))


def _gelu_tanh(x: NodeTensor) -> NodeTensor:
    return node("Tanh", (x + x * x * x * 0.044715) * math.sqrt(2 / math.pi))


_GELU = {"erf": _gelu_erf, "tanh": _gelu_tanh}


def _is_inf(graph: Graph, op: Op) -> str:
    negative, positive = (op.flag(f"detect_{sign}", True) for sign in ("negative", "positive"))
    return graph.node("IsInf", op.inputs[0], detect_negative=int(negative), detect_positive=int(positive))


def _is_finite(graph: Graph, op: Op) -> NodeTensor:
    x = operand(graph, op)
    return ~(node("IsNaN", x, dtype="bool") | node("IsInf", x, dtype="bool"))


def _bitwise_not(graph: Graph, op: Op) -> str:
    if op.dtype() == "bool":
        return graph.node("Not", op.inputs[0])
    op.needs(18, graph.opset)  # which brought BitwiseNot
    return graph.node("BitwiseNot", op.inputs[0])


def _along_axis(kind: str, default: int) -> _Emitter:
    def emit(graph: Graph, op: Op) -> str:
        rank = op.rank()
        axis = op.from_first(op.integer("axis", default), rank)
        return operators.softened(graph, op.inputs[0], axis, rank, kind)

    return emit


_SAME_NAME = (
    "Abs Acos Acosh Asin Asinh Atan Atanh Cos Cosh Erf Exp Log Sigmoid Sign Sin Sinh Sqrt Tan Tanh IsNaN Identity"
)
_RENAMED = {"Negative": "Neg", "LogicalNot": "Not", "SoftPlus": "Softplus", "SoftSign": "Softsign"}


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
    if op.word("auto_broadcast", small_weights.BROADCASTS, "numpy") != "pdpd":
        return op.inputs[1]
    axis, rank, second_rank = op.integer(small_weights.PDPD_AXIS, 0), op.rank(0), op.rank(1)
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
    number = tensor(graph, x, wide)
    is_negative = number < 0
    size = is_negative.where(-number - 1, number)
    moved = tensor(graph, _shifted(graph, size.value, y, f"u{wide}", "RIGHT"), f"u{wide}").cast(wide)
    return str(as_type(is_negative.where(-moved - 1, moved), op.dtype()).value)


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
        return small_weights.known_extreme(graph, kind, x, y) or graph.node(kind, x, y)

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
    dividend, divisor = (tensor(graph, name, op.dtype()) for name in (x, y))
    return str((dividend - divisor * (dividend / divisor).floor()).value)


def _squared_difference(graph: Graph, op: Op, x: str, y: str) -> str:
    _refuse_narrow(op)
    difference = tensor(graph, x, op.dtype()) - tensor(graph, y, op.dtype())
    return str((difference * difference).value)


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
        slope = layers.reshaped(graph, op, slope, [other[0], *[1] * (len(shape) - 2)])
    return graph.node("PRelu", op.inputs[0], slope)


def _stored_or_merged(graph: Graph, op: Op) -> str | None:
    stored = small_weights.read(op.net, op.layer)
    aligned = op.word("auto_broadcast", small_weights.BROADCASTS, "numpy") != "pdpd"
    if aligned and stored is not None and stored.since <= graph.opset:
        return stored.written(graph, op.layer.name)
    return small_weights.absorbed_factor(graph, op)


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


TABLE = {
    "Const": _const,
    "Convert": _convert,
    "ConvertLike": _convert,
    "ConvertPromoteTypes": _promoted,
    "FakeConvert": _fake_convert,
    **{name: _unary(name) for name in _SAME_NAME.split()},
    **{name: _unary(kind) for name, kind in _RENAMED.items()},
    "Ceiling": _rounded("Ceil"),
    "Floor": _rounded("Floor"),
    "Round": _round,
    "ReLU": _relu,
    "Clamp": _clamp,
    "Elu": _elu,
    "Selu": _selu,
    "HardSigmoid": _hard_sigmoid,
    "HSigmoid": _hsigmoid,
    "HSwish": _hswish,
    "Swish": _swish,
    "Mish": _mish,
    "Gelu": _gelu,
    "IsInf": _is_inf,
    "IsFinite": _is_finite,
    "BitwiseNot": _bitwise_not,
    "SoftMax": _along_axis("Softmax", 1),
    "LogSoftmax": _along_axis("LogSoftmax", 1),
    **{kind: _broadcasting(write) for kind, write in _BINARY.items()},
    "Add": _merging(small_weights.absorbed_summand, _BINARY["Add"]),
    "Multiply": _merging(_stored_or_merged, _BINARY["Multiply"]),
    "Maximum": _merging(small_weights.limited_below, _BINARY["Maximum"]),
    "Minimum": _merging(small_weights.limited_above, _BINARY["Minimum"]),
    "PReLU": _prelu,
}
