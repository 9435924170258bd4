"""Destinations that cannot be written, and conversions that are not made."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import onnx
import pytest

import ir_interp
from ir_interp.cli.main import main
from tests.support.bad_input import SHAPE, Fails, net, pasted, resize
from tests.support.commands import completed
from tests.support.runtimes import onnxruntime_resize


@pytest.fixture
def good(tmp_path: Path) -> Path:
    """Return a folder of one good source of each kind."""
    (tmp_path / "a.xml").write_text(pasted())
    (tmp_path / "a.onnx").write_bytes(resize({"mode": "linear", "axes": [2, 3]}, sizes=[8, 12]).SerializeToString())
    layer = {"input": {"shape": SHAPE}, "resize_mode": "LINEAR", "shape": [1, 1, 8, 12]}
    (tmp_path / "a.json").write_text(json.dumps({"dialect": "tensorrt", "layers": [layer]}))
    return tmp_path


CONVERSIONS = [
    ("a.onnx", "xml"),
    ("a.onnx", "json"),
    ("a.onnx", "py"),
    ("a.xml", "onnx"),
    ("a.xml", "json"),
    ("a.json", "onnx"),
    ("a.json", "xml"),
]


@pytest.mark.parametrize(("source", "end"), CONVERSIONS)
def test_a_destination_in_a_folder_that_is_not_there(source: str, end: str, good: Path, fails: Fails) -> None:
    reason = fails("convert", source, f"away/b.{end}")
    assert reason == f"away/b.{end} cannot be written: folder away does not exist; create it first"


@pytest.mark.parametrize(("source", "end"), CONVERSIONS)
def test_a_folder_in_place_of_the_destination(source: str, end: str, good: Path, fails: Fails) -> None:
    (good / f"b.{end}").mkdir()
    reason = fails(
        "convert", source, f"b.{end}", "--no-verify"
    )  # which also compares what is in the folder before and after
    assert reason.endswith("cannot be written: Is a directory")


def test_a_file_in_place_of_the_folder(good: Path, fails: Fails) -> None:
    assert fails("convert", "a.xml", "a.json/b.onnx") == "a.json/b.onnx cannot be written: Not a directory"


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to root")
def test_a_folder_that_must_not_be_written(good: Path, fails: Fails) -> None:
    folder = good / "locked"
    folder.mkdir(mode=0o500)
    assert fails("convert", "a.xml", "locked/b.onnx") == "locked/b.onnx cannot be written: Permission denied"


def test_a_failure_leaves_what_was_there(good: Path, fails: Fails) -> None:
    (good / "b.onnx").write_text("old")
    (good / "a.xml").write_text(pasted('axes="2,9" mode="linear"'))
    fails("convert", "a.xml", "b.onnx")
    assert (good / "b.onnx").read_text() == "old"


def test_a_whole_net_to_onnx(fails: Fails, tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(np.array([8, 12]).tobytes())
    made = net('axes="2,3" mode="linear"')
    made.add("Wobble", "", name="act")
    made.write(tmp_path / "a.xml", binary=False)
    assert fails("convert", "a.xml", "b.onnx") == (
        "a.xml:layer[4 \"act\"]: no ONNX form is known for layer type 'Wobble'"
    )


def test_several_layers_to_onnx(good: Path, fails: Fails) -> None:
    (good / "a.xml").write_text(pasted() + pasted(name="down", number=1))
    assert fails("convert", "a.xml", "b.onnx") == ("a.xml: 2 layers; expected a single one")
    layer = {"input": {"shape": SHAPE}, "shape": [1, 1, 8, 12]}
    (good / "a.json").write_text(json.dumps({"dialect": "tensorrt", "layers": [layer, layer]}))
    assert fails("convert", "a.json", "b.onnx") == "a.json: 2 layers; expected a single one"


def test_an_unknown_dialect(good: Path, fails: Fails) -> None:
    known = ", ".join(completed("convert", "--dialect"))
    assert fails("convert", "a.onnx", "b.json", "--dialect", "tensort") == (
        f"unknown dialect 'tensort'; expected one of {known}; did you mean 'tensorrt'?"
    )
    reason = fails("convert", "a.onnx", "b.py", "--dialect", "tflite")
    assert reason == "Python is written for tensorrt only, not for tflite"


@pytest.mark.parametrize("opset", ["-1", "0", "6", "99", "twelve"])
def test_an_opset_that_is_not_written(opset: str, good: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The help says 7 to 19."""
    code = main(["convert", str(good / "a.xml"), str(good / "b.onnx"), "--opset", opset])
    errors = capfd.readouterr().err
    assert (code, (good / "b.onnx").exists()) == (2, False)
    assert "opset" in errors
    assert "Traceback" not in errors


