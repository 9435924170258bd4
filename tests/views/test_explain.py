"""``ir-interp explain``: rules, and taps side by side."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import ir_interp
from ir_interp import Arithmetic, ShapeError
from tests.support.commands import command, completed, words
from tests.support.graphs import save_model
from tests.support.ir_text import interpolate
from tests.support.places import TESTS

LAYER = interpolate('mode="linear" antialias="1"', version="opset4", shape=(1, 1, 9, 6), out=(1, 1, 4, 6), name="down")
TIE = """g (float[1,1,7,7] x) => (float[1,1,4,7] y) <int64[1] z = {4}> { [up] y = Resize <mode = "nearest",
    coordinate_transformation_mode = "asymmetric", nearest_mode = "round_prefer_ceil", axes = [2]> (x, , , z) }"""
OPEN = """g (float[1,1,h,w] x, int64[2] z) => (float[1,1,k,l] y) {
    [up] y = Resize <mode = "linear", axes = [2, 3]> (x, , , z) }"""


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")


@pytest.mark.parametrize("code", completed("audit", "--select"))
def test_a_rule(code: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What is printed is the record, whose test exists."""
    record = json.loads(command(capsys, "explain", code, "--json")[1])
    asked, printed, errors = command(capsys, "explain", code.lower())
    assert (asked, errors) == (0, "")
    assert printed.startswith(f"{code} ({record['severity']}): {record['summary']}\n\n")
    assert words(record["story"]) in words(printed)
    assert printed.endswith(f"\n\nTested by tests/{record['test']}\n")
    file, _, function = record["test"].partition("::")
    assert f"def {function}(" in (TESTS / file).read_text(encoding="utf-8")


def test_an_unknown_code(capsys: pytest.CaptureFixture[str]) -> None:
    code, printed, errors = command(capsys, "explain", "IRI999")
    assert (code, printed) == (2, "")
    assert errors.startswith("error: unknown code 'IRI999'; expected one of IRI001 to IRI041; ")


def test_a_tie_in_three_arithmetics(capsys: pytest.CaptureFixture[str]) -> None:
    save_model(Path("a.onnx"), TIE)
    code, printed, errors = command(capsys, "explain", "a.onnx", "--layer", "up")
    assert (code, errors) == (0, "")
    assert words(printed) == (
        "up (onnx 19), input 1x1x7x7 sizes 4 on axes 2: nearest at round half up(i * step), step = in / out "
        "axis 2: 7 -> 4 output exact/onnxruntime openvino "
        "* 2 3.5: 4 3.4999998: 3 0 0: 0 0: 0 1 1.75: 2 1.7499999: 2 3 5.25: 5 5.25: 5 * 1 of 4 outputs differ "
    )


