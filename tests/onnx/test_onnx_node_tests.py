"""The official ONNX node tests for Resize and Upsample, run by our executor, and by OpenVINO once converted.

Two of them, downscaling by scales under align_corners, hold what the reference implementation computes: it takes
scale * length, not yet rounded down, for the output length. The words of the operator page, onnxruntime and OpenVINO
take the number of output elements. Both readings can be had.
"""

from __future__ import annotations

import importlib
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from onnx.backend.test.case.node import _NodeTestCases

import ir_interp
from tests.support.runtimes import openvino_resize

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # some tests overflow on purpose
    # Importing a module computes its tests; `load_model_tests` would compute those of all operators.
    for _operator in ("resize", "upsample"):
        importlib.import_module(f"onnx.backend.test.case.node.{_operator}")
    CASES = [each for each in _NodeTestCases if each.name.startswith(("test_resize_", "test_upsample_"))]
FRACTIONAL = {
    "test_resize_downsample_scales_linear_align_corners",
    "test_resize_downsample_scales_cubic_align_corners",
}


def _with_constants(case: Any, folder: Path) -> tuple[Path, np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return the model with the inputs other than X made initialisers, and X and Y."""
    model, inputs, (expected,) = _parts(case)
    names = [each.name for each in model.graph.input]
    del model.graph.input[1:]
    constants = zip(names[1:], inputs[1:], strict=True)
    model.graph.initializer.extend(numpy_helper.from_array(value, name) for name, value in constants)
    path = folder / "model.onnx"
    onnx.save(model, path)
    return path, inputs[0], expected


def _parts(case: Any) -> tuple[onnx.ModelProto, list[np.ndarray[Any, Any]], list[np.ndarray[Any, Any]]]:
    """Return a copy of the model of a case, its inputs and outputs."""
    return onnx.ModelProto.FromString(case.model.SerializeToString()), *case.data_sets[0]


def test_there_are_forty() -> None:
    assert len(CASES) == 40


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_reference_reading(case: Any, tmp_path: Path) -> None:
    path, x, expected = _with_constants(case, tmp_path)
    (op,) = ir_interp.load(path, semantics="reference")
    np.testing.assert_allclose(op.run(x, arithmetic="exact"), expected, rtol=case.rtol, atol=case.atol)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_default_reading(case: Any, tmp_path: Path) -> None:
    """All but the two with a fractional length, in onnxruntime's arithmetic."""
    path, x, expected = _with_constants(case, tmp_path)
    (op,) = ir_interp.load(path)
    actual = op.run(x)
    agrees = actual.shape == expected.shape and np.allclose(actual, expected, rtol=case.rtol, atol=1e-5)
    assert agrees == (case.name not in FRACTIONAL)
    if case.name in FRACTIONAL:
        assert [each.code for each in op.diagnostics] == ["IRI006"]


@pytest.mark.sampled(20)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_converted_to_ir(case: Any, tmp_path: Path) -> None:
    """All of them, the two with a fractional length as the reference reads them."""
    path, x, expected = _with_constants(case, tmp_path)
    semantics = ir_interp.Semantics.REFERENCE if case.name in FRACTIONAL else ir_interp.Semantics.RUNTIME
    report = ir_interp.convert(path, tmp_path / "model.xml", semantics=semantics, verify=False)
    assert report.rows[0].grade is not ir_interp.Grade.EXACT_BUT_TIES
    actual = openvino_resize(tmp_path / "model.xml", {onnx.load(path).graph.input[0].name: x})
    np.testing.assert_allclose(actual, expected, rtol=case.rtol, atol=1e-5, strict=True)


def test_semantics_are_named() -> None:
    readings = ["runtime", "document", "reference", "observed", "openvino-2021.2", "openvino-2021.3"]
    assert [each.value for each in ir_interp.Semantics] == readings
