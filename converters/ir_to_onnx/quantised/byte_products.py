"""Products of bytes less their zero points: ConvInteger and MatMulInteger, which OpenVINO expands into int32 layers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ir_interp.array_types import Array
from ir_interp.ir.net import Layer, Port

from ...onnx.graph import Graph
from ..layer import Op
from . import small_weights

_BYTES = ("uint8", "int8")
_MOVES = ("Reshape", "Transpose", "Squeeze", "Unsqueeze")
"""Nodes that leave values unchanged."""


@dataclass(frozen=True, slots=True)
class _Bytes:
    """A tensor of bytes, and its zero point."""

    tensor: str
    zero: str


def convolved(graph: Graph, op: Op, kernel: Array | None, **attributes: Any) -> str | None:
    """Return a convolution of bytes; None for anything else. The kernel has no axis of groups.

    Weights are unsigned: onnxruntime takes three times as long for signed ones, and older releases have no such kernel.
    """
    return _product(graph, "ConvInteger", _read(graph, op, 0), _counted(graph, kernel), **attributes)


def multiplied(graph: Graph, op: Op) -> str | None:
    """Return a product of byte matrices; None for anything else."""
    if min(op.rank(0), op.rank(1)) < 2 or op.flag("transpose_a"):
        return None
    values, is_turned = kernel(op), op.flag("transpose_b")
    if values is None:
        other = None if is_turned else _read(graph, op, 1)
    else:
        turned = np.swapaxes(values, -1, -2) if is_turned else values
        other = _signed(graph, turned) or _counted(graph, turned)
    return _product(graph, "MatMulInteger", _read(graph, op, 0), other)


def kernel(op: Op) -> Array | None:
    """Return the second operand if it is an int32 constant."""
    source = op.net.source(op.layer, 1)
    stored = small_weights.constant(op.net, source[0]) if source else None
    return stored if stored is not None and op.dtype(1) == "int32" else None


def _product(graph: Graph, kind: str, one: _Bytes | None, other: _Bytes | None, **attributes: Any) -> str | None:
    if one is None or other is None:
        return None
    return graph.node(kind, one.tensor, other.tensor, one.zero, other.zero, **attributes)


def _signed(graph: Graph, values: Array) -> _Bytes | None:
    """Return constants as signed bytes, if they fit."""
    fits = values.size and values.min() >= -128 and values.max() <= 127
    return _Bytes(graph.constant(values, np.int8), "") if fits else None


def _counted(graph: Graph, values: Array | None) -> _Bytes | None:
    """Return constants as bytes that are counted from the lowest, if they fit."""
    # The lowest value becomes 0, unless all are positive already.
    zero = max(0, -int(values.min())) if values is not None and values.size else 256
    if values is None or max(zero, int(values.max()) + zero) > 255:
        return None
    return _Bytes(graph.constant(values + zero, np.uint8), graph.constant(np.uint8(zero)))


def _read(graph: Graph, op: Op, index: int) -> _Bytes | None:
    """Return the bytes of an input, less their zero point; None for anything else."""
    source = op.net.source(op.layer, index)
    if source is None or op.dtype(index) != "int32" or source[0].type.lower() not in ("subtract", "add"):
        return None
    layer, node = source[0], graph.maker(op.inputs[index])
    if node is None or node.op_type not in ("Sub", "Add"):
        return None
    less = replace(op, layer=layer, inputs=tuple(node.input), read=set())
    dtype = _dtype(less, 0)
    zero = None if dtype is None else _zero(graph, less, dtype)
    return _Bytes(_in_bytes(graph, node.input[0]), zero) if zero else None


def _zero(graph: Graph, less: Op, dtype: str) -> str | None:
    """Return the zero point that is subtracted from bytes, if it is one of them."""
    value = less.value(1)
    if value is not None:
        number = int(value.ravel()[0]) if value.size == 1 else None
        # An IR may hold the subtraction of a constant as the sum with its negative.
        number = -number if number is not None and less.layer.type.lower() == "add" else number
        limits = np.iinfo(dtype)
        return graph.constant(number, dtype) if number is not None and limits.min <= number <= limits.max else None
    if less.layer.type.lower() == "add" or _dtype(less, 1) != dtype or less.shape(1) != ():
        return None
    return _in_bytes(graph, less.inputs[1])


def _dtype(op: Op, index: int) -> str | None:
    """Return the element type of the bytes behind an operand; None if it was computed from others."""
    source: tuple[Layer, Port] | None = op.net.source(op.layer, index)
    # Layers that move values may lie between the Convert and the product.
    while source is not None and source[0].type in _MOVES:
        source = op.net.source(source[0], 0)
    before = op.net.source(source[0], 0) if source is not None and source[0].type.lower() == "convert" else None
    return before[1].dtype if before is not None and before[1].dtype in _BYTES else None


def _in_bytes(graph: Graph, tensor: str) -> str:
    """Return the source of a Cast to int32, behind the same nodes that follow the Cast."""
    node = graph.maker(tensor)
    if node is None or node.op_type not in _MOVES:
        return node.input[0] if node is not None and node.op_type == "Cast" else tensor
    return graph.again(node, _in_bytes(graph, node.input[0]), *node.input[1:])
