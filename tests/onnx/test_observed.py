"""``--semantics observed``: nodes read as onnxruntime computes them, faults included."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import ir_interp
from tests.support.graphs import onnxruntime_outputs, openvino_outputs
from tests.support.runtimes import Array, onnx_model

LINEAR, CUBIC, NEAREST = {"mode": "linear"}, {"mode": "cubic"}, {"mode": "nearest"}
CROP = {"coordinate_transformation_mode": "tf_crop_and_resize"}
ROI = (0, 0, 0.1, 0.2, 1, 1, 0.6, 0.9)
KEPT = (1, 1, 1.1, 1.1)  # of 5 and 6
ROWS: tuple[tuple[str, dict[str, Any], dict[str, Any], str], ...] = (
    # element type, attributes, target, and what is in doubt
    ("float32", LINEAR, {"scales": KEPT}, "copies where no length changes"),
    ("float32", {**CUBIC, "coordinate_transformation_mode": "asymmetric"}, {"scales": KEPT}, "copies where no length"),
    ("uint8", {**NEAREST, "nearest_mode": "ceil"}, {"scales": KEPT}, "copies where no length"),
    ("float32", {**LINEAR, "antialias": 1}, {"scales": (1, 1, 1.1, 0.5)}, "copies an axis that keeps its length"),
    ("float32", {**CUBIC, "antialias": 1}, {"scales": (1, 1, 0.5, 1.1)}, "copies an axis that keeps its length"),
    ("uint8", {**LINEAR, "antialias": 1}, {"scales": (1, 1, 1.1, 0.5)}, "copies an axis that keeps its length"),
    ("float32", {**LINEAR, **CROP}, {"scales": (1, 1, 1, 2), "roi": ROI}, "ignores the crop"),
    ("float32", {**NEAREST, **CROP}, {"scales": (1, 1, 2, 1), "roi": ROI}, "ignores the crop"),
    ("float32", {**LINEAR, "keep_aspect_ratio_policy": "not_larger", "axes": [-2, 3]}, {"sizes": (9, 20)}, "negative"),
)
OF_CHANNELS_LAST = {**CUBIC, "coordinate_transformation_mode": "half_pixel"}
SHAPE = (1, 3, 5, 6)


def pixels(dtype: str, shape: tuple[int, ...] = SHAPE) -> Array:
    return (np.random.default_rng(0).random(shape) * 200).astype(dtype)


def saved(place: Path, dtype: str, attributes: dict[str, Any], target: dict[str, Any]) -> Path:
    onnx.save(onnx_model("Resize", 19, SHAPE, dtype, attributes, **target), place / "a.onnx")
    return place / "a.onnx"


@pytest.mark.parametrize(("dtype", "attributes", "target", "doubt"), ROWS, ids=str)
def test_a_node_is_read_and_converted_as_onnxruntime_computes_it(
    dtype: str, attributes: dict[str, Any], target: dict[str, Any], doubt: str, tmp_path: Path
) -> None:
    path, x = saved(tmp_path, dtype, attributes, target), pixels(dtype)
    (wanted,) = onnxruntime_outputs(path, {"x": x})
    (meant,), (observed,) = ir_interp.load(path), ir_interp.load(path, semantics="observed")
    np.testing.assert_allclose(observed.run(x), wanted, atol=1e-3 if dtype == "float32" else 0)
    assert meant.spec != observed.spec
    assert meant.diagnostics == observed.diagnostics
    ir_interp.convert(path, tmp_path / "a.xml", semantics="observed")
    (made,) = openvino_outputs(tmp_path / "a.xml", {"x": x})
    np.testing.assert_allclose(made, wanted, atol=1e-3 if dtype == "float32" else 0)
    with pytest.raises(ExceptionGroup) as refusals:
        ir_interp.convert(path, tmp_path / "b.onnx", target="opencv-dnn", form="decomposed")
    assert doubt in str(refusals.value.exceptions[0])


@pytest.mark.parametrize("name", ["opencv-dnn", "mnn", "ncnn"])
@pytest.mark.parametrize(("dtype", "attributes", "target", "doubt"), ROWS, ids=str)
def test_a_target_is_given_what_onnxruntime_computes(
    name: str, dtype: str, attributes: dict[str, Any], target: dict[str, Any], doubt: str, tmp_path: Path
) -> None:
    """Of what stays a Resize, and of what becomes a copy; runtimes without a form refuse by name."""
    path, made = saved(tmp_path, dtype, attributes, target), tmp_path / "b.onnx"
    if (name == "ncnn" and "copies where" not in doubt) or (dtype == "uint8" and "copies where" not in doubt):
        with pytest.raises(ExceptionGroup, match="has no exact form"):
            ir_interp.convert(path, made, target=name, semantics="observed")
        return
    ir_interp.convert(path, made, target=name, semantics="observed")
    (row,) = ir_interp.audit(made, runtimes=[name]).rows or (None,)
    assert row is None or row.forecast[name].kind.value == "same"
