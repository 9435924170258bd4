"""Recurrent cells and sequences; a cell is a sequence of one step."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ir_interp.errors import ReadError

from ...onnx import operators
from ...onnx.graph import Graph
from ...onnx.operators import as_dtype
from .. import whole_lengths
from ..layer import Op

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
        text = self.op.text("activations")
        names = tuple(word.strip().lower() for word in text.split(",")) if text else self.kind.activations
        unknown = [name for name in names if name not in _ACTIVATIONS]
        if unknown:
            raise self.op.refusal(f"activation {unknown[0]!r} is not run by OpenVINO's CPU plugin")
        activations = [_ACTIVATIONS[name] for name in names] * self.directions
        return None if names == self.kind.activations else activations

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
    if whole_lengths.is_whole(op.net, op.layer, index, data=0, axis=1):
        return ""
    return op.inputs[index] if op.dtype(index) == "int32" else operators.cast(graph, op.inputs[index], "int32")


TABLE = {
    **{f"{name}Cell": _cell(kind) for name, kind in _KINDS.items()},
    **{f"{name}Sequence": _sequence(kind) for name, kind in _KINDS.items()},
}
