"""The net inside a layer, as an emitter sees it: the connections of its ends."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import onnx
from onnx import helper

from ir_interp.errors import ReadError
from ir_interp.ir import xml
from ir_interp.ir.net import Net, Port
from ir_interp.shapes import PartialShape

from ..onnx.graph import Graph
from ..onnx.operators import as_dtype
from .layer import Op, computed


@dataclass(frozen=True, slots=True, kw_only=True)
class Slices:
    """Slices of a tensor along an axis, one for each iteration; a negative ``start`` or ``end`` counts from behind."""

    axis: int
    start: int
    end: int
    stride: int

    @property
    def is_whole(self) -> bool:
        """Whether they cover all of the axis, in either direction."""
        return (self.start, self.end) == ((0, -1) if self.stride > 0 else (-1, 0))

    @property
    def size(self) -> int:
        """The size of a slice."""
        return abs(self.stride)

    def first(self, length: int = 0) -> int:
        """Return where the first slice begins; if the size is unknown, a start behind the axis stays negative."""
        return _edge(self.start, length) - (self.size if self.stride < 0 else 0)

    def count(self, length: int) -> int:
        """Return the number of slices of an axis."""
        return abs(_edge(self.end, length) - _edge(self.start, length)) // self.size


def _edge(place: int, length: int) -> int:
    """Return an edge between entries; -1 is the one behind the last entry."""
    return place if place >= 0 else length + 1 + place


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """A Parameter or Result of a body, and the port of the layer to which it is joined (-1 for none)."""

    port: int
    layer: int
    purpose: str
    slices: Slices | None


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinedBody:
    """A net and its ends; ``carried`` maps a Parameter to the Result whose value it has in the next iteration."""

    net: Net
    inputs: tuple[End, ...]
    outputs: tuple[End, ...]
    carried: dict[int, int]

    def source(self, result: int) -> Port:
        """Return the port that feeds a Result."""
        layer = self.net.layers.get(result)
        source = self.net.source(layer, 0) if layer else None
        if source is None:
            raise ReadError(f"a port map names layer {result} of a body, which is not a Result", self.net.name)
        return source[1]

    def parameter(self, number: int) -> Port:
        """Return the port of a Parameter."""
        layer = self.net.layers.get(number)
        if layer is None or len(layer.outputs) != 1:
            raise ReadError(f"a port map names layer {number} of a body, which is not a Parameter", self.net.name)
        return layer.outputs[0]

    def shape(self, port: Port) -> PartialShape | None:
        """Return the shape of a port inside; None if its rank is dynamic."""
        return None if port.shape == () and self.net.has_dynamic_ranks else port.shape


def read(op: Op, tag: str) -> JoinedBody:
    """Return the body of a layer that ``tag`` names."""
    body = op.net.bodies.get((op.layer.id, tag))
    if body is None:
        raise ReadError(f"it has no {tag}", op.layer.where)
    return JoinedBody(
        net=body.net,
        inputs=tuple(_end(op, tensor) for tensor in body.inputs),
        outputs=tuple(_end(op, output) for output in body.outputs),
        carried={_number(op, edge, "to-layer"): _number(op, edge, "from-layer") for edge in body.back_edges},
    )


def _end(op: Op, attributes: Mapping[str, str]) -> End:
    return End(
        port=_number(op, attributes, "external_port_id"),
        layer=_number(op, attributes, "internal_layer_id"),
        purpose=attributes.get("purpose", ""),
        slices=_slices(op, attributes) if "axis" in attributes else None,
    )


def _slices(op: Op, attributes: Mapping[str, str]) -> Slices:
    stride = _number(op, attributes, "stride", 1)
    # Slices of a Loop follow each other: one iteration takes what the last one left.
    if abs(stride) != _number(op, attributes, "part_size", 1) or stride == 0:
        raise op.refusal("its parts overlap, or leave gaps")
    start, end = _number(op, attributes, "start", 0), _number(op, attributes, "end", -1)
    return Slices(axis=_number(op, attributes, "axis"), start=start, end=end, stride=stride)


def _number(op: Op, attributes: Mapping[str, str], name: str, default: int | None = None) -> int:
    if name not in attributes and default is not None:
        return default
    try:
        return xml.integer(attributes[name])
    except (KeyError, ReadError):
        raise ReadError(f"{attributes.get(name)!r} is not a number", f"{op.layer.where}@{name}") from None


def outer(op: Op, end: End) -> str:
    """Return the tensor that feeds the port to which a Parameter is joined."""
    return op.inputs[place(op, end)]


def place(op: Op, end: End) -> int:
    """Return the index of the input to which a Parameter is joined."""
    for index, port in enumerate(op.layer.inputs):
        if port.id == end.port:
            return index
    raise ReadError(f"a port map names input port {end.port}, which is not there", op.layer.where)


def joined(op: Op, body: JoinedBody) -> list[End]:
    """Return the inner end for every output of the layer."""
    ends = {end.port: end for end in body.outputs}
    missing = [port.id for port in op.layer.outputs if port.id not in ends]
    if missing:
        raise ReadError(f"output port {missing[0]} is mapped to nothing", op.layer.where)
    return [ends[port.id] for port in op.layer.outputs]


def outputs(
    inner: Graph, body: JoinedBody, numbers: Iterable[int], results: Mapping[int, str]
) -> Iterator[onnx.ValueInfoProto]:
    """Yield the outputs of an inner graph, by the numbers of Results: each is a separate tensor, produced inside."""
    taken = set()
    for number in numbers:
        tensor = results[number]
        if tensor in taken or inner.maker(tensor) is None:
            tensor = inner.node("Identity", tensor)
        taken.add(tensor)
        port = body.source(number)
        yield value_info(tensor, computed(port) or "", body.shape(port))


def value_info(name: str, dtype: str, shape: PartialShape | None) -> onnx.ValueInfoProto:
    """Return the declaration of an end of an inner graph."""
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(as_dtype(dtype)), shape)
