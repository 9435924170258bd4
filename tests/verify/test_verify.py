"""Verification before writing: what it catches, what it names, and what it falls back to."""

from __future__ import annotations

import sys
import tempfile
from contextvars import Context
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov
import pytest
from openvino import opset13 as ops

import ir_interp
from ir_interp import VerificationError
from ir_interp.cli.main import main
from ir_interp.converters.openvino import frontends
from ir_interp.converters.openvino.interpolate_form import resize
from ir_interp.converters.verify import processes as child
from ir_interp.converters.verify.tolerances import check, compare
from tests.support.graphs import save_model, values

CHAIN = """g (float[1,2,9,9] x) => (float[1,2,k,l] y) <float[4] s = {1,1,2.3,0.6}, int64[4] z = {1,2,7,7}> {
    one = Resize <mode = "linear"> (x, "", s)
    two = Resize <mode = "linear"> (one, "", "", z)
    y = Resize <mode = "cubic"> (two, "", s)
}"""

DOUBLE = """g (double[1,1,4,5] x) => (double[1,1,k,l] y) <int64[4] z = {1,1,7,9}> {
    y = Resize <mode = "linear"> (x, "", "", z)
}"""


@pytest.fixture
def chain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a model of three resizes, alone in its folder; temporary files go to a folder beside it."""
    for name in ("own", "temporary"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    return save_model(tmp_path / "own" / "a.onnx", CHAIN)


def _left(model: Path) -> list[str]:
    """Return all that is in the model's folder and in that of temporary files."""
    return sorted(path.name for folder in (model.parent, model.parents[1] / "temporary") for path in folder.iterdir())


def _break(monkeypatch: pytest.MonkeyPatch, place: int) -> None:
    """Make the conversion take the resize at ``place`` for one that aligns corners."""
    count = iter(range(place + 1))

    def wrong(x: Any, op: ir_interp.ResizeOp, *given: Any, **options: Any) -> Any:
        if next(count, None) == place:
            op = replace(op, spec=replace(op.spec, coordinates=ir_interp.Coordinates.ALIGN_CORNERS))
        return resize(x, op, *given, **options)

    monkeypatch.setattr(frontends, "resize", wrong)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("place", "name"), [(0, "one"), (1, "two"), (2, "y")])
def test_a_broken_conversion_is_caught_and_the_resize_named(
    place: int, name: str, chain: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _break(monkeypatch, place)
    assert main(["convert", str(chain), str(chain.with_suffix(".xml"))]) == 1
    printed, errors = capsys.readouterr()
    assert printed == ""
    assert errors.startswith("error: output 'y' differs by ")
    assert f"; the first resize that differs is '{name}': it differs by " in errors
    assert errors.endswith("; nothing was written\n")
    assert _left(chain) == ["a.onnx"]


def test_a_broken_conversion_passes_unverified(chain: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _break(monkeypatch, 0)
    report = ir_interp.convert(chain, chain.with_suffix(".xml"), verify=False)
    assert report.verification is None
    assert _left(chain) == ["a.bin", "a.onnx", "a.xml"]


def test_a_right_conversion_passes(chain: Path) -> None:
    report = ir_interp.convert(chain, chain.with_suffix(".xml"))
    assert report.verification is not None
    assert report.verification.note == ""
    (output,) = report.verification.outputs
    assert (output.kind, output.name) == ("output", "y")
    assert output.absolute <= 1e-5 < output.limit
    assert _left(chain) == ["a.bin", "a.onnx", "a.xml"]


def test_inputs_and_shapes_can_be_given(tmp_path: Path) -> None:
    """The limit tells: it grows with the largest value of an output."""
    text = """g (float[n,1,h,w] x) => (float[n,1,k,l] y) <float[4] s = {1,1,2,2}> {
        y = Resize <mode = "linear"> (x, "", s)
    }"""
    source = save_model(tmp_path / "a.onnx", text)
    np.save(tmp_path / "x.npy", np.full((3, 1, 5, 7), 500, np.float32))
    report = ir_interp.convert(source, tmp_path / "a.xml", inputs={"x": tmp_path / "x.npy"})
    assert report.verification is not None
    assert report.verification.outputs[0].limit == pytest.approx(500 * 1e-4)
    report = ir_interp.convert(source, tmp_path / "a.xml", shapes={"x": (2, 1, 3, 300)})
    assert report.verification is not None
    assert report.verification.outputs[0].absolute < 1e-5


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            DOUBLE,
            "Could not find an implementation for Resize(19) node",
        ),
        (
            """g (float[4,5,6] x) => (float[4,k,l] y) <int64[3] z = {4,7,9}> {
                y = Resize <mode = "cubic"> (x, "", "", z)
            }""",
            "'Cubic' mode only supports",
        ),
    ],
    ids=["float64", "cubic of rank 3"],
)
def test_what_onnxruntime_does_not_run_is_compared_with_our_executor(text: str, reason: str, tmp_path: Path) -> None:
    report = ir_interp.convert(save_model(tmp_path / "a.onnx", text), tmp_path / "a.xml")
    assert report.verification is not None
    note = report.verification.note
    assert note.startswith("a.onnx does not run: ")
    assert reason in note
    assert note.endswith("; 1 of 1 resizes compared with ir_interp's own executor")
    assert [(each.kind, each.name) for each in report.verification.outputs] == [("resize", "y")]


