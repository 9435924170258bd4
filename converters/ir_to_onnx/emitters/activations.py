"""Functions of a single tensor, element by element, and the soft maxima."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ...onnx import operators
from ...onnx.graph import Graph
from ...onnx.operators import as_dtype, scalar
from ..layer import WHOLE, Op

_Emitter = Callable[[Graph, Op], str]


def _node(kind: str) -> _Emitter:
    return lambda graph, op: graph.node(kind, op.inputs[0])


def _rounded(kind: str) -> _Emitter:
    """Round; integers are round."""
    return lambda graph, op: op.inputs[0] if op.dtype() in WHOLE else graph.node(kind, op.inputs[0])


def _relu(graph: Graph, op: Op) -> str:
    if op.dtype() in ("float32", "float64"):
        return graph.node("Relu", op.inputs[0])
    op.needs(12, graph.opset, op.dtype())
    return graph.node("Max", op.inputs[0], scalar(graph, 0, op.dtype()))


def _round(graph: Graph, op: Op) -> str:
    x = op.inputs[0]
    if op.dtype() in WHOLE:
        return x
    if op.word("mode", ("half_to_even", "half_away_from_zero"), "half_to_even") == "half_to_even":
        return graph.node("Round", x)
    size = graph.node("Floor", graph.node("Add", graph.node("Abs", x), scalar(graph, 0.5, op.dtype())))
    return graph.node("Mul", graph.node("Sign", x), size)


def _clamp(graph: Graph, op: Op) -> str:
    """Limit to a range; that of an integer is made of integers, for narrow ones as a conversion makes them."""
    low, high, dtype = op.real("min"), op.real("max"), op.dtype()
    if dtype in WHOLE:
        held = np.iinfo(as_dtype(dtype))
        low, high = (min(max(each, held.min), held.max) for each in (low, high))
        least, most = (math.trunc, math.trunc) if held.bits < 32 else (math.ceil, math.floor)
        low, high = min(least(low), most(high)), most(high)
        op.needs(12, graph.opset, dtype)
    return operators.clip(graph, op.inputs[0], low, high, dtype)


def _elu(graph: Graph, op: Op) -> str:
    return graph.node("Elu", op.inputs[0], alpha=op.real("alpha"))


def _number(op: Op, index: int, what: str) -> float | None:
    """Return an input of one number; None where it is known only at run time."""
    value = op.value(index)
    return None if value is None else float(value.ravel()[0])


def _selu(graph: Graph, op: Op) -> str:
    alpha, gamma = _number(op, 1, "alpha"), _number(op, 2, "lambda")
    if alpha is None or gamma is None:
        raise op.refusal("alpha or lambda is known only at run time")
    return graph.node("Selu", op.inputs[0], alpha=alpha, gamma=gamma)


def _hard_sigmoid(graph: Graph, op: Op) -> str:
    alpha, beta = _number(op, 1, "alpha"), _number(op, 2, "beta")
    if alpha is not None and beta is not None:
        return graph.node("HardSigmoid", op.inputs[0], alpha=alpha, beta=beta)
    line = graph.node("Add", graph.node("Mul", op.inputs[0], op.inputs[1]), op.inputs[2])
    return operators.clip(graph, line, 0, 1, op.dtype())


def _hsigmoid(graph: Graph, op: Op) -> str:
    return _sixths(graph, op, op.inputs[0])


def _sixths(graph: Graph, op: Op, x: str) -> str:
    shifted = graph.node("Add", x, scalar(graph, 3, op.dtype()))
    return graph.node("Div", operators.clip(graph, shifted, 0, 6, op.dtype()), scalar(graph, 6, op.dtype()))


def _hswish(graph: Graph, op: Op) -> str:
    if graph.opset >= 14:
        return graph.node("HardSwish", op.inputs[0])
    return graph.node("Mul", op.inputs[0], _sixths(graph, op, op.inputs[0]))


def _swish(graph: Graph, op: Op) -> str:
    x = op.inputs[0]
    scaled = graph.node("Mul", x, op.inputs[1]) if op.has(1) and _number(op, 1, "beta") != 1 else x
    return graph.node("Mul", x, graph.node("Sigmoid", scaled))


def _mish(graph: Graph, op: Op) -> str:
    if graph.opset >= 18:
        return graph.node("Mish", op.inputs[0])
    return graph.node("Mul", op.inputs[0], graph.node("Tanh", graph.node("Softplus", op.inputs[0])))


def _gelu(graph: Graph, op: Op) -> str:
    form = op.word("approximation_mode", ("erf", "tanh"), "erf")
    if graph.opset >= 20:
        return graph.node("Gelu", op.inputs[0], approximate="tanh" if form == "tanh" else None)
    x, dtype = op.inputs[0], op.dtype()
    share = _GELU[form](graph, x, dtype)
    half = graph.node("Mul", x, scalar(graph, 0.5, dtype))
    return graph.node("Mul", half, graph.node("Add", share, scalar(graph, 1, dtype)))


def _gelu_erf(graph: Graph, x: str, dtype: str) -> str:
    return graph.node("Erf", graph.node("Mul", x, scalar(graph, math.sqrt(0.5), dtype)))


def _gelu_tanh(graph: Graph, x: str, dtype: str) -> str:
    cube = graph.node("Mul", graph.node("Mul", x, x), x)
    bent = graph.node("Add", x, graph.node("Mul", cube, scalar(graph, 0.044715, dtype)))
    return graph.node("Tanh", graph.node("Mul", bent, scalar(graph, math.sqrt(2 / math.pi), dtype)))


_GELU = {"erf": _gelu_erf, "tanh": _gelu_tanh}


def _is_inf(graph: Graph, op: Op) -> str:
    negative, positive = (op.flag(f"detect_{sign}", True) for sign in ("negative", "positive"))
    return graph.node("IsInf", op.inputs[0], detect_negative=int(negative), detect_positive=int(positive))


def _is_finite(graph: Graph, op: Op) -> str:
    return graph.node("Not", graph.node("Or", graph.node("IsNaN", op.inputs[0]), graph.node("IsInf", op.inputs[0])))


def _bitwise_not(graph: Graph, op: Op) -> str:
    if op.dtype() == "bool":
        return graph.node("Not", op.inputs[0])
    op.needs(18, graph.opset)
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
