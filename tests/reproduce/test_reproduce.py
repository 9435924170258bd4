"""Faults of runtimes as folders: as small as they get, and shown by a script that needs only the runtime."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest

import ir_interp
from ir_interp import IrInterpError
from ir_interp.converters.audit.probe import RUNNERS
from ir_interp.converters.reproduce.conformance_kit import function
from ir_interp.converters.reproduce.known_faults import PLACES, faults
from ir_interp.converters.runtimes.outcome import Kind
from tests.support.commands import command
from tests.support.graphs import save_model
from tests.sweeps.faults import problem, unnamed

pytestmark = pytest.mark.usefixtures("one_worker")

FEW = ("openvino:antialias", "onnxruntime:crop-kept-scale")
MODEL = """g (float[1,3,64,48] x) => (float[1,3,h,w] y) <int64[4] s = {1, 3, 32, 96}, float[4] t = {1, 1, 1.5, 1.5}> {
    [good] a = Resize <mode = "linear"> (x, "", "", s)
    [soft] b = Resize <mode = "linear", antialias = 1> (a, "", t)
    [edge] y = Resize <mode = "cubic", exclude_outside = 1> (b, "", "", s)
}"""


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", FEW)
def test_known_faults_show(name: str) -> None:
    """By the folder's own script; ``python -m tests.sweeps.faults`` has all of them."""
    assert problem(faults()[name], Path("fault")) == ""


def test_what_is_no_fault_is_noticed() -> None:
    """The sweep would see a rule that is wrong."""
    right = faults()["openvino:antialias"]
    assert problem(replace(right, kind=Kind.REFUSED), Path("fault")).startswith("seen differs by ")


def test_causes_of_random_nodes_are_named() -> None:
    assert list(unnamed(40, 3)) == []


def test_all_are_listed() -> None:
    """Silent ones of every runtime, each cause once."""
    known = faults()
    silent = [each for each in known.values() if each.kind is not Kind.REFUSED]
    assert len(silent) >= 25
    assert {each.runtime for each in silent} >= {"onnxruntime", "openvino", "reference", "opencv-dnn", "mnn", "tvm"}
    causes = [(each.runtime, each.reason) for each in known.values()]
    assert [reason for _, reason in causes if re.search(r"\b(step|length): ", reason)] == []  # names of fields
    assert len(set(causes)) == len(causes)
    assert {each.place for each in known.values()} <= PLACES.keys()


def test_the_smallest_is_small() -> None:
    """Of a feature map two pixels are left; a wanted resize is another than the first at fault."""
    save_model(Path("a.onnx"), MODEL)
    found = ir_interp.reproduce("a.onnx", "fault", runtime="openvino", layer="edge")
    assert found.op.shape is not None
    assert np.prod([length or 0 for length in found.op.shape]) <= 4
    assert (found.verdict.kind, found.verdict.reason) == (Kind.DIFFERS, "exclude_outside dropped")
    assert sorted(path.name for path in Path("fault").iterdir()) == [
        *("README.md", "expected.npy", "input.npy", "model.onnx", "output.npy", "reproduce.py")
    ]
    (op,) = ir_interp.load("fault/model.onnx")
    np.testing.assert_array_equal(op.run(np.load("fault/input.npy")), np.load("fault/expected.npy"))
    assert np.abs(np.load("fault/output.npy") - np.load("fault/expected.npy")).max() == pytest.approx(
        found.verdict.difference
    )
    assert len(onnx.load("fault/model.onnx").graph.node) == 1
    story = Path("fault/README.md").read_text(encoding="utf-8")
    assert "exclude_outside dropped" in story
    assert 'ONNX\'s operator page "Resize", version 19' in story
    assert f"| openvino | {found.versions['openvino']} |" in story


def test_scripts_need_nothing_of_this_project() -> None:
    for runner in RUNNERS.values():
        source = function(runner.run, "run")
        assert "ir_interp." not in source
        assert "from ." not in source
        assert source.startswith("def run(model, x):\n")
        assert len(source.splitlines()) <= 20
        compile(source, "script", "exec")


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    code, printed, _ = command(capsys, "reproduce", "reference:single-output", "fault", "--json")
    assert (code, json.loads(printed)["reason"]) == (0, "it puts a single output at -1/2")
    code, printed, errors = command(capsys, "reproduce", "reference:single-output", "fault")
    assert (code, errors) == (2, "error: fault exists and is not an empty folder; choose another name\n")


def test_a_layer_of_an_ir(capsys: pytest.CaptureFixture[str]) -> None:
    PLACES["ir-area"].save(Path("a.xml"))
    code, printed, _ = command(capsys, "reproduce", "a.xml", "fault", "--runtime", "openvino")
    assert code == 0
    assert printed.startswith("openvino: refused: no runtime executes mode area\n")
    assert printed.endswith("wrote fault: model, input, expected, README.md; run reproduce.py there\n")
    assert {path.name for path in Path("fault").iterdir()} >= {"model.xml", "model.bin"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("a.onnx", "fault"), "a model needs a runtime; expected one of "),
        (("a.onnx", "fault", "--runtime", "openvno"), "unknown runtime 'openvno'; expected one of "),
        (("a.onnx", "fault", "--runtime", "tensorrt"), "TensorRT's importer cannot be run here; expected one of "),
        (("a.onnx", "fault", "--runtime", "onnxruntime"), "a.onnx: every resize that was run is correct in onnx"),
        (("a.onnx", "fault", "--runtime", "openvino", "--layer", "sft"), "no resize 'sft'; expected one of edge, good"),
        (("b.onnx", "fault", "--runtime", "openvino"), "b.onnx"),
        (("a.txt", "fault", "--runtime", "openvino"), "a.txt: unknown file type '.txt'"),
        (("openvino:antialas", "fault"), "unknown fault 'openvino:antialas'; "),
        (("openvino:antialias", "fault", "--runtime", "mnn"), "openvino:antialias is a fault of openvino, not of mnn"),
        (("openvino:antialias", "missing/fault"), "missing/fault cannot be written: folder missing does not exist"),
        (("openvino:antialias", "a.onnx"), "a.onnx exists and is not an empty folder"),
    ],
)  # fmt: skip
def test_refusals(arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    save_model(Path("a.onnx"), MODEL)
    code, _, errors = command(capsys, "reproduce", *arguments)
    assert code == 2
    assert errors.startswith("error: ")
    assert message in errors
    assert [path.name for path in Path().iterdir()] == ["a.onnx"]


def test_one_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(RUNNERS["mnn"]), "is_installed", False)
    with pytest.raises(IrInterpError, match="mnn is not installed; run `pip install MNN`"):
        ir_interp.reproduce("mnn:antialias", "fault")
