"""Folding of an IR's shape arithmetic, where constants and static shapes determine it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ir_interp.array_types import Array
from ir_interp.errors import ReadError
from ir_interp.ir import xml
from ir_interp.ir.constants import read_constant
from ir_interp.ir.elements import numpy_name
from ir_interp.ir.net import Layer, Net, Port

_MAX_ELEMENTS = 4096  # enough for sizes, scales, axes and their operands; never weights
_FAILURES = (ValueError, LookupError, TypeError, ArithmeticError)  # exceptions of NumPy for operands that do not fit


def fold(net: Net, layer: Layer, index: int) -> Array | None:
    """Return the value of an input of ``layer``; None if it is known only at run time.

    Raises ReadError if a constant cannot be read, or operands do not fit.
    """
    source = net.source(layer, index)
    return None if source is None else _folded(net, *source)


def is_decided(net: Net, layer: Layer) -> bool:
    """Return whether constants and static shapes determine a layer's output; see ``fold``."""
    return all(_folded(net, layer, port) is not None for port in layer.outputs)


def _folded(net: Net, producer: Layer, port: Port) -> Array | None:
    """Return a value, computed once per net; None also for a value that is being folded, since a cycle never ends."""
    key = (producer.id, port.id)
    if key not in net.folded:
        net.folded[key] = None
        try:
            net.folded[key] = _value(net, producer, port)
        except ReadError:
            del net.folded[key]  # else another use would take the value for one at run time
            raise
    return net.folded[key]


def _value(net: Net, producer: Layer, port: Port) -> Array | None:
    kind = producer.type.lower()
    if kind == "const":
        value = read_constant(producer, net.binary)
        return value if value.size <= _MAX_ELEMENTS else None
    if kind == "shapeof":
        return _shape_of(net, producer, port.dtype)
    if kind not in _COMPUTE:
        return None
    inputs = [fold(net, producer, index) for index in range(len(producer.inputs))]
    operands = [value for value in inputs if value is not None]
    if len(operands) < len(inputs):
        return None
    try:
        with np.errstate(all="ignore"):
            value = _COMPUTE[kind](producer, *operands)
    except _FAILURES as error:
        raise ReadError(f"cannot be computed: {error}", producer.where) from error
    if isinstance(value, tuple):
        value = value[producer.outputs.index(port)]
    return None if value is None or np.size(value) > _MAX_ELEMENTS else np.asarray(value)


def _shape_of(net: Net, layer: Layer, dtype: str | None) -> Array | None:
    shape = layer.inputs[0].shape
    source = net.source(layer, 0)
    if shape is None and source is not None:
        shape = source[1].shape
    if shape is None or None in shape or (shape == () and net.has_dynamic_ranks):  # a dynamic rank looks like a scalar
        return None
    return np.array(shape, "int32" if dtype == "int32" else "int64")


def _convert(layer: Layer, value: Array) -> Array:
    return value.astype(numpy_name(layer.attributes.get("destination_type", value.dtype.name)))


def _concat(layer: Layer, *values: Array) -> Array:
    return np.concatenate(values, axis=xml.integer(layer.attributes.get("axis", "0")))


def _gather(layer: Layer, data: Array, indices: Array, axis: Array) -> Array | None:
    in_batches = layer.attributes.get("batch_dims", "0") != "0"
    return None if in_batches else np.take(data, indices, axis=int(axis.ravel()[0]))


def _squeeze(layer: Layer, data: Array, axes: Array | None = None) -> Array:
    return np.squeeze(data, None if axes is None else tuple(np.atleast_1d(axes)))


def _unsqueeze(layer: Layer, data: Array, axes: Array) -> Array:
    return np.expand_dims(data, tuple(np.atleast_1d(axes)))


def _reshape(layer: Layer, data: Array, shape: Array) -> Array:
    keeps = xml.flag(layer.attributes.get("special_zero", "false"))  # a 0 keeps the dimension of the input
    return data.reshape([data.shape[axis] if keeps and size == 0 else int(size) for axis, size in enumerate(shape)])


def _slice(layer: Layer, data: Array, start: Array, stop: Array, step: Array, axes: Array | None = None) -> Array:
    places = [slice(None)] * data.ndim
    for axis, *edges in zip(range(data.ndim) if axes is None else axes, start, stop, step, strict=False):
        places[int(axis)] = slice(*map(int, edges))
    return data[tuple(places)]


