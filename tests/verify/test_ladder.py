"""What may differ: as much as a source differs from itself; rows that tie; one level at the edge between two."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import openvino as ov
import pytest
from onnx import helper, numpy_helper
from onnxruntime.quantization import (  # type: ignore[import-untyped, unused-ignore]
    CalibrationDataReader,
    QuantFormat,
    quantize_static,
)
from openvino import opset13 as ops

import ir_interp
from ir_interp import VerificationError
from ir_interp.converters.onnx import low_precision
from ir_interp.converters.openvino import from_onnx, frontends
from ir_interp.converters.openvino.interpolate_form import resize
from ir_interp.converters.verify.model_outputs import aligned
from tests.support.graphs import onnxruntime_outputs, save_model
from tests.support.runtimes import Array


def _network(path: Path, *, half: bool = False, depth: int = 6) -> Path:
    """Write a network of convolutions with a resize in the middle, its values growing to hundreds."""
    rng = np.random.default_rng(1)
    kind = np.float16 if half else np.float32
    nodes, tensors = [], [numpy_helper.from_array(np.array([1, 1, 2, 2], np.float32), "s")]
    for place in range(depth):
        weights = rng.normal(size=(8, 8 if place else 3, 3, 3)) * 0.35
        tensors.append(numpy_helper.from_array(weights.astype(kind), f"w{place}"))
        nodes.append(
            helper.make_node("Conv", [f"r{place}" if place else "x", f"w{place}"], [f"c{place}"], pads=[1] * 4)
        )
        nodes.append(helper.make_node("Relu", [f"c{place}"], [f"a{place}"]))
        if place == depth // 2:
            nodes.append(
                helper.make_node("Resize", [f"a{place}", "", "s"], [f"r{place + 1}"], mode="linear", name="up")
            )
        else:
            nodes.append(helper.make_node("Identity", [f"a{place}"], [f"r{place + 1}"]))
    element = helper.np_dtype_to_tensor_dtype(np.dtype(kind))
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", element, [1, 3, 24, 32])],
        [helper.make_tensor_value_info(f"r{depth}", element, None)],
        tensors,
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def test_a_half_precision_model_may_differ_as_much_as_from_itself(tmp_path: Path) -> None:
    verification = ir_interp.convert(_network(tmp_path / "a.onnx", half=True), tmp_path / "a.xml").verification
    assert verification is not None
    (output,) = verification.outputs
    assert output.passes


def _break(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the conversion take every resize for one that aligns corners."""
    from dataclasses import replace

    def wrong(x: Any, op: ir_interp.ResizeOp, *given: Any, **options: Any) -> Any:
        op = replace(op, spec=replace(op.spec, coordinates=ir_interp.Coordinates.ALIGN_CORNERS))
        return resize(x, op, *given, **options)

    monkeypatch.setattr(frontends, "resize", wrong)


def test_a_broken_half_precision_model_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _break(monkeypatch)
    with pytest.raises(VerificationError, match=r"the source differs from itself by .*; nothing was written"):
        ir_interp.convert(_network(tmp_path / "a.onnx", half=True), tmp_path / "a.xml")


