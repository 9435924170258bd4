"""Every Interpolate of an IR, or of a pasted snippet."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ir_interp.errors import ReadError, SpecError, UnsupportedLayerError, closest
from ir_interp.ir import xml
from ir_interp.ir.constants import MissingBinaryError
from ir_interp.ir.elements import ELEMENT_TYPES
from ir_interp.ir.fold import fold
from ir_interp.ir.interpolate_dialect import DIALECT, axes_in_order
from ir_interp.ir.net import Layer, Net, Port, tensor_name
from ir_interp.ir.reading import nets
from ir_interp.resize_op import ResizeOp, check_target, read
from ir_interp.shapes import PartialShape, resolve_axes, static_shape
from ir_interp.spec.modes import AtRunTime
from ir_interp.translation.dialect import Context, Semantics


class OpenAxesError(ReadError):
    """The axes are an input at run time, and nothing else determines them."""


_TYPE = "interpolate"
_PARSE: dict[str, Callable[[str], Any]] = {
    "align_corners": xml.flag,
    "antialias": xml.flag,
    "axes": xml.integers,
    "pads_begin": xml.integers,
    "pads_end": xml.integers,
    "cube_coeff": xml.real,
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


def _known(net: Net, layer: Layer, index: int, *, needed: bool) -> Any:
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
