"""Remarks beside results: mistakes that a conversion keeps, files without resizes, notes that count; units."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest

import ir_interp
from ir_interp.options.declaration import MEMORY
from tests.support.commands import command
from tests.support.graphs import save_model
from tests.support.ir_text import interpolate

SHRINK = """g (float[1,1,8,8] x) => (float[1,1,4,4] y) <int64[4] z = {1,1,4,4}> {
    [shrink] y = Resize <mode = "cubic", antialias = 1, cubic_coeff_a = -0.75> (x, "", "", z) }"""
MISTAKES = (
    ("IRI011", "antialias with cubic_coeff_a=-0.75; Pillow and PyTorch antialias with -0.5"),
    ("IRI012", "antialias with exclude_outside=0; Pillow and PyTorch exclude out-of-bounds samples"),
)


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")


def test_a_conversion_names_the_mistakes_that_it_keeps(capsys: pytest.CaptureFixture[str]) -> None:
    save_model(Path("a b.onnx"), SHRINK)
    code, printed, errors = command(capsys, "convert", "a b.onnx", "b.xml", "--no-verify", "--html", "b.html")
    assert (code, errors) == (0, "")
    for mistake, text in MISTAKES:
        line = f"! a b.onnx:node[0 \"shrink\"]: {mistake} {text}\n    ir-interp fix 'a b.onnx' 'a b.fixed.onnx'\n"
        assert line in printed
        assert f"{mistake} {text}" in Path("b.html").read_text(encoding="utf-8")
    code, printed, _ = command(capsys, "convert", "a b.onnx", "b.xml", "--no-verify", "--json")
    command_line = "ir-interp fix 'a b.onnx' 'a b.fixed.onnx'"
    place = 'a b.onnx:node[0 "shrink"]'
    assert (code, json.loads(printed)["findings"]) == (
        0,
        [
            {"code": name, "severity": "warning", "where": place, "message": text, "command": command_line}
            for name, text in MISTAKES
        ],
    )
    Path("zoo").mkdir()
    save_model(Path("zoo/a.onnx"), SHRINK)
    printed = command(capsys, "convert", "zoo", "out", "--to", ".xml", "--no-verify", "--json")[1]
    assert json.loads(printed)["findings"] == {"IRI011": 1, "IRI012": 1}
    assert command(capsys, "fix", "a b.onnx", "a b.fixed.onnx", "--no-verify", "--quiet")[0] == 0
    printed = command(capsys, "convert", "a b.fixed.onnx", "b.xml", "--no-verify", "--json")[1]
    assert json.loads(printed)["findings"] == []


def test_a_model_in_memory_has_no_command_that_repairs_it() -> None:
    path = save_model(Path("a.onnx"), SHRINK)
    report = ir_interp.convert(onnx.load(path), "b.xml", verify=False)
    assert [each.command for each in report.mistakes] == ["ir-interp explain IRI011", "ir-interp explain IRI012"]


def test_an_audit_names_files_without_resizes_and_what_an_ir_lacks(capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(7):
        save_model(Path(f"{number}.onnx"), "g (float[1] x) => (float[1] y) { y = Relu (x) }")
    layer = interpolate('axes="2,3" mode="nearest"', shape=(1, 3, 4, 6), out=(1, 3, 8, 12))
    Path("a b.xml").write_text(layer)
    note = "note: what a converter lost is invisible in its IR; `ir-interp compare SOURCE.onnx 'a b.xml'` finds it\n"
    assert command(capsys, "audit", "0.onnx")[:2] == (0, "no resize in 0.onnx\n0 resizes, 0 findings\n")
    printed = command(capsys, "audit", ".")[1]
    assert "\nno resize in 0.onnx, 1.onnx, 2.onnx, 3.onnx, 4.onnx and 2 more files\n" in printed
    assert note in printed
    record = json.loads(command(capsys, "audit", "0.onnx", "a b.xml", "--json")[1])
    assert record["empty"] == ["0.onnx"]
    Path("broken.onnx").write_bytes(b"\x08")
    assert json.loads(command(capsys, "audit", "0.onnx", "broken.onnx", "--json")[1])["empty"] == ["0.onnx"]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ((), 0),
        (("--fail-on", "IRI01"), 0),
        (("--fail-on", "IRI017"), 1),
        (("--fail-on", "differs,IRI017"), 1),
        (("--fail-on", "IRI017", "--ignore", "IRI017"), 0),
    ],
)
def test_a_note_counts_where_its_code_is_in_full(
    arguments: tuple[str, ...], code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    layer = interpolate('axes="2,3" mode="linear" align_corners="0"', shape=(1, 3, 4, 6), out=(1, 3, 8, 12))
    Path("a.xml").write_text(layer)
    assert command(capsys, "audit", "a.xml", "-q", *arguments)[0] == code
    assert command(capsys, "audit", "a.xml", "-q", "--results", "r.jsonl", *arguments)[0] == code


def test_a_finding_on_request_cannot_fail_unasked(capsys: pytest.CaptureFixture[str]) -> None:
    save_model(Path("a.onnx"), SHRINK)
    said = "error: --fail-on IRI031 has no effect without --select IRI031\n"
    assert command(capsys, "audit", "a.onnx", "--fail-on", "IRI031") == (2, "", said)
    assert command(capsys, "audit", "a.onnx", "-q", "--fail-on", "IRI031", "--select", "IRI03")[0] < 2


@pytest.mark.parametrize(
    ("text", "size"),
    [("1GiB", 2**30), ("1G", 2**30), ("1gib", 2**30), ("1GB", 10**9), ("0.5 TB", 5 * 10**11), ("512MiB", 2**29)],
)
def test_units_of_memory(text: str, size: int) -> None:
    assert MEMORY.parse is not None
    assert MEMORY.parse(text) == size


@pytest.mark.parametrize("text", ["1", "GiB", "-1G", "1Gi B", "infGB", "1 PB"])
def test_other_amounts_of_memory_are_refused(text: str) -> None:
    assert MEMORY.parse is not None
    with pytest.raises(ValueError, match=r"is not an amount of memory; expected one as in 512MiB, 1.5GiB, 1GB$"):
        MEMORY.parse(text)


def test_arrays_and_stores_do_not_mix(capsys: pytest.CaptureFixture[str]) -> None:
    np.save("x.npy", np.zeros((8, 8), np.uint8))
    Path("empty.zarr").mkdir()
    call = ("--like", "pillow:box", "--sizes", "4,4", "--output", "y.zarr")
    assert command(capsys, "run", "x.npy", *call)[2] == (
        "error: FILE 'x.npy' is neither a .zarr store nor a TIFF file; expected one of them for --output 'y.zarr'\n"
    )
    assert command(capsys, "run", "empty.zarr", *call)[2] == (
        "error: empty.zarr: not a Zarr array: it holds no zarr.json, .zarray or .zgroup\n"
    )
