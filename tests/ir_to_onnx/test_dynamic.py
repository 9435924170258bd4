"""Levels of a scale of run time: what OpenVINO spreads over many layers is one node again, and its products as well."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import openvino as ov
import pytest
from onnx import helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic
from openvino import opset13 as ops

import ir_interp
from ir_interp import VerificationError
from ir_interp.converters.ir_to_onnx import layer_passes, small_weights
from ir_interp.converters.onnx.onnx_graph import Graph
from tests.support.layers import in_onnxruntime, in_openvino
from tests.support.quantised import types, written

CHANNELS = 8


def quantised(folder: Path, weights: QuantType) -> Path:
    """Return convolutions and a product of matrices as onnxruntime quantises them."""
    random = np.random.default_rng(0)
    shapes = {"v": (CHANNELS, 3, 3, 3), "w": (CHANNELS, 1, 3, 3), "m": (CHANNELS, 5), "b": (CHANNELS,)}
    tensors = [numpy_helper.from_array(random.normal(size=s).astype(np.float32), n) for n, s in shapes.items()]
    nodes = [
        helper.make_node("Conv", ["x", "v", "b"], ["c"], pads=[1, 0, 1, 2], strides=[2, 1]),
        helper.make_node("Tanh", ["c"], ["d"]),
        helper.make_node("Conv", ["d", "w"], ["e"], group=CHANNELS),
        helper.make_node("Transpose", ["e"], ["f"], perm=[0, 2, 3, 1]),
        helper.make_node("MatMul", ["f", "m"], ["y"]),
    ]
    ends = [helper.make_tensor_value_info(name, 1, shape) for name, shape in (("x", [1, 3, 12, 12]), ("y", None))]
    graph = helper.make_graph(nodes, "net", ends[:1], ends[1:], tensors)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), folder / "f.onnx")
    quantize_dynamic(folder / "f.onnx", folder / "a.onnx", weight_type=weights)
    return folder / "a.onnx"


def as_ir(model: Path, *, half: bool = False) -> Path:
    path = model.with_suffix(".xml")
    ov.save_model(ov.convert_model(model), path, compress_to_fp16=half)
    return path


@pytest.mark.sampled(1)
@pytest.mark.parametrize("weights", [QuantType.QUInt8, QuantType.QInt8])
def test_the_model_that_it_was(tmp_path: Path, weights: QuantType) -> None:
    """Bit for bit, in no more nodes: but that a bias is no Reshape, and what constants make is one."""
    model = quantised(tmp_path, weights)
    verification = ir_interp.convert(as_ir(model), tmp_path / "b.onnx").verification
    assert verification is not None
    own, made = types(onnx.load(model)), types(onnx.load(tmp_path / "b.onnx"))
    for kind, count in (("DynamicQuantizeLinear", 3), ("ConvInteger", 2), ("MatMulInteger", 1)):
        assert made.count(kind) == own.count(kind) == count
    assert not {"Round", "ReduceMax", "Sub", "Conv", "MatMul"} & set(made)
    assert len(made) <= len(own)
    feeds = {"x": np.random.default_rng(1).normal(size=(1, 3, 12, 12)).astype(np.float32)}
    (wanted,), (got,) = (in_onnxruntime(each, feeds) for each in (model, tmp_path / "b.onnx"))
    assert np.array_equal(got, wanted)


def test_an_ir_in_half_precision(tmp_path: Path) -> None:
    """Its scale is the range times what half precision makes of 1 / 255."""
    source = as_ir(quantised(tmp_path, QuantType.QUInt8), half=True)
    assert ir_interp.convert(source, tmp_path / "b.onnx").verification is not None
    made = types(onnx.load(tmp_path / "b.onnx"))
    assert made.count("DynamicQuantizeLinear") == 3
    assert not {"Round", "ReduceMax"} & set(made)


def test_the_other_way_is_proven_too(tmp_path: Path) -> None:
    verification = ir_interp.convert(quantised(tmp_path, QuantType.QInt8), tmp_path / "b.xml").verification
    assert verification is not None


class _Spread:
    """The layers of a DynamicQuantizeLinear, with parts that may be others."""

    most = 255.0
    share = 255.0
    axes: tuple[int, ...] = (0, 1, 2, 3)
    least = 0.0

    def __call__(self, x: Any) -> Any:
        def number(value: float) -> Any:
            return ops.constant(np.float32(value))

        axes = ops.constant(np.array(self.axes, np.int64))
        largest = ops.maximum(number(0), ops.reduce_max(x, axes, False))
        low = ops.minimum(number(self.least), ops.reduce_min(x, ops.constant(np.arange(4)), False))
        span = ops.subtract(largest, low)
        scale = ops.multiply(span, number(1 / self.share))
        place = ops.round(ops.divide(ops.subtract(number(0), low), scale), "half_to_even")
        zero = ops.convert(ops.clamp(place, 0.0, self.most), "u8")
        count = ops.round(ops.divide(ops.multiply(x, number(255)), span), "half_to_even")
        levels = ops.convert(ops.clamp(ops.add(count, ops.convert(zero, "f32")), 0.0, 255.0), "u8")
        whole = ops.subtract(ops.convert(levels, "i32"), ops.convert(zero, "i32"))
        return ops.multiply(ops.convert(whole, "f32"), scale)


@pytest.mark.parametrize(
    ("changed", "is_one"), [({}, True), ({"most": 254.0}, False), ({"share": 254.0}, False), ({"least": -1.0}, False)]
)
def test_what_is_nearly_one_stays_arithmetic(tmp_path: Path, changed: dict[str, float], is_one: bool) -> None:
    spread = _Spread()
    vars(spread).update(changed)
    x = ops.parameter([1, 3, 8, 8], np.float32, name="x")
    ov.save_model(ov.Model([spread(x)], [x], "net"), tmp_path / "a.xml", compress_to_fp16=False)
    made = types(written(tmp_path / "a.xml"))
    assert ("DynamicQuantizeLinear" in made) == is_one
    feeds = {"x": np.random.default_rng(2).normal(size=(1, 3, 8, 8)).astype(np.float32)}
    (mine,), (theirs,) = in_openvino(str(tmp_path / "a.xml"), feeds), in_onnxruntime(tmp_path / "a.onnx", feeds)
    assert np.abs(mine - theirs).max() < 1e-5


def test_the_largest_of_each_channel_is_none_of_all(tmp_path: Path) -> None:
    spread = _Spread()
    spread.axes = (0, 1, 2)
    x = ops.parameter([1, 3, 8, 8], np.float32, name="x")
    ov.save_model(ov.Model([spread(x)], [x], "net"), tmp_path / "a.xml", compress_to_fp16=False)
    assert "DynamicQuantizeLinear" not in types(written(tmp_path / "a.xml"))


def product(low: int, high: int, folder: Path, *, zero: int = 3, is_turned: bool = False) -> tuple[list[str], Path]:
    """Return the nodes of a product of bytes less a zero point and weights within limits."""
    x = ops.parameter([4, 6], np.uint8, name="x")
    weights = np.random.default_rng(0).integers(low, high + 1, (5, 6) if is_turned else (6, 5)).astype(np.int32)
    weights.flat[:2] = low, high
    whole = ops.subtract(ops.convert(x, "i32"), ops.constant(np.int32(zero)))
    y = ops.convert(ops.matmul(whole, ops.constant(weights), False, is_turned), "f32")
    ov.save_model(ov.Model([y], [x], "net"), folder / "a.xml", compress_to_fp16=False)
    return types(written(folder / "a.xml")), folder / "a.onnx"


@pytest.mark.parametrize(
    ("low", "high", "zero", "is_one"),
    [
        (-128, 127, 3, True),
        (-60, 195, 255, True),
        (0, 255, 0, True),
        (-200, 200, 3, False),
        (1, 256, 3, False),
        (-128, 127, 256, False),
        (-128, 127, -1, False),
    ],
)
@pytest.mark.parametrize("is_turned", [False, True])
def test_products_of_bytes(tmp_path: Path, low: int, high: int, zero: int, is_one: bool, is_turned: bool) -> None:
    made, path = product(low, high, tmp_path, zero=zero, is_turned=is_turned)
    assert ("MatMulInteger" in made) == is_one
    feeds = {"x": np.random.default_rng(2).integers(0, 256, (4, 6)).astype(np.uint8)}
    (mine,), (theirs,) = in_openvino(str(path.with_suffix(".xml")), feeds), in_onnxruntime(path, feeds)
    assert np.array_equal(mine, theirs)


@pytest.mark.long
def test_a_wrong_scale_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    right = layer_passes.emit_dynamic

    def wrong(graph: Graph, op: Any) -> tuple[str, ...]:
        levels, scale, zero = right(graph, op)
        return levels, graph.node("Mul", scale, graph.constant(np.float32(1.001))), zero

    monkeypatch.setattr(layer_passes, "emit_dynamic", wrong)
    with pytest.raises(VerificationError, match="differs"):
        ir_interp.convert(as_ir(quantised(tmp_path, QuantType.QInt8)), tmp_path / "b.onnx")


@pytest.mark.parametrize("hidden", [pytest.param(False, marks=pytest.mark.long), True])
def test_wrong_levels_are_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hidden: bool) -> None:
    """A third of them is off by one, and does not lie at the edge between two; whatever the node reads."""

    def wrong(graph: Graph, op: Any) -> tuple[str, ...]:
        op.real("share")
        scale = graph.outputs(3, "DynamicQuantizeLinear", op.inputs[0])[1]
        third = graph.node("Mul", scale, graph.constant(np.float32(1 / 3)))
        moved = graph.outputs(3, "DynamicQuantizeLinear", graph.node("Add", op.inputs[0], third))
        levels = moved[0] if hidden else graph.node("Identity", moved[0])
        return levels, *moved[1:]

    monkeypatch.setattr(layer_passes, "emit_dynamic", wrong)
    with pytest.raises(VerificationError, match="differs"):
        ir_interp.convert(as_ir(quantised(tmp_path, QuantType.QInt8)), tmp_path / "b.onnx")


@pytest.mark.long
def test_a_wrong_product_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    right = small_weights._counted
    monkeypatch.setattr(small_weights, "_counted", lambda graph, values: right(graph, values + 1))
    with pytest.raises(VerificationError, match="is the first that differs"):
        ir_interp.convert(as_ir(quantised(tmp_path, QuantType.QInt8)), tmp_path / "b.onnx")
