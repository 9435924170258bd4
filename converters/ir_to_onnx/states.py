"""States of an IR as inputs and outputs: whoever runs the model passes them from one inference to the next.

States that start from inputs of their model come first: an additional input marks the first inference.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from lxml import etree

from ir_interp.errors import ReadError, UnsupportedLayerError
from ir_interp.files.snapshots import link_or_copy
from ir_interp.files.writing import scratch
from ir_interp.ir import ir_files
from ir_interp.ir.interpolates import fold
from ir_interp.ir.ir_files import Layer, Net, nets
from ir_interp.shapes import PartialShape

from ..reports import State

FLAG = "states.first"
"""The input that is true in the first inference: initial values are computed then, whatever is passed as the state."""

_CONDITION, _START, _KEPT, CHOSEN = range(4)
_ENDS = {"then": _START, "else": _KEPT}


@dataclass(frozen=True, slots=True, kw_only=True)
class PortType:
    """The type of a tensor, as a layer and as a port names it, and its shape."""

    element_type: str
    precision: str
    shape: PartialShape


_FLAG_KIND = PortType(element_type="boolean", precision="BOOL", shape=())


def parameter_layer(number: int, name: str, kind: PortType = _FLAG_KIND) -> etree._Element:
    """Return a Parameter; that of the flag if no kind is specified."""
    layer = etree.Element("layer", id=str(number), name=name, type="Parameter", version="opset1")
    lengths = ",".join("?" if length is None else str(length) for length in kind.shape)
    etree.SubElement(layer, "data", shape=lengths, element_type=kind.element_type)
    _port(etree.SubElement(layer, "output"), 0, kind).set("names", name.replace(",", "\\,"))
    return layer


def choose(layer: etree._Element, edges: etree._Element, ends: tuple[int, int], reader: Layer, kind: PortType) -> None:
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


def _passing(body: etree._Element, name: str, kind: PortType) -> None:
    """Fill a body that returns its input."""
    layers = etree.SubElement(body, "layers")
    layers.append(parameter_layer(0, name, kind))
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


def _port(parent: etree._Element, number: int, kind: PortType) -> etree._Element:
    port = etree.SubElement(parent, "port", id=str(number), precision=kind.precision)
    for length in kind.shape:
        etree.SubElement(port, "dim").text = str(-1 if length is None else length)
    return port


def _edge(edges: etree._Element, source: tuple[int, int], target: tuple[int, int]) -> None:
    ends = {"from-layer": source[0], "from-port": source[1], "to-layer": target[0], "to-port": target[1]}
    etree.SubElement(edges, "edge", {name: str(number) for name, number in ends.items()})


_CACHED = re.compile(r"(past_key_values\..+?)(present\..+)")
"""Variables of a decoder's cache as OpenVINO's MakeStateful names them: the former input and output names joined."""

INFO = "states"
"""The name, in an IR and in a model's metadata, of the states that were taken out of it, as JSON."""

MAX_VALUES = 4096
"""The largest number of elements of an initial value that is written to a model's metadata."""


@contextmanager
def stateless(source: Path) -> Iterator[tuple[Path, tuple[State, ...]]]:
    """Yield an IR without states, and the states: the file itself if it has none, else another of its name.

    Each variable becomes a Parameter and a Result behind all others; one that starts from inputs is chosen by another
    Parameter. Raises ReadError for a variable that nothing reads.
    """
    net = next(nets(source))
    readers, writers = (_by_variable(net, kind) for kind in ("readvalue", "assign"))
    for name in writers.keys() - readers.keys():
        raise ReadError("nothing reads this variable", f"{writers[name][0].where}@variable_id")
    if not readers:  # those of bodies are refused where they stand
        yield source, ()
        return
    states = [_state(net, readers[variable][0], variable in writers) for variable in sorted(readers, key=_counted)]
    with scratch() as folder:
        yield _written(source, folder, net, states, readers, writers), tuple(states)


def _counted(name: str) -> list[tuple[int, str]]:
    """Return a sort key that orders names by the numbers in them."""
    # Layer 10 of a decoder comes after layer 2.
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", name)]


_Layers = Mapping[str, list[Layer]]


def _by_variable(net: Net, kind: str) -> dict[str, list[Layer]]:
    by_variable: dict[str, list[Layer]] = {}
    for layer in net.layers.values():
        if layer.type.lower() == kind:
            if "variable_id" not in layer.attributes:
                raise ReadError("missing", f"{layer.where}@variable_id")
            by_variable.setdefault(layer.attributes["variable_id"], []).append(layer)
    return by_variable


def _state(net: Net, reader: Layer, is_written: bool) -> State:
    name, port = reader.attributes["variable_id"], reader.outputs[0]
    cached = _CACHED.fullmatch(name)
    input_name, output_name = cached.groups() if cached else (name, f"{name}.next")
    shape, values = _initial(net, reader)
    return State(
        variable=name,
        input=input_name,
        output=output_name if is_written else None,
        dtype=port.dtype or "float32",
        shape=_declared(reader),
        initial_shape=shape,
        initial=values,
        first=FLAG if values is None else None,
    )


def _declared(reader: Layer) -> PartialShape:
    """Return the shape that a variable has at any time."""
    text = reader.attributes.get("variable_shape")
    if text is None or (text == "..." and reader.outputs[0].shape):
        return reader.outputs[0].shape or ()
    try:
        return tuple(
            None if word.strip() in ("?", "-1") else ir_files.integer(word) for word in text.split(",") if word
        )
    except ReadError:
        problem = f"{text!r} is not a shape of static rank"
        raise UnsupportedLayerError(problem, f"{reader.where}@variable_shape") from None


