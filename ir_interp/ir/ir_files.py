"""Reader of IR files: element types, layers and edges, untrusted XML, nets with bodies, metadata of the model.

The XML may be that of an IR, or of a layer pasted from a document.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import ml_dtypes
import numpy as np
from lxml import etree

from ir_interp.errors import ReadError, UnsupportedLayerError, closest
from ir_interp.files.kinds import is_beside, opened
from ir_interp.files.memory import allow_files
from ir_interp.files.writing import exists, is_file, is_folder, real
from ir_interp.plain_text import decimal_integer as integer_of, decimal_real as real_of
from ir_interp.shapes import Array, PartialShape

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
    "nf4": np.float32,
}
ELEMENT_TYPES = frozenset(np.dtype(bit).name for bit in _BITS.values())
"""NumPy names of the element types of an IR."""

NF4 = np.array(
    [
        *(-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453),
        *(-0.28444138169288635, -0.18477343022823334, -0.09105003625154495, 0.0),
        *(0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224),
        *(0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0),
    ],
    np.float32,
)
"""The numbers for the 16 values of nf4, as in OpenVINO."""

_PRECISION = {"fp64": "float64", "fp32": "float32", "fp16": "float16", "bool": "bool", "bin": "bool"}
_AGAIN = "compress the weights to 4 or 8 bit integers instead (in nncf: CompressWeightsMode.INT4_SYM, INT8_ASYM)"
_KNOWN_TO_OPENVINO = {
    **dict.fromkeys(("f4e2m1", "f8e8m0", "u2", "u3", "u6"), _AGAIN),
    "string": "keep strings, such as those of tokenizers, outside the model",
}
"""Types of OpenVINO that are not in ``_BITS``, and what to do instead."""


def numpy_name(precision: str) -> str:
    """Return the NumPy name of an IR precision (FP32) or element type (f32)."""
    lower = precision.lower()
    if lower in _BITS and lower != "nf4":
        return str(np.dtype(_BITS[lower]).name)
    return _PRECISION.get(lower, lower.replace("i", "int", 1) if lower[:1] == "i" else lower.replace("u", "uint", 1))


def numpy_dtype(name: str, where: str) -> np.dtype[Any]:
    """Return the NumPy type of an element type, in the byte order of a .bin.

    Raises UnsupportedLayerError for types that only OpenVINO has, and for unknown ones.
    """
    if name in _KNOWN_TO_OPENVINO:
        problem = f"element type {name} is not supported; {_KNOWN_TO_OPENVINO[name]}"
        raise UnsupportedLayerError(f"{problem}; supported are {', '.join(sorted(_BITS))}", where)
    if name not in _BITS:
        raise UnsupportedLayerError(f"unknown value {name!r}; {closest(name, _BITS)}", where)
    dtype: np.dtype[Any] = np.dtype(_BITS[name])
    return dtype.newbyteorder("<")


@dataclass(frozen=True, slots=True, kw_only=True)
class Port:
    """One end of an edge; ``shape`` and ``dtype`` (a NumPy name) are None where the file does not specify them.

    ``names`` are those of the tensor, in alphabetical order: OpenVINO shows the first.
    """

    id: int
    shape: PartialShape | None
    dtype: str | None
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """One layer. ``version`` is its operation set, or None; ``attributes`` are those of <data>.

    ``output_names`` are the names that a Result shows; ``layout`` is that of a model input or output, verbatim.
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
    ``info`` is the file's metadata of the model, nested names joined by dots. ``folded`` caches the values that
    ``fold`` computed for output ports.
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
    folded: dict[tuple[int, int], Array | None] = field(default_factory=dict, compare=False, repr=False)

    @property
    def has_dynamic_ranks(self) -> bool:
        """Whether a parameter has a dynamic rank."""
        parameters = (layer for layer in self.layers.values() if layer.type.lower() == "parameter")
        return any("..." in layer.attributes.get("shape", "") for layer in parameters)

    def source(self, layer: Layer, index: int) -> tuple[Layer, Port] | None:
        """Return the layer and output port that feed an input of ``layer``; None if it is not connected."""
        if index >= len(layer.inputs):
            return None
        end = self.edges.get((layer.id, layer.inputs[index].id))
        producer = self.layers.get(end[0]) if end else None
        if end is None or producer is None:
            return None
        ports = [port for port in producer.outputs if port.id == end[1]]
        if not ports:
            raise ReadError(f"an edge starts at output port {end[1]}, which does not exist", producer.where)
        return producer, ports[0]

    def readers(self, layer: Layer, port: Port) -> list[Layer]:
        """Return the layers that an output port feeds, once for each edge."""
        if not self._readers:
            for (number, _), end in self.edges.items():
                if number in self.layers:
                    self._readers.setdefault(end, []).append(self.layers[number])
        return self._readers.get((layer.id, port.id), [])

    def with_only(self, layers: dict[int, Layer], edges: dict[tuple[int, int], tuple[int, int]]) -> Net:
        """Return a net with other layers and edges."""
        return replace(self, layers=layers, edges=edges, _readers={}, folded={})


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """The net inside a layer; ``inputs``, ``outputs`` and ``back_edges`` are the attributes that connect them."""

    net: Net
    inputs: tuple[dict[str, str], ...]
    outputs: tuple[dict[str, str], ...]
    back_edges: tuple[dict[str, str], ...]


