"""Whatever a file calls its parts, terminals and logs show it as text, and data hold it as it is."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from tests.support.commands import command, words

NAME = "up\n::error::gone\r\x1b[31m\x07\x9b2J\x85\u202e\u2066\u2028[red]\x7f"
SAFE = r"up\n::error::gone\r\x1b[31m\x07\x9b2J\x85\u202e\u2066\u2028[red]\x7f"
HARMFUL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
Printed = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "300")
    Path("a.onnx").write_bytes(model().SerializeToString())
    Path("b.onnx").write_bytes(model("pytorch_half_pixel").SerializeToString())
    Path(f"{NAME}.onnx").write_bytes(model().SerializeToString())
    np.save("x.npy", np.zeros((1, 1, 8, 8), np.float32))
    return tmp_path


def model(coordinates: str = "half_pixel") -> onnx.ModelProto:
    """Return a model whose every name is hostile."""
    scales = numpy_helper.from_array(np.array([1, 1, 0.125, 2], np.float32), f"{NAME} scales")
    node = helper.make_node(
        "Resize",
        [f"{NAME} x", "", scales.name],
        [f"{NAME} y"],
        name=NAME,
        mode="linear",
        antialias=1,
        coordinate_transformation_mode=coordinates,
    )
    x = helper.make_tensor_value_info(f"{NAME} x", 1, [1, 1, 8, 8])
    y = helper.make_tensor_value_info(f"{NAME} y", 1, [1, 1, 1, 16])
    graph = helper.make_graph([node], NAME, [x], [y], [scales])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)


COMMANDS = (
    ("inspect", "a.onnx"),
    ("inspect", f"{NAME}.onnx"),
    ("explain", "a.onnx"),
    ("explain", "a.onnx", "--layer", "other"),
    ("run", "a.onnx", "--input", "x.npy", "--output", f"{NAME}.npy"),
    ("plot", "a.onnx", f"{NAME}.png"),
    ("convert", "a.onnx", f"{NAME}.xml"),
    ("convert", "a.onnx", "d.json", "--dialect", "tflite"),
    ("convert", "a.onnx", "d.onnx", "--target", "onnx:11"),
    ("convert", "a.onnx", "d.onnx", "--target", "onnx:18", "--input", "other=x.npy"),
    ("compare", "a.onnx", "b.onnx", "--per-resize"),
    ("audit", "."),
    ("audit", ".", "--format", "github"),
    ("audit", "gone\n::error::.onnx"),
)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("arguments", COMMANDS, ids=lambda each: ascii(" ".join(each)))
def test_names_are_shown_as_text(arguments: tuple[str, ...], capsys: Printed) -> None:
    _, printed, errors = command(capsys, *arguments)
    lines = (printed + errors).split("\n")
    assert not HARMFUL.search(printed + errors), repr(printed + errors)
    assert not any(each.startswith("::error::gone") for each in lines)
    assert "unexpected" not in errors
    assert r"\n::error::" in words(printed + errors).replace(" ", "")


@pytest.mark.parametrize(
    "arguments",
    [
        ("inspect", "a.onnx", "--json"),
        ("explain", "a.onnx", "--json"),
        ("convert", "a.onnx", "d.onnx", "--target", "onnx:18", "--json"),
        ("compare", "a.onnx", "b.onnx", "--json", "--per-resize"),
        ("audit", "a.onnx", "--format", "json"),
    ],
    ids=" ".join,
)
def test_data_hold_names_as_they_are(arguments: tuple[str, ...], capsys: Printed) -> None:
    _, printed, _ = command(capsys, *arguments)
    assert printed.isascii()
    assert not HARMFUL.search(printed)
    assert any(NAME in each for each in strings(json.loads(printed)))


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from strings(list(value.values()))
    elif isinstance(value, list):
        for each in value:
            yield from strings(each)


def test_sarif_is_valid(capsys: Printed) -> None:
    _, printed, _ = command(capsys, "audit", "a.onnx", "--format", "sarif")
    results = json.loads(printed)["runs"][0]["results"]
    assert results
    assert not HARMFUL.search(printed)


def test_a_page_shows_names_as_text(capsys: Printed) -> None:
    command(capsys, "audit", "a.onnx", "--html", "a.html")
    text = Path("a.html").read_text(encoding="utf-8")
    assert not HARMFUL.search(text)
    assert r"\x1b[31m" in text


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        (NAME, SAFE),
        ("größe 大小 \U0001f600", "größe 大小 \U0001f600"),
        ("\ud800\ufeff", r"\ud800\ufeff"),
        ("a\tb", r"a\tb"),
    ],
)
def test_a_text(name: str, shown: str, capsys: Printed) -> None:
    assert f"'{shown}?'" in command(capsys, "explain", "a.onnx", "--layer", f"{name}?")[2]
