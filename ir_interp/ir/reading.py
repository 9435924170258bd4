"""Reader of IR files: the net, its bodies, and the metadata of the model."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

from lxml import etree

from ir_interp.errors import ReadError, closest
from ir_interp.files.memory import allow_files
from ir_interp.files.paths import exists, is_file, is_folder, real
from ir_interp.files.sources import is_beside
from ir_interp.ir import xml
from ir_interp.ir.elements import numpy_name
from ir_interp.ir.net import Body, Layer, Net, Port

_PORT_MAPS = {"body": "port_map", "then_body": "then_port_map", "else_body": "else_port_map"}
_COMMA = re.compile(r"(?<!\\),")


def nets(path: Path) -> Iterator[Net]:
    """Yield the net of an IR file, then the bodies inside; or a bare snippet as a net without edges."""
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
        problem = f"<{tag}> is neither an IR nor a layer; {closest(tag, xml.ROOTS)}"
        raise ReadError(problem, path.name)


def _binary(path: Path) -> Path:
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
        target, port, source, output = (xml.natural(edge.get(name), f"{prefix}@{name}") for name in names)
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


def _layer(element: etree._Element, index: int, prefix: str) -> Layer:
    number = xml.natural(element.get("id", str(index)), f"{prefix}@id")
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
    if text.startswith("opset") and xml.is_natural(text[5:]):
        return int(text[5:])
    return 0  # "experimental" and extension operation sets: an error only for a layer that must be understood


def _port(element: etree._Element, where: str) -> Port:
    try:
        dims = [xml.integer(dim.text or "") for dim in element.iterfind("dim")]
    except ReadError:
        raise ReadError("a dimension is not an integer", f"{where}/port[{element.get('id')}]") from None
    precision = element.get("precision")
    return Port(
        id=xml.natural(element.get("id"), f"{where}@port"),
        # A scalar has a precision but no <dim>; ports of a snippet may have neither.
        shape=tuple(None if dim < 0 else dim for dim in dims) if dims or precision else None,
        dtype=numpy_name(precision) if precision else None,
        names=_names(element.get("names", "")),
    )


def _names(text: str) -> tuple[str, ...]:
    """Return a list of names; a comma inside a name is escaped."""
    names = (name.replace("\\,", ",") for name in _COMMA.split(text))
    return tuple(sorted(name for name in names if name))