def tensor_name(layer: Layer, port: Port) -> str:
    """Return the name of a tensor: the first that OpenVINO shows, or else that of its layer."""
    return port.names[0] if port.names else _named_by_layer(layer, port)


def _named_by_layer(layer: Layer, port: Port) -> str:
    return layer.name if len(layer.outputs) == 1 else f"{layer.name}.{layer.outputs.index(port)}"


N = TypeVar("N", int, float)
MAX_BYTES = 2**30
"""The largest XML file that is read."""

_MAX_DIGITS = 18  # 10**18 is below 2**63
_HAS_DOCTYPE = "declares a document type; an IR has none, and entities are not expanded"
_INSIDE_TAG = re.compile(r"<[A-Za-z_][^<>]*>")
_ELLIPSIS = re.compile(r"""("[^"]*"|'[^']*')|(?<=\s)(?:\.\.\.|…)(?=[\s/>])""")
_DOCTYPE = re.compile(rb"<!DOCTYPE")
_ROOT = re.compile(rb"(?:\s+|<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^>\[]*>)*<([A-Za-z_][\w.:-]*)", re.DOTALL)
_HEAD = 2**16  # bytes in which the first element has to start
ROOTS = ("net", "layer", "layers")
"""The root elements of an IR and of snippets."""
_DECLARATION = re.compile(r"^\s*<\?xml[^>]*\?>")


def is_foreign(path: Path) -> bool:
    """Say whether an .xml is certainly another program's: its first element is none of an IR, as in a pom.xml."""
    try:
        with opened(path) as file:
            head = file.read(_HEAD).removeprefix(b"\xef\xbb\xbf")
    except OSError:
        return False  # an audit reports why
    root = _ROOT.match(head)
    return root is not None and root[1].decode() not in ROOTS


def parse(path: Path) -> etree._Element:
    """Return the root element of an IR (``net``) or of a snippet (``layer``, ``layers``).

    A snippet may consist of several layers without a common root, and contain the ``...`` that documents leave in a
    start tag. Entities are not expanded, and no network or other file is accessed. Raises ReadError for anything else.
    """
    try:
        with opened(path) as file:
            # One byte more shows that the file is larger, even if it grows while it is read.
            content = file.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            raise ReadError(f"larger than {MAX_BYTES / 2**30:g} GiB", path.name)
    except OSError as error:
        raise ReadError(f"cannot be read: {error.strerror}", str(path)) from error
    if _DOCTYPE.search(content):  # before the parser meets its entities
        raise ReadError(_HAS_DOCTYPE, path.name)
    try:
        return _parse(content, path.name)
    except etree.XMLSyntaxError as error:
        snippet = _snippet(content)
        if snippet is None:
            raise ReadError(f"not XML: {error.msg}", path.name) from error
        try:
            return _parse(snippet, path.name)
        except etree.XMLSyntaxError:
            raise ReadError(f"not XML: {error.msg}", path.name) from error


def _parse(content: bytes, name: str) -> etree._Element:
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True, remove_pis=True
    )
    root = etree.fromstring(content, parser)
    # In UTF-16 a document type escapes the search for its bytes.
    if root.getroottree().docinfo.doctype:
        raise ReadError(_HAS_DOCTYPE, name)
    return root


