"""What has no end is refused, wherever it stands for a file; and an IR's weights lie where the IR does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import openvino as ov
import openvino.opset13 as ops
import pytest

import ir_interp
from ir_interp import ReadError
from tests.support.commands import command
from tests.support.external import PLACES, save_external
from tests.support.graphs import save_model
from tests.support.places import ROOT

TEXT = """g (float[1,1,8,8] x) => (float[1,1,k,l] y) <float[4] s = {1,1,2,2}> {
    y = Resize <mode = "nearest"> (x, "", s)
}"""
ENDLESS: dict[str, Callable[[str], None]] = {
    "pipe": lambda name: os.mkfifo(name),
    "device": lambda name: Path(name).symlink_to("/dev/zero"),
}
COMMANDS = (
    "inspect bad.onnx",
    "inspect bad.xml",
    "inspect bad.json",
    "explain bad.onnx --shape 1,1,8,8",
    "plot bad.onnx y.png",
    "run bad.xml --input x.npy --output y.npy",
    "run a.onnx --input bad.npy --output y.npy",
    "run a.onnx --input bad.bmp --output y.npy",
    "convert bad.onnx y.xml",
    "convert bad.xml y.onnx",
    "convert bad.json y.onnx",
    "convert a.onnx y.xml --input x=bad.npy",
    "compare a.onnx bad.onnx",
    "compare bad.xml a.onnx",
    "compare a.onnx a.onnx --input x=bad.npy",
    "compare a.onnx a.onnx --html y.html --image bad.bmp",
    "compare bad.bmp --like pillow:bicubic --like opencv:cubic --sizes 4,4",
    "run bad.bmp --like pillow:bicubic --sizes 4,4 --output y.npy",
    "run bad.npy --like pillow:bicubic --sizes 4,4 --output y.npy",
    "plot a.onnx y.png --what image --input bad.bmp",
    "convert a.onnx y.xml --html y.html --image bad.bmp",
    "convert a.onnx y.xml --input x=bad.bmp",
    "preprocess bad.onnx y.onnx --like pillow:bicubic --size 8,8",
    "preprocess a.onnx y.onnx --config bad.json",
    "identify bad.bmp x.npy",
    "identify x.npy bad.npy",
    "identify folder folder",
    "explain bad.json",
    "audit a.onnx --html y.html --image bad.bmp",
    "audit bad.onnx",
    "audit folder",
    "audit @bad.txt",
    "audit bad.tflite",
    "inspect bad.tflite",
    "convert bad.tflite y.onnx",
    "convert layers.json y.tflite --into bad.tflite",
    "fix bad.onnx y.onnx",
    "reproduce bad.onnx y --runtime openvino",
)
FLEETS = (
    "audit folder --results r.jsonl",
    "audit folder --results r.jsonl --jobs 2",
    "convert folder out --to .xml",
    "convert @list.txt out --to .onnx --target openvino",
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    save_model(Path("a.onnx"), TEXT)
    np.save("x.npy", np.zeros((1, 1, 8, 8), np.float32))
    layer = {
        "name": "up",
        "input": {"shape": [1, 8, 8, 1], "dtype": "float32"},
        "op": "RESIZE_BILINEAR",
        "size": [16, 16],
    }
    Path("layers.json").write_text(json.dumps({"dialect": "tflite", "layers": [layer]}))
    return tmp_path


@pytest.mark.parametrize("kind", ENDLESS)
def test_what_has_no_end_is_refused(kind: str) -> None:
    """In a process with little memory and time, for what is not refused takes all of either."""
    for end in ("onnx", "xml", "json", "npy", "bmp", "txt", "tflite"):
        ENDLESS[kind](f"bad.{end}")
    for name in ("folder/bad.onnx", "folder/bad.xml"):
        ENDLESS[kind](name)
    lines = (
        "import resource, sys",
        f"sys.path.insert(0, {str(ROOT)!r})",
        "from ir_interp.cli.main import main",
        "import ir_interp.converters.conversion.converting, ir_interp.converters.verify.model_pairs",
        "import ir_interp.converters.audit.auditing",
        "resource.setrlimit(resource.RLIMIT_AS, (2**33, 2**33))",
        f"for each in {COMMANDS}:",
        "    assert main(each.split()) == 2, each",
    )
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=False, timeout=200
    )
    said = done.stderr.splitlines()
    assert (done.returncode, len(said)) == (0, len(COMMANDS) + 1), done.stderr
    assert all(each.startswith("error: ") and "Not a regular file" in each for each in said), done.stderr
    assert not Path("y.xml").exists()


@pytest.mark.sampled(1)
@pytest.mark.parametrize("line", FLEETS)
def test_many_models_among_which_some_have_no_end(line: str) -> None:
    """In a process of its own, which is stopped where it hangs."""
    for kind, make in ENDLESS.items():
        for name in ("bad0.onnx", "bad1.xml", "bad2.tflite"):
            make(f"folder/{kind.replace(' ', '-')}-{name}")
    save_model(Path("folder", "good.onnx"), TEXT)
    Path("list.txt").write_text("folder\n")
    program = [sys.executable, "-m", "ir_interp", *line.split(), "--json"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(program, capture_output=True, text=True, check=False, timeout=100, env=environment)
    summary = json.loads(done.stdout)
    assert (done.returncode, done.stderr) == (2, "")
    assert (summary["models"], summary["resizes"], summary["exporters"]["unknown"]) == (7, 1, 7)
    results = Path("out/results.jsonl" if line.startswith("convert") else "r.jsonl").read_text().splitlines()
    errors = [error["message"] for each in results for error in json.loads(each)["errors"]]
    assert len(errors) == 6
    assert any("cannot be read: Not a regular file" in each for each in errors)


def test_results_are_a_regular_file(capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo("r.jsonl")
    said = "error: r.jsonl cannot be written: Not a file\n"
    assert command(capsys, "audit", "a.onnx", "--results", "r.jsonl") == (2, "", said)
    said = "error: away/r.jsonl cannot be written: folder away does not exist; create it first\n"
    assert command(capsys, "audit", "a.onnx", "--results", "away/r.jsonl") == (2, "", said)


@pytest.mark.parametrize(
    "line", ["", "[]", "[" * 10**6, '{"file": "a.onnx", "setting": "x"}', '{"file": 1, "setting": {}, "stamp": []}']
)
def test_results_that_are_none(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("r.jsonl").write_text(f"{line}\n")
    said = "error: r.jsonl: line 1 is not a result of a model; choose another name\n"
    assert command(capsys, "audit", "a.onnx", "--results", "r.jsonl") == (2, "", said)


def test_a_folder_with_such_files_is_audited(capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo("folder/b.onnx")
    save_model(Path("folder", "c.onnx"), TEXT)
    code, printed, errors = command(capsys, "audit", "folder")
    assert (code, errors) == (2, "error: folder/b.onnx: cannot be read: Not a regular file\n")
    assert "1 resize, 0 findings" in printed


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", ENDLESS)
def test_external_data_without_an_end(kind: str, place: str, capsys: pytest.CaptureFixture[str]) -> None:
    ENDLESS[kind]("weights")
    save_external(Path("b.onnx"), place, "weights")
    said = "error: b.onnx: its external data are not a regular file: weights\n"
    for line in ("convert b.onnx b.xml", "convert b.onnx c.onnx --target openvino", "compare b.onnx a.onnx"):
        assert command(capsys, *line.split()) == (2, "", said)


def save_ir(path: Path) -> None:
    x = ops.parameter([1, 1, 8, 8], np.float32, name="x")
    sizes, axes = ops.constant(np.array([16, 16])), ops.constant(np.array([2, 3]))
    up = ops.interpolate(x, sizes, "nearest", "sizes", axes=axes)
    ov.save_model(ov.Model([up], [x], "m"), path)


@pytest.mark.parametrize("line", ["inspect a.xml", "convert a.xml b.onnx", "compare a.xml a.onnx", "audit a.xml"])
def test_an_ir_takes_no_weights_from_elsewhere(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    save_ir(tmp_path / "secret.xml")
    monkeypatch.chdir("folder")
    save_model(Path("a.onnx"), TEXT)
    Path("a.xml").write_bytes((tmp_path / "secret.xml").read_bytes())
    Path("a.bin").symlink_to("../secret.bin")
    code, _, errors = command(capsys, *line.split())
    assert (code, errors) == (2, f"error: a.xml: its .bin lies outside its folder: {tmp_path / 'secret.bin'}\n")


@pytest.mark.parametrize("kind", ENDLESS)
def test_an_ir_takes_no_weights_without_an_end(kind: str) -> None:
    save_ir(Path("a.xml"))
    Path("a.bin").unlink()
    ENDLESS[kind]("a.bin")
    with pytest.raises(
        ReadError, match=r"a\.xml: its \.bin (is not a regular file: a\.bin|lies outside its folder: /dev)"
    ):
        ir_interp.load("a.xml")


def test_an_ir_in_a_store_of_models(tmp_path: Path) -> None:
    """Hugging Face's cache holds files by their digest, and shows them by links."""
    for name in ("blobs", "snapshots"):
        Path(name).mkdir()
    save_ir(tmp_path / "a.xml")
    for end in ("xml", "bin"):
        (tmp_path / f"a.{end}").rename(tmp_path / "blobs" / f"digest-of-{end}")
        Path("snapshots", f"a.{end}").symlink_to(f"../blobs/digest-of-{end}")
    (op,) = ir_interp.load("snapshots/a.xml")
    assert op.shape == (1, 1, 8, 8)
