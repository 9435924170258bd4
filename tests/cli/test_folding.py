"""Identical resizes are one row, equal findings one line, each with the command that comes next."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ir_interp.cli.printed_results import folded_cells, place
from ir_interp.converters.audit.audited_resizes import Finding
from ir_interp.converters.conversion.next_steps import mistaken, next_step
from ir_interp.diagnostic_codes import RULES
from tests.support.commands import command, words
from tests.support.graphs import save_model


def test_rows() -> None:
    rows = [("a", ("x",)), ("b", ("y",)), ("c", ("x",)), ("d", ("z",)), ("e", ("x",)), ("f", ("z",))]
    assert folded_cells(rows) == [(("a", "... e", "3 resizes"), "x"), (("b",), "y"), (("d", "f"), "z")]
    assert (place(("a",)), place(("a", "b", "c"))) == ("a", "a and 2 more")


def test_a_model_of_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    nodes = " ".join(f'[up{n}] y{n} = Resize <mode = "linear", antialias = 1> (x, , s)' for n in range(24))
    outputs = ", ".join(f"float[1,3,k,l] y{n}" for n in range(24))
    save_model(Path("a.onnx"), f"g (float[1,3,8,8] x) => ({outputs}) <float[4] s = {{1,1,0.5,0.5}}> {{ {nodes} }}")
    code, printed, _ = command(capsys, "audit", "a.onnx")
    assert (code, len(printed.splitlines())) == (1, 18)
    assert '! a.onnx:node[0 "up0"] and 23 more: IRI012 antialias ' in printed
    assert "\n    ir-interp fix a.onnx a.fixed.onnx\n" in printed
    assert "\n    ir-interp convert a.fixed.onnx a.fixed.portable.onnx --target tensorrt\n" in printed
    assert printed.endswith("24 resizes, 72 findings; `ir-interp explain CODE` explains a finding\n")
    for given in (("inspect", "a.onnx"), ("convert", "a.onnx", "a.xml", "--no-verify")):
        code, printed, _ = command(capsys, *given)
        assert (code, printed.count("│ up0"), printed.count("... up23")) == (0, 1, 1)
        assert "24 resizes" in words(printed)
    assert "✓\xa0exact for this" in printed


@pytest.mark.parametrize(
    ("code", "file", "runtime", "step"),
    [
        ("IRI011", "a b.onnx", None, "ir-interp fix 'a b.onnx' 'a b.fixed.onnx'"),
        ("IRI014", "a.tflite", None, "ir-interp explain IRI014"),
        ("IRI021", "a.onnx", "openvino", "ir-interp convert a.onnx a.xml"),
        ("IRI022", "a.onnx", "ncnn", "ir-interp convert a.onnx a.portable.onnx --target ncnn"),
        ("IRI023", "a.onnx", "onnxruntime", "ir-interp explain IRI023"),
        ("IRI023", "a.onnx", "openvino:2024.6", "ir-interp explain IRI023"),
        ("IRI023", "a.onnx", "tensorrt:8.6", "ir-interp convert a.onnx a.portable.onnx --target tensorrt:8.6"),
        ("IRI023", "a.xml", "openvino", "ir-interp explain IRI023"),
        ("IRI025", "a.xml", "openvino", "ir-interp audit a.xml --run"),
    ],
)
def test_next_steps(code: str, file: str, runtime: str | None, step: str) -> None:
    severity = RULES[code].severity
    finding = Finding(code=code, message="", file=file, where=file, runtime=runtime, severity=severity)
    assert next_step(finding) == step


@pytest.mark.parametrize(
    ("trained", "step"),
    [
        ("training.json", "ir-interp preprocess a.onnx a.ready.onnx --config training.json"),
        ("pc.json:pil", "ir-interp preprocess a.onnx a.ready.onnx --config pc.json --backend pil"),
        ("CLIPImageProcessor:pil", "ir-interp preprocess --help"),
        ("pillow:bicubic", "ir-interp preprocess --help"),
        ("pillow:box,box=0.5,1,2.5,3", "ir-interp preprocess --help"),
    ],
)
def test_the_next_step_of_preprocessing(trained: str, step: str) -> None:
    severity = RULES["IRI041"].severity
    finding = Finding(code="IRI041", message="", file="a.onnx", where="a.onnx", severity=severity, trained=trained)
    assert next_step(finding) == step


def test_the_next_step_takes_a_model_that_is_repaired() -> None:
    """Else the commands, pasted one after the other, would convert the mistakes."""
    values: dict[str, Any] = {"message": "", "file": "zoo/a.onnx", "where": "zoo/a.onnx"}
    exported = Finding(code="IRI011", runtime=None, severity=RULES["IRI011"].severity, **values)
    differs = Finding(code="IRI023", runtime="openvino", severity=RULES["IRI023"].severity, **values)
    files = mistaken([exported, differs])
    assert next_step(exported, files) == "ir-interp fix zoo/a.onnx zoo/a.fixed.onnx"
    assert next_step(differs, files) == "ir-interp convert zoo/a.fixed.onnx zoo/a.fixed.xml"
