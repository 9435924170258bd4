"""Whole models and single layers, from file to file, checked in the runtimes that take them."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import onnx
import openvino as ov
import openvino.opset13
import pytest
from onnx import TensorProto, helper, numpy_helper

import ir_interp
from ir_interp import InexactError, ReadError, UnsupportedLayerError
from tests.support.graphs import save_model
from tests.support.ir_text import interpolate
from tests.support.places import ROOT
from tests.support.runtimes import Array, onnxruntime_resize, openvino_resize


def _module(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def pyramid(tmp_path: Path) -> Path:
    path = tmp_path / "fpn.onnx"
    onnx.save(_module(ROOT / "samples" / "fpn.py").build(), path)
    return path


def _model(
    path: Path, nodes: list[onnx.NodeProto], constants: dict[str, Any], shape: list[Any], opset: int = 18
) -> Path:
    """Write a model of one input x and one output y."""
    graph = helper.make_graph(
        nodes,
        "test",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None] * len(shape))],
        [numpy_helper.from_array(np.array(value), name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    model.ir_version = 8
    onnx.save(model, path)
    return path


def _float(*values: float) -> np.ndarray[Any, np.dtype[np.float32]]:
    return np.array(values, np.float32)


def test_a_whole_model(pyramid: Path) -> None:
    destination = pyramid.with_suffix(".xml")
    report = ir_interp.convert(pyramid, destination, shapes={"image": (2, 3, 96, 128)})
    assert [(row.name, row.grade.value) for row in report.rows] == [
        ("up_nearest", "exact"),
        ("up_linear", "exact"),
        ("up_corners", "exact"),
        ("map", "exact"),
    ]
    assert report.verification is not None
    assert [output.name for output in report.verification.outputs] == ["features", "map"]
    assert max(output.relative for output in report.verification.outputs) < 1e-5
    assert {path.name for path in pyramid.parent.iterdir()} == {"fpn.onnx", "fpn.xml", "fpn.bin"}


def test_names_and_open_shapes_are_kept(pyramid: Path) -> None:
    ir_interp.convert(pyramid, pyramid.with_suffix(".xml"), verify=False)
    model = ov.Core().read_model(pyramid.with_suffix(".xml"))
    assert [each.any_name for each in model.inputs] == ["image"]
    assert [each.any_name for each in model.outputs] == ["features", "map"]
    assert model.inputs[0].partial_shape.to_string() == "[?,3,?,?]"


def test_every_resize_becomes_a_native_layer_of_two_axes(pyramid: Path) -> None:
    ir_interp.convert(pyramid, pyramid.with_suffix(".xml"), verify=False)
    found = ir_interp.load(pyramid.with_suffix(".xml"))
    names = ("up_nearest", "up_linear", "up_corners", "map")
    assert [(op.name, op.version, op.spec.axes) for op in found] == [(name, 11, (2, 3)) for name in names]


def test_more_than_two_axes_are_chained(tmp_path: Path) -> None:
    node = helper.make_node("Resize", ["x", "", "", "z"], ["y"], name="up", mode="linear")
    source = _model(tmp_path / "m.onnx", [node], {"z": np.array([1, 2, 9, 8, 7])}, [1, 2, 4, 5, 6])
    report = ir_interp.convert(source, tmp_path / "m.xml", verify=True)
    assert report.rows[0].grade.value == "exact"
    assert [op.spec.axes for op in ir_interp.load(tmp_path / "m.xml")] == [(3, 4), (2,)]


def test_all_refusals_come_together_and_nothing_is_written(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Resize", ["x", "", "", "z"], ["a"], name="edge", mode="linear", antialias=1),
        helper.make_node("Resize", ["a", "", "s"], ["b"], name="good", mode="nearest"),
        helper.make_node("Resize", ["b", "", "", "z"], ["y"], name="cut", mode="cubic", exclude_outside=1),
    ]
    constants = {"z": np.array([1, 1, 3, 3]), "s": _float(1, 1, 2, 2)}
    source = _model(tmp_path / "m.onnx", nodes, constants, [1, 1, 8, 8])
    with pytest.raises(ExceptionGroup) as refusals:
        ir_interp.convert(source, tmp_path / "m.xml", only="native")
    assert str(refusals.value) == "2 of 3 resizes have no exact form (2 sub-exceptions)"
    assert [str(each) for each in refusals.value.exceptions] == [
        "edge: no exact form in openvino 11; the closest form has antialias off (needed: shrinking)",
        "cut: no exact form in openvino 11; the closest form has exclude_outside false (needed: true)",
    ]
    assert [path.name for path in tmp_path.iterdir()] == ["m.onnx"]


def test_what_the_plugin_gets_wrong_is_never_written(tmp_path: Path) -> None:
    node = helper.make_node("Resize", ["x", "", "s"], ["y"], name="up", mode="linear")
    source = _model(tmp_path / "m.onnx", [node], {"s": _float(1, 1, 1, 1, 1, 2)}, [1, 1, 1, 1, 1, 4])
    reason = "OpenVINO: a linear_onnx Interpolate of rank 6 corrupts memory"
    with pytest.raises(ExceptionGroup) as refusals:
        ir_interp.convert(source, tmp_path / "m.xml", only="native")
    assert isinstance(refusals.value.exceptions[0], InexactError)
    assert refusals.value.exceptions[0].reason == reason
    (row,) = ir_interp.convert(source, tmp_path / "m.xml").rows
    assert (row.form, row.note) == ("weighted sums along axes 5", reason)


def test_a_model_that_the_frontend_refuses(tmp_path: Path) -> None:
    node = helper.make_node("NoSuchOp", ["x"], ["y"])
    source = _model(tmp_path / "m.onnx", [node], {}, [1, 2])
    with pytest.raises(UnsupportedLayerError, match="OpenVINO's ONNX frontend refuses it"):
        ir_interp.convert(source, tmp_path / "m.xml")
    assert [path.name for path in tmp_path.iterdir()] == ["m.onnx"]


def test_a_model_that_the_frontend_dies_of(tmp_path: Path) -> None:
    node = helper.make_node("Conv", ["w"], ["y"])
    source = _model(tmp_path / "m.onnx", [node], {"w": np.ones((2, 2, 3, 3), np.float32)}, [1, 2, 4, 4])
    with pytest.raises(ReadError) as refusal:
        ir_interp.convert(source, tmp_path / "m.xml")
    assert str(refusal.value).startswith("m.onnx: it is not valid ONNX: ")
    assert str(refusal.value).endswith("; OpenVINO's frontend crashes on it")


SAMPLES = sorted((ROOT / "samples").glob("*/layer.xml")) + sorted((ROOT / "samples").glob("*/tensorrt.json"))


PAIRS = [
    pytest.param(sample, end, id=f"{sample.parent.name}/{sample.name} to {end}")
    for sample in SAMPLES
    for end in (".onnx", ".xml", ".json")
    if sample.suffix != end
]


@pytest.mark.sampled(10)
@pytest.mark.parametrize(("sample", "end"), PAIRS)
def test_a_layer_converted_computes_the_same(sample: Path, end: str, tmp_path: Path) -> None:
    first = tmp_path / f"first{end}"
    try:
        report = ir_interp.convert(sample, first, verify=False)
    except ExceptionGroup:
        assert (sample.parent.name, end) in [("pillow_antialias", ".json"), ("resize10_simple", ".json")]
        assert list(tmp_path.iterdir()) == []
        return
    (wanted,) = ir_interp.load(sample)
    x = np.load(sample.with_name("input.npy"))
    np.testing.assert_allclose(_run(first, x), wanted.run(x), rtol=0, atol=1e-3)
    assert report.rows[0].source.where.startswith(sample.name)


def _run(path: Path, x: Array) -> Array:
    """Return what a file makes of ``x``, in its own runtime if it has one."""
    if path.suffix == ".json":
        return ir_interp.load(path)[0].run(x)
    if path.suffix == ".xml":
        return openvino_resize(path, {"x": x})
    model = onnx.load(path)
    return onnxruntime_resize(model, {model.graph.input[0].name: x})


def test_an_opset_can_be_asked_for(tmp_path: Path) -> None:
    source = ROOT / "samples" / "pyramid_nearest" / "tensorrt.json"
    for opset, op in ((7, "Upsample"), (9, "Upsample"), (10, "Resize"), (11, "Resize"), (13, "Resize")):
        ir_interp.convert(source, tmp_path / "m.onnx", opset=opset, verify=False)
        model = onnx.load(tmp_path / "m.onnx")
        assert (model.opset_import[0].version, model.graph.node[0].op_type) == (opset, op)


@pytest.mark.parametrize(
    ("dtype", "mode", "axes", "sizes", "note"),
    [
        ("float32", "linear_onnx", "2,3", "8,10", ""),
        ("float32", "linear_onnx", "1,2", "8,10", ""),
        ("float32", "linear_onnx", "0,3", "8,10", "onnxruntime: no linear Resize of axes [0, 3] at rank 4"),
        ("float32", "cubic", "1,2", "3,2", "onnxruntime: no cubic Resize of axes [1, 2] at rank 4"),
        ("float32", "cubic", "1,2", "8,10", ""),
        ("uint8", "cubic", "2,3", "8,10", "onnxruntime: no cubic Resize of uint8"),
        ("int8", "bilinear_pillow", "2,3", "2,3", "onnxruntime: it rounds int8 after each axis under antialias"),
        ("int64", "nearest", "2,3", "8,10", "onnxruntime: no Resize of int64"),
    ],
)
def test_what_onnxruntime_does_not_run_is_noted(
    dtype: str, mode: str, axes: str, sizes: str, note: str, tmp_path: Path
) -> None:
    x = ov.opset13.parameter([2, 4, 5, 6], np.dtype(dtype), name="x")
    listed = np.array([int(axis) for axis in axes.split(",")])
    y = ov.opset13.interpolate(x, np.array([int(size) for size in sizes.split(",")]), mode, "sizes", axes=listed)
    ov.save_model(ov.Model([y], [x], "one"), tmp_path / "one.xml", compress_to_fp16=False)
    report = ir_interp.convert(tmp_path / "one.xml", tmp_path / "one.onnx", verify=False)
    assert report.rows[0].note == note


def test_what_would_not_be_valid_onnx_is_refused(tmp_path: Path) -> None:
    """Pads of uint8 before operator set 13."""
    data = 'axes="1,2" mode="nearest" align_corners="0" pads_begin="0,1,0" pads_end="0,1,2"'
    (tmp_path / "layer.xml").write_text(interpolate(data, shape=(26, 29, 2), out=(26, 25, 33), dtype="uint8"))
    with pytest.raises(InexactError, match=r"^up: no exact form in onnx 10; a Resize would not be valid: .*uint8"):
        ir_interp.convert(tmp_path / "layer.xml", tmp_path / "up.onnx", opset=10)
    assert [path.name for path in tmp_path.iterdir()] == ["layer.xml"]


def test_a_pair_without_a_path(tmp_path: Path) -> None:
    source = ROOT / "samples" / "pyramid_nearest" / "tensorrt.json"
    with pytest.raises(ReadError, match=r"no conversion from \.json to \.txt; \.json becomes \.onnx, "):
        ir_interp.convert(source, tmp_path / "m.txt")


def test_a_window_of_run_time_whose_length_is_not_stated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its length follows from the resize: a start and an end for each axis."""
    monkeypatch.chdir(tmp_path)
    crop = "tf_crop_and_resize"
    text = f"""g (float[1,1,h,w] x, float[n] window) => (float[1,1,c,d] y) <float[4] s = {{1, 1, 2, 2}}> {{
        y = Resize <mode = "linear", coordinate_transformation_mode = "{crop}"> (x, window, s)
    }}"""
    save_model(Path("a.onnx"), text)
    report = ir_interp.convert("a.onnx", "a.xml")
    assert report.verification is not None
    assert all(output.passes for output in report.verification.outputs)
