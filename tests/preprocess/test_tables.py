"""Resizes of libraries in front of models for images of known lengths: the bytes in onnxruntime and in OpenVINO."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov
import pytest
from PIL import Image

import ir_interp
from ir_interp import InexactError, ReadError, ShapeError, SpecError
from ir_interp.cli.main import main
from tests.preprocess.test_preprocess import Array, identity, image, letterboxed, made

SIZE = (14, 20)
CALLS = (
    "pillow@12:bilinear", "pillow@13:bicubic", "pillow@12:hamming", "pillow@13:lanczos", "pillow:box", "pillow:nearest",
    "pillow@13:bicubic,reducing_gap=1", "pillow@12:lanczos,reducing_gap=1.5",
    "opencv:linear", "opencv:nearest", "opencv@4:nearest_exact", "opencv:linear_exact", "opencv:area",
    "torch:bilinear", "torch:bicubic", "torch:bicubic,antialias=true", "torch:nearest-exact",
)  # fmt: skip
LENGTHS = ((28, 40), (56, 160), (28, 20), (7, 10), (1, 1), (14, 20))


def in_openvino(path: Path, x: Array) -> Array:
    compiled = ov.Core().compile_model(path, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    y: Array = compiled(x)[0]
    return y


@pytest.mark.sampled(4)
@pytest.mark.parametrize("like", CALLS)
def test_bytes(tmp_path: Path, like: str) -> None:
    source, whole = identity(tmp_path / "a.onnx", 1, 3, *SIZE), tmp_path / "b.onnx"
    for lengths in (*LENGTHS, (98, 180), (200, 31), (13, 400)):
        ir_interp.preprocess(source, whole, like=like, size=SIZE, image_size=lengths, verify=False)
        x = image(np.random.default_rng(0), *lengths)
        wanted = ir_interp.resize(x, SIZE, like, axes=(0, 1))
        assert np.array_equal(made(whole, x)[0].transpose(1, 2, 0), wanted), lengths
    assert np.array_equal(in_openvino(whole, x)[0].transpose(1, 2, 0), wanted), lengths


@pytest.mark.parametrize("lengths", [(13, 400), None])
@pytest.mark.parametrize("opset", [11, 18])
def test_bytes_in_other_operator_sets(tmp_path: Path, opset: int, lengths: tuple[int, int] | None) -> None:
    """OpenCV's linear masks bits where an operator set can."""
    source, whole = identity(tmp_path / "a.onnx", 1, 3, *SIZE, opset=opset), tmp_path / "b.onnx"
    ir_interp.preprocess(source, whole, like="opencv:linear", size=SIZE, image_size=lengths, verify=False)
    x = image(np.random.default_rng(opset), *(lengths or (31, 90)))
    wanted = ir_interp.resize(x, SIZE, "opencv:linear", axes=(0, 1))
    assert np.array_equal(made(whole, x)[0].transpose(1, 2, 0), wanted)
    assert np.array_equal(in_openvino(whole, x)[0].transpose(1, 2, 0), wanted)


@pytest.mark.parametrize(
    "like",
    [
        "opencv:lanczos4", "opencv:cubic", "opencv:cubic,ipp=false", "pillow@13:mks2021",
        "pillow:bicubic,box=1,2,12.5,9",
    ],
)  # fmt: skip
def test_bytes_in_onnxruntime_alone(tmp_path: Path, like: str) -> None:
    """Sums that float32 does not hold, and products that are fused into them."""
    source, whole = identity(tmp_path / "a.onnx", 1, 3, *SIZE), tmp_path / "b.onnx"
    for lengths in ((42, 100), (70, 60)):
        ir_interp.preprocess(source, whole, like=like, size=SIZE, image_size=lengths, verify=False)
        x = image(np.random.default_rng(0), *lengths)
        wanted = ir_interp.resize(x, SIZE, like, axes=(0, 1))
        assert np.array_equal(made(whole, x)[0].transpose(1, 2, 0), wanted), lengths


def test_as_pillow_itself(tmp_path: Path) -> None:
    """The largest and the smallest values are cut as Pillow cuts them, and the order of the axes is its own."""
    source, whole = identity(tmp_path / "a.onnx", 1, *SIZE, 3), tmp_path / "b.onnx"
    x = image(np.random.default_rng(1), 300, 23) // 128 * 255
    for name in ("LANCZOS", "HAMMING", "BICUBIC"):
        ir_interp.preprocess(source, whole, like=f"pillow:{name}", size=SIZE, image_size=x.shape[:2], verify=False)
        wanted = np.asarray(Image.fromarray(x).resize(SIZE[::-1], Image.Resampling[name]))
        assert np.array_equal(made(whole, x)[0], wanted)


