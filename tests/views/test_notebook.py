"""What shells and notebooks show of results: a line of at most 300 characters, and tables."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from lxml import etree

import ir_interp
from tests.support.chains import chain
from tests.support.graphs import save_model


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    chain("a.onnx")
    chain("b.onnx", mode="asymmetric")


def rows(html: str) -> list[list[list[str]]]:
    """Return the cells of every table, the title first."""
    root = etree.fromstring(f"<div>{html}</div>")
    return [
        [["".join(each.itertext())] for each in table.iter("caption")]
        + [["".join(cell.itertext()) for cell in row] for row in table.iter("tr")]
        for table in root.iter("table")
    ]


def test_an_audit() -> None:
    audit = ir_interp.audit("a.onnx", runtimes=["onnxruntime", "openvino"])
    assert repr(audit) == "<Audit: 2 resizes in 1 file, 2 findings (IRI012, IRI023)>"
    resizes, findings = rows(audit._repr_html_())
    assert resizes == [
        ["2 resizes in 1 file, 2 findings (IRI012, IRI023)"],
        ["resize", "onnxruntime", "OpenVINO reading .onnx"],
        ["a.onnx: soft", "same", "differs 0.11"],
        ["a.onnx: up", "same", "same"],
    ]
    assert findings[:2] == [["Findings"], ["code", "where", "what"]]
    assert [row[:2] for row in findings[2:]] == [
        ["IRI012", 'a.onnx:node[0 "soft"]'],
        ["IRI023", 'a.onnx:node[0 "soft"]'],
    ]


def test_files_that_cannot_be_read_are_counted() -> None:
    Path("c.onnx").write_bytes(b"\x08")
    text = repr(ir_interp.audit(["a.onnx", "c.onnx"], select=["IRI041"]))
    assert text == "<Audit: 2 resizes in 1 file, 0 findings; 1 file could not be read>"


def test_a_conversion() -> None:
    report = ir_interp.convert("a.onnx", "a.xml")
    grades = "2 resizes, 1 exact for this shape, 1 exact; 1 output compared and within the tolerance"
    assert repr(report) == f"<ConversionReport: a.onnx to a.xml, {grades}>"
    resizes, outputs = rows(report._repr_html_())
    assert resizes[:2] == [[f"a.onnx to a.xml: {grades}"], ["resize", "was", "became", "grade"]]
    assert [row[0] for row in resizes[2:]] == ["soft", "up"]
    assert [row[:2] for row in outputs] == [["Verification"], ["output", "verdict"], ["y", "equal"]]
    unverified = repr(ir_interp.convert("a.onnx", "b.xml", verify=False))
    assert unverified.endswith("1 exact for this shape, 1 exact; not verified>")


def test_a_comparison() -> None:
    comparison = ir_interp.compare("a.onnx", "b.onnx", per_resize=True)
    verdict = "a.onnx against b.onnx, 0 of 1 outputs equal within the tolerance"
    assert repr(comparison) == f"<ModelComparison: {verdict}; the first resize that differs is 'up'>"
    outputs, resizes = rows(comparison._repr_html_())
    assert outputs[0] == [verdict.replace(", ", ": ")]
    assert outputs[2][:2] == ["y", "1x2x8x8 float32"]
    assert resizes[:2] == [["the first resize that differs is 'up'"], ["resize", "its data", "its output"]]
    assert resizes[2] == ["soft", "equal within 0", "equal within 0"]


def test_a_pipeline() -> None:
    config = {"image_processor_type": "ViTImageProcessor", "size": {"height": 8, "width": 8}}
    pipeline = ir_interp.pipeline(config, backend="pil")
    steps = ["resize 8x8 (pillow:bilinear)", "divide by 255", "subtract 0.5, divide by 0.5", "channels first"]
    assert repr(pipeline) == f"<Pipeline: {pipeline.name}: {'; '.join(steps)}>"
    (table,) = rows(pipeline._repr_html_())
    assert table == [[pipeline.name], ["", "step"], *([str(place), step] for place, step in enumerate(steps, 1))]


def test_many_resizes_and_long_names_stay_short() -> None:
    many = "\n".join(f'[up{n}] t{n + 1} = Resize <mode = "linear"> (t{n}, "", u)' for n in range(30))
    head = "g (float[1,1,2,2] t0) => (float[1,1,k,l] t30) <float[4] u = {1,1,1,1}>"
    name = "<i>" + "n" * 200 + ".onnx"
    save_model(Path(name), f"{head} {{ {many} }}")
    model = onnx.load(name)
    model.graph.node[0].name = "<script>\n"
    onnx.save(model, name)
    audit = ir_interp.audit(name)
    assert len(repr(audit)) < 100
    assert "<script>" not in audit._repr_html_()
    assert audit._repr_html_().count("<tr>") == 1 + 20 + 1
    assert "<p>and 10 more</p>" in audit._repr_html_()
    comparison = repr(ir_interp.compare(name, name))
    assert (len(comparison), comparison[-4:]) == (300, "...>")
