"""Weights of few bits stay so: DequantizeLinear, for one scale, one of each channel, or one of each block."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import openvino as ov
import pytest
from openvino import opset13 as ops

import ir_interp
from tests.support.layers import Configuration, Draw, check, configurations, layer

_LIMITS = {"i8": (-128, 127), "u8": (0, 255), "i4": (-8, 7), "u4": (0, 15)}


def packed(values: Any, kind: str) -> Any:
    """Return a constant of a type that NumPy may not have."""
    if kind in ("i8", "u8"):
        return ops.constant(values.astype(np.int8 if kind == "i8" else np.uint8))
    flat = (values.ravel() & 15).astype(np.uint8)
    flat = np.append(flat, np.zeros(flat.size % 2, np.uint8))
    pairs = np.ascontiguousarray(flat[::2] | flat[1::2] << 4)
    made = ov.Tensor(getattr(ov.Type, kind), list(values.shape))
    made.data[...] = pairs.reshape(made.data.shape)
    return ops.constant(made)


def compressed(draw: Draw, shape: list[int], scales: list[int], kind: str) -> Any:
    """Return (values - zero) * scale as NNCF writes it, in half precision or not."""
    half = draw.among("f16", "f32")
    low, high = _LIMITS[kind]
    values = draw.values(shape, np.int32, low, high)
    x: Any = ops.convert(packed(values, kind), half)
    if draw.chance():
        zero = packed(draw.values(scales, np.int32, max(low, -4), min(high, 5)), kind)
        x = ops.subtract(x, ops.convert(zero, half))
    scale = draw.values(scales, np.float32, 0.01, 0.1)
    x = ops.multiply(x, ops.constant(scale.astype(np.float16 if half == "f16" else np.float32)))
    return x, half


def matrix(kinds: tuple[str, ...], grouped: bool) -> Configuration:
    """Blocks of other lengths than powers of two, and scales along what is summed up, the CPU plugin gets wrong."""

    def draw_layer(draw: Draw) -> Any:
        kind, rows, groups, size = draw.among(*kinds), draw.between(2, 5), draw.between(2, 4), draw.among(2, 4, 8)
        shape = [rows, groups, size] if grouped else [rows, groups * size]
        scales = [rows, groups, 1] if grouped else draw.among([rows, 1], [1, 1])
        weights, half = compressed(draw, shape, scales, kind)
        if grouped:
            weights = ops.reshape(weights, ops.constant([rows, groups * size]), False)
        weights = ops.convert(weights, "f32") if half == "f16" else weights
        if not grouped and scales[0] > 1 and draw.chance(0.3):
            indices = draw.input(draw.values([2, 3], np.int64, 0, rows - 1))
            return ops.gather(weights, indices, ops.constant(0))
        x = draw.numbers([3, groups * size])
        return layer("MatMul", 1, x, weights, transpose_a=False, transpose_b=True)

    return draw_layer


def kernel(draw: Draw) -> Any:
    rows, columns = draw.integers(2, 2, 4)
    weights, half = compressed(draw, [rows, columns, 3, 3], [rows, 1, 1, 1], draw.among("i8", "u8"))
    weights = ops.convert(weights, "f32") if half == "f16" else weights
    zeros = {name: [0, 0] for name in ("pads_begin", "pads_end")}
    return layer("Convolution", 1, draw.numbers([1, columns, 5, 6]), weights, strides=[1, 1], dilations=[1, 1], **zeros)


def looked_up(draw: Draw) -> Any:
    """Weights of nf4, which stand for numbers of a table; in blocks or not, in half precision or not."""
    rows, blocks, size = draw.between(2, 5), draw.between(2, 4), draw.among(3, 8)
    half = draw.among(np.float16, np.float32)
    codes = packed(draw.values([rows, blocks, size], np.int32, 0, 15), "nf4")
    x = ops.multiply(ops.convert(codes, half), ops.constant(draw.values([rows, blocks, 1], half, 0.1, 1)))
    weights = ops.reshape(x, ops.constant([rows, blocks * size]), False)
    weights = ops.convert(weights, "f32") if half is np.float16 else weights
    return layer("MatMul", 1, draw.numbers([3, blocks * size]), weights, transpose_a=False, transpose_b=True)


TABLE: dict[str, Configuration] = {
    "nf4": looked_up,
    "8 bits": matrix(("i8", "u8"), grouped=False),
    "4 bits": matrix(("i4", "u4"), grouped=False),
    "4 bits in blocks": matrix(("i4", "u4"), grouped=True),
    "8 bits in blocks": matrix(("i8", "u8"), grouped=True),
    "kernel": kernel,
}


@pytest.mark.parametrize(("configuration", "seed"), configurations(TABLE))
def test_layer(configuration: Configuration, seed: int) -> None:
    check(configuration, seed)


@pytest.mark.parametrize("name", [each for each in TABLE if each not in ("kernel", "nf4")])
def test_weights_stay_small(name: str, tmp_path: Path) -> None:
    draw = Draw(1)
    model = ov.Model([ops.result(TABLE[name](draw))], draw.parameters, "one")
    ov.save_model(model, tmp_path / "one.xml", compress_to_fp16=False)
    ir_interp.convert(tmp_path / "one.xml", tmp_path / "one.onnx", verify=False)
    graph = onnx.load(tmp_path / "one.onnx").graph
    (node,) = (each for each in graph.node if each.op_type == "DequantizeLinear")
    held = {each.name: each for each in graph.initializer}
    values, scale, *zero = (held[each] for each in node.input)
    small = {onnx.TensorProto.INT8, onnx.TensorProto.UINT8, onnx.TensorProto.INT4, onnx.TensorProto.UINT4}
    assert {each.data_type for each in (values, *zero)} < small | {values.data_type}
    assert ("block_size" in {each.name for each in node.attribute}) == ("blocks" in name)
    floats = [each for each in held.values() if each.data_type == onnx.TensorProto.FLOAT]
    assert [each.name for each in floats] == [scale.name]


def test_weights_of_a_table_stay_small(tmp_path: Path) -> None:
    draw = Draw(1)
    model = ov.Model([ops.result(looked_up(draw))], draw.parameters, "one")
    ov.save_model(model, tmp_path / "one.xml", compress_to_fp16=False)
    ir_interp.convert(tmp_path / "one.xml", tmp_path / "one.onnx", verify=False)
    held = {each.data_type: list(each.dims) for each in onnx.load(tmp_path / "one.onnx").graph.initializer}
    rows, columns = model.get_output_partial_shape(0)[1].get_length(), draw.feeds["x0"].shape[1]
    assert int(np.prod(held[onnx.TensorProto.UINT4])) == rows * columns
    assert onnx.TensorProto.FLOAT16 not in held or int(np.prod(held[onnx.TensorProto.FLOAT16])) < rows * columns


@pytest.mark.parametrize("is_quantised", [False, True])
def test_a_report_names_what_onnxruntime_rounds_by_default(is_quantised: bool, tmp_path: Path) -> None:
    x = ops.parameter([3, 64], np.float32)
    ends = [ops.constant(np.float32(end)) for end in (-4, 4 * 127 / 128)]
    factor = ops.fake_quantize(x, *ends, *ends, 256) if is_quantised else x
    values = np.random.default_rng(0).integers(-128, 127, (32, 64)).astype(np.int8)
    weights = ops.multiply(ops.convert(ops.constant(values), "f32"), ops.constant(np.full((32, 1), 0.1, np.float32)))
    model = ov.Model([ops.matmul(factor, weights, False, True)], [x], "m")
    ov.save_model(model, tmp_path / "m.xml", compress_to_fp16=False)
    report = ir_interp.convert(tmp_path / "m.xml", tmp_path / "m.onnx", verify=False)
    note = (
        "compressed matrices: 1; by default onnxruntime rounds to 8 bits what they multiply; set "
        "session.qdq_matmulnbits_accuracy_level to 1 for float32, as in the verification"
    )
    assert (note in report.notes) == (not is_quantised)
