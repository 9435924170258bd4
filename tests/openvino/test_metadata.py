"""What a model says of itself, from IR to ONNX and back, and the other way round."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import openvino as ov
import pytest
from openvino import opset13 as ops

import ir_interp
from tests.support.graphs import save_model


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def props(path: Path | str) -> dict[str, str]:
    return {each.key: each.value for each in onnx.load(str(path)).metadata_props}


def test_an_ir_and_back() -> None:
    x = ops.parameter([1, 3, 4, 4], np.float32, name="x")
    x.output(0).set_names({"image", "picture"})
    x.set_layout(ov.Layout("NCHW"))
    y = ops.relu(x)
    y.output(0).set_names({"y", "map"})
    model = ov.Model([ops.result(y)], [x], "a net")
    model.set_rt_info("cat dog", ["model_info", "labels"])
    model.set_rt_info("8.0", ["runtime_options", "ACTIVATIONS_SCALE_FACTOR"])
    ov.save_model(model, "a.xml")
    ir_interp.convert("a.xml", "b.onnx")
    assert props("b.onnx") == {
        "model_info.labels": "cat dog",
        "runtime_options.ACTIVATIONS_SCALE_FACTOR": "8.0",
        "layouts": '{"image": "[N,C,H,W]"}',
        "tensor_names": '{"image": ["picture"], "map": ["y"]}',
    }
    ir_interp.convert("b.onnx", "c.xml")
    back = ov.Core().read_model("c.xml")
    assert back.friendly_name == "a net"
    assert (back.inputs[0].names, back.outputs[0].names) == ({"image", "picture"}, {"map", "y"})
    assert back.inputs[0].node.layout == ov.Layout("[N,C,H,W]")
    assert back.get_rt_info(["model_info", "labels"]).value == "cat dog"
    assert back.get_rt_info(["runtime_options", "ACTIVATIONS_SCALE_FACTOR"]).value == "8.0"


def test_an_onnx_model_and_back() -> None:
    """Characters that XML does not hold are replaced, else the IR could not be read; wrong layouts are left out."""
    model = onnx.load(str(save_model(Path("a.onnx"), "shapes (float[1,2] x) => (float[1,2] y) { y = Relu (x) }")))
    model.doc_string = "What it is for\n<and> why\x01"
    told = {"stride": "32", "model_info.labels": "cat", "model_info": "none", "layouts": '{"x": "NCHW", "z": 3}'}
    told["tensor_names"] = "[]"
    onnx.helper.set_model_props(model, told)
    onnx.save(model, "a.onnx")
    ir_interp.convert("a.onnx", "b.xml")
    ir_interp.convert("b.xml", "c.onnx")
    back = onnx.load("c.onnx")
    assert (back.graph.name, back.doc_string) == ("shapes", "What it is for\n<and> why\ufffd")
    assert props("c.onnx") == {"stride": "32", "model_info.labels": "cat", "model_info": "none"}
