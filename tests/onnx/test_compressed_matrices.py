"""Products that onnxruntime computes in 8 bits by default are those that a note names."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper

from ir_interp.converters.onnx.low_precision import IN_FLOAT32, compression_notes


@pytest.mark.parametrize("product", ["MatMul", "Gemm"])
@pytest.mark.parametrize("is_transposed", [False, True])
def test_a_note_where_the_default_rounds(product: str, is_transposed: bool, tmp_path: Path) -> None:
    """A transposed matrix is no constant, so onnxruntime multiplies it in float32."""
    matrix = np.random.default_rng(0).integers(-127, 127, (64, 32)).astype(np.int8)
    nodes = [helper.make_node("DequantizeLinear", ["matrix", "scale"], ["real"])]
    nodes += [helper.make_node("Transpose", ["real"], ["moved"], perm=[1, 0])] if is_transposed else []
    nodes.append(helper.make_node(product, ["x", "moved" if is_transposed else "real"], ["y"]))
    ends = [helper.make_tensor_value_info(name, 1, shape) for name, shape in (("x", [3, 64]), ("y", [3, 32]))]
    constants = [
        numpy_helper.from_array(np.ascontiguousarray(matrix.T) if is_transposed else matrix, "matrix"),
        numpy_helper.from_array(np.array(0.1, np.float32), "scale"),
    ]
    graph = helper.make_graph(nodes, "g", ends[:1], ends[1:], constants)
    path = tmp_path / "a.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9), path)
    x = np.random.default_rng(1).standard_normal((3, 64)).astype(np.float32)
    in_float32 = onnxruntime.SessionOptions()
    in_float32.add_session_config_entry(*IN_FLOAT32)
    default, exact = (
        onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]
        for options in (onnxruntime.SessionOptions(), in_float32)
    )
    np.testing.assert_allclose(exact, x @ (matrix * np.float32(0.1)), rtol=1e-4, atol=1e-4)
    assert bool(compression_notes(path)) is not is_transposed
    if is_transposed:  # elsewhere the processor decides whether onnxruntime rounds
        np.testing.assert_allclose(default, exact, rtol=1e-4, atol=1e-4)
