"""Scales that a quantiser changed: named, predicted as runtimes compute them, and restored."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime  # type: ignore[import-untyped, unused-ignore]
import pytest
from onnx import helper, numpy_helper

import ir_interp
from ir_interp import Kind


def quantised(scales: tuple[float, ...], *, from_floats: bool, mode: str = "linear") -> onnx.ModelProto:
    """Return a model of a Resize whose scales are levels of 8 bits, stored as such or quantised in the graph."""
    step = np.array(max(scales) / 255, np.float32)
    levels = np.rint(np.array(scales, np.float32) / step).astype(np.uint8)
    constants = [
        numpy_helper.from_array(np.array(scales, np.float32) if from_floats else levels, "stored"),
        numpy_helper.from_array(step, "step"),
        numpy_helper.from_array(np.array(0, np.uint8), "zero"),
    ]
    quantise = [helper.make_node("QuantizeLinear", ["stored", "step", "zero"], ["levels"])] if from_floats else []
    nodes = [
        *quantise,
        helper.make_node("DequantizeLinear", ["levels" if from_floats else "stored", "step", "zero"], ["scales"]),
        helper.make_node("Resize", ["x", "", "scales"], ["y"], name="up", mode=mode),
    ]
    ends = [helper.make_tensor_value_info("x", 1, [1, 3, 10, 10]), helper.make_tensor_value_info("y", 1, [None] * 4)]
    graph = helper.make_graph(nodes, "g", ends[:1], ends[1:], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("from_floats", [False, True])
@pytest.mark.parametrize("scales", [(1, 1, 2, 2), (1, 1, 1.3, 1.7), (1, 1, 2.3, 0.7)])
def test_scales_of_levels(scales: tuple[float, ...], from_floats: bool, tmp_path: Path) -> None:
    source, fixed = tmp_path / "a.onnx", tmp_path / "b.onnx"
    onnx.save(quantised(scales, from_floats=from_floats), source)
    report = ir_interp.audit(source)
    (row,) = report.rows
    is_moved = 1.0 not in row.op.attributes["scales"][:2]
    assert row.predictions["onnxruntime"].kind is (Kind.REFUSED if is_moved else Kind.SAME)
    x = np.random.default_rng(0).random((1, 3, 10, 10), np.float32)
    if is_moved:
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        session = onnxruntime.InferenceSession(str(source), options, providers=["CPUExecutionProvider"])
        with pytest.raises(Exception, match="Resize"):
            session.run(None, {"x": x})
    assert "IRI018" in {finding.code for finding in report.findings}

    done = ir_interp.fix(source, fixed, verify=False)
    assert next(remedy.code for repaired in done.repaired for remedy in repaired.remedies) == "IRI018"
    (op,) = ir_interp.load(fixed)
    np.testing.assert_allclose(op.attributes["scales"], scales, rtol=1e-6)
    y = onnxruntime.InferenceSession(str(fixed)).run(None, {"x": x})[0]
    assert y.shape == tuple(int(size * scale) for size, scale in zip((1, 3, 10, 10), scales, strict=True))
    np.testing.assert_allclose(y, op.run(x), atol=1e-5)
    assert not ir_interp.audit(fixed, select=["IRI01"]).findings


def test_levels_that_are_the_scales(tmp_path: Path) -> None:
    """A step of 1 / 127 holds 1 and 2 exactly, so nothing is found."""
    model = quantised((1, 1, 2, 2), from_floats=False)
    (step,) = (tensor for tensor in model.graph.initializer if tensor.name == "step")
    (levels,) = (tensor for tensor in model.graph.initializer if tensor.name == "stored")
    step.CopyFrom(numpy_helper.from_array(np.array(1 / 127, np.float32), "step"))
    levels.CopyFrom(numpy_helper.from_array(np.array([127, 127, 254, 254], np.uint8), "stored"))
    onnx.save(model, tmp_path / "a.onnx")
    report = ir_interp.audit(tmp_path / "a.onnx")
    assert report.rows[0].predictions["onnxruntime"].kind is Kind.SAME
    assert not [finding for finding in report.findings if finding.code.startswith("IRI01")]
