"""Weights that an IR holds as small integers: they stay small, with a DequantizeLinear behind them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ir_interp.array_types import Array
from ir_interp.ir.constants import read_constant
from ir_interp.ir.net import Layer, Net

from ...onnx import operators
from ...onnx.graph import Graph, attributes_of

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
