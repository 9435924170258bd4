"""How sure a source is of its levels: as far as float32 sums and half precision move it, wherever a result rounds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import openvino as ov
import pytest
from numpy.typing import NDArray
from onnx import numpy_helper
from openvino import opset1, opset13 as ops

import ir_interp
from ir_interp import VerificationError
from ir_interp.converters.verify.conversion import verify
from ir_interp.converters.verify.graphs import read
from ir_interp.converters.verify.inputs import Inputs
from ir_interp.converters.verify.model_outputs import moved
from tests.support.graphs import save_model

_CHANNELS, _SIZE = 16, 48


def _pooled(path: Path, dtype: Any, *, operator_set: int, is_shared: bool) -> Path:
    """Write an IR whose rounded tensor is pooled, from ``operator_set`` on; ``is_shared`` if a layer reads it too."""
    rng, x = np.random.default_rng(0), ops.parameter([1, 3, _SIZE, _SIZE], dtype, name="x")

    def constant(array: Any) -> Any:
        return ops.constant(np.asarray(array, dtype))

    def levels(y: Any, high: float) -> Any:
        return ops.fake_quantize(y, *(constant(bound) for bound in (0, high, 0, high)), 256)

    def convolved(y: Any, channels: int, stride: int = 1) -> Any:
        integers = ops.constant(rng.integers(-127, 128, (_CHANNELS, channels, 3, 3)).astype(np.int8))
        scales = rng.uniform(0.3, 1, (_CHANNELS, 1, 1, 1)) / (60 * np.sqrt(9 * channels))
        weights = ops.multiply(ops.convert(integers, ov.Type(dtype).to_string()), constant(scales))
        bias = constant(rng.normal(0, 0.3, (1, _CHANNELS, 1, 1)))
        return ops.relu(ops.add(ops.convolution(y, weights, [stride] * 2, [1, 1], [1, 1], [1, 1]), bias))

    rounded = levels(convolved(levels(x, 1.0), 3), 2.03)
    if operator_set == 1:
        y = opset1.max_pool(rounded, [2, 2], [0, 0], [0, 0], [2, 2], "floor", "explicit")
    else:
        y = ops.max_pool(rounded, [2, 2], [1, 1], [0, 0], [0, 0], [2, 2], "floor", "explicit").output(0)
    y = ops.add(y, convolved(rounded, _CHANNELS, 2)) if is_shared else convolved(y, _CHANNELS)
    y = ops.relu(levels(convolved(levels(y, 2.3), _CHANNELS), 1.5))
    ov.save_model(ov.Model([y], [x], "net"), path, compress_to_fp16=False)
    return path


@pytest.mark.sampled(1)
@pytest.mark.parametrize("operator_set", [1, 8])
@pytest.mark.parametrize("is_shared", [False, True])
def test_half_precision_moves_levels_that_are_pooled_first(operator_set: int, is_shared: bool, tmp_path: Path) -> None:
    """ONNX rounds the pooled tensor: its levels flip where those of the tensor before the pool may."""
    source = _pooled(tmp_path / "a.xml", np.float16, operator_set=operator_set, is_shared=is_shared)
    verification = ir_interp.convert(source, tmp_path / "a.onnx").verification
    assert verification is not None
    assert verification.levels is not None
    levels = verification.levels
    assert levels.flipped_by_source is not None
    assert 0 < levels.flipped <= max(1e-2 * levels.count, 2 * levels.flipped_by_source)


def _changed(model: onnx.ModelProto, is_meant: Callable[[NDArray[Any]], bool], change: Callable[[Any], Any]) -> None:
    """Change the last initialiser that is meant."""
    tensor = [each for each in model.graph.initializer if is_meant(numpy_helper.to_array(each))][-1]
    array = numpy_helper.to_array(tensor)
    tensor.CopyFrom(numpy_helper.from_array(change(array.copy()).astype(array.dtype), tensor.name))


def _wrong_weight(model: onnx.ModelProto) -> None:
    def change(weights: Any) -> Any:
        weights[0, 0, 1, 1] += -1 if weights[0, 0, 1, 1] > 0 else 1
        return weights

    _changed(model, lambda array: array.dtype == np.int8 and array.ndim == 4, change)


def _wrong_scale(model: onnx.ModelProto) -> None:
    def is_scale(array: NDArray[Any]) -> bool:
        return array.dtype.kind == "f" and array.size == 1 and bool(0 < array < 0.1)

    _changed(model, is_scale, lambda array: array * 1.001)


def _wrong_bias(model: onnx.ModelProto) -> None:
    def change(bias: Any) -> Any:
        bias.ravel()[0] += 0.5 * 1.5 / 255
        return bias

    used = {node.input[2] for node in model.graph.node if node.op_type == "Conv"}
    tensor = [each for each in model.graph.initializer if each.name in used][-1]
    array = numpy_helper.to_array(tensor)
    tensor.CopyFrom(numpy_helper.from_array(change(array.copy()), tensor.name))


def _wrong_pad(model: onnx.ModelProto) -> None:
    node = [node for node in model.graph.node if node.op_type == "Conv"][-1]
    (pads,) = (attribute for attribute in node.attribute if attribute.name == "pads")
    pads.ints[:] = [0, 1, 2, 1]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("wrong", [_wrong_weight, _wrong_scale, _wrong_bias, _wrong_pad])
def test_small_errors_are_found(wrong: Callable[[onnx.ModelProto], None], dtype: Any, tmp_path: Path) -> None:
    source, result = _pooled(tmp_path / "a.xml", dtype, operator_set=8, is_shared=True), tmp_path / "a.onnx"
    ir_interp.convert(source, result, verify=False)
    model = onnx.load(result)
    wrong(model)
    onnx.save(model, result)
    with pytest.raises(VerificationError, match="is the first that differs"):
        verify(source, result, (), Inputs())


@pytest.mark.parametrize("count", [256, 1024, 4096])
@pytest.mark.parametrize("cancels", [False, True])
def test_sums_are_as_sure_as_their_partial_sums(count: int, cancels: bool, tmp_path: Path) -> None:
    """Terms of one sign, then of the other, have partial sums far beyond their sum, and round to last bits of these."""
    text = f"g (float[1,{count}] x, float[{count},1] w) => (float[1,1] y) {{ y = MatMul (x, w) }}"
    graph, rng = read(save_model(tmp_path / "a.onnx", text)), np.random.default_rng(0)
    weights = rng.uniform(0.9, 1.1, count) * np.where(np.arange(count) < count // 2, 1, -1)
    weights = (weights if cancels else rng.permutation(weights)).astype(np.float32)
    x = rng.random((500, count), np.float32)
    terms = x * weights
    errors = np.cumsum(terms, axis=1)[:, -1] - terms.sum(axis=1, dtype=np.float64)
    moves = (moved({"x": x}, graph)["x"].astype(np.float64) - x) @ weights
    largest = np.abs(errors).max()
    assert largest < np.abs(moves).max() < 60 * largest
