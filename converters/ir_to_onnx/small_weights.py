"""Weights that an IR holds as small integers: they stay small, with a DequantizeLinear behind them.

Products of bytes less their zero points become ConvInteger and MatMulInteger, which OpenVINO expands into int32
layers. Arithmetic with constants is absorbed by the preceding node, which is written anew, with the constant; the
first one, without readers now, is left out at the end.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import onnx
from numpy.typing import NDArray

from ir_interp.ir.interpolates import read_constant
from ir_interp.ir.ir_files import Layer, Net, Port
from ir_interp.shapes import Array

from ..onnx import operators
from ..onnx.onnx_graph import Graph, attributes_of
from .layers import Op

_SINCE = {"uint8": 10, "int8": 10, "uint4": 21, "int4": 21, "float8_e4m3fn": 19, "float8_e5m2": 19}
_SINCE_AXIS, _SINCE_BLOCKS = 13, 21  # operator sets of DequantizeLinear with scales along an axis, and of blocks


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """(values - zero) * scale, each scale for a place of ``axis``, or for ``block`` elements along it; None for all."""

    values: Array
    scale: NDArray[np.float32]
    zero: Array | None
    axis: int | None
    block: int | None

    @property
    def since(self) -> int:
        """The operator set whose DequantizeLinear can express it."""
        form = _SINCE_BLOCKS if self.block else _SINCE_AXIS if self.axis is not None else 10
        return max(_SINCE[self.values.dtype.name], form)

    def written(self, graph: Graph, name: str) -> str:
        """Add them to a graph and return the tensor of the numbers that they represent."""
        inputs = [graph.constant(self.values, name=name), graph.constant(self.scale)]
        inputs += [graph.constant(self.zero)] if self.zero is not None else []
        return graph.node("DequantizeLinear", *inputs, axis=self.axis, block_size=self.block)

    def unpacked(self, graph: Graph) -> str:
        """Add them as arithmetic, which onnxruntime folds when it loads; a DequantizeLinear it does not fold."""
        x = operators.cast(graph, graph.constant(self.values), "float32")
        if self.zero is not None:
            x = graph.node("Sub", x, graph.constant(self._along(self.zero).astype(np.float32)))
        scale = graph.constant(self._along(self.scale))
        # In half precision, a scale would change every weight.
        graph.exact.add(scale)
        return graph.node("Mul", x, scale)

    def times(self, factors: NDArray[np.float32]) -> Weights | None:
        """Return weights times a factor of each output channel; None if their scales lie along other axes."""
        if self.axis not in (None, 0) or self.block or factors.size != self.values.shape[0]:
            return None
        # The integers stay; only what one of them stands for changes.
        scale = np.broadcast_to(self.scale, factors.size) * factors.ravel()
        zero = None if self.zero is None else np.broadcast_to(self.zero, factors.size).copy()
        return replace(self, scale=scale.astype(np.float32), zero=zero, axis=0)

    def sums(self) -> NDArray[np.float64]:
        """Return the sum of the weights of each output channel; their scales lie along those."""
        count = self.values.shape[0]
        zero = np.zeros(count) if self.zero is None else np.broadcast_to(self.zero, count).astype(np.float64)
        whole = self.values.reshape(count, -1).astype(np.float64) - zero[:, None]
        return np.asarray(whole.sum(axis=1) * np.broadcast_to(self.scale, count))

    def _along(self, numbers: Array) -> Array:
        """Return scales or zero points with as many axes as the values."""
        if numbers.ndim != 1:
            return numbers
        return numbers.reshape([-1 if axis == self.axis else 1 for axis in range(self.values.ndim)])

    def without_groups(self) -> Weights:
        """Return weights whose first two axes, groups and the rows of each, are one."""
        groups, rows, *others = self.values.shape
        values = self.values.reshape([groups * rows, *others])
        if self.axis not in (0, 1):
            return replace(self, values=values, axis=None if self.axis is None else self.axis - 1)

        def spread(numbers: Array) -> Array:
            along = numbers.reshape([-1, 1] if self.axis == 0 else [1, -1])
            return np.ascontiguousarray(np.broadcast_to(along, (groups, rows))).ravel()

        zero = None if self.zero is None else spread(self.zero)
        return replace(self, values=values, scale=spread(self.scale), zero=zero, axis=0)


def held(graph: Graph, tensor: str) -> Weights | None:
    """Return the constant weights behind a DequantizeLinear of a graph; None for other tensors, and blocks."""
    node = graph.maker(tensor)
    if node is None or node.op_type != "DequantizeLinear" or not graph.initialisers.keys() >= set(node.input):
        return None
    stated = attributes_of(node)
    values, scale, *zero = (graph.initialisers[name] for name in node.input)
    if stated.get("block_size") or scale.ndim > 1:
        return None
    axis = int(stated.get("axis", 1)) if scale.ndim else None
    return Weights(values=values, scale=scale, zero=zero[0] if zero else None, axis=axis, block=None)


def read(net: Net, product: Layer) -> Weights | None:
    """Return the weights that a Multiply computes from constants of few bits; None for anything else."""
    if product.type.lower() != "multiply":
        return None
    for index in range(2):
        chain, other = net.source(product, index), net.source(product, 1 - index)
        if chain is None or other is None:
            continue
        integers, scale = _integers(net, chain[0]), constant(net, other[0])
        if integers is not None and scale is not None:
            return _formed(*integers, np.asarray(scale, np.float32))
    return None


def is_looked_up(net: Net, product: Layer) -> bool:
    """Return whether a Multiply scales weights of nf4, which ONNX keeps in a table."""
    ends = [net.source(product, index) for index in range(2)] if product.type.lower() == "multiply" else []
    stored = [_stored(net, end[0]) for end in ends if end is not None]
    return None not in stored and any(layer is not None and layer.outputs[0].dtype == "nf4" for layer in stored)


def _stored(net: Net, layer: Layer) -> Layer | None:
    """Return the constant behind conversions to other types; None if there is none."""
    while layer.type.lower() == "convert":
        source = net.source(layer, 0)
        if source is None:
            return None
        layer = source[0]
    return layer if layer.type.lower() == "const" else None


def flattened(net: Net, reshape: Layer) -> Weights | None:
    """Return the weights that a Reshape turns back into matrices, whose blocks had a separate axis; else None."""
    source = net.source(reshape, 0)
    stored = read(net, source[0]) if source else None
    if stored is None or stored.block is None or stored.values.ndim != 3 or stored.axis != 2:
        return None
    rows = stored.values.shape[0]
    if reshape.outputs[0].shape != (rows, stored.values.size // rows):
        return None
    zero = None if stored.zero is None else stored.zero.reshape(rows, -1)
    scale, values = stored.scale.reshape(rows, -1), stored.values.reshape(rows, -1)
    return replace(stored, values=values, scale=scale, zero=zero, axis=1)


def turned(net: Net, layer: Layer, index: int) -> Weights | None:
    """Return the matrix that feeds an input, transposed; None if it has other readers, or is no weight."""
    source = net.source(layer, index)
    while source is not None and len(net.readers(*source)) == 1 and source[0].type.lower() == "convert":
        source = net.source(source[0], 0)
    if source is None or len(net.readers(*source)) > 1:
        return None
    stored = flattened(net, source[0]) if source[0].type.lower() == "reshape" else read(net, source[0])
    # A transposed DequantizeLinear has its axis on the other side, which only a matrix makes simple.
    if stored is None or stored.values.ndim != 2:
        return None
    scale, zero = (array.T if array is not None and stored.block else array for array in (stored.scale, stored.zero))
    axis = None if stored.axis is None else 1 - stored.axis
    return replace(stored, values=stored.values.T, scale=np.asarray(scale), zero=zero, axis=axis)


def _integers(net: Net, layer: Layer) -> tuple[Array, Array | None] | None:
    """Return values of few bits and their zero points."""
    zero = None
    if layer.type.lower() == "subtract":
        first, second = net.source(layer, 0), net.source(layer, 1)
        zero = constant(net, second[0]) if second else None
        if first is None or zero is None:
            return None
        layer = first[0]
    values = constant(net, layer) if layer.type.lower() == "convert" else None
    return None if values is None or values.dtype.name not in _SINCE else (values, zero)


def constant(net: Net, layer: Layer) -> Array | None:
    """Return a constant, perhaps one that is converted to another type, as it is stored."""
    stored = _stored(net, layer)
    return None if stored is None else read_constant(stored, net.binary)


def _formed(values: Array, zero: Array | None, scale: NDArray[np.float32]) -> Weights | None:
    """Return weights as DequantizeLinear has them; None if their scales lie along several axes."""
    shape = values.shape
    if scale.ndim > len(shape) or not shape:
        return None
    scale = scale.reshape((1,) * (len(shape) - scale.ndim) + scale.shape)
    ones = [axis for axis, (n, size) in enumerate(zip(scale.shape, shape, strict=True)) if n == 1 and size > 1]
    full = [axis for axis, (n, size) in enumerate(zip(scale.shape, shape, strict=True)) if n == size and n > 1]
    if len(ones) + len(full) != sum(length > 1 for length in shape):
        return None
    points = _points(zero, values, scale)
    if zero is not None and points is None:
        return None
    if not full:
        single = None if points is None else points.reshape(())
        return Weights(values=values, scale=scale.reshape(()), zero=single, axis=None, block=None)
    if len(full) == 1:
        along = None if points is None else points.ravel()
        return Weights(values=values, scale=scale.ravel(), zero=along, axis=full[0], block=None)
    # Blocks lie along one axis: it is the one where a scale serves several elements.
    if len(ones) != 1:
        return None
    return Weights(values=values, scale=scale, zero=points, axis=ones[0], block=shape[ones[0]])


def _points(zero: Array | None, values: Array, scale: NDArray[np.float32]) -> Array | None:
    """Return zero points in the type of the values, one for each scale; None if that type cannot hold them."""
    if zero is None or zero.ndim > scale.ndim:
        return None
    zeros = np.asarray(zero, np.float32)
    try:
        spread = np.broadcast_to(zeros, scale.shape)
    except ValueError:
        return None
    cast = spread.astype(values.dtype)
    return np.ascontiguousarray(cast) if np.array_equal(cast.astype(np.float32), spread) else None


_BYTES = ("uint8", "int8")
_MOVES = ("Reshape", "Transpose", "Squeeze", "Unsqueeze")
"""Nodes that leave values unchanged."""


@dataclass(frozen=True, slots=True)
class _Bytes:
    """A tensor of bytes, and its zero point."""

    tensor: str
    zero: str


def convolution_of_bytes(graph: Graph, op: Op, kernel: Array | None, **attributes: object) -> str | None:
    """Return a convolution of bytes; None for anything else. The kernel has no axis of groups.

    Weights are unsigned: onnxruntime takes three times as long for signed ones, and older releases have no such kernel.
    """
    return _product(graph, "ConvInteger", _read(graph, op, 0), _counted(graph, kernel), **attributes)


def product_of_bytes(graph: Graph, op: Op) -> str | None:
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
    stored = constant(op.net, source[0]) if source else None
    return stored if stored is not None and op.dtype(1) == "int32" else None


def _product(graph: Graph, kind: str, one: _Bytes | None, other: _Bytes | None, **attributes: object) -> str | None:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Before:
    """The node that produced the other operand and has no other reader; and the layer that it came from."""

    node: onnx.NodeProto
    op: Op

    @property
    def inputs(self) -> list[str]:
        return list(self.node.input)


_Merge = Callable[[Graph, _Before, Array], tuple[str, list[str]] | None]


def absorbed_summand(graph: Graph, op: Op) -> str | None:
    """Return the sum of a product, or of a normalisation, and a constant as one node; None if there is none."""
    return _merged(graph, op, {"Conv": _convolution, "MatMul": _matmul, "LayerNormalization": _shifted})


def absorbed_factor(graph: Graph, op: Op) -> str | None:
    """Return the product of a normalisation and a constant as one node; None if there is none."""
    return _merged(graph, op, {"LayerNormalization": _scaled})


def limited_above(graph: Graph, op: Op) -> str | None:
    """Return the minimum of a number and a value with a lower limit as one Clip; None if there is no such node.

    Limits in the wrong order stay separate: of them the outer one holds, in a Clip the upper one.
    """
    return _merged(graph, op, {"Max": _clipped})


def limited_below(graph: Graph, op: Op) -> str | None:
    """Return the maximum of a number and a value with an upper limit as one Clip, as in ``limited_above``."""
    return _merged(graph, op, {"Min": _clipped})


def known_extreme(graph: Graph, kind: str, x: str, y: str) -> str | None:
    """Return the maximum (or minimum) of two if one is the other, or was computed from the other in the same way."""
    if x == y:
        return x
    for one, other in ((x, y), (y, x)):
        before = graph.maker(one)
        if before is not None and before.op_type == kind and other in before.input:
            return one
    return None


def _merged(graph: Graph, op: Op, merges: dict[str, _Merge]) -> str | None:
    for index in (0, 1):
        constant = op.value(1 - index)
        before = _before(graph, op, index) if constant is not None else None
        if constant is not None and before is not None and before.node.op_type in merges:
            merged = merges[before.node.op_type](graph, before, constant)
            if merged is not None:
                return graph.node(merged[0], *merged[1], **attributes_of(before.node))
    return None


def _before(graph: Graph, op: Op, index: int) -> _Before | None:
    """Return the producer of an operand; None if that is no node of this graph, or has other readers."""
    source = op.net.source(op.layer, index)
    if source is None or op.is_read_elsewhere(index) or op.word("auto_broadcast", BROADCASTS, "numpy") == "pdpd":
        return None
    node = graph.maker(op.inputs[index])
    return None if node is None else _Before(node=node, op=replace(op, layer=source[0], inputs=()))


BROADCASTS = ("none", "numpy", "pdpd")
PDPD_AXIS = "auto_broadcast.auto_broadcast_axis"
"""The attribute for the first axis that pdpd aligns."""


def _convolution(graph: Graph, before: _Before, constant: Array) -> tuple[str, list[str]] | None:
    """Absorb values that vary along the channels only into the bias."""
    bias = _along(graph, before, constant, [1])
    x, kernel, *biases = before.inputs
    old = graph.initialisers.get(biases[0]) if biases else None
    if bias is None or (biases and old is None):
        return None
    both = bias if old is None else graph.constant(old + graph.initialisers[bias])
    return "Conv", [x, kernel, both]


def _matmul(graph: Graph, before: _Before, constant: Array) -> tuple[str, list[str]] | None:
    """Absorb values that vary along the columns only into the bias of a product of two matrices.

    A product of integers is left alone: onnxruntime would convert them to floats in a Gemm, in each inference.
    """
    if held(graph, before.inputs[1]) is not None:
        return None
    ranks = [len(before.op.shape(index) or ()) for index in (0, 1)]
    bias = _along(graph, before, constant, [1]) if ranks == [2, 2] else None
    return ("Gemm", [*before.inputs, bias]) if bias else None


def _clipped(graph: Graph, before: _Before, constant: Array) -> tuple[str, list[str]] | None:
    """Absorb a second limit if both are numbers, and of no more axes than the limited tensor."""
    for index, other in ((0, 1), (1, 0)):
        known = graph.initialisers.get(before.inputs[other])
        rank = len(before.op.shape(index) or ())
        if known is not None and all(_is_number(number, rank) for number in (known, constant)):
            low, high = (known, constant) if before.node.op_type == "Max" else (constant, known)
            limits = (graph.constant(limit.item(), np.float32) for limit in (low, high))
            # Limits in the wrong order mean different things in a Clip and in two nodes.
            return ("Clip", [before.inputs[index], *limits]) if low.item() <= high.item() else None
    return None


def _is_number(constant: Array, rank: int) -> bool:
    return constant.size == 1 and constant.ndim <= rank and constant.dtype == np.float32


def _scaled(graph: Graph, before: _Before, constant: Array) -> tuple[str, list[str]] | None:
    """Absorb the factors into the scale, which is 1 if nothing was merged yet."""
    x, ones = before.inputs if len(before.inputs) == 2 else ("", "")
    scale = _along(graph, before, constant, _normalised(graph, before))
    return ("LayerNormalization", [x, scale]) if scale and ones and (graph.initialisers[ones] == 1).all() else None


def _shifted(graph: Graph, before: _Before, constant: Array) -> tuple[str, list[str]] | None:
    shift = _along(graph, before, constant, _normalised(graph, before))
    return ("LayerNormalization", [*before.inputs, shift]) if shift and len(before.inputs) == 2 else None


def _normalised(graph: Graph, before: _Before) -> Sequence[int]:
    rank, count = len(before.op.result_shape() or ()), graph.initialisers[before.inputs[1]].ndim
    return range(rank - count, rank)


def _along(graph: Graph, before: _Before, constant: Array, axes: Sequence[int]) -> str | None:
    """Return a constant broadcast along some axes of its partner; None if it varies along others."""
    shape = before.op.result_shape() or ()
    if constant.dtype.kind != "f" or constant.ndim > len(shape) or any(axis >= len(shape) for axis in axes):
        return None
    lengths = (1,) * (len(shape) - constant.ndim) + constant.shape
    sizes, target = [lengths[axis] for axis in axes], [shape[axis] for axis in axes]
    known = [length for length in target if length is not None]
    if len(known) < len(target) or constant.size != math.prod(sizes) or not _spreads(sizes, known):
        return None
    return graph.constant(np.broadcast_to(constant.reshape(sizes), known), np.float32)


def _spreads(lengths: Sequence[int], target: Sequence[int]) -> bool:
    return all(mine in (1, other) for mine, other in zip(lengths, target, strict=True))
