"""Whole models and single layers, from file to file, checked in the runtimes that take them."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
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
from converters import convert, onnx_to_ir, openvino_nodes, verify
from ir_interp import InexactError, IrInterpError, ReadError, UnsupportedLayerError, VerificationError

ROOT = Path(__file__).parent.parent


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
    report = ir_interp.convert(pyramid, destination, verify=True, shapes={"image": (2, 3, 96, 128)})
    assert [(row.name, row.grade.value) for row in report.rows] == [
        ("up_nearest", "exact"),
        ("up_linear", "exact"),
        ("up_corners", "exact"),
        ("map", "exact"),
    ]
    assert report.differences is not None
    assert list(report.differences) == ["features", "map"]
    assert max(report.differences.values()) < 1e-5
    assert {path.name for path in pyramid.parent.iterdir()} == {"fpn.onnx", "fpn.xml", "fpn.bin"}


def test_names_and_open_shapes_are_kept(pyramid: Path) -> None:
    ir_interp.convert(pyramid, pyramid.with_suffix(".xml"))
    model = ov.Core().read_model(pyramid.with_suffix(".xml"))
    assert [each.any_name for each in model.inputs] == ["image"]
    assert [each.any_name for each in model.outputs] == ["features", "map"]
    assert model.inputs[0].partial_shape.to_string() == "[?,3,?,?]"


def test_every_resize_becomes_a_native_layer_of_two_axes(pyramid: Path) -> None:
    ir_interp.convert(pyramid, pyramid.with_suffix(".xml"))
    found = ir_interp.load(pyramid.with_suffix(".xml"))
    names = ("up_nearest", "up_linear", "up_corners", "map")
    assert [(op.name, op.version, op.spec.axes) for op in found] == [(name, 11, (2, 3)) for name in names]


def test_more_than_two_axes_are_chained(tmp_path: Path) -> None:
    node = helper.make_node("Resize", ["x", "", "", "z"], ["y"], name="up", mode="linear")
    source = _model(tmp_path / "m.onnx", [node], {"z": np.array([1, 2, 9, 8, 7])}, [1, 2, 4, 5, 6])
    report = ir_interp.convert(source, tmp_path / "m.xml", verify=True)
    assert report.rows[0].grade.value == "exact"
    assert [op.spec.axes for op in ir_interp.load(tmp_path / "m.xml")] == [(3, 4), (2,)]


def test_a_resize_in_a_branch(tmp_path: Path) -> None:
    def branch(name: str, mode: str) -> onnx.GraphProto:
        node = helper.make_node("Resize", ["x", "", "s"], [name], name=name, mode=mode)
        return helper.make_graph([node], name, [], [helper.make_tensor_value_info(name, TensorProto.FLOAT, None)])

    nodes = [
        helper.make_node("ReduceMax", ["x"], ["most"], keepdims=0),
        helper.make_node("Greater", ["most", "half"], ["large"]),
        helper.make_node("If", ["large"], ["y"], then_branch=branch("a", "linear"), else_branch=branch("b", "nearest")),
    ]
    constants = {"half": np.float32(0.5), "s": _float(1, 1, 2, 2)}
    source = _model(tmp_path / "m.onnx", nodes, constants, [1, 1, 4, 5])
    report = ir_interp.convert(source, tmp_path / "m.xml", verify=True)
    assert sorted(row.name for row in report.rows) == ["a", "b"]


def test_all_refusals_come_together_and_nothing_is_written(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Resize", ["x", "", "", "z"], ["a"], name="edge", mode="linear", antialias=1),
        helper.make_node("Resize", ["a", "", "s"], ["b"], name="good", mode="nearest"),
        helper.make_node("Resize", ["b", "", "", "z"], ["y"], name="cut", mode="cubic", exclude_outside=1),
    ]
    constants = {"z": np.array([1, 1, 3, 3]), "s": _float(1, 1, 2, 2)}
    source = _model(tmp_path / "m.onnx", nodes, constants, [1, 1, 8, 8])
    with pytest.raises(ExceptionGroup) as refusals:
        ir_interp.convert(source, tmp_path / "m.xml")
    assert str(refusals.value) == "2 of 3 resizes have no exact native form (2 sub-exceptions)"
    assert [str(each) for each in refusals.value.exceptions] == [
        "edge: no exact form in openvino 11; closest differs in antialias (shrinking, off)",
        "cut: no exact form in openvino 11; closest differs in exclude_outside (true, false)",
    ]
    assert [path.name for path in tmp_path.iterdir()] == ["m.onnx"]


@pytest.mark.parametrize(
    ("rank", "reason"),
    [(6, "OpenVINO's CPU plugin corrupts memory in a linear Interpolate of rank 6")],
)
def test_what_the_plugin_gets_wrong_is_never_written(tmp_path: Path, rank: int, reason: str) -> None:
    node = helper.make_node("Resize", ["x", "", "s"], ["y"], name="up", mode="linear")
    source = _model(tmp_path / "m.onnx", [node], {"s": _float(*[1] * (rank - 1), 2)}, [1] * (rank - 1) + [4])
    with pytest.raises(ExceptionGroup) as refusals:
        ir_interp.convert(source, tmp_path / "m.xml")
    assert isinstance(refusals.value.exceptions[0], InexactError)
    assert refusals.value.exceptions[0].reason == reason


def test_a_model_that_the_frontend_refuses(tmp_path: Path) -> None:
    node = helper.make_node("NoSuchOp", ["x"], ["y"])
    source = _model(tmp_path / "m.onnx", [node], {}, [1, 2])
    with pytest.raises(UnsupportedLayerError, match="OpenVINO's ONNX frontend refuses it"):
        ir_interp.convert(source, tmp_path / "m.xml")
    assert [path.name for path in tmp_path.iterdir()] == ["m.onnx"]


def test_verification_catches_a_broken_conversion(pyramid: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    right = openvino_nodes.interpolate

    def wrong(x: ov.Output, op: ir_interp.ResizeOp, target: ov.Output | None = None) -> Any:
        broken = replace(op.spec, coordinates=ir_interp.Coordinates.HALF_PIXEL)
        return right(x, replace(op, spec=broken), target)

    monkeypatch.setattr(onnx_to_ir, "interpolate", wrong)
    with pytest.raises(VerificationError, match=r"output 'features' differs by .* nothing was written"):
        ir_interp.convert(pyramid, pyramid.with_suffix(".xml"), verify=True)
    assert [path.name for path in pyramid.parent.iterdir()] == ["fpn.onnx"]


def test_verification_says_what_does_not_run(pyramid: Path) -> None:
    with pytest.raises(VerificationError, match=r"fpn.onnx does not run: .*23 by 24; nothing was written"):
        ir_interp.convert(pyramid, pyramid.with_suffix(".xml"), verify=True, shapes={"image": (1, 3, 70, 90)})
    with pytest.raises(IrInterpError, match=r"^no input 'picture'; the inputs are image$"):
        ir_interp.convert(pyramid, pyramid.with_suffix(".xml"), verify=True, shapes={"picture": (1, 3, 64, 64)})


def test_equal_infinities_do_not_differ() -> None:
    mine = {"y": np.array([np.inf, 1.0])}
    assert verify._differences(mine, [np.array([np.inf, 1.0])], "m") == {"y": 0.0}
    with pytest.raises(VerificationError, match="output 'y' differs"):
        verify._differences(mine, [np.array([np.nan, 1.0])], "m")


SAMPLES = sorted((ROOT / "samples").glob("*/layer.xml")) + sorted((ROOT / "samples").glob("*/tensorrt.json"))


PAIRS = [
    pytest.param(sample, end, id=f"{sample.parent.name}/{sample.name} to {end}")
    for sample in SAMPLES
    for end in (".onnx", ".xml", ".json")
    if (sample.suffix, end) in convert.PATHS
]


@pytest.mark.parametrize(("sample", "end"), PAIRS)
def test_a_layer_converted_computes_the_same(sample: Path, end: str, tmp_path: Path) -> None:
    first = tmp_path / f"first{end}"
    try:
        report = ir_interp.convert(sample, first)
    except (InexactError, ExceptionGroup):
        assert sample.parent.name in ("pillow_antialias", "resize10_simple")
        assert list(tmp_path.iterdir()) == []
        return
    (op,) = ir_interp.load(first)
    (wanted,) = ir_interp.load(sample)
    x = np.load(sample.with_name("input.npy"))
    np.testing.assert_allclose(op.run(x), wanted.run(x), rtol=0, atol=1e-3)
    assert report.rows[0].source.where.startswith(sample.name)


def test_an_opset_can_be_asked_for(tmp_path: Path) -> None:
    source = ROOT / "samples" / "pyramid_nearest" / "tensorrt.json"
    for opset, op in ((7, "Upsample"), (9, "Upsample"), (10, "Resize"), (11, "Resize"), (13, "Resize")):
        ir_interp.convert(source, tmp_path / "m.onnx", opset=opset)
        model = onnx.load(tmp_path / "m.onnx")
        assert (model.opset_import[0].version, model.graph.node[0].op_type) == (opset, op)
        verify.compare(tmp_path / "m.onnx", tmp_path / "m.onnx", {})


@pytest.mark.parametrize(
    ("dtype", "mode", "axes", "sizes", "note"),
    [
        ("float32", "linear_onnx", "2,3", "8,10", ""),
        ("float32", "linear_onnx", "1,2", "8,10", ""),
        ("float32", "linear_onnx", "0,3", "8,10", "onnxruntime runs no linear Resize of axes [0, 3] at rank 4 on CPU"),
        ("float32", "cubic", "1,2", "3,2", "onnxruntime runs no cubic Resize of axes [1, 2] at rank 4 on CPU"),
        ("float32", "cubic", "1,2", "8,10", ""),
        ("uint8", "cubic", "2,3", "8,10", "onnxruntime has no cubic Resize of uint8 on CPU"),
        ("int8", "bilinear_pillow", "2,3", "2,3", "onnxruntime is not exact in antialias of int8 on CPU"),
        ("int64", "nearest", "2,3", "8,10", "onnxruntime has no Resize of int64 on CPU"),
    ],
)
def test_what_onnxruntime_does_not_run_is_noted(
    dtype: str, mode: str, axes: str, sizes: str, note: str, tmp_path: Path
) -> None:
    x = ov.opset13.parameter([2, 4, 5, 6], np.dtype(dtype), name="x")
    listed = np.array([int(axis) for axis in axes.split(",")])
    y = ov.opset13.interpolate(x, np.array([int(size) for size in sizes.split(",")]), mode, "sizes", axes=listed)
    ov.save_model(ov.Model([y], [x], "one"), tmp_path / "one.xml", compress_to_fp16=False)
    report = ir_interp.convert(tmp_path / "one.xml", tmp_path / "one.onnx")
    assert report.rows[0].note == note


def test_what_would_not_be_valid_onnx_is_refused(tmp_path: Path) -> None:
    """Pads of uint8 before operator set 13, which the rounding of this layer would need."""
    layer = """<layer id="1" name="up" type="Interpolate" version="opset1">
        <data axes="1,2" mode="nearest" align_corners="0" pads_begin="0,1,0" pads_end="0,1,2"/>
        <input><port id="0" precision="U8"><dim>26</dim><dim>29</dim><dim>2</dim></port><port id="1"><dim>2</dim></port>
        </input><output><port id="2" precision="U8"><dim>26</dim><dim>25</dim><dim>33</dim></port></output></layer>"""
    (tmp_path / "layer.xml").write_text(layer)
    with pytest.raises(InexactError, match=r"^up: no exact form in onnx 10; it would not be valid: .*uint8"):
        ir_interp.convert(tmp_path / "layer.xml", tmp_path / "up.onnx")
    assert [path.name for path in tmp_path.iterdir()] == ["layer.xml"]


def test_a_pair_without_a_path(tmp_path: Path) -> None:
    source = ROOT / "samples" / "pyramid_nearest" / "tensorrt.json"
    with pytest.raises(ReadError, match=r"no conversion from \.json to \.txt; expected one of \.onnx to \.xml"):
        ir_interp.convert(source, tmp_path / "m.txt")
