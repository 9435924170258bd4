"""States that start from inputs of their model: an additional input marks the first inference."""

from __future__ import annotations

from dataclasses import dataclass

from lxml import etree

from ir_interp.ir.net import Layer
from ir_interp.shapes import PartialShape

FLAG = "states.first"
"""The input that is true in the first inference: initial values are computed then, whatever is passed as the state."""

_CONDITION, _START, _KEPT, CHOSEN = range(4)
_ENDS = {"then": _START, "else": _KEPT}


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """The type of a tensor, as a layer and as a port names it, and its shape."""

    element_type: str
    precision: str
    shape: PartialShape


_FLAG_KIND = Kind(element_type="boolean", precision="BOOL", shape=())


def parameter(number: int, name: str, kind: Kind = _FLAG_KIND) -> etree._Element:
    """Return a Parameter; that of the flag if no kind is specified."""
    layer = etree.Element("layer", id=str(number), name=name, type="Parameter", version="opset1")
    lengths = ",".join("?" if length is None else str(length) for length in kind.shape)
    etree.SubElement(layer, "data", shape=lengths, element_type=kind.element_type)
    _port(etree.SubElement(layer, "output"), 0, kind).set("names", name.replace(",", "\\,"))
    return layer


def choose(layer: etree._Element, edges: etree._Element, ends: tuple[int, int], reader: Layer, kind: Kind) -> None:
    """Make a ReadValue an If that takes the initial value in the first inference, else the state.

    ``ends`` are the Parameters of the flag and of the state.
    """
    for child in list(layer):
        layer.remove(child)
    layer.attrib.update({"type": "If", "version": "opset8"})
    for name, end in _ENDS.items():
        maps = etree.SubElement(layer, f"{name}_port_map")
        etree.SubElement(maps, "input", external_port_id=str(end), internal_layer_id="0")
        etree.SubElement(maps, "output", external_port_id=str(CHOSEN), internal_layer_id="1")
    inputs = etree.SubElement(layer, "input")
    _port(inputs, _CONDITION, _FLAG_KIND)
    for end in _ENDS.values():
        _port(inputs, end, kind)
    _port(etree.SubElement(layer, "output"), CHOSEN, kind)
    for name in _ENDS:
        _passing(etree.SubElement(layer, f"{name}_body"), f"{reader.name}/{name}", kind)
    _join(edges, ends, reader)


def _passing(body: etree._Element, name: str, kind: Kind) -> None:
    """Fill a body that returns its input."""
    layers = etree.SubElement(body, "layers")
    layers.append(parameter(0, name, kind))
    result = etree.SubElement(layers, "layer", id="1", name=f"{name}/result", type="Result", version="opset1")
    _port(etree.SubElement(result, "input"), 0, kind)
    _edge(etree.SubElement(body, "edges"), (0, 0), (1, 0))


def _join(edges: etree._Element, ends: tuple[int, int], reader: Layer) -> None:
    number, old = str(reader.id), str(reader.outputs[0].id)
    for edge in edges.findall("edge"):
        if edge.get("to-layer") == number:
            edge.set("to-port", str(_START))
        if (edge.get("from-layer"), edge.get("from-port")) == (number, old):
            edge.set("from-port", str(CHOSEN))
    for source, port in zip(ends, (_CONDITION, _KEPT), strict=True):
        _edge(edges, (source, 0), (reader.id, port))


def _port(parent: etree._Element, number: int, kind: Kind) -> etree._Element:
    port = etree.SubElement(parent, "port", id=str(number), precision=kind.precision)
    for length in kind.shape:
        etree.SubElement(port, "dim").text = str(-1 if length is None else length)
    return port


def _edge(edges: etree._Element, source: tuple[int, int], target: tuple[int, int]) -> None:
    ends = {"from-layer": source[0], "from-port": source[1], "to-layer": target[0], "to-port": target[1]}
    etree.SubElement(edges, "edge", {name: str(number) for name, number in ends.items()})