def test_two_readings(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.xml").write_text(LAYER)
    code, printed, _ = command(capsys, "explain", "a.xml")
    said = words(printed)
    assert code == 0
    assert "IRI001 The runtime ignores antialias here" in said
    assert "axis 2: 9 -> 4 output runtime/reference document * 0 0.625: 0 x 0.375, 1 x 0.625 " in said
    assert "* 4 of 4 outputs differ" in said
    assert "axis 3" not in said


def test_json_has_every_output(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.xml").write_text(LAYER)
    code, printed, _ = command(capsys, "explain", "a.xml", "--shape", "1,1,40,6", "--sizes", "1,1,20,6", "--json")
    assert code == 0
    record = json.loads(printed)
    (axis,) = record["axes"]
    assert (axis["axis"], axis["in"], axis["differing"]) == (2, 40, list(range(20)))
    runtime, document = axis["columns"]
    assert (runtime["names"], document["names"]) == (["runtime/reference"], ["document"])
    for column in axis["columns"]:
        assert len(column["outputs"]) == 20
        for output in column["outputs"]:
            assert sum(output["weights"].values()) == pytest.approx(1, abs=1e-3)


def test_short_tables_and_all(capsys: pytest.CaptureFixture[str]) -> None:
    save_model(Path("a.onnx"), OPEN)
    given = ("explain", "a.onnx", "--shape", "1,1,30,5", "--sizes", "60,5")
    short, whole = (command(capsys, *given, *more)[1] for more in ((), ("--all",)))
    assert short.count("│") < whole.count("│") == 2 * 60 + 60
    assert "60 outputs, the same in every column; --all shows every one\n" in short
    assert "60 outputs, the same in every column\n" in whole


def test_lengths_that_differ(capsys: pytest.CaptureFixture[str]) -> None:
    """5 * 1.4 is 7 in float32, 6 exactly."""
    text = 'g (float[5] x) => (float[n] y) <float[1] s = {1.4}> { y = Resize <mode = "linear"> (x, , s) }'
    save_model(Path("a.onnx"), text)
    (table,) = ir_interp.explain("a.onnx").axes
    columns = {table.names(column): size for column, size in zip(table.columns, table.out_sizes, strict=True)}
    assert columns == {("runtime/reference: exact",): 6, ("onnxruntime/openvino",): 7, ("document: exact",): 6}
    assert 6 in table.differing


def test_what_is_open(capsys: pytest.CaptureFixture[str]) -> None:
    save_model(Path("a.onnx"), OPEN)
    asked = ("explain", "a.onnx")
    assert command(capsys, *asked) == (
        2,
        "",
        "error: sizes are missing: this resize takes them at run time; pass them, as in --sizes 50,60\n",
    )
    code, _, errors = command(capsys, *asked, "--sizes", "4,4")
    said = "the length of axis 2 is dynamic, and the taps depend on it; give the shape of the input, as in --shape "
    said += "1,1,20,20"
    assert (code, errors) == (2, f"error: {said}\n")
    code, _, errors = command(capsys, *asked, "--sizes", "4,4,4", "--shape", "1,1,3,3")
    assert (code, errors) == (2, "error: sizes [4, 4, 4] and axes [2, 3] differ in length\n")
    code, _, errors = command(capsys, *asked, "--layer", "down")
    assert code == 2
    assert "no resize named 'down'" in errors


def test_nothing_changes(capsys: pytest.CaptureFixture[str]) -> None:
    save_model(Path("a.onnx"), OPEN)
    code, printed, _ = command(capsys, "explain", "a.onnx", "--shape", "1,1,4,5", "--sizes", "4,5")
    assert code == 0
    assert printed.endswith("no axis changes: the input is copied\n")


MODELS = {
    "nearest": 'mode = "nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = "floor">'
    " (x, , , sizes)",
    "antialias": 'mode = "linear", antialias = 1> (x, , , few)',
    "cubic": 'mode = "cubic", cubic_coeff_a = -0.5, exclude_outside = 1> (x, , scales)',
    "crop": 'mode = "linear", coordinate_transformation_mode = "tf_crop_and_resize", extrapolation_value = 9.0>'
    " (x, window, , six)",
}
CONSTANTS = "<int64[1] sizes = {11}, int64[1] few = {4}, int64[1] six = {6}, float[1] scales = {2.3},"
CONSTANTS += " float[2] window = {-0.2, 0.7}>"


@pytest.mark.parametrize("name", [*MODELS, "pads"])
def test_the_table_is_what_the_executor_computes(name: str) -> None:
    if name == "pads":
        data = 'mode="linear_onnx" pads_begin="0,0,0,2" pads_end="0,0,0,1"'
        Path("a.xml").write_text(interpolate(data, version="opset4", shape=(1, 1, 1, 7), out=(1, 1, 1, 12)))
    else:
        save_model(Path("a.onnx"), f"g (float[7] x) => (float[n] y) {CONSTANTS} {{ y = Resize <{MODELS[name]} }}")
    path = "a.xml" if name == "pads" else "a.onnx"
    (op,), (table,) = ir_interp.load(path), ir_interp.explain(path).axes
    x = np.random.default_rng(0).uniform(-1, 1, 7)
    padded = np.pad(x, (2, 1)) if name == "pads" else x
    for column in table.columns:
        for reading, arithmetic in column.ways:
            if reading is not ir_interp.Semantics.RUNTIME:
                continue
            wanted = ir_interp.resize(x.reshape(op.shape), op.spec, arithmetic=arithmetic).ravel()
            made = [
                9.0 if c.weights is None else sum(padded[i] * w for i, w in c.weights.items()) for c in column.cells
            ]
            np.testing.assert_allclose(made, wanted, rtol=0, atol=1e-3)
    assert {arithmetic for column in table.columns for _, arithmetic in column.ways} == {
        Arithmetic.EXACT,
        Arithmetic.ONNXRUNTIME,
        Arithmetic.OPENVINO,
    }


@pytest.mark.parametrize("mode", ["nearest", "linear", "area"])
def test_no_output_is_explained(mode: str) -> None:
    data = f'mode="{mode}" axes="2,3" align_corners="0"'
    Path("a.xml").write_text(interpolate(data, shape=(1, 1, 4, 5), out=(1, 1, 8, 10)))
    assert [table.axis for table in ir_interp.explain("a.xml", sizes=(0, 3)).axes] == [3]


def test_an_open_length_from_python() -> None:
    save_model(Path("a.onnx"), OPEN)
    with pytest.raises(ShapeError):
        ir_interp.explain("a.onnx", sizes=(4, 4))