def test_our_executor_catches_a_broken_conversion_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _break(monkeypatch, 0)
    with pytest.raises(VerificationError, match=r"^resize 'y' differs by .*; nothing was written$"):
        ir_interp.convert(save_model(tmp_path / "a.onnx", DOUBLE), tmp_path / "a.xml")
    assert [path.name for path in tmp_path.iterdir()] == ["a.onnx"]


def test_both_runtimes_are_quoted_where_neither_runs(tmp_path: Path) -> None:
    text = 'g (float[1,h] x, float[1,w] z) => (float[1,k] y) { s = Shape (x) a = Resize (z, "", "", s) y = Add (z, x) }'
    source = save_model(tmp_path / "a.onnx", text)
    with pytest.raises(VerificationError) as failure:
        ir_interp.convert(source, tmp_path / "a.xml", shapes={"x": (1, 3), "z": (1, 4)})
    said = str(failure.value)
    assert said.startswith("a.onnx does not run: ")
    assert "; a.xml does not run: " in said
    assert said.endswith("; nothing was written; verify=False writes it unverified, and it may compute something else")


@pytest.mark.parametrize(
    ("script", "seconds", "reason"),
    [("kill -9 $$", 60, "does not run: it died with status -9"), ("exec sleep 60", 0.2, "did not finish in 0.2 s")],
    ids=["dies", "hangs"],
)
def test_a_runtime_that_dies_or_hangs(
    script: str, seconds: float, reason: str, chain: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime = chain.parents[1] / "runtime"
    runtime.write_text(f"#!/bin/sh\n{script}\n")
    runtime.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(runtime))
    monkeypatch.setattr(child, "_SECONDS", seconds)
    with pytest.raises(VerificationError) as failure:
        Context().run(ir_interp.convert, chain, chain.with_suffix(".xml"))  # the runtimes of these tests are there
    unverified = "verify=False writes it unverified, and it may compute something else"
    assert str(failure.value) == f"a.onnx {reason}; a.xml {reason}; nothing was written; {unverified}"
    assert _left(chain) == ["a.onnx"]


@pytest.mark.parametrize(
    ("mine", "theirs", "passes"),
    [
        ([np.nan, 1], [np.nan, 1], True),
        ([np.inf, -np.inf], [np.inf, -np.inf], True),
        ([np.inf, 1], [-np.inf, 1], False),
        ([np.inf, 1], [3e38, 1], False),
        ([np.nan, 1], [0, 1], False),
        ([0, 1], [np.nan, 1], False),
        ([0, 1], [5e-5, 1], True),
        ([0, 1], [2e-4, 1], False),
        ([0, 1000], [5e-2, 1000], True),
        ([1, 2], [1, 2, 3], False),
    ],
)
def test_equal_infinities_and_nans_do_not_differ(mine: list[float], theirs: list[float], passes: bool) -> None:
    arrays = (np.array(mine, np.float32), np.array(theirs, np.float32))
    if passes:
        assert check(compare("y", *arrays)).name == "y"
    else:
        with pytest.raises(VerificationError, match=r"^output 'y' (differs by|is NaN in one model only|has shape)"):
            check(compare("y", *arrays))


def test_infinities_and_nans_of_a_model_do_not_differ(tmp_path: Path) -> None:
    text = """g (float[1,1,4,5] x) => (float[1,1,8,10] y, float[1,1,8,10] z)
        <float[4] s = {1,1,2,2}, float nought = {0}> {
        a = Resize (x, "", s)
        b = Mul (a, nought)
        y = Div (a, b)
        z = Div (b, b)
    }"""
    source = save_model(tmp_path / "a.onnx", text)
    np.save(tmp_path / "x.npy", values(1, 1, 4, 5))
    report = ir_interp.convert(source, tmp_path / "a.xml", inputs={"x": tmp_path / "x.npy"})
    assert report.verification is not None
    assert [(each.name, each.absolute) for each in report.verification.outputs] == [
        ("y", 0),
        ("z", 0),
    ]


def test_a_quantised_ir_is_computed_as_it_is_written(tmp_path: Path) -> None:
    """Left alone, OpenVINO would compute it in 8 bits; no tolerance is wider for it."""
    parameter = ops.parameter([1, 8, 16, 16], np.float32, name="x")
    bounds = [ops.constant(np.float32(bound)) for bound in (-0.1, 0.9, -0.1, 0.9)]
    weights = np.random.default_rng(0).normal(size=(8, 8, 3, 3)).astype(np.float32)
    whole = ops.convert(ops.constant(np.round(weights * 50).astype(np.int8)), "f32")
    scaled = ops.multiply(whole, ops.constant(np.full((8, 1, 1, 1), 0.013, np.float32)))
    y = ops.fake_quantize(parameter, *bounds, 256)
    y = ops.convolution(y, scaled, [1, 1], [1, 1], [1, 1], [1, 1])
    ov.save_model(ov.Model([y], [parameter], "net"), tmp_path / "a.xml", compress_to_fp16=False)
    verification = ir_interp.convert(tmp_path / "a.xml", tmp_path / "a.onnx").verification
    assert verification is not None
    (output,) = verification.outputs
    assert output.relative < 1e-6
    assert output.limit < 1e-3


