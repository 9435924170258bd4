"""Pooling: the maximum or the mean of windows.

In adaptive pooling, each axis has as many windows as the output has elements, static or known only at run time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import onnx
from numpy.typing import NDArray

from ...onnx import operators
from ...onnx.onnx_graph import Graph
from ...onnx.operators import NodeTensor, as_dtype, node
from .. import integer_layers, layers
from ..layers import WHOLE, Op, below, cut, joined, operand, reduction, shape, tensor
from . import convolutions
from .convolutions import Windows

_ROUNDING = ("floor", "ceil", "ceil_torch")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rounded:
    """Windows and the rounding of their number: by ONNX's ``ceil`` mode, or by ``pads`` known only at run time."""

    over: Windows
    ceil: int | None = None
    pads: str = ""


def _max_pool(graph: Graph, op: Op) -> tuple[str, ...]:
    rounded = _rounded(graph, op, convolutions.read_windows(op, op.integers("kernel")))
    wants_places = len(op.layer.outputs) > 1 and op.is_used(1)
    if rounded.pads and wants_places:
        raise op.refusal("indices of the largest values, counted without pads that ONNX's MaxPool does not support")
    attributes = {"ceil_mode": rounded.ceil, **rounded.over.attributes}
    floats = None if wants_places or rounded.pads else integer_layers.rounded_floats(graph, op.inputs[0])
    if floats is not None:
        return (_pooled_first(graph, *floats, attributes),)
    x = _padded(graph, op.inputs[0], rounded, _lowest(op.dtype()), op.dtype())
    if not wants_places:
        return (graph.node("MaxPool", x, **attributes),)
    largest, places = graph.outputs(2, "MaxPool", x, **attributes)
    return largest, _within_axes(graph, op, places)


def _pooled_first(graph: Graph, before: onnx.NodeProto, after: onnx.NodeProto, attributes: dict[str, object]) -> str:
    """Return the maximum of floats, rounded: rounding keeps the order, so it equals the maximum of rounded values.

    There are fewer of them, and the node before need not reorder its channels. Nothing may show onnxruntime that it
    could round first.
    """
    output = integer_layers.in_floats(graph, graph.node("MaxPool", before.input[0], **attributes))
    for step in (before, after):
        output = graph.again(step, output, *step.input[1:])
    return output


def _lowest(dtype: str) -> float:
    return int(np.iinfo(dtype).min) if dtype in WHOLE else float(np.finfo(as_dtype(dtype)).min)


def _padded(graph: Graph, x: str, rounded: _Rounded, filling: float, dtype: str) -> str:
    """Return the pooled data. A Concat of one input keeps onnxruntime from moving pads to a node that refuses them."""
    if not rounded.pads:
        return x
    # Pads of the lowest value are never the maximum; those of a mean are zeros.
    output = graph.node("Pad", x, rounded.pads, operators.scalar(graph, filling, dtype))
    return graph.node("Concat", output, axis=0)


def _within_axes(graph: Graph, op: Op, places: str) -> str:
    """Return flat indices over the axes from ``axis`` on; ONNX counts them over all axes."""
    axis = op.from_first(op.integer("axis", 0), op.rank())
    if axis:
        count = int(np.prod(op.lengths(axes=range(axis, op.rank()))))
        places = graph.node("Mod", places, operators.scalar(graph, count, "int64"))
    return places if op.result_dtype(1) == "int64" else operators.cast(graph, places, op.result_dtype(1))


def _rounded(graph: Graph, op: Op, over: Windows, *, counts: bool = False) -> _Rounded:
    """Return windows that need no rounding; for dynamic sizes, ONNX's mode or pads.

    OpenVINO's "ceil" keeps a last window that begins in the pads, ONNX and "ceil_torch" drop it. If pads count in
    a mean, so does the part of a last window beyond them: but not in ONNX.
    """
    rounding = op.word("rounding_type", _ROUNDING, "floor")
    if over.same:
        return _Rounded(over=over)
    if rounding == "floor":
        return _known(graph, over)
    drop = rounding == "ceil_torch"
    if None not in (op.shape() or (None,))[2:]:
        return _known(graph, replace(over, end=_ends(op.space(), over, drop=drop)))
    sides = zip(over.strides, over.end, over.extents, strict=True)
    may_begin_outside = any(stride + after > extent for stride, after, extent in sides)
    # Otherwise ONNX drops the same windows as OpenVINO, and its own rounding serves.
    if counts or _is_wide(over) or (not drop and may_begin_outside):
        return _Rounded(over=_unpadded(over), pads=_open_pads(graph, op, over, drop=drop))
    return _Rounded(over=over, ceil=1)


