"""Lengths of ``--shape`` that are written into the model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import openvino as ov
import pytest

import ir_interp
from ir_interp import IrInterpError, SpecError
from tests.support.commands import command
from tests.support.graphs import save_model

TEXT = """g (float[n,3,h,w] x, float[n,c] z) => (float[n,3,k,l] y, float[n,c] u) <float[4] s = {1,1,0.7,0.7}> {
    [down] y = Resize <mode = "linear", antialias = 1> (x, "", s)
    u = Relu (z)
}"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return save_model(tmp_path / "a.onnx", TEXT)


def lengths(value: Any) -> list[int | str]:
    return [each.dim_param or each.dim_value for each in value.type.tensor_type.shape.dim]


def test_tensorrt_takes_what_is_frozen(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("convert", str(source), str(tmp_path / "b.onnx"), "--target", "tensorrt", "--shape", "x:2,3,40,30")
    code, _, errors = command(capsys, *arguments)
    assert (code, errors.count("--freeze")) == (1, 1)
    assert command(capsys, *arguments, "--freeze")[0] == 0
    model = onnx.load(tmp_path / "b.onnx")
    assert [lengths(each) for each in model.graph.input] == [[2, 3, 40, 30], [2, "c"]]


def test_an_ir_is_static_both_ways(source: Path, tmp_path: Path) -> None:
    shapes = {"x": (1, 3, 40, 30), "z": (1, 7)}
    report = ir_interp.convert(source, tmp_path / "a.xml", shapes=shapes, freeze=True)
    assert (report.source, report.rows[0].grade.value) == (source, "exact for this shape")
    model = ov.Core().read_model(tmp_path / "a.xml")
    assert [list(port.shape) for port in (*model.inputs, *model.outputs)] == [
        *([1, 3, 40, 30], [1, 7]),
        *([1, 3, 28, 21], [1, 7]),
    ]
    ir_interp.convert(source, tmp_path / "b.xml", verify=False)
    ir_interp.convert(tmp_path / "b.xml", tmp_path / "b.onnx", shapes=shapes, freeze=True, verify=False)
    assert [lengths(each) for each in onnx.load(tmp_path / "b.onnx").graph.input] == [[1, 3, 40, 30], [1, 7]]


def test_weights_in_other_files_are_found(tmp_path: Path) -> None:
    text = """g (float[n,3,h,w] x) => (float[n,2,h,w] y) <float[2,3,1,1] k = {1,2,3,4,5,6}> { y = Conv (x, k) }"""
    model = onnx.load(save_model(tmp_path / "a.onnx", text))
    options: dict[str, Any] = {"save_as_external_data": True, "location": "a.data", "size_threshold": 0}
    onnx.save(model, tmp_path / "a.onnx", **options)
    report = ir_interp.convert(tmp_path / "a.onnx", tmp_path / "a.xml", shapes={"x": (1, 3, 8, 9)}, freeze=True)
    assert report.verification is not None
    assert dict(report.verification.shapes) == {"x": (1, 3, 8, 9)}
    x = np.ones((1, 3, 8, 9), np.float32)
    assert ov.Core().compile_model(tmp_path / "a.xml", "CPU")(x)[0][0, :, 0, 0].tolist() == [6, 15]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"freeze": True}, SpecError, "freeze=True has no effect without shapes"),
        (
            {"freeze": True, "shapes": {"x": (1, 4, 8, 8)}},
            IrInterpError,
            "shape [1, 4, 8, 8] does not fit; input 'x' is float32 of shape [?, 3, ?, ?]",
        ),
        (
            {"shapes": {"x": (1, 3, 8, 8)}, "verify": False},
            SpecError,
            "shapes has no effect without verification or freeze",
        ),
    ],
)
def test_refusals(options: dict[str, Any], error: type[Exception], message: str, source: Path, tmp_path: Path) -> None:
    with pytest.raises(error) as refusal:
        ir_interp.convert(source, tmp_path / "b.xml", **options)
    assert str(refusal.value) == message
