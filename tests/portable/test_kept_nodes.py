"""Nodes that a runtime computes alone but not in their model: they are rewritten, and then run there."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import openvino as ov
import pytest

import ir_interp
from tests.support.image_nodes import lay_between_transposes, loosen
from tests.support.runtimes import Array, onnx_model, onnxruntime_resize

CUBIC = {"mode": "cubic", "cubic_coeff_a": -0.75}


def meant(node: onnx.ModelProto, x: Array) -> Array:
    """Return what the node means, for an image whose channels come last."""
    (op,) = ir_interp.load(node)
    y: Array = op.run(x.transpose(0, 3, 1, 2)).transpose(0, 2, 3, 1)
    return y


def test_any_keeps_no_cubic_that_onnxruntime_cannot_move(tmp_path: Path) -> None:
    """Its optimiser makes it a cubic of images whose channels come last, which it refuses to shrink."""
    model = onnx_model("Resize", 13, (1, 3, 25, 11), "float32", CUBIC, sizes=(1, 3, 7, 3))
    lay_between_transposes(model, has_relu=True)
    source, made = tmp_path / "a.onnx", tmp_path / "b.onnx"
    onnx.save(model, source)
    (row,) = ir_interp.convert(source, made, target="any", verify=False).rows
    assert not row.form.endswith("kept")
    x = np.random.default_rng(0).random((1, 25, 11, 3), np.float32)
    np.testing.assert_allclose(onnxruntime_resize(onnx.load(made), {"x": x}), meant(model, x), atol=1e-5)


@pytest.mark.parametrize("mode", ["cubic", "nearest"])
def test_openvino_is_given_no_resized_batch_of_dynamic_images(mode: str, tmp_path: Path) -> None:
    """A cubic of one image is a nearest, which the plugin computes only if no dimension is dynamic."""
    attributes = CUBIC if mode == "cubic" else {"mode": mode}
    model = onnx_model("Resize", 18, (1, 3, 27, 39), "float32", attributes, scales=(2.6, 1, 1, 1))
    loosen(model, (2, 3))
    lay_between_transposes(model, has_relu=False)
    source, made = tmp_path / "a.onnx", tmp_path / "b.onnx"
    onnx.save(model, source)
    ir_interp.convert(source, made, target="openvino", verify=False)
    x = np.random.default_rng(0).random((1, 27, 39, 3), np.float32)
    y = ov.Core().compile_model(made, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})([x])[0]
    np.testing.assert_allclose(y, meant(model, x), atol=1e-5)
