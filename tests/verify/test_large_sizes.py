"""Resizes that find their places at run time, on tensors beyond the sizes from which a runtime goes astray."""

from __future__ import annotations

from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ir_interp
from ir_interp import VerificationError
from ir_interp.converters.decompose import decomposed_resize
from ir_interp.converters.decompose.taps import Place, by_elements
from ir_interp.converters.decompose.tensor import Ops, Value
from ir_interp.converters.openvino import ir_save
from ir_interp.converters.openvino.interpolate_form import resize
from ir_interp.converters.runtimes.execution import LARGEST_GATHER
from ir_interp.converters.verify import conversion
from ir_interp.converters.verify.processes import NotRunError
from ir_interp.executor.resize import resize as resize_alone
from tests.support.graphs import save_model

TEXT = """g (float[n,3,h,w] x) => (float[n,c,k,l] y) <float[4] s = {1,1,1.6,1.6}> {
    [up] y = Resize <mode = "linear", antialias = 1> (x, "", s)
}"""


@pytest.fixture
def unmeasured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the installed OpenVINO be of a release in which no sizes were measured."""
    monkeypatch.setattr(metadata, "version", lambda name: "2031.0.0")


@pytest.mark.usefixtures("unmeasured")
def test_they_are_run_alone_beyond_the_threshold(tmp_path: Path) -> None:
    report = ir_interp.convert(save_model(tmp_path / "a.onnx", TEXT), tmp_path / "a.xml")
    assert report.verification is not None
    (alone,) = report.verification.alone
    assert alone.kind == "resize"
    lengths = next(conversion.shapes(report.rows[0].source))
    assert alone.name == f"up alone, on {list(lengths)}"
    assert lengths[:2] == (1, 3)
    assert lengths[2] * lengths[3] * 3 * 1.6**2 > LARGEST_GATHER.dynamic * 2


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("end", "target"), [("xml", None), ("onnx", "openvino")])
@pytest.mark.parametrize("shapes", [None, {"x": (1, 3, 20, 30)}])
def test_a_whole_model_runs_as_if_its_tensors_were_large(
    end: str, target: str | None, shapes: dict[str, tuple[int, ...]] | None, tmp_path: Path
) -> None:
    source = save_model(tmp_path / "a.onnx", TEXT)
    report = ir_interp.convert(source, tmp_path / f"b.{end}", target=target, shapes=shapes)
    assert report.verification is not None
    (large,) = report.verification.alone
    assert (large.kind, large.name, large.passes) == ("output", "y with resizes as for large tensors", True)
    assert large.largest > 0.5


@pytest.mark.parametrize("versions", ["2026.3.9", "2026.40.0", "2027.0.0", None])
def test_any_other_release_is_tried_at_size(versions: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    def version(name: str) -> str:
        if versions is None:
            raise metadata.PackageNotFoundError(name)
        return versions

    monkeypatch.setattr(metadata, "version", version)
    assert not conversion.is_measured()


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("end", "target"), [("xml", None), ("onnx", "openvino")])
def test_a_wrong_operation_beyond_the_threshold_is_refused(
    end: str, target: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As it stands the whole model is right, since it is below."""

    def shifted(ops: Ops, x: Value, indices: Value, place: Place) -> Value:
        last = ops.elementwise("maximum", indices, ops.constant(np.int64(1)))
        return by_elements(ops, x, last, place)

    source = save_model(tmp_path / "a.onnx", TEXT.replace("linear", "cubic"))
    monkeypatch.setattr(decomposed_resize, "by_elements", shifted)
    with pytest.raises(VerificationError, match=r"^output 'y with resizes as for large tensors' differs by "):
        ir_interp.convert(source, tmp_path / f"b.{end}", target=target)


