"""Nodes in functions, bodies, behind levels and between Transposes, and crops: predicted, and run where installed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import ir_interp
from ir_interp import Kind
from tests.runtimes.test_image_nodes import assert_seen, case, compute
from tests.support.image_nodes import loosen, values
from tests.support.runtimes import Array, onnx_model
from tests.support.surroundings import ALONE, KINDS, Surroundings

pytestmark = pytest.mark.usefixtures("one_worker")

SHAPE = (1, 2, 5, 6)
TWICE = (1.0, 1.0, 2.0, 2.0)
LINEAR = {"mode": "linear"}
Change = Callable[[onnx.ModelProto, Array], Surroundings]


def of_kind(name: str) -> Change:
    """Return a change that surrounds a node as the sweeps do."""
    return lambda model, x: KINDS[name][1](np.random.default_rng(0), model, x)


def floats(name: str, value: Any) -> onnx.NodeProto:
    return helper.make_node("Constant", [], [name], value=numpy_helper.from_array(np.asarray(value, np.float32)))


def store(model: onnx.ModelProto, **arrays: Any) -> None:
    model.graph.initializer.extend(numpy_helper.from_array(np.asarray(value), name) for name, value in arrays.items())


def put(model: onnx.ModelProto, *nodes: onnx.NodeProto) -> None:
    """Replace nodes and initialisers of a model."""
    del model.graph.node[:], model.graph.initializer[:]
    model.graph.node.extend(nodes)


def in_complete_function(model: onnx.ModelProto, x: Array) -> Surroundings:
    """Put the node into a function in which no input is left out."""
    put(model, helper.make_node("Twice", ["x"], ["y"], domain="own"))
    resize = helper.make_node("Resize", ["x", "roi", "scales"], ["y"], mode="linear")
    nodes, sets = [floats("roi", []), floats("scales", TWICE), resize], [helper.make_opsetid("", 19)]
    model.functions.append(helper.make_function("own", "Twice", ["x"], ["y"], nodes, sets))
    model.opset_import.append(helper.make_opsetid("own", 1))
    return ALONE


def beside_function(model: onnx.ModelProto, x: Array) -> Surroundings:
    """Let a function follow the node, which leaves out an input."""
    model.functions.append(
        helper.make_function(
            "own", "Lit", ["a"], ["b"], [helper.make_node("Relu", ["a"], ["b"])], [helper.make_opsetid("", 19)]
        )
    )
    model.opset_import.append(helper.make_opsetid("own", 1))
    model.graph.node[0].output[0] = "resized"
    model.graph.node.append(helper.make_node("Lit", ["resized"], ["y"], domain="own"))
    return ALONE


def body(name: str, nodes: list[onnx.NodeProto], output: str) -> onnx.GraphProto:
    end = helper.make_tensor_value_info(output, onnx.TensorProto.FLOAT, [None] * len(SHAPE))
    return helper.make_graph(nodes, name, [], [end])


def branches() -> dict[str, onnx.GraphProto]:
    """Return branches that read no initialiser."""
    resize = helper.make_node("Resize", ["x", "", "scales"], ["resized"], mode="linear")
    then = body("then", [floats("scales", TWICE), resize], "resized")
    return {"then_branch": then, "else_branch": body("else", [helper.make_node("Identity", ["x"], ["copy"])], "copy")}


def in_open_if(model: onnx.ModelProto, x: Array) -> Surroundings:
    """Put the node into an If whose condition is that the brightest pixel is positive."""
    brightest = helper.make_node("ReduceMax", ["x"], ["brightest"], keepdims=0)
    is_positive = helper.make_node("Greater", ["brightest", "nothing"], ["is_positive"])
    put(model, brightest, is_positive, helper.make_node("If", ["is_positive"], ["y"], **branches()))
    store(model, nothing=np.float32(0))
    return ALONE


def in_even_if(model: onnx.ModelProto, x: Array) -> Surroundings:
    """Put the node into an If whose other branch returns an image of the same size."""
    in_open_if(model, x)
    other = helper.make_node("Resize", ["x", "", "twice"], ["copy"], mode="nearest")
    for attribute in model.graph.node[-1].attribute:
        if attribute.name == "else_branch":
            attribute.g.CopyFrom(body("else", [floats("twice", TWICE), other], "copy"))
    return ALONE


def in_decided_if(model: onnx.ModelProto, x: Array) -> Surroundings:
    put(model, helper.make_node("If", ["is_taken"], ["y"], **branches()))
    store(model, is_taken=np.array(True))
    return ALONE


def in_scan(model: onnx.ModelProto, x: Array) -> Surroundings:
    """Put the node into the body of a Scan over the batch."""
    resize = helper.make_node("Resize", ["image", "", "scales"], ["resized"], mode="linear")
    image, resized = (
        helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)
        for name, shape in (("image", SHAPE[1:]), ("resized", (2, 10, 12)))
    )
    graph = helper.make_graph([floats("scales", TWICE[1:]), resize], "body", [image], [resized])
    put(model, helper.make_node("Scan", ["x"], ["y"], body=graph, num_scan_inputs=1))
    return Surroundings(before=lambda x: x[0], behind=lambda y: y[None])


def of_stored_levels(model: onnx.ModelProto, x: Array) -> Surroundings:
    """Resize levels that the model holds, and add the input to them."""
    levels = np.random.default_rng(1).integers(0, 255, (1, 2, 5, 3), np.uint8)
    front = helper.make_node("DequantizeLinear", ["levels", "step", "zero"], ["floats"])
    resize = helper.make_node("Resize", ["floats", "", "scales"], ["resized"], mode="linear")
    put(model, front, resize, helper.make_node("Add", ["x", "resized"], ["y"]))
    scales = np.array([1, 1, 1, 2], np.float32)
    store(model, levels=levels, step=np.float32(0.25), zero=np.uint8(3), scales=scales)
    return Surroundings(before=lambda x: (levels.astype(np.float32) - 3) * np.float32(0.25), behind=lambda y: x + y)


def with_swapped_batch(model: onnx.ModelProto, x: Array) -> Surroundings:
    """Put the node between Transposes, the first of which makes the last axis the batch."""
    (node,) = model.graph.node
    node.input[0], node.output[0] = "turned", "resized"
    order, back = (3, 1, 0, 2), (2, 1, 3, 0)
    model.graph.node.insert(0, helper.make_node("Transpose", ["x"], ["turned"], perm=order))
    model.graph.node.append(helper.make_node("Transpose", ["resized"], ["y"], perm=back))
    for dim, axis in zip(model.graph.input[0].type.tensor_type.shape.dim, back, strict=True):
        dim.dim_value = SHAPE[axis]
    return Surroundings(
        x=lambda x: np.ascontiguousarray(x.transpose(back)),
        before=lambda x: x.transpose(order),
        behind=lambda y: y.transpose(back),
    )


ROWS: tuple[tuple[str, int, Change, Kind, str], ...] = (
    # runtime, operator set, surroundings, what is predicted, and why
    ("ncnn", 19, of_kind("function"), Kind.REFUSED, "whose nodes leave out inputs"),
    ("ncnn", 12, of_kind("function"), Kind.SAME, ""),
    ("ncnn", 19, in_complete_function, Kind.SAME, ""),
    ("ncnn", 19, beside_function, Kind.SAME, ""),
    ("ncnn", 19, of_kind("if"), Kind.REFUSED, "branches alone read an initialiser"),
    ("ncnn", 13, in_open_if, Kind.REFUSED, "has no If"),
    ("ncnn", 19, of_kind("loop"), Kind.REFUSED, "has no Loop"),
    ("ncnn", 19, in_scan, Kind.REFUSED, "has no Scan"),
    ("ncnn", 19, of_kind("quantisations"), Kind.REFUSED, "has no DequantizeLinear"),
    ("ncnn", 19, of_stored_levels, Kind.SAME, ""),
    ("ncnn", 19, with_swapped_batch, Kind.SAME, ""),
    ("ncnn", 13, of_kind("windows"), Kind.REFUSED, "does not support crops"),
    ("tvm", 19, of_kind("loop"), Kind.REFUSED, "has no Loop"),
    ("tvm", 19, in_scan, Kind.REFUSED, "has no Scan"),
    ("tvm", 19, in_open_if, Kind.SAME, ""),
    ("iree", 19, of_kind("loop"), Kind.REFUSED, "its Loop stacks no results"),
    ("iree", 19, in_scan, Kind.REFUSED, "has no Scan"),
    ("iree", 19, in_open_if, Kind.SAME, ""),
    ("tract", 13, of_kind("loop"), Kind.REFUSED, "has no Loop"),
    ("tract", 13, in_scan, Kind.SAME, ""),
    ("tract", 13, in_open_if, Kind.REFUSED, "both branches of its If must return one shape"),
    ("tract", 13, in_decided_if, Kind.REFUSED, "both branches of its If must return one shape"),
    ("mnn", 13, in_scan, Kind.REFUSED, "has no Scan"),
    ("mnn", 13, of_kind("loop"), Kind.SAME, ""),
    ("reference", 19, of_kind("loop"), Kind.DIFFERS, "its Loop joins the results"),
    ("reference", 13, of_kind("quantisations"), Kind.REFUSED, "no DequantizeLinear before operator set 19"),
    ("reference", 19, of_kind("quantisations"), Kind.SAME, ""),
    ("reference", 19, in_scan, Kind.SAME, ""),
    ("reference", 19, in_decided_if, Kind.SAME, ""),
)


@pytest.mark.parametrize("name", sorted({row[0] for row in ROWS}))
def test_surroundings(name: str, tmp_path: Path) -> None:
    cases = []
    for runtime, opset, change, kind, why in ROWS:
        if runtime == name:
            model = onnx_model("Resize", opset, SHAPE, "float32", LINEAR, scales=TWICE)
            x = np.random.default_rng(0).random(SHAPE, np.float32)
            around = change(model, x)
            cases.append(case(model, around.x(x), kind, why, around=around))
    assert_seen(cases, name, tmp_path)


def test_no_rule_covers_a_decided_if_in_ncnn(tmp_path: Path) -> None:
    """Its converter takes some of them."""
    model = onnx_model("Resize", 19, SHAPE, "float32", LINEAR, scales=TWICE)
    in_decided_if(model, np.zeros(SHAPE, np.float32))
    onnx.save(model, tmp_path / "a.onnx")
    (row,) = ir_interp.audit(tmp_path / "a.onnx", runtimes=["ncnn"]).rows
    assert row.predictions["ncnn"].kind is Kind.UNKNOWN


SYMMETRIC = {"coordinate_transformation_mode": "half_pixel_symmetric"}
ASYMMETRIC = {"coordinate_transformation_mode": "asymmetric"}
FOR_NN = {"mode": "cubic", "coordinate_transformation_mode": "tf_half_pixel_for_nn"}
FLOOR = {"mode": "nearest", "nearest_mode": "floor", **ASYMMETRIC}
CROP = {"mode": "linear", "coordinate_transformation_mode": "tf_crop_and_resize"}
NEAREST_CROP, CUBIC_CROP = {**CROP, "mode": "nearest"}, {**CROP, "mode": "cubic"}
INSIDE, BEYOND = (0, 0, 0.1, 0.2, 1, 1, 0.8, 0.7), (0, 0, -0.3, 0.1, 1, 1, 1.1, 0.9)
OF_CHANNELS = (0, 0, 0, 0, 1, 0.5, 1, 1)
NODES: tuple[tuple[str, tuple[int, ...], tuple[int, ...], dict[str, Any], dict[str, Any], Kind, str], ...] = (
    # runtime, shape, dynamic dimensions, attributes, target, what is predicted, and why
    ("reference", (1, 1, 39, 9), (), {**LINEAR, **SYMMETRIC}, {"scales": (1, 1, 0.5, 1)}, Kind.DIFFERS, "float64"),
    ("reference", (1, 1, 38, 9), (), {**LINEAR, **SYMMETRIC}, {"scales": (1, 1, 0.5, 1)}, Kind.SAME, ""),
    ("reference", (1, 1, 14, 3), (), {**LINEAR, **ASYMMETRIC}, {"sizes": (1, 1, 34, 3)}, Kind.DIFFERS, "float64"),
    ("reference", SHAPE, (0, 2, 3), FOR_NN, {"scales": (1, 1, 1, 1)}, Kind.SAME, ""),
    ("reference", SHAPE, (2, 3), FOR_NN, {"sizes": (1, 2, 7, 8)}, Kind.REFUSED, "provided that a size changes"),
    ("iree", SHAPE, (), CROP, {"sizes": (1, 2, 7, 9), "roi": INSIDE}, Kind.REFUSED, "crops are not supported"),
    ("iree", SHAPE, (), NEAREST_CROP, {"sizes": (1, 2, 7, 9), "roi": INSIDE}, Kind.REFUSED, "crops are not supported"),
    ("iree", SHAPE, (), CUBIC_CROP, {"sizes": (1, 2, 7, 9), "roi": INSIDE}, Kind.REFUSED, "crops are not supported"),
    ("tvm", SHAPE, (), CROP, {"sizes": (1, 2, 7, 9), "roi": BEYOND}, Kind.SAME, ""),
    ("tvm", SHAPE, (2, 3), FLOOR, {"sizes": (1, 2, 10, 12)}, Kind.REFUSED, "a floor under asymmetric"),
    ("tvm", SHAPE, (2,), FLOOR, {"sizes": (1, 2, 3, 12)}, Kind.REFUSED, "a floor under asymmetric"),
    ("tvm", SHAPE, (0,), FLOOR, {"sizes": (1, 2, 10, 12)}, Kind.SAME, ""),
    ("tvm", SHAPE, (2, 3), FLOOR, {"scales": (1, 1, 2, 2)}, Kind.SAME, ""),
    ("tvm", SHAPE, (), NEAREST_CROP, {"scales": (1, 1, 1.5, 0.7), "roi": BEYOND}, Kind.SAME, ""),
    ("tvm", SHAPE, (), {**CROP, "antialias": 1}, {"sizes": (1, 2, 2, 3), "roi": INSIDE}, Kind.DIFFERS, "antialias"),
    ("tvm", SHAPE, (), CROP, {"sizes": (1, 3, 7, 9), "roi": INSIDE}, Kind.DIFFERS, "last two axes only"),
    ("tvm", SHAPE, (), CROP, {"sizes": (1, 2, 7, 9), "roi": OF_CHANNELS}, Kind.DIFFERS, "last two axes only"),
    ("tvm", SHAPE, (), CROP, {"sizes": (1, 2, 7, 1), "roi": INSIDE}, Kind.REFUSED, "divides by 0"),
)


@pytest.mark.parametrize("name", sorted({row[0] for row in NODES}))
def test_nodes_alone(name: str, tmp_path: Path) -> None:
    cases = []
    for runtime, shape, dynamic, attributes, target, kind, why in NODES:
        if runtime == name:
            model = onnx_model("Resize", 19, shape, "float32", attributes, **target)
            loosen(model, dynamic)
            cases.append(case(model, values(np.random.default_rng(0), shape, "float32"), kind, why))
    assert_seen(cases, name, tmp_path)


@pytest.mark.parametrize(
    ("scales", "kind", "why"),
    [
        ((1, 1, 2, 3), Kind.SAME, ""),
        ((1, 2, 2, 3), Kind.DIFFERS, "last two axes only"),
        ((2, 1, 1, 1), Kind.DIFFERS, "last two axes only"),
    ],
)
def test_computed_scales_of_an_upsample_in_iree(
    scales: tuple[float, ...], kind: Kind, why: str, tmp_path: Path
) -> None:
    """Scales that are stored reveal the size of the output, which it then refuses."""
    model = onnx_model("Upsample", 9, SHAPE, "float32", {"mode": "nearest"}, scales=scales)
    compute(model, "scales")
    assert_seen([case(model, values(np.random.default_rng(0), SHAPE, "float32"), kind, why)], "iree", tmp_path)


def test_even_branches_of_an_if_in_tract(tmp_path: Path) -> None:
    model = onnx_model("Resize", 13, SHAPE, "float32", LINEAR, scales=TWICE)
    in_even_if(model, np.zeros(SHAPE, np.float32))
    onnx.save(model, tmp_path / "a.onnx")
    rows = ir_interp.audit(tmp_path / "a.onnx", runtimes=["tract"]).rows
    assert [row.predictions["tract"].kind for row in rows] == [Kind.SAME, Kind.SAME]
    loosen(model, (2, 3))
    onnx.save(model, tmp_path / "b.onnx")
    rows = ir_interp.audit(tmp_path / "b.onnx", runtimes=["tract"]).rows
    assert [row.predictions["tract"].kind for row in rows] == [Kind.UNKNOWN, Kind.UNKNOWN]