def _snippet(content: bytes) -> bytes | None:
    """Return a pasted layer as well-formed XML: no ``...`` inside start tags, one common root."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    if "<layer" not in text or "<!" in text.replace("<!--", ""):
        return None
    without = _INSIDE_TAG.sub(lambda tag: _ELLIPSIS.sub(lambda part: part[1] or "", tag[0]), text)
    return f"<layers>{_DECLARATION.sub('', without)}</layers>".encode()


def flag(text: str) -> bool:
    """Return a boolean attribute as OpenVINO reads it: 0, 1, true, false in any case."""
    try:
        return {"1": True, "true": True, "0": False, "false": False}[text.strip().lower()]
    except KeyError:
        raise ReadError(f"{text!r} is not a boolean; expected one of 0, 1, false, true") from None


def integer(text: str) -> int:
    """Return an integer attribute."""
    return _number(integer_of, text)


def is_natural(text: str) -> bool:
    """Return whether a text is a non-negative integer of at most 18 digits, which fits 64 bits."""
    return text.isascii() and text.isdecimal() and len(text) <= _MAX_DIGITS


def natural(text: str | None, where: str) -> int:
    """Return a non-negative integer, such as an id. Raises ReadError for any other text, and for None."""
    if text is None or not is_natural(text.strip()):
        raise ReadError("missing" if text is None else f"{text!r} is not a non-negative integer", where)
    return int(text)


def integers(text: str) -> tuple[int, ...]:
    """Return a list attribute: integers separated by commas; empty for an empty text."""
    try:
        return tuple(map(integer, text.split(","))) if text.strip() else ()
    except ReadError:
        raise ReadError(f"{text!r} is not a list of integers") from None


def real_number(text: str) -> float:
    """Return a number attribute."""
    return _number(real_of, text)


def reals(text: str) -> tuple[float, ...]:
    """Return a list attribute: numbers separated by commas; empty for an empty text."""
    return tuple(real_number(part) for part in text.split(",")) if text.strip() else ()


def _number(read: Callable[[str], N], text: str) -> N:
    try:
        return read(text)
    except ValueError as error:
        raise ReadError(str(error)) from None


_PORT_MAPS = {"body": "port_map", "then_body": "then_port_map", "else_body": "else_port_map"}
_COMMA = re.compile(r"(?<!\\),")


def nets(path: Path) -> Iterator[Net]:
    """Yield the net of an IR file, then the bodies inside; or a bare snippet as a net without edges."""
    root = parse(path)
    binary = binary_of(path)
    if root.tag in ("layer", "layers"):
        elements = [root] if root.tag == "layer" else list(root.iterchildren("layer"))
        yield Net(layers=_layers(elements, f"{path.name}:"), edges={}, binary=binary, is_snippet=True)
    elif root.tag == "net":
        if root.get("version") not in ("10", "11"):
            raise ReadError(_unread(root.get("version")), f"{path.name}@version")
        yield from _with_bodies(_net(root, f"{path.name}:", binary, int(str(root.get("version")))))
    else:
        tag = str(root.tag)
        problem = f"<{tag}> is neither an IR nor a layer; {closest(tag, ROOTS)}"
        raise ReadError(problem, path.name)


def binary_of(path: Path) -> Path:
    """Return the path of an IR's .bin, which may be missing. Raises ReadError if it is elsewhere or not a file."""
    binary = path.with_suffix(".bin")
    if not is_beside(binary, path):
        raise ReadError(f"its .bin lies outside its folder: {real(binary)}", path.name)
    if exists(binary) and not (is_file(binary) or is_folder(binary)):
        raise ReadError(f"its .bin is not a regular file: {binary}", path.name)
    allow_files(path, binary)
    return binary


def _with_bodies(net: Net) -> Iterator[Net]:
    yield net
    for body in net.bodies.values():
        yield from _with_bodies(body.net)


def _unread(version: str | None) -> str:
    """Return why an IR version is not supported, and what to do."""
    problem = f"IR version {version!r} is not supported; expected 10 or 11"
    if version not in tuple("23456789"):
        return problem
    again = "convert its source model again, with ovc or (from ONNX) ir-interp convert"
    return f"{problem}. Versions 2 to 9 predate OpenVINO 2020, and current OpenVINO does not read them: {again}"


