"""Recurrent cells and sequences, where a cell is a sequence of one step; then decoders of sequences.

First the origin of a size: whether the lengths of sequences equal the size of their axis anyway. Decoders are greedy
CTC decoders, and beams of a search, followed back from their last step.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import onnx

from ir_interp.errors import ReadError
from ir_interp.ir.interpolates import fold
from ir_interp.ir.ir_files import Layer, Net, Port

from ...onnx import operators
from ...onnx.onnx_graph import Graph
from ...onnx.operators import NodeTensor, as_dtype, node
from .. import layers
from ..layers import Op, as_type, cut, joined, operand, reduction, tensor
from .control_flow import value_info


@dataclass(frozen=True, slots=True, kw_only=True)
class _Length:
    """The size of a tensor, the output of a layer at a port, along an axis."""

    layer: Layer
    port: Port
    axis: int

    @property
    def place(self) -> tuple[int, int, int]:
        """Its identity."""
        return self.layer.id, self.port.id, self.axis


def is_whole(net: Net, layer: Layer, index: int, data: int, axis: int) -> bool:
    """Return whether each number of an input is the size of another input, ``data``, along an axis."""
    read, sized = _read(net, layer, index), _at(net, layer, data, axis)
    return read is not None and sized is not None and _origin(net, read).place == _origin(net, sized).place


_SPREADS = {"broadcast", "convert", "reshape", "squeeze", "unsqueeze"}


def _read(net: Net, layer: Layer, index: int) -> _Length | None:
    """Return the size that an input repeats; None for anything else."""
    source = net.source(layer, index)
    while source is not None and source[0].type.lower() in _SPREADS:
        source = net.source(source[0], 0)
    if source is None or source[0].type.lower() != "gather":
        return None
    shape, place = net.source(source[0], 0), fold(net, source[0], 1)
    if shape is None or shape[0].type.lower() != "shapeof" or place is None or place.size != 1 or place.item() < 0:
        return None
    return _at(net, shape[0], 0, int(place.item()))


def _at(net: Net, layer: Layer, index: int, axis: int) -> _Length | None:
    source = net.source(layer, index)
    return None if source is None else _Length(layer=source[0], port=source[1], axis=axis)


def _origin(net: Net, length: _Length) -> _Length:
    """Follow a size through layers that keep it to where it is determined."""
    before = _before(net, length)
    return length if before is None else _origin(net, before)


def _before(net: Net, length: _Length) -> _Length | None:
    kind, axis = length.layer.type.lower(), length.axis
    if kind in _KEEPING:
        return _at(net, length.layer, 0, axis)
    if kind in _SEQUENCES and length.port is length.layer.outputs[0] and axis in (0, 2):
        return _at(net, length.layer, 0, axis // 2)
    if kind == "gather":  # an embedding
        table = length.layer.inputs[0].shape
        is_first = (fold(net, length.layer, 2) == 0) and axis < len(length.port.shape or ()) - len(table or ()) + 1
        return _at(net, length.layer, 1, axis) if is_first and table else None
    if kind == "transpose":
        order = fold(net, length.layer, 1)
        return _at(net, length.layer, 0, int(order[axis])) if order is not None and order.size > axis else None
    if kind == "reshape" and length.layer.attributes.get("special_zero", "").lower() in ("true", "1"):
        pattern = fold(net, length.layer, 1)
        return _at(net, length.layer, 0, axis) if pattern is not None and pattern.ravel()[axis] == 0 else None
    return None


_KEEPING = {"convert", "relu", "sigmoid", "tanh"}
_SEQUENCES = {"lstmsequence", "grusequence", "rnnsequence"}


_ACTIVATIONS = {"sigmoid": "Sigmoid", "tanh": "Tanh", "relu": "Relu"}  # all that OpenVINO's CPU plugin runs
_DIRECTIONS = ("forward", "reverse", "bidirectional")
_TIME_FIRST = (1, 0, 2)
_LSTM_CELL = 4  # the version of LSTMCell that has no input_forget any more


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kind:
    """A recurrence: ``gates`` maps ONNX's gates to the IR's, ``states`` is the number of tensors it carries."""

    node: str
    gates: tuple[int, ...]
    states: int
    activations: tuple[str, ...]


# The gates of an LSTM are f, i, c, o, whatever weights_format is: OpenVINO ignores it.
_KINDS = {
    "LSTM": _Kind(node="LSTM", gates=(1, 3, 0, 2), states=2, activations=("sigmoid", "tanh", "tanh")),
    "GRU": _Kind(node="GRU", gates=(0, 1, 2), states=1, activations=("sigmoid", "tanh")),
    "RNN": _Kind(node="RNN", gates=(0,), states=1, activations=("tanh",)),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Recurrence:
    """One layer; ``first`` is the input that holds the weights, followed by recurrent ones and biases."""

    graph: Graph
    op: Op
    kind: _Kind
    first: int
    directions: int = 1

    def node(self, x: str, lengths: str, states: Sequence[str], direction: str = "forward") -> tuple[str, ...]:
        """Add the node: its outputs are those of all steps, and the last of each state."""
        self._refuse()
        hidden = self._hidden()
        attributes = {
            "direction": None if direction == "forward" else direction,
            "activations": self._activations(),
            "clip": self._clip(),
            "linear_before_reset": 1 if self._is_linear() else None,
        }
        weights = [self._in_onnx_order(index) for index in (self.first, self.first + 1)]
        names = (x, *weights, self._biases(), lengths, *states)
        return self.graph.outputs(1 + self.kind.states, self.kind.node, *names, hidden_size=hidden, **attributes)

    def _hidden(self) -> int:
        """Return the size of the state. Raises ReadError if it is not that of the recurrent weights."""
        hidden, weights = self.op.integer("hidden_size"), self.op.shape(self.first + 1) or (None,)
        if weights[-1] not in (hidden, None):
            where = f"{self.op.layer.where}@hidden_size"
            raise ReadError(f"{hidden}, but the recurrent weights are for {weights[-1]}", where)
        return hidden

    def _refuse(self) -> None:
        peepholes = self.first + 3
        is_first = self.op.layer.type.lower() == "lstmcell" and self.op.version < _LSTM_CELL
        if is_first and self.op.flag("input_forget"):
            raise self.op.refusal("its input and forget gates are coupled")
        if self.kind.node == "LSTM" and self.op.has(peepholes) and np.any(self.op.known(peepholes, "peepholes are")):
            raise self.op.refusal("it has peepholes, which OpenVINO's CPU plugin ignores")

    def _activations(self) -> list[str] | None:
        """Return the activations of every direction; None for ONNX's defaults. An IR may list them once or twice."""
        text, own = self.op.text("activations"), self.kind.activations
        names = tuple(word.strip().lower() for word in text.split(",")) if text else own
        unknown = [name for name in names if name not in _ACTIVATIONS]
        if unknown:
            raise self.op.refusal(f"activation {unknown[0]!r} is not run by OpenVINO's CPU plugin")
        first = names[: len(own)]
        if names not in (first, first * self.directions):
            raise self.op.refusal(
                f"activations are {text}; expected {len(own)}, the same for each direction, since OpenVINO's CPU plugin"
                " gives every direction those of the first"
            )
        return None if first == own else [_ACTIVATIONS[name] for name in first] * self.directions

    def _clip(self) -> float | None:
        limit = self.op.real("clip", 0)
        return limit if 0 < limit < math.inf else None  # both mean that nothing is clipped

    def _is_linear(self) -> bool:
        return self.kind.node == "GRU" and self.op.flag("linear_before_reset")

    def _in_onnx_order(self, index: int) -> str:
        """Return weights or biases with a first axis of directions, and ONNX's order of gates."""
        name = self.op.inputs[index]
        # Cells have no axis of directions, which ONNX requires.
        if self.op.rank(index) == (1 if index == self.first + 2 else 2):
            name = _unsqueezed(self.graph, name)
        return self._joined(name, self.kind.gates) if len(self.kind.gates) == 4 else name

    def _joined(self, name: str, order: Sequence[int | None]) -> str:
        """Return gates in another order, None for one of zeros."""
        hidden, count = self._hidden(), max(place for place in order if place is not None) + 1
        zeros = np.zeros((self.directions, hidden), as_dtype(self.op.dtype()))
        constant = self.graph.initialisers.get(name)
        if constant is not None:
            pieces = np.split(constant, count, axis=1)
            return self.graph.constant(
                np.concatenate([zeros if i is None else pieces[i] for i in order], axis=1), name=name
            )
        names = operators.split(self.graph, name, [hidden] * count, 1) if count > 1 else (name,)
        return self.graph.node(
            "Concat", *(self.graph.constant(zeros) if i is None else names[i] for i in order), axis=1
        )

    def _biases(self) -> str:
        """Return biases of the input and of the state; an IR has their sum, except in the last gate of a linear GRU."""
        if not self.op.has(self.first + 2):
            return ""
        name = self.op.inputs[self.first + 2]
        name = _unsqueezed(self.graph, name) if self.op.rank(self.first + 2) == 1 else name
        # In a linear GRU, the reset gate multiplies the recurrent sum of the last gate together with its bias.
        apart = (None, None, 3) if self._is_linear() else (None,) * len(self.kind.gates)
        return self._joined(name, (*self.kind.gates, *apart))