def _initial(net: Net, reader: Layer) -> tuple[PartialShape, tuple[Any, ...] | None]:
    """Return the shape of a variable before the first inference, and its elements: one if all are equal.

    The elements are None if they are computed from inputs.
    """
    source = net.source(reader, 0)
    if source is None:
        return _declared(reader), (0,)
    shape, value = source[1].shape or (), fold(net, reader, 0)
    if value is None and 0 in shape:
        return shape, ()
    if value is None and source[0].type.lower() == "broadcast":
        value = fold(net, source[0], 0)
        value = value if value is not None and value.size == 1 else None
    elif value is not None:
        shape = value.shape
    if value is None:
        return shape, None
    # One element stands for all, since the metadata of a model should stay small.
    same = value.size and bool(np.all(value == value.ravel()[0]))
    elements = value.ravel()[:1] if same else value.ravel()
    if elements.size > MAX_VALUES:
        problem = f"its initial value has {elements.size} different elements; up to {MAX_VALUES} fit into the metadata"
        raise UnsupportedLayerError(problem, reader.where)
    return shape, tuple(elements.tolist())


def _written(source: Path, folder: Path, net: Net, states: Sequence[State], readers: _Layers, writers: _Layers) -> Path:
    root = ir_files.parse(source)
    layers, edges = root.find("layers"), root.find("edges")
    if layers is None or edges is None:
        raise ReadError("it has no layers or no edges", source.name)
    elements = {int(element.get("id", "-1")): element for element in layers.iterchildren("layer")}
    # Numbers of new layers follow the largest in the file.
    flag = max(elements) + 1
    for number, state in enumerate(states, flag + 1):
        first, *others = readers[state.variable]
        port = first.outputs[0].id
        if state.initial is None:
            port, kind = CHOSEN, _kind(elements[first.id], state)
            choose(elements[first.id], edges, (flag, number), first, kind)
            layers.append(parameter_layer(number, state.input, kind))
        else:
            _parameter(elements[first.id], state)
            layers.append(elements[first.id])
            _drop_inputs(edges, first.id)
        for other in others:
            _redirect(edges, other.id, (first.id, port))
            _drop_inputs(edges, other.id)
            layers.remove(elements[other.id])
    if any(state.initial is None for state in states):
        layers.append(parameter_layer(flag, FLAG))
    for state in states:
        # The last of several Assigns decides the next value.
        for writer in writers.get(state.variable, [])[-1:]:
            end = net.edges.get((writer.id, writer.inputs[0].id))
            if end is None:
                raise ReadError("its input is not connected", writer.where)
            _redirect(edges, writer.id, end)
            _result(elements[writer.id], state)
            layers.append(elements[writer.id])
    info = root.find("rt_info")
    text = json.dumps([asdict(state) for state in states])
    etree.SubElement(etree.SubElement(root, "rt_info") if info is None else info, "info", name=INFO, value=text)
    written = folder / source.name
    etree.ElementTree(root).write(str(written), xml_declaration=True, encoding="utf-8")
    link_or_copy(source.with_suffix(".bin"), written.with_suffix(".bin"))
    return written


def _kind(element: etree._Element, state: State) -> PortType:
    port = element.find("output/port")
    precision = str(port.get("precision", "FP32")) if port is not None else "FP32"
    return PortType(element_type=_element_type(element), precision=precision, shape=state.shape)


def _parameter(element: etree._Element, state: State) -> None:
    """Make a ReadValue a Parameter."""
    shape = ",".join("?" if length is None else str(length) for length in state.shape)
    element_type = _element_type(element)
    element.attrib.update({"type": "Parameter", "version": "opset1", "name": state.input})
    _replace_data(element, {"shape": shape, "element_type": element_type})
    for inputs in element.findall("input"):
        element.remove(inputs)
    for port in element.iterfind("output/port"):
        port.set("names", state.input.replace(",", "\\,"))
        for dim in port.findall("dim"):
            port.remove(dim)
        for length in state.shape:
            etree.SubElement(port, "dim").text = str(-1 if length is None else length)


def _element_type(element: etree._Element) -> str:
    """Return the type of a variable: operation set 3 declares it only at the port, as others may."""
    data, port = element.find("data"), element.find("output/port")
    stated = data.get("variable_type") if data is not None else None
    precision = str(port.get("precision", "FP32")).lower() if port is not None else "fp32"
    if stated and stated != "dynamic":
        return stated
    return {"bool": "boolean"}.get(precision, precision.replace("fp", "f"))


def _result(element: etree._Element, state: State) -> None:
    """Make an Assign a Result."""
    name = state.output or ""
    element.attrib.update({"type": "Result", "version": "opset1", "name": name})
    element.set("output_names", name.replace(",", "\\,"))
    _replace_data(element, {})
    for outputs in element.findall("output"):
        element.remove(outputs)


def _replace_data(element: etree._Element, attributes: Mapping[str, str]) -> None:
    for data in element.findall("data"):
        element.remove(data)
    if attributes:
        element.insert(0, etree.Element("data", dict(attributes)))


def _drop_inputs(edges: etree._Element, number: int) -> None:
    for edge in edges.findall("edge"):
        if edge.get("to-layer") == str(number):
            edges.remove(edge)


def _redirect(edges: etree._Element, number: int, source: tuple[int, int]) -> None:
    """Redirect the readers of a layer to another output port."""
    for edge in edges.findall("edge"):
        if edge.get("from-layer") == str(number):
            edge.set("from-layer", str(source[0]))
            edge.set("from-port", str(source[1]))
