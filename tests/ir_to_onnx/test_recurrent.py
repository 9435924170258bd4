"""Recurrent cells and sequences."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import openvino
import pytest

import ir_interp
from tests.support.graphs import save_model
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
        stated["activations"] = stated["activations"] * draw.among(1, count)
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


@pytest.mark.parametrize(
    ("kind", "activations"),
    [("LSTM", ["Sigmoid", "Tanh", "Tanh", "Sigmoid", "Relu", "Tanh"]), ("RNN", ["Tanh", "Relu"])],
)
def test_directions_with_different_activations_are_refused(kind: str, activations: list[str], tmp_path: Path) -> None:
    """OpenVINO's CPU plugin gives both directions those of the first."""
    rows, listed = 2 * GATES[kind], ", ".join(f'"{name}"' for name in activations)
    graph = f"""g (float[4,1,3] x, float[2,{rows},3] w, float[2,{rows},2] r) => (float[4,2,1,2] y) {{
        y = {kind} <hidden_size = 2, direction = "bidirectional", activations = [{listed}]> (x, w, r)
    }}"""
    save_model(tmp_path / "net.onnx", graph, opset=17)
    openvino.save_model(openvino.Core().read_model(tmp_path / "net.onnx"), tmp_path / "net.xml")
    with pytest.raises(ExceptionGroup, match="cannot become ONNX") as refusals:
        ir_interp.convert(tmp_path / "net.xml", tmp_path / "back.onnx")
    assert "the same for each direction" in str(refusals.value.exceptions[0])
