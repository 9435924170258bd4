"""Pooling: the largest or the mean of windows, fixed or adaptive."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ...onnx import operators
from ...onnx.graph import Graph
from ...onnx.operators import as_dtype
from .. import windows
from ..op import Op
from ..windows import Windows

_ROUNDING = ("floor", "ceil", "ceil_torch")


def _max_pool(graph: Graph, op: Op) -> tuple[str, ...]:
    over, ceil = _rounded(op, windows.read(op, op.integers("kernel")))
    _refuse_wide(op, over)
    if len(op.layer.outputs) < 2 or not op.is_used(1):
        return (graph.node("MaxPool", op.inputs[0], ceil_mode=ceil, **over.attributes),)
    largest, places = graph.outputs(2, "MaxPool", op.inputs[0], ceil_mode=ceil, **over.attributes)
    return largest, _within_axes(graph, op, places)


def _refuse_wide(op: Op, over: Windows) -> None:
    """Refuse what onnxruntime does not take; it makes the same of a Pad node in front."""
    if any(max(pads) >= size for *pads, size in zip(over.begin, over.end, over.kernel, strict=True)):
        raise op.refusal("its pads are as long as its kernel, once rounded up")


def _within_axes(graph: Graph, op: Op, places: str) -> str:
    """Return flat indices over the axes from ``axis`` on; ONNX counts them over all axes."""
    axis = op.from_first(op.integer("axis", 0), op.rank())
    if axis:
        count = int(np.prod(op.lengths(axes=range(axis, op.rank()))))
        places = graph.node("Mod", places, operators.scalar(graph, count, "int64"))
    return places if op.result_dtype(1) == "int64" else operators.cast(graph, places, op.result_dtype(1))


def _rounded(op: Op, over: Windows, *, counts: bool = False) -> tuple[Windows, int | None]:
    """Return windows of which nothing is left to round, or ONNX's ceil_mode where lengths are known at run time only.

    OpenVINO's "ceil" keeps a last window that begins in the pads, ONNX and "ceil_torch" drop it. Where pads count in
    a mean, what a last window reaches beyond them does so too: but not in ONNX.
    """
    rounding = op.word("rounding_type", _ROUNDING, "floor")
    if rounding == "floor" or over.same:
        return over, None
    if None not in (op.shape() or (None,))[2:]:
        return replace(over, end=_ends(op.space(), over, drop=rounding == "ceil_torch")), None
    sides = zip(over.strides, over.end, over.extents, strict=True)
    if counts or (rounding == "ceil" and any(stride + after > extent for stride, after, extent in sides)):
        raise op.refusal("a last window may lie in the pads, and the lengths of its input are known only at run time")
    return over, 1


def _ends(lengths: Sequence[int], over: Windows, *, drop: bool) -> tuple[int, ...]:
    """Return how far the last windows of each axis reach beyond it."""
    end = []
    sides = zip(lengths, over.extents, over.strides, over.begin, over.end, strict=True)
    for length, extent, stride, before, after in sides:
        start = -(-(length + before + after - extent) // stride) * stride
        dropped = drop and start >= length + before
        end.append(after if dropped else max(start + extent - length - before, after))
    return tuple(end)


def _avg_pool(graph: Graph, op: Op) -> str:
    counts = not op.flag("exclude-pad")
    over, ceil = _rounded(op, windows.read(op, op.integers("kernel")), counts=counts)
    _refuse_wide(op, over)
    include = 1 if counts and (over.same is not None or any(over.begin + over.end)) else None
    return graph.node("AveragePool", op.inputs[0], ceil_mode=ceil, count_include_pad=include, **over.attributes)


def _adaptive(
    write: Callable[[Graph, Op, str, int, int, int], str], whole: str
) -> Callable[[Graph, Op], tuple[str, ...]]:
    """Pool axis by axis to the lengths that input 1 gives: the windows of an axis are the same in every row.

    One window over all of an axis is a reduction, ``whole``.
    """

    def emit(graph: Graph, op: Op) -> tuple[str, ...]:
        rank, lengths = op.rank(), op.known_integers(1, "the output's lengths are")
        x = op.inputs[0]
        for axis, length in zip(range(rank - len(lengths), rank), lengths, strict=True):
            if length == 1:
                x = operators.reduced(graph, whole, x, [axis])
                continue
            (held,) = op.lengths(axes=[axis])
            x = write(graph, op, x, axis, held, length) if held != length else x
        return (x,)

    return emit


def _edges(held: int, length: int) -> list[tuple[int, int]]:
    """Return the window of every output of an axis."""
    return [(i * held // length, -(-(i + 1) * held // length)) for i in range(length)]


def _mean_of_windows(graph: Graph, op: Op, x: str, axis: int, held: int, length: int) -> str:
    """Take means as a matrix product."""
    shares: NDArray[np.float64] = np.zeros((held, length))
    for i, (start, stop) in enumerate(_edges(held, length)):
        shares[start:stop, i] = 1 / (stop - start)
    order = operators.moved(op.rank(), axis, op.rank() - 1)
    weights = graph.constant(shares.astype(as_dtype(op.dtype())))
    made = graph.node("MatMul", operators.transposed(graph, x, order), weights)
    return operators.transposed(graph, made, operators.inverse(order))


def _largest_of_windows(graph: Graph, op: Op, x: str, axis: int, held: int, length: int) -> str:
    """Gather the windows, the shorter ones with their last element again, and reduce."""
    edges = _edges(held, length)
    longest = max(stop - start for start, stop in edges)
    places = [[min(start + k, stop - 1) for k in range(longest)] for start, stop in edges]
    gathered = graph.node("Gather", x, graph.constant(places, np.int64), axis=axis)
    return operators.reduced(graph, "ReduceMax", gathered, [axis + 1], keep=False)


def _adaptive_max(graph: Graph, op: Op) -> tuple[str, ...]:
    if len(op.layer.outputs) > 1 and op.is_used(1):
        return _adaptive_max_with_places(graph, op)
    return _adaptive(_largest_of_windows, "ReduceMax")(graph, op)


def _adaptive_max_with_places(graph: Graph, op: Op) -> tuple[str, ...]:
    """Where every window is of one size, it is a plain MaxPool."""
    wanted: Sequence[int] = op.known_integers(1, "the output's lengths are")
    held = op.space()
    if any(length % each for length, each in zip(held, wanted, strict=True)):
        raise op.refusal("the places of the largest in windows of different sizes")
    sizes = [length // each for length, each in zip(held, wanted, strict=True)]
    largest, places = graph.outputs(2, "MaxPool", op.inputs[0], kernel_shape=sizes, strides=sizes)
    within = graph.node("Mod", places, operators.scalar(graph, int(np.prod(held)), "int64"))
    return largest, within if op.result_dtype(1) == "int64" else operators.cast(graph, within, op.result_dtype(1))


TABLE = {
    "MaxPool": _max_pool,
    "AvgPool": _avg_pool,
    "AdaptiveAvgPool": _adaptive(_mean_of_windows, "ReduceMean"),
    "AdaptiveMaxPool": _adaptive_max,
}
