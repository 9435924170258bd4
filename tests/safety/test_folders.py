"""No file of a folder ends the work on the others, whatever it holds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from ir_interp.converters.audit import auditing
from tests.support.commands import command

pytestmark = pytest.mark.usefixtures("one_worker")

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
