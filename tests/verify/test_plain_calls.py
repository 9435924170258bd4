"""Quantised models run on extreme inputs, and as users call them: a difference there is part of the verdict."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

import ir_interp
from ir_interp.converters.runtimes.execution import OPENVINO
from ir_interp.converters.verify.processes import Runner
from ir_interp.version import processor
from tests.support.commands import command
from tests.support.graphs import save_model
from tests.support.runtimes import Array

LAYER = """g (float[1,4,8,8] x) => (float[1,8,8,8] y)
    <float xs = {0.0078125}, uint8 xz = {128}, float ws = {0.01}, int8 wz = {0}, float ys = {0.5}, uint8 yz = {128}> {
    q = QuantizeLinear (x, xs, xz)
    d = DequantizeLinear (q, xs, xz)
    v = DequantizeLinear (w, ws, wz)
    c = Conv <pads = [1, 1, 1, 1]> (d, v)
    r = QuantizeLinear (c, ys, yz)
    y = DequantizeLinear (r, ys, yz)
}"""
LOW, HIGH = -1.0, 127 / 128
"""The range of x: 256 levels of 1/128, of which number 128 is zero."""


def network(path: Path, least: int, most: int) -> Path:
    """Return a convolution between levels, its weights random integers between two."""
    save_model(path, LAYER, 17)
    model = onnx.load(path)
    weights = np.random.default_rng(0).integers(least, most + 1, (8, 4, 3, 3)).astype(np.int8)
    model.graph.initializer.append(numpy_helper.from_array(weights, "w"))
    onnx.save(model, path)
    return path


def convolved(path: Path, x: Array) -> Array:
    """Return what the network computes, by its formula."""
    (w,) = (numpy_helper.to_array(each) for each in onnx.load(path).graph.initializer if len(each.dims) == 4)
    levels = np.clip(np.rint(x.astype(np.float64) * 128), -128, 127)
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(levels, ((0, 0), (0, 0), (1, 1), (1, 1))), (3, 3), (2, 3))
    sums = np.einsum("nchwij,ocij->nohw", windows, w.astype(np.float64)) / 128 * 0.01
    return np.asarray(np.clip(np.rint(sums / 0.5), -128, 127) * 0.5, np.float32)


def test_extremes_of_the_range_are_drawn(tmp_path: Path) -> None:
    path, drawn = network(tmp_path / "a.onnx", -63, 63), []

    def reference(x: Array) -> Array:
        drawn.append(x)
        return convolved(path, x)

    comparison = ir_interp.compare(path, reference=reference)
    assert comparison.passes
    assert comparison.extremes == ("lowest", "highest", "alternating", "range")
    ends = [(x.min().item(), x.max().item()) for x in drawn]
    assert {(LOW, LOW), (HIGH, HIGH), (LOW, HIGH)} <= set(ends)
    places = np.indices((1, 4, 8, 8)).sum(axis=0) % 2
    assert any(np.array_equal(x, np.where(places == 0, np.float32(LOW), np.float32(HIGH))) for x in drawn)
    # Random values from 0 to 1 would leave out half of the levels.
    assert any(np.unique(np.rint(x * 128)).size > 100 and x.min() < -0.9 for x in drawn)


def test_files_are_the_only_inputs(tmp_path: Path) -> None:
    path, drawn = network(tmp_path / "a.onnx", -63, 63), []
    np.save(tmp_path / "x.npy", np.zeros((1, 4, 8, 8), np.float32) + 0.3)

    def reference(x: Array) -> Array:
        drawn.append(x)
        return convolved(path, x)

    comparison = ir_interp.compare(path, reference=reference, inputs={"x": tmp_path / "x.npy"})
    assert comparison.extremes == ()
    assert len(drawn) == 1


def test_sums_that_saturate_are_in_the_verdict(tmp_path: Path) -> None:
    """The same model is equal with VNNI and differs without it; nowhere is it simply equal."""
    source = network(tmp_path / "a.onnx", 100, 127)
    verification = ir_interp.convert(source, tmp_path / "a.xml").verification
    assert verification is not None
    assert verification.extremes
    call = next(call for call in verification.calls if call.model == "a.xml")
    saturates = processor() in OPENVINO.processors
    assert call.agreement.value == ("DIFFERS" if saturates else "equal on this processor")
    assert "LP_TRANSFORMS_MODE=NO" in call.text
    assert "x86 without AVX2" in f"{call.elsewhere} {call.processor}"
    assert ("a.xml DIFFERS by default settings" in verification.summary) == saturates
    comparison = ir_interp.compare(source, tmp_path / "a.xml")
    assert comparison.passes is not saturates


def test_weights_of_7_bits_are_equal_everywhere(tmp_path: Path) -> None:
    verification = ir_interp.convert(network(tmp_path / "a.onnx", -63, 63), tmp_path / "a.xml").verification
    assert verification is not None
    assert [call.agreement.value for call in verification.calls] == ["equal", "equal"]


@pytest.fixture
def _off_by_8_levels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let plain calls of IRs differ at one value of every output."""
    run = Runner.__call__

    def changed(self: Runner, model: Path, *arguments: Any, **options: Any) -> Any:
        outputs, tensors = run(self, model, *arguments, **options)
        if options.get("by_default") and model.suffix == ".xml" and not arguments:
            outputs = [(name, array.copy()) for name, array in outputs]
            for _, array in outputs:
                array.flat[0] += 4
        return outputs, tensors

    monkeypatch.setattr(Runner, "__call__", changed)


@pytest.mark.usefixtures("_off_by_8_levels")
def test_a_difference_by_default_is_no_plain_success(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, result, page = network(tmp_path / "a.onnx", -63, 63), tmp_path / "a.xml", tmp_path / "a.html"
    report = tmp_path / "report.json"
    code, printed, _ = command(
        capsys, "convert", str(source), str(result), "--html", str(page), "--report", str(report)
    )
    assert code == 0  # the IR is right with the setting that is named
    line = next(line for line in printed.splitlines() if line.startswith("a.xml by the default settings"))
    assert "DIFFERS: output 'y' differs by 4, 8 levels" in line
    assert f"this processor ({processor().value})" in line
    assert line.endswith("to compute what was proven, compile with LP_TRANSFORMS_MODE=NO")
    assert "DIFFERS" in page.read_text()
    written = json.loads(report.read_text())
    (call,) = (call for call in written["verification"]["calls"] if call["model"] == "a.xml")
    assert (call["verdict"], call["outputs"][0]["levels"]) == ("DIFFERS", 8)
    code, printed, _ = command(capsys, "compare", str(source), str(result), "--html", str(page))
    assert code == 1
    assert "1 of 1 outputs equal within the tolerance, but a.xml DIFFERS by default settings" in printed
    assert "DIFFERS" in page.read_text()
    code, printed, _ = command(capsys, "compare", str(source), str(result), "--json")
    shown = json.loads(printed)
    assert (code, shown["equal"], shown["outputs"][0]["equal"]) == (1, False, True)
    calls = ir_interp.compare(source, result, tolerance=10).calls
    assert "DIFFERS" not in [call.agreement.value for call in calls]


def test_a_call_that_fails_is_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Runner.__call__

    def failing(self: Runner, *arguments: Any, **options: Any) -> Any:
        if options.get("by_default"):
            raise ir_interp.VerificationError("it does not run")
        return run(self, *arguments, **options)

    monkeypatch.setattr(Runner, "__call__", failing)
    source = network(tmp_path / "a.onnx", -63, 63)
    comparison = ir_interp.compare(source, source)
    assert [(call.agreement.value, call.problem) for call in comparison.calls] == [("unknown", "it does not run")]
