"""Branches and loops: the nets inside a layer become graphs inside a node.

First the net inside a layer, as an emitter sees it: the connections of its ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import onnx
from onnx import helper

from ir_interp.errors import ReadError
from ir_interp.ir import ir_files
from ir_interp.ir.ir_files import Net, Port
from ir_interp.shapes import PartialShape

from ...onnx import operators
from ...onnx.onnx_graph import Graph
from ...onnx.operators import as_dtype
from .. import layers
from ..layers import Op, computed


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


def joined_body(op: Op, tag: str) -> JoinedBody:
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
        return ir_files.integer(attributes[name])
    except (KeyError, ReadError):
        raise ReadError(f"{attributes.get(name)!r} is not a number", f"{op.layer.where}@{name}") from None


def outer_tensor(op: Op, end: End) -> str:
    """Return the tensor that feeds the port to which a Parameter is joined."""
    return op.inputs[place(op, end)]


def place(op: Op, end: End) -> int:
    """Return the index of the input to which a Parameter is joined."""
    for index, port in enumerate(op.layer.inputs):
        if port.id == end.port:
            return index
    raise ReadError(f"a port map names input port {end.port}, which is not there", op.layer.where)


def joined_ends(op: Op, body: JoinedBody) -> list[End]:
    """Return the inner end for every output of the layer."""
    ends = {end.port: end for end in body.outputs}
    missing = [port.id for port in op.layer.outputs if port.id not in ends]
    if missing:
        raise ReadError(f"output port {missing[0]} is mapped to nothing", op.layer.where)
    return [ends[port.id] for port in op.layer.outputs]


def body_outputs(
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


def _if(graph: Graph, op: Op) -> tuple[str, ...]:
    branches = {f"{name}_branch": _branch(graph, op, f"{name}_body") for name in ("then", "else")}
    return graph.outputs(len(op.layer.outputs), "If", op.inputs[0], **branches)


def _branch(graph: Graph, op: Op, tag: str) -> onnx.GraphProto:
    body, inner = joined_body(op, tag), graph.inner()
    results = op.conversion.write_body(inner, body.net, {end.layer: outer_tensor(op, end) for end in body.inputs})
    inner.layer = op.layer.name
    outputs = body_outputs(inner, body, (end.layer for end in joined_ends(op, body)), results)
    return inner.proto(f"{op.layer.name}/{tag}", [], list(outputs))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Loop:
    """A layer that repeats its body: the outer graph, the inner graph, and the iteration number in the latter."""

    graph: Graph
    inner: Graph
    op: Op
    body: JoinedBody
    step: str

    def write(self, trips: str, condition: str) -> tuple[str, ...]:
        """Add the node: carried values come first, then the stacked outputs of all iterations."""
        inputs = {end.layer: self._given(end) for end in self.body.inputs}
        results = self.op.conversion.write_body(self.inner, self.body.net, inputs)
        self.inner.layer = self.op.layer.name
        carried = {end.layer: outer_tensor(self.op, end) for end in self.body.inputs if self._is_carried(end)}
        last = [self.body.carried[number] for number in carried]
        ends = joined_ends(self.op, self.body)
        stacked = [end for end in ends if end.slices is not None or end.layer not in last]
        outer = [*last, *(end.layer for end in stacked)]
        body = self._proto({number: inputs[number] for number in carried}, results, outer)
        outputs = self.graph.outputs(len(outer), "Loop", trips, condition, *carried.values(), body=body)
        joined = {end: self._joined(end, output) for end, output in zip(stacked, outputs[len(last) :], strict=True)}
        return tuple(joined[end] if end in joined else outputs[last.index(end.layer)] for end in ends)

    def _given(self, end: End) -> str:
        """Return a parameter's tensor: the iteration number, a slice, a carried value, or one from outside."""
        if end.purpose == "current_iteration":
            return self._number(end)
        if end.slices is not None:
            return self._part(end, end.slices)
        if self._is_carried(end):
            return self.inner.fresh(self.body.net.layers[end.layer].name)
        return outer_tensor(self.op, end)

    def _is_carried(self, end: End) -> bool:
        return end.layer in self.body.carried and end.slices is None and end.purpose != "current_iteration"

    def _number(self, end: End) -> str:
        port = self.body.parameter(end.layer)
        dtype = computed(port)
        if dtype is None:
            raise ReadError("an output port has no precision", self.body.net.layers[end.layer].where)
        number = self.step if dtype == "int64" else operators.cast(self.inner, self.step, dtype)
        return operators.unsqueeze(self.inner, number, [0]) if port.shape == (1,) else number

    def _part(self, end: End, slices: Slices) -> str:
        """Take the slice of an iteration: Gather takes negative indices, so that no size need be known."""
        tensor, ends_at_last = outer_tensor(self.op, end), slices.size > 1 and slices.start < 0
        first = slices.first(self._length(end, slices) if ends_at_last else 0)
        moved = self.inner.node("Mul", self.step, self.graph.constant(slices.stride, np.int64))
        begin = self.inner.node("Add", moved, self.graph.ints([first]))
        if slices.size == 1:
            return self.inner.node("Gather", tensor, begin, axis=slices.axis)
        stop = self.inner.node("Add", begin, self.graph.ints([slices.size]))
        return self.inner.node("Slice", tensor, begin, stop, self.graph.ints([slices.axis]))

    def _length(self, end: End, slices: Slices) -> int:
        return self.op.lengths(place(self.op, end), [slices.axis])[0]

    def parts(self) -> str:
        """Return the number of parts of a tensor that is sliced."""
        for end in self.body.inputs:
            if end.slices is not None:
                return self._count(end, end.slices)
        return self.graph.ints([1])

    def _count(self, end: End, slices: Slices) -> str:
        index = place(self.op, end)
        shape = self.op.shape(index)
        if slices.is_whole and (shape is None or shape[slices.axis] is None):
            lengths = self.graph.node("Shape", self.op.inputs[index])
            length = self.graph.node("Gather", lengths, self.graph.ints([slices.axis]))
            return self.graph.node("Div", length, self.graph.ints([slices.size]))
        return self.graph.ints([slices.count(self._length(end, slices))])

    def _proto(self, carried: dict[int, str], results: dict[int, str], outer: list[int]) -> onnx.GraphProto:
        """Return the inner graph, whose first outputs besides the number decide whether the loop goes on."""
        going = self.inner.fresh(f"{self.op.layer.name}/going")
        inputs = [value_info(self.step, "int64", ()), value_info(going, "bool", ())]
        for number, tensor in carried.items():
            port = self.body.parameter(number)
            inputs.append(value_info(tensor, computed(port) or "", self.body.shape(port)))
        outputs = [value_info(self._condition(results, going), "bool", ())]
        outputs += body_outputs(self.inner, self.body, outer, results)
        return self.inner.proto(f"{self.op.layer.name}/body", inputs, outputs)

    def _condition(self, results: dict[int, str], going: str) -> str:
        """Return the tensor that decides about another iteration; a body without one always goes on."""
        for end in self.body.outputs:
            if end.purpose == "execution_condition":
                # Loop requires a scalar, and the condition of an IR may have shape [1].
                return self.inner.node("Reshape", results[end.layer], self.graph.ints([]))
        return self.inner.node("Identity", going)

    def _joined(self, end: End, tensor: str) -> str:
        """Join the parts that lie along a new first axis; if none are needed, return the last."""
        if end.slices is None:
            return self.graph.node("Gather", tensor, self.graph.constant(-1, np.int64), axis=0)
        if not end.slices.is_whole:
            raise self.op.refusal("its parts do not fill an axis of the output")
        if end.slices.stride < 0:
            tensor = operators.cut(self.graph, tensor, [operators.END], [-operators.END], [0], [-1])
        shape = self.body.source(end.layer).shape or ()
        axis = self.op.from_first(end.slices.axis, len(shape))
        tensor = operators.transposed(self.graph, tensor, operators.moved(len(shape) + 1, 0, axis))
        if shape[axis] == 1:
            return operators.squeeze(self.graph, tensor, [axis + 1])
        return layers.reshaped(self.graph, self.op, tensor, [*shape[:axis], None, *shape[axis + 1 :]])


def _started(graph: Graph, op: Op) -> _Loop:
    inner = graph.inner()
    step = inner.fresh(f"{op.layer.name}/step")
    return _Loop(graph=graph, inner=inner, op=op, body=joined_body(op, "body"), step=step)


def _tensor_iterator(graph: Graph, op: Op) -> tuple[str, ...]:
    loop = _started(graph, op)
    return loop.write(loop.parts(), "")


def _loop(graph: Graph, op: Op) -> tuple[str, ...]:
    condition = op.inputs[1] if op.shape(1) == () else graph.node("Reshape", op.inputs[1], graph.ints([]))
    return _started(graph, op).write(_trips(graph, op), condition)


def _trips(graph: Graph, op: Op) -> str:
    """Return the largest number of iterations of a Loop; a negative number means no limit."""
    trips, value = layers.int64(graph, op, 0), op.value(0)
    if value is not None:
        return trips if int(value.ravel()[0]) >= 0 else ""
    endless = graph.node("Less", trips, graph.ints([0]))
    return graph.node("Where", endless, graph.ints([operators.END]), trips)


TABLE = {
    "If": _if,
    "Loop": _loop,
    "TensorIterator": _tensor_iterator,
}