@pytest.mark.long
@pytest.mark.usefixtures("unmeasured")
def test_what_goes_astray_there_alone_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole model is right here; only what is run alone aligns corners."""

    def wrong(x: Any, op: ir_interp.ResizeOp, *given: Any, **options: Any) -> Any:
        op = replace(op, spec=replace(op.spec, coordinates=ir_interp.Coordinates.ALIGN_CORNERS))
        return resize(x, op, *given, **options)

    monkeypatch.setattr(ir_save, "resize", wrong)
    with pytest.raises(VerificationError, match=r"^resize 'up alone, on .*' differs by .*; nothing was written$"):
        ir_interp.convert(save_model(tmp_path / "a.onnx", TEXT), tmp_path / "a.xml")


@pytest.mark.long
@pytest.mark.usefixtures("unmeasured")
@pytest.mark.parametrize("kind", ["sizes", "scales"])
def test_targets_of_run_time_are_run_alone_too(kind: str, tmp_path: Path) -> None:
    text = TEXT.replace('x, "", s)', 'x, "", "", s)' if kind == "sizes" else 'x, "", s)')
    given = "int64[4] s" if kind == "sizes" else "float[4] s"
    text = text.replace(" <float[4] s = {1,1,1.6,1.6}>", "").replace("w] x)", f"w] x, {given})")
    report = ir_interp.convert(save_model(tmp_path / "a.onnx", text), tmp_path / "a.xml")
    assert report.verification is not None
    assert [each.passes for each in report.verification.alone] == [True]


@pytest.mark.long
@pytest.mark.usefixtures("unmeasured")
def test_portable_models_for_openvino_are_run_alone_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = save_model(tmp_path / "a.onnx", TEXT)
    report = ir_interp.convert(source, tmp_path / "b.onnx", target="openvino")
    assert report.verification is not None
    assert [each.passes for each in report.verification.alone] == [True]
    monkeypatch.setattr(conversion, "resize", lambda x, spec: resize_alone(x, spec) + np.float32(0.01))
    with pytest.raises(VerificationError, match=r"^resize 'up alone, on .*' differs by .*; nothing was written$"):
        ir_interp.convert(source, tmp_path / "c.onnx", target="openvino")


def test_what_is_native_or_static_is_not(tmp_path: Path) -> None:
    native = TEXT.replace(", antialias = 1", "").replace("1.6,1.6", "2,2")
    report = ir_interp.convert(save_model(tmp_path / "a.onnx", native), tmp_path / "a.xml")
    static = TEXT.replace("n,3,h,w", "1,3,8,8")
    other = ir_interp.convert(save_model(tmp_path / "b.onnx", static), tmp_path / "b.xml")
    assert not [*conversion.of_run_time(report.rows), *conversion.of_run_time(other.rows)]


@pytest.mark.long
@pytest.mark.usefixtures("unmeasured")
def test_one_whose_output_is_empty_there_shows_nothing(tmp_path: Path) -> None:
    """Its policy leaves no rows, so that there is no largest value to divide by."""
    text = """g (float[n,1,h,w] x) => (float[n,1,k,l] y) <int64[4] s = {2,1,12,16}> {
        [up] y = Resize <mode = "nearest", keep_aspect_ratio_policy = "not_larger"> (x, "", "", s)
    }"""
    source = save_model(tmp_path / "a.onnx", text)
    report = ir_interp.convert(source, tmp_path / "b.xml", shapes={"x": (2, 1, 1, 11)})
    assert report.verification is not None
    (alone,) = report.verification.alone
    assert (alone.largest, alone.relative, alone.verdict) == (0, 0, "INCONCLUSIVE")


@pytest.mark.parametrize("wrong", [np.nan, np.inf, 1.0])
def test_one_wrong_element_of_any_piece_shows(wrong: float) -> None:
    expected = np.zeros([2, conversion._PIECE], np.float32)
    for place in ((0, 0), (1, 7), (-1, -1)):
        actual = expected.copy()
        actual[place] = wrong
        assert not conversion._difference(expected, actual, is_copy=False) <= 0.5
        assert conversion._difference(expected, actual, is_copy=True) == 0


def test_the_shape_is_the_least(tmp_path: Path) -> None:
    """One pixel less, and the second thread would begin where Gather is right."""
    text = TEXT.replace("1.6,1.6", "0.6,0.6")
    report = ir_interp.convert(save_model(tmp_path / "a.onnx", text), tmp_path / "a.xml", verify=False)
    (op,) = conversion.of_run_time(report.rows)
    batch, channels, height, width = next(conversion.shapes(op))
    assert (batch, channels, height) == (1, 3, width)
    assert 3 * (height - 1) ** 2 < conversion.ELEMENTS <= 3 * height**2


def test_no_tensor_between_the_axes_is_too_large(tmp_path: Path) -> None:
    """Images of 2^24 pixels would become 34 times as many between the first axis and the others."""
    text = 'g (float[a,b,c] x) => (float[34,3,29] y) <int64[3] z = {34,3,29}> { y = Resize <mode = "nearest", '
    text += 'coordinate_transformation_mode = "half_pixel_symmetric", nearest_mode = "ceil"> (x, "", "", z) }'
    report = ir_interp.convert(save_model(tmp_path / "a.onnx", text), tmp_path / "a.xml", verify=False)
    (op,) = conversion.of_run_time(report.rows)
    shapes = list(conversion.shapes(op))
    assert shapes
    assert all(len(set(lengths)) == 1 for lengths in shapes)


@pytest.mark.usefixtures("unmeasured")
def test_one_beyond_the_memory_limit_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def without_memory(*_: object) -> None:
        raise NotRunError("alone0.xml does not run: Failed to allocate 3461475400 bytes of memory")

    monkeypatch.setattr(conversion, "_compared", without_memory)
    report = ir_interp.convert(save_model(tmp_path / "a.onnx", TEXT), tmp_path / "a.xml")
    assert report.verification is not None
    assert report.verification.alone == ()
