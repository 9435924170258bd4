"""A resize that cannot be read is a row with its error; the other resizes of the file are treated as usual."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import ir_interp
from tests.support.commands import command, completed
from tests.support.ir_text import interpolate

pytestmark = pytest.mark.usefixtures("one_worker")

_BAD = 'bad.onnx:node[1 "wrong"]'
_UPSAMPLE = helper.make_node("Upsample", ["x", "scales"], ["b"], name="wrong", mode="nearest")
_BOTH = helper.make_node("Resize", ["x", "", "scales", "sizes"], ["b"], name="wrong", mode="linear")
_EITHER = helper.make_node("Resize", ["x", "", "scales", "odd"], ["b"], name="wrong", mode="linear")
_NO_MODE = helper.make_node("Resize", ["x", "", "scales"], ["b"], name="wrong", mode="")


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")


def save(wrong: onnx.NodeProto, name: str = "bad.onnx") -> Path:
    """Write a model of an antialiased cubic with an exporter's mistakes, another resize, and a linear one."""
    first = helper.make_node(
        "Resize", ["x", "", "", "small"], ["a"], name="shrink", mode="cubic", antialias=1, cubic_coeff_a=-0.75
    )
    last = helper.make_node("Resize", ["x", "", "scales"], ["c"], name="up", mode="linear")
    ends = [helper.make_tensor_value_info("x", 1, [1, 3, 8, 8])]
    ends += [helper.make_tensor_value_info(tensor, 1, [None] * 4) for tensor in "abc"]
    constants = [
        numpy_helper.from_array(np.array([1, 1, 2, 2], np.float32), "scales"),
        numpy_helper.from_array(np.array([1, 3, 16, 16]), "sizes"),
        numpy_helper.from_array(np.array([1, 3, 17, 17]), "odd"),
        numpy_helper.from_array(np.array([1, 3, 4, 4]), "small"),
    ]
    graph = helper.make_graph([first, wrong, last], "g", ends[:1], ends[1:], constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), name)
    return Path(name)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        (_NO_MODE, "@mode: unknown value ''; expected one of cubic, linear, nearest"),
        (_BOTH, "sizes and scales are both given; they exclude each other"),
        (_UPSAMPLE, "Upsample of operator set 18 is not interpreted"),
    ],
    ids=["mode", "sizes and scales", "Upsample"],
)
def test_a_row_with_its_error(wrong: onnx.NodeProto, problem: str, capsys: pytest.CaptureFixture[str]) -> None:
    report = ir_interp.audit(save(wrong))
    assert [row.op.name for row in report.rows] == ["shrink", "up"]
    assert not report.errors
    (row,) = report.unread
    assert (row.resize, row.where, row.problem) == ("wrong", _BAD, problem)
    assert {verdict.kind for verdict in row.verdicts.values()} == {ir_interp.Kind.UNKNOWN}
    assert row.verdicts.keys() == report.rows[0].verdicts.keys()
    (finding,) = (finding for finding in report.findings if finding.code == "IRI027")
    assert (finding.where, finding.message) == (_BAD, f"the resize cannot be read: {problem}")

    code, text, errors = command(capsys, "audit", "bad.onnx")
    assert (code, errors) == (1, "")
    assert all(part in text for part in ("wrong", problem, "IRI027", "3 resizes"))
    _, printed, _ = command(capsys, "audit", "bad.onnx", "--format", "json")
    record = {resize["name"]: resize for resize in json.loads(printed)["resizes"]}
    assert {name: resize["error"] for name, resize in record.items()} == {"shrink": "", "up": "", "wrong": problem}
    assert {verdict["verdict"] for verdict in record["wrong"]["verdicts"].values()} == {"unknown"}
    _, printed, _ = command(capsys, "audit", "bad.onnx", "--format", "sarif", "--html", "bad.html")
    places = {
        result["ruleId"]: result["locations"][0]["logicalLocations"][0]["fullyQualifiedName"]
        for result in json.loads(printed)["runs"][0]["results"]
    }
    assert places["IRI027"] == _BAD
    assert "Resizes that cannot be read" in Path("bad.html").read_text(encoding="utf-8")


