"""Real models from PyPI packages to IR and back: the same ends, the same values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import openvino as ov
import pytest

import ir_interp
from tests.support.runtimes import onnxruntime_run
from tests.sweeps.ir_corpus import Absent, packaged

SHAPES: dict[str, tuple[int, ...]] = {
    "PP-OCRv4 detector": (1, 3, 96, 128),
    "PP-OCRv4 recogniser": (1, 3, 48, 160),
    "PP-OCR classifier": (2, 3, 48, 192),
    "YuNet": (1, 3, 640, 640),
    "SFace": (1, 3, 112, 112),
    "U-FISH": (1, 1, 64, 96),
    "NudeNet": (1, 3, 320, 320),
    "layout": (1, 3, 800, 608),
    "orientation": (1, 3, 224, 224),
}


def _ends(model: onnx.ModelProto) -> list[tuple[str, int]]:
    """Return names and element types of inputs and outputs, in their order."""
    constants = {tensor.name for tensor in model.graph.initializer}  # which old models list as inputs
    ends = (*(each for each in model.graph.input if each.name not in constants), *model.graph.output)
    return [(each.name, each.type.tensor_type.elem_type) for each in ends]


def _by_openvino(source: Path, destination: Path) -> None:
    ov.save_model(ov.convert_model(source), destination, compress_to_fp16=False)


def _by_ir_interp(source: Path, destination: Path) -> None:
    ir_interp.convert(source, destination, verify=False)


@pytest.mark.long
@pytest.mark.parametrize("there", [_by_openvino, _by_ir_interp])
@pytest.mark.parametrize("name", SHAPES)
def test_there_and_back(name: str, there: Callable[[Path, Path], None], tmp_path: Path) -> None:
    try:
        source = packaged(name)
    except Absent as reason:
        pytest.skip(str(reason))
    there(source, tmp_path / "there.xml")
    ir_interp.convert(tmp_path / "there.xml", tmp_path / "back.onnx", verify=False)
    old, new = onnx.load(str(source)), onnx.load(str(tmp_path / "back.onnx"))
    assert _ends(new) == _ends(old)
    feeds = {new.graph.input[0].name: np.random.default_rng(0).random(SHAPES[name], np.float32)}
    for wanted, got in zip(onnxruntime_run(old, feeds), onnxruntime_run(new, feeds), strict=True):
        assert got.shape == wanted.shape
        np.testing.assert_allclose(got, wanted, rtol=0, atol=1e-4 * max(1.0, float(np.abs(wanted).max())))
    print(f"{name}: {len(old.graph.node)} nodes, {len(new.graph.node)} back")
