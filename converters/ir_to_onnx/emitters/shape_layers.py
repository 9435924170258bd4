"""Shapes: reshaping, permuting, joining, splitting, repeating."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ir_interp.shapes import PartialShape

from ...onnx import operators
from ...onnx.graph import Graph
from .. import layer_inputs
from ..layer import WHOLE, Op
from ..quantised import integer_layers, small_weights


def _reshape(graph: Graph, op: Op) -> str:
    """Reshape; a zero copies a size under ``special_zero``, and is a size of 0 otherwise."""
    literal, stored = not op.flag("special_zero"), small_weights.flattened(op.net, op.layer)
    if stored is not None and stored.since <= graph.opset:
        return stored.written(graph, op.layer.name)
    pattern, lengths = op.value(1), op.result_shape()
    if op.inputs[0] in graph.initialisers and pattern is not None and lengths is not None and None not in lengths:
        return layer_inputs.reshaped(graph, op, op.inputs[0], lengths)
    if lengths is not None and None not in lengths and 0 in lengths and graph.opset >= 14:
        return layer_inputs.reshaped(graph, op, op.inputs[0], lengths)  # with zeros in the pattern, -1 matches no size
    if pattern is None and lengths is not None and lengths.count(None) < 2 and 0 not in lengths:
        return layer_inputs.reshaped(graph, op, op.inputs[0], lengths)  # whatever the pattern is at run time
    # Without a zero, both readings of it are the same.
    if pattern is not None and 0 not in pattern:
        x = operators.unpermuted(graph, op.inputs[0], op.shape() or ())
        return graph.node("Reshape", x, layer_inputs.int64(graph, op, 1))
    if not literal and pattern is not None and lengths is not None and len(lengths) == pattern.size:
        return graph.node("Reshape", op.inputs[0], graph.ints(_measured(pattern.ravel().tolist(), lengths)))
    if not literal:
        return graph.node("Reshape", op.inputs[0], layer_inputs.int64(graph, op, 1))
    if graph.opset < 14:  # allowzero exists since then
        return _reshaped_without_zeros(graph, op)
    return graph.node("Reshape", op.inputs[0], layer_inputs.int64(graph, op, 1), allowzero=1)


def _measured(pattern: Sequence[int], lengths: PartialShape) -> list[int]:
    """Return a pattern whose -1 is the resulting size, if known: ONNX finds none for a tensor without elements."""
    return [entry if entry >= 0 or length is None else length for entry, length in zip(pattern, lengths, strict=True)]


def _reshaped_without_zeros(graph: Graph, op: Op) -> str:
    """Reshape if a zero of the pattern would copy a size, but is a size of 0: start from a shape of zeros only.

    Only tensors without elements get that shape: a column of all elements does, once its axes are cut to none.
    """
    (rank,) = op.lengths(1)
    column = graph.node("Reshape", op.inputs[0], graph.ints([-1, *[1] * (rank - 1)]))
    count = operators.cut(graph, graph.node("Shape", column), [0], [1], [0])
    ends = graph.node("Expand", count, graph.ints([rank]))
    starts, axes = graph.ints([0] * rank), graph.ints(range(rank))
    return graph.node("Reshape", graph.node("Slice", column, starts, ends, axes), layer_inputs.int64(graph, op, 1))


def _squeeze(graph: Graph, op: Op) -> str:
    """Remove axes of size 1: the listed ones if they have that size, or all."""
    may_stay = op.flag("allow_axis_skip")
    if op.has(1):
        shape, axes = op.shape() or (None,) * op.rank(), op.axes(1, op.rank())
        if may_stay and any(shape[axis] is None for axis in axes):
            raise op.refusal("whether an axis is removed depends on its size at run time (allow_axis_skip)")
        # ONNX refuses an axis of another size, where OpenVINO keeps it.
        axes = tuple(axis for axis in axes if shape[axis] in (1, None))
        return operators.squeeze(graph, op.inputs[0], sorted(set(axes)))
    return graph.node("Squeeze", op.inputs[0])


def _unsqueeze(graph: Graph, op: Op) -> str:
    axes = op.known_integers(1, "axes are")
    rank = op.rank() + len(axes)
    return operators.unsqueeze(graph, op.inputs[0], sorted(op.from_first(axis, rank) for axis in axes))


def _transpose(graph: Graph, op: Op) -> str:
    order = op.known_integers(1, "the order of axes is")
    if not order:
        return graph.node("Transpose", op.inputs[0])
    return operators.transposed(graph, op.inputs[0], [axis % len(order) for axis in order])


def _concat(graph: Graph, op: Op) -> str:
    return integer_layers.marked(graph, op, graph.node("Concat", *op.inputs, axis=op.integer("axis")))


def _split(graph: Graph, op: Op) -> tuple[str, ...]:
    (axis,), count = op.known_integers(1, "the axis is"), op.integer("num_splits")
    shape = op.shape()
    length = shape[axis] if shape is not None else None
    if length is not None:
        return operators.split(graph, op.inputs[0], [length // count] * count, axis)
    # Split-18 requires the number of its outputs if it has no sizes.
    return graph.outputs(count, "Split", op.inputs[0], axis=axis, num_outputs=count if graph.opset >= 18 else None)


def _variadic_split(graph: Graph, op: Op) -> tuple[str, ...]:
    (axis,), lengths, count = op.known_integers(1, "the axis is"), op.value(2), len(op.layer.outputs)
    inferred = [(op.result_shape(index) or {axis: None})[axis] for index in range(count)]
    pieces = [int(length) for length in (inferred if lengths is None else lengths) if length is not None]
    if len(pieces) < count:
        # Split takes its sizes as an input since operator set 13.
        op.needs(13, graph.opset, "a split into sizes known only at run time")
        return graph.outputs(count, "Split", op.inputs[0], _with_rest(graph, op, axis), axis=axis)
    if -1 not in pieces:
        return operators.split(graph, op.inputs[0], pieces, axis)
    in_size = op.lengths(axes=[axis])[0] if (op.shape() or ())[axis] is not None else None
    if in_size is None:
        return _cut_around(graph, op, pieces, axis)
    rest = in_size - sum(length for length in pieces if length >= 0)
    return operators.split(graph, op.inputs[0], [rest if length < 0 else length for length in pieces], axis)


def _with_rest(graph: Graph, op: Op, axis: int) -> str:
    """Return sizes known only at run time, with -1 among them replaced by the rest of the axis."""
    lengths = layer_inputs.int64(graph, op, 2)
    length = graph.node("Gather", graph.node("Shape", op.inputs[0]), graph.ints([axis]))
    # The sum counts the -1 too, so 1 is added.
    others = graph.node("Add", operators.reduction(graph, "ReduceSum", lengths, [0]), graph.ints([1]))
    open_ones = graph.node("Less", lengths, graph.ints([0]))
    return graph.node("Where", open_ones, graph.node("Sub", length, others), lengths)


def _cut_around(graph: Graph, op: Op, lengths: Sequence[int], axis: int) -> tuple[str, ...]:
    """Cut pieces out from both ends; the one between them takes the rest."""
    between = lengths.index(-1)
    starts = [sum(lengths[:i]) if i <= between else -sum(lengths[i:]) for i in range(len(lengths))]
    ends = [*starts[1:], operators.END]
    return tuple(
        operators.cut(graph, op.inputs[0], [start], [end], [axis]) for start, end in zip(starts, ends, strict=True)
    )


def _tile(graph: Graph, op: Op) -> str:
    """Repeat; the shorter of shape and repeats is filled with ones in front."""
    rank, repeats = op.rank(), op.value(1)
    count = len(repeats) if repeats is not None else (op.shape(1) or (None,))[0]
    if count is None:
        raise op.refusal("the number of repeats is known only at run time")
    x = operators.unsqueeze(graph, op.inputs[0], range(count - rank)) if count > rank else op.inputs[0]
    times = layer_inputs.int64(graph, op, 1)
    if count < rank:
        times = graph.node("Concat", graph.ints([1] * (rank - count)), times, axis=0)
    return graph.node("Tile", x, times)


def _broadcast(graph: Graph, op: Op) -> str:
    """Expand; "explicit" ("none" in Broadcast-1) maps the input's axes to axes of the target."""
    mode = op.word("mode", ("numpy", "none", "explicit", "bidirectional", "pdpd"), "numpy")
    if mode == "pdpd":
        raise op.refusal("it aligns axes like pdpd")
    x = op.inputs[0]
    if mode in ("explicit", "none"):
        mapping = op.known_integers(2, "the mapping of axes is")
        lengths = op.shape(1)
        rank = len(op.known(1, "")) if op.value(1) is not None else lengths[0] if lengths else None
        if rank is None:
            raise op.refusal("the rank of the target is known only at run time")
        x = operators.unsqueeze(graph, x, [axis for axis in range(rank) if axis not in mapping])
    return graph.node("Expand", x, layer_inputs.int64(graph, op, 1))


