"""The layers of an IR, the edges between them, and the constants of its .bin."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
from lxml import etree
from numpy.typing import NDArray

from ir_interp.errors import ReadError, UnsupportedLayerError, closest
from ir_interp.ir import xml
from ir_interp.memory import allow_files
from ir_interp.shapes import PartialShape
from ir_interp.sources import is_beside

_PORT_MAPS = {"body": "port_map", "then_body": "then_port_map", "else_body": "else_port_map"}
_BITS = {
    "f64": np.float64,
    "f32": np.float32,
    "f16": np.float16,
    "i64": np.int64,
    "i32": np.int32,
    "i16": np.int16,
    "i8": np.int8,
    "u64": np.uint64,
    "u32": np.uint32,
    "u16": np.uint16,
    "u8": np.uint8,
    "boolean": np.bool_,
    "bf16": ml_dtypes.bfloat16,
    "f8e4m3": ml_dtypes.float8_e4m3fn,
    "f8e5m2": ml_dtypes.float8_e5m2,
    "i4": ml_dtypes.int4,
    "u4": ml_dtypes.uint4,
    "u1": np.bool_,
}
ELEMENT_TYPES = frozenset(np.dtype(each).name for each in _BITS.values())
"""The names that NumPy has for the element types of an IR."""

_PACKED = {"i4": 2, "u4": 2, "u1": 8}  # how many to a byte
_COMMA = re.compile(r"(?<!\\),")
_MAX_DIGITS = 18  # so that every number fits 64 bits
_PRECISION = {"fp64": "float64", "fp32": "float32", "fp16": "float16", "bool": "bool", "bin": "bool"}


class MissingBinaryError(ReadError):
    """The .bin that holds a constant is not there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Port:
    """One end of an edge; ``shape`` and ``dtype`` (a NumPy name) are None where the file does not say.

    ``names`` are those of the tensor, in alphabetical order: OpenVINO shows the first.
    """

    id: int
    shape: PartialShape | None
    dtype: str | None
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """One layer. ``version`` is its operation set, None where the file names none; attributes are those of <data>.

    ``output_names`` are those that a Result shows; ``layout`` is that of an input or output of the model, as it stands.
    """

    id: int
    name: str
    type: str
    version: int | None
    attributes: dict[str, str]
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    where: str
    output_names: tuple[str, ...] = ()
    layout: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Net:
    """The layers of one net or body, by id; ``edges`` lead from (layer, input port) to (layer, output port).

    ``version`` is that of the IR; None for a snippet. ``bodies`` are the nets inside layers, by layer and tag.
    ``info`` is what the file says of the model itself, nested names joined by dots. ``folded`` remembers what
    ``ir_fold`` found of output ports.
    """

    layers: dict[int, Layer]
    edges: dict[tuple[int, int], tuple[int, int]]
    binary: Path
    version: int | None = None
    is_snippet: bool = False
    name: str = ""
    info: dict[str, str] = field(default_factory=dict, compare=False, repr=False)
    bodies: dict[tuple[int, str], Body] = field(default_factory=dict)
    _readers: dict[tuple[int, int], list[Layer]] = field(default_factory=dict, compare=False, repr=False)
    folded: dict[tuple[int, int], NDArray[Any] | None] = field(default_factory=dict, compare=False, repr=False)

    @property
    def has_dynamic_ranks(self) -> bool:
        """Whether a parameter leaves even its rank open."""
        parameters = (layer for layer in self.layers.values() if layer.type.lower() == "parameter")
        return any("..." in layer.attributes.get("shape", "") for layer in parameters)

    def source(self, layer: Layer, index: int) -> tuple[Layer, Port] | None:
        """Return the layer and output port that feed an input of ``layer``; None where it is not connected."""
        if index >= len(layer.inputs):
            return None
        end = self.edges.get((layer.id, layer.inputs[index].id))
        producer = self.layers.get(end[0]) if end else None
        if end is None or producer is None:
            return None
        ports = [port for port in producer.outputs if port.id == end[1]]
        if not ports:
            raise ReadError(f"an edge starts at output port {end[1]}, which is not there", producer.where)
        return producer, ports[0]

    def readers(self, layer: Layer, port: Port) -> list[Layer]:
        """Return the layers that an output port feeds, each as often as it does."""
        if not self._readers:
            for (number, _), end in self.edges.items():
                if number in self.layers:
                    self._readers.setdefault(end, []).append(self.layers[number])
        return self._readers.get((layer.id, port.id), [])

    def constant(self, layer: Layer) -> NDArray[Any]:
        """Return the value of a Const layer, mapped from the .bin.

        Raises ReadError where it does not lie inside the file, MissingBinaryError where there is no file.
        """
        dtype, shape = _const_dtype(layer), _const_shape(layer)
        offset, size = (_natural(layer, name) for name in ("offset", "size"))
        packed = _PACKED.get(layer.attributes["element_type"].lower(), 0)
        if prod(shape) == 0:  # OpenVINO writes a byte for it
            return np.empty(shape, dtype)
        if size != (-(-prod(shape) // packed) if packed else prod(shape) * dtype.itemsize):
            raise ReadError(f"{size} bytes for shape {list(shape)} of {dtype}", f"{layer.where}@size")
        if not self.binary.is_file():
            raise MissingBinaryError(f"the value is needed, but {self.binary.name} is missing", layer.where)
        held = self.binary.stat().st_size
        if offset + size > held:
            problem = f"bytes {offset} to {offset + size} lie beyond the {held} bytes of {self.binary.name}"
            raise ReadError(problem, f"{layer.where}@offset")
        if packed:
            return _unpacked(np.memmap(self.binary, np.uint8, "r", offset, size), dtype)[: prod(shape)].reshape(shape)
        return np.memmap(self.binary, dtype, "r", offset, shape or (1,)).reshape(shape)


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """The net inside a layer; ``inputs``, ``outputs`` and ``back_edges`` are the attributes that join their ends."""

    net: Net
    inputs: tuple[dict[str, str], ...]
    outputs: tuple[dict[str, str], ...]
    back_edges: tuple[dict[str, str], ...]


def tensor_name(layer: Layer, port: Port) -> str:
    """Return the name of a tensor: the first that OpenVINO shows, else that of its layer."""
    if port.names:
        return port.names[0]
    return layer.name if len(layer.outputs) == 1 else f"{layer.name}.{layer.outputs.index(port)}"


def nets(path: Path) -> Iterator[Net]:
    """Yield the net of an IR file and, after it, the bodies inside; or a bare snippet as a net without edges."""
    root = xml.parse(path)
    binary = _binary(path)
    if root.tag in ("layer", "layers"):
        elements = [root] if root.tag == "layer" else list(root.iterchildren("layer"))
        yield Net(layers=_layers(elements, f"{path.name}:"), edges={}, binary=binary, is_snippet=True)
    elif root.tag == "net":
        if root.get("version") not in ("10", "11"):
            raise ReadError(_unread(root.get("version")), f"{path.name}@version")
        yield from _with_bodies(_net(root, f"{path.name}:", binary, int(str(root.get("version")))))
    else:
        tag = str(root.tag)
        problem = f"<{tag}> is neither an IR nor a layer; {closest(tag, ('net', 'layer', 'layers'))}"
        raise ReadError(problem, path.name)


def _binary(path: Path) -> Path:
    """Return where an IR's constants are, if they are there. Raises ReadError where that is elsewhere, or no file."""
    binary = path.with_suffix(".bin")
    if not is_beside(binary, path):
        raise ReadError(f"its .bin lies outside its folder: {binary.resolve()}", path.name)
    if binary.exists() and not (binary.is_file() or binary.is_dir()):
        raise ReadError(f"its .bin is no regular file: {binary}", path.name)
    allow_files(path, binary)
    return binary


def _with_bodies(net: Net) -> Iterator[Net]:
    yield net
    for body in net.bodies.values():
        yield from _with_bodies(body.net)


def _unread(version: str | None) -> str:
    """Return why an IR of a version is not read, and what to do."""
    problem = f"IR version {version!r} is not supported; expected 10 or 11"
    if version not in tuple("23456789"):
        return problem
    again = "convert the model that it was made of again, with ovc or, from ONNX, with ir-interp convert"
    return f"{problem}. Versions 2 to 9 are of before OpenVINO 2020, and no OpenVINO of today reads them: {again}"


def _net(element: etree._Element, prefix: str, binary: Path, version: int) -> Net:
    inside = element.find("layers")
    elements = [] if inside is None else list(inside.iterchildren("layer"))
    layers, name = _layers(elements, prefix), str(element.get("name", ""))
    edges = _edges(element, layers, prefix)
    bodies = {
        (layer.id, tag): _body(child, tag, _net(inner, f"{layer.where}/{tag}/", binary, version))
        for layer, child in zip(layers.values(), elements, strict=True)
        for tag in _PORT_MAPS
        for inner in child.iterchildren(tag)
    }
    info = dict(_info(element.find("rt_info"), ""))
    return Net(layers=layers, edges=edges, binary=binary, version=version, name=name, bodies=bodies, info=info)


def _info(element: etree._Element | None, prefix: str) -> Iterator[tuple[str, str]]:
    """Yield the values of an <rt_info>, however deep they lie."""
    for child in [] if element is None else element.iterchildren(tag=etree.Element):
        name = f"{prefix}{child.get('name') if child.tag == 'info' else child.tag!s}"
        if "value" in child.attrib:
            yield name, str(child.get("value"))
        yield from _info(child, f"{name}.")


def _body(element: etree._Element, tag: str, net: Net) -> Body:
    paths = (f"{_PORT_MAPS[tag]}/input", f"{_PORT_MAPS[tag]}/output", "back_edges/edge")
    inputs, outputs, back_edges = (tuple(map(_attributes, element.iterfind(path))) for path in paths)
    return Body(net=net, inputs=inputs, outputs=outputs, back_edges=back_edges)


def _attributes(element: etree._Element) -> dict[str, str]:
    return {str(key): str(value) for key, value in element.attrib.items()}


def _edges(element: etree._Element, layers: dict[int, Layer], prefix: str) -> dict[tuple[int, int], tuple[int, int]]:
    edges: dict[tuple[int, int], tuple[int, int]] = {}
    for edge in element.iterfind("edges/edge"):
        names = ("to-layer", "to-port", "from-layer", "from-port")
        target, port, source, output = (_natural_text(edge.get(name), prefix, name) for name in names)
        for number, does in ((source, "starts"), (target, "ends")):
            if number not in layers:
                raise ReadError(f"an edge {does} at layer {number}, which is not there", prefix.rstrip(":/"))
        if port not in (each.id for each in layers[target].inputs):
            raise ReadError(f"an edge ends at input port {port}, which is not there", layers[target].where)
        if (target, port) in edges:
            raise ReadError(f"two edges end at input port {port}", layers[target].where)
        edges[target, port] = (source, output)
    return edges


def _layers(elements: list[etree._Element], prefix: str) -> dict[int, Layer]:
    layers: dict[int, Layer] = {}
    for index, element in enumerate(elements):
        layer = _layer(element, index, prefix)
        if layer.id in layers:
            raise ReadError(f"layer id {layer.id} appears twice", layer.where)
        layers[layer.id] = layer
    return layers


def _layer(element: etree._Element, index: int, prefix: str) -> Layer:
    number = _natural_text(element.get("id", str(index)), prefix, "id")
    name = element.get("name", "")
    where = f"{prefix}layer[{number} {json.dumps(name, ensure_ascii=False)}]"
    data = element.find("data")
    return Layer(
        id=number,
        name=name,
        type=element.get("type", ""),
        version=_version(element.get("version"), where),
        attributes=_attributes(data) if data is not None else {},
        inputs=tuple(_port(port, where) for port in element.iterfind("input/port")),
        outputs=tuple(_port(port, where) for port in element.iterfind("output/port")),
        where=where,
        output_names=_names(element.get("output_names", "")),
        layout=_layout(element),
    )


def _layout(element: etree._Element) -> str:
    """Return what a port says of the order of its axes: a Parameter's output, a Result's input."""
    found = (attribute for path in _LAYOUTS for attribute in element.iterfind(path))
    return next((str(each.get("layout", "")) for each in found), "")


_LAYOUTS = [f"{side}/port/rt_info/attribute[@name='layout']" for side in ("output", "input")]


def _version(text: str | None, where: str) -> int | None:
    if text is None:
        return None
    if text.startswith("opset") and _is_natural(text[5:]):
        return int(text[5:])
    return 0  # "experimental" and operation sets of extensions: only an error for a layer that must be understood


def _port(element: etree._Element, where: str) -> Port:
    try:
        dims = [xml.integer(dim.text or "") for dim in element.iterfind("dim")]
    except ReadError:
        raise ReadError("a dimension is not an integer", f"{where}/port[{element.get('id')}]") from None
    precision = element.get("precision")
    return Port(
        id=_natural_text(element.get("id"), where, "port"),
        shape=tuple(None if dim < 0 else dim for dim in dims) if dims or precision else None,
        dtype=numpy_name(precision) if precision else None,
        names=_names(element.get("names", "")),
    )


def _names(text: str) -> tuple[str, ...]:
    """Return a list of names; a comma inside one is escaped."""
    names = (name.replace("\\,", ",") for name in _COMMA.split(text))
    return tuple(sorted(name for name in names if name))


def numpy_name(precision: str) -> str:
    """Return the NumPy name of an IR precision (FP32) or element type (f32)."""
    lower = precision.lower()
    if lower in _BITS:
        return str(np.dtype(_BITS[lower]).name)
    return _PRECISION.get(lower, lower.replace("i", "int", 1) if lower[:1] == "i" else lower.replace("u", "uint", 1))


_AGAIN = "compress the weights to 4 or 8 bit integers instead (in nncf: CompressWeightsMode.INT4_SYM, INT8_ASYM)"
_KNOWN_TO_OPENVINO = {
    **dict.fromkeys(("nf4", "f4e2m1", "f8e8m0", "u2", "u3", "u6"), _AGAIN),
    "string": "keep strings, as those of tokenizers, outside of the model",
}
"""Types that OpenVINO has beside those in ``_BITS``, and what to do instead."""


def _const_dtype(layer: Layer) -> np.dtype[Any]:
    name = layer.attributes.get("element_type", "").lower()
    where = f"{layer.where}@element_type"
    if name in _KNOWN_TO_OPENVINO:
        problem = f"element type {name} is not read; {_KNOWN_TO_OPENVINO[name]}"
        raise UnsupportedLayerError(f"{problem}; read are {', '.join(sorted(_BITS))}", where)
    if name not in _BITS:
        raise UnsupportedLayerError(f"unknown value {name!r}; {closest(name, _BITS)}", where)
    dtype: np.dtype[Any] = np.dtype(_BITS[name])
    return dtype.newbyteorder("<")


def _unpacked(octets: NDArray[np.uint8], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return numbers of 4 bits, of which the first stands in the low bits, or of one, the first in the highest."""
    if dtype == np.bool_:
        return np.unpackbits(octets).astype(dtype)
    halves = np.stack([octets & 15, octets >> 4], axis=-1).ravel()
    signed = np.where(halves > 7, halves.astype(np.int8) - 16, halves) if dtype == ml_dtypes.int4 else halves
    return signed.astype(dtype)


def _const_shape(layer: Layer) -> tuple[int, ...]:
    try:
        shape = xml.integers(layer.attributes.get("shape", ""))
    except ReadError as error:
        raise ReadError(error.problem, f"{layer.where}@shape") from None
    if any(length < 0 for length in shape):
        raise ReadError(f"negative length in {list(shape)}", f"{layer.where}@shape")
    return shape


def _natural(layer: Layer, name: str) -> int:
    return _natural_text(layer.attributes.get(name), layer.where, name)


def _is_natural(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= _MAX_DIGITS


def _natural_text(text: str | None, where: str, name: str) -> int:
    if text is None or not _is_natural(text.strip()):
        raise ReadError("missing" if text is None else f"{text!r} is not a number from 0", f"{where}@{name}")
    return int(text)