def _net(element: etree._Element, prefix: str, binary: Path, version: int) -> Net:
    inside = element.find("layers")
    elements = [] if inside is None else list(inside.iterchildren("layer"))
    layers, name = _layers(elements, prefix), str(element.get("name", ""))
    edges = _edges(element, layers, prefix)
    layers = _with_unique_names(layers, edges)
    bodies = {
        (layer.id, tag): _body(child, tag, _net(inner, f"{layer.where}/{tag}/", binary, version))
        for layer, child in zip(layers.values(), elements, strict=True)
        for tag in _PORT_MAPS
        for inner in child.iterchildren(tag)
    }
    info = dict(_info(element.find("rt_info"), ""))
    return Net(layers=layers, edges=edges, binary=binary, version=version, name=name, bodies=bodies, info=info)


def _info(element: etree._Element | None, prefix: str) -> Iterator[tuple[str, str]]:
    """Yield the values of an <rt_info> at any depth."""
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
        target, port, source, output = (natural(edge.get(name), f"{prefix}@{name}") for name in names)
        for number, does in ((source, "starts"), (target, "ends")):
            if number not in layers:
                raise ReadError(f"an edge {does} at layer {number}, which does not exist", prefix.rstrip(":/"))
        if port not in (entry.id for entry in layers[target].inputs):
            raise ReadError(f"an edge ends at input port {port}, which does not exist", layers[target].where)
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


def _with_unique_names(layers: dict[int, Layer], edges: dict[tuple[int, int], tuple[int, int]]) -> dict[int, Layer]:
    """Return layers where each name of a tensor identifies one.

    Model Optimizer gave one name to a chain of tensors, such as a convolution's sum and its ReLU; OpenVINO 2024 keeps
    them, and 2025 numbers them in an order of its own. Here only an input keeps such a name, and an output shows it.
    """
    counts = Counter(name for layer in layers.values() for port in layer.outputs for name in port.names)
    unique = {number: _with_unique_outputs(layer, counts) for number, layer in layers.items()}
    for number, layer in layers.items():
        if layer.type.lower() == "result" and not layer.output_names:
            ends = (edges[number, port.id] for port in layer.inputs if (number, port.id) in edges)
            ports = ((port for port in layers[source].outputs if port.id == output) for source, output in ends)
            shown = next((port.names for port in chain.from_iterable(ports)), ())
            unique[number] = replace(layer, output_names=shown)
    return unique


def _with_unique_outputs(layer: Layer, counts: Mapping[str, int]) -> Layer:
    if layer.type.lower() == "parameter":
        return layer
    outputs = tuple(replace(port, names=_unique_names(layer, port, counts)) for port in layer.outputs)
    return replace(layer, outputs=outputs)


def _unique_names(layer: Layer, port: Port, counts: Mapping[str, int]) -> tuple[str, ...]:
    """Return the names of a tensor that no other has; one in place of its layer's if another tensor has that."""
    names = tuple(name for name in port.names if counts[name] == 1)
    if names or _named_by_layer(layer, port) not in counts or layer.type.lower() == "const":
        return names
    return (f"{layer.name}.{layer.outputs.index(port)}",)


def _layer(element: etree._Element, index: int, prefix: str) -> Layer:
    number = natural(element.get("id", str(index)), f"{prefix}@id")
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
    """Return the layout attribute of a port: a Parameter's output, a Result's input."""
    attributes = (attribute for path in _LAYOUTS for attribute in element.iterfind(path))
    return next((str(attribute.get("layout", "")) for attribute in attributes), "")


_LAYOUTS = [f"{side}/port/rt_info/attribute[@name='layout']" for side in ("output", "input")]


def _version(text: str | None, where: str) -> int | None:
    if text is None:
        return None
    if text.startswith("opset") and is_natural(text[5:]):
        return int(text[5:])
    return 0  # "experimental" and extension operation sets: an error only for a layer that must be understood


def _port(element: etree._Element, where: str) -> Port:
    try:
        dims = [integer(dim.text or "") for dim in element.iterfind("dim")]
    except ReadError:
        raise ReadError("a dimension is not an integer", f"{where}/port[{element.get('id')}]") from None
    precision = element.get("precision")
    return Port(
        id=natural(element.get("id"), f"{where}@port"),
        # A scalar has a precision but no <dim>; ports of a snippet may have neither.
        shape=tuple(None if dim < 0 else dim for dim in dims) if dims or precision else None,
        dtype=numpy_name(precision) if precision else None,
        names=_names(element.get("names", "")),
    )


def _names(text: str) -> tuple[str, ...]:
    """Return a list of names; a comma inside a name is escaped."""
    names = (name.replace("\\,", ",") for name in _COMMA.split(text))
    return tuple(sorted(name for name in names if name))
