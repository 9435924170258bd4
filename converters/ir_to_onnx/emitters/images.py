"""Layers of images: Interpolate, padding, and the colours of cameras.

Interpolate follows the project's own model of resizes: Resize if it computes the same, else primitives. Negative pads
crop. Camera images (NV12, I420) have luma, and chroma at half the resolution, converted to red, green and blue.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import reduce
from operator import add

import numpy as np

from ir_interp.ir.interpolate_dialect import DIALECT
from ir_interp.ir.interpolates import read_layer
from ir_interp.specs import AtRunTime

from ...onnx import operators
from ...onnx.onnx_graph import Graph
from ...onnx.operators import END, NodeTensor, node
from ...onnx.resize_form import resized
from .. import layer_passes, layers
from ..layers import Op, tensor


def _interpolate(graph: Graph, op: Op) -> str:
    resize = replace(read_layer(op.net, op.layer, op.conversion.semantics), dtype=op.dtype())
    layer_passes.check_padding(op, resize)
    op.read.update(DIALECT.vocabulary, (name for name, _ in DIALECT.numbers.values()))
    target = ""
    if isinstance(resize.spec.target, AtRunTime):
        in_sizes = resize.spec.target is AtRunTime.SIZES
        place = 1 if in_sizes or resize.version == 11 else 2
        op.port(place)  # an error where no edge leads to it
        target = layers.int64(graph, op, place) if in_sizes else op.inputs[place]
    output, row = resized(graph, resize, op.inputs[0], target)
    op.conversion.rows.append(row)
    return output


_MODES = ("constant", "edge", "reflect", "symmetric")


def _pad(graph: Graph, op: Op) -> str:
    mode = op.word("pad_mode", _MODES)
    if mode == "constant":
        return graph.node("Pad", op.inputs[0], _pads(graph, op), op.inputs[3] if op.has(3) else "", mode=mode)
    if op.value(1) is None or op.value(2) is None:
        return _padded_at_run_time(graph, op, mode)
    begin, end = (op.known_integers(index, "pads are") for index in (1, 2))
    if mode == "symmetric":
        return _mirrored(graph, op, begin, end)
    x = _cropped(graph, op.inputs[0], begin, end)
    pads = [max(pad, 0) for pad in (*begin, *end)]
    return graph.node("Pad", x, graph.ints(pads), mode=mode) if any(pads) else x


def _padded_at_run_time(graph: Graph, op: Op, mode: str) -> str:
    """Pad by a node, which takes negative pads too; ONNX has none for symmetric reflection."""
    if mode != "symmetric":
        return graph.node("Pad", op.inputs[0], _pads(graph, op), mode=mode)
    x, shape = op.inputs[0], graph.node("Shape", op.inputs[0])
    begin, end = (layers.int64(graph, op, index) for index in (1, 2))
    for axis in range(op.rank()):
        at = operators.scalar(graph, axis, "int64")
        numbers = (tensor(graph, graph.node("Gather", source, at), "int64") for source in (shape, begin, end))
        x = graph.node("Gather", x, _backwards(*numbers).value, axis=axis)
    return x


def _backwards(length: NodeTensor, before: NodeTensor, after: NodeTensor) -> NodeTensor:
    """Return the source indices of a padded axis under symmetric reflection: -1 is 0 again, as at the end."""
    one = length.of(1)
    begin, stop = -before, length + after
    place = node("Range", begin, stop, one)
    negative = -place - one
    place = (place < 0).where(negative, place)
    again = length + length - one - place
    return (place < length).where(place, again)


def _pads(graph: Graph, op: Op) -> str:
    begin, end = op.value(1), op.value(2)
    if begin is not None and end is not None:
        return graph.ints([*map(int, begin.ravel()), *map(int, end.ravel())])
    return graph.node("Concat", layers.int64(graph, op, 1), layers.int64(graph, op, 2), axis=0)


def _cropped(graph: Graph, x: str, begin: Sequence[int], end: Sequence[int]) -> str:
    axes = [axis for axis, pads in enumerate(zip(begin, end, strict=True)) if min(pads) < 0]
    starts = [max(-begin[axis], 0) for axis in axes]
    ends = [end[axis] if end[axis] < 0 else END for axis in axes]
    return operators.cut(graph, x, starts, ends, axes)


def _mirrored(graph: Graph, op: Op, begin: Sequence[int], end: Sequence[int]) -> str:
    """Pad by symmetric reflection: slices with a step of -1, joined."""
    x = _cropped(graph, op.inputs[0], begin, end)
    for axis, (before, after) in enumerate(zip(begin, end, strict=True)):
        parts = [x]
        if before > 0:
            parts.insert(0, operators.cut(graph, x, [before - 1], [-END], [axis], [-1]))
        if after > 0:
            parts.append(operators.cut(graph, x, [END], [-after - 1], [axis], [-1]))
        x = graph.node("Concat", *parts, axis=axis) if len(parts) > 1 else x
    return x


_ZEROS = (16, 128, 128)  # of y, u and v
_RGB = np.array([[1.164, 1.164, 1.164], [0, -0.391, 2.018], [1.596, -0.813, 0]])  # the contribution of each of these
_ORDERS = {"RGB": _RGB, "BGR": _RGB[:, ::-1]}


def _nv12(graph: Graph, op: Op) -> tuple[str, str]:
    """Return y and uv; u and v are interleaved."""
    if op.has(1):
        return _single(graph, op, 0), _single(graph, op, 1)
    y, rest = _divided(graph, op)
    columns = op.lengths(axes=[2])[0]
    return y, graph.node("Reshape", rest, graph.ints([0, -1, columns // 2, 2]))


def _i420(graph: Graph, op: Op) -> tuple[str, str]:
    """Return y and uv; all of u lies before all of v."""
    if op.has(1):
        return _single(graph, op, 0), graph.node("Concat", _single(graph, op, 1), _single(graph, op, 2), axis=3)
    y, rest = _divided(graph, op)
    rows, columns = op.lengths(axes=[1, 2])
    planes = graph.node("Reshape", rest, graph.ints([0, 2, rows // 3, columns // 2]))
    return y, operators.transposed(graph, planes, [0, 2, 3, 1])


def _single(graph: Graph, op: Op, index: int) -> str:
    x = op.inputs[index]
    return x if op.dtype(index) == "float32" else operators.cast(graph, x, "float32")


def _divided(graph: Graph, op: Op) -> tuple[str, str]:
    """Return the first two thirds of the rows, and the last."""
    rows, x = op.lengths(axes=[1])[0], _single(graph, op, 0)
    first, last = operators.split(graph, x, [rows // 3 * 2, rows // 3], 1)
    return first, last


def _channels(graph: Graph, x: str) -> list[str]:
    return [operators.cut(graph, x, [channel], [channel + 1], [3]) for channel in range(2)]


def _converted(read: Callable[[Graph, Op], tuple[str, str]], order: str) -> Callable[[Graph, Op], str]:
    """Repeat each chroma value for its four pixels, and mix."""

    def emit(graph: Graph, op: Op) -> str:
        # Clip takes integers since operator set 12.
        op.needs(12, graph.opset, "integers that are limited") if op.dtype() != "float32" else None
        y, uv = read(graph, op)
        flat = operators.unsqueeze(graph, uv, [2, 4])  # [batch, rows, 1, columns, 1, 2]
        twice = graph.node("Tile", flat, graph.ints([1, 1, 2, 1, 2, 1]))
        size = operators.cut(graph, graph.node("Shape", y), [0], [3], [0])
        colours = graph.node("Reshape", twice, graph.node("Concat", size, graph.ints([2]), axis=0))
        parts = [tensor(graph, part) for part in (y, *_channels(graph, colours))]
        mixed = reduce(
            add, ((x - zero) * weights for x, zero, weights in zip(parts, _ZEROS, _ORDERS[order], strict=True))
        )
        limited = operators.clip(graph, mixed.value, 0, 255, "float32")
        return limited if op.dtype() == "float32" else operators.cast(graph, graph.node("Round", limited), op.dtype())

    return emit


TABLE = {
    "Interpolate": _interpolate,
    "Pad": _pad,
    **{
        f"{kind}to{order}": _converted(read, order)
        for kind, read in (("NV12", _nv12), ("I420", _i420))
        for order in _ORDERS
    },
}
