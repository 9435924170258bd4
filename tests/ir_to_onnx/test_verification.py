"""A conversion of an IR that is wrong is caught, its first wrong layer named, and no file is left."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov
import pytest
from openvino import opset13 as ops

import ir_interp
from ir_interp import VerificationError
from ir_interp.cli.main import main
from ir_interp.converters.ir_to_onnx import integer_layers
from ir_interp.converters.ir_to_onnx.layers import Op
from ir_interp.converters.ir_to_onnx.onnx_model import EMITTERS
from ir_interp.converters.onnx.onnx_graph import Graph
from tests.support.layers import constant
from tests.support.quantised import CHANNELS, convolved, quantised, saved


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Return a model in which an Elu and a SoftPlus stand among layers without parameters of their own."""
    x = ops.parameter([1, 3, 8, 8], np.float32, name="x")
    y: Any = x
    for index in range(3):
        weights = constant(np.random.default_rng(index).normal(size=(3, 3, 3, 3)), np.float32)
        y = ops.convolution(y, weights, [1, 1], [1, 1], [1, 1], [1, 1])
        y = ops.elu(y, 0.5) if index == 1 else ops.tanh(y)
        y.set_friendly_name(f"act{index}")
    ov.save_model(ov.Model([ops.softplus(y)], [x], "net"), tmp_path / "net.xml", compress_to_fp16=False)
    return tmp_path / "net.xml"


def _break(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make Elu halve its slope."""

    def wrong(graph: Graph, op: Op) -> str:
        return graph.node("Elu", op.inputs[0], alpha=op.real("alpha") / 2)

    monkeypatch.setitem(EMITTERS, "elu", wrong)


def test_the_first_layer_that_differs_is_named(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _break(monkeypatch)
    before = sorted(source.parent.iterdir())
    with pytest.raises(VerificationError) as failure:
        ir_interp.convert(source, source.with_suffix(".onnx"))
    assert " to 'act1' is the first that differs on the source's own values: it differs by " in str(failure.value)
    assert str(failure.value).endswith("; nothing was written")
    assert sorted(source.parent.iterdir()) == before


def test_the_command_line_says_so(
    source: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _break(monkeypatch)
    before = sorted(source.parent.iterdir())
    assert main(["convert", str(source), str(source.with_suffix(".onnx"))]) == 1
    printed, errors = capsys.readouterr()
    assert printed == ""
    (said,) = errors.splitlines()
    assert said.startswith("error: output ")
    assert " to 'act1' is the first that differs on the source's own values: it differs by " in said
    assert sorted(source.parent.iterdir()) == before


def test_a_right_conversion_passes(source: Path) -> None:
    verification = ir_interp.convert(source, source.with_suffix(".onnx")).verification
    assert verification is not None
    assert all(each.absolute < 1e-5 < each.limit for each in verification.outputs)


def test_an_ir_that_does_not_run_proves_nothing(tmp_path: Path) -> None:
    x = ops.parameter(ov.PartialShape([-1, 3]), np.float32, name="x")
    y = ops.add(x, constant(np.ones((2, 3)), np.float32))
    ov.save_model(ov.Model([ops.reshape(y, constant([2, 3], np.int64), False)], [x], "net"), tmp_path / "net.xml")
    with pytest.raises(
        VerificationError, match=r"^net\.xml does not run: .*; nothing was written; verify=False writes"
    ):
        ir_interp.convert(tmp_path / "net.xml", tmp_path / "net.onnx", shapes={"x": (5, 3)})
    assert not (tmp_path / "net.onnx").exists()


@pytest.mark.long
def test_a_wrong_place_of_a_pool_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is pooled before it is rounded ends a segment behind the pool."""
    x = ops.parameter([1, CHANNELS, 12, 12], np.float32, name="x")
    y = ops.max_pool(quantised(ops.tanh(x), -1, 127 / 128), [1, 1], [1, 1], [0, 0], [0, 0], [3, 3]).output(0)
    source = saved(tmp_path, quantised(convolved(y, False), 0, 3), x)
    right = integer_layers.in_floats

    def wrong(graph: Graph, tensor: str) -> str:
        return right(graph, graph.node("Mul", tensor, graph.constant(np.float32(1.01))))

    monkeypatch.setattr(integer_layers, "in_floats", wrong)
    with pytest.raises(VerificationError, match="is the first that differs: "):
        ir_interp.convert(source, tmp_path / "a.onnx")
