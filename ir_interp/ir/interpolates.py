"""Every Interpolate of an IR, or of a pasted snippet.

First the constants of an IR, stored in its .bin, then the folding of its shape arithmetic, where constants and static
shapes determine it, then the resizes.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.errors import ReadError, SpecError, UnsupportedLayerError, closest
from ir_interp.files.kinds import opened
from ir_interp.files.memory import let_go
from ir_interp.files.writing import is_file
from ir_interp.ir import ir_files
from ir_interp.ir.interpolate_dialect import DIALECT, axes_in_order
from ir_interp.ir.ir_files import ELEMENT_TYPES, NF4, Layer, Net, Port, nets, numpy_dtype, numpy_name, tensor_name
from ir_interp.resize_op import ResizeOp, check_target, read
from ir_interp.shapes import Array, PartialShape, resolve_axes, static_shape
from ir_interp.specs.modes import AtRunTime
from ir_interp.translation.dialect import Context, Semantics

_PACKED = {"i4": 2, "u4": 2, "nf4": 2, "u1": 8}  # values per byte


class MissingBinaryError(ReadError):
    """The .bin that holds a constant is missing."""


def read_constant(layer: Layer, binary: Path) -> Array:
    """Return the value of a Const layer, mapped from the .bin.

    Raises ReadError if the constant exceeds the file, MissingBinaryError if there is no file.
    """
    name = layer.attributes.get("element_type", "").lower()
    dtype, shape = numpy_dtype(name, f"{layer.where}@element_type"), _shape(layer)
    offset, size = (
        ir_files.natural(layer.attributes.get(place), f"{layer.where}@{place}") for place in ("offset", "size")
    )
    packed = _PACKED.get(name, 0)
    if prod(shape) == 0:  # OpenVINO writes a byte for it
        return np.empty(shape, dtype)
    if size != (-(-prod(shape) // packed) if packed else prod(shape) * dtype.itemsize):
        raise ReadError(f"{size} bytes do not fit shape {list(shape)} of {dtype}", f"{layer.where}@size")
    if not is_file(binary):
        raise MissingBinaryError(f"the value is needed, but {binary.name} is missing", layer.where)
    available = binary.stat().st_size
    if offset + size > available:
        problem = f"bytes {offset} to {offset + size} lie beyond the {available} bytes of {binary.name}"
        raise ReadError(problem, f"{layer.where}@offset")
    if packed:
        held_in = dtype if name != "nf4" else np.dtype(np.uint8)
        octets: NDArray[np.uint8] = _mapped(binary, np.dtype(np.uint8), offset, (size,))
        numbers = _unpacked(octets, held_in)[: prod(shape)].reshape(shape)
        return numbers if name != "nf4" else NF4[numbers]
    return _mapped(binary, dtype, offset, shape or (1,)).reshape(shape)


def _mapped(binary: Path, dtype: np.dtype[Any], offset: int, shape: tuple[int, ...]) -> Array:
    with opened(binary) as file:
        return np.memmap(file, dtype, "r", offset, shape)


def _unpacked(octets: NDArray[np.uint8], dtype: np.dtype[Any]) -> Array:
    """Return 4-bit numbers, the first in the low bits, or 1-bit numbers, the first in the highest bit."""
    if dtype == np.bool_:
        return np.unpackbits(octets).astype(dtype)
    whole = _room(2 * octets.size)
    for start in range(0, octets.size, _BLOCK):
        some = octets[start : start + _BLOCK]
        for half, numbers in enumerate((some & 15, some >> 4)):  # ml_dtypes stores signed ones in the low bits, too
            whole[2 * start + half : 2 * (start + len(some)) : 2] = numbers
        let_go(octets)
        let_go(whole)
    return whole.view(dtype)


def _room(count: int) -> NDArray[np.uint8]:
    """Return an array to be filled; a large one is in a temporary file, since a model may hold many."""
    if count <= _BLOCK:
        return np.empty(count, np.uint8)
    with tempfile.TemporaryFile() as file:
        return np.memmap(file, np.uint8, "w+", shape=(count,))


_BLOCK = 2**24  # bytes


def _shape(layer: Layer) -> tuple[int, ...]:
    try:
        shape = ir_files.integers(layer.attributes.get("shape", ""))
    except ReadError as error:
        raise ReadError(error.problem, f"{layer.where}@shape") from None
    if any(size < 0 for size in shape):
        raise ReadError(f"negative dimension in {list(shape)}", f"{layer.where}@shape")
    return shape


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
    try:
        return np.array(shape, "int32" if dtype == "int32" else "int64")
    except OverflowError as error:
        raise ReadError(f"cannot be computed of shape {list(shape)}: {error}", layer.where) from error


def _convert(layer: Layer, value: Array) -> Array:
    return value.astype(numpy_name(layer.attributes.get("destination_type", value.dtype.name)))


def _concat(layer: Layer, *values: Array) -> Array:
    return np.concatenate(values, axis=ir_files.integer(layer.attributes.get("axis", "0")))


def _gather(layer: Layer, data: Array, indices: Array, axis: Array) -> Array | None:
    in_batches = layer.attributes.get("batch_dims", "0") != "0"
    return None if in_batches else np.take(data, indices, axis=int(axis.ravel()[0]))


def _squeeze(layer: Layer, data: Array, axes: Array | None = None) -> Array:
    return np.squeeze(data, None if axes is None else tuple(np.atleast_1d(axes)))


def _unsqueeze(layer: Layer, data: Array, axes: Array) -> Array:
    return np.expand_dims(data, tuple(np.atleast_1d(axes)))


def _reshape(layer: Layer, data: Array, shape: Array) -> Array:
    keeps = ir_files.flag(layer.attributes.get("special_zero", "false"))  # a 0 keeps the dimension of the input
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
    masks = {name: ir_files.integers(layer.attributes.get(name, "")) for name in ("begin_mask", "end_mask")}
    shrinks = any(ir_files.integers(layer.attributes.get("shrink_axis_mask", ""))[:1])
    if shrinks:  # whatever the mask of begin
        return np.asarray(data[int(begin[0])])
    start = None if any(masks["begin_mask"][:1]) else int(begin[0])
    last = None if any(masks["end_mask"][:1]) else int(end[0])
    return data[start : last : int(stride[0]) if stride is not None else 1]


def _divide(layer: Layer, left: Array, right: Array) -> Array:
    if left.dtype.kind not in "iu":
        return np.divide(left, right)
    floors = ir_files.flag(layer.attributes.get("m_pythondiv", "true"))  # the CPU plugin ignores it, folding does not
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
        return tuple(np.split(data, ir_files.integer(layer.attributes["num_splits"]), along))
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
    keeps = ir_files.flag(layer.attributes.get("keep_dims", "false"))
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


class OpenAxesError(ReadError):
    """The axes are an input at run time, and nothing else determines them."""


_TYPE = "interpolate"
_PARSE: dict[str, Callable[[str], Any]] = {
    "align_corners": ir_files.flag,
    "antialias": ir_files.flag,
    "axes": ir_files.integers,
    "pads_begin": ir_files.integers,
    "pads_end": ir_files.integers,
    "cube_coeff": ir_files.real_number,
}


def load(path: Path, semantics: Semantics = Semantics.RUNTIME) -> list[ResizeOp]:
    """Return every Interpolate of an IR file in file order, including those in bodies.

    Raises ReadError for a file that is not an IR, UnsupportedLayerError for a snippet of another layer.
    """
    return [op for _, _, op in layers(path, semantics)]


def layers(path: Path, semantics: Semantics = Semantics.RUNTIME) -> list[tuple[Net, Layer, ResizeOp]]:
    """Return every Interpolate with its layer and its net; see ``load``."""
    resizes, unread = known_layers(path, semantics)
    for _, error in unread:
        raise error
    return resizes


def known_layers(
    path: Path, semantics: Semantics = Semantics.RUNTIME
) -> tuple[list[tuple[Net, Layer, ResizeOp]], list[tuple[Layer, ReadError]]]:
    """Return the Interpolates of ``layers`` that can be read, and the others with the reason.

    Raises MissingBinaryError if one needs a missing .bin: that is a problem of the file.
    """
    resizes: list[tuple[Net, Layer, ResizeOp]] = []
    unread: list[tuple[Layer, ReadError]] = []
    for net in nets(path):
        for layer in net.layers.values():
            if layer.type.lower() == _TYPE:
                try:
                    resizes.append((net, layer, read_layer(net, layer, semantics)))
                except MissingBinaryError:
                    raise
                except ReadError as error:
                    unread.append((layer, error))
            elif net.is_snippet:
                problem = f"layer type {layer.type!r} is not supported; {closest(layer.type, ['Interpolate'])}"
                raise UnsupportedLayerError(problem, f"{layer.where}@type")
    return resizes, unread


def load_known(
    path: Path, semantics: Semantics = Semantics.RUNTIME
) -> tuple[list[ResizeOp], list[tuple[Layer, ReadError]]]:
    """Return the Interpolates of an IR that can be read, and those that need a missing .bin or an input's value."""
    ops: list[ResizeOp] = []
    unknown: list[tuple[Layer, ReadError]] = []
    for net in nets(path):
        for layer in net.layers.values():
            if layer.type.lower() == _TYPE:
                try:
                    ops.append(read_layer(net, layer, semantics))
                except (MissingBinaryError, OpenAxesError) as error:
                    unknown.append((layer, error))
    return ops, unknown