def _unsqueezed(graph: Graph, name: str) -> str:
    """Add an axis in front; a constant gets it at once."""
    if name in graph.initialisers:
        return graph.constant(graph.initialisers[name][None], name=name)
    return operators.unsqueeze(graph, name, [0])


def _cell(kind: _Kind) -> Callable[[Graph, Op], tuple[str, ...]]:
    def emit(graph: Graph, op: Op) -> tuple[str, ...]:
        steps = _Recurrence(graph=graph, op=op, kind=kind, first=1 + kind.states)
        # A cell is a sequence of one step.
        x, *states = (operators.unsqueeze(graph, name, [0]) for name in op.inputs[: 1 + kind.states])
        return tuple(operators.squeeze(graph, last, [0]) for last in steps.node(x, "", states)[1:])

    return emit


def _sequence(kind: _Kind) -> Callable[[Graph, Op], tuple[str, ...]]:
    def emit(graph: Graph, op: Op) -> tuple[str, ...]:
        direction = op.word("direction", _DIRECTIONS)
        count = 2 if direction == "bidirectional" else 1
        steps = _Recurrence(graph=graph, op=op, kind=kind, first=2 + kind.states, directions=count)
        x, *states = (operators.transposed(graph, name, _TIME_FIRST) for name in op.inputs[: 1 + kind.states])
        every, *last = steps.node(x, _lengths(graph, op, 1 + kind.states), states, direction)
        ends = (operators.transposed(graph, state, _TIME_FIRST) for state in last)
        # An IR has the batch first: [batch, directions, time, hidden].
        return operators.transposed(graph, every, (2, 1, 0, 3)), *ends

    return emit


