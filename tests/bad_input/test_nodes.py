"""Nodes of an ONNX model that make no sense."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import ir_interp
from tests.support.bad_input import SHAPE, Fails, LoadFails, resize


@pytest.mark.parametrize(
    ("attributes", "given", "reason"),
    [
        (
            {"mode": "linera"},
            {"scales": [1, 1, 2, 2]},
            "@mode: unknown value 'linera'; expected one of cubic, linear, nearest; did you mean 'linear'?",
        ),
        (
            {"mode": "linear", "axes": [2, 4]},
            {"sizes": [8, 12]},
            ": axis 4 is out of range for an input of rank 4",
        ),
        ({"mode": "linear", "axes": [2, 2]}, {"sizes": [8, 12]}, ": axes must not repeat: [2, 2]"),
        (
            {"mode": "linear", "axes": [2, -2]},
            {"sizes": [8, 12]},
            ": axes [2, -2] name an axis of an input of rank 4 twice",
        ),
        ({"mode": "linear", "axes": [2, 3]}, {"sizes": [8]}, ": sizes [8] and axes [2, 3] differ in length"),
        (
            {"mode": "linear"},
            {"sizes": [8, 12]},
            ": sizes [8, 12] do not fit 4 axes",
        ),
        (
            {"mode": "linear", "axes": [2, 3]},
            {"sizes": [8, 12], "scales": [2, 2]},
            ": sizes and scales are both given; they exclude each other",
        ),
        ({"mode": "linear"}, {}, ": sizes and scales are both missing; one of them is needed"),
        (
            {"mode": "linear"},
            {"scales": [1, 1, 0, 2]},
            ": scales must be finite and greater than 0 as float32: [1.0, 1.0, 0.0, 2.0]",
        ),
        (
            {"mode": "linear"},
            {"scales": [1, 1, -1, 2]},
            ": scales must be finite and greater than 0 as float32: [1.0, 1.0, -1.0, 2.0]",
        ),
        (
            {"mode": "linear"},
            {"scales": [1, 1, float("nan"), 2]},
            ": scales must be finite and greater than 0 as float32: [1.0, 1.0, nan, 2.0]",
        ),
        (
            {"mode": "linear", "coordinate_transformation_mode": "tf_crop_and_resize"},
            {"scales": [1, 1, 2, 2], "roi": []},
            ": tf_crop_and_resize needs a roi of a start and an end for every resized axis, not []",
        ),
        (
            {"mode": "linear", "coordinate_transformation_mode": "tf_crop_and_resize"},
            {"scales": [1, 1, 2, 2], "roi": [0, 0, 1]},
            ": tf_crop_and_resize needs a roi of a start and an end for every resized axis, not [0.0, 0.0, 1.0]",
        ),
        (
            {"mode": "linear", "keep_aspect_ratio_policy": "not_larger"},
            {"scales": [1, 1, 2, 2]},
            ": keep_aspect_ratio_policy not_larger needs sizes, not scales",
        ),
        (
            {"mode": "nearest", "antialias": 1},
            {"scales": [1, 1, 2, 2]},
            ": antialias needs mode linear or cubic, not nearest",
        ),
        (
            {"mode": "linear", "antialias": 2},
            {"scales": [1, 1, 2, 2]},
            "@antialias: unknown value '2'; expected one of 0, 1",
        ),
        ({"mode": 3}, {"scales": [1, 1, 2, 2]}, "@mode: unknown value '3'; expected one of cubic, linear, nearest"),
    ],
    ids=[
        "mode",
        "axes out of range",
        "axes twice",
        "axes twice in two ways",
        "sizes and axes",
        "sizes and rank",
        "sizes and scales",
        "neither",
        "zero scale",
        "negative scale",
        "NaN scale",
        "no roi",
        "odd roi",
        "policy and scales",
        "antialias nearest",
        "antialias 2",
        "mode number",
    ],
)
def test_a_node_that_is_malformed(
    attributes: dict[str, Any], given: dict[str, Any], reason: str, fails_to_load: LoadFails
) -> None:
    model = resize(attributes, **given)
    assert fails_to_load("a.onnx", model.SerializeToString()) == f'a.onnx:node[0 "up"]{reason}'


def test_a_roi_of_too_few_axes(fails: Fails, tmp_path: Path) -> None:
    words = {"mode": "linear", "coordinate_transformation_mode": "tf_crop_and_resize"}
    (tmp_path / "a.onnx").write_bytes(resize(words, scales=[1, 1, 2, 2], roi=[0, 0, 1, 1]).SerializeToString())
    np.save(tmp_path / "x.npy", np.zeros(SHAPE, np.float32))
    assert (
        fails("run", "a.onnx", "--input", "x.npy", "--output", "y.npy")
        == 'a.onnx:node[0 "up"]: roi has 2 windows for 4 axes'
    )


def test_an_empty_roi(fails_to_load: LoadFails) -> None:
    model = resize(
        {"mode": "linear", "coordinate_transformation_mode": "tf_crop_and_resize"}, opset=11, scales=[1, 1, 2, 2]
    )
    assert [tensor.dims for tensor in model.graph.initializer if tensor.name == "no_roi"] == [[0]]
    assert fails_to_load("a.onnx", model.SerializeToString()) == (
        'a.onnx:node[0 "up"]: tf_crop_and_resize needs a roi of a start and an end for every resized axis, not []'
    )


def test_an_operator_of_another_set(fails_to_load: LoadFails) -> None:
    model = resize({"mode": "nearest"}, op="Upsample", opset=9, scales=[1, 1, 2, 2])
    model.opset_import[0].version = 1
    assert fails_to_load("a.onnx", model.SerializeToString()) == (
        'a.onnx:node[0 "up"]: Upsample of operator set 1 is not interpreted'
    )


def test_a_node_without_inputs(fails_to_load: LoadFails) -> None:
    model = resize({"mode": "nearest"}, scales=[1, 1, 2, 2])
    model.graph.node[0].ClearField("input")
    assert fails_to_load("a.onnx", model.SerializeToString()).startswith('a.onnx:node[0 "up"]')


def test_a_node_without_outputs(fails_to_load: LoadFails) -> None:
    model = resize({"mode": "nearest"}, scales=[1, 1, 2, 2])
    model.graph.node[0].ClearField("output")
    model.graph.node[0].ClearField("name")
    assert fails_to_load("a.onnx", model.SerializeToString()).startswith('a.onnx:node[0 ""]')


def test_sizes_of_a_wrong_type(fails_to_load: LoadFails) -> None:
    model = resize({"mode": "nearest", "axes": [2, 3]}, sizes=[8, 12])
    model.graph.initializer[0].CopyFrom(numpy_helper.from_array(np.array([8.5, 12.5], np.float32), "sizes"))
    assert fails_to_load("a.onnx", model.SerializeToString()).startswith('a.onnx:node[0 "up"]')


def test_an_initialiser_that_is_cut_off(fails_to_load: LoadFails) -> None:
    model = resize({"mode": "nearest", "axes": [2, 3]}, sizes=[8, 12])
    model.graph.initializer[0].raw_data = bytes(9)
    reason = fails_to_load("a.onnx", model.SerializeToString())
    assert reason.startswith("a.onnx:node[0 \"up\"]: the values of tensor 'sizes' cannot be read: ")


def test_an_input_of_an_unknown_type(fails: Fails, tmp_path: Path) -> None:
    model = resize({"mode": "nearest", "axes": [2, 3]}, sizes=[8, 12])
    model.graph.input[0].type.tensor_type.elem_type = 99
    model.graph.output[0].type.tensor_type.elem_type = 99
    (tmp_path / "a.onnx").write_bytes(model.SerializeToString())
    for line in (
        "inspect a.onnx",
        "explain a.onnx",
        "convert a.onnx a.xml",
        "compare a.onnx a.onnx",
    ):
        assert "a.onnx" in fails(*line.split()), line


@pytest.mark.parametrize("word", ["Resize", "up", "mode", "sizes", "x", "lengthens", "drawing", "maker", "note"])
def test_texts_that_are_not_utf8(word: str, fails_to_load: LoadFails) -> None:
    model = resize({"mode": "nearest", "axes": [2, 3]}, sizes=[8, 12])
    model.graph.output[0].type.tensor_type.shape.dim[2].dim_param = "lengthens"
    model.graph.name, model.producer_name = "drawing", "maker"
    helper.set_model_props(model, {"note": "what it is"})
    stored = len(word).to_bytes() + word.encode()
    content = model.SerializeToString()
    assert stored in content
    reason = fails_to_load("a.onnx", content.replace(stored, stored[:-1] + b"\xd6"))
    assert reason.startswith("a.onnx:")
    assert "is not UTF-8 text" in reason


@pytest.mark.parametrize("axes", [1.5, 3, ["a", "b"]])
def test_axes_that_are_no_list_of_integers(axes: Any, fails_to_load: LoadFails) -> None:
    model = resize({"mode": "nearest", "axes": axes})
    model.graph.node[0].input.extend(["", "", "z"])
    model.graph.input.append(helper.make_tensor_value_info("z", onnx.TensorProto.INT64, [2]))
    reason = fails_to_load("a.onnx", model.SerializeToString())
    assert "@axes: " in reason
    assert reason.endswith("is not a list of integers")


def test_an_operator_set_that_does_not_exist(fails_to_load: LoadFails) -> None:
    model = resize({"mode": "nearest", "axes": [2, 3]}, sizes=[8, 12])
    model.opset_import[0].version = 2**62
    reason = fails_to_load("a.onnx", model.SerializeToString())
    assert reason == f"a.onnx: there is no operator set {2**62} of ONNX"


def test_another_operator_set_only(fails_to_load: LoadFails) -> None:
    graph = helper.make_graph([helper.make_node("Op", ["x"], ["y"], domain="mine")], "g", [], [])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("mine", 1)])
    reason = fails_to_load("a.onnx", model.SerializeToString())
    assert reason == "a.onnx: specifies no version of ONNX's own operator set"


def _text_beyond_utf8(attribute: onnx.AttributeProto) -> None:
    attribute.s = b"\xff"


def _of_a_function(attribute: onnx.AttributeProto) -> None:
    attribute.ref_attr_name = "given"


def _without_a_type(attribute: onnx.AttributeProto) -> None:
    attribute.ClearField("type")


def _a_tensor(attribute: onnx.AttributeProto) -> None:
    attribute.type = onnx.AttributeProto.TENSOR


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (_text_beyond_utf8, "b'\\xff' is not UTF-8 text"),
        (_of_a_function, "refers to an attribute 'given' of a function, but is not part of one"),
        (_without_a_type, "has no type"),
        (_a_tensor, "TENSOR is not a valid type for it"),
    ],
    ids=["text", "of a function", "no type", "tensor"],
)
def test_an_attribute_that_is_malformed(
    change: Callable[[onnx.AttributeProto], None], reason: str, fails_to_load: LoadFails
) -> None:
    model = resize({"mode": "nearest"}, scales=[1, 1, 2, 2])
    change(model.graph.node[0].attribute[0])
    assert fails_to_load("a.onnx", model.SerializeToString()) == f'a.onnx:node[0 "up"]@mode: {reason}'


def _of_itself(model: onnx.ModelProto) -> None:
    model.functions[0].node.append(helper.make_node("own", ["y"], ["z"], domain="mine"))


def _of_too_few_inputs(model: onnx.ModelProto) -> None:
    model.graph.node[0].input.append("x")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (_of_itself, "Cycle detected in model-local function references: mine::own -> mine::own."),
        (_of_too_few_inputs, "Bind: Assertion `actuals.size() <= formals.size()` failed"),
    ],
    ids=["of itself", "too few inputs"],
)
def test_a_function_that_cannot_be_inlined(
    change: Callable[[onnx.ModelProto], None], reason: str, fails_to_load: LoadFails
) -> None:
    model = resize({"mode": "nearest"}, scales=[1, 1, 2, 2])
    opsets = list(model.opset_import)
    model.functions.append(
        helper.make_function("mine", "own", ["x"], ["y"], [helper.make_node("Relu", ["x"], ["y"])], opsets)
    )
    model.graph.node.insert(0, helper.make_node("own", ["x"], ["other"], domain="mine"))
    model.opset_import.append(helper.make_opsetid("mine", 1))
    change(model)
    found = fails_to_load("a.onnx", model.SerializeToString())
    assert found.startswith(f"a.onnx: its functions cannot be inlined: {reason}")


def test_a_function_of_itself_is_not_made_portable(fails: Fails, tmp_path: Path) -> None:
    """There functions stay, so that shape inference meets it."""
    model = resize({"mode": "nearest"}, scales=[1, 1, 2, 2])
    nodes = [helper.make_node("own", ["x"], ["y"], domain="mine")]
    model.functions.append(helper.make_function("mine", "own", ["x"], ["y"], nodes, list(model.opset_import)))
    model.opset_import.append(helper.make_opsetid("mine", 1))
    (tmp_path / "a.onnx").write_bytes(model.SerializeToString())
    assert fails("convert", "a.onnx", "b.onnx", "--target", "onnx:18").startswith("a.onnx")


def test_nodes_in_a_circle(fails: Fails, tmp_path: Path) -> None:
    """Their values are not known."""
    model = resize({"mode": "nearest"}, scales=[1, 1, 2, 2])
    model.graph.node[0].input[2] = "a"
    for source, result in (("a", "b"), ("b", "a")):
        model.graph.node.append(helper.make_node("Identity", [source], [result]))
    (tmp_path / "a.onnx").write_bytes(model.SerializeToString())
    assert (
        fails("explain", "a.onnx")
        == "scales are missing: this resize takes them at run time; pass them, as in --scales 2,1.5"
    )


def test_a_length_that_openvino_takes_for_a_dynamic_one(tmp_path: Path) -> None:
    """It names the places in its source, and in ours, in what it raises: not here."""
    model = resize({"mode": "nearest", "nearest_mode": "round_prefer_ceil", "axes": [2]}, sizes=[4])
    for value, height in ((model.graph.input[0], 7), (model.graph.output[0], 4)):
        for dim, length in zip(value.type.tensor_type.shape.dim, (7, 2**63 - 1, height, 7), strict=True):
            dim.dim_value = length
    with pytest.raises(ExceptionGroup) as refusals:
        ir_interp.convert(model, tmp_path / "a.xml", verify=False)
    (refusal,) = map(str, refusals.value.exceptions)
    assert refusal.startswith("up: no exact form in openvino; OpenVINO cannot hold it: ")
    assert ".py" not in refusal
    assert ".hpp" not in refusal


@pytest.mark.parametrize("outputs", [[], ["y", "z"]], ids=len)
def test_outputs_that_no_resize_has(outputs: list[str], fails_to_load: LoadFails) -> None:
    model = resize({"mode": "nearest"}, scales=[1, 1, 2, 2])
    model.graph.node[0].output[:] = outputs
    reason = f'a.onnx:node[0 "up"]: Resize has {len(outputs)} outputs; expected 1'
    assert fails_to_load("a.onnx", model.SerializeToString()) == reason


def test_a_file_of_weights_whose_name_is_no_text(fails_to_load: LoadFails) -> None:
    """That of a tensor which an attribute holds."""
    model = resize({"mode": "nearest"}, scales=[1, 1, 2, 2])
    node = helper.make_node("Constant", [], ["c"], value=helper.make_tensor("c", onnx.TensorProto.FLOAT, [1], [0]))
    tensor = node.attribute[0].t
    tensor.ClearField("float_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="weights")
    model.graph.node.append(node)
    content = model.SerializeToString().replace(b"weights", b"weight\xff")
    assert fails_to_load("a.onnx", content) == "a.onnx:external_data: b'weight\\xff' is not UTF-8 text"


def _external(key: str) -> bytes:
    model = resize({"mode": "nearest"}, scales=[1, 1, 2, 2])
    tensor = helper.make_tensor("weight", onnx.TensorProto.FLOAT, [1], [0])
    tensor.ClearField("float_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="weights")
    tensor.external_data.add(key=key, value="0")
    model.graph.initializer.append(tensor)
    return bytes(model.SerializeToString())


def test_a_key_of_external_data_that_nobody_knows(fails_to_load: LoadFails) -> None:
    known = "basepath, checksum, length, location, offset"
    reason = f"a.onnx:external_data: unknown key 'offest'; expected one of {known}; did you mean 'offset'?"
    assert fails_to_load("a.onnx", _external("offest")) == reason


def test_weights_that_onnxruntime_prepacked_are_no_mistake(tmp_path: Path) -> None:
    (tmp_path / "a.onnx").write_bytes(_external("prepacked_0"))
    (tmp_path / "weights").write_bytes(bytes(4))
    assert len(ir_interp.load(tmp_path / "a.onnx")) == 1
    ir_interp.convert(tmp_path / "a.onnx", tmp_path / "a.xml", verify=False)


def test_a_weight_whose_data_do_not_fit_its_shape(fails: Fails, tmp_path: Path) -> None:
    model = resize({"mode": "nearest"}, scales=[1, 1, 2, 2])
    model.graph.initializer.add(name="weight", data_type=onnx.TensorProto.FLOAT16, dims=[3, 3], raw_data=bytes(36))
    (tmp_path / "a.onnx").write_bytes(model.SerializeToString())
    reason = "a.onnx: the values of tensor 'weight' cannot be read: cannot reshape array of size 18 into shape (3,3)"
    assert fails("convert", "a.onnx", "b.xml", "--no-verify") == reason


@pytest.mark.parametrize("line", ["convert m.onnx n.onnx --target onnx:11 --no-verify", "convert m.onnx n.xml"])
def test_a_function_that_calls_itself(line: str, fails: Fails, tmp_path: Path) -> None:
    imports = [helper.make_opsetid("", 19), helper.make_opsetid("own", 1)]
    call = helper.make_node("f", ["x"], ["y"], domain="own")
    up = helper.make_node("Resize", ["z", "", "s"], ["y"], mode="nearest")
    scales = helper.make_node("Constant", [], ["s"], value_floats=[1.0, 1.0, 2.0, 2.0])
    again = helper.make_node("f", ["x"], ["z"], domain="own")
    function = helper.make_function("own", "f", ["x"], ["y"], [again, scales, up], imports)
    ends = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in ("x", "y")]
    graph = helper.make_graph([call], "g", ends[:1], ends[1:])
    onnx.save(helper.make_model(graph, functions=[function], opset_imports=imports, ir_version=9), tmp_path / "m.onnx")
    assert fails(*line.split()).startswith("m.onnx: its functions cannot be inlined: Cycle detected in model-local")