def resizes_with_tensors(path: Path) -> list[tuple[ResizeOp, dict[str, str], str]]:
    """Return the resizes of a net, without its bodies, with the names of their tensors: inputs by kind, and the output.

    Inputs are the data, and sizes or scales if they are known only at run time.
    """
    net = next(nets(path))
    resizes = []
    for layer in net.layers.values():
        if layer.type.lower() == _TYPE and layer.outputs:
            op = read_layer(net, layer, Semantics.RUNTIME)
            places = {"data": 0}
            if isinstance(op.spec.target, AtRunTime):
                is_behind = op.version == 4 and op.spec.target is AtRunTime.SCALES
                places[op.spec.target.value] = 2 if is_behind else 1
            sources = {kind: _source(net, layer, place) for kind, place in places.items()}
            inputs = {kind: tensor_name(*source) for kind, source in sources.items() if source}
            resizes.append((op, inputs, tensor_name(layer, layer.outputs[0])))
    return resizes


def _source(net: Net, layer: Layer, place: int) -> tuple[Layer, Port] | None:
    """Return the source of an input, skipping conversions that keep the type."""
    source = net.source(layer, place)
    while source is not None and source[0].type.lower() == "convert":
        before = net.source(source[0], 0)
        if before is None or before[1].dtype != source[1].dtype:
            break
        source = before
    return source