@pytest.mark.parametrize("letterbox", [None, 114])
def test_irs(tmp_path: Path, letterbox: int | None) -> None:
    """An IR becomes an IR: the bytes of the resize stay in OpenVINO."""
    ir, whole = tmp_path / "a.xml", tmp_path / "whole.xml"
    ir_interp.convert(identity(tmp_path / "a.onnx", 1, 3, *SIZE), ir)
    given: dict[str, Any] = {"like": "pillow@13:lanczos", "size": SIZE, "letterbox": letterbox}
    assert ir_interp.preprocess(ir, whole, **given, image_size=(50, 33), verify=False) == "image"
    x = image(np.random.default_rng(1), 50, 33)
    plain = ir_interp.resize(x, SIZE, "pillow@13:lanczos", axes=(0, 1))
    wanted = plain if letterbox is None else letterboxed("pillow@13:lanczos", x, SIZE, letterbox)
    assert np.array_equal(in_openvino(whole, x)[0].transpose(1, 2, 0), wanted)
    with pytest.raises(InexactError, match=r"no exact form in an IR of any image size; .* add their size: image_size"):
        ir_interp.preprocess(ir, whole, **given, verify=False)


@pytest.mark.parametrize(
    ("like", "lengths", "said"),
    [
        ("opencv:area", (14 * 300 + 1, 41), "302 taps would be added one by one; expected at most 256"),
        ("opencv:lanczos4", (33, 41), "float32 cannot hold its sums, which have 22 fractional bits"),
        ("opencv:cubic", (33, 41), "it rounds a product and its sum once"),
        ("opencv:cubic,ipp=false", (33, 41), "float32 cannot hold its sums, which have 22 fractional bits"),
        ("pillow:bicubic,reducing_gap=1", (14 * 12, 20 * 11), "they cannot hold sums of 132 pixels"),
        ("pillow:box,mode=RGBA", (33, 41), "has no form in nodes"),
        ("pillow:box,mode=F", (33, 41), "it sums float64"),
    ],
)
def test_what_is_refused(tmp_path: Path, like: str, lengths: tuple[int, int], said: str) -> None:
    source, whole = identity(tmp_path / "a.onnx", 1, 3, *SIZE), tmp_path / "b.xml"
    with pytest.raises(InexactError, match=said):
        ir_interp.preprocess(source, whole, like=like, size=SIZE, image_size=lengths, verify=False)
    assert not whole.exists()


def test_what_a_library_refuses(tmp_path: Path) -> None:
    source, whole = identity(tmp_path / "a.onnx", 1, 3, *SIZE), tmp_path / "b.xml"
    said = r"^torch: area takes tensors of float16, bfloat16, float32, float64, not of uint8$"
    with pytest.raises(ReadError, match=said):
        ir_interp.preprocess(source, whole, like="torch:area", size=SIZE, image_size=(33, 41), verify=False)
    assert not whole.exists()


def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, whole = identity(tmp_path / "a.onnx", 1, 3, *SIZE), tmp_path / "b.onnx"
    asked = ["preprocess", str(source), str(whole), "--like", "opencv:linear", "--size", "14,20"]
    assert main([*asked, "--letterbox", "114", "--image-size", "30,30"]) == 0
    assert "uint8 [30, 30, 3]" in capsys.readouterr().out
    x = image(np.random.default_rng(1), 30, 30)
    assert np.array_equal(made(whole, x)[0].transpose(1, 2, 0), letterboxed("opencv:linear", x, SIZE, 114))
    for more, said in (
        (["--letterbox", "256"], "letterbox is 256; expected the colour"),
        (["--image-size", "30"], "expected height and width"),
        (["--image-size", "0,30"], "0 is not a size; expected integers from 1"),
        (["--config", str(source)], "--config already specifies --like, --size"),
    ):
        assert main([*asked, *more]) == 2
        assert said in capsys.readouterr().err
    with pytest.raises(ShapeError, match=r"^a table of weights of 20x10000000 would need"):
        ir_interp.preprocess(source, whole, like="pillow:box", size=SIZE, image_size=(1, 10**7), verify=False)
    with pytest.raises(ShapeError, match=r"^an image of 1000000x100000 in float32 would need"):
        ir_interp.preprocess(source, whole, like="pillow:box", size=SIZE, image_size=(10**6, 10**5), verify=False)
    with pytest.raises(SpecError, match=r"^torch:nearest,rank=3 resizes 1 axes; an image has two"):
        ir_interp.preprocess(source, whole, like="torch:nearest,rank=3", size=SIZE, verify=False)
    with pytest.raises(ReadError, match=r"b\.txt"):
        ir_interp.preprocess(source, tmp_path / "b.txt", like="opencv:linear", size=SIZE, verify=False)
