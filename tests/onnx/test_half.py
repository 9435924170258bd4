"""``--fp16`` to .onnx: weights in half precision, those of resizes in full."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from ir_interp.converters.onnx.onnx_graph import MIN_ELEMENTS, halve
from tests.support.commands import command
from tests.support.graphs import save_model

NET = """g (float[1,4,20,30] x) => (float[1,4,k,l] y) <float[4] s = {1,1,0.7,0.6}> {
    a = Conv <pads = [1,1,1,1]> (x, w)
    b = Resize <mode = "linear", ATTRIBUTE> (a, "", s)
    y = Relu (b) }"""


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def save_net(attribute: str) -> None:
    save_model(Path("a.onnx"), NET.replace("ATTRIBUTE", attribute))
    model = onnx.load("a.onnx")
    weights = np.random.default_rng(0).normal(size=(4, 4, 3, 3)).astype(np.float32)
    model.graph.initializer.append(numpy_helper.from_array(weights, "w"))
    onnx.save(model, "a.onnx")


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("way", "attribute"),
    [
        (("a.onnx", "b.onnx", "--target", "openvino"), "antialias = 0"),
        (("a.onnx", "b.onnx", "--target", "openvino"), "antialias = 1"),
        (("a.xml", "b.onnx"), "antialias = 0"),
    ],
)
def test_weights_become_half_and_resizes_stay(
    way: tuple[str, ...], attribute: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """One of them becomes a subgraph with weights of its own."""
    save_net(attribute)
    assert command(capsys, "convert", "a.onnx", "a.xml", "-q")[0] == 0
    code, _, errors = command(capsys, "convert", *way, "--fp16")
    assert (code, errors) == (0, "")
    made = onnx.load("b.onnx")
    onnx.checker.check_model(made, full_check=True)
    halves = [each for each in made.graph.initializer if each.data_type == onnx.TensorProto.FLOAT16]
    assert [tuple(each.dims) for each in halves] == [(4, 4, 3, 3)]
    assert command(capsys, "compare", "a.onnx", "b.onnx", "--tolerance", "1e-2", "-q")[0] == 0


def test_what_stays() -> None:
    """Small constants, inputs with defaults, what half precision does not hold, and what is named."""
    values: dict[str, Any] = {
        "few": np.ones(MIN_ELEMENTS - 1, np.float32),
        "many": np.ones(MIN_ELEMENTS, np.float32),
        "large": np.full(MIN_ELEMENTS, 70000, np.float32),
        "whole": np.ones(MIN_ELEMENTS, np.int64),
        "exact": np.ones(MIN_ELEMENTS, np.float32),
        "given": np.ones(MIN_ELEMENTS, np.float32),
    }
    ends = [helper.make_tensor_value_info(name, 1, [MIN_ELEMENTS]) for name in ("given", "y")]
    node = helper.make_node("Add", ["many", "given"], ["y"])
    tensors = [numpy_helper.from_array(value, name) for name, value in values.items()]
    model = helper.make_model(helper.make_graph([node], "g", ends[:1], ends[1:], tensors))
    halve(model, {"exact"})
    assert [each.name for each in model.graph.initializer if each.data_type == onnx.TensorProto.FLOAT16] == [
        "many/float16"
    ]
    assert [(each.op_type, *each.input, *each.output) for each in model.graph.node] == [
        ("Cast", "many/float16", "many"),
        ("Add", "many", "given", "y"),
    ]


def test_weights_in_other_files_stay_there(capsys: pytest.CaptureFixture[str]) -> None:
    save_net("antialias = 0")
    model = onnx.load("a.onnx")
    onnx.save_model(model, "c.onnx", save_as_external_data=True, location="c.data", size_threshold=0)
    code, _, errors = command(capsys, "convert", "c.onnx", "b.onnx", "--target", "tensorrt", "--fp16")
    assert (code, errors) == (2, "error: --fp16 is not supported for c.onnx, whose weights stay in c.data\n")
    assert not Path("b.onnx").exists()
