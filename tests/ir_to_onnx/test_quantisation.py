"""Quantised IRs: integers in ONNX, which onnxruntime multiplies as such."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from openvino import opset13 as ops

from tests.support.quantised import (
    CHANNELS,
    OF_CHANNELS,
    check_levels,
    convolved,
    quantised,
    run_as,
    run_to,
    saved,
    types,
    written,
)


@pytest.fixture
def x() -> Any:
    return ops.parameter([1, CHANNELS, 12, 12], np.float32, name="x")


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
    y = quantised(convolved(quantised(x, -OF_CHANNELS, OF_CHANNELS * 127 / 128), False), 0, 2 * OF_CHANNELS)
    source = saved(tmp_path, y, x)
    check_levels(source, float(2 * OF_CHANNELS.max()) / 255)
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
    y = convolved(quantised(y, 0, OF_CHANNELS), True)
    source = saved(tmp_path, quantised(y, 0, 3), x)
    check_levels(source, 3 / 255)
    made = onnx.load(tmp_path / "a.onnx")
    assert "Mul" not in types(made)
    optimised = run_as(tmp_path / "a.onnx")
    assert optimised.count("QLinearConv") == 2
    assert not {"Conv", "Mul"} & set(optimised)


def of_channels(first: float) -> tuple[Any, Any]:
    """Return limits of channels of 8 bits whose levels that are zero are ``first`` and 5 more for each."""
    zeros = np.arange(first, first + 5 * CHANNELS, 5, dtype=np.float32).reshape(OF_CHANNELS.shape)
    return -zeros * 2 * OF_CHANNELS / 255, (255 - zeros) * 2 * OF_CHANNELS / 255


@pytest.mark.parametrize("pooled", [False, True])
def test_zeros_between_levels_of_channels_are_shifted_in_floats(tmp_path: Path, x: Any, pooled: bool) -> None:
    """As nncf makes some under its mixed preset: the convolution before is one of integers, the other of floats."""
    y = convolved(quantised(x, -1, 127 / 128), False, ends_in_relu=False)
    y = ops.max_pool(y, [1, 1], [1, 1], [0, 0], [0, 0], [2, 2]).output(0) if pooled else y
    source = saved(tmp_path, quantised(convolved(quantised(y, *of_channels(100.4)), True), 0, 3), x)
    check_levels(source, 3 / 255)
    made = types(onnx.load(tmp_path / "a.onnx"))
    assert not {"Round", "Min"} & set(made)
    assert made.count("Mul") == 1, "of constants"
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
    x = ops.parameter([-1, CHANNELS, -1, -1], np.float32, name="x")
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
    y = convolved(quantised(image, -1, 127 / 128), False, channels=3 / CHANNELS, ends_in_relu=ends_in_relu)
    source = saved(tmp_path, quantised(convolved(quantised(y, -1, 127 / 128), False), 0, 3), image)
    check_levels(source, 3 / 255, channels=3)
    assert ("Max" in types(onnx.load(tmp_path / "a.onnx"))) != ends_in_relu
    made = run_as(tmp_path / "a.onnx")
    assert made.count("Conv") == made.count("QLinearConv") == 1


def test_levels_of_floats_are_pooled_as_floats(tmp_path: Path, x: Any) -> None:
    """Bytes that lie as floats do are slow to pool: floats are, then rounded; what follows is of integers."""
    y = ops.max_pool(quantised(ops.tanh(x), -1, 127 / 128), [1, 1], [1, 1], [1, 1], [1, 1], [3, 3]).output(0)
    source = saved(tmp_path, quantised(convolved(y, False), 0, 3), x)
    check_levels(source, 3 / 255)
    made = onnx.load(run_to(tmp_path / "a.onnx"))
    (pool,) = (each for each in made.graph.node if each.op_type == "MaxPool")
    (before,) = (each for each in made.graph.node if pool.input[0] in each.output)
    assert before.op_type == "Tanh"
    assert "QLinearConv" in types(made)


@pytest.mark.parametrize("kind", ["convolution", "product", "transposed"])
def test_weights_that_are_no_integers_stay_so(tmp_path: Path, x: Any, kind: str) -> None:
    """onnxruntime would make integers of them itself, of one scale for all, where levels go in and come out."""
    weights = np.random.default_rng(3).normal(0, 0.1, [CHANNELS, CHANNELS, 3, 3]).astype(np.float32)
    weights *= np.logspace(-2, 0, CHANNELS, dtype=np.float32).reshape(-1, 1, 1, 1)
    held = quantised(x, 0, 1.7)
    if kind == "convolution":
        y = ops.convolution(held, ops.constant(weights), [1, 1], [1, 1], [1, 1], [1, 1])
    elif kind == "transposed":
        y = ops.convolution_backprop_data(held, ops.constant(weights), [1, 1], None, [1, 1], [1, 1], [1, 1])
    else:
        rows = ops.reshape(held, ops.constant(np.array([-1, CHANNELS])), False)
        y = ops.add(ops.matmul(rows, ops.constant(weights[:, :, 0, 0]), False, False), np.float32(0.25))
    source = saved(tmp_path, quantised(y, -0.4, 0.4 * 127 / 128), x)
    check_levels(source, 0.4 / 128)


def test_scales_of_channels_that_others_read_stay_products(tmp_path: Path, x: Any) -> None:
    y = convolved(quantised(x, -1, 127 / 128), False)
    held = quantised(y, -OF_CHANNELS, OF_CHANNELS * 127 / 128)
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
    values = np.random.default_rng(1).uniform(-1, 1, [CHANNELS, CHANNELS, 1, 1]).astype(np.float32)
    step = np.linspace(0.003, 0.008, CHANNELS, dtype=np.float32).reshape(-1, 1, 1, 1)
    held = quantised(ops.constant(values), low * step, high * step, levels)
    y = ops.convolution(quantised(x, 0, 1.7), held, [1, 1], [0, 0], [0, 0], [1, 1])
    source = saved(tmp_path, quantised(y, -3, 3 * 127 / 128), x)
    check_levels(source, 3 / 128)
    held_as = {each.data_type for each in onnx.load(tmp_path / "a.onnx").graph.initializer if len(each.dims) == 4}
    assert held_as == {onnx.TensorProto.DataType.Value(kind)}
    assert "Round" in types(written(source, opset=12)), "scales along an axis came with operator set 13"
