"""Recurrent cells and sequences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.layers import Configuration, Draw, check, configurations, layer

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


def attributes(draw: Draw, kind: str) -> dict[str, Any]:
    made: dict[str, Any] = {"linear_before_reset": draw.chance()} if kind == "GRU" else {}
    usual = {"LSTM": ["sigmoid", "tanh", "tanh"], "GRU": ["sigmoid", "tanh"], "RNN": ["tanh"]}[kind]
    others = [draw.among("sigmoid", "tanh", "relu") for _ in usual]
    return made | {"activations": draw.among(usual, others), "clip": draw.among(0.0, 0.0, 0.5, 2.0)}


def weights(draw: Draw, kind: str, lead: list[int], size: int, hidden: int, *, linear: bool) -> list[Any]:
    rows = GATES[kind] * hidden
    shapes = [[rows, size], [rows, hidden], [rows + hidden * linear]]
    values = [draw.values([*lead, *shape], low=-1, high=1) for shape in shapes]
    return [draw.either(each) for each in values]


def cell(kind: str, version: int) -> Configuration:
    def draw_layer(draw: Draw) -> Any:
        batch, size, hidden = draw.integers(3, 1, 5)
        stated = attributes(draw, kind)
        states = [draw.numbers([batch, hidden]) for _ in range(2 if kind == "LSTM" else 1)]
        linear = stated.get("linear_before_reset", False)
        inputs = [draw.numbers([batch, size]), *states, *weights(draw, kind, [], size, hidden, linear=linear)]
        return layer(f"{kind}Cell", version, *inputs, hidden_size=hidden, **stated)

    return draw_layer


def sequence(kind: str) -> Configuration:
    def draw_layer(draw: Draw) -> Any:
        batch, size, hidden = draw.integers(3, 1, 5)
        steps, direction = draw.between(1, 6), draw.among("forward", "reverse", "bidirectional")
        count, stated = 2 if direction == "bidirectional" else 1, attributes(draw, kind)
        states = [draw.numbers([batch, count, hidden]) for _ in range(2 if kind == "LSTM" else 1)]
        linear = stated.get("linear_before_reset", False)
        open_axes: list[int] = draw.among([], [0, 1])
        x = draw.input(draw.values([batch, steps, size]), open_axes=open_axes)
        lengths = np.full([batch], steps, np.int32)
        if not open_axes and draw.chance():  # where an axis is open, OpenVINO's CPU plugin does not regard lengths
            lengths = draw.values([batch], np.int32, 1, steps)
        following = weights(draw, kind, [count], size, hidden, linear=linear)
        inputs = [x, *states, draw.either(lengths), *following]
        return layer(f"{kind}Sequence", 5, *inputs, hidden_size=hidden, direction=direction, **stated)

    return draw_layer


TABLE: dict[str, Configuration] = {
    "LSTMCell-1": cell("LSTM", 1),
    "LSTMCell-4": cell("LSTM", 4),
    "GRUCell": cell("GRU", 3),
    "RNNCell": cell("RNN", 1),
    "LSTMSequence": sequence("LSTM"),
    "GRUSequence": sequence("GRU"),
    "RNNSequence": sequence("RNN"),
}


@pytest.mark.sampled(11)
@pytest.mark.parametrize(("configuration", "seed"), configurations(TABLE))
def test_layer(configuration: Configuration, seed: int) -> None:
    check(configuration, seed)
