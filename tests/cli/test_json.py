"""JSON of every command follows the schema that ``explain COMMAND --schema`` prints."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
import typer.main
import zarr
from PIL import Image

from ir_interp.cli.main import app
from tests.support.commands import command
from tests.support.graphs import save_model
from tests.support.ir_text import interpolate

pytestmark = pytest.mark.usefixtures("one_worker")

NET = """g (float[1,3,8,8] x) => (float[1,3,k,l] y) <float[4] s = {1,1,0.5,0.5}> {
    [up] y = Resize <mode = "linear", antialias = 1> (x, "", s) }"""
CALLS = [
    ("audit", "a.onnx"),
    ("audit", "a.onnx", "broken.onnx", "--run", "--runtime", "onnxruntime"),
    ("audit", "a.onnx", "--preprocess", "opencv:linear", "--trained", "pillow:bilinear", "--image", "a.png"),
    ("audit", "a.onnx", "layer.xml", "--results", "r.jsonl"),
    ("inspect", "a.onnx"),
    ("inspect", "layer.xml"),
    ("convert", "a.onnx", "b.xml"),
    ("convert", "layer.xml", "layer.onnx", "--no-verify"),
    ("convert", "zoo", "out", "--to", ".json"),
    ("compare", "a.onnx", "a.onnx", "--per-resize", "--input", "x.npy"),
    ("compare", "a.png", "a.png"),
    ("compare", "a.png", "--like", "pillow:bicubic,opencv:cubic", "--sizes", "4,4"),
    ("explain", "layer.xml", "--shape", "1,3,4,6"),
    ("explain", "IRI022"),
    ("fix", "a.onnx", "fixed.onnx"),
    ("identify", "a.png", "b.png"),
    ("run", "layer.xml", "--input", "x.npy", "--sizes", "4,4", "--output", "y.npy"),
    ("run", "a.png", "--like", "pillow:box", "--sizes", "4,4", "--output", "c.png"),
    ("run", "a.zarr", "--like", "pillow:box", "--sizes", "4,4", "--output", "b.zarr"),
    ("plot", "layer.xml", "p.png", "--shape", "1,3,4,6"),
    ("preprocess", "takes.onnx", "ready.onnx", "--like", "pillow:box", "--size", "8,8"),
    ("compare", "takes.onnx", "takes.onnx", "--input", "a.png"),
    ("convert", "takes.onnx", "takes.xml", "--input", "a.png"),
]
"""``reproduce`` is in tests/reproduce, where faults of runtimes are."""


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    save_model(Path("a.onnx"), NET)
    save_model(Path("takes.onnx"), "g (float[1,3,8,8] x) => (float[1,3,8,8] y) { y = Relu (x) }")
    Path("zoo").mkdir()
    Path("broken.onnx").write_bytes(b"\x08")
    Path("layer.xml").write_text(interpolate('axes="3,2" mode="nearest"', shape=(1, 3, -1, 6), out=(1, 3, 8, 12)))
    Path("zoo/layer.xml").write_text(interpolate('axes="2,3" mode="nearest"', shape=(1, 3, 4, 6), out=(1, 3, 8, 12)))
    pixels = np.random.default_rng(0).integers(0, 256, (16, 16, 3), np.uint8)
    Image.fromarray(pixels).save("a.png")
    Image.fromarray(pixels).resize((8, 8)).save("b.png")
    zarr.create_array("a.zarr", data=pixels[:, :, 0], chunks=(8, 8))
    np.save("x.npy", np.random.default_rng(0).random((1, 3, 8, 8), np.float32))


def check(name: str, printed: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Hold a record to the schema of its command."""
    code, schema, errors = command(capsys, "explain", name, "--schema")
    assert (code, errors) == (0, "")
    jsonschema.Draft202012Validator.check_schema(json.loads(schema))
    record = json.loads(printed)
    assert record["schema_version"] == 1
    jsonschema.Draft202012Validator(json.loads(schema)).validate(record)


@pytest.mark.sampled(10)
@pytest.mark.parametrize("arguments", CALLS, ids=" ".join)
def test_schemas(arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    code, printed, _ = command(capsys, *arguments, "--json")
    assert code in (0, 1) or "broken.onnx" in arguments
    check(arguments[0], printed, capsys)


def test_a_schema_refuses_other_records(capsys: pytest.CaptureFixture[str]) -> None:
    schema = json.loads(command(capsys, "explain", "inspect", "--schema")[1])
    record = json.loads(command(capsys, "inspect", "a.onnx", "--json")[1])
    wrong: dict[str, Any]
    for wrong in (record | {"more": 1}, record | {"schema_version": 2}, record | {"resizes": [{}]}, {}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.Draft202012Validator(schema).validate(wrong)
    jsonschema.Draft202012Validator(schema).validate(record)


def test_every_command_with_json_has_a_schema(capsys: pytest.CaptureFixture[str]) -> None:
    commands: Any = typer.main.get_command(app)
    printing = {name for name, each in commands.commands.items() if any("--json" in p.opts for p in each.params)}
    assert printing == {"reproduce", *(arguments[0] for arguments in CALLS)}
    assert printing == set(commands.commands)
    code, printed, errors = command(capsys, "explain", "plott", "--schema")
    assert (code, printed) == (2, "")
    assert errors.startswith("error: no command 'plott' prints JSON; expected one of audit, compare, ")