def _known(graph: Graph, over: Windows) -> _Rounded:
    """Return windows with known pads; onnxruntime takes no pads as large as a kernel, but a Pad in front."""
    if not _is_wide(over):
        return _Rounded(over=over)
    return _Rounded(over=_unpadded(over), pads=graph.ints([0, 0, *over.begin, 0, 0, *over.end]))


def _is_wide(over: Windows) -> bool:
    return any(max(pads) >= size for *pads, size in zip(over.begin, over.end, over.kernel, strict=True))


def _unpadded(over: Windows) -> Windows:
    none = (0,) * len(over.begin)
    return replace(over, begin=none, end=none)


def _open_pads(graph: Graph, op: Op, over: Windows, *, drop: bool) -> str:
    """Return all pads, as in ``_ends``, for sizes known only at run time."""
    space = cut(shape(operand(graph, op)), 2, op.rank(), 0)
    before, after, extent, stride = (space.of(pads) for pads in (over.begin, over.end, over.extents, over.strides))
    pairs = zip(over.begin, over.end, over.extents, over.strides, strict=True)
    rest = space + [begin + end - reach + step - 1 for begin, end, reach, step in pairs]
    start = rest / stride * stride
    room = space + before
    beyond = start + extent - room
    end = (beyond < after).where(after, beyond)
    if drop:
        less = beyond - [1]
        dropped = (less < after).where(less, after)
        end = (start < room).where(end, dropped)
    return str(joined([end.of([0, 0, *over.begin, 0, 0]), end], 0).value)


