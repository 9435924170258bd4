"""Resizes that ONNX does not allow: repaired if they have one possible meaning, else left and named."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import openvino
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

import ir_interp
from tests.support.commands import command
from tests.support.graphs import onnxruntime_outputs, values

pytestmark = pytest.mark.usefixtures("one_worker")

_CONSTANTS = {
    "twice": np.array([1, 1, 2, 2], np.float32),
    "less": np.array([1, 1, 0.5, 2], np.float32),
    "fraction": np.array([1, 1, 1.7, 2.3], np.float32),
    "to10": np.array([1, 2, 10, 10]),
    "to11": np.array([1, 2, 11, 11]),
    "lateral": np.ones((1, 2, 11, 11), np.float32),
    "none": np.zeros(0, np.float32),
}


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")


def save(*nodes: onnx.NodeProto, opset: int = 13, ends: Sequence[Any] = (None, None, None, None)) -> Path:
    """Write a model of x [1, 2, 5, 5] to y."""
    constants = [numpy_helper.from_array(array, name) for name, array in _CONSTANTS.items()]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2, 5, 5])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ends)
    graph = helper.make_graph(nodes, "g", [x], [y], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    onnx.save(model, "bad.onnx")
    return Path("bad.onnx")


def upsample(scales: str = "twice", mode: str = "nearest", output: str = "y") -> onnx.NodeProto:
    return helper.make_node("Upsample", ["x", scales], [output], name="wrong", mode=mode)


def both(scales: str = "twice", sizes: str = "to10", output: str = "y") -> onnx.NodeProto:
    return helper.make_node("Resize", ["x", "none", scales, sizes], [output], name="wrong", mode="linear")


def without_mode() -> onnx.NodeProto:
    return helper.make_node("Resize", ["x", "none", "twice"], ["y"], name="wrong", mode="")


def repaired(source: Path, *, verify: bool = True) -> tuple[NDArray[Any], str]:
    """Return the output of the repaired model in onnxruntime, and the change."""
    done = ir_interp.fix(source, "good.onnx", verify=verify)
    assert not done.unread
    ((remedy,),) = (each.remedies for each in done.repaired)
    assert remedy.code == "IRI027"
    return onnxruntime_outputs(Path("good.onnx"), {"x": values(1, 2, 5, 5)})[0], remedy.text


def in_openvino(path: Path) -> NDArray[Any]:
    compiled = openvino.Core().compile_model(path, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    return np.asarray(compiled([values(1, 2, 5, 5)])[0])


@pytest.mark.parametrize("opset", [10, 11, 12, 13, 18, 19, 21])
@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize("scales", ["twice", "fraction"])
def test_an_upsample_becomes_what_it_was_in_operator_set_9(mode: str, scales: str, opset: int) -> None:
    actual, change = repaired(save(upsample(scales, mode), opset=opset), verify=False)
    assert "Upsample -> Resize" in change
    if (scales, mode) != ("fraction", "nearest"):  # OpenVINO takes other pixels there, in operator set 9 too
        np.testing.assert_allclose(actual, in_openvino(Path("bad.onnx")), atol=1e-5)
    save(upsample(scales, mode), opset=9)
    expected = onnxruntime_outputs(Path("bad.onnx"), {"x": values(1, 2, 5, 5)})[0]
    np.testing.assert_allclose(actual, expected, atol=1e-6)


def test_an_empty_mode_is_the_default() -> None:
    actual, change = repaired(save(without_mode()))
    assert change == "mode= -> nearest, the default"
    np.testing.assert_array_equal(actual, values(1, 2, 5, 5).repeat(2, axis=2).repeat(2, axis=3))


@pytest.mark.parametrize("opset", [11, 13, 18])
@pytest.mark.parametrize(
    ("sizes", "ends", "kept"),
    [
        ("to10", [None] * 4, "scales"),
        ("to11", [1, 2, 11, 11], "sizes"),
        ("to11", [1, 2, 10, 10], "scales"),
    ],
)
def test_the_shapes_decide_between_sizes_and_scales(sizes: str, ends: list[Any], kept: str, opset: int) -> None:
    actual, change = repaired(save(both(sizes=sizes), opset=opset, ends=ends), verify=False)
    assert change.startswith(f"{kept} kept")
    assert actual.shape[2] == (ends[2] or 10)
    (op,) = ir_interp.load("good.onnx")
    assert ("sizes" in op.attributes) == (kept == "sizes")


def test_what_the_output_is_added_to_decides() -> None:
    added = helper.make_node("Add", ["up", "lateral"], ["y"], name="add")
    actual, change = repaired(save(both(sizes="to11", output="up"), added))
    assert change == "sizes kept, scales contradict the shapes of the model"
    assert actual.shape == (1, 2, 11, 11)


@pytest.mark.parametrize(
    ("node", "reason"),
    [
        (both(sizes="to11"), "the shapes of the model prove neither"),
        (upsample("less"), "a scale is below 1"),
        (upsample("x"), "its scales are no constant input"),
        (upsample(mode="cubic"), "cubic"),
        (helper.make_node("Resize", ["x", "none", "twice"], ["y"], name="wrong", mode="area"), "unknown value 'area'"),
    ],
)
def test_what_may_mean_several_things_stays(node: onnx.NodeProto, reason: str) -> None:
    source = save(node)
    done = ir_interp.fix(source, "good.onnx", verify=False)
    assert not done.repaired
    assert reason in str(done.unread[0])
    assert Path("good.onnx").read_bytes() == source.read_bytes()


def test_convert_names_every_such_node_and_the_repair(capsys: pytest.CaptureFixture[str]) -> None:
    last = helper.make_node("Resize", ["up", "none", "twice"], ["y"], name="second", mode="")
    save(upsample(output="up"), last)
    code, _, errors = command(capsys, "convert", "bad.onnx", "bad.xml")
    assert code == 2
    assert all(part in errors for part in ('node[0 "wrong"]', 'node[1 "second"]', "ir-interp fix bad.onnx"))
    assert not Path("bad.xml").exists()
    assert len(ir_interp.fix("bad.onnx", "good.onnx").repaired) == 2
    assert command(capsys, "convert", "good.onnx", "good.xml")[0] == 0
    np.testing.assert_allclose(in_openvino(Path("good.xml")), in_openvino(Path("good.onnx")))
    save(both(sizes="to11"))
    _, _, errors = command(capsys, "convert", "bad.onnx", "bad.xml")
    assert "fix" not in errors


def test_a_repaired_resize_has_its_other_mistakes_repaired() -> None:
    """5 * 1.3999 gives 6, just short of 7."""
    node = helper.make_node("Resize", ["x", "none", "scales"], ["y"], name="wrong", mode="")
    model = onnx.load(save(node))
    scales = np.array([1, 1, 1.3999, 1], np.float32)
    model.graph.initializer.append(numpy_helper.from_array(scales, "scales"))
    onnx.save(model, "bad.onnx")
    (done,) = ir_interp.fix("bad.onnx", "good.onnx").repaired
    assert [remedy.code for remedy in done.remedies] == ["IRI027", "IRI013"]
    assert not ir_interp.audit("good.onnx").rows[0].mistakes
    untouched = ir_interp.fix("bad.onnx", "same.onnx", ignore=["IRI027"])
    assert not untouched.repaired


@pytest.mark.parametrize(
    ("node", "verdicts"),
    [
        (upsample(), {"onnxruntime": "refused", "openvino": "same", "reference": "same"}),
        (both(), {"onnxruntime": "refused", "openvino": "same", "reference": "same"}),
        (both(sizes="to11"), {"onnxruntime": "refused", "openvino": "unknown", "reference": "unknown"}),
        (without_mode(), {"onnxruntime": "refused", "openvino": "refused", "reference": "refused"}),
    ],
)
def test_an_audit_runs_it_in_each_runtime(node: onnx.NodeProto, verdicts: dict[str, str]) -> None:
    report = ir_interp.audit(save(node), run=True, runtimes=list(verdicts))
    (row,) = report.unread
    assert {name: verdict.kind.value for name, verdict in row.seen.items()} == verdicts
    assert all(judged.run for judged in row.judged.values())
    assert "gives shape [1, 2, 11, 11]" in str(row.seen) or "unknown" not in verdicts.values()


def test_the_next_step_of_the_finding(capsys: pytest.CaptureFixture[str]) -> None:
    save(upsample())
    assert "ir-interp fix bad.onnx bad.fixed.onnx" in command(capsys, "audit", "bad.onnx")[1]
    _, printed, _ = command(capsys, "audit", "bad.onnx", "--run", "--html", "bad.html")
    assert "cannot be read" in printed
    assert "OpenVINO reading .onnx: " in Path("bad.html").read_text(encoding="utf-8")
    save(upsample("less"))
    assert "ir-interp explain IRI027" in command(capsys, "audit", "bad.onnx")[1]
