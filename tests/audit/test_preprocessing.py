"""``audit --preprocess --trained``: what it costs that another resize stands before a model than in its training."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper
from PIL import Image

import ir_interp
from ir_interp import IrInterpError, ReadError, Severity, SpecError
from ir_interp.cli.main import main

Say = pytest.CaptureFixture[str]


def model(path: Path, *lengths: int | str) -> Path:
    ends = [helper.make_tensor_value_info(name, 1, lengths) for name in ("x", "y")]
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "g", ends[:1], ends[1:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


@pytest.fixture
def photo(tmp_path: Path) -> Path:
    rows, columns = np.mgrid[0:48, 0:64]
    pixels = np.stack([127 + 127 * np.sin((rows**2 + columns**2) / 90), columns * 4, rows * 5], 2)
    path = tmp_path / "photo.png"
    Image.fromarray(pixels.astype(np.uint8)).save(path)
    return path


@pytest.mark.parametrize("lengths", [(1, 3, 20, 30), ("n", 20, 30, 3), (3, 20, 30), (1, 1, 20, 30)])
def test_the_cost_of_another_resize(tmp_path: Path, photo: Path, lengths: tuple[int | str, ...]) -> None:
    """The numbers are those of Pillow itself, and of a nearest resize written out."""
    source = model(tmp_path / "a.onnx", *lengths)
    found = ir_interp.audit(source, preprocess="opencv:nearest", trained="pillow:bicubic", image=photo)
    (cost,) = found.preprocessing
    with Image.open(photo) as opened:
        image = opened.convert("L" if 1 in lengths[1:] else "RGB")
    trained = np.asarray(image.resize((30, 20), Image.Resampling.BICUBIC)).astype(int)
    deployed = np.asarray(image)[np.arange(20) * 48 // 20][:, np.arange(30) * 64 // 30]
    apart = np.abs(trained - deployed)
    likeness = cost.likeness
    assert (likeness.unequal, likeness.count, likeness.largest) == ((apart > 0).sum(), apart.size, apart.max())
    assert (cost.beyond, apart[likeness.at]) == ((apart > 1).sum(), apart.max())
    assert likeness.mean == pytest.approx(apart.mean())
    (finding,) = found.findings
    assert (finding.code, finding.severity, finding.where) == ("IRI041", Severity.WARNING, "a.onnx: input 'x', 20x30")
    assert finding.message == cost.text
    assert found.fails()


_SHAPES = ["480x640", "640x480", "1080x1920", "2400x1080", "500x2000", "2000x500"]


def test_random_images_rounding_and_equality(tmp_path: Path) -> None:
    source = model(tmp_path / "a.onnx", 1, 3, 40, 60)
    report = ir_interp.audit(source, preprocess="opencv:linear", trained="pillow:bilinear")
    images = [f"random {shape}" for shape in ("120x180", "20x30", *_SHAPES)]
    assert [cost.image for cost in report.preprocessing] == images
    enlarged = report.preprocessing[1]
    assert (enlarged.likeness.largest, enlarged.beyond) == (1, 0)
    (finding,) = report.findings  # one for an input, not for an image
    assert finding.message.endswith("; 8 of 8 images differ")
    same = ir_interp.audit(source, preprocess="pillow@12:nearest", trained="pillow@13:nearest")
    assert {cost.likeness.unequal for cost in same.preprocessing} == {0}
    assert not same.findings
    assert not ir_interp.audit(source, preprocess="opencv:linear", trained="pillow:box", ignore=["IRI04"]).findings


def test_a_photo_that_some_libraries_turn(tmp_path: Path, photo: Path) -> None:
    source, turned = model(tmp_path / "a.onnx", 1, 3, 96, 128), tmp_path / "turned.jpg"
    exif = Image.Exif()
    exif[0x0112] = 6
    with Image.open(photo) as upright:
        upright.save(turned, exif=exif)
    report = ir_interp.audit(source, preprocess="opencv:linear", trained="pillow:bilinear", image=turned)
    (error,) = report.errors
    assert "turned.jpg: its EXIF orientation is 6: OpenCV, transformers and Ultralytics rotate" in str(error)


def test_rounding_alone_is_a_note(tmp_path: Path, photo: Path) -> None:
    source = model(tmp_path / "a.onnx", 1, 3, 96, 128)
    (finding,) = ir_interp.audit(source, preprocess="opencv:linear", trained="pillow:bilinear", image=photo).findings
    assert finding.severity is Severity.NOTE


def test_shapes_that_are_no_squares_decide(tmp_path: Path) -> None:
    """Pillow 13 filters the columns of a tall image first, Pillow 12 its rows: no square image differs."""
    source = model(tmp_path / "a.onnx", 1, 3, 64, 64)
    report = ir_interp.audit(source, preprocess="pillow@12:bicubic", trained="pillow@13:bicubic")
    unequal = {cost.image for cost in report.preprocessing if cost.likeness.unequal}
    assert "random 2000x500" in unequal
    assert "random 480x640" not in unequal
    assert not [
        cost for cost in report.preprocessing if cost.image in ("random 192x192", "random 32x32") and cost.beyond
    ]
    (finding,) = report.findings
    assert finding.severity is (
        Severity.WARNING if any(cost.beyond for cost in report.preprocessing) else Severity.NOTE
    )


def test_two_calls_of_one_resize_are_the_same(tmp_path: Path, capsys: Say) -> None:
    source = model(tmp_path / "a.onnx", 1, 3, 16, 16)
    calls = ["--preprocess", "pillow:box", "--trained", "pillow:box,mode=RGB"]
    assert main(["audit", str(source), *calls]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "a.onnx: input 'x', 16x16: pillow:box and pillow:box,mode=RGB: the same resize" in said


@pytest.mark.parametrize(
    ("lengths", "sizes"),
    [
        ((1, 3, "h", "w"), ["224x224 of [1, 3, ?, ?]", "640x640 of [1, 3, ?, ?]"]),
        ((1, 3, 48, "w"), ["48x224 of [1, 3, 48, ?]", "48x640 of [1, 3, 48, ?]"]),
        (("n", "c", 20, 30), ["20x30 of [?, ?, 20, 30]"]),
        (("n", 20, 30, 3), ["20x30"]),
        (("n", "h", "w", 3), ["224x224 of [?, ?, ?, 3]", "640x640 of [?, ?, ?, 3]"]),
    ],
)
def test_dynamic_inputs(tmp_path: Path, photo: Path, lengths: tuple[int | str, ...], sizes: list[str]) -> None:
    source = model(tmp_path / "a.onnx", *lengths)
    report = ir_interp.audit(source, preprocess="opencv:linear", trained="pillow:bilinear", image=photo)
    assert [cost.where for cost in report.preprocessing] == [f"a.onnx: input 'x', {size}" for size in sizes]
    assert not report.errors


@pytest.mark.parametrize(
    "call", ["tensorflow:bilinear", "jax:linear", "skimage:1", "scipy:1", "torchvision:bicubic", "torch:bilinear"]
)
def test_every_library(tmp_path: Path, photo: Path, call: str) -> None:
    """Libraries that make floats of bytes differ from those that round by less than one."""
    source = model(tmp_path / "a.onnx", 1, 3, 96, 128)  # which no antialias has an effect on
    (cost,) = ir_interp.audit(source, preprocess=call, trained=call, image=photo).preprocessing
    assert (cost.is_same, cost.likeness.unequal) == (True, 0)
    (other,) = ir_interp.audit(source, preprocess=call, trained="opencv:linear", image=photo).preprocessing
    assert other.likeness.unequal
    assert other.beyond == 0 or call in ("scipy:1", "skimage:1", "torchvision:bicubic")
    assert other.likeness.bound is None or call.startswith("torch")


def test_on_the_command_line(tmp_path: Path, photo: Path, capsys: Say) -> None:
    source, page = model(tmp_path / "a.onnx", 1, 3, "h", "w"), tmp_path / "a.html"
    asked = ["audit", str(source), "--preprocess", "opencv:linear", "--trained", "pillow:bilinear"]
    sized = [*asked, "--shape", "1,3,16,16", "--image", str(photo)]
    assert main([*sized, "--json", "--html", str(page)]) == 1
    (cost,) = json.loads(capsys.readouterr().out)["preprocessing"]
    assert cost["image"] == "photo.png, 48x64"
    assert "opencv:linear in place of pillow:bilinear" in page.read_text(encoding="utf-8")
    assert main([*sized, "--format", "sarif"]) == 1
    assert json.loads(capsys.readouterr().out)["runs"][0]["results"][0]["ruleId"] == "IRI041"
    assert main([*asked[:3], "opencv:nearest", *asked[4:], "--image", str(photo)]) == 1
    assert "224x224 of [1, 3, ?, ?]" in " ".join(capsys.readouterr().out.split())
    nearest = ["--preprocess", "pillow@12:nearest", "--trained", "pillow@13:nearest", "--shape", "1,3,16,16"]
    assert main([*asked[:2], *nearest]) == 0
    assert "the same resize" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("deployed", "trained", "said"),
    [
        ("opencv:linear", None, "trained is missing"),
        (None, "opencv:linear", "preprocess is missing"),
        ("model.onnx", "pillow:box", "pillow:box is a single resize, the other a pipeline"),
        ("pillow:box,mode=F", "opencv:linear", "images of mode F are not supported"),
        ("torch:linear", "opencv:linear", "linear takes tensors of float16, bfloat16, float32, float64, not of uint8"),
        ("torch:nearest,rank=3", "opencv:linear", "resizes 1 axes; an image has two"),
        ("opencv:liner", "pillow:box", "unknown value 'liner'"),
    ],
)
def test_what_is_refused(tmp_path: Path, deployed: str | None, trained: str | None, said: str) -> None:
    source = model(tmp_path / "a.onnx", 1, 3, 16, 16)
    with pytest.raises(IrInterpError, match=said):
        ir_interp.audit(source, preprocess=deployed, trained=trained)


def test_images_and_models_that_are_none(tmp_path: Path) -> None:
    source = model(tmp_path / "a.onnx", 1, 7)
    with pytest.raises(SpecError, match="image has no effect without preprocess and trained"):
        ir_interp.audit(source, image=source)
    with pytest.raises(ReadError, match="cannot be read as an image"):
        ir_interp.audit(source, preprocess="opencv:linear", trained="pillow:box", image=source)
    (error,) = ir_interp.audit(source, preprocess="opencv:linear", trained="pillow:box").errors
    assert error.problem.startswith("no input takes an image of 1 or 3 channels")
