"""``--html``: what the pages say, that they stay text and need nothing else, and what a browser makes of them."""

from __future__ import annotations

import base64
import hashlib
import io
import itertools
import json
import re
import shlex
import sys
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from lxml import etree
from PIL import Image

from ir_interp import AtRunTime, Coordinates, Linear, Nearest, ResizeOp, ResizeSpec, Rounding, Scales, Sizes
from ir_interp.cli.main import main
from ir_interp.converters.pages import frame, gallery
from ir_interp.converters.reports import Compared
from ir_interp.diagnostic_codes import RULES
from ir_interp.version import versions
from tests.support.browser import Browser, tab as tab
from tests.support.chains import CHAIN, chain
from tests.support.commands import command
from tests.support.graphs import save_model
from tests.support.ir_text import interpolate

pytestmark = pytest.mark.usefixtures("one_worker")

HOSTILE = """</td><script>document.title = 1</script><img src=http://example.org/x onerror=alert(1)> $x^{$ & " '"""
LONG = "/backbone/stage" + "_and_on" * 60 + "/Resize"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """Make every kind of page of models whose names would be markup, or fit no line."""
    folder = tmp_path_factory.mktemp("hostile")
    first, second = folder / "a<b>&.onnx", folder / "other.onnx"
    chain(first, HOSTILE, LONG)
    chain(second, HOSTILE, LONG, mode="asymmetric")
    given = {
        "audit": ("audit", first),
        "compare": ("compare", first, second, "--per-resize"),
        "convert": ("convert", first, folder / "a.xml", "--no-verify"),
        "refused": ("convert", first, folder / "a.xml", "--only", "native"),
    }
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        codes = [main([*map(str, words), "--html", str(folder / f"{name}.html")]) for name, words in given.items()]
    assert codes == [1, 1, 0, 1]
    return {name: folder / f"{name}.html" for name in given}


def read(page: str | Path) -> etree._Element:
    """Return a page, and check that it loads nothing, and that its policy allows no script but its own."""
    text = Path(page).read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>\n<html")
    parser = etree.HTMLParser()
    root = etree.fromstring(text, parser)
    assert not [each for each in parser.error_log if "invalid" in each.message and "Tag" not in each.message]
    assert not root.xpath("//link | //iframe | //object | //embed | //form | //base | //image | //use")
    (policy,) = root.xpath("//meta[@http-equiv='Content-Security-Policy']/@content")
    (script,) = root.xpath("//script/text()")
    digest = base64.b64encode(hashlib.sha256(str(script).encode()).digest()).decode()
    assert policy == f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    check_outline(root)
    for element in root.iter(etree.Element):
        for name, value in element.attrib.items():
            assert not str(name).startswith("on")
            if name in ("src", "href"):
                assert str(value).startswith(("data:image/svg+xml;base64,", "#"))
    assert "url(" not in text
    assert "@import" not in text
    return root


def check_outline(root: etree._Element) -> None:
    """Check what readers of screens go by: language, one main part, headings that skip no level, names of pictures."""
    assert root.get("lang") == "en"
    assert root.xpath("count(//main)") == root.xpath("count(//h1)") == 1
    levels = [int(str(each.tag)[1]) for each in root.xpath("//h1 | //h2 | //h3")]
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
    assert all(root.xpath("//img/@alt"))
    assert len(root.xpath("//img/@alt")) == len(root.xpath("//img"))
    assert len(root.xpath("//svg[@role='img'][@aria-label]")) == len(root.xpath("//svg"))
    assert not root.xpath("//table[not(thead/tr/th[@scope='col'])] | //th[not(@scope)]")


def said(element: etree._Element | None) -> str:
    """Return the text of an element, without the folds of signs and spaces."""
    assert element is not None
    return " ".join("".join(str(each) for each in element.itertext()).split())


def table(root: etree._Element, title: str) -> list[list[str]]:
    """Return the cells of the table under a title, its head first."""
    (section,) = [each for each in root.findall(".//section") if said(each.find(".//h2")) == title]
    rows = section.find(".//table")
    assert rows is not None
    assert rows.find("caption") is None or said(rows[0])
    return [[said(cell) for cell in row] for row in rows.iter("tr")]


