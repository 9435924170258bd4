"""IR to IR: each change does what it says, what is computed stays, and so do the other layers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov
import openvino.opset13 as ops
import pytest

import ir_interp
from ir_interp import ReadError
from tests.support.commands import command
from tests.support.graphs import assert_equal, openvino_outputs, save_branches, values
from tests.support.ir_text import interpolate

SIZES = {"shape_calculation_mode": "sizes", "pads_begin": [0], "pads_end": [0]}
CALLS: dict[str, dict[str, Any]] = {
    "nearest": {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"},
    "linear": {"mode": "linear_onnx", "coordinate_transformation_mode": "half_pixel"},
    "cubic": {"mode": "cubic", "coordinate_transformation_mode": "align_corners"},
    "antialias": {"mode": "bilinear_pillow"},
}


def net(path: Path, call: str, shape: tuple[int, ...] = (1, 3, 9, 10)) -> Path:
    """Save a convolution, a resize to 6x15, and a sum, as most networks have them."""
    x = ops.parameter(ov.PartialShape(list(shape)), np.float32, name="x")
    weights = ops.constant(values(6, 3, 1, 1, seed=1))
    convolved = ops.convolution(x, weights, [1, 1], [0, 0], [0, 0], [1, 1], name="mixed")
    sizes = ops.constant(np.array([6, 15]), name="sizes")
    resized = ops.interpolate(convolved, sizes, axes=[2, 3], **SIZES, **CALLS[call], name="up")
    y = ops.add(resized, ops.constant(np.float32(0.5)), name="shifted")
    ov.save_model(ov.Model([ops.result(y, name="y")], [x], "net"), path, compress_to_fp16=False)
    return path


def kinds(path: Path) -> list[str]:
    return [
        f"{node.get_type_name()} {node.get_type_info().version_id}" for node in ov.Core().read_model(path).get_ops()
    ]


@pytest.mark.sampled(8)
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    "change", [{"only": "decomposed"}, {"interpolate": 4, "ir": 10}, {"interpolate": 11}, {"fp16": True}]
)
def test_what_is_computed_stays(call: str, change: dict[str, Any], tmp_path: Path) -> None:
    source, result = net(tmp_path / "a.xml", call), tmp_path / "b.xml"
    report = ir_interp.convert(source, result, **change)
    assert report.verification
    x = values(1, 3, 9, 10)
    (expected,), (actual,) = (openvino_outputs(path, {"x": x}) for path in (source, result))
    if "fp16" in change:  # of the weights
        np.testing.assert_allclose(actual, expected, rtol=0, atol=5e-3)
    else:
        assert_equal(actual, expected)
    assert [kind for kind in kinds(result) if "Convolution" in kind] == ["Convolution opset1"]


def test_each_change_shows(tmp_path: Path) -> None:
    source = net(tmp_path / "a.xml", "cubic")
    assert "Interpolate opset4" in " ".join(kinds(source)) or "Interpolate opset11" in " ".join(kinds(source))
    ir_interp.convert(source, tmp_path / "primitives.xml", only="decomposed")
    assert not any("Interpolate" in kind for kind in kinds(tmp_path / "primitives.xml"))
    ir_interp.convert(source, tmp_path / "eleven.xml", interpolate=11)
    assert "Interpolate opset11" in kinds(tmp_path / "eleven.xml")
    ir_interp.convert(source, tmp_path / "ten.xml", ir=10, interpolate=4)
    assert '<net name="net" version="10">' in (tmp_path / "ten.xml").read_text()
    ir_interp.convert(source, tmp_path / "half.xml", fp16=True)
    sizes = [(tmp_path / f"{name}.bin").stat().st_size for name in ("a", "half")]
    assert sizes[1] < sizes[0]


def test_sizes_are_fixed(tmp_path: Path) -> None:
    source = net(tmp_path / "a.xml", "linear", (1, 3, -1, -1))
    ir_interp.convert(source, tmp_path / "b.xml", shapes={"x": (1, 3, 12, 8)}, freeze=True)
    model = ov.Core().read_model(tmp_path / "b.xml")
    assert model.input(0).get_shape() == [1, 3, 12, 8]
    x = values(1, 3, 12, 8)
    assert_equal(openvino_outputs(tmp_path / "b.xml", {"x": x})[0], openvino_outputs(source, {"x": x})[0])


def test_the_meaning_of_a_release_is_written_down(tmp_path: Path) -> None:
    """What OpenVINO 2021.3 computed, today's computes from the result; the source means something else today."""
    text = interpolate('axes="2,3" mode="linear" align_corners="0"', shape=(1, 2, 4, 6), out=(1, 2, 8, 9))
    (tmp_path / "a.xml").write_text(text)
    ir_interp.convert(tmp_path / "a.xml", tmp_path / "b.xml", semantics="openvino-2021.3", verify=False)
    (then,) = ir_interp.load(tmp_path / "a.xml", semantics="openvino-2021.3")
    (now,) = ir_interp.load(tmp_path / "a.xml")
    x = values(1, 2, 4, 6)
    (written,) = openvino_outputs(tmp_path / "b.xml", {next(iter(_inputs(tmp_path / "b.xml"))): x})
    np.testing.assert_allclose(written, then.run(x), atol=1e-6)
    assert np.abs(written - now.run(x)).max() > 0.01


def _inputs(path: Path) -> list[str]:
    return [port.get_any_name() for port in ov.Core().read_model(path).inputs]


def test_resizes_of_bodies_are_rewritten(tmp_path: Path) -> None:
    save_branches(tmp_path / "a.xml", "nearest", "linear")
    report = ir_interp.convert(tmp_path / "a.xml", tmp_path / "b.xml", only="decomposed")
    assert len(report.rows) == 2
    assert 'type="Interpolate"' not in (tmp_path / "b.xml").read_text()
    for chosen in (True, False):
        feeds = {"x": values(1, 2, 4, 6), "c": np.array(chosen)}
        (expected,), (actual,) = (openvino_outputs(tmp_path / name, feeds) for name in ("a.xml", "b.xml"))
        assert_equal(actual, expected)


def test_a_change_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = net(tmp_path / "a.xml", "linear")
    code, _, complaint = command(capsys, "convert", str(source), str(tmp_path / "b.xml"))
    flags = "--only, --interpolate, --ir, --freeze, --fp16 or --semantics"
    assert (code, complaint) == (2, f"error: a.xml: from .xml to .xml, name the change: {flags}\n")
    with pytest.raises(ReadError, match="name the change: only, interpolate, ir, freeze=True, fp16=True or semantics"):
        ir_interp.convert(source, tmp_path / "b.xml")
    assert not (tmp_path / "b.xml").exists()


def test_a_source_is_not_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = net(tmp_path / "a.xml", "linear")
    before = source.read_bytes(), source.with_suffix(".bin").read_bytes()
    assert command(capsys, "convert", str(source), str(source), "--only", "decomposed")[0] == 2
    assert (source.read_bytes(), source.with_suffix(".bin").read_bytes()) == before


def test_a_folder_of_irs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "in").mkdir()
    for call in ("nearest", "cubic"):
        net(tmp_path / "in" / f"{call}.xml", call)
    arguments = ("convert", str(tmp_path / "in"), str(tmp_path / "out"), "--to", ".xml", "--only", "decomposed")
    assert command(capsys, *arguments)[0] == 0
    for call in ("nearest", "cubic"):
        assert not any("Interpolate" in kind for kind in kinds(tmp_path / "out" / f"{call}.xml"))