def test_it_fails_as_unknown_and_can_be_ignored(capsys: pytest.CaptureFixture[str]) -> None:
    save(_BOTH)
    assert command(capsys, "audit", "bad.onnx", "--fail-on", "unknown")[0] == 1
    assert command(capsys, "audit", "bad.onnx", "--fail-on", "unknown", "--ignore", "IRI027")[0] == 0


def test_a_run_and_chosen_shapes() -> None:
    report = ir_interp.audit(save(_BOTH), run=True, runtimes=["onnxruntime"], shapes={"x": (1, 3, 8, 8)})
    assert [row.seen["onnxruntime"].kind.value for row in report.rows] == ["same", "same"]
    assert [row.resize for row in report.unread] == ["wrong"]


def test_a_fleet(capsys: pytest.CaptureFixture[str]) -> None:
    save(_NO_MODE)
    code, _, errors = command(capsys, "audit", "bad.onnx", "--results", "r.jsonl", "--table", "r.csv")
    assert (code, errors) == (1, "")
    with Path("r.csv").open(encoding="utf-8", newline="") as file:
        rows = {row["name"]: row for row in csv.DictReader(file)}
    assert (rows["wrong"]["verdict"], rows["up"]["error"]) == ("unknown", "")
    assert "unknown value" in rows["wrong"]["error"]


def test_fix_repairs_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    source = save(_EITHER)
    done = ir_interp.fix(source, "fixed.onnx")
    assert {repaired.op.name for repaired in done.repaired} == {"shrink"}
    assert [error.where for error in done.unread] == [_BAD]
    before, after = (onnx.load(path).graph.node for path in (source, "fixed.onnx"))
    assert [a == b for a, b in zip(before, after, strict=True)] == [False, True, True]
    assert "prove neither" in done.unread[0].problem
    with pytest.raises(ir_interp.ReadError, match="exclude each other"):
        ir_interp.fix(source, "other.onnx", layers=["wrong"])
    code, printed, _ = command(capsys, "fix", "bad.onnx", "again.onnx")
    assert (code, f"not read, left as it is: {_BAD}" in printed) == (0, True)


def test_a_target_refuses_it_by_name_beside_the_others() -> None:
    with pytest.raises(ExceptionGroup) as refusals:
        ir_interp.convert(save(_BOTH), "portable.onnx", target="tensorrt")
    names = {error.name for error in refusals.value.exceptions if isinstance(error, ir_interp.InexactError)}
    assert "wrong" in names
    assert "exclude each other" in str(refusals.value.exceptions)


def test_a_layer_of_an_ir() -> None:
    Path("a.xml").write_text(interpolate('axes="2,3" mode="nearst"'), encoding="utf-8")
    report = ir_interp.audit("a.xml")
    assert (report.rows, report.errors) == ((), ())
    assert "unknown value 'nearst'" in report.unread[0].problem


@pytest.mark.sampled(3)
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("scales", [(1, 1, 2, 2), (1, 1, 0.3, 0.4)])
def test_windows_of_run_time(mode: str, scales: tuple[float, ...]) -> None:
    """A crop whose windows are an input is read, and no verdict or conversion asks for them."""
    node = helper.make_node(
        "Resize", ["x", "roi", "scales"], ["y"], name="r", mode=mode,
        coordinate_transformation_mode="tf_crop_and_resize",
    )  # fmt: skip
    ends = [helper.make_tensor_value_info("x", 1, [1, 3, 8, 9]), helper.make_tensor_value_info("roi", 1, [8])]
    y = helper.make_tensor_value_info("y", 1, [None] * 4)
    constants = [numpy_helper.from_array(np.array(scales, np.float32), "scales")]
    graph = helper.make_graph([node], "g", ends, [y], constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), "roi.onnx")
    every = ir_interp.audit("roi.onnx", runtimes=completed("audit", "--runtime"))
    assert not every.errors
    assert len(every.rows) == 1
    with pytest.raises(ExceptionGroup, match="no exact form for tensorrt"):
        ir_interp.convert("roi.onnx", "b.onnx", target="tensorrt")
    if mode == "linear":
        assert ir_interp.convert("roi.onnx", "a.onnx", target="openvino").rows
        assert ir_interp.convert("roi.onnx", "c.xml").rows