def test_audit(capsys: pytest.CaptureFixture[str]) -> None:
    chain("a.onnx")
    Path("b.onnx").write_bytes(b"\x08")
    code, printed, _ = command(capsys, "audit", "a.onnx", "b.onnx", "--format", "json", "--html", "a.html")
    assert code == 2
    record, root = json.loads(printed), read("a.html")
    text = said(root)
    codes = "IRI012, IRI022, IRI023"
    assert f"2 resizes in 1 file, 3 findings ({codes}); 1 file could not be read" in text
    assert "b.onnx: not an ONNX model" in text
    head, first, second = table(root, "Resizes of ONNX models")
    assert head[1:] == [
        "onnxruntime",
        "OpenVINO reading .onnx",
        "OpenVINO after convert",
        "TensorRT's importer",
        "ONNX reference",
    ]
    for row, resize in zip((first, second), record["resizes"], strict=True):
        assert row[0].startswith(f"a.onnx: {resize['name']}onnx 19, input 1x2x")
        assert row[0].endswith(f"{resize['target']}: {resize['formula']}")
        for cell, verdict in zip(row[1:], resize["verdicts"].values(), strict=True):
            size = f" {verdict['difference']:.2g}" if verdict["difference"] else ""
            assert cell[2:] == verdict["verdict"] + size + verdict["reason"]
    found = [[each[key] for key in ("code", "severity", "where", "message")] for each in record["findings"]]
    rows = table(root, "What to do")[1:]
    assert [[row[0], row[1][2:], row[3], row[2].partition("ir-interp ")[0]] for row in rows] == found
    assert [row[2].partition("ir-interp ")[2] for row in rows] == [
        "fix a.onnx a.fixed.onnx",
        "convert a.fixed.onnx a.fixed.xml",
        "convert a.fixed.onnx a.fixed.portable.onnx --target tensorrt",
    ]
    for code_said in {each["code"] for each in record["findings"]}:
        assert RULES[code_said].story.replace("`", "") in text
        assert RULES[code_said].remedy.replace("`", "") in text
        assert root.xpath(f"count(//details[@id='{code_said}'])") == 1
    counted = {row[0]: row[2:] for row in table(root, "Runtimes of ONNX models")[1:]}
    assert counted["onnxruntime"] == ["2", "", "", "", "", ""]
    assert counted["TensorRT's importer"] == ["1", "", "1", "", "", ""]
    assert [image.get("alt") for image in root.iter("img")] == [
        "Test picture (--image shows your own) after soft: correct, in OpenVINO reading .onnx, difference",
        "Source positions along axis 2, correct",
        "Source positions along axis 2, in OpenVINO reading .onnx",
    ]
    assert [each.get("aria-label") for each in root.iter("svg")] == [
        "soft: reads data: input x 1x2x8x8, scales: constant 1, 1, 0.5, 0.5; Resize up reads it"
    ]


