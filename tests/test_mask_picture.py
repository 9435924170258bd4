"""The picture of the README shows what the runtimes compute."""

from __future__ import annotations

import importlib.util
import runpy
from pathlib import Path
from types import ModuleType

import numpy as np
import onnxruntime
import openvino
import pytest

import ir_interp
from tests.support.places import ROOT, SAMPLES


@pytest.fixture(scope="module")
def picture() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_mask", ROOT / "docs" / "make_mask.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_both_halves_are_what_runtimes_compute(picture: ModuleType, tmp_path: Path) -> None:
    source, converted = (tmp_path / name for name in ("roads.onnx", "roads.xml"))
    runpy.run_path(str(SAMPLES / "exports.py"))["road_mask"](source)
    ir_interp.convert(source, converted, verify=False)
    mask = picture.roads()[None, None]
    (by_onnxruntime,) = onnxruntime.InferenceSession(source).run(None, {"mask": mask})
    by_openvino = [
        openvino.compile_model(str(path), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})([mask])[0]
        for path in (converted, source)
    ]
    np.testing.assert_allclose(by_onnxruntime[0, 0], picture.as_trained(), atol=1e-5)
    np.testing.assert_allclose(by_openvino[0][0, 0], picture.as_trained(), atol=1e-5)
    np.testing.assert_allclose(by_openvino[1][0, 0], picture.as_converted_by_ovc(), atol=1e-5)
    assert np.abs(picture.as_trained() - picture.as_converted_by_ovc()).max() > 0.5