def _ends(lengths: Sequence[int], over: Windows, *, drop: bool) -> tuple[int, ...]:
    """Return how far the last windows of each axis reach beyond it."""
    end = []
    sides = zip(lengths, over.extents, over.strides, over.begin, over.end, strict=True)
    for length, extent, stride, before, after in sides:
        start = -(-(length + before + after - extent) // stride) * stride
        dropped = drop and start >= length + before
        beyond = start + extent - length - before
        end.append(min(beyond - 1, after) if dropped else max(beyond, after))
    return tuple(end)


def _avg_pool(graph: Graph, op: Op) -> str:
    """Take means. If a layer has no pads, the part of a last window beyond the image never counts."""
    over = convolutions.read_windows(op, op.integers("kernel"))
    counts = not op.flag("exclude-pad") and (over.same is not None or any(over.begin + over.end))
    rounded = _rounded(graph, op, over, counts=counts)
    if rounded.pads and not counts:
        raise op.refusal("a window may lie wholly in the pads, where OpenVINO averages no elements")
    x, include = _padded(graph, op.inputs[0], rounded, 0, op.dtype()), 1 if counts and not rounded.pads else None
    return graph.node("AveragePool", x, ceil_mode=rounded.ceil, count_include_pad=include, **rounded.over.attributes)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Axis:
    """An axis that is pooled from ``in_size`` to ``length`` elements; None if these are known only at run time."""

    number: int
    in_size: int | None
    length: int | None
    place: int
    """Its place among the spatial axes."""


_Write = Callable[[Graph, Op, str, _Axis], str]


def _adaptive(write: _Write, whole: str) -> Callable[[Graph, Op], tuple[str, ...]]:
    """Pool axis by axis: the windows of an axis are the same in every row.

    One window over all of an axis is a reduction, ``whole``.
    """

    def emit(graph: Graph, op: Op) -> tuple[str, ...]:
        x = op.inputs[0]
        for axis in _axes(op):
            if axis.length == 1:
                x = operators.reduction(graph, whole, x, [axis.number])
            # An axis that keeps its size has windows of one element.
            elif axis.in_size is None or axis.in_size != axis.length:
                x = write(graph, op, x, axis)
        return (x,)

    return emit


def _axes(op: Op) -> list[_Axis]:
    shape = op.shape() or (None,) * op.rank()
    out_sizes, count = op.value(1), op.rank() - 2
    lengths: Sequence[int | None] = [None] * count if out_sizes is None else [int(size) for size in out_sizes.ravel()]
    return [
        _Axis(number=number, in_size=shape[number], length=length, place=number - 2)
        for number, length in enumerate(lengths, start=2)
    ]


# Windows: those of output i begin at floor(i * in_size / length) and end before ceil((i + 1) * in_size / length).


def _edges(in_size: int, length: int) -> list[tuple[int, int]]:
    return [(i * in_size // length, -(-(i + 1) * in_size // length)) for i in range(length)]


def _numbers(graph: Graph, op: Op, axis: _Axis) -> tuple[NodeTensor, NodeTensor]:
    """Return the sizes of an axis before and after, as scalars."""
    lengths = shape(operand(graph, op))
    length = node("Gather", lengths, lengths.of(axis.number))
    if axis.length is not None:
        return length, length.of(axis.length)
    pooled = tensor(graph, layers.int64(graph, op, 1), "int64")
    return length, node("Gather", pooled, pooled.of(axis.place))


def _open_edges(in_size: NodeTensor, length: NodeTensor) -> tuple[NodeTensor, NodeTensor]:
    """Return where windows begin and end, two vectors."""
    one = length.of(1)
    outputs = below(length)
    begins = outputs * in_size / length
    # The ceiling of a / b is (a - 1) / b + 1 for positive integers, and Div of ONNX rounds integers down there.
    return begins, ((outputs + one) * in_size - one) / length + one


# Means: a matrix product with the share of every element in every output


def _mean_of_windows(graph: Graph, op: Op, x: str, axis: _Axis) -> str:
    order = operators.moved(op.rank(), axis.number, op.rank() - 1)
    means = graph.node("MatMul", operators.transposed(graph, x, order), _shares(graph, op, axis))
    return operators.transposed(graph, means, operators.inverse(order))


def _shares(graph: Graph, op: Op, axis: _Axis) -> str:
    if axis.in_size is None or axis.length is None:
        return _open_shares(graph, op, axis)
    shares: NDArray[np.float64] = np.zeros((axis.in_size, axis.length))
    for i, (start, stop) in enumerate(_edges(axis.in_size, axis.length)):
        shares[start:stop, i] = 1 / (stop - start)
    return graph.constant(shares.astype(as_dtype(op.dtype())))


def _open_shares(graph: Graph, op: Op, axis: _Axis) -> str:
    in_size, length = _numbers(graph, op, axis)
    begins, ends = _open_edges(in_size, length)
    elements = below(in_size).unsqueeze(1)
    last = begins - 1  # from the window before, at the latest
    is_inside = (last < elements) & (elements < ends)
    sizes = (ends - begins).cast(op.dtype())
    return str((is_inside.cast(op.dtype()) / sizes).value)


# Largest: windows gathered, the shorter ones with their last element again


def _largest_of_windows(graph: Graph, op: Op, x: str, axis: _Axis) -> str:
    gathered = graph.node("Gather", x, _places(graph, op, axis), axis=axis.number)
    return operators.reduction(graph, "ReduceMax", gathered, [axis.number + 1], keep=False)


def _places(graph: Graph, op: Op, axis: _Axis) -> str:
    """Return the elements of every window [windows, elements]."""
    if axis.in_size is None or axis.length is None:
        return _open_places(graph, op, axis)
    edges = _edges(axis.in_size, axis.length)
    longest = max(stop - start for start, stop in edges)
    # The last element again changes no maximum, and gives all windows one size.
    return graph.constant([[min(start + k, stop - 1) for k in range(longest)] for start, stop in edges], np.int64)


def _open_places(graph: Graph, op: Op, axis: _Axis) -> str:
    in_size, length = _numbers(graph, op, axis)
    begins, ends = (edge.unsqueeze(1) for edge in _open_edges(in_size, length))
    longest = reduction("ReduceMax", ends - begins, 0, 1, keep=False)
    last = ends - 1
    place = begins + below(longest)
    return str((place < last).where(place, last).value)


def _adaptive_max(graph: Graph, op: Op) -> tuple[str, ...]:
    if len(op.layer.outputs) > 1 and op.is_used(1):
        return _with_places(graph, op)
    return _adaptive(_largest_of_windows, "ReduceMax")(graph, op)


def _with_places(graph: Graph, op: Op) -> tuple[str, ...]:
    """Return the largest of windows, and their places counted over all spatial axes."""
    axes = _axes(op)
    known = [(axis.in_size, axis.length) for axis in axes if axis.in_size is not None and axis.length is not None]
    # If every size is a multiple, windows are equal and do not overlap, as those of a MaxPool.
    if len(known) == len(axes) and not any(in_size % length for in_size, length in known):
        return _of_one_size(graph, op, known)
    return _of_any_size(graph, op, axes)


def _of_one_size(graph: Graph, op: Op, axes: Sequence[tuple[int, int]]) -> tuple[str, ...]:
    """Return the outputs of a plain MaxPool."""
    sizes = [in_size // length for in_size, length in axes]
    largest, places = graph.outputs(2, "MaxPool", op.inputs[0], kernel_shape=sizes, strides=sizes)
    # MaxPool counts places over batch and channels, too.
    count = int(np.prod([in_size for in_size, _ in axes]))
    return largest, _typed(graph, op, graph.node("Mod", places, operators.scalar(graph, count, "int64")))


def _of_any_size(graph: Graph, op: Op, axes: Sequence[_Axis]) -> tuple[str, ...]:
    """Gather the windows of all axes, of the data and of flat places, and find the maximum: the first of equals."""
    windows = [_places(graph, op, axis) for axis in axes]
    x = _gathered(graph, op.inputs[0], windows, 2)
    # ArgMax takes the first of equal values, which are in ascending order of their places.
    best = graph.node("ArgMax", x, axis=op.rank(), keepdims=1)
    flat = operators.unsqueeze(graph, _gathered(graph, _flat_places(graph, op), windows, 0), [0, 1])
    flat = graph.node("Expand", flat, graph.node("Shape", x))
    largest, places = (graph.node("GatherElements", source, best, axis=op.rank()) for source in (x, flat))
    return operators.squeeze(graph, largest, [op.rank()]), _typed(
        graph, op, operators.squeeze(graph, places, [op.rank()])
    )


def _gathered(graph: Graph, x: str, windows: Sequence[str], first: int) -> str:
    """Return the windows over all axes from ``first`` on, the elements of each in one axis behind all others."""
    count = len(windows)
    for number, places in enumerate(windows):  # an axis becomes two: windows, elements
        x = graph.node("Gather", x, places, axis=first + 2 * number)
    ends = range(first + 2 * count)
    order = [*ends[:first], *ends[first::2], *ends[first + 1 :: 2]]
    return graph.node("Reshape", operators.transposed(graph, x, order), graph.ints([0] * (first + count) + [-1]))


def _flat_places(graph: Graph, op: Op) -> str:
    """Return the number of every element, counted over the spatial axes."""
    space = operators.cut(graph, graph.node("Shape", op.inputs[0]), [2], [op.rank()], [0])
    total = operators.reduction(graph, "ReduceProd", space, [0], keep=False)
    return graph.node("Reshape", below(tensor(graph, total, "int64")).value, space)


def _typed(graph: Graph, op: Op, places: str) -> str:
    return places if op.result_dtype(1) == "int64" else operators.cast(graph, places, op.result_dtype(1))


TABLE = {
    "MaxPool": _max_pool,
    "AvgPool": _avg_pool,
    "AdaptiveAvgPool": _adaptive(_mean_of_windows, "ReduceMean"),
    "AdaptiveMaxPool": _adaptive_max,
}