def test_a_fault_of_the_source_s_own_runtime_is_known(tmp_path: Path) -> None:
    """onnxruntime ignores the crop of an axis whose scale is 1; the executor judges then, and the note says why."""
    roi = "float[8] r = {0, 0, 0.1, 0.1, 1, 1, 0.9, 0.9}, int64[4] z = {1, 1, 4, 3}"
    crop = 'Resize <mode = "linear", coordinate_transformation_mode = "tf_crop_and_resize"> (x, r, , z)'
    save_model(tmp_path / "a.onnx", f"g (float[1,1,4,8] x) => (float[k,l,m,n] y) <{roi}> {{ [crop] y = {crop} }}")
    verification = ir_interp.convert(tmp_path / "a.onnx", tmp_path / "a.xml").verification
    assert verification is not None
    assert "for onnxruntime is at fault: it ignores the crop of an axis whose scale is 1; 1 of 1" in verification.note
    assert [each.passes for each in verification.outputs] == [True]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("axes", ["1, -1", "1, 2"])
def test_a_negative_axis_that_onnxruntime_does_not_resize(axes: str, tmp_path: Path) -> None:
    """Its rule needs no sizes, so it holds for those of run time."""
    attributes = f'mode = "linear", keep_aspect_ratio_policy = "not_larger", axes = [{axes}]'
    resize = f"Resize <{attributes}> (x, , , z)"
    save_model(
        tmp_path / "a.onnx", f"g (float[k,l,m] x) => (float[a,b,c] y) <int64[2] z = {{6, 10}}> {{ y = {resize} }}"
    )
    verification = ir_interp.convert(tmp_path / "a.onnx", tmp_path / "a.xml").verification
    assert verification is not None
    assert verification.is_conclusive
    known = "for onnxruntime is at fault: it keeps the size of a negative axis under an aspect policy; 1 of 1"
    assert (known in verification.note) == ("-" in axes)


def test_an_antialiased_crop_that_onnxruntime_leaves_out(tmp_path: Path) -> None:
    """Of an axis that keeps its size: 3 pixels by 1.3 of the smallest input."""
    stated = 'mode = "cubic", antialias = 1, coordinate_transformation_mode = "tf_crop_and_resize"'
    known = "<float[2] s = {0.7, 1.3}, float[4] r = {0.4, 0.1, 0.9, 0.6}>"
    text = f"g (float[k,l] x) => (float[a,b] y) {known} {{ y = Resize <{stated}> (x, r, s) }}"
    verification = ir_interp.convert(save_model(tmp_path / "a.onnx", text), tmp_path / "a.xml").verification
    assert verification is not None
    assert {"x": (2, 3)} in verification.more_shapes
    assert verification.is_conclusive


@pytest.mark.long
def test_a_fault_of_openvino_at_sizes_of_run_time(tmp_path: Path) -> None:
    """Whether axes grow is decided there: an IR whose antialias OpenVINO narrows is judged by the executor."""
    x, scales = ops.parameter([-1, -1, -1, -1, -1], np.float32, name="x"), ops.parameter([3], np.float32, name="s")
    attributes = {"antialias": True, "pads_begin": [0], "pads_end": [0]}
    axes = np.array([2, 3, 4])
    y = ops.interpolate(x, scales, "linear", "scales", axes=axes, **attributes)
    ov.save_model(ov.Model([y], [x, scales], "net"), tmp_path / "a.xml", compress_to_fp16=False)
    scales_file = tmp_path / "s.npy"
    np.save(scales_file, np.array([2, 2, 1.5], np.float32))
    verification = ir_interp.convert(tmp_path / "a.xml", tmp_path / "a.onnx", inputs={"s": scales_file}).verification
    assert verification is not None
    assert "for OpenVINO is at fault: the plugin narrows antialias' triangle if axes grow and none" in verification.note


@pytest.mark.parametrize("rank", [2, 5])
def test_bfloat16_is_compared_in_its_own_bits(rank: int, tmp_path: Path) -> None:
    """OpenVINO's Python interface shows bfloat16 as float16, which is another number; NumPy's files know neither."""
    sizes, scales = ",".join("abcde"[:rank]), ",".join(["1.5"] * rank)
    text = f"(bfloat16[{sizes}] x) => (bfloat16[{sizes}] y) <float[{rank}] s = {{{scales}}}> "
    text += '{ y = Resize <mode = "cubic"> (x, "", s) }'
    report = ir_interp.convert(save_model(tmp_path / "a.onnx", f"g {text}"), tmp_path / "a.xml")
    assert report.verification is not None
    assert [output.limit / max(1.0, output.largest) for output in report.verification.outputs] == [2**-7]
    assert len(report.verification.more_shapes) >= 2