@pytest.mark.parametrize("opset", [7, 8, 9, 10, 11, 12, 13, 14, 17, 18, 19])
def test_every_opset_that_is_written(opset: int, good: Path) -> None:
    """Operator sets in which Resize did not change are written as well, and run."""
    assert main(["convert", str(good / "a.xml"), str(good / "b.onnx"), "--no-verify", "--opset", str(opset)]) == 0
    x = np.random.default_rng(0).random(SHAPE, np.float32)
    wanted = ir_interp.load(good / "a.xml")[0].run(x)
    model = onnx.load(str(good / "b.onnx"))
    assert [entry.version for entry in model.opset_import] == [opset]
    np.testing.assert_allclose(onnxruntime_resize(model, {"x": x}), wanted, rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--shape", "x"], "--shape 'x': expected SIZES or NAME:SIZES, as in 1,3,640,640 or x:1,3,640,640"),
        (["--shape", ":1,2"], "--shape ':1,2': expected SIZES or NAME:SIZES, as in 1,3,640,640 or x:1,3,640,640"),
        (
            ["--shape", "x:1,four"],
            "--shape 'x:1,four': expected SIZES or NAME:SIZES, as in 1,3,640,640 or x:1,3,640,640",
        ),
        (["--shape", "1,1,9,9"], "shape [1, 1, 9, 9] does not fit; input 'x' is float32 of shape [1, 1, 4, 6]"),
        (["--shape", "image:1,1,4,6"], "no input 'image'; expected x"),
        (["--shape", "x:1,1,9,9"], "shape [1, 1, 9, 9] does not fit; input 'x' is float32 of shape [1, 1, 4, 6]"),
        (["--shape", "x:4,6"], "shape [4, 6] does not fit; input 'x' is float32 of shape [1, 1, 4, 6]"),
        (["--input", "x.npy,"], "--input 'x.npy,': expected PATH or NAME=PATH, as in image.npy or x=image.npy"),
        (["--input", "=x.npy"], "--input '=x.npy': expected PATH or NAME=PATH, as in image.npy or x=image.npy"),
        (["--input", "x="], "--input 'x=': expected PATH or NAME=PATH, as in image.npy or x=image.npy"),
        (["--input", "image=x.npy"], "no input 'image'; expected x"),
        (["--input", "x=gone.npy"], "gone.npy: cannot be read: No such file or directory"),
        (["--input", "x=a.json"], "a.json: not a NumPy array: "),
        (
            ["--input", "x=wide.npy"],
            "wide.npy: float64 of shape [1, 1, 4, 6]; input 'x' is float32 of shape [1, 1, 4, 6]",
        ),
        (["--input", "x=flat.npy"], "flat.npy: float32 of shape [4, 6]; input 'x' is float32 of shape [1, 1, 4, 6]"),
    ],
)
def test_inputs_to_verify_on_that_make_no_sense(options: list[str], reason: str, good: Path, fails: Fails) -> None:
    np.save(good / "wide.npy", np.zeros(SHAPE))
    np.save(good / "flat.npy", np.zeros(SHAPE[2:], np.float32))
    said = fails("convert", "a.onnx", "b.xml", *options)
    assert said.startswith(reason)
    assert said == reason or reason.endswith(": ")
