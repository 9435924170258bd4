"""Branches and loops: the nets inside a layer become graphs inside a node."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import onnx

from ir_interp.errors import ReadError

from ...onnx import operators
from ...onnx.graph import Graph
from .. import inner_nets, layer_inputs
from ..inner_nets import End, JoinedBody, Slices
from ..layer import Op, computed


def _if(graph: Graph, op: Op) -> tuple[str, ...]:
    branches = {f"{name}_branch": _branch(graph, op, f"{name}_body") for name in ("then", "else")}
    return graph.outputs(len(op.layer.outputs), "If", op.inputs[0], **branches)


def _branch(graph: Graph, op: Op, tag: str) -> onnx.GraphProto:
    body, inner = inner_nets.read(op, tag), graph.inner()
    results = op.conversion.write_body(inner, body.net, {end.layer: inner_nets.outer(op, end) for end in body.inputs})
    inner.layer = op.layer.name
    outputs = inner_nets.outputs(inner, body, (end.layer for end in inner_nets.joined(op, body)), results)
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
        carried = {end.layer: inner_nets.outer(self.op, end) for end in self.body.inputs if self._is_carried(end)}
        last = [self.body.carried[number] for number in carried]
        ends = inner_nets.joined(self.op, self.body)
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
        return inner_nets.outer(self.op, end)

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
        tensor, ends_at_last = inner_nets.outer(self.op, end), slices.size > 1 and slices.start < 0
        first = slices.first(self._length(end, slices) if ends_at_last else 0)
        moved = self.inner.node("Mul", self.step, self.graph.constant(slices.stride, np.int64))
        begin = self.inner.node("Add", moved, self.graph.ints([first]))
        if slices.size == 1:
            return self.inner.node("Gather", tensor, begin, axis=slices.axis)
        stop = self.inner.node("Add", begin, self.graph.ints([slices.size]))
        return self.inner.node("Slice", tensor, begin, stop, self.graph.ints([slices.axis]))

    def _length(self, end: End, slices: Slices) -> int:
        return self.op.lengths(inner_nets.place(self.op, end), [slices.axis])[0]

    def parts(self) -> str:
        """Return the number of parts of a tensor that is sliced."""
        for end in self.body.inputs:
            if end.slices is not None:
                return self._count(end, end.slices)
        return self.graph.ints([1])

    def _count(self, end: End, slices: Slices) -> str:
        index = inner_nets.place(self.op, end)
        shape = self.op.shape(index)
        if slices.is_whole and (shape is None or shape[slices.axis] is None):
            lengths = self.graph.node("Shape", self.op.inputs[index])
            length = self.graph.node("Gather", lengths, self.graph.ints([slices.axis]))
            return self.graph.node("Div", length, self.graph.ints([slices.size]))
        return self.graph.ints([slices.count(self._length(end, slices))])

    def _proto(self, carried: dict[int, str], results: dict[int, str], outer: list[int]) -> onnx.GraphProto:
        """Return the inner graph, whose first outputs besides the number decide whether the loop goes on."""
        going = self.inner.fresh(f"{self.op.layer.name}/going")
        inputs = [inner_nets.value_info(self.step, "int64", ()), inner_nets.value_info(going, "bool", ())]
        for number, tensor in carried.items():
            port = self.body.parameter(number)
            inputs.append(inner_nets.value_info(tensor, computed(port) or "", self.body.shape(port)))
        outputs = [inner_nets.value_info(self._condition(results, going), "bool", ())]
        outputs += inner_nets.outputs(self.inner, self.body, outer, results)
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
        return layer_inputs.reshaped(self.graph, self.op, tensor, [*shape[:axis], None, *shape[axis + 1 :]])


def _started(graph: Graph, op: Op) -> _Loop:
    inner = graph.inner()
    step = inner.fresh(f"{op.layer.name}/step")
    return _Loop(graph=graph, inner=inner, op=op, body=inner_nets.read(op, "body"), step=step)


def _tensor_iterator(graph: Graph, op: Op) -> tuple[str, ...]:
    loop = _started(graph, op)
    return loop.write(loop.parts(), "")


def _loop(graph: Graph, op: Op) -> tuple[str, ...]:
    condition = op.inputs[1] if op.shape(1) == () else graph.node("Reshape", op.inputs[1], graph.ints([]))
    return _started(graph, op).write(_trips(graph, op), condition)


def _trips(graph: Graph, op: Op) -> str:
    """Return the largest number of iterations of a Loop; a negative number means no limit."""
    trips, value = layer_inputs.int64(graph, op, 0), op.value(0)
    if value is not None:
        return trips if int(value.ravel()[0]) >= 0 else ""
    endless = graph.node("Less", trips, graph.ints([0]))
    return graph.node("Where", endless, graph.ints([operators.END]), trips)


TABLE = {"If": _if, "Loop": _loop, "TensorIterator": _tensor_iterator}