def read_layer(net: Net, layer: Layer, semantics: Semantics) -> ResizeOp:
    """Return one Interpolate layer as a resize; constant inputs are read through ``net``."""
    shape, dtype = _input_shape(net, layer), _dtype(net, layer)
    context = Context(version=_version(net, layer), shape=shape, dtype=dtype, semantics=semantics)
    attributes = _attributes(layer, context.version)
    attributes |= _inputs(net, layer, attributes, context)
    return read(DIALECT, attributes, context, name=layer.name, where=layer.where)


def _version(net: Net, layer: Layer) -> int:
    """Return 1, 4 or 11: the version whose rules the layer's operation set uses."""
    if layer.version is None and net.is_snippet:
        # A snippet may lack its version; attributes of later ones give it away.
        later = {"coordinate_transformation_mode", "shape_calculation_mode", "nearest_mode", "cube_coeff"}
        if layer.attributes.get("mode", "").endswith("pillow"):
            return 11
        return 4 if later & layer.attributes.keys() else 1
    if layer.version is None:
        raise ReadError("missing; expected opset1 and up", f"{layer.where}@version")
    if layer.version == 0:
        raise UnsupportedLayerError("not an operation set of OpenVINO's own", f"{layer.where}@version")
    return max(version for version in DIALECT.versions if version <= layer.version)


def _attributes(layer: Layer, version: int) -> dict[str, Any]:
    inputs = {"sizes", "scales"} | ({"axes"} if version >= 4 else set())  # attributes of these names have no effect
    typed: dict[str, Any] = {}
    for name, text in layer.attributes.items():
        if name in inputs:
            continue
        try:
            typed[name] = _PARSE[name](text) if name in _PARSE else text
        except ReadError as error:
            raise ReadError(error.problem, f"{layer.where}@{name}") from None
        if version >= 4 and isinstance(typed[name], str):
            typed[name] = typed[name].lower()  # OpenVINO reads these names in any case, those of Interpolate-1 exactly
    return typed