def _lengths(graph: Graph, op: Op, index: int) -> str:
    """Return the lengths of sequences; none if all are as long as the input."""
    shape, value = op.shape(), op.value(index)
    if value is not None and shape is not None and np.all(value == (shape[1] or -1)):
        return ""
    if is_whole(op.net, op.layer, index, data=0, axis=1):
        return ""
    return op.inputs[index] if op.dtype(index) == "int32" else operators.cast(graph, op.inputs[index], "int32")


def _ctc(graph: Graph, op: Op) -> NodeTensor:
    """Decode [time, batch, classes]; the last class is blank, and a mask ends each sequence where it is first 0."""
    steps, _, classes = op.lengths()
    best = _best(graph, op).transposed(1, 0)
    # A sequence has ended at its first 0, whatever follows.
    mask = operand(graph, op, 1).cast("float32").transposed(1, 0)
    ended = mask == 0
    lengths = node("CumSum", ended.cast("int32"), mask.of(1, "int64")) == 0
    flags = op.flag("ctc_merge_repeated", True)
    rows, _ = _packed(best, lengths, best.of(classes - 1), steps, merge=flags)
    return rows.cast(op.result_dtype()).unsqueeze(2, 3)


def _ctc_with_lengths(graph: Graph, op: Op) -> tuple[NodeTensor, ...]:
    """Decode [batch, time, classes]; sequences have lengths, and the blank class may be any."""
    _, steps, classes = op.lengths()
    lengths = operand(graph, op, 1).cast("int64").unsqueeze(1)
    within = lengths.of(np.arange(steps)[None]) < lengths
    blank = tensor(graph, layers.int64(graph, op, 2) if op.has(2) else graph.ints([classes - 1]), "int64")
    packed = _packed(_best(graph, op), within, blank, steps, merge=op.flag("merge_repeated", True))
    return tuple(as_type(output, op.result_dtype(index)) for index, output in enumerate(packed))


def _best(graph: Graph, op: Op) -> NodeTensor:
    return node("ArgMax", operand(graph, op), dtype="int64", axis=2, keepdims=0)


