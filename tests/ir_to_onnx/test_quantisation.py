"""Quantised IRs: integers in ONNX, which onnxruntime multiplies as such."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import openvino as ov
import pytest
from openvino import opset13 as ops

from ir_interp.converters.ir_to_onnx import write
from ir_interp.translation.dialect import Semantics
from tests.support.layers import in_onnxruntime, in_openvino

_CHANNELS = 8
_OF_CHANNELS = np.linspace(0.5, 2, _CHANNELS, dtype=np.float32).reshape(1, -1, 1, 1)


def quantised(x: Any, low: Any, high: Any, levels: int = 256) -> Any:
    bounds = [ops.constant(np.asarray(each, np.float32)) for each in (low, high)]
    return ops.fake_quantize(x, *bounds, *bounds, levels)


def convolved(
    x: Any,
    grouped: bool,
    *,
    ends_in_relu: bool = True,
    channels: float = 1,
    pads: Sequence[int] = (1, 1, 1, 1),
    strides: Sequence[int] = (1, 1),
) -> Any:
    random = np.random.default_rng(0)
    shape = [_CHANNELS, 1, 1, 3, 3] if grouped else [_CHANNELS, int(_CHANNELS * channels), 3, 3]
    whole = ops.convert(ops.constant(random.integers(-127, 128, shape).astype(np.int8)), "f32")
    scale = random.uniform(0.001, 0.002, [_CHANNELS] + [1] * (len(shape) - 1)).astype(np.float32)
    build = ops.group_convolution if grouped else ops.convolution
    y = build(x, ops.multiply(whole, ops.constant(scale)), [*strides], [*pads[:2]], [*pads[2:]], [1, 1])
    y = ops.add(y, ops.constant(random.uniform(-1, 1, [1, _CHANNELS, 1, 1]).astype(np.float32)))
    return ops.relu(y) if ends_in_relu else y


def saved(folder: Path, y: Any, parameter: Any) -> Path:
    ov.save_model(ov.Model([y], [parameter], "net"), folder / "a.xml", compress_to_fp16=False)
    return folder / "a.xml"


def check_levels(source: Path, level: float, channels: int = _CHANNELS) -> None:
    """Convert and run: each output is equal, but for a few that lie at the edge between two levels."""
    written(source)
    feeds = {"x": np.random.default_rng(2).uniform(-1, 2, [1, channels, 12, 12]).astype(np.float32)}
    (mine,) = in_openvino(str(source), feeds, LP_TRANSFORMS_MODE="NO")  # else it rounds weights of channels once more
    (theirs,) = in_onnxruntime(source.with_suffix(".onnx"), feeds)
    apart = np.abs(mine - theirs)
    assert np.ptp(mine) > 20 * level
    assert (apart > level * 0.01).mean() < 0.01
    assert apart.max() < level * 1.01


def written(source: Path, opset: int | None = None) -> onnx.ModelProto:
    write.write_model(source, source.with_suffix(".onnx"), Semantics.RUNTIME, opset)
    return onnx.load(source.with_suffix(".onnx"))


def run_as(model: Path) -> list[str]:
    """Return the types of the nodes that onnxruntime runs."""
    return types(onnx.load(run_to(model)))


def run_to(model: Path) -> Path:
    """Return the model that onnxruntime makes of one."""
    options = onnxruntime.SessionOptions()
    options.optimized_model_filepath = str(model.with_suffix(".optimised.onnx"))
    options.log_severity_level = 3
    onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    return Path(options.optimized_model_filepath)


def types(model: onnx.ModelProto) -> list[str]:
    return [node.op_type for node in model.graph.node]


@pytest.fixture
def x() -> Any:
    return ops.parameter([1, _CHANNELS, 12, 12], np.float32, name="x")


@pytest.mark.parametrize(("low", "high", "levels"), [(0, 1.7, 256), (-0.85, 0.85 * 127 / 128, 256), (-0.7, 0.7, 255)])
@pytest.mark.parametrize("grouped", [False, True])
def test_integers_are_multiplied(tmp_path: Path, x: Any, grouped: bool, low: float, high: float, levels: int) -> None:
    y = convolved(quantised(x, low, high, levels), grouped)
    source = saved(tmp_path, quantised(y, 0, 3), x)
    check_levels(source, 3 / 255)
    made = run_as(tmp_path / "a.onnx")
    assert "QLinearConv" in made
    assert "Conv" not in made


def test_several_scales_are_products(tmp_path: Path, x: Any) -> None:
    """onnxruntime would fail on a convolution between integers of several scales: it is one of floats, of constants."""
    y = quantised(convolved(quantised(x, -_OF_CHANNELS, _OF_CHANNELS * 127 / 128), False), 0, 2 * _OF_CHANNELS)
    source = saved(tmp_path, y, x)
    check_levels(source, float(2 * _OF_CHANNELS.max()) / 255)
    made = onnx.load(tmp_path / "a.onnx")
    assert types(made).count("QuantizeLinear") == types(made).count("DequantizeLinear") == 2
    assert sum(each.data_type == onnx.TensorProto.INT8 for each in made.graph.initializer) == 1, "small in the file"
    optimised = run_as(tmp_path / "a.onnx")
    assert "QLinearConv" not in optimised
    assert optimised.count("DequantizeLinear") == 2, "weights are computed once"


@pytest.mark.parametrize("pooled", [False, True])
def test_weights_take_in_scales_of_channels(tmp_path: Path, x: Any, pooled: bool) -> None:
    """Those that stand before a convolution of single channels, as nncf makes them."""
    y = convolved(quantised(x, -1, 127 / 128), False)
    y = ops.max_pool(y, [1, 1], [1, 1], [0, 0], [0, 0], [2, 2]).output(0) if pooled else y
    y = convolved(quantised(y, 0, _OF_CHANNELS), True)
    source = saved(tmp_path, quantised(y, 0, 3), x)
    check_levels(source, 3 / 255)
    made = onnx.load(tmp_path / "a.onnx")
    assert "Mul" not in types(made)
    optimised = run_as(tmp_path / "a.onnx")
    assert optimised.count("QLinearConv") == 2
    assert not {"Conv", "Mul"} & set(optimised)


def of_channels(first: float) -> tuple[Any, Any]:
    """Return limits of channels of 8 bits whose levels that are zero are ``first`` and 5 more for each."""
    zeros = np.arange(first, first + 5 * _CHANNELS, 5, dtype=np.float32).reshape(_OF_CHANNELS.shape)
    return -zeros * 2 * _OF_CHANNELS / 255, (255 - zeros) * 2 * _OF_CHANNELS / 255


@pytest.mark.parametrize("pooled", [False, True])
def test_zeros_between_levels_of_channels_are_shifted_in_floats(tmp_path: Path, x: Any, pooled: bool) -> None:
    """As nncf makes some under its mixed preset: the convolution before is one of integers, the other of floats."""
    y = convolved(quantised(x, -1, 127 / 128), False, ends_in_relu=False)
    y = ops.max_pool(y, [1, 1], [1, 1], [0, 0], [0, 0], [2, 2]).output(0) if pooled else y
    source = saved(tmp_path, quantised(convolved(quantised(y, *of_channels(100.4)), True), 0, 3), x)
    check_levels(source, 3 / 255)
    made = types(onnx.load(tmp_path / "a.onnx"))
    assert not {"Round", "Min"} & set(made)
    assert made.count("Mul") == 2  # one of constants
    assert run_as(tmp_path / "a.onnx").count("QLinearConv") == 1


@pytest.mark.parametrize("pads", [(0, 0, 0, 0), (1, 1, 1, 1), (0, 2, 1, 0)])
def test_zeros_of_channels_are_padded_with(tmp_path: Path, x: Any, pads: Sequence[int]) -> None:
    """Both convolutions are of integers then; values of the border show what it is padded with."""
    y = convolved(quantised(x, -1, 127 / 128), False, ends_in_relu=False)
    y = convolved(quantised(y, *of_channels(100)), True, pads=pads, strides=(2, 1))
    source = saved(tmp_path, quantised(y, 0, 3), x)
    check_levels(source, 3 / 255)
    assert "Sub" not in types(onnx.load(tmp_path / "a.onnx"))
    made = run_as(tmp_path / "a.onnx")
    assert made.count("QLinearConv") == 2
    assert not {"Conv", "Concat"} & set(made)


def test_zeros_of_channels_of_lengths_of_run_time(tmp_path: Path) -> None:
    x = ops.parameter([-1, _CHANNELS, -1, -1], np.float32, name="x")
    y = convolved(quantised(x, -1, 127 / 128), False, ends_in_relu=False)
    source = saved(tmp_path, quantised(convolved(quantised(y, *of_channels(100)), True), 0, 3), x)
    check_levels(source, 3 / 255)
    assert run_as(tmp_path / "a.onnx").count("QLinearConv") == 1


def test_levels_that_are_joined(tmp_path: Path, x: Any) -> None:
    """A convolution behind a Concat of levels of one scale is of integers, of several it is not."""
    sides = [quantised(convolved(quantised(x, -1, 127 / 128), False), 0, 3) for _ in range(2)]
    source = saved(tmp_path, quantised(convolved(ops.concat(sides, 1), False, channels=2), 0, 3), x)
    check_levels(source, 3 / 255)
    made = run_as(tmp_path / "a.onnx")
    assert made.count("QLinearConv") == 3
    assert "QLinearConcat" in made
    sides[1] = quantised(convolved(quantised(x, -1, 127 / 128), False), 0, 2)
    source = saved(tmp_path, quantised(convolved(ops.concat(sides, 1), False, channels=2), 0, 3), x)
    check_levels(source, 3 / 255)
    assert run_as(tmp_path / "a.onnx").count("QLinearConv") == 2


def test_a_relu_whose_zero_is_no_lowest_level_follows(tmp_path: Path, x: Any) -> None:
    y = convolved(quantised(x, -1, 127 / 128), False)
    source = saved(tmp_path, quantised(convolved(quantised(y, -1, 127 / 128), False), 0, 3), x)
    check_levels(source, 3 / 255)
    made = run_as(tmp_path / "a.onnx")
    assert made.count("QLinearConv") == 2
    assert not {"Conv", "FusedConv", "Relu"} & set(made)


@pytest.mark.parametrize("ends_in_relu", [False, True])
def test_an_image_is_convolved_in_floats(tmp_path: Path, ends_in_relu: bool) -> None:
    """Of few channels that takes less time."""
    image = ops.parameter([1, 3, 12, 12], np.float32, name="x")
    y = convolved(quantised(image, -1, 127 / 128), False, channels=3 / _CHANNELS, ends_in_relu=ends_in_relu)
    source = saved(tmp_path, quantised(convolved(quantised(y, -1, 127 / 128), False), 0, 3), image)
    check_levels(source, 3 / 255, channels=3)
    assert ("Max" in types(onnx.load(tmp_path / "a.onnx"))) != ends_in_relu
    made = run_as(tmp_path / "a.onnx")
    assert made.count("Conv") == made.count("QLinearConv") == 1


def test_levels_of_floats_are_pooled_as_floats(tmp_path: Path, x: Any) -> None:
    """Bytes that lie as floats do are slow to pool; what follows is of integers all the same."""
    y = ops.max_pool(quantised(ops.tanh(x), -1, 127 / 128), [1, 1], [1, 1], [1, 1], [1, 1], [3, 3]).output(0)
    source = saved(tmp_path, quantised(convolved(y, False), 0, 3), x)
    check_levels(source, 3 / 255)
    made = onnx.load(run_to(tmp_path / "a.onnx"))
    (pool,) = (each for each in made.graph.node if each.op_type == "MaxPool")
    (before,) = (each for each in made.graph.node if pool.input[0] in each.output)
    assert before.op_type == "Max"
    assert "QLinearConv" in types(made)


@pytest.mark.parametrize("kind", ["convolution", "product", "transposed"])
def test_weights_that_are_no_integers_stay_so(tmp_path: Path, x: Any, kind: str) -> None:
    """onnxruntime would make integers of them itself, of one scale for all, where levels go in and come out."""
    weights = np.random.default_rng(3).normal(0, 0.1, [_CHANNELS, _CHANNELS, 3, 3]).astype(np.float32)
    weights *= np.logspace(-2, 0, _CHANNELS, dtype=np.float32).reshape(-1, 1, 1, 1)
    held = quantised(x, 0, 1.7)
    if kind == "convolution":
        y = ops.convolution(held, ops.constant(weights), [1, 1], [1, 1], [1, 1], [1, 1])
    elif kind == "transposed":
        y = ops.convolution_backprop_data(held, ops.constant(weights), [1, 1], None, [1, 1], [1, 1], [1, 1])
    else:
        rows = ops.reshape(held, ops.constant(np.array([-1, _CHANNELS])), False)
        y = ops.add(ops.matmul(rows, ops.constant(weights[:, :, 0, 0]), False, False), np.float32(0.25))
    source = saved(tmp_path, quantised(y, -0.4, 0.4 * 127 / 128), x)
    check_levels(source, 0.4 / 128)


def test_scales_of_channels_that_others_read_stay_products(tmp_path: Path, x: Any) -> None:
    y = convolved(quantised(x, -1, 127 / 128), False)
    held = quantised(y, -_OF_CHANNELS, _OF_CHANNELS * 127 / 128)
    z = ops.add(quantised(convolved(held, True), 0, 3), ops.add(held, y))
    source = saved(tmp_path, z, x)
    assert types(written(source)).count("Mul") >= 2
    check_levels(source, 3 / 255)


def test_a_zero_between_levels_stays_arithmetic(tmp_path: Path, x: Any) -> None:
    assert "Round" in types(written(saved(tmp_path, quantised(x, -0.3, 1.01), x)))
    assert "Round" in types(written(saved(tmp_path, quantised(x, 0.3, 1.01), x)))


def test_an_odd_zero_of_an_exact_step_stays_arithmetic(tmp_path: Path, x: Any) -> None:
    """Values right between two levels are rounded to even: of the level, or of what is added to the zero point."""
    assert "Round" in types(written(saved(tmp_path, quantised(x, -1, 254), x)))
    assert "Round" not in types(written(saved(tmp_path, quantised(x, -2, 253), x)))


@pytest.mark.parametrize(("low", "high", "levels", "kind"), [(-127, 127, 255, "INT8"), (-100, 155, 256, "UINT8")])
def test_constants_become_integers(tmp_path: Path, x: Any, low: int, high: int, levels: int, kind: str) -> None:
    values = np.random.default_rng(1).uniform(-1, 1, [_CHANNELS, _CHANNELS, 1, 1]).astype(np.float32)
    step = np.linspace(0.003, 0.008, _CHANNELS, dtype=np.float32).reshape(-1, 1, 1, 1)
    held = quantised(ops.constant(values), low * step, high * step, levels)
    y = ops.convolution(quantised(x, 0, 1.7), held, [1, 1], [0, 0], [0, 0], [1, 1])
    source = saved(tmp_path, quantised(y, -3, 3 * 127 / 128), x)
    check_levels(source, 3 / 128)
    held_as = {each.data_type for each in onnx.load(tmp_path / "a.onnx").graph.initializer if len(each.dims) == 4}
    assert held_as == {onnx.TensorProto.DataType.Value(kind)}
    assert "Round" in types(written(source, opset=12)), "scales along an axis came with operator set 13"
