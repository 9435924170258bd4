"""``--target`` for every source that becomes ONNX: the same as two conversions, in one."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

import ir_interp
from tests.openvino.test_ir_to_ir import net
from tests.support.graphs import assert_equal, onnxruntime_outputs, openvino_outputs, values
from tests.support.places import SAMPLES


@pytest.mark.parametrize("call", ["nearest", "linear", "antialias"])
@pytest.mark.parametrize("target", ["tensorrt", "opencv-dnn", "any"])
def test_an_ir_for_a_target(call: str, target: str, tmp_path: Path) -> None:
    source = net(tmp_path / "a.xml", call)
    ir_interp.convert(source, tmp_path / "one.onnx", target=target, verify=False)
    ir_interp.convert(source, tmp_path / "plain.onnx", verify=False)
    ir_interp.convert(tmp_path / "plain.onnx", tmp_path / "two.onnx", target=target, verify=False)
    one, two = (onnx.load(tmp_path / name) for name in ("one.onnx", "two.onnx"))
    assert [node.op_type for node in one.graph.node] == [node.op_type for node in two.graph.node]
    assert one.opset_import == two.opset_import
    x = values(1, 3, 9, 10)
    (expected,) = openvino_outputs(source, {"x": x})
    (actual,) = onnxruntime_outputs(tmp_path / "one.onnx", {"x": x})
    assert_equal(actual, expected)
    assert {row.code for row in ir_interp.audit(tmp_path / "one.onnx", runtimes=["tensorrt"]).findings} <= {"IRI031"}


def test_a_row_tells_both_steps(tmp_path: Path) -> None:
    source = net(tmp_path / "a.xml", "antialias")
    (row,) = ir_interp.convert(source, tmp_path / "b.onnx", target="tensorrt").rows
    (op,) = ir_interp.load(source)
    assert (row.name, row.source.spec) == ("up", op.spec)
    assert "Resize" not in [node.op_type for node in onnx.load(tmp_path / "b.onnx").graph.node]


def test_a_layer_for_a_target(tmp_path: Path) -> None:
    source = SAMPLES / "pyramid_nearest" / "tensorrt.json"
    ir_interp.convert(source, tmp_path / "a.onnx", target="any")
    (op,) = ir_interp.load(source)
    (name,) = (value.name for value in onnx.load(tmp_path / "a.onnx").graph.input)
    x = values(*(size or 1 for size in op.shape or ()))
    (actual,) = onnxruntime_outputs(tmp_path / "a.onnx", {name: x})
    assert_equal(actual, op.run(x), copied=True)


def test_half_precision_is_stored_once(tmp_path: Path) -> None:
    source = net(tmp_path / "a.xml", "linear")
    ir_interp.convert(source, tmp_path / "a.onnx", target="tensorrt", fp16=True)
    weights = [each for each in onnx.load(tmp_path / "a.onnx").graph.initializer if list(each.dims) == [6, 3, 1, 1]]
    assert [each.data_type for each in weights] == [onnx.TensorProto.FLOAT16]
