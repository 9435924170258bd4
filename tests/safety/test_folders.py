"""No file of a folder ends the work on the others, whatever it holds."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from ir_interp.converters.audit import auditing
from tests.support.commands import command
from tests.support.watched import CAN_WATCH, opened_in

pytestmark = pytest.mark.usefixtures("one_worker")

SECONDS = 60.0

MODES: dict[str, dict[str, Any]] = {
    "nearest": {"mode": "nearest"},
    "linear": {"mode": "linear"},
    "cubic": {"mode": "cubic"},
    "antialias": {"mode": "linear", "antialias": 1},
}


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("zoo").mkdir()


def save(name: str, element: int, attributes: dict[str, Any]) -> None:
    sizes = numpy_helper.from_array(np.array([1, 1, 3, 9]), "s")
    node = helper.make_node("Resize", ["x", "", "", "s"], ["y"], name="up", **attributes)
    ends = (helper.make_tensor_value_info(name, element, shape) for name, shape in (("x", [1, 1, 4, 4]), ("y", None)))
    graph = helper.make_graph([node], "g", [next(ends)], [next(ends)], [sizes])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)
    Path("zoo", f"{name}.onnx").write_bytes(model.SerializeToString())


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("options", "modes"),
    [
        ("", ("nearest", "cubic")),
        ("--html page.html", ("linear",)),
        ("--preprocess opencv:linear --trained pillow:bilinear", ("antialias",)),
    ],
)
def test_models_of_every_element_type_are_audited_and_run(
    options: str, modes: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    elements = TensorProto.DataType.items()
    for name, element in elements:
        for mode in modes:
            save(f"{name}-{mode}", element, MODES[mode])
    _, printed, _ = command(capsys, "audit", "zoo", "--run", "--format", "json", *options.split())
    found = json.loads(printed)
    assert len(found["resizes"]) == len(elements) * len(modes)
    assert not [each for each in found["errors"] if "unexpected" in each["message"]]
    ran = {each["file"] for each in found["resizes"] if any(one["run"] for one in each["verdicts"].values())}
    assert {str(Path("zoo", f"FLOAT-{mode}.onnx")) for mode in modes} <= ran


@pytest.mark.parametrize("error", [TypeError("no"), MemoryError(), ValueError("no"), RecursionError("no")], ids=repr)
@pytest.mark.parametrize(
    ("module", "name"),
    [(auditing, "of_file"), (auditing, "_audited"), (auditing, "_written"), (auditing, "_judged")],
)
def test_what_nobody_expects_costs_one_file(
    module: Any, name: str, error: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for file in ("a", "b", "c"):
        save(file, TensorProto.FLOAT, MODES["linear"])
    function, called = getattr(module, name), []

    def fails_first(*arguments: Any, **keywords: Any) -> Any:
        called.append(arguments)
        if len(called) == 1:
            raise error
        return function(*arguments, **keywords)

    monkeypatch.setattr(module, name, fails_first)
    code, printed, errors = command(capsys, "audit", "zoo", "--run", "--format", "json", "--runtime", "onnxruntime")
    found = json.loads(printed)
    assert code == 2
    (told,) = found["errors"]
    assert told["where"].startswith("a.onnx")
    expected = "not enough memory" if isinstance(error, MemoryError) else f"unexpected {type(error).__name__}"
    assert told["message"].startswith(expected)
    assert errors == f"error: {told['where']}: {told['message']}\n"
    assert {Path(each["file"]).name for each in found["resizes"]} >= {"b.onnx", "c.onnx"}


def _nested(depth: int) -> onnx.ModelProto:
    """Return a model of functions that each call the next twice: without them, it has 2**depth nodes."""
    opsets = [helper.make_opsetid("", 19), helper.make_opsetid("own", 1)]
    functions = []
    for level in range(depth):
        kind, domain = (f"f{level - 1}", "own") if level else ("Identity", "")
        pairs = (("a", "c"), ("c", "b"))
        nodes = [helper.make_node(kind, [first], [second], domain=domain) for first, second in pairs]
        functions.append(helper.make_function("own", f"f{level}", ["a"], ["b"], nodes, opsets))
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 1, 8, 8]) for name in "xy")
    graph = helper.make_graph([helper.make_node(f"f{depth - 1}", ["x"], ["y"], domain="own")], "g", [x], [y])
    return helper.make_model(graph, functions=functions, opset_imports=opsets, ir_version=9)


def test_the_time_limit_covers_reading(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """And the process that distributes the models does not read them."""
    save("good", TensorProto.FLOAT, MODES["linear"])
    Path("zoo", "slow.onnx").write_bytes(_nested(30).SerializeToString())

    def unread(_: object) -> None:
        raise AssertionError("a model was read in this process")

    monkeypatch.setattr(onnx, "load_model_from_string", unread)
    start = time.monotonic()
    command(capsys, "audit", "zoo", "--results", "r.jsonl", "--time-limit", "3", "--quiet")
    assert time.monotonic() - start < SECONDS
    results = {each["file"]: each for each in map(json.loads, Path("r.jsonl").read_text().splitlines())}
    assert [each["message"] for each in results["zoo/slow.onnx"]["errors"]] == ["it was stopped after 3 seconds"]
    assert results["zoo/good.onnx"]["errors"] == []


OF_FRAMEWORKS = ("a.pt2", "a.pt", "a.keras", "a.h5", "a.pb", "a.pdmodel", "saved/saved_model.pb")


@pytest.mark.skipif(not CAN_WATCH, reason="the log of opened files is one of Linux")
def test_folders_are_not_searched_for_models_that_a_framework_runs(capsys: pytest.CaptureFixture[str]) -> None:
    save("good", TensorProto.FLOAT, MODES["linear"])
    Path("zoo", "saved").mkdir()
    for name in OF_FRAMEWORKS:
        Path("zoo", name).write_bytes(b"none")
    with opened_in(Path("zoo")) as opened:
        assert command(capsys, "audit", "zoo", "--quiet")[0] == 0
    assert opened == {"good.onnx"}
