"""Nodes that a runtime computes alone but not in their model: they are rewritten, and then run there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.reference
import openvino as ov
import pytest
from onnx import helper, numpy_helper

import ir_interp
from tests.runtimes.test_surroundings import (
    LINEAR,
    SHAPE,
    TWICE,
    Change,
    in_decided_if,
    in_even_if,
    in_open_if,
    in_scan,
    of_kind,
)
from tests.support.image_nodes import lay_between_transposes, loosen
from tests.support.runtimes import Array, is_installed, onnx_model, onnxruntime_resize, output_of

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


@pytest.mark.sampled(1)
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


X = np.random.default_rng(0).random((1, 3, 8, 9), np.float32)
COMPUTED: dict[str, tuple[list[Any], dict[str, Any]]] = {
    "Mul": ([[0.5, 0.5, 1, 1], [2, 2, 2, 2]], {}),
    "Concat": ([[1, 1], [2, 2]], {"axis": 0}),
    "Identity": ([[1, 1, 2, 2]], {}),
    "Reshape": ([[[1, 1], [2, 2]]], {}),
}


def with_computed_scales(operator: str, opset: int = 13) -> onnx.ModelProto:
    """Return a linear Resize whose scales a node computes of constants."""
    parts, attributes = COMPUTED[operator]
    names = [f"part{number}" for number in range(len(parts))]
    constants = [
        numpy_helper.from_array(np.array(part, np.float32), name) for name, part in zip(names, parts, strict=True)
    ]
    if operator == "Reshape":
        constants.append(numpy_helper.from_array(np.array([4]), "four"))
        names.append("four")
    nodes = [
        helper.make_node(operator, names, ["scales"], **attributes),
        helper.make_node(
            "Resize", ["x", "", "scales"], ["y"], name="r", mode="linear", coordinate_transformation_mode="asymmetric"
        ),
    ]
    return of_nodes(nodes, constants, opset)


def of_nodes(
    nodes: list[onnx.NodeProto],
    constants: list[onnx.TensorProto],
    opset: int,
    functions: tuple[onnx.FunctionProto, ...] = (),
) -> onnx.ModelProto:
    x, y = (helper.make_tensor_value_info(name, 1, shape) for name, shape in (("x", X.shape), ("y", (1, 3, 16, 18))))
    graph = helper.make_graph(nodes, "g", [x], [y], constants)
    sets = [helper.make_opsetid("", opset), *([helper.make_opsetid("own", 1)] if functions else [])]
    return helper.make_model(graph, opset_imports=sets, functions=functions, ir_version=8)


def with_function(kind: str, opset: int = 13) -> onnx.ModelProto:
    """Return a model with a local function around a Resize, or beside it."""
    resize = helper.make_node(
        "Resize", ["x", "", "s"], ["r"], name="r", mode="linear", coordinate_transformation_mode="asymmetric"
    )
    relu = helper.make_node("Relu", ["r"], ["y"])
    inside, outputs = ([resize], ["r"]) if kind == "around" else ([relu], ["y"])
    inputs = ["x", "s"] if kind == "around" else ["r"]
    function = helper.make_function("own", "F", inputs, outputs, inside, [helper.make_opsetid("", opset)])
    call = helper.make_node("F", inputs, outputs, domain="own")
    constants = [numpy_helper.from_array(np.array([1, 1, 2, 2], np.float32), "s")]
    return of_nodes([call, relu] if kind == "around" else [resize, call], constants, opset, (function,))


def came(runtime: str, path: Path) -> Any:
    """Return the output of a model in an installed runtime, None if it is refused."""
    if not is_installed(runtime):
        pytest.skip(f"{runtime} is not installed")
    return output_of(runtime, path, X)


def wanted(model: onnx.ModelProto) -> Array:
    (y,) = onnx.reference.ReferenceEvaluator(model).run(None, {"x": X})
    return np.asarray(y)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("opset", [11, 13, 18])
@pytest.mark.parametrize("operator", COMPUTED)
def test_opencv_is_given_stored_scales(operator: str, opset: int, tmp_path: Path) -> None:
    source, made, model = tmp_path / "a.onnx", tmp_path / "b.onnx", with_computed_scales(operator, opset)
    onnx.save(model, source)
    (row,) = ir_interp.audit(source, runtimes=["opencv-dnn"]).rows
    assert row.predictions["opencv-dnn"].kind is ir_interp.Kind.REFUSED
    ir_interp.convert(source, made, target="opencv-dnn", verify=False)
    (row,) = ir_interp.audit(made, runtimes=["opencv-dnn"]).rows
    assert row.predictions["opencv-dnn"].kind is ir_interp.Kind.SAME
    np.testing.assert_allclose(onnxruntime_resize(onnx.load(made), {"x": X}), wanted(model), atol=1e-5)
    assert came("opencv-dnn", source) is None
    np.testing.assert_allclose(came("opencv-dnn", made), wanted(model), atol=1e-5)


def test_opencv_computes_scales_of_a_shape(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("Cast", ["shape"], ["floats"], to=1),
        helper.make_node("Div", ["sizes", "floats"], ["scales"]),
        helper.make_node(
            "Resize", ["x", "", "scales"], ["y"], name="r", mode="linear", coordinate_transformation_mode="asymmetric"
        ),
    ]
    model = of_nodes(nodes, [numpy_helper.from_array(np.array([1, 3, 16, 18], np.float32), "sizes")], 13)
    onnx.save(model, tmp_path / "a.onnx")
    (row,) = ir_interp.audit(tmp_path / "a.onnx", runtimes=["opencv-dnn"]).rows
    assert row.predictions["opencv-dnn"].kind is ir_interp.Kind.SAME
    np.testing.assert_allclose(came("opencv-dnn", tmp_path / "a.onnx"), wanted(model), atol=1e-5)


@pytest.mark.sampled(7)
@pytest.mark.parametrize("kind", ["around", "beside"])
@pytest.mark.parametrize(
    ("runtime", "verdict"),
    [
        ("openvino", "refused"),
        ("opencv-dnn", "refused"),
        ("tvm", "refused"),
        ("tract", "refused"),
        ("onnxruntime", "same"),
        ("reference", "same"),
        ("openvino-converted", "same"),
        ("mnn", "refused"),
        ("iree", "refused"),
    ],
)
def test_a_model_that_calls_local_functions(kind: str, runtime: str, verdict: str, tmp_path: Path) -> None:
    source, model = tmp_path / "a.onnx", with_function(kind)
    onnx.save(model, source)
    (row,) = ir_interp.audit(source, runtimes=[runtime]).rows
    assert row.predictions[runtime].kind.value == verdict
    if verdict == "refused":
        made = tmp_path / "b.onnx"
        ir_interp.convert(source, made, target=runtime, verify=False)
        assert not onnx.load(made).functions
        np.testing.assert_allclose(onnxruntime_resize(onnx.load(made), {"x": X}), wanted(model), atol=1e-5)
        assert came(runtime, source) is None
        np.testing.assert_allclose(came(runtime, made), wanted(model), atol=1e-5)


TARGETS: tuple[tuple[str, int, Change, str], ...] = (
    # target, operator set, surroundings, and why the target refuses them
    ("ncnn", 13, in_open_if, "it has no If"),
    ("ncnn", 19, of_kind("if"), "an If whose branches alone read an initialiser"),
    ("ncnn", 19, in_decided_if, "no rule covers an If with a constant condition"),
    ("ncnn", 19, of_kind("loop"), "it has no Loop"),
    ("ncnn", 19, of_kind("quantisations"), "it has no DequantizeLinear"),
    ("tvm", 19, of_kind("loop"), "it has no Loop"),
    ("tvm", 19, in_scan, "it has no Scan"),
    ("iree", 19, of_kind("loop"), "its Loop stacks no results"),
    ("iree", 19, in_scan, "it has no Scan"),
    ("tract", 13, of_kind("loop"), "it has no Loop"),
    ("tract", 13, in_open_if, "both branches of its If must return one shape"),
    ("tract", 13, of_kind("if"), "no rule covers an If whose branches return dynamic shapes"),
    ("mnn", 13, in_scan, "it has no Scan"),
    ("mnn", 13, of_kind("quantisations"), "DequantizeLinear"),
    ("any", 19, in_scan, "it has no Scan"),
    # functions are inlined, and bodies that a target has stay
    ("ncnn", 13, of_kind("function"), ""),
    ("tvm", 19, of_kind("function"), ""),
    ("tvm", 19, in_open_if, ""),
    ("tract", 13, in_scan, ""),
    ("tract", 13, in_even_if, ""),
    ("mnn", 13, of_kind("loop"), ""),
    ("onnx:19", 18, of_kind("loop"), ""),
)


@pytest.mark.parametrize(("target", "opset", "change", "why"), TARGETS)
def test_the_graph_around_a_resize(target: str, opset: int, change: Change, why: str, tmp_path: Path) -> None:
    """A target that refuses it refuses every form of the resize; a model that is written runs there."""
    model = onnx_model("Resize", opset, SHAPE, "float32", LINEAR, scales=TWICE)
    x = np.random.default_rng(0).random(SHAPE, np.float32)
    around, source, made = change(model, x), tmp_path / "a.onnx", tmp_path / "b.onnx"
    onnx.save(model, source)
    if why:
        with pytest.raises(ExceptionGroup) as refusals:
            ir_interp.convert(source, made, target=target, verify=False)
        assert all(why in str(refusal) for refusal in refusals.value.exceptions)
        assert not made.exists()
        return
    ir_interp.convert(source, made, target=target, verify=False)
    expected, result = (onnxruntime_resize(onnx.load(path), {"x": around.x(x)}) for path in (source, made))
    np.testing.assert_allclose(result, expected, atol=1e-5)
    if is_installed(target):
        output = output_of(target, made, around.x(x))
        assert output is not None
        np.testing.assert_allclose(output, expected, atol=1e-5)
