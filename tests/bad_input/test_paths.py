"""Names that no file can have, and lists of models that make no sense."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.support.bad_input import SHAPE, Fails, resize
from tests.support.commands import command
from tests.support.external import save_external

LONG = "n" * 300
TOO_LONG = "File name too long"
DESTINATIONS = (
    "convert a.onnx {}.xml",
    "convert a.onnx {}.json",
    "convert a.onnx {}.py",
    "convert a.onnx {}.onnx --target openvino",
    "convert a.onnx b.xml --report {}.json",
    "convert a.onnx b.xml --html {}.html",
    "run a.onnx --input x.npy --output {}.npy",
    "run x.npy --like pillow:bicubic --sizes 4,4 --output {}.png",
    "plot a.onnx {}.png",
    "plot a.onnx {}.svg",
    "fix a.onnx {}.onnx",
    "preprocess a.onnx {}.onnx --like pillow:bicubic --size 4,4",
    "reproduce openvino:antialias {}",
    "reproduce --kit {}",
    "audit a.onnx --html {}.html",
    "audit a.onnx --results {}.jsonl",
    "compare a.onnx a.onnx --html {}.html",
)
SOURCES = (
    "inspect {}.onnx",
    "explain {}.xml",
    "plot {}.json p.png",
    "run {}.onnx --input x.npy --output y.npy",
    "run a.onnx --input {}.npy --output y.npy",
    "run {}.png --like pillow:bicubic --sizes 4,4 --output y.npy",
    "convert {}.onnx b.xml",
    "convert {}.tflite b.xml",
    "convert a.onnx b.xml --input x={}.npy",
    "compare a.onnx {}.onnx",
    "fix {}.onnx b.onnx",
    "audit {}.onnx",
    "audit {}",
    "audit @{}",
    "audit @list.txt",
    "identify {}.png x.npy",
    "preprocess a.onnx b.onnx --config {}.json",
    "reproduce {}.onnx b --runtime openvino",
)


@pytest.fixture(autouse=True)
def _good(tmp_path: Path) -> None:
    (tmp_path / "a.onnx").write_bytes(resize({"mode": "linear", "axes": [2, 3]}, sizes=[8, 12]).SerializeToString())
    (tmp_path / "list.txt").write_text(f"{LONG}.onnx\n")
    np.save(tmp_path / "x.npy", np.zeros(SHAPE, np.float32))


@pytest.mark.parametrize("line", DESTINATIONS)
def test_a_destination_of_too_long_a_name(line: str, fails: Fails) -> None:
    assert fails(*line.format(LONG).split()).endswith(f"cannot be written: {TOO_LONG}")


@pytest.mark.parametrize("line", SOURCES)
def test_a_source_of_too_long_a_name(line: str, fails: Fails) -> None:
    assert fails(*line.format(LONG).split()).endswith(f"cannot be read: {TOO_LONG}")


@pytest.mark.parametrize("location", ["w\0.bin", "w" * 300, "w/" * 3000])
@pytest.mark.parametrize(
    "line",
    [
        "inspect b.onnx",
        "convert b.onnx c.xml",
        "convert b.onnx c.onnx --target openvino",
        "compare b.onnx a.onnx",
        "fix b.onnx c.onnx",
        "preprocess b.onnx c.onnx --like pillow:bicubic --size 4,4",
    ],
)
def test_external_data_of_a_name_that_no_file_has(line: str, location: str, tmp_path: Path, fails: Fails) -> None:
    save_external(tmp_path / "b.onnx", "initialiser", location)
    assert fails(*line.split()).startswith("b.onnx: its external data have an invalid file name: 'w")


@pytest.mark.parametrize("line", ["audit @1.txt", "convert @1.txt out --to .xml", "audit @1.txt --results r.jsonl"])
@pytest.mark.parametrize("count", [1, 2, 5])
def test_a_list_that_names_itself(line: str, count: int, tmp_path: Path, fails: Fails) -> None:
    for number in range(1, count + 1):
        (tmp_path / f"{number}.txt").write_text(f"a.onnx\n@{number % count + 1}.txt\n")
    (tmp_path / "out").mkdir()
    assert fails(*line.split()) == "1.txt: the list names itself; expected models, folders or other lists"


def test_lists_that_name_others_twice_are_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each of 40 lists names the next one twice: 2**40 lines, if they were read anew."""
    monkeypatch.chdir(tmp_path)
    for number in range(40):
        Path(f"{number}.txt").write_text(f"@{number + 1}.txt\n" * 2)
    Path("40.txt").write_text("a.onnx\n")
    _, printed, _ = command(capsys, "audit", "@0.txt", "--format", "json")
    assert len(json.loads(printed)["resizes"]) == 1


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"a\0b.onnx\n", "a\\x00b.onnx: cannot be read: embedded null byte"),
        (
            b"\xff",
            "list.txt: not a list of paths: 'utf-8' codec can't decode byte 0xff in position 0: invalid start byte",
        ),
        (b"gone.onnx\n", "gone.onnx: cannot be read: No such file or directory"),
        (b"-\n", "-: standard input is not supported; expected paths of models or folders"),
    ],
)
def test_a_list_that_makes_no_sense(content: bytes, reason: str, tmp_path: Path, fails: Fails) -> None:
    (tmp_path / "list.txt").write_bytes(content)
    assert fails("audit", "@list.txt") == reason
