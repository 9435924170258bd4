"""Reductions over axes, and normalisations."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ...onnx import operators
from ...onnx.graph import Graph
from ...onnx.onnx_primitives import NodeTensor, node
from .. import layer_inputs
from ..layer import Op
from ..tensors import operand, reduction, shape, with_shape

_Emitter = Callable[[Graph, Op], str | NodeTensor]


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
    # ReduceSum takes axes as an input since operator set 13, the others since 18.
    op.needs(13 if kind == "ReduceSum" else 18, graph.opset, "a reduction over axes known only at run time")
    axes_at_run_time = layer_inputs.int64(graph, op, 1)
    return graph.node(kind, x, axes_at_run_time, keepdims=int(keep), noop_with_empty_axes=1)


_POOLED = {"ReduceMean": "GlobalAveragePool", "ReduceMax": "GlobalMaxPool"}
"""For whole images onnxruntime has faster kernels, and integer ones."""


def _logical(kind: str) -> _Emitter:
    """Reduce booleans as numbers."""

    def emit(graph: Graph, op: Op) -> str:
        # ONNX reduces no booleans; the minimum of 0 and 1 is their "and", the maximum their "or".
        numbers = operators.cast(graph, op.inputs[0], "int32")
        return operators.cast(graph, _reduced(graph, op, kind, numbers), "bool")

    return emit


def _batch(graph: Graph, op: Op) -> str:
    order = (0, 1, 2, 3, 4) if op.version >= 5 else (2, 0, 1, 3, 4)  # the data came third in BatchNormInference-1
    names = [op.inputs[index] for index in order]
    return graph.node("BatchNormalization", *names, epsilon=op.real("epsilon"))


def _mvn(graph: Graph, op: Op) -> str | NodeTensor:
    """Normalise over axes; MVN-1 takes the axes behind the batch or the channels."""
    scaled, rank, inside = op.flag("normalize_variance", True), op.rank(), True
    if op.version >= 6:
        axes = op.axes(1, rank)
        inside = op.word("eps_mode", ("inside_sqrt", "outside_sqrt")) == "inside_sqrt"
    else:
        across, listed = op.flag("across_channels"), op.integers("reduction_axes", ())
        across = 1 in listed if listed else across  # OpenVINO considers axis 1 alone
        axes = tuple(range(1 if across else 2, rank))
    axis = rank - len(axes)
    is_last = bool(axes) and sorted(axes) == list(range(axis, rank))
    # LayerNormalization, of operator set 17, takes last axes only, and its scale needs a static shape.
    if graph.opset >= 17 and inside and scaled and is_last and None not in (op.shape() or ())[axis:]:
        lengths = op.lengths(axes=range(axis, rank))
        ones = graph.constant(np.ones(lengths), np.float32)  # a later scale may be merged into it
        return graph.node("LayerNormalization", op.inputs[0], ones, axis=axis, epsilon=op.real("eps"))
    return _normalised(op, operand(graph, op), axes, inside=inside, scaled=scaled)


def _normalised(op: Op, x: NodeTensor, axes: Sequence[int], *, inside: bool = True, scaled: bool = True) -> NodeTensor:
    """Subtract the mean over axes, and divide by the deviation; ``eps`` goes inside its root or behind it."""
    centred = x - reduction("ReduceMean", x, *axes)
    if not scaled:
        return centred
    variance = reduction("ReduceMean", centred * centred, *axes)
    eps = x.of(op.real("eps" if op.layer.type.lower() == "mvn" else "epsilon"))
    return centred / (node("Sqrt", variance + eps) if inside else node("Sqrt", variance) + eps)


def _normalize_l2(graph: Graph, op: Op) -> NodeTensor:
    x, axes = operand(graph, op), op.axes(1, op.rank())
    squares = x * x
    total = reduction("ReduceSum", squares, *axes) if axes else squares
    kind = {"add": "Add", "max": "Max"}[op.word("eps_mode", ("add", "max"))]
    return x / node("Sqrt", node(kind, total, total.of(op.real("eps"))))


def _lrn(graph: Graph, op: Op) -> str:
    axes = op.axes(1, op.rank())
    if axes != (1,):
        raise op.refusal(f"it sums over axes {list(axes)}, LRN over channels only")
    attributes = {name: op.real(name) for name in ("alpha", "beta", "bias")}
    return graph.node("LRN", op.inputs[0], size=op.integer("size"), **attributes)


def _group(graph: Graph, op: Op) -> str | NodeTensor:
    groups, names = op.integer("num_groups"), op.inputs
    # GroupNormalization-18 has a scale for each group, that of 21 for each channel, as OpenVINO.
    if graph.opset >= 21:
        return graph.node("GroupNormalization", *names, epsilon=op.real("epsilon"), num_groups=groups)
    rank, x = op.rank(), operand(graph, op)
    apart = with_shape(x, 0, groups, -1)
    whole = node("Reshape", _normalised(op, apart, [2]), shape(x))
    scale, bias = (operand(graph, op, index).unsqueeze(*range(1, rank - 1)) for index in (1, 2))
    return whole * scale + bias


TABLE: dict[str, _Emitter] = {
    **{f"Reduce{name}": _reduction(f"Reduce{name}") for name in ("Max", "Min", "Mean", "Sum", "Prod", "L1", "L2")},
    "ReduceLogicalAnd": _logical("ReduceMin"),
    "ReduceLogicalOr": _logical("ReduceMax"),
    "BatchNormInference": _batch,
    "MVN": _mvn,
    "NormalizeL2": _normalize_l2,
    "LRN": _lrn,
    "GroupNormalization": _group,
}
