"""Models from ONNX text, and their outputs in both runtimes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import onnx.parser
import onnx.shape_inference
import openvino as ov

from tests.support import exact_sums
from tests.support.runtimes import Array


def save_model(path: Path, text: str, opset: int = 19) -> Path:
    """Write a graph in ONNX text (https://onnx.ai/onnx/repo-docs/Syntax.html) as a model."""
    onnx.save(onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": {opset}]> {text}'), path)
    return path


def reshaped(model: onnx.ModelProto, shapes: Mapping[str, Sequence[int]] | None = None) -> onnx.ModelProto:
    """Return a model whose inputs have these shapes; without them, every dimension is dynamic."""
    result = onnx.ModelProto()
    result.CopyFrom(model)
    constants = {tensor.name for tensor in result.graph.initializer}
    for value in result.graph.input:
        if value.name not in constants:
            for axis, dimension in enumerate(value.type.tensor_type.shape.dim):
                dimension.Clear()
                if shapes:
                    dimension.dim_value = shapes[value.name][axis]
    for value in result.graph.output:
        value.type.tensor_type.ClearField("shape")
    del result.graph.value_info[:]
    return onnx.shape_inference.infer_shapes(result, data_prop=True)


def onnxruntime_outputs(path: Path, feeds: Mapping[str, Array]) -> list[Array]:
    """Return what onnxruntime makes of a model."""
    return [np.asarray(each) for each in exact_sums.session(path).run(None, dict(feeds))]


def openvino_outputs(model: Path | ov.Model, feeds: Mapping[str, Array]) -> list[Array]:
    """Return what OpenVINO's CPU plugin makes of a model, in float32."""
    compiled = ov.Core().compile_model(model, "CPU", exact_sums.OPENVINO)
    answer = compiled(dict(feeds))
    return [np.array(answer[index]) for index in range(len(compiled.outputs))]


def values(*shape: int, seed: int = 0) -> Array:
    """Return random float32 numbers."""
    return np.random.default_rng(seed).uniform(-4, 4, shape).astype(np.float32)


def assert_equal(actual: Array, wanted: Array, *, copied: bool = False) -> None:
    """Hold two outputs to be the same: bit for bit where they are copies, else as float32 sums may be."""
    largest = float(np.abs(wanted).max(initial=1.0))
    np.testing.assert_allclose(actual, wanted, rtol=0, atol=0 if copied else 2e-5 * largest, strict=True)
