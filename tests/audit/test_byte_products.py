"""Audits, fixes and conversions of INT8 models report sums that may saturate, and write models without them."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

import ir_interp
from ir_interp import IrInterpError
from tests.support.commands import command
from tests.support.graphs import onnxruntime_outputs, save_model
from tests.support.runtimes import Array
from tests.verify.test_run_time_levels import recurrent

LAYER = """g (float[1,4,16,16] x) => (float[1,8,16,16] y)
    <float xs = {0.00392157}, uint8 xz = {0}, float ws = {0.01}, int8 wz = {0}, float ys = {0.25}, uint8 yz = {128}> {
    q = QuantizeLinear (x, xs, xz)
    d = DequantizeLinear (q, xs, xz)
    v = DequantizeLinear (w, ws, wz)
    c = Conv <pads = [1, 1, 1, 1]> (d, v)
    r = QuantizeLinear (c, ys, yz)
    y = DequantizeLinear (r, ys, yz)
}"""


def network(path: Path, most: int) -> Path:
    """Return a convolution between levels, its weights integers of at most this size."""
    save_model(path, LAYER, 17)
    model = onnx.load(path)
    weights = np.random.default_rng(0).integers(-most, most + 1, (8, 4, 3, 3)).astype(np.int8)
    weights[0, 0, 0, :2] = most
    model.graph.initializer.append(numpy_helper.from_array(weights, "w"))
    onnx.save(model, path)
    return path


def largest_weights(path: Path) -> Array:
    (weights,) = (numpy_helper.to_array(each) for each in onnx.load(path).graph.initializer if len(each.dims) == 4)
    return weights.astype(int)


def test_the_finding(tmp_path: Path) -> None:
    """Two weights of 127 saturate, and two of 64 do not: 255 * (127 + 127) is above 32,767, 255 * (64 + 64) below."""
    (finding,) = ir_interp.audit([network(tmp_path / "wide.onnx", 127)]).findings
    assert (finding.code, finding.severity.value, finding.where) == ("IRI026", "note", "wide.onnx")
    assert re.match(
        r"1 of 1 8-bit product may saturate in onnxruntime on x86 with AVX2 but no VNNI .*, by up to \d+ levels",
        finding.message,
    )
    assert ("(as this processor)" in finding.message) == (
        ir_interp.show_config().processor == "x86 with AVX2 but no VNNI"
    )
    assert ir_interp.audit([network(tmp_path / "narrow.onnx", 64)]).findings == ()
    assert ir_interp.audit([tmp_path], jobs=2, select=["IRI026"]).findings == (finding,)
    assert ir_interp.audit([tmp_path], ignore=["IRI026"]).findings == ()


def test_a_bound_in_levels(tmp_path: Path) -> None:
    """A level is 0.25, and 1 in a sum is worth 0.00392157 * 0.01."""
    path = network(tmp_path / "a.onnx", 127)
    rows = largest_weights(path).reshape(8, -1)
    lost = []
    for row in rows:
        for sign, limit in ((1, 32767), (-1, 32768)):
            terms = np.sort(np.maximum(sign * row, 0))[::-1].reshape(-1, 2).sum(axis=1) * 255
            lost.append(np.maximum(terms - limit, 0).sum() * 0.00392157 * 0.01 / 0.25)
    (finding,) = ir_interp.audit([path]).findings
    assert f"by up to {np.ceil(max(lost)):.0f} levels" in finding.message


@pytest.mark.sampled(1)
@pytest.mark.parametrize("suffix", [".xml", ".onnx"])
def test_conversions_and_comparisons_report_it(suffix: str, tmp_path: Path) -> None:
    source, result = network(tmp_path / "a.onnx", 127), tmp_path / f"b{suffix}"
    report = ir_interp.convert(source, result, target=None if suffix == ".xml" else "onnx:21")
    assert report.verification is not None
    first, second = report.notes[-2:]
    assert first.startswith("a.onnx: 1 of 1 8-bit product may saturate in onnxruntime on x86 with AVX2 but no VNNI")
    runtime = "OpenVINO on x86 with AVX2 but no VNNI and x86 without AVX2" if suffix == ".xml" else "onnxruntime on x86"
    assert second.startswith(f"b{suffix}: 1 of 1 8-bit product may saturate in {runtime}")
    comparison = ir_interp.compare(source, source)
    assert comparison.is_proven  # in exact sums: whether the default run saturates is up to the processor
    assert comparison.notes == (first, first)
    assert comparison.record()["notes"] == [first, first]


@pytest.mark.long
def test_weights_of_7_bits_hold_everywhere(tmp_path: Path) -> None:
    notes = ir_interp.convert(network(tmp_path / "a.onnx", 64), tmp_path / "b.xml").notes
    assert notes[-2:] == (
        "a.onnx: 1 8-bit product: no sum can saturate in onnxruntime, so results do not depend on the processor",
        "b.xml: 1 8-bit product: no sum can saturate in OpenVINO, so results do not depend on the processor",
    )


def test_unsigned_weights_are_a_repair(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, result = network(tmp_path / "a.onnx", 127), tmp_path / "b.onnx"
    code, output, _ = command(capsys, "fix", str(source), str(result), "--select", "IRI026")
    assert code == 0
    assert "weights of 1 8-bit product made unsigned: no sum saturates" in output
    np.testing.assert_array_equal(largest_weights(result), largest_weights(source) + 128)
    assert ir_interp.audit([result]).findings == ()
    assert ir_interp.compare(source, result, tolerance=1e-6).is_proven  # the source saturates on some processors
    plain = tmp_path / "c.onnx"
    ir_interp.fix(source, plain)  # on request only: unsigned weights take longer with VNNI
    assert plain.read_bytes() == source.read_bytes()


def test_both_matrices_of_a_recurrent_layer_become_unsigned(tmp_path: Path) -> None:
    """They have one type parameter: a layer with one matrix of each sign is no valid model."""
    source, result = recurrent(tmp_path, per_channel=False, has_product=False), tmp_path / "b.onnx"
    ir_interp.fix(source, result, select=["IRI026"], verify=False)
    signed, unsigned = onnx.load(source).graph, onnx.load(result).graph
    weights = {each.name: numpy_helper.to_array(each) for each in (*signed.initializer, *unsigned.initializer)}
    layers = [[node for node in graph.node if node.op_type == "DynamicQuantizeLSTM"] for graph in (signed, unsigned)]
    for before, after in zip(*layers, strict=True):
        for place in (1, 2, 9, 11):  # both matrices, and their zero points
            was, becomes = weights[before.input[place]], weights[after.input[place]]
            assert (was.dtype.name, becomes.dtype.name) == ("int8", "uint8")
            np.testing.assert_array_equal(becomes, was.astype(np.int16) + 128)
    assert ir_interp.audit([result]).findings == ()
    feeds = {"x": np.random.default_rng(2).normal(size=(24, 1, 12)).astype(np.float32)}
    np.testing.assert_array_equal(onnxruntime_outputs(result, feeds), onnxruntime_outputs(source, feeds))


def test_no_other_prefix_selects_it(tmp_path: Path) -> None:
    with pytest.raises(IrInterpError, match="no code begins with 'IRI022'"):
        ir_interp.fix(network(tmp_path / "a.onnx", 127), tmp_path / "b.onnx", select=["IRI022"])


def test_the_class_of_the_processor_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    code, output, _ = command(capsys, "--version")
    assert code == 0
    assert f"processor: {ir_interp.show_config().processor}\n" in output
