"""``audit --deploy``: findings about runtimes that nobody deploys to are notes, which never fail a build."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import ir_interp
from ir_interp import Severity
from tests.support.commands import command
from tests.support.graphs import save_model
from tests.support.ir_text import interpolate

SOFT = """g (float[1,2,8,8] x) => (float[1,2,k,l] y) <float[4] s = {1,1,0.5,0.5}> {
    [soft] y = Resize <mode = "linear", antialias = 1> (x, "", s) }"""
"""OpenVINO's own frontend drops antialias, TensorRT's importer refuses it, MNN ignores it; the rest keep it."""


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    save_model(Path("soft.onnx"), SOFT)


@pytest.mark.parametrize(
    ("deploy", "differs", "refused"),
    [
        ("onnxruntime", 0, 0),
        ("openvino-converted", 0, 0),
        ("onnxruntime,openvino-converted", 0, 0),
        ("openvino", 1, 0),
        ("tensorrt", 0, 1),
        ("tensorrt:10.15", 0, 1),
        ("onnxruntime,tensorrt", 0, 1),
        ("mnn", 1, 0),  # no usual runtime of an audit
    ],
)
def test_only_deployed_runtimes_fail(
    deploy: str, differs: int, refused: int, capsys: pytest.CaptureFixture[str]
) -> None:
    for kind, code in (("differs", differs), ("refused", refused)):
        assert command(capsys, "audit", "soft.onnx", "-q", "--deploy", deploy, "--fail-on", kind)[0] == code, kind
        Path("pyproject.toml").write_text(f"[tool.ir-interp]\ndeploy = {json.dumps(deploy.split(','))}\n")
        assert command(capsys, "audit", "soft.onnx", "-q", "--fail-on", kind)[0] == code, kind
        assert command(capsys, "audit", ".", "-q", "--results", f"{kind}.jsonl", "--fail-on", kind)[0] == code, kind
        assert ir_interp.audit("soft.onnx", deploy=deploy.split(",")).fails(kind) == bool(code), kind
        Path("pyproject.toml").unlink()
        Path(f"{kind}.jsonl").unlink()


def test_other_runtimes_are_notes() -> None:
    report = ir_interp.audit("soft.onnx", deploy=["openvino-converted"])
    notes = {finding.runtime for finding in report.findings if finding.severity is Severity.NOTE}
    assert notes == {"openvino", "tensorrt"}
    assert [finding.code for finding in report.findings if finding.severity is not Severity.NOTE] == ["IRI012"]


def test_an_ir_is_read_by_openvino_itself(capsys: pytest.CaptureFixture[str]) -> None:
    """In an audit of an IR, there is no converted model for OpenVINO: the name stands for the IR itself."""
    Path("area.xml").write_text(interpolate('axes="3,2" mode="area"', out=(1, 1, 8, 9)))  # OpenVINO refuses the mode
    for deploy, code in (("openvino-converted", 1), ("openvino", 1), ("mnn", 0)):
        assert command(capsys, "audit", "area.xml", "-q", "--fail-on", "refused", "--deploy", deploy)[0] == code


def test_the_command_line_replaces_the_project(capsys: pytest.CaptureFixture[str]) -> None:
    Path("pyproject.toml").write_text('[tool.ir-interp]\ndeploy = ["onnxruntime"]\nfail-on = ["refused", "differs"]\n')
    assert command(capsys, "audit", "soft.onnx", "-q")[0] == 0
    assert command(capsys, "audit", "soft.onnx", "-q", "--deploy", "tensorrt")[0] == 1
    assert command(capsys, "audit", "soft.onnx", "-q", "--runtime", "tensorrt")[0] == 1
    assert command(capsys, "audit", "soft.onnx", "-q", "--severity", "tensorrt=error")[0] == 1


def test_refusals(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, said in (
        (("--deploy", "tensort"), "error: unknown runtime 'tensort'; "),
        (("--deploy", "installed"), "error: --deploy installed depends on the machine"),
        (("--deploy", "mnn", "--runtime", "mnn"), "error: --runtime and --deploy exclude each other: "),
    ):
        code, out, err = command(capsys, "audit", "soft.onnx", *arguments)
        assert (code, out) == (2, "")
        assert err.startswith(said)
    Path("pyproject.toml").write_text('[tool.ir-interp]\ndeploy = ["mnn"]\nruntime = ["mnn"]\n')
    path = Path.cwd() / "pyproject.toml"
    said = f"error: {path}: [tool.ir-interp]: runtime and deploy exclude each other\n"
    assert command(capsys, "audit", "soft.onnx") == (2, "", said)