def _strided_slice(layer: Layer, data: Array, begin: Array, end: Array, stride: Array | None = None) -> Array | None:
    """Return a slice of a vector, the only form in which shapes are sliced."""
    if data.ndim != 1 or begin.size != 1 or "1" in layer.attributes.get("new_axis_mask", ""):
        return None
    masks = {name: xml.integers(layer.attributes.get(name, "")) for name in ("begin_mask", "end_mask")}
    shrinks = any(xml.integers(layer.attributes.get("shrink_axis_mask", ""))[:1])
    if shrinks:  # whatever the mask of begin
        return np.asarray(data[int(begin[0])])
    start = None if any(masks["begin_mask"][:1]) else int(begin[0])
    last = None if any(masks["end_mask"][:1]) else int(end[0])
    return data[start : last : int(stride[0]) if stride is not None else 1]


def _divide(layer: Layer, left: Array, right: Array) -> Array:
    if left.dtype.kind not in "iu":
        return np.divide(left, right)
    floors = xml.flag(layer.attributes.get("m_pythondiv", "true"))  # the CPU plugin ignores it, folding does not
    quotient = np.floor_divide(left, right)
    return quotient if floors else quotient + ((quotient < 0) & (quotient * right != left))  # else towards 0


def _broadcast(layer: Layer, data: Array, shape: Array, axes: Array | None = None) -> Array | None:
    mode, target_shape = layer.attributes.get("mode", "numpy"), tuple(map(int, shape))
    if mode == "numpy":
        return np.broadcast_to(data, target_shape)
    return np.broadcast_to(data, np.broadcast_shapes(data.shape, target_shape)) if mode == "bidirectional" else None


def _split(layer: Layer, data: Array, axis: Array, lengths: Array | None = None) -> tuple[Array, ...]:
    along = int(axis.ravel()[0])
    if lengths is None:
        return tuple(np.split(data, xml.integer(layer.attributes["num_splits"]), along))
    rest = data.shape[along] - int(lengths[lengths >= 0].sum())  # the dimension that -1 stands for
    return tuple(np.split(data, np.cumsum(np.where(lengths < 0, rest, lengths))[:-1], along))


def _range(layer: Layer, start: Array, stop: Array, step: Array) -> Array | None:
    # Negated, so that NaN is refused as well.
    if not abs(stop.item() - start.item()) <= abs(step.item()) * _MAX_ELEMENTS:
        return None
    dtype = numpy_name(layer.attributes.get("output_type", start.dtype.name))
    return np.arange(start.item(), stop.item(), step.item()).astype(dtype)


def _rest(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda layer, left, right: function(left, right) if np.all(right) else None


def _product(layer: Layer, data: Array, axes: Array) -> Array:
    keeps = xml.flag(layer.attributes.get("keep_dims", "false"))
    return np.asarray(np.prod(data, tuple(map(int, axes.ravel())), dtype=data.dtype, keepdims=keeps))


def _tile(layer: Layer, data: Array, repeats: Array) -> Array | None:
    # Python's integers do not overflow.
    few = data.size * np.prod(repeats.astype(object)) <= _MAX_ELEMENTS
    return np.tile(data, tuple(map(int, repeats.ravel()))) if few else None


def _plain(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda layer, *values: function(*values)


_COMPUTE: dict[str, Callable[..., Any]] = {
    "broadcast": _broadcast,
    "convert": _convert,
    "concat": _concat,
    "gather": _gather,
    "squeeze": _squeeze,
    "unsqueeze": _unsqueeze,
    "range": _range,
    "reshape": _reshape,
    "slice": _slice,
    "split": _split,
    "stridedslice": _strided_slice,
    "variadicsplit": _split,
    "add": _plain(np.add),
    "subtract": _plain(np.subtract),
    "multiply": _plain(np.multiply),
    "divide": _divide,
    "floormod": _rest(np.mod),
    "mod": _rest(np.fmod),
    "reduceprod": _product,
    "tile": _tile,
    "floor": _plain(np.floor),
    "ceiling": _plain(np.ceil),
    "maximum": _plain(np.maximum),
    "minimum": _plain(np.minimum),
}
