"""What others run in their CI: the action's script, the hooks, and the lines for pytest."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import command
from tests.support.graphs import save_model
from tests.support.places import ROOT

SOFT = """g (float[1,2,8,8] x) => (float[1,2,k,l] y) <float[4] s = {1,1,0.5,0.5}> {
    [soft] y = Resize <mode = "linear", antialias = 1> (x, "", s) }"""
ACTION = ROOT / ".github" / "actions" / "audit"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("my models").mkdir()
    save_model(Path("my models/a.onnx"), SOFT)


def audited(models: str, options: str) -> subprocess.CompletedProcess[str]:
    """Run the script of the action, with ``ir-interp`` of this environment."""
    if shutil.which("bash") is None:
        pytest.skip("needs bash")
    program = Path("bin", "ir-interp")
    program.parent.mkdir(exist_ok=True)
    program.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m ir_interp "$@"\n')
    program.chmod(0o755)
    environment = {"IR_INTERP_MODELS": models, "IR_INTERP_OPTIONS": options, "IR_INTERP_SARIF": "found.sarif"}
    path = f"{program.parent.resolve()}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        [ACTION / "audit.sh"],
        env={**os.environ, **environment, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("models", "options", "code"),
    [
        ("my models\n", "", 1),
        ("my models/a.onnx\n\n", "--fail-on differs --runtime tensorrt", 0),
        ("my models\n", "--severity tensorrt=note --fail-on refused", 0),
        ("my models\ngone.onnx", "", 2),
    ],
)
def test_the_action(models: str, options: str, code: int) -> None:
    done = audited(models, options)
    assert done.returncode == code, done.stderr
    if code == 2:
        assert done.stderr == "error: gone.onnx: cannot be read: No such file or directory\n"
        return
    (run,) = json.loads(Path("found.sarif").read_text())["runs"]
    places = {each["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for each in run["results"]}
    assert places == {"my%20models/a.onnx"}
    assert done.stdout.count("file=my models/a.onnx,title=IRI0") == len(run["results"])


def test_a_repository_that_accepts_what_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    """Its build is red, green once today's findings are accepted, and red again for a new model, as ci.md shows."""
    options = "--deploy openvino --baseline audit-baseline.json"
    assert audited("my models\n", "--deploy openvino").returncode == 1
    assert audited("my models\n", options).returncode == 2, "there is no baseline yet"
    written = ("--deploy", "openvino", "--write-baseline", "audit-baseline.json")
    assert command(capsys, "audit", "my models", *written)[0] == 0
    green = audited("my models\n", options)
    assert (green.returncode, green.stdout.count("::warning")) == (0, 0)
    save_model(Path("my models/new.onnx"), SOFT)
    red = audited("my models\n", options)
    failing = {line.partition(",")[0] for line in red.stdout.splitlines() if not line.startswith("::notice")}
    assert (red.returncode, failing) == (1, {"::warning file=my models/new.onnx"})
    results = json.loads(Path("found.sarif").read_text())["runs"][0]["results"]
    assert {result["ruleId"] for result in results if "suppressions" not in result} >= {"IRI012", "IRI023"}
    # The model is repaired, and deployed through the IR of convert: both findings go, without a baseline.
    assert command(capsys, "fix", "my models/new.onnx", "fixed.onnx")[0] == 0
    Path("fixed.onnx").replace("my models/new.onnx")
    assert audited("my models/new.onnx\n", "--deploy openvino-converted").returncode == 0


def test_the_action_names_its_script_and_its_inputs() -> None:
    text = (ACTION / "action.yml").read_text(encoding="utf-8")
    script = (ACTION / "audit.sh").read_text(encoding="utf-8")
    assert set(re.findall(r"IR_INTERP_\w+(?=: \$)", text)) == set(re.findall(r"IR_INTERP_[A-Z]+", script))
    assert set(re.findall(r"inputs\.(\w+)", text)) == {"models", "options", "sarif", "upload"}
    assert (ACTION / "../../..").resolve() == ROOT


def test_the_hooks_run(capsys: pytest.CaptureFixture[str]) -> None:
    text = (ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8")
    entries, arguments = re.findall(r"entry: ir-interp (.*)", text), re.findall(r"args: \[(.*)\]", text)
    assert len(entries) == len(arguments) == 2
    for entry, given in zip(entries, arguments, strict=True):
        assert command(capsys, *entry.split(), *given.split(", "), "my models/a.onnx")[0] == 1


def lines_for_pytest(number: int) -> str:
    """Return a block of Python on the page, which holds a test of three lines."""
    code = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "ci.md").read_text(encoding="utf-8"), re.DOTALL)[number]
    assert code.partition("\n\n\n")[2].count("\n") == 3
    return str(code)


def test_the_lines_for_pytest() -> None:
    names: dict[str, Any] = {}
    exec(compile(lines_for_pytest(0).replace("models/", "my models"), "ci.md", "exec"), names)
    with pytest.raises(AssertionError, match="IRI023"):
        names["test_every_runtime_computes_the_same"]()


@pytest.mark.parametrize("exported", ["bilinear", "bicubic"])
def test_the_lines_for_a_module_of_pytorch(exported: str) -> None:
    """The lines pass for the module that was exported, and fail for one that computes something else."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("onnxscript")
    names: dict[str, Any] = {"net": torch.nn.Upsample((16, 16), mode="bilinear").eval()}
    exec(compile(lines_for_pytest(1), "ci.md", "exec"), names)
    export = torch.onnx.export

    def exports(_: Any, *arguments: Any) -> None:
        export(torch.nn.Upsample((16, 16), mode=exported).eval(), *arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.onnx, "export", exports)
        with nullcontext() if exported == "bilinear" else pytest.raises(AssertionError):
            names["test_my_export_equals_my_module"]()
