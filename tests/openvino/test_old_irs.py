"""IRs of version 10, and resizes as Interpolate-4 and -1: what OpenVINO up to 2021.4 reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from lxml import etree
from onnx import helper, numpy_helper

import ir_interp
from ir_interp import SpecError

LENGTHS = [1, 3, 8, 10]
Attributes = dict[str, Any]


def saved(path: Path, nodes: list[onnx.NodeProto], output: str = "y", element: int = onnx.TensorProto.FLOAT) -> Path:
    constants = {
        "sizes": np.array([1, 3, 16, 25]),
        "places": np.array([-1, 0, 1]),
        "one": np.array([1]),
        "three": np.array([3]),
        "five": np.array([5]),
        "last": np.array([3]),
        "none": np.float32(0),
        "pads": np.array([0, 0, 1, 1, 0, 0, 0, 1]),
    }
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, LENGTHS)],
        [helper.make_tensor_value_info(output, element, None)],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8), path)
    return path


def resize(**attributes: Any) -> onnx.NodeProto:
    return helper.make_node("Resize", ["x", "", "", "sizes"], ["y"], name="up", **attributes)


def layers(path: Path) -> dict[str, list[int]]:
    """Return the operation sets of all layers, by type."""
    found: dict[str, list[int]] = {}
    for layer in etree.parse(path).iter("layer"):
        kind, version = str(layer.get("type")), str(layer.get("version"))
        found.setdefault(kind, []).append(int(version.removeprefix("opset")))
    return found


@pytest.mark.parametrize(("options", "version"), [({"ir": 10}, 4), ({"interpolate": 4}, 4)])
def test_resizes_of_a_version(tmp_path: Path, options: dict[str, Any], version: int) -> None:
    source = saved(tmp_path / "a.onnx", [resize(mode="linear", coordinate_transformation_mode="half_pixel")])
    report = ir_interp.convert(source, tmp_path / "a.xml", **options)
    assert report.verification is not None
    assert layers(tmp_path / "a.xml")["Interpolate"] == [version]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_interpolate_1(tmp_path: Path, mode: str) -> None:
    attributes: Attributes = {"mode": mode, "coordinate_transformation_mode": "align_corners"}
    if mode == "nearest":
        attributes = {"mode": mode, "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    source = saved(tmp_path / "a.onnx", [resize(**attributes)])
    only = "native" if mode == "linear" else None
    report = ir_interp.convert(source, tmp_path / "a.xml", ir=10, interpolate=1, only=only)
    others = "" if mode == "linear" else "; the others have no exact form there and became other operations"
    assert report.notes == (f"{int(mode == 'linear')} of 1 resizes became Interpolate-1{others}",)
    tree = etree.parse(tmp_path / "a.xml").getroot()
    assert tree.get("version") == "10"
    assert layers(tmp_path / "a.xml").get("Interpolate", [1]) == [1]


def test_newer_layers_are_written_in_older_ones(tmp_path: Path) -> None:
    """With what they mean: negative places, axes counted from behind, lengths of run time."""
    nodes = [
        helper.make_node("Pad", ["x", "pads"], ["padded"]),
        helper.make_node("MaxPool", ["padded"], ["pooled"], kernel_shape=[2, 2]),
        helper.make_node("AveragePool", ["pooled"], ["mean"], kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        helper.make_node("Softmax", ["mean"], ["soft"], axis=-2),
        helper.make_node("Gather", ["soft", "places"], ["known"], axis=1),
        helper.make_node("ReduceMax", ["x"], ["most"], keepdims=0),
        helper.make_node("Cast", ["most"], ["whole"], to=onnx.TensorProto.INT64),
        helper.make_node("Neg", ["whole"], ["behind"]),
        helper.make_node("Sub", ["behind", "one"], ["place"]),
        helper.make_node("Gather", ["known", "place"], ["taken"], axis=2),
        helper.make_node("Slice", ["taken", "one", "five", "last"], ["cut"]),
        helper.make_node("TopK", ["cut", "three"], ["best", "order"], axis=-1),
        helper.make_node("Cast", ["order"], ["number"], to=onnx.TensorProto.FLOAT),
        helper.make_node("Add", ["best", "number"], ["y"]),
    ]
    ir_interp.convert(saved(tmp_path / "a.onnx", nodes), tmp_path / "a.xml", ir=10)
    found = layers(tmp_path / "a.xml")
    assert max(max(versions) for versions in found.values()) <= 7
    assert {"StridedSlice", "MaxPool", "AvgPool", "SoftMax", "Gather", "Pad", "TopK"} <= found.keys()
    ports = [port for port in etree.parse(tmp_path / "a.xml").iter("port") if port.get("names")]
    assert not ports


def test_what_has_no_older_form_is_named(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Concat", ["x", "x"], ["twice"], axis=1),
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("Expand", ["none", "shape"], ["grid4"]),
        helper.make_node("Slice", ["grid4", "one", "three", "one"], ["grid3"]),
        helper.make_node("Transpose", ["grid3"], ["grid"], perm=[0, 2, 3, 1]),
        helper.make_node("GridSample", ["twice", "grid"], ["y"], name="warp"),
    ]
    with pytest.raises(ExceptionGroup) as refused:
        ir_interp.convert(saved(tmp_path / "a.onnx", nodes), tmp_path / "a.xml", ir=10)
    (one,) = refused.value.exceptions
    assert "GridSample of opset9 has no form in the operation sets up to 7" in str(one)
    assert not (tmp_path / "a.xml").exists()


def test_types_that_an_old_ir_does_not_keep_are_named(tmp_path: Path) -> None:
    nodes = [helper.make_node("ArgMax", ["x"], ["y"])]
    source = saved(tmp_path / "a.onnx", nodes, element=onnx.TensorProto.INT64)
    with pytest.raises(ExceptionGroup) as refused:
        ir_interp.convert(source, tmp_path / "a.xml", ir=10)
    assert "Result 'y': i64 is not kept at the ends of an old IR; expected one of f32, i32" in str(
        refused.value.exceptions[0]
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ir": 9}, "ir=9 is not supported; expected one of 10, 11"),
        ({"interpolate": 3}, "interpolate=3 is not supported; expected one of 1, 4, 11"),
        ({"ir": 10, "interpolate": 11}, "an IR of version 10 has Interpolate-4 at most"),
    ],
)
def test_versions_that_are_not_written(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    source = saved(tmp_path / "a.onnx", [resize(mode="linear")])
    with pytest.raises(SpecError, match=f"^{message}$"):
        ir_interp.convert(source, tmp_path / "a.xml", **options)


def test_an_onnx_model_has_no_version_of_an_ir(tmp_path: Path) -> None:
    source = saved(tmp_path / "a.onnx", [resize(mode="linear")])
    ir_interp.convert(source, tmp_path / "a.xml")
    with pytest.raises(SpecError, match=r"^ir has no effect on"):
        ir_interp.convert(tmp_path / "a.xml", tmp_path / "b.onnx", ir=10)