def _range(graph: Graph, op: Op) -> str:
    dtype = op.result_dtype()
    if dtype in WHOLE and not all(_is_whole(op, index) for index in range(3)):
        raise op.refusal("an integer range from non-integers")
    return graph.node("Range", *(_scalar(graph, op, index, dtype) for index in range(3)))


def _is_whole(op: Op, index: int) -> bool:
    value = op.value(index)
    return op.dtype(index) in WHOLE or (value is not None and bool((value == np.rint(value)).all()))


def _scalar(graph: Graph, op: Op, index: int, dtype: str) -> str:
    value = op.value(index)
    if value is not None:
        return operators.scalar(graph, value.ravel()[0], dtype)
    number = op.inputs[index] if op.dtype(index) == dtype else operators.cast(graph, op.inputs[index], dtype)
    if dtype not in WHOLE:  # onnxruntime 1.32 takes the float of a Cast of a Shape for an int64, and refuses the Range
        number = graph.node("Sum", number)
    return number if op.shape(index) == () else graph.node("Reshape", number, graph.constant(np.zeros(0, np.int64)))


def _shape_of(graph: Graph, op: Op) -> str:
    shape = graph.node("Shape", op.inputs[0])
    return shape if op.result_dtype() == "int64" else operators.cast(graph, shape, op.result_dtype())


TABLE = {
    "Reshape": _reshape,
    "Squeeze": _squeeze,
    "Unsqueeze": _unsqueeze,
    "Transpose": _transpose,
    "Concat": _concat,
    "Split": _split,
    "VariadicSplit": _variadic_split,
    "Tile": _tile,
    "Broadcast": _broadcast,
    "Range": _range,
    "ShapeOf": _shape_of,
}
