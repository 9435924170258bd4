"""Constant sizes in IRs and TFLite files: OpenVINO's reshape finds what ONNX's shape inference finds in the source."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov
import pytest

import ir_interp
from tests.fix.test_constant_sizes import found, pyramid
from tests.support.commands import command
from tests.support.tflite_nets import Net


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def as_ir(source: Path) -> Path:
    path = source.with_suffix(".xml")
    ov.save_model(ov.convert_model(source), path, compress_to_fp16=False)
    return path


@pytest.mark.sampled(4)
@pytest.mark.parametrize("join", ["Add", "Concat"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"mode": "nearest"},
        {"traced": 96},
        {"head": 7},
        {"form": "of the tensor"},
        {"shape": (1, 3, "h", 64)},
        {"shape": (1, 3, 64, 64)},
    ],
    ids=str,
)
def test_the_same_resizes_are_found_as_in_onnx(options: dict[str, Any], join: str) -> None:
    source = pyramid(join=join, **options)
    assert found(as_ir(source)) == found(source)


def test_the_finding_names_two_sizes() -> None:
    path = as_ir(pyramid())
    message = (
        "sizes [1, 4, 16, 16] are constant, in a model of dynamic size: "
        "it works with x [1, 3, 64, 64], not x [1, 3, 128, 128]"
    )
    assert message in {dict(row.mistakes).get("IRI019") for row in ir_interp.audit(path).rows}
    model = ov.Core().read_model(path)
    model.reshape([1, 3, 64, 64])
    with pytest.raises(RuntimeError):
        model.reshape([1, 3, 128, 128])


def test_it_is_a_finding_of_the_file_as_it_stands() -> None:
    path = as_ir(pyramid())
    assert [row for row in ir_interp.audit(path, shapes={"x": (1, 3, 64, 64)}).rows if dict(row.mistakes)] == []
    path.with_suffix(".bin").unlink()
    assert "IRI019" not in {finding.code for finding in ir_interp.audit(path).findings}


def test_conversions_are_the_same() -> None:
    report = ir_interp.convert(as_ir(pyramid()), "b.onnx")
    assert report.verification is not None
    assert [row.name for row in report.rows] == ["up_second", "up_first"]


def tflite_level(shape: tuple[int, ...], size: int) -> Path:
    """Write a file that pools an image, and enlarges it to a constant size; at 64 the result is added to the image."""
    signature = shape if -1 in shape else None
    net = Net(shape=(1, 64, 64, 4), signature=shape)
    window: dict[str, Any] = {"strideH": 2, "strideW": 2, "filterHeight": 2, "filterWidth": 2}
    pooled = net.operator("AVERAGE_POOL_2D", [0], "pooled", "Pool2DOptions", padding=1, **window)
    net.graph.tensors[pooled].shape, net.graph.tensors[pooled].shapeSignature = [1, 32, 32, 4], signature
    sizes = net.tensor("sizes", "int32", (2,), np.array([size, size], np.int32))
    up = net.operator("RESIZE_BILINEAR", [pooled, sizes], "up", "ResizeBilinearOptions", halfPixelCenters=True)
    net.graph.tensors[up].shape = [1, size, size, 4]
    if size == 64:
        net.operator("ADD", [up, 0], "y", "AddOptions")
    net.save(Path("a.tflite"))
    return Path("a.tflite")


@pytest.mark.parametrize(
    ("shape", "size", "message"),
    [
        ((1, -1, -1, 4), 64, "it works with x [1, 64, 64, 4], not x [1, 128, 128, 4]"),
        ((-1, -1, 64, 4), 64, "it works with x [1, 64, 64, 4], not x [1, 128, 64, 4]"),
        ((-1, -1, -1, 4), 224, None),
        ((1, 64, 64, 4), 64, None),
    ],
    ids=["dynamic", "dynamic height", "a size that is meant", "static"],
)
def test_tflite_files(shape: tuple[int, ...], size: int, message: str | None) -> None:
    pytest.importorskip("ai_edge_litert", reason="pip install 'ir-interp[tflite]'")
    (row,) = ir_interp.audit(tflite_level(shape, size)).rows
    found = dict(row.mistakes).get("IRI019")
    assert found == (message and f"sizes [{size}, {size}] are constant, in a model of dynamic size: {message}")


def test_shapes_are_not_those_of_a_tflite_file(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("ai_edge_litert", reason="pip install 'ir-interp[tflite]'")
    tflite_level((1, -1, -1, 4), 64)
    code, _, errors = command(capsys, "audit", "a.tflite", "--shape", "x:1,64,64,4")
    assert (code, "ir-interp convert a.tflite a.onnx" in errors) == (2, True)
    assert command(capsys, "convert", "a.tflite", "a.onnx", "--shape", "x:1,64,64,4")[0] == 0
    assert command(capsys, "audit", "a.onnx", "--shape", "x:1,64,64,4")[0] == 0
