"""How releases of OpenVINO compute layers, read from files (``tests.sweeps.ir_editions`` runs them there)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ir_interp
from ir_interp import ReadError
from ir_interp.specs import Antialias, Linear, Nearest
from tests.support.commands import command
from tests.support.graphs import onnxruntime_outputs, save_branches, values
from tests.support.ir_text import Net, interpolate
from tests.support.places import SAMPLES

IMAGE: dict[str, Any] = {"shape": (1, 2, 4, 6), "out": (1, 2, 8, 9)}
VOLUME: dict[str, Any] = {"shape": (1, 2, 4, 6, 5), "out": (1, 2, 8, 9, 7)}
RELEASES = ("openvino-2021.2", "openvino-2021.3")
ROWS: list[tuple[Any, ...]] = [
    # attributes, shapes, and what the layer computes in 2021.2, 2021.3 and today
    ('axes="2,3" mode="linear"', IMAGE, "asymmetric", "half_pixel", "asymmetric"),
    ('axes="2,3" mode="nearest"', IMAGE, "asymmetric floor", "half_pixel round_prefer_floor", "asymmetric simple"),
    ('axes="2,3" mode="cubic"', IMAGE, "mode cubic", "half_pixel", "asymmetric"),
    ('axes="2,3" mode="linear_onnx"', IMAGE, "mode linear_onnx", "half_pixel", "asymmetric"),
    ('axes="2,3" mode="linear" antialias="1"', IMAGE, "antialias is not supported", "half_pixel", "asymmetric"),
    ('axes="2,3" mode="linear" pads_begin="0,0,1,0"', IMAGE, "asymmetric", "half_pixel padded", "asymmetric padded"),
    (
        'axes="2,3" mode="linear" pads_begin="1"',
        IMAGE,
        "no rule covers pads whose first entry",
        "half_pixel padded",
        "asymmetric padded",
    ),
    ('axes="2,3" mode="linear" align_corners="1"', IMAGE, *["align_corners"] * 3),
    ('axes="2,3" mode="nearest" align_corners="1"', IMAGE, "linear images only", "round_prefer_floor", "simple"),
    ('axes="2,3,4" mode="linear"', VOLUME, *["half_pixel"] * 3),
    ('axes="2,3,4" mode="linear" antialias="1"', VOLUME, *["half_pixel antialiased"] * 3),
    ('axes="2,3,4" mode="nearest"', VOLUME, "asymmetric floor", "half_pixel round_prefer_floor", "asymmetric simple"),
    (
        'axes="2,3,4" mode="linear" antialias="1"',
        VOLUME | {"out": (1, 2, 8, 9, 3)},
        "no rule covers antialias where one axis may grow",
        "half_pixel antialiased",
        "half_pixel antialiased",
    ),
    ('axes="3" mode="linear"', IMAGE | {"out": (1, 2, 4, 9)}, "axes 3 are not resized", *["half_pixel"] * 2),
    ('axes="0,1,2,3" mode="linear"', IMAGE, "asymmetric", "half_pixel", "half_pixel"),
    (
        'axes="0,2,3" mode="linear"',
        IMAGE | {"out": (3, 2, 8, 9)},
        "only spatial dimensions are resized",
        *["half_pixel"] * 2,
    ),
    ('axes="1,2" mode="linear"', {"shape": (1, 4, 6), "out": (1, 8, 9)}, "of rank 4 or 5", *["half_pixel"] * 2),
]


def meaning(path: Path, semantics: str) -> str:
    try:
        (op,) = ir_interp.load(path, semantics=semantics)
    except ReadError as error:
        return str(error)
    words = [op.spec.coordinates.value]  # type: ignore[union-attr]
    if isinstance(op.spec.kernel, Nearest):
        words.append(op.spec.kernel.rounding.value)
    if isinstance(op.spec.kernel, Linear) and op.spec.kernel.antialias is not Antialias.OFF:
        words.append("antialiased")
    return " ".join([*words, *["padded"] * bool(op.spec.pads)])


@pytest.mark.parametrize(("data", "shapes", "of_2", "of_3", "today"), ROWS, ids=lambda value: str(value)[:50])
def test_the_table(data: str, shapes: dict[str, Any], of_2: str, of_3: str, today: str, tmp_path: Path) -> None:
    data = data if "align_corners" in data else f'{data} align_corners="0"'
    (tmp_path / "a.xml").write_text(interpolate(data, **shapes))
    found = [meaning(tmp_path / "a.xml", each) for each in (*RELEASES, "runtime")]
    for text, part in zip(found, (of_2, of_3, today), strict=True):
        assert text == part or (part in text and ("layer" in text or part in text.split()))


@pytest.mark.parametrize("semantics", RELEASES)
def test_interpolate_4_means_the_same(semantics: str, tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text(interpolate('axes="2,3" mode="cubic"', version="opset4", **IMAGE))
    (tmp_path / "b.xml").write_text(interpolate('mode="cubic"', version="opset11", **IMAGE))
    assert meaning(tmp_path / "a.xml", semantics) == meaning(tmp_path / "a.xml", "runtime")
    assert "has no Interpolate-11" in meaning(tmp_path / "b.xml", semantics)


def test_antialias_of_images_in_2021_2(tmp_path: Path) -> None:
    text = interpolate('mode="linear" antialias="true"', version="opset4", shape=(1, 1, 4, 6), out=(1, 1, 2, 3))
    (tmp_path / "a.xml").write_text(text)
    found = [meaning(tmp_path / "a.xml", each) for each in (*RELEASES, "runtime")]
    assert found == ["half_pixel antialiased", "half_pixel", "half_pixel"]


def test_the_note(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text(interpolate('axes="2,3" mode="linear" align_corners="0"', **IMAGE))
    summary = "IRI017 Releases of OpenVINO compute this layer differently."
    notes = {}
    for semantics in ("runtime", "document", *RELEASES):
        (op,) = ir_interp.load(tmp_path / "a.xml", semantics=semantics)
        notes[semantics] = [str(each) for each in op.diagnostics]
    assert notes == {
        "runtime": [f"{summary} coordinates: asymmetric (runtime), half_pixel (openvino-2021.3)"],
        "document": [],
        "openvino-2021.2": [f"{summary} coordinates: asymmetric (openvino-2021.2), half_pixel (openvino-2021.3)"],
        "openvino-2021.3": [
            f"{summary} coordinates: half_pixel (openvino-2021.3), asymmetric (runtime); "
            "coordinates: half_pixel (openvino-2021.3), asymmetric (openvino-2021.2)"
        ],
    }


def test_shapes_for_which_the_releases_agree(tmp_path: Path) -> None:
    """Nearest repeats every pixel twice, whichever way it is rounded down."""
    text = interpolate('axes="2,3" mode="nearest" align_corners="0"', shape=(1, 1, 4, 6), out=(1, 1, 8, 12))
    (tmp_path / "a.xml").write_text(text)
    (op,) = ir_interp.load(tmp_path / "a.xml")
    assert op.diagnostics == ()


def test_other_formats_have_no_such_reading(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(
        '{"dialect": "onnx", "version": 19, "layers": [{"mode": "nearest", "scales": [2]}]}'
    )
    with pytest.raises(ReadError, match=r"semantics 'openvino-2021.3' applies to openvino layers only"):
        ir_interp.load(tmp_path / "a.json", semantics="openvino-2021.3")


def chain(path: Path) -> Path:
    net = Net(10)
    x, sizes = net.parameter((1, 2, 4, 6)), net.const((8, 9))
    shape = (1, 2, 8, 9)
    up = net.add("Interpolate", 'axes="2,3" mode="linear" align_corners="0"', x, sizes, shape=shape, name="up")
    end = net.add("ReLU", "", up, shape=shape, name="positive")
    net.add("Result", "", end, name="y")
    return net.write(path)


def test_converted_as_a_release_computed_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The proof runs a twin of the IR, whose layer is the Interpolate-4 that 2021.3 made of it."""
    source, x = chain(tmp_path / "a.xml"), values(1, 2, 4, 6)
    for semantics in ("openvino-2021.3", "runtime"):
        report = ir_interp.convert(source, tmp_path / f"{semantics}.onnx", semantics=semantics)
        assert report.verification is not None
        (y,) = onnxruntime_outputs(tmp_path / f"{semantics}.onnx", {"x": x})
        (op,) = ir_interp.load(source, semantics=semantics)
        np.testing.assert_allclose(y, np.maximum(op.run(x), 0), rtol=0, atol=1e-6)
    code, printed, _ = command(
        capsys, "audit", str(source), *["--runtime", "openvino:2021.3", "--runtime", "openvino:2021.4"]
    )
    assert "IRI023 OpenVINO 2021.3: differs by" in printed
    assert (code, "OpenVINO 2021.4: differs" in printed) == (1, False)


