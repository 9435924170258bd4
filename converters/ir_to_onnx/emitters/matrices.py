"""Matrix products, inverse matrices by the determinants of their minors, and attention; reductions over axes.

Normalisations are reductions, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from ...onnx import operators
from ...onnx.onnx_graph import Graph
from ...onnx.operators import NodeTensor, node
from .. import layers, small_weights
from ..layers import Op, constant, operand, reduction, shape, with_shape

MAX_SIZE = 6
"""Rows of the largest matrix that is inverted this way: the minors take its fourth power."""


def _inverse(graph: Graph, op: Op) -> str:
    """Divide minors by determinants; ``adjoint`` means the transposed inverse in the CPU plugin."""
    size, rank = op.lengths(axes=[-1])[0], op.rank()
    if size > MAX_SIZE:
        raise op.refusal(f"ONNX has no inverse of matrices, and these have {size} rows (up to {MAX_SIZE} are written)")
    x, transposes = op.inputs[0], op.flag("adjoint")
    if size == 1:  # a matrix of one number has no minors
        return graph.node("Div", operators.scalar(graph, 1, "float32"), x)
    whole = operators.unsqueeze(graph, graph.node("Det", x), [rank - 2, rank - 1])
    return graph.node("Div", _minors(graph, x, size, rank, transposes=transposes), whole)


def _minors(graph: Graph, x: str, size: int, rank: int, *, transposes: bool) -> str:
    """Return for each element the determinant of the matrix without its column and row, with the sign of its place."""
    flat = graph.node("Reshape", x, graph.ints([*[0] * (rank - 2), size * size]))
    places = np.arange(size * size).reshape(size, size)
    if not transposes:
        places = places.T
    left = [[np.delete(np.delete(places, row, 0), column, 1) for column in range(size)] for row in range(size)]
    minor = graph.node("Gather", flat, graph.constant(left, np.int64), axis=rank - 2)
    # The adjugate has signs in the pattern of a chessboard (Cramer).
    signs = np.where(np.add.outer(range(size), range(size)) % 2, -1, 1)
    return graph.node("Mul", graph.node("Det", minor), graph.constant(signs, np.float32))


def _matmul(graph: Graph, op: Op) -> str:
    of_bytes = small_weights.product_of_bytes(graph, op) if op.dtype() == "int32" else None
    return of_bytes or graph.node("MatMul", *(_operand(graph, op, index, name) for index, name in enumerate("ab")))


def _operand(graph: Graph, op: Op, index: int, name: str) -> str:
    """Return an operand, its last two axes swapped if requested; a vector has nothing to swap."""
    if not op.flag(f"transpose_{name}") or op.rank(index) < 2:
        return op.inputs[index]
    stored = small_weights.turned(op.net, op.layer, index)
    if stored is not None and stored.since <= graph.opset:
        return stored.written(graph, op.layer.name)
    if op.is_shared(index):  # weights that other nodes take as they are need not be stored twice
        return graph.node("Transpose", op.inputs[index], perm=_swapped(op.rank(index)))
    return operators.transposed(graph, op.inputs[index], _swapped(op.rank(index)))


def _swapped(rank: int) -> list[int]:
    return [*range(rank - 2), rank - 1, rank - 2]


def _einsum(graph: Graph, op: Op) -> str:
    op.needs(12, graph.opset)  # which brought Einsum
    return graph.node("Einsum", *op.inputs, equation=op.text("equation"))


def _attention(graph: Graph, op: Op) -> NodeTensor:
    """Weight values by how well queries match keys; ``causal`` replaces a mask."""
    query, key, value = (operand(graph, op, index) for index in range(3))
    rank = op.rank(1)
    turned = key.transposed(*range(rank - 2), rank - 1, rank - 2)
    scores = query * _scale(graph, op) @ turned
    lengths = shape(scores)
    if op.flag("causal"):
        scores = _before(lengths).where(scores, -np.inf)
    elif op.has(3) and op.dtype(3) == "bool":
        scores = operand(graph, op, 3).where(scores, -np.inf)
    elif op.has(3):
        scores = scores + operand(graph, op, 3)
    return node("Softmax", scores, axis=-1) @ value


def _scale(graph: Graph, op: Op) -> NodeTensor:
    if op.has(4):
        return operand(graph, op, 4)
    return constant(graph, 1 / math.sqrt(op.lengths(0, [-1])[0]), op.dtype())


def _before(lengths: NodeTensor) -> NodeTensor:
    """Return for every query which keys stand at its place or before."""
    rows, columns = (_places(lengths, axis) for axis in (-2, -1))
    return ~(rows.unsqueeze(1) < columns)


def _places(lengths: NodeTensor, axis: int) -> NodeTensor:
    zero, one = lengths.of(0), lengths.of(1)
    return node("Range", zero, lengths.take(axis, 0), one)


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
    axes_at_run_time = layers.int64(graph, op, 1)
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


TABLE = {
    "Inverse": _inverse,
    "MatMul": _matmul,
    "Einsum": _einsum,
    "ScaledDotProductAttention": _attention,
    **{f"Reduce{name}": _reduction(f"Reduce{name}") for name in ("Max", "Min", "Mean", "Sum", "Prod", "L1", "L2")},
    "ReduceLogicalAnd": _logical("ReduceMin"),
    "ReduceLogicalOr": _logical("ReduceMax"),
    "BatchNormInference": _batch,
    "MVN": _mvn,
    "NormalizeL2": _normalize_l2,
    "LRN": _lrn,
    "GroupNormalization": _group,
}
