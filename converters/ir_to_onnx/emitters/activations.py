"""Elementwise functions of a single tensor, and softmax functions."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ...onnx import operators
from ...onnx.graph import Graph
from ...onnx.onnx_primitives import NodeTensor, node
from ...onnx.operators import as_dtype, scalar
from ..layer import WHOLE, Op
from ..tensors import operand

_Emitter = Callable[[Graph, Op], str | NodeTensor]


def _node(kind: str) -> _Emitter:
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

TABLE: dict[str, _Emitter] = {
    **{name: _node(name) for name in _SAME_NAME.split()},
    **{name: _node(kind) for name, kind in _RENAMED.items()},
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
}
