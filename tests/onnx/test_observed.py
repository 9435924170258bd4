"""``--semantics observed``: nodes read as onnxruntime computes them, faults included."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import ir_interp
from ir_interp import ReadError, resize
from ir_interp.converters.onnx.resize_nodes import nodes
from ir_interp.converters.predictions import in_graph
from tests.support.graphs import onnxruntime_outputs, openvino_outputs, save_model
from tests.support.runtimes import OTHERS, Array, onnx_model

LINEAR, CUBIC, NEAREST = {"mode": "linear"}, {"mode": "cubic"}, {"mode": "nearest"}
CROP = {"coordinate_transformation_mode": "tf_crop_and_resize"}
ROI = (0, 0, 0.1, 0.2, 1, 1, 0.6, 0.9)
KEPT = (1, 1, 1.1, 1.1)  # of 5 and 6
ROWS: tuple[tuple[str, dict[str, Any], dict[str, Any], str], ...] = (
    # element type, attributes, target, and what is in doubt
    ("float32", LINEAR, {"scales": KEPT}, "copies if no size changes"),
    ("float32", {**CUBIC, "coordinate_transformation_mode": "asymmetric"}, {"scales": KEPT}, "copies if no size"),
    ("uint8", {**NEAREST, "nearest_mode": "ceil"}, {"scales": KEPT}, "copies if no size"),
    ("float32", {**LINEAR, "antialias": 1}, {"scales": (1, 1, 1.1, 0.5)}, "copies an axis that keeps its size"),
    ("float32", {**CUBIC, "antialias": 1}, {"scales": (1, 1, 0.5, 1.1)}, "copies an axis that keeps its size"),
    ("uint8", {**LINEAR, "antialias": 1}, {"scales": (1, 1, 1.1, 0.5)}, "copies an axis that keeps its size"),
    ("float32", {**LINEAR, **CROP}, {"scales": (1, 1, 1, 2), "roi": ROI}, "ignores the crop"),
    ("float32", {**NEAREST, **CROP}, {"scales": (1, 1, 2, 1), "roi": ROI}, "ignores the crop"),
    ("float32", {**LINEAR, "keep_aspect_ratio_policy": "not_larger", "axes": [-2, 3]}, {"sizes": (9, 20)}, "negative"),
)
SHAPE = (1, 3, 5, 6)


def pixels(dtype: str, shape: tuple[int, ...] = SHAPE) -> Array:
    return (np.random.default_rng(0).random(shape) * 200).astype(dtype)


def saved(place: Path, dtype: str, attributes: dict[str, Any], target: dict[str, Any]) -> Path:
    onnx.save(onnx_model("Resize", 19, SHAPE, dtype, attributes, **target), place / "a.onnx")
    return place / "a.onnx"


@pytest.mark.sampled(5)
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
        ir_interp.convert(path, tmp_path / "b.onnx", target="opencv-dnn", only="decomposed")
    assert doubt in str(refusals.value.exceptions[0])


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", ["opencv-dnn", "mnn", "ncnn"])
@pytest.mark.parametrize(("dtype", "attributes", "target", "doubt"), ROWS, ids=str)
def test_a_target_computes_what_onnxruntime_did(
    name: str, dtype: str, attributes: dict[str, Any], target: dict[str, Any], doubt: str, tmp_path: Path
) -> None:
    """A Resize may stay, become another, a subgraph or a copy; a target without a form refuses by name."""
    path, made, x = saved(tmp_path, dtype, attributes, target), tmp_path / "b.onnx", pixels(dtype)
    (wanted,) = onnxruntime_outputs(path, {"x": x})
    of_integers = dtype == "uint8" and "antialias" in attributes
    if of_integers or (name == "ncnn" and ("antialias" in attributes or "roi" in target)):
        with pytest.raises(ExceptionGroup, match="no exact form"):
            ir_interp.convert(path, made, target=name, semantics="observed")
        return
    ir_interp.convert(path, made, target=name, semantics="observed")
    found = nodes(made)
    predicted = [in_graph(OTHERS[name], node).spec for node in found]
    outputs = [resize(x, spec) for spec in predicted if spec] if found else onnxruntime_outputs(made, {"x": x})
    (output,) = outputs
    np.testing.assert_allclose(output, wanted, atol=1e-3 if dtype == "float32" else 0)


def test_cubic_integers_whose_channels_come_last(tmp_path: Path) -> None:
    """They are rounded and clipped after each axis, which an IR does too."""
    path, x = tmp_path / "a.onnx", pixels("uint8", (1, 5, 6, 3))
    model = onnx_model("Resize", 13, x.shape, "uint8", CUBIC, scales=(1, 1.5, 2, 1))
    onnx.save(model, path)
    (wanted,) = onnxruntime_outputs(path, {"x": x})
    (observed,) = ir_interp.load(path, semantics="observed")
    np.testing.assert_array_equal(observed.run(x), wanted)


SIGNS = "it turns negative int8 into zero under antialias"
NO_FORM = "semantics observed: no resize describes what onnxruntime computes: "
REFUSED = (
    (("int8", {**LINEAR, "antialias": 1}, {"scales": (1, 1, 0.5, 0.5)}), NO_FORM + SIGNS),
    (("float32", LINEAR, {"scales": (1, 2, 2, 2)}), NO_FORM + "no linear Resize of axes [1, 2, 3] at rank 4"),
    (("float64", LINEAR, {"scales": (1, 1, 2, 2)}), NO_FORM + "no Resize of float64"),
)


@pytest.mark.parametrize(("node", "message"), REFUSED, ids=str)
def test_what_no_resize_says_is_refused(node: tuple[Any, ...], message: str, tmp_path: Path) -> None:
    path = saved(tmp_path, *node)
    with pytest.raises(ReadError) as refusal:
        ir_interp.load(path, semantics="observed")
    assert str(refusal.value) == f'a.onnx:node[0 ""]: {message}'
    with pytest.raises(ReadError, match="semantics observed"):
        ir_interp.convert(path, tmp_path / "a.xml", semantics="observed")
    with pytest.raises(ExceptionGroup) as refusals:
        ir_interp.convert(path, tmp_path / "b.onnx", target="opencv-dnn", semantics="observed")
    assert message in str(refusals.value.exceptions[0])


DYNAMIC = """g (float[1,3,h,w] x) => (float[1,3,p,q] y) <float[4] s = {1, 1, 1.1, 1.1}> {
    y = Resize <mode = "linear"> (x, , s) }"""
TURNED = """g (float[1,5,6,3] x) => (float[1,10,12,3] y) <int64[2] s = {10, 12}> {
    a = Transpose <perm = [0, 3, 1, 2]> (x) b = Resize <mode = "linear", axes = [2, 3]> (a, , , s)
    y = Transpose <perm = [0, 2, 3, 1]> (b) }"""


def test_what_depends_on_other_things_than_the_node_is_refused(tmp_path: Path) -> None:
    path = save_model(tmp_path / "a.onnx", DYNAMIC)
    with pytest.raises(ReadError, match="what is meant only provided that no axis keeps its size"):
        ir_interp.load(path, semantics="observed")
    path = save_model(tmp_path / "b.onnx", TURNED)
    for call in (
        lambda: ir_interp.load(path, semantics="observed"),
        lambda: ir_interp.convert(path, tmp_path / "b.xml", semantics="observed"),
    ):
        with pytest.raises(ReadError, match="its optimiser moves a Transpose over it"):
            call()


def test_other_formats_have_no_such_reading(tmp_path: Path) -> None:
    path = saved(tmp_path, "float32", LINEAR, {"scales": (1, 1, 2, 2)})
    ir_interp.convert(path, tmp_path / "a.xml")
    with pytest.raises(ReadError, match="semantics observed reads ONNX models only; use runtime"):
        ir_interp.load(tmp_path / "a.xml", semantics="observed")