def test_a_layer_in_a_body_is_run_as_in_a_release(tmp_path: Path) -> None:
    save_branches(tmp_path / "a.xml", "linear", "linear")
    report = ir_interp.convert(tmp_path / "a.xml", tmp_path / "a.onnx", semantics="openvino-2021.3")
    then = ir_interp.load(tmp_path / "a.xml", semantics="openvino-2021.3")
    assert [row.source.spec for row in report.rows] == [op.spec for op in then]
    assert [op.spec for op in then] != [op.spec for op in ir_interp.load(tmp_path / "a.xml")]
    assert report.verification


def test_a_pasted_layer_is_not_run_as_in_a_release(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    layer = str(SAMPLES / "operator_page_snippet" / "layer.xml")
    arguments = ("convert", layer, str(tmp_path / "a.onnx"), "--semantics", "openvino-2021.3")
    code, _, errors = command(capsys, *arguments)
    problem = "a layer without a network cannot be run as in openvino-2021.3"
    assert (code, errors) == (1, f"error: layer.xml: {problem}; --no-verify writes the result unverified\n")
    assert command(capsys, *arguments, "--no-verify")[0] == 0


def test_a_conversion_names_the_reading_that_it_chose(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No proof shows it: today's OpenVINO runs the source, whatever release the model was validated in."""
    source = tmp_path / "a.xml"
    source.write_text(interpolate('axes="2,3" mode="linear" align_corners="0"', **IMAGE))
    (audited,) = (finding for finding in ir_interp.audit(source).findings if finding.code == "IRI017")
    report = ir_interp.convert(source, tmp_path / "a.onnx")
    (finding,) = report.mistakes
    assert (finding.code, finding.severity, finding.message) == ("IRI017", "note", audited.message)
    assert "IRI017" in json.dumps(report.record()["findings"])
    older = ir_interp.convert(source, tmp_path / "b.onnx", semantics="openvino-2021.3", verify=False)
    assert "half_pixel (openvino-2021.3), asymmetric (runtime)" in older.mistakes[0].message
    page = tmp_path / "a.html"
    code, printed, _ = command(capsys, "convert", str(source), str(tmp_path / "c.onnx"), "--html", str(page))
    assert code == 0
    assert "IRI017" in printed
    assert "IRI017" in page.read_text()
    plain = tmp_path / "d.xml"
    plain.write_text(interpolate('axes="2,3" mode="linear" align_corners="1"', **IMAGE))
    assert not ir_interp.convert(plain, tmp_path / "d.onnx").mistakes