def _packed(
    best: NodeTensor, within: NodeTensor, blank: NodeTensor, steps: int, *, merge: bool
) -> tuple[NodeTensor, NodeTensor]:
    """Return the classes of each row that count, moved to its front, with -1 behind them, and their number."""
    counts = within & ~(best == blank)
    if merge and steps > 1:
        later, earlier = cut(best, 1, steps, 1), cut(best, 0, steps - 1, 1)
        changed = ~(later == earlier)
        first = cut(best == best, 0, 1, 1)
        counts = counts & joined([first, changed], 1)
    numbers = counts.cast("int64")
    # TopK of ones and zeros moves the ones to the front, in order: equal values keep their places in ONNX.
    order = numbers.like(numbers.ops.graph.outputs(2, "TopK", numbers.value, numbers.of([steps]).value, axis=1)[1])
    minus = best.of(-1)
    rows = node("GatherElements", counts.where(best, minus), order, axis=1)
    return rows, reduction("ReduceSum", numbers, 1, keep=False)


def _gather_tree(graph: Graph, op: Op) -> str:
    """Read every beam from its last step to its first; steps after its end are the end token."""
    dtype = op.dtype()
    parents = layers.int64(graph, op, 1, vector=False)
    end = graph.node("Reshape", op.inputs[3], graph.ints([1]))
    shape = graph.node("Shape", op.inputs[0])
    steps, batch, width = (operators.cut(graph, shape, [i], [i + 1], [0]) for i in range(3))
    zero, one = (operators.scalar(graph, number, "int64") for number in (0, 1))
    beams = graph.node("Range", zero, operators.squeeze(graph, width, [0]), one)
    output = graph.node("Expand", beams, graph.node("Concat", batch, width, axis=0))
    longest = operators.unsqueeze(graph, layers.int64(graph, op, 2), [1])
    body = _step(graph, op, parents, steps, longest, end)
    _, rows = graph.outputs(2, "Loop", operators.squeeze(graph, steps, [0]), "", output, body=body)
    # The loop goes from the last step to the first, so its rows are reversed.
    beam = operators.cut(graph, rows, [operators.END], [-operators.END], [0], [-1])
    ended = operators.cast(graph, graph.node("Equal", beam, end), "int32")
    before = graph.node("CumSum", ended, zero, exclusive=1)
    is_over = graph.node("Greater", before, operators.scalar(graph, 0, "int32"))
    beams_at = graph.node("Where", is_over, end, beam)
    return beams_at if op.result_dtype() == dtype else operators.cast(graph, beams_at, op.result_dtype())


def _step(graph: Graph, op: Op, parents: str, steps: str, longest: str, end: str) -> onnx.GraphProto:
    """Return the body: from the beam of each place, the tokens of a level and the beams of the level before."""
    inner, name = graph.inner(), op.layer.name
    number, going, beam = (inner.fresh(f"{name}/{part}") for part in ("step", "going", "beam"))
    following = inner.node("Add", number, operators.scalar(inner, 1, "int64"))
    level = inner.node("Sub", steps, following)
    token, parent = (
        inner.node("GatherElements", _row(inner, source, level), beam, axis=1) for source in (op.inputs[0], parents)
    )
    is_in = inner.node("Less", level, longest)
    outputs = [
        inner.node("Identity", going),
        inner.node("Where", is_in, parent, beam),
        inner.node("Where", is_in, token, end),
    ]
    inputs = [value_info(number, "int64", ()), value_info(going, "bool", ()), value_info(beam, "int64", (None, None))]
    kinds = ("bool", ()), ("int64", (None, None)), (op.dtype(), (None, None))
    ends = [value_info(tensor, *kind) for tensor, kind in zip(outputs, kinds, strict=True)]
    return inner.proto(f"{name}/body", inputs, ends)


def _row(graph: Graph, x: str, level: str) -> str:
    return operators.squeeze(graph, graph.node("Gather", x, level, axis=0), [0])


TABLE = {
    **{f"{name}Cell": _cell(kind) for name, kind in _KINDS.items()},
    **{f"{name}Sequence": _sequence(kind) for name, kind in _KINDS.items()},
    "CTCGreedyDecoder": _ctc,
    "CTCGreedyDecoderSeqLen": _ctc_with_lengths,
    "GatherTree": _gather_tree,
}
