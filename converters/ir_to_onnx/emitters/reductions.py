"""Reduction over axes."""

from __future__ import annotations

from collections.abc import Callable

from ...onnx import operators
from ...onnx.graph import Graph
from .. import layer_inputs
from ..layer import Op

_Emitter = Callable[[Graph, Op], str]


def _reduction(kind: str) -> _Emitter:
    return lambda graph, op: _reduced(graph, op, kind, op.inputs[0])


def _reduced(graph: Graph, op: Op, kind: str, x: str) -> str:
    """Reduce; over no axes at all, a tensor stays as it is, and a norm is that of every element."""
    keep = op.flag("keep_dims")
    if op.value(1) is not None:
        axes = sorted(set(op.axes(1, op.rank())))
        if keep and kind in _POOLED and op.dtype() == "float32" and axes == [2, 3] and op.rank() == 4:
            return graph.node(_POOLED[kind], x)
        if axes:
            return operators.reduction(graph, kind, x, axes, keep)
        return graph.node("Abs", x) if kind in ("ReduceL1", "ReduceL2") else x
    op.needs(13 if kind == "ReduceSum" else 18, graph.opset, "a reduction over axes known only at run time")
    axes_at_run_time = layer_inputs.int64(graph, op, 1)
    return graph.node(kind, x, axes_at_run_time, keepdims=int(keep), noop_with_empty_axes=1)


_POOLED = {"ReduceMean": "GlobalAveragePool", "ReduceMax": "GlobalMaxPool"}
"""For whole images onnxruntime has faster kernels, and integer ones."""


def _logical(kind: str) -> _Emitter:
    """Reduce booleans as numbers."""

    def emit(graph: Graph, op: Op) -> str:
        numbers = operators.cast(graph, op.inputs[0], "int32")
        return operators.cast(graph, _reduced(graph, op, kind, numbers), "bool")

    return emit


TABLE: dict[str, _Emitter] = {
    **{f"Reduce{name}": _reduction(f"Reduce{name}") for name in ("Max", "Min", "Mean", "Sum", "Prod", "L1", "L2")},
    "ReduceLogicalAnd": _logical("ReduceMin"),
    "ReduceLogicalOr": _logical("ReduceMax"),
}
