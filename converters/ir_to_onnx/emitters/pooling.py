"""Pooling: the maximum or the mean of windows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import onnx

from ...onnx import operators
from ...onnx.graph import Graph
from ...onnx.operators import as_dtype
from .. import sliding_windows
from ..layer import WHOLE, Op
from ..quantised import channel_scales, integer_layers
from ..sliding_windows import Windows
from ..tensors import cut, joined, operand, shape

_ROUNDING = ("floor", "ceil", "ceil_torch")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rounded:
    """Windows and the rounding of their number: by ONNX's ``ceil`` mode, or by ``pads`` known only at run time."""

    over: Windows
    ceil: int | None = None
    pads: str = ""


def _max_pool(graph: Graph, op: Op) -> tuple[str, ...]:
    rounded = _rounded(graph, op, sliding_windows.read(op, op.integers("kernel")))
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


def _pooled_first(graph: Graph, before: onnx.NodeProto, after: onnx.NodeProto, attributes: dict[str, Any]) -> str:
    """Return the maximum of floats, rounded: rounding keeps the order, so it equals the maximum of rounded values.

    There are fewer of them, and the node before need not reorder its channels. Nothing may show onnxruntime that it
    could round first.
    """
    output = channel_scales.in_floats(graph, graph.node("MaxPool", before.input[0], **attributes))
    for node in (before, after):
        output = graph.again(node, output, *node.input[1:])
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
    over = sliding_windows.read(op, op.integers("kernel"))
    counts = not op.flag("exclude-pad") and (over.same is not None or any(over.begin + over.end))
    rounded = _rounded(graph, op, over, counts=counts)
    if rounded.pads and not counts:
        raise op.refusal("a window may lie wholly in the pads, where OpenVINO averages no elements")
    x, include = _padded(graph, op.inputs[0], rounded, 0, op.dtype()), 1 if counts and not rounded.pads else None
    return graph.node("AveragePool", x, ceil_mode=rounded.ceil, count_include_pad=include, **rounded.over.attributes)


TABLE = {
    "MaxPool": _max_pool,
    "AvgPool": _avg_pool,
}
