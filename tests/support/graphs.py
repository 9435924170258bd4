"""Models from ONNX text, and their outputs in both runtimes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import onnx.parser
import onnx.shape_inference
import openvino as ov
import openvino.opset1 as ops1
import openvino.opset13 as ops

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


def save_branches(path: Path, *modes: str) -> None:
    """Save an IR of an If, by its input c: both bodies resize x, float32 [1, 2, 4, 6], to 8 by 9, each in its mode."""
    x, condition = ops.parameter([1, 2, 4, 6], np.float32, name="x"), ops.parameter([], np.bool_, name="c")
    branch, bodies = ops.if_op(condition), []
    for mode in modes:
        inner = ops.parameter([1, 2, 4, 6], np.float32)
        attributes = {"axes": [2, 3], "mode": mode, "align_corners": False, "pads_begin": [0], "pads_end": [0]}
        up = ops1.interpolate(inner, ops.constant(np.array([8, 9])), attributes)
        bodies.append((ov.Model([ops.result(up)], [inner], mode), inner))
    (first, of_first), (second, of_second) = bodies
    branch.set_then_body(first)
    branch.set_else_body(second)
    branch.set_input(x.output(0), of_first, of_second)
    y = branch.set_output(first.results[0], second.results[0])
    ov.save_model(ov.Model([ops.result(y)], [x, condition], "m"), path)


def values(*shape: int, seed: int = 0) -> Array:
    """Return random float32 numbers."""
    return np.random.default_rng(seed).uniform(-4, 4, shape).astype(np.float32)


def assert_equal(actual: Array, wanted: Array, *, copied: bool = False) -> None:
    """Hold two outputs to be the same: bit for bit where they are copies, else as float32 sums may be."""
    largest = float(np.abs(wanted).max(initial=1.0))
    np.testing.assert_allclose(actual, wanted, rtol=0, atol=0 if copied else 2e-5 * largest, strict=True)
