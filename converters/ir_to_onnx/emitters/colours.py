"""Camera images (NV12, I420): luma, and chroma at half the resolution, converted to red, green and blue."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...onnx import operators
from ...onnx.graph import Graph
from ..layer import Op

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
        mixed = ""
        for part, zero, weights in zip((y, *_channels(graph, colours)), _ZEROS, _ORDERS[order], strict=True):
            centred = graph.node("Sub", part, operators.scalar(graph, zero, "float32"))
            product = graph.node("Mul", centred, graph.constant(weights, np.float32))
            mixed = graph.node("Add", mixed, product) if mixed else product
        limited = operators.clip(graph, mixed, 0, 255, "float32")
        return limited if op.dtype() == "float32" else operators.cast(graph, graph.node("Round", limited), op.dtype())

    return emit


TABLE = {
    f"{kind}to{order}": _converted(read, order)
    for kind, read in (("NV12", _nv12), ("I420", _i420))
    for order in _ORDERS
}
