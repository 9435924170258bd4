"""Operators that an operator set lacks, or defines otherwise, as other operations of it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..onnx import operators
from .operator_set_nodes import Old, UnsaidError

_INTEGER_EXTREMES = 12  # the operator set since which Max and Min take integers
_COMPARED_INTEGERS = 9  # the operator set since which Less takes them, and Where exists
_HALF_TYPES = ("float16", "bfloat16")


def pieces(old: Old, x: str, axis: int, count: int) -> Sequence[str]:
    """Split an axis of unknown size into parts of one size, the last of which may be smaller."""
    graph = old.graph
    # Slice-1 takes its bounds as attributes, so none of run time.
    if graph.opset < 10:
        raise UnsaidError("the size of the axis that it splits is known only at run time")
    at = graph.ints([axis % old.rank()])
    size = graph.node("Gather", graph.node("Shape", x), at)
    # The ceiling of the quotient: only the last part may be smaller.
    piece = graph.node("Div", graph.node("Add", size, graph.ints([count - 1])), graph.ints([count]))
    ends = [graph.node("Mul", piece, graph.ints([number])) for number in range(count + 1)]
    return [graph.node("Slice", x, ends[n], ends[n + 1], at) for n in range(count)]


def soft(old: Old) -> Sequence[str]:
    """Before operator set 13 these span all axes from the given one on together."""
    graph, kind, x = old.graph, old.node.op_type, old.input(0)
    axis = old.attribute("axis", 1 if old.opset < 13 else -1)
    if graph.opset < 13:
        return [operators.softened(graph, x, axis % old.rank(), old.rank(), kind)]
    if axis == -1:  # both definitions sum over the last axis alone
        return [graph.node(kind, x, axis=axis)]
    axis = axis if axis >= 0 else axis % old.rank()
    # Flattened, the axes from this one on are one axis, over which the newer operator sums as the older does.
    flat = graph.node(kind, graph.node("Flatten", x, axis=axis), axis=-1)
    return [graph.node("Reshape", flat, graph.node("Shape", x))]


def quantise(old: Old) -> Sequence[str]:
    """Return a node without its axis, which makes no difference for a single scale."""
    scale = old.values.shape(old.input(1))
    beyond = {attribute.name for attribute in old.node.attribute} - {"axis", "saturate", "block_size"}
    if scale is None or len(scale) > 0 or beyond:
        return _dequantise(old)
    return [old.graph.node(old.node.op_type, *old.node.input)]


def _dequantise(old: Old) -> Sequence[str]:
    """Return (x - zero) * scale, both broadcast along the axis."""
    scale, rank, graph = old.values.shape(old.input(1)), old.rank(), old.graph
    if old.node.op_type != "DequantizeLinear" or old.attribute("block_size", 0) or scale is None or len(scale) != 1:
        raise UnsaidError("it has several scales")
    if old.values.dtype(old.input(1)) != "float32":
        raise UnsaidError("its scales are not float32")
    axis = old.attribute("axis", 1) % rank
    beside = list(range(1, rank - axis))  # axes of size 1 behind that of the scales, so that they broadcast along it
    x = operators.cast(graph, old.input(0), "float32")
    if old.input(2):
        zero = operators.unsqueeze(graph, operators.cast(graph, old.input(2), "float32"), beside)
        x = graph.node("Sub", x, zero)
    return [graph.node("Mul", x, operators.unsqueeze(graph, old.input(1), beside))]


def normalise(old: Old) -> Sequence[str]:
    """Return a LayerNormalization: onnx's own body of it squares means before it subtracts them, and loses digits."""
    graph, dtype, x, rank = old.graph, old.dtype(), old.input(0), old.rank()
    if dtype not in (*_HALF_TYPES, "float32"):
        raise UnsaidError(f"the rules do not cover its computation in {dtype}")
    axes = list(range(old.attribute("axis", -1) % rank, rank))
    whole = operators.cast(graph, x, "float32") if dtype in _HALF_TYPES else x
    mean = operators.reduction(graph, "ReduceMean", whole, axes)
    apart = graph.node("Sub", whole, mean)
    variance = operators.reduction(graph, "ReduceMean", graph.node("Mul", apart, apart), axes)
    epsilon = graph.constant(np.float32(old.attribute("epsilon", 1e-5)))
    deviation = graph.node("Sqrt", graph.node("Add", variance, epsilon))
    output = graph.node("Div", apart, deviation)
    output = graph.node("Mul", operators.cast(graph, output, dtype) if dtype in _HALF_TYPES else output, old.input(1))
    output = graph.node("Add", output, old.input(2)) if old.input(2) else output
    return [output, mean, graph.node("Reciprocal", deviation)][: len(old.node.output)]


def extremes(old: Old, kind: str, result: str, *values: str) -> str:
    """Return the maximum (``kind`` Max) or the minimum (Min) of integers, which these take since operator set 12."""
    if values and old.graph.opset >= _INTEGER_EXTREMES:
        return old.graph.node(kind, result, *values)
    if old.graph.opset < _COMPARED_INTEGERS:
        raise UnsaidError(f"its elements are {old.dtype()}")
    for value in values:
        is_less = old.graph.node("Less", result, value)
        result = old.graph.node("Where", is_less, *((value, result) if kind == "Max" else (result, value)))
    return result


def triangle(old: Old) -> Sequence[str]:
    """Keep the entries on and above a diagonal, or below it, by columns less rows."""
    graph, x, upper = old.graph, old.input(0), old.attribute("upper", 1)
    if graph.opset < 11:
        raise UnsaidError("there is no Range")
    shape, zero, one = graph.node("Shape", x), operators.scalar(graph, 0, "int64"), operators.scalar(graph, 1, "int64")
    rows, columns = (
        graph.node("Range", zero, graph.node("Gather", shape, graph.constant(np.int64(axis))), one) for axis in (-2, -1)
    )
    apart = graph.node("Sub", columns, operators.unsqueeze(graph, rows, [1]))
    beyond = graph.node("Less" if upper else "Greater", apart, old.input(1) or zero)
    if old.dtype() == "bool":
        return [graph.node("And", x, graph.node("Not", beyond))]
    return [graph.node("Where", beyond, operators.scalar(graph, 0, old.dtype()), x)]
