"""Models in half precision become IRs that compute what they compute in float32, with the weights that they have."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import openvino as ov
import pytest
from onnx import helper, numpy_helper

import ir_interp
from tests.support.graphs import onnxruntime_outputs
from tests.support.runtimes import Array


def _network(path: Path, *, half_ends: bool, element: int = onnx.TensorProto.FLOAT16) -> Path:
    """Write convolutions with batch normalisations, which OpenVINO merges, and a resize between them.

    They compute in half precision, or with the same weights in another element type.
    """
    rng = np.random.default_rng(0)
    tensors = [numpy_helper.from_array(np.array([1, 1, 2, 2], np.float32), "scales")]
    nodes = [helper.make_node("Cast", ["x"], ["h"], to=element)]
    last = "x" if half_ends else "h"
    for place in range(3):
        shapes = {"w": (8, 8 if place else 3, 3, 3), "gain": (8,), "bias": (8,), "mean": (8,), "var": (8,)}
        for name, shape in shapes.items():
            values = (rng.random(shape) + 0.1) * (0.02 if name == "var" else 0.3)
            weights = values.astype(np.float16).astype(helper.tensor_dtype_to_np_dtype(element))
            tensors.append(numpy_helper.from_array(weights, f"{name}{place}"))
        names = [f"{name}{place}" for name in shapes]
        nodes.append(helper.make_node("Conv", [last, names[0]], [f"c{place}"], pads=[1] * 4))
        nodes.append(helper.make_node("BatchNormalization", [f"c{place}", *names[1:]], [f"b{place}"]))
        last = f"b{place}"
        if place == 1:
            nodes.append(helper.make_node("Resize", [last, "", "scales"], ["up"], mode="linear", name="up"))
            last = "up"
    nodes.append(helper.make_node("Cast", [last], ["y"], to=onnx.TensorProto.FLOAT))
    if half_ends:
        nodes = nodes[1:-1]
        nodes[-1].output[0] = "y"
    kind = element if half_ends else onnx.TensorProto.FLOAT
    ends = [helper.make_tensor_value_info("x", kind, [1, 3, 12, 16])], [helper.make_tensor_value_info("y", kind, None)]
    graph = helper.make_graph(nodes, "net", *ends, tensors)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def _run(model: Path, x: Array) -> Array:
    compiled = ov.Core().compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    return np.array(compiled([x])[0])


def _constants(model: Path) -> list[tuple[str, tuple[int, ...]]]:
    ordered = ov.Core().read_model(model).get_ordered_ops()
    return [
        (each.get_element_type().get_type_name(), tuple(each.shape))
        for each in ordered
        if each.get_type_name() == "Constant" and each.get_element_type().is_real()
    ]


def test_nothing_is_lost_between_float32_ends(tmp_path: Path) -> None:
    source = _network(tmp_path / "a.onnx", half_ends=False)
    ir_interp.convert(source, tmp_path / "a.xml")
    x = np.random.default_rng(0).random((1, 3, 12, 16), np.float32)
    twin = _network(tmp_path / "b.onnx", half_ends=False, element=onnx.TensorProto.FLOAT)
    wanted = onnxruntime_outputs(twin, {"x": x})[0]
    assert np.abs(_run(tmp_path / "a.xml", x) - wanted).max() < 1e-6 * np.abs(wanted).max()
    theirs = ov.Core().compile_model(source, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    assert np.abs(theirs([x])[0] - wanted).max() > 1e-4 * np.abs(wanted).max()  # what this is for


def test_ends_and_weights_stay_halves(tmp_path: Path) -> None:
    source = _network(tmp_path / "a.onnx", half_ends=True)
    verification = ir_interp.convert(source, tmp_path / "a.xml").verification
    assert verification is not None
    assert all(each.passes for each in verification.outputs)
    model = ov.Core().read_model(tmp_path / "a.xml")
    assert [each.get_element_type() for each in (*model.inputs, *model.outputs)] == [ov.Type.f16] * 2
    assert [each.get_any_name() for each in (*model.inputs, *model.outputs)] == ["x", "y"]
    x = np.random.default_rng(0).random((1, 3, 12, 16)).astype(np.float16)
    twin = _network(tmp_path / "b.onnx", half_ends=True, element=onnx.TensorProto.FLOAT)
    wanted = onnxruntime_outputs(twin, {"x": x.astype(np.float32)})[0]
    apart = np.abs(_run(tmp_path / "a.xml", x).astype(np.float32) - wanted)
    assert (apart <= 0.51 * np.spacing(np.abs(wanted).astype(np.float16))).all()  # rounded once, at the end


def test_what_half_precision_holds_is_stored_so(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    tensors = [numpy_helper.from_array(rng.random((8, 3, 3, 3)).astype(np.float16), "w")]
    text = "<ir_version: 8, opset_import: ['': 17]> g (float16[1,3,8,8] x) => (float16[1,8,8,8] y)"
    model = onnx.parser.parse_model(text.replace("'", '"') + "{ y = Conv <pads = [1, 1, 1, 1]> (x, w) }")
    model.graph.initializer.extend(tensors)
    onnx.save(model, tmp_path / "a.onnx")
    ir_interp.convert(tmp_path / "a.onnx", tmp_path / "a.xml")
    assert ("f16", (8, 3, 3, 3)) in _constants(tmp_path / "a.xml")
    assert all(kind == "f16" for kind, _ in _constants(tmp_path / "a.xml"))


@pytest.mark.parametrize("body", ["y = Identity (x)", "z = Neg (x) y = Neg (z)"])
def test_ends_that_are_read_inside(body: str, tmp_path: Path) -> None:
    text = f'<ir_version: 8, opset_import: ["": 17]> g (float16[2] x) => (float16[2] y) {{ {body} }}'
    onnx.save(onnx.parser.parse_model(text), tmp_path / "a.onnx")
    ir_interp.convert(tmp_path / "a.onnx", tmp_path / "a.xml")
    x = np.array([1, 2], np.float16)
    assert np.array_equal(_run(tmp_path / "a.xml", x), x)