def test_weights_in_half_precision(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = _network(tmp_path / "a.onnx")
    verification = ir_interp.convert(source, tmp_path / "a.xml", fp16=True).verification
    assert verification is not None
    (output,) = verification.outputs
    assert "the source differs from itself by " in output.remark
    assert "compared with weights in half precision" in output.remark
    assert output.absolute < output.largest * 1e-4
    _break(monkeypatch)
    with pytest.raises(VerificationError):
        ir_interp.convert(source, tmp_path / "b.xml", fp16=True)


def test_a_half_precision_model_in_float32(tmp_path: Path) -> None:
    half = _network(tmp_path / "a.onnx", half=True)
    assert low_precision.is_half(half)
    written = low_precision.in_float32(half, tmp_path)
    assert not low_precision.is_half(written)
    x = np.random.default_rng(0).random((1, 3, 24, 32))
    exact = onnxruntime_outputs(written, {"x": x.astype(np.float32)})[0]
    rounded = onnxruntime_outputs(half, {"x": x.astype(np.float16)})[0]
    assert exact.dtype == np.float32
    assert 0 < float(np.abs(exact - rounded).max()) < 2e-2 * float(exact.max())


class _Calibration(CalibrationDataReader):  # type: ignore[misc, unused-ignore]
    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        self._left = iter([{"x": rng.random((1, 3, 24, 32), np.float32)} for _ in range(2)])

    def get_next(self) -> dict[str, Array] | None:
        return next(self._left, None)


@pytest.fixture
def quantised(tmp_path: Path) -> Path:
    """Return a model of eight bits, as onnxruntime makes them."""
    plain = _network(tmp_path / "plain.onnx")
    path = tmp_path / "a.onnx"
    types = ["Conv", "Relu"]
    quantize_static(plain, path, _Calibration(), quant_format=QuantFormat.QDQ, op_types_to_quantize=types)
    return path


@pytest.mark.long
def test_a_quantised_model_is_proven_segment_by_segment(quantised: Path, tmp_path: Path) -> None:
    verification = ir_interp.convert(quantised, tmp_path / "a.xml").verification
    assert verification is not None
    assert all(each.passes for each in verification.outputs)


@pytest.mark.parametrize("place", [1, 4])
def test_a_broken_segment_is_found(
    place: int, quantised: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A convolution whose weights are off by a hundredth: less than a level of its output, in most places."""
    build = from_onnx.build

    def broken(path: Path, *options: Any) -> Any:
        model = onnx.load(path)
        for tensor in model.graph.initializer:
            if tensor.name == f"w{place}_scale":
                tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor) * np.float32(1.03), tensor.name))
        onnx.save(model, tmp_path / "broken.onnx")
        return build(tmp_path / "broken.onnx", *options)

    monkeypatch.setattr(from_onnx, "build", broken)
    with pytest.raises(VerificationError) as failure:
        ir_interp.convert(quantised, tmp_path / "a.xml")
    said = str(failure.value)
    assert f"'a{place}_DequantizeLinear_Output' is the first that differs" in said or f"'c{place}_" in said


def _quantising_ir(path: Path, *, levels: int = 256) -> Path:
    x: Any = ops.parameter([1, 3, 16, 16], np.float32, name="x")
    y, rng = x, np.random.default_rng(0)
    for place in range(4):
        bounds = [ops.constant(np.float32(bound)) for bound in (-1, 3, -1, 3)]
        y = ops.fake_quantize(y, *bounds, levels)
        y.set_friendly_name(f"fq{place}")
        weights = (rng.normal(size=(3, 3, 3, 3)) * 0.3).astype(np.float32)
        y = ops.convolution(y, ops.constant(weights), [1, 1], [1, 1], [1, 1], [1, 1])
    ov.save_model(ov.Model([y], [x], "net"), path, compress_to_fp16=False)
    return path


def test_an_ir_of_few_levels_is_proven(tmp_path: Path) -> None:
    verification = ir_interp.convert(_quantising_ir(tmp_path / "a.xml", levels=17), tmp_path / "a.onnx").verification
    assert verification is not None
    assert all(each.passes for each in verification.outputs)


def _detections(count: int = 40) -> tuple[Array, Array]:
    rng = np.random.default_rng(0)
    scores = np.sort(rng.random(count).astype(np.float32))[::-1].copy()
    return rng.random((1, count, 4)).astype(np.float32), scores[None]


def test_rows_of_ties_may_change_places() -> None:
    boxes, scores = _detections()
    scores[0, 11] = scores[0, 10] - 1e-6
    order = np.arange(40)
    order[[10, 11]] = 11, 10
    wanted = [("boxes", boxes), ("scores", scores)]
    got = [("boxes", boxes[:, order]), ("scores", scores[:, order])]
    found = aligned(wanted, got)
    assert found.note.startswith("2 rows of scores no further apart than ")
    assert np.array_equal(found.outputs[0][1], boxes)
    assert aligned(wanted, wanted).note == ""


def test_rows_of_other_scores_may_not() -> None:
    boxes, scores = _detections()
    order = np.arange(40)
    order[[3, 30]] = 30, 3
    wanted = [("boxes", boxes), ("scores", scores)]
    got = [("boxes", boxes[:, order]), ("scores", scores)]
    assert aligned(wanted, got).note == ""
    got = [("boxes", boxes[:, order]), ("scores", scores[:, order])]
    assert aligned(wanted, got).note == ""


def test_a_tie_at_the_end_may_be_cut_off() -> None:
    boxes, scores = _detections()
    other = boxes.copy()
    other[0, -1] = 0.5
    wanted, got = ([("boxes", each), ("scores", scores)] for each in (boxes, other))
    assert "1 tied with the last are different rows" in aligned(wanted, got).note
    other[0, 3] = 0.5
    assert aligned(wanted, got).note == ""


def test_only_what_sorts_is_taken_for_a_set(tmp_path: Path) -> None:
    for name, order in (("a", "0, 1, 2"), ("b", "1, 0, 2")):
        text = f"g (float[3,2] x) => (float[3,2] y) <int64[3] i = {{{order}}}> {{ y = Gather (x, i) }}"
        save_model(tmp_path / f"{name}.onnx", text)
    assert not ir_interp.compare(tmp_path / "a.onnx", tmp_path / "b.onnx").passes
