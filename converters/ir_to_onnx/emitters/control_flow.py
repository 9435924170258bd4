"""Branches and loops: the nets inside a layer become graphs inside a node."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import onnx

from ...onnx import operators
from ...onnx.graph import Graph
from .. import bodies, tensors
from ..bodies import Body, End, Slices
from ..op import Op, computed


def _if(graph: Graph, op: Op) -> tuple[str, ...]:
    branches = {f"{name}_branch": _branch(graph, op, f"{name}_body") for name in ("then", "else")}
    return graph.outputs(len(op.layer.outputs), "If", op.inputs[0], **branches)


def _branch(graph: Graph, op: Op, tag: str) -> onnx.GraphProto:
    body, inner = bodies.read(op, tag), graph.inner()
    results = op.conversion.write_body(inner, body.net, {end.layer: bodies.outer(op, end) for end in body.inputs})
    inner.layer = op.layer.name
    outputs = [bodies.output(inner, body, end.layer, results[end.layer]) for end in bodies.joined(op, body)]
    return inner.proto(f"{op.layer.name}/{tag}", [], outputs)


@dataclass(slots=True, kw_only=True)
class _Loop:
    """A Loop under construction: ``given`` are the tensors of the body's parameters, ``initial`` the carried values."""

    graph: Graph
    inner: Graph
    op: Op
    body: Body
    step: str
    given: dict[int, str] = field(default_factory=dict)
    initial: dict[int, str] = field(default_factory=dict)

    def join(self, end: End) -> None:
        """Give a parameter its tensor: the number of the iteration, a part, what is carried, or one from outside."""
        if end.purpose == "current_iteration":
            self.given[end.layer] = self._number(end)
        elif end.slices is not None:
            self.given[end.layer] = self._part(end, end.slices, bodies.outer(self.op, end))
        elif end.layer in self.body.carried:
            self.initial[end.layer] = bodies.outer(self.op, end)
            self.given[end.layer] = self.inner.fresh(self.body.net.layers[end.layer].name)
        else:
            self.given[end.layer] = bodies.outer(self.op, end)

    def _number(self, end: End) -> str:
        port = self.body.parameter(end.layer)
        number = self.step if computed(port) == "int64" else operators.cast(self.inner, self.step, computed(port) or "")
        return operators.unsqueeze(self.inner, number, [0]) if port.shape == (1,) else number

    def _part(self, end: End, slices: Slices, tensor: str) -> str:
        """Take the part of an iteration: a negative index counts from behind, so that no length need be known."""
        part = abs(slices.stride)
        first = slices.start + (0 if slices.start >= 0 else 1) - (part if slices.stride < 0 else 0)
        if part > 1 and slices.start < 0:
            first += self._length(end, slices)
        moved = self.inner.node("Mul", self.step, self.graph.constant(slices.stride, np.int64))
        begin = self.inner.node("Add", moved, self.graph.ints([first]))
        if part == 1:
            return self.inner.node("Gather", tensor, begin, axis=slices.axis)
        stop = self.inner.node("Add", begin, self.graph.ints([part]))
        return self.inner.node("Slice", tensor, begin, stop, self.graph.ints([slices.axis]))

    def _length(self, end: End, slices: Slices) -> int:
        return self.op.lengths(bodies.place(self.op, end), [slices.axis])[0]

    def parts(self) -> str:
        """Return the number of parts of a tensor that is sliced."""
        for end in self.body.inputs:
            if end.slices is not None:
                return self._count(end, end.slices)
        return self.graph.ints([1])

    def _count(self, end: End, slices: Slices) -> str:
        index = bodies.place(self.op, end)
        shape = self.op.shape(index)
        if slices.is_whole and (shape is None or shape[slices.axis] is None):
            lengths = self.graph.node("Shape", self.op.inputs[index])
            held = self.graph.node("Gather", lengths, self.graph.ints([slices.axis]))
            return self.graph.node("Div", held, self.graph.ints([abs(slices.stride)]))
        length = self._length(end, slices)
        start, stop = (each if each >= 0 else length + 1 + each for each in (slices.start, slices.end))
        return self.graph.ints([abs(stop - start) // abs(slices.stride)])

    def write(self, trips: str, condition: str) -> tuple[str, ...]:
        """Add the node: carried values come first, then what is stacked up from all iterations."""
        for end in self.body.inputs:
            self.join(end)
        results = self.op.conversion.write_body(self.inner, self.body.net, self.given)
        self.inner.layer = self.op.layer.name
        carried = [self.body.carried[number] for number in self.initial]
        ends = bodies.joined(self.op, self.body)
        stacked = [end for end in ends if end.slices is not None or end.layer not in carried]
        inputs, going = self._inputs()
        outputs = [self._condition(results) or bodies.value_info(self.inner.node("Identity", going), "bool", ())]
        for number in (*carried, *(end.layer for end in stacked)):
            outputs.append(bodies.output(self.inner, self.body, number, results[number]))
        body = self.inner.proto(f"{self.op.layer.name}/body", inputs, outputs)
        made = self.graph.outputs(len(outputs) - 1, "Loop", trips, condition, *self.initial.values(), body=body)
        unstacked = {
            end: self._unstacked(end, tensor) for end, tensor in zip(stacked, made[len(carried) :], strict=True)
        }
        return tuple(unstacked[end] if end in unstacked else made[carried.index(end.layer)] for end in ends)

    def _inputs(self) -> tuple[list[onnx.ValueInfoProto], str]:
        """Return the inputs of the inner graph, and the name of the second: whether the loop goes on."""
        going = self.inner.fresh(f"{self.op.layer.name}/going")
        declared = [bodies.value_info(self.step, "int64", ()), bodies.value_info(going, "bool", ())]
        for number in self.initial:
            port = self.body.parameter(number)
            declared.append(bodies.value_info(self.given[number], computed(port) or "", self.body.shape(port)))
        return declared, going

    def _condition(self, results: dict[int, str]) -> onnx.ValueInfoProto | None:
        for end in self.body.outputs:
            if end.purpose == "execution_condition":
                return bodies.value_info(
                    self.inner.node("Reshape", results[end.layer], self.graph.ints([])), "bool", ()
                )
        return None

    def _unstacked(self, end: End, tensor: str) -> str:
        """Join the parts that lie along a new first axis; where none are wanted, return the last."""
        if end.slices is None:
            return self.graph.node("Gather", tensor, self.graph.constant(-1, np.int64), axis=0)
        if not end.slices.is_whole:
            raise self.op.refusal("its parts fill less than an axis of the output")
        if end.slices.stride < 0:
            tensor = operators.cut(self.graph, tensor, [operators.END], [-operators.END], [0], [-1])
        shape = self.body.source(end.layer).shape or ()
        axis = self.op.from_first(end.slices.axis, len(shape))
        tensor = operators.transposed(self.graph, tensor, operators.moved(len(shape) + 1, 0, axis))
        if shape[axis] == 1:
            return operators.squeeze(self.graph, tensor, [axis + 1])
        return tensors.reshaped(self.graph, self.op, tensor, [*shape[:axis], None, *shape[axis + 1 :]])


def _started(graph: Graph, op: Op) -> _Loop:
    inner = graph.inner()
    step = inner.fresh(f"{op.layer.name}/step")
    return _Loop(graph=graph, inner=inner, op=op, body=bodies.read(op, "body"), step=step)


def _tensor_iterator(graph: Graph, op: Op) -> tuple[str, ...]:
    loop = _started(graph, op)
    return loop.write(loop.parts(), "")


def _loop(graph: Graph, op: Op) -> tuple[str, ...]:
    return _started(graph, op).write(_trips(graph, op), op.inputs[1])


def _trips(graph: Graph, op: Op) -> str:
    """Return how often a Loop runs at most; a negative number means without end."""
    trips, value = tensors.int64(graph, op, 0), op.value(0)
    if value is not None:
        return trips if int(value.ravel()[0]) >= 0 else ""
    endless = graph.node("Less", trips, graph.ints([0]))
    return graph.node("Where", endless, graph.ints([operators.END]), trips)


TABLE = {"If": _if, "Loop": _loop, "TensorIterator": _tensor_iterator}
