"""Quantised IRs for tests: convolutions between FakeQuantizes, and what onnxruntime makes of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import openvino as ov
from openvino import opset13 as ops

from ir_interp.converters.ir_to_onnx import onnx_model
from ir_interp.translation.dialect import Semantics
from tests.support.layers import in_onnxruntime, in_openvino

CHANNELS = 8
OF_CHANNELS = np.linspace(0.5, 2, CHANNELS, dtype=np.float32).reshape(1, -1, 1, 1)


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
    shape = [CHANNELS, 1, 1, 3, 3] if grouped else [CHANNELS, int(CHANNELS * channels), 3, 3]
    whole = ops.convert(ops.constant(random.integers(-127, 128, shape).astype(np.int8)), "f32")
    scale = random.uniform(0.001, 0.002, [CHANNELS] + [1] * (len(shape) - 1)).astype(np.float32)
    build = ops.group_convolution if grouped else ops.convolution
    y = build(x, ops.multiply(whole, ops.constant(scale)), [*strides], [*pads[:2]], [*pads[2:]], [1, 1])
    y = ops.add(y, ops.constant(random.uniform(-1, 1, [1, CHANNELS, 1, 1]).astype(np.float32)))
    return ops.relu(y) if ends_in_relu else y


def saved(folder: Path, y: Any, parameter: Any) -> Path:
    ov.save_model(ov.Model([y], [parameter], "net"), folder / "a.xml", compress_to_fp16=False)
    return folder / "a.xml"


def check_levels(
    source: Path, level: float, channels: int = CHANNELS, opset: int | None = None, least: int = 20
) -> None:
    """Convert and run: each output is equal, but for a few that lie at the edge between two levels."""
    written(source, opset)
    feeds = {"x": np.random.default_rng(2).uniform(-1, 2, [1, channels, 12, 12]).astype(np.float32)}
    (mine,) = in_openvino(str(source), feeds)
    (theirs,) = in_onnxruntime(source.with_suffix(".onnx"), feeds)
    apart = np.abs(mine - theirs)
    assert np.ptp(mine) > least * level
    assert (apart > level * 0.01).mean() < 0.01
    assert apart.max() < level * 1.01


def written(source: Path, opset: int | None = None) -> onnx.ModelProto:
    onnx_model.write_model(source, source.with_suffix(".onnx"), Semantics.RUNTIME, opset)
    return onnx.load(source.with_suffix(".onnx"))


def run_as(model: Path) -> list[str]:
    """Return the types of the nodes that onnxruntime runs; one that a Relu is fused into keeps its own."""
    return [kind.removeprefix("Fused") for kind in types(onnx.load(run_to(model)))]


def run_to(model: Path) -> Path:
    """Return the model that onnxruntime makes of one, in the layouts of the file: others depend on the processor."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = str(model.with_suffix(".optimised.onnx"))
    options.log_severity_level = 3
    onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    return Path(options.optimized_model_filepath)


def types(model: onnx.ModelProto) -> list[str]:
    return [node.op_type for node in model.graph.node]