def test_an_audit_that_was_run_and_findings_that_were_chosen(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A prediction that is wrong stands beside what was seen."""
    from ir_interp.converters.predictions import RUNTIMES, Predictor
    from ir_interp.converters.runtimes.outcome import refused

    wrong = Predictor(title="onnxruntime", version="0", predict=lambda node: refused("it is late"))
    predictions = {**RUNTIMES, "onnxruntime": wrong}
    monkeypatch.setattr("ir_interp.converters.audit.auditing.runtimes_for", lambda _: predictions)
    chain("a.onnx")
    given = ("--run", "--runtime", "onnxruntime", "--select", "IRI024", "--html", "a.html")
    assert command(capsys, "audit", "a.onnx", *given)[0] == 1
    root = read("a.html")
    assert [row[1] for row in table(root, "Resizes of ONNX models")] == ["onnxruntime", "✓ samerun", "✓ samerun"]
    head, *rows = table(root, "Prediction and run disagree")
    assert head == ["resize", "runtime", "predicted", "run"]
    assert rows == [[f"a.onnx: {name}", "onnxruntime", "refused: it is late", "same"] for name in ("soft", "up")]
    assert [row[0] for row in table(root, "What to do")[1:]] == ["IRI024"]


def test_an_audit_of_both_kinds_and_of_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    chain("a.onnx")
    assert command(capsys, "convert", "a.onnx", "a.xml", "--no-verify")[0] == 0
    command(capsys, "audit", "a.onnx", "a.xml", "--html", "a.html")
    root = read("a.html")
    assert table(root, "Runtimes of IRs")[1][0] == "OpenVINO"
    assert len(table(root, "Resizes of ONNX models")) == 3
    save_model(Path("none.onnx"), "g (float[3] x) => (float[3] y) {y = Identity (x)}")
    assert command(capsys, "audit", "none.onnx", "--html", "none.html")[0] == 0
    assert "0 resizes in 0 files, 0 findings" in said(read("none.html"))


def test_an_audit_of_a_framework_names_its_exporters(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("ai_edge_litert", reason="pip install 'ir-interp[tflite]'")
    text = """g (float[1,5,6,2] x) => (float[1,10,12,2] y) <float[4] s = {1,2,2,1}> {
        y = Resize <mode = "linear"> (x, "", s)
    }"""
    save_model(Path("a.onnx"), text)
    assert command(capsys, "convert", "a.onnx", "a.tflite", "--no-verify")[0] == 0
    assert command(capsys, "audit", "a.tflite", "--html", "a.html")[0] in (0, 1)
    root = read("a.html")
    assert ["OpenVINO's TFLite frontend", "none: it is run"] in [
        row[:2] for row in table(root, "Runtimes of LiteRT models")
    ]
    assert len(table(root, "Resizes of LiteRT models")) == 2


def test_compare(capsys: pytest.CaptureFixture[str]) -> None:
    chain("a.onnx")
    chain("b.onnx", mode="asymmetric")
    code, printed, _ = command(capsys, "compare", "a.onnx", "b.onnx", "--per-resize", "--json", "--html", "c.html")
    assert code == 1
    record, root = json.loads(printed), read("c.html")
    assert "✗ differ: 0 of 1 outputs equal within the tolerance" in said(root)
    assert "the first resize that differs is 'up'" in said(root)
    assert [said(each) for each in root.findall(".//section/ul/li")] == [
        "The resize 'up' is the first that differs; ir-interp explain shows what it computes.",
        f"If this difference is acceptable, allow it: --tolerance {record['outputs'][0]['least_tolerance']:.3g}.",
    ]
    (output,) = record["outputs"]
    assert f"✗ DIFFERS: largest difference {output['absolute']:.3g}, relative" in said(root)
    first, second, *_ = table(root, "Output y")[1:]
    for row, name, values in ((first, "a.onnx", output["first"]), (second, "b.onnx", output["second"])):
        assert row == [name, "1x2x8x8 float32", *(f"{values[key]:.6g}" for key in ("min", "mean", "max"))]
    bars = [str(each) for each in root.xpath("//div[@class='bar']/@style")]
    counts = [each["count"] for each in output["histogram"]]
    assert bars == [f"width: {100 * count / max(counts):.2f}%" for count in counts if count]
    assert table(root, "2 resizes, in order")[1:] == [
        ["soft", 'a.onnx:node[0 "soft"]', "equal within 0", "equal within 0"],
        ["up", 'a.onnx:node[1 "up"]', "equal within 0", table(root, "2 resizes, in order")[2][3]],
    ]


def test_compare_other_shapes(capsys: pytest.CaptureFixture[str]) -> None:
    save_model(Path("a.onnx"), "g (float[2,3] x) => (float[k,l] y) {y = Identity (x)}")
    save_model(Path("b.onnx"), "g (float[2,3] x) => (float[k,l] y) {y = Transpose (x)}")
    assert command(capsys, "compare", "a.onnx", "b.onnx", "--html", "c.html")[0] == 1
    assert "✗ DIFFERS: it has shape [3, 2], not [2, 3]" in said(read("c.html"))


def test_convert(capsys: pytest.CaptureFixture[str]) -> None:
    chain("a.onnx")
    code, printed, _ = command(capsys, "convert", "a.onnx", "a.xml", "--json", "--html", "c.html")
    assert code == 0
    record, root = json.loads(printed), read("c.html")
    assert "✓ written: 2 resizes, 1 exact for this shape, 1 exact" in said(root)
    rows = table(root, "Resizes")[1:]
    for row, resize in zip(rows, record["resizes"], strict=True):
        assert row[:3] == [resize["name"], resize["configuration"], resize["form"]]
        assert row[3][2:] == resize["grade"] + resize["note"]
    assert said(root.find(".//h1")).endswith("; 1 output compared and within the tolerance")
    (output,) = record["verification"]["outputs"]
    numbers = [f"{output[key]:.3g}" for key in ("absolute", "relative", "limit")]
    assert table(root, "Verification")[1:] == [["output y", "✓ equal", *numbers]]
    operations = table(root, "Operations")[1:]
    assert operations[0][:3] == ["all", "2", "all"]
    assert {row[0]: int(row[1]) for row in operations[1:] if row[0]} == record["operations"]["before"]
    assert {row[2]: int(row[3]) for row in operations[1:] if row[2]} == record["operations"]["after"]


def test_outputs_that_tell_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    text = "g (float[2,3] x) => (float[2,3] y, float[2,3] z) {{ a = Sub (x, x) y = {} (a) z = Identity (x) }}"
    for name, kind in (("a.onnx", "Identity"), ("b.onnx", "Relu")):
        save_model(Path(name), text.format(kind))
    assert command(capsys, "compare", "a.onnx", "b.onnx", "--html", "c.html")[0] == 1
    root = read("c.html")
    assert "! INCONCLUSIVE: 1 of 2 outputs equal within the tolerance, 1 inconclusive" in said(root)
    assert "! INCONCLUSIVE: largest difference 0" in said(root)
    assert command(capsys, "convert", "a.onnx", "a.xml", "--html", "c.html")[0] == 0
    root = read("c.html")
    assert said(root.find(".//h1")).endswith("; 2 outputs compared and within the tolerance, 1 of them INCONCLUSIVE")
    assert [row[:2] for row in table(root, "Verification")[1:]] == [
        ["output y", "! INCONCLUSIVE"],
        ["output z", "✓ equal"],
    ]


def test_what_to_do_about_outputs_that_differ(capsys: pytest.CaptureFixture[str]) -> None:
    """The next step depends on what was asked already, and on where the first difference lies."""
    chain("a.onnx")
    text = CHAIN.replace("MODE", "half_pixel").replace("(x, ", "(r, ").replace("[soft]", "r = Relu (x) [soft]")
    save_model(Path("b.onnx"), text)
    np.save("x.npy", -np.random.default_rng(0).random((1, 2, 8, 8), np.float32))
    found = []
    for more in ((), ("--per-resize",), ("--per-resize", "--per-layer")):
        assert command(capsys, "compare", "a.onnx", "b.onnx", "--input", "x=x.npy", *more, "--html", "c.html")[0] == 1
        found.append(said(read("c.html").find(".//section/ul/li")))
    assert found[:2] == [
        "Find the first resize that differs: ir-interp compare --per-resize.",
        "The resizes are not the cause. Find the first layer that differs: ir-interp compare --per-layer.",
    ]
    assert found[2].startswith("Start here: the first layer that differs is ")


@pytest.mark.parametrize("ends", [("a.xml", "b.onnx"), ("a.xml", "b.json"), ("b.json", "c.py")])
def test_convert_in_every_direction(ends: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.xml").write_text(interpolate('axes="2" mode="linear" align_corners="1"', out=(1, 1, 7, 6)))
    if ends[0] == "b.json":
        assert command(capsys, "convert", "a.xml", "b.json")[0] == 0
    assert command(capsys, "convert", *ends, "--html", "c.html")[0] == 0
    root = read("c.html")
    assert table(root, "Resizes")[1][0] == "up"
    verified = [said(each) for each in root.findall(".//section") if said(each[0]) == "Verification"]
    assert ("not verified" in verified[0]) == (not ends[1].endswith(".onnx"))
    assert not root.findall(".//img")


def test_convert_that_is_refused_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    chain("a.onnx")
    Path("c.html").write_text("old")
    code, printed, errors = command(capsys, "convert", "a.onnx", "a.xml", "--only", "native", "--html", "c.html")
    assert (code, printed) == (1, "")
    root = read("c.html")
    assert said(root.find(".//h1")).startswith(
        "✗ refused: nothing was written (a.onnx to a.xml): soft: no exact form in "
    )
    assert [f"error: {said(each)}" for each in root.findall(".//section/ul/li")] == errors.splitlines()
    assert "What to do: Allow every form: --only and --strict rule some out." in said(root)
    assert [row[0] for row in table(root, "Resizes of the source")] == ["resize", "soft", "up"]
    assert sorted(path.name for path in Path().iterdir()) == ["a.onnx", "c.html"]


def test_convert_that_differs_or_cannot_be_read(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    chain("a.onnx")
    Path("b.onnx").write_bytes(b"\x08")
    assert command(capsys, "convert", "b.onnx", "b.xml", "--html", "b.html")[0] == 2
    assert "b.onnx: not an ONNX model" in said(read("b.html"))
    monkeypatch.setattr(Compared, "passes", False)
    assert command(capsys, "convert", "a.onnx", "a.xml", "--html", "a.html")[0] == 1
    assert re.search(r"output y differs by \S+ \(tolerance \S+\)", said(read("a.html")).replace("'", ""))


@pytest.mark.parametrize("name", ["a.onnx", "page"])
def test_a_page_is_written_over_no_model(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    chain("a.onnx")
    held = Path("a.onnx").read_bytes()
    for verb in (("audit", "a.onnx"), ("compare", "a.onnx", "a.onnx"), ("convert", "a.onnx", "a.xml")):
        said_no = f"error: --html '{name}' is not the name of a page; expected .html\n"
        assert command(capsys, *verb, "--html", name) == (2, "", said_no)
    assert Path("a.onnx").read_bytes() == held
    assert [path.name for path in Path().iterdir()] == ["a.onnx"]


def test_a_page_that_cannot_be_written(capsys: pytest.CaptureFixture[str]) -> None:
    chain("a.onnx")
    code, _, errors = command(capsys, "audit", "a.onnx", "--html", "gone/a.html")
    assert (code, errors) == (2, "error: gone/a.html cannot be written: folder gone does not exist; create it first\n")


def test_names_stay_text(hostile: Mapping[str, Path]) -> None:
    for page in hostile.values():
        text = said(read(page))
        assert HOSTILE in text
        assert LONG in text
        assert "a<b>&.onnx" in text


def test_what_no_page_can_hold_is_replaced() -> None:
    assert frame.clean("a\x00\x1b\ud800\ufffe\tb\n😀") == "a\\x00\\x1b\\ud800\\ufffe\tb\n😀"


def op(name: str, spec: ResizeSpec, shape: tuple[int | None, ...] | None) -> tuple[Path, ResizeOp]:
    return Path("a.onnx"), ResizeOp(name=name, where=f"node {name}", spec=spec, dialect="onnx", version=19, shape=shape)


LINEAR = ResizeSpec(kernel=Linear(), axes=(1,), target=Scales((2.0,)))
CORNERS = replace(LINEAR, coordinates=Coordinates.ALIGN_CORNERS)


def shown(spec: ResizeSpec, shape: tuple[int | None, ...] | None, other: ResizeSpec | None = None) -> list[str]:
    """Return the captions and remarks of the pictures of a resize, except those of images."""
    (path, resize), elsewhere = op("a", spec, shape), ("the other", other) if other else None
    pictures = gallery.pictures_of(path, resize, elsewhere, None)
    folds = [part for each in pictures if each.tag == "details" for part in each[1:]]
    return [said(each[0] if each.tag == "figure" else each) for each in folds]


@pytest.mark.parametrize("target", ["SIZES", "SCALES"])
def test_pictures_show_what_differs(target: str) -> None:
    """A resize that is the same everywhere has none; example sizes are called so."""
    assert shown(LINEAR, (1, 4)) == []
    assert shown(LINEAR, (1, 4), CORNERS) == [
        "Source positions along axis 1, correct",
        "Source positions along axis 1, in the other",
    ]
    spec = ResizeSpec(kernel=Linear(), axes=(1, 2), target=AtRunTime[target])
    assert shown(spec, (1, None, 5), replace(spec, coordinates=Coordinates.ALIGN_CORNERS)) == [
        f"Source positions along axis 1, {way}; dynamic dimensions have example sizes"
        for way in ("correct", "in the other")
    ]
    assert shown(spec, None) == ["Positions and weights are not drawn: the rank of its input is unknown"]


def test_ties_are_drawn_with_their_weights() -> None:
    tie = ResizeSpec(
        kernel=Nearest(rounding=Rounding.ROUND_PREFER_CEIL),
        axes=(1,),
        target=Sizes((4,)),
        coordinates=Coordinates.ASYMMETRIC,
    )
    assert shown(tie, (1, 7)) == ["Source positions along axis 1", "Weights along axis 1"]


def test_what_is_too_long_to_be_drawn() -> None:
    sized = replace(LINEAR, target=Sizes((2**40,)))
    assert shown(sized, (1, 1000)) == [f"Positions and weights are not drawn: an axis is {2**40} long"]


def test_identical_resizes_share_a_row(capsys: pytest.CaptureFixture[str]) -> None:
    many = "\n".join(f'[up{n}] t{n + 1} = Resize <mode = "linear"> (t{n}, "", u)' for n in range(2))
    half = "\n".join(f'[soft{n}] s{n} = Resize <mode = "linear", antialias = 1> (t2, "", s)' for n in range(4))
    head = "g (float[1,2,8,8] x) => (float[1,2,k,l] y) <float[4] s = {1,1,0.5,0.5}, float[4] u = {1,1,1,1}>"
    save_model(Path("a.onnx"), f"{head} {{ t0 = Relu (x) {many} {half} y = Sum (s0, s1, s2, s3) }}")
    command(capsys, "audit", "a.onnx", "--html", "a.html")
    root = read("a.html")
    assert [row[0].partition("onnx 1")[0] for row in table(root, "Resizes of ONNX models")[1:]] == [
        "a.onnx: up0and 1 morea.onnx: up1",
        "a.onnx: soft0and 3 morea.onnx: soft1a.onnx: soft2a.onnx: soft3",
    ]
    assert [row[3].partition("and ")[2][:6] for row in table(root, "What to do")[1:]] == ["3 more"] * 3
    assert [said(each) for each in root.xpath("//details/summary/h3")][:1] == ["a.onnx: soft0, and 3 like it"]
    assert root.xpath("//tr/@data-verdicts") == ["same", "differs,refused"]


def test_without_matplotlib(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    chain("a.onnx")
    assert command(capsys, "audit", "a.onnx", "--html", "a.html")[0] == 1
    root = read("a.html")
    assert "Pictures are left out: pictures need Matplotlib: pip install 'ir-interp[plot]'" in said(root)
    assert not root.findall(".//img")


def test_how_a_page_was_made(capsys: pytest.CaptureFixture[str]) -> None:
    chain("a.onnx")
    np.save("x.npy", np.zeros((1, 2, 8, 8), np.float32))
    given = ("compare", "a.onnx", "a.onnx", "--html", "c d.html")
    for more, shown in (
        ((), "float32 1x2x8x8, random, seed 0"),
        (("--input", "x=x.npy"), "float32 1x2x8x8, of x.npy"),
    ):
        command(capsys, *given, *more)
        facts = dict(table(read("c d.html"), "How this page was made")[1:])
        assert re.fullmatch(r"20\d\d-\d\d-\d\d \d\d:\d\d UTC", facts["date"])
        assert facts["command"] == shlex.join(["ir-interp", *given, *more])
        assert facts["versions"] == versions()
        assert facts["input x"] == shown
    (section,) = [each for each in read("c d.html").findall(".//section") if said(each[0]) == "How this page was made"]
    hashes = [[said(cell) for cell in row] for row in list(section.iter("table"))[1].iter("tr")][1:]
    for name, size, digest in hashes:
        held = Path(name).read_bytes()
        assert (size, digest) == (f"{len(held):,}", hashlib.sha256(held).hexdigest())
    assert [row[0] for row in hashes] == ["a.onnx", "x.npy"]


def test_the_lengths_that_verification_chose(capsys: pytest.CaptureFixture[str]) -> None:
    save_model(Path("d.onnx"), CHAIN.replace("MODE", "half_pixel").replace("1,2,8,8", "n,2,h,w"))
    given = ("d.onnx", "d.xml", "--html", "d.html")
    for verb in ("convert", "compare"):
        assert command(capsys, verb, *given)[0] == 0
        facts = dict(table(read("d.html"), "How this page was made")[1:])
        sizes = re.fullmatch(r"float32 nx2xhxw, for example (\d+x2x\d+x\d+), random, seed 0", facts["input x"])
        assert sizes
        remark = f"Dynamic dimensions have example sizes here: x {sizes[1]}"
        assert remark in [said(each) for each in read("d.html").iter("p")]


def on_image(page: str) -> list[str]:
    """Return what stands below the pictures of x.png in a page."""
    return [str(each.get("alt")) for each in read(page).iter("img") if "x.png" in str(each.get("alt"))]


def test_the_damage_on_ones_own_image(capsys: pytest.CaptureFixture[str]) -> None:
    chain("a.onnx")
    Image.new("RGB", (30, 20), (250, 10, 10)).save("x.png")
    assert command(capsys, "audit", "a.onnx", "--html", "a.html", "--image", "x.png")[0] == 1
    (alt,) = on_image("a.html")
    assert alt == "x.png after soft: correct, in OpenVINO reading .onnx, difference"
    assert command(capsys, "convert", "a.onnx", "a.xml", "--no-verify", "--html", "a.html", "--image", "x.png")[0] == 0
    assert on_image("a.html") == [alt]
    assert command(capsys, "compare", "a.onnx", "a.xml", "--html", "a.html", "--image", "x.png")[0] == 0
    assert on_image("a.html") == []
    chain("b.onnx", mode="asymmetric")
    assert command(capsys, "compare", "a.onnx", "b.onnx", "--html", "a.html", "--image", "x.png")[0] == 1
    assert all(
        each.startswith("x.png after ") and each.endswith(": correct, in b.onnx, difference")
        for each in on_image("a.html")
    )
    assert on_image("a.html")
    said_no = "error: --image has no effect without --html\n"
    assert command(capsys, "audit", "a.onnx", "--image", "x.png") == (2, "", said_no)


@pytest.mark.long
def test_many_resizes(capsys: pytest.CaptureFixture[str]) -> None:
    """Links to the sections stand after the verdict, and what they became is counted."""
    many = "\n".join(
        f'[up{n}] t{n + 1} = Resize <mode = "linear"> (t{n}, "", {"u" if n % 2 else "s"})' for n in range(60)
    )
    text = "g (float[1,2,8,8] t0) => (float[1,2,k,l] t60) <float[4] s = {1,1,0.5,0.5}, float[4] u = {1,1,2,2}> "
    save_model(Path("a.onnx"), f"{text} {{ {many} }}")
    assert command(capsys, "convert", "a.onnx", "a.xml", "--no-verify", "--html", "c.html")[0] == 0
    root = read("c.html")
    titles = [said(each.find(".//h2")) for each in root.findall(".//section")]
    assert [said(each) for each in root.findall(".//nav//a")] == titles
    assert [each.get("href") for each in root.findall(".//nav//a")] == [f"#s{n}" for n in range(len(titles))]
    assert titles[0] == "Summary"
    assert sum(int(row[2]) for row in table(root, "Summary")[1:]) == 60
    assert command(capsys, "audit", "a.onnx", "--html", "a.html")[0] < 2
    assert said(read("a.html").find(".//h1")).startswith(("✓ same, a.onnx: 60 resizes", "✗ not portable, a.onnx: "))


def test_the_page_of_a_folder_begins_with_its_models(capsys: pytest.CaptureFixture[str]) -> None:
    """Each with its first finding and the command; everything else is folded."""
    for name in ("a.onnx", "b.onnx"):
        chain(name)
    save_model(Path("fine.onnx"), "g (float[3] x) => (float[3] y) {y = Identity (x)}")
    Path("broken.onnx").write_bytes(b"\x08")
    assert command(capsys, "audit", ".", "--html", "a.html")[0] == 2
    root = read("a.html")
    assert said(root.find(".//h1")) == "✗ 2 of 3 models to act on; 1 file could not be read"
    models = root.find(".//table")
    assert models is not None
    rows = [[said(cell) for cell in row] for row in models.iter("tr")][1:]
    assert [row[0] for row in rows] == ["broken.onnx", "a.onnx", "b.onnx"]
    assert rows[1][1].startswith("IRI012 ")
    assert rows[1][1].endswith("; 2 moreir-interp fix a.onnx a.fixed.onnx")
    assert "1 model with nothing to act onfine.onnx" in said(root)
    assert root.xpath("count(//section) = count(//section/details/summary/h2)")
    arguments = ("--deploy", "onnxruntime", "--ignore", "IRI01", "--html", "a.html")
    assert command(capsys, "audit", "a.onnx", "b.onnx", *arguments)[0] == 0
    assert said(read("a.html").find(".//h1")) == "✓ nothing to act on in 2 models"
    assert command(capsys, "audit", "a.onnx", *arguments)[0] == 0
    assert said(read("a.html").find(".//h1")).startswith(
        "✓ same, a.onnx: 2 resizes, the same in every runtime that you"
    )


# In a browser


FITS = "document.documentElement.scrollWidth <= innerWidth"
SPILLS = """Array.from(document.querySelectorAll("body *")).filter(each => !each.closest("figure") &&
    each.getBoundingClientRect().right > innerWidth + 1).map(each => each.outerHTML.slice(0, 200))"""
PICTURED = {"audit": 3, "compare": 3, "convert": 1, "refused": 1}
PICTURES = "Array.from(document.images).map(each => each.complete && each.naturalWidth > 100)"


def test_a_browser_shows_the_pages(tab: Browser, hostile: Mapping[str, Path]) -> None:
    for name, page in hostile.items():
        root = read(page)
        for width in (1400, 400):
            tab.open(page, width=width)
            assert tab.complaints == []
            assert tab.requests[0] == page.as_uri()
            assert all(address.startswith("data:image/svg+xml") for address in tab.requests[1:])
            assert tab.value(FITS), tab.value(SPILLS)
            assert tab.value(SPILLS) == []
            assert tab.value("document.querySelector('main').firstElementChild.tagName") == "H1"
            assert tab.value("document.querySelector('h1 .mark').getBoundingClientRect().bottom") < 100
            assert tab.value(PICTURES) == [True] * PICTURED[name]
        assert tab.value("document.title") == root.findtext(".//title")
        assert tab.value("document.characterSet") == "UTF-8"
        assert tab.value("document.querySelectorAll('td').length") == len(root.findall(".//td"))
        tab.value("document.querySelectorAll('.filter').forEach(each => each.remove()), 1")
        assert " ".join(tab.value("document.body.textContent").split()) == said(root[1])


FAINT = """(() => {
  const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  const over = (colours) => {  // as a screen mixes them, the lowest first
    canvas.clearRect(0, 0, 1, 1);
    for (const colour of colours) { canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1); }
    return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const light = (colour) => colour.map(each => each / 255)
    .map(each => each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4)
    .reduce((sum, each, place) => sum + each * [0.2126, 0.7152, 0.0722][place], 0);
  const grounds = (element) => element
    ? [...grounds(element.parentElement), getComputedStyle(element).backgroundColor]
    : [matchMedia("(prefers-color-scheme: dark)").matches ? "#121212" : "#ffffff"];
  return [...document.querySelectorAll("main *")].filter(element => {
    const isText = [...element.childNodes].some(each => each.nodeType === 3 && each.textContent.trim());
    if (!isText || element.closest("title") || !element.getClientRects().length) return false;
    const style = getComputedStyle(element), ink = element.closest("svg") ? style.fill : style.color;
    const [low, high] = [over(grounds(element)), over([...grounds(element), ink])].map(light).sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05) < 4.5;
  }).map(element => element.outerHTML.slice(0, 120));
})()"""


def test_the_models_of_a_folder_are_on_the_first_screen(tab: Browser, capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(31):
        chain(f"m{number:02}.onnx")
    command(capsys, "audit", ".", "--html", "a.html")
    top = "document.querySelector('table').getBoundingClientRect().top"
    for width, screens in ((1280, 3), (390, 8)):
        tab.open(Path("a.html"), width=width)
        assert tab.value(top) < 150
        assert tab.value(FITS), width
        assert tab.value("document.documentElement.scrollHeight") < screens * 900
        # A link to what is folded opens it.
        tab.value("location.hash = document.querySelector('nav a').hash")
        assert tab.value(SPILLS) == []


def test_all_text_has_contrast_by_day_and_by_night(tab: Browser, hostile: Mapping[str, Path]) -> None:
    """Level AA of WCAG 2: 4.5 to 1, whatever the size of the text."""
    for page in hostile.values():
        for dark in (False, True):
            tab.open(page, dark=dark)
            assert tab.value(FAINT) == []
    tab.value("document.querySelector('h1').style.color = '#606060', 1")
    assert len(tab.value(FAINT)) == 1


def test_a_browser_shows_something_by_day_and_by_night(
    tab: Browser, hostile: Mapping[str, Path], tmp_path: Path
) -> None:
    grounds = []
    for dark in (False, True):
        tab.open(hostile["audit"], dark=dark)
        tab.screenshot(tmp_path / "a.png")
        with Image.open("a.png") as opened:
            grey = np.asarray(opened.convert("L"))
        assert 0.002 < (abs(grey.astype(int) - int(grey[0, 0])) > 100).mean() < 0.5
        grounds.append(int(grey[0, 0]))
    assert grounds[0] == 255
    assert grounds[1] < 60


def test_the_browser_would_complain(tab: Browser, tmp_path: Path) -> None:
    """What the test above holds to be absent is seen where it is there."""
    loaded = frame.E.img(src="http://localhost:9/x.png", alt="")
    frame.save(frame.page("a", ["b"], frame.E.script("document.title = 'ran'"), loaded), tmp_path / "a.html")
    tab.open(tmp_path / "a.html")
    assert len(tab.complaints) == 2
    assert tab.value("document.title") == "a"


BUTTON = "Array.from(document.querySelectorAll('{}')).find(each => each.textContent === '{}').click(), 1"
ROWS = """Array.from(document.querySelectorAll('tr[data-verdicts]')).filter(each => !each.hidden)
    .map(each => each.cells[0].querySelector('b').textContent)"""


def test_the_script_filters_and_sorts(tab: Browser, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chain("a.onnx", "b", "a")
    command(capsys, "audit", "a.onnx", "--html", "a.html")
    tab.open(tmp_path / "a.html")
    assert tab.value(ROWS) == ["a.onnx: b", "a.onnx: a"]
    for word, rows in (("differs", ["a.onnx: b"]), ("same", ["a.onnx: a"]), ("all", ["a.onnx: b", "a.onnx: a"])):
        tab.value(BUTTON.format(".filter button", word))
        assert tab.value(ROWS) == rows
        assert tab.value("document.querySelector('.filter [aria-pressed=true]').textContent") == word
    for direction, rows in (("ascending", ["a.onnx: a", "a.onnx: b"]), ("descending", ["a.onnx: b", "a.onnx: a"])):
        tab.value(BUTTON.format("th button", "resize"))
        assert tab.value(ROWS) == rows
        assert tab.value("document.querySelector('th[aria-sort]').getAttribute('aria-sort')") == direction
    assert tab.complaints == []


def test_pictures_of_every_scale_are_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test picture has as many rows as a scale requires, odd numbers too."""
    monkeypatch.chdir(tmp_path)
    for length in range(40, 60):
        text = f"""g (float[1,3,96,96] x) => (float[1,3,{length},96] y) <int64[4] s = {{1, 3, {length}, 96}}> {{
            y = Resize <mode = "linear", antialias = 1> (x, "", "", s)
        }}"""
        save_model(Path(f"{length}.onnx"), text, 18)
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()) as errors:
        main(["audit", ".", "--html", "page.html"])
    assert errors.getvalue() == ""
    assert "correct" in Path("page.html").read_text(encoding="utf-8")
