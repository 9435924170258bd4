"""Every form of every sample computes what is expected."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest

import ir_interp
from ir_interp import Nearest, ResizeOp
from tests.support.places import SAMPLES

FORMS = [
    pytest.param(form, id=f"{form.parent.name}/{form.name}")
    for name in ("model.onnxtxt", "layer.xml", "tensorrt.json")
    for form in sorted(SAMPLES.glob(f"*/{name}"))
]


def _load(form: Path, folder: Path) -> ResizeOp:
    path = form
    if form.suffix == ".onnxtxt":
        path = folder / "model.onnx"
        onnx.save(onnx.parser.parse_model(form.read_text(encoding="utf-8")), path)
    (op,) = ir_interp.load(path)
    return op


@pytest.mark.parametrize("form", FORMS)
def test_sample(form: Path, tmp_path: Path) -> None:
    op = _load(form, tmp_path)
    x, expected = (np.load(form.parent / f"{name}.npy") for name in ("input", "expected"))
    actual = op.run(x)
    if isinstance(op.spec.kernel, Nearest):
        np.testing.assert_array_equal(actual, expected)
    else:
        np.testing.assert_allclose(actual, expected, rtol=0, atol=2e-5 * 255)


def test_there_is_a_form_in_every_folder() -> None:
    folders = {path.name for path in SAMPLES.iterdir() if path.is_dir() and not path.name.startswith("__")}
    assert folders == {form.values[0].parent.name for form in FORMS}  # type: ignore[union-attr]


def test_the_pyramid_has_four_resizes(tmp_path: Path) -> None:
    module = importlib.util.spec_from_file_location("fpn", SAMPLES / "fpn.py")
    assert module is not None
    assert module.loader is not None
    fpn = importlib.util.module_from_spec(module)
    module.loader.exec_module(fpn)
    onnx.save(fpn.build(), tmp_path / "fpn.onnx")
    assert [op.name for op in ir_interp.load(tmp_path / "fpn.onnx")] == ["up_nearest", "up_linear", "up_corners", "map"]