def _inputs(net: Net, layer: Layer, attributes: dict[str, Any], context: Context) -> dict[str, Any]:
    """Return sizes or scales, and axes, as far as constants or the output's shape determine them."""
    if context.version == 1:
        return {"sizes": _sizes(net, layer, attributes.get("axes"), context)}
    if len(layer.inputs) < 2 and not net.is_snippet:
        raise ReadError(f"{len(layer.inputs)} inputs; Interpolate-{context.version} has 2 or more", layer.where)
    axes_at = 3 if context.version == 4 else 2
    by_scales = attributes.get("shape_calculation_mode") == "scales"
    axes = _known(net, layer, axes_at, needed=by_scales or _output_shape(layer) is None)
    if axes is None and len(layer.inputs) > axes_at:
        if by_scales or _output_shape(layer) is None:
            raise OpenAxesError("axes are known only at run time", layer.where)
        return {"sizes": _output_shape(layer)}  # with every axis listed, those that keep their size change nothing
    listed = {} if axes is None else {"axes": tuple(int(axis) for axis in axes)}
    _check_target(net, layer, by_scales, context, len(axes) if axes is not None else None)
    if not by_scales:
        return {"sizes": _sizes(net, layer, listed.get("axes"), context), **listed}
    scales = _known(net, layer, 2 if context.version == 4 else 1, needed=True)
    if scales is not None and scales.dtype.kind in "iu":
        raise ReadError(f"scales are {scales.dtype}; expected floats", layer.where)
    return {"scales": None if scales is None else tuple(float(scale) for scale in scales), **listed}


def _check_target(net: Net, layer: Layer, by_scales: bool, context: Context, count: int | None) -> None:
    """Raise ReadError unless sizes or scales are a list of the right type and number of entries, as OpenVINO does."""
    index = 2 if by_scales and context.version == 4 else 1
    origin = net.source(layer, index)
    if origin is None:
        return
    source, port = origin
    is_known = port.shape or (source.type == "Parameter" and not source.attributes.get("shape"))  # else a dynamic rank
    if count is None and context.shape:
        count = len(context.shape)
    try:  # type and entries of a constant are checked where it is read
        dtype, expected = (None, None) if source.type == "Const" else (port.dtype, count)
        check_target("scales" if by_scales else "sizes", port.shape if is_known else None, dtype, expected)
    except ReadError as error:
        raise error.under(layer.where) from None


def _sizes(net: Net, layer: Layer, axes: tuple[int, ...] | None, context: Context) -> tuple[int, ...] | None:
    """Return the target sizes: those of the input if constant, otherwise those of the output port."""
    values = _known(net, layer, 1, needed=_output_shape(layer) is None)
    if values is not None and values.dtype.kind not in "iu":
        raise ReadError(f"sizes are {values.dtype}; expected integers", layer.where)
    if values is not None:
        return tuple(int(value) for value in values)
    output = _output_shape(layer)
    if output is None or axes is None:
        return output
    _check_axes(axes, len(output), f"{layer.where}@axes" if context.version == 1 else layer.where)
    in_order = axes_in_order(axes, context) if context.version == 1 else axes
    return tuple(output[axis] for axis in in_order)


def _known(net: Net, layer: Layer, index: int, *, needed: bool) -> Array | None:
    """Return the value of an input; None if it is known only at run time, or is in a missing .bin but not needed."""
    try:
        value = fold(net, layer, index)
    except MissingBinaryError:
        if needed:
            raise
        return None
    return None if value is None else value.ravel()


def _output_shape(layer: Layer) -> tuple[int, ...] | None:
    shape = layer.outputs[0].shape if layer.outputs else None
    return static_shape(shape) or None


def _input_shape(net: Net, layer: Layer) -> PartialShape | None:
    shape = layer.inputs[0].shape if layer.inputs else None
    source = net.source(layer, 0) if shape is None else None
    return (source[1].shape if source else shape) or None  # a port of dynamic rank has no dimensions, like a scalar's


def _dtype(net: Net, layer: Layer) -> str | None:
    """Return the element type: IR v10 specifies it at output ports only, a snippet possibly nowhere."""
    source = net.source(layer, 0)
    ports = [*layer.outputs[:1], *layer.inputs[:1], *([source[1]] if source else [])]
    dtype = next((port.dtype for port in ports if port.dtype is not None), None)
    if dtype is not None and dtype not in ELEMENT_TYPES:
        raise ReadError(f"unknown precision {dtype!r}; {closest(dtype, ELEMENT_TYPES)}", layer.where)
    return dtype


def _check_axes(axes: tuple[int, ...] | None, rank: int, where: str) -> None:
    try:
        resolve_axes(axes, rank)
    except SpecError as error:
        raise ReadError(str(error), where) from None
