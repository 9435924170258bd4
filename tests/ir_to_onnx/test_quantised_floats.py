"""Quantised IRs: what keeps onnxruntime from multiplying integers though it could, and what it computes in floats."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from openvino import opset13 as ops

from tests.support.layers import in_onnxruntime, in_openvino
from tests.support.quantised import (
    CHANNELS,
    OF_CHANNELS,
    check_levels,
    convolved,
    quantised,
    run_as,
    saved,
    types,
    written,
)

STEP = 3 / 255


@pytest.fixture
def x() -> Any:
    return ops.parameter([1, CHANNELS, 12, 12], np.float32, name="x")


def made(folder: Path) -> list[str]:
    return types(onnx.load(folder / "a.onnx"))


def limited(x: Any, low: float, high: float) -> Any:
    """Return a convolution of levels that is limited."""
    return ops.clamp(convolved(quantised(x, -1, 127 / 128), False, ends_in_relu=False), low, high)


@pytest.mark.parametrize("high", [3, 6, 3 - STEP / 8])
def test_limits_that_levels_have_too_are_left_out(tmp_path: Path, x: Any, high: float) -> None:
    source = saved(tmp_path, quantised(limited(x, 0, high), 0, 3), x)
    check_levels(source, STEP)
    assert not {"Clip", "Min", "Max"} & set(made(tmp_path))
    assert not {"Conv", "FusedConv"} & set(run_as(tmp_path / "a.onnx"))


@pytest.mark.parametrize(("low", "high"), [(0, 2.5), (0, 3 - STEP), (0.1, 3), (-1, 1)])
def test_limits_within_levels_stay(tmp_path: Path, x: Any, low: float, high: float) -> None:
    source = saved(tmp_path, quantised(limited(x, low, high), 0, 3), x)
    check_levels(source, STEP)
    assert "Clip" in made(tmp_path)


def test_limits_that_something_else_reads_stay_there(tmp_path: Path, x: Any) -> None:
    y = limited(x, 0, 1)
    z = ops.concat([quantised(y, 0, 0.9), ops.tanh(y)], 1)
    check_levels(saved(tmp_path, z, x), 0.9 / 255)
    assert made(tmp_path).count("Clip") == 1


def test_limits_of_levels_of_channels(tmp_path: Path, x: Any) -> None:
    """As a MobileNet has them before a convolution of single channels: both are of integers."""
    y = convolved(quantised(limited(x, 0, 6), 0, OF_CHANNELS), True)
    check_levels(saved(tmp_path, quantised(y, 0, 3), x), STEP)
    optimised = run_as(tmp_path / "a.onnx")
    assert optimised.count("QLinearConv") == 2
    assert not {"Conv", "Clip", "Mul"} & set(optimised)


@pytest.mark.parametrize("first", [0, 100, 100.4])
def test_channels_that_no_weights_take_in_are_rounded_along_their_axis(tmp_path: Path, x: Any, first: float) -> None:
    """A function between a convolution and its levels leaves floats before and behind; zeros that are no levels too."""
    zeros = np.arange(first, first + 5 * CHANNELS, 5, dtype=np.float32).reshape(OF_CHANNELS.shape)
    low, high = -zeros * 2 * OF_CHANNELS / 255, (255 - zeros) * 2 * OF_CHANNELS / 255
    y = ops.tanh(convolved(quantised(x, -1, 127 / 128), False, ends_in_relu=False))
    y = ops.tanh(convolved(quantised(y, low, high), True, ends_in_relu=False))
    source = saved(tmp_path, quantised(y, -1, 127 / 128), x)
    check_levels(source, 1 / 128)
    graph = onnx.load(tmp_path / "a.onnx").graph
    axes = [node.op_type for node in graph.node if node.op_type.endswith("Linear") and node.attribute]
    assert axes == ["QuantizeLinear", "DequantizeLinear"]
    assert made(tmp_path).count("Add") == (2 if first == 100.4 else 0), "shifted to the lowest level, and back"
    check_levels(source, 1 / 128, opset=12)
    assert "Mul" in made(tmp_path)


def test_odd_zeros_of_channels_of_an_exact_step(tmp_path: Path, x: Any) -> None:
    """Values right between two levels are rounded to even: of the level, not of what is added to the zero point."""
    zeros = np.arange(CHANNELS, dtype=np.float32).reshape(OF_CHANNELS.shape) + 100
    source = saved(tmp_path, quantised(x, -zeros, 255 - zeros), x)
    written(source)
    feeds = {"x": np.random.default_rng(0).integers(-300, 400, (1, CHANNELS, 12, 12)).astype(np.float32) / 2}
    (mine,), (theirs,) = in_openvino(str(source), feeds), in_onnxruntime(tmp_path / "a.onnx", feeds)
    assert np.array_equal(mine, theirs)


def test_a_sum_of_two_tensors_is_no_bias(tmp_path: Path, x: Any) -> None:
    """What is added is no constant, so no convolution of integers is found; its weights are computed once."""
    held = quantised(x, -1, 127 / 128)
    y = ops.add(convolved(held, False, ends_in_relu=False), ops.tanh(x))
    check_levels(saved(tmp_path, quantised(y, -3, 3 * 127 / 128), x), 3 / 128)
    assert made(tmp_path).count("DequantizeLinear") == 2


@pytest.mark.parametrize("levels", [16, 255])
def test_a_relu_of_fewer_levels_stays_before_them(tmp_path: Path, x: Any, levels: int) -> None:
    """What is above the highest of them is no level of theirs, though bytes have more."""
    y = convolved(quantised(x, -1, 127 / 128), False)
    step, zero = 1.2 / (levels - 1), levels // 4
    low, high = -step * zero, step * (levels - 1 - zero)
    check_levels(saved(tmp_path, quantised(y, low, high, levels), x), step, least=levels // 2)


def test_levels_of_levels_are_rounded_twice(tmp_path: Path, x: Any) -> None:
    """onnxruntime would make one rounding of both, to neither."""
    twice = quantised(quantised(x, -0.9, 0.9 * 127 / 128), -1.77 * 161 / 255, 1.77 * 94 / 255)
    check_levels(saved(tmp_path, twice, x), 1.77 / 255)
