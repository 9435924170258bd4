"""Configurations against digests of what their libraries made: transformers 5.23, timm 1.0.31, torchvision 0.28.

``python -m tests.sweeps.pipelines --golden`` writes golden.json, with these libraries installed.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov
import PIL
import pytest
from numpy.typing import NDArray

import ir_interp
from ir_interp import Pipeline
from tests.preprocess.test_preprocess import identity, made
from tests.support.pipelines import source_code

Array = NDArray[Any]
ROWS = json.loads((Path(__file__).parent / "golden.json").read_text(encoding="utf-8"))
NAMES = [f"{number} {row['config'].get('image_processor_type', 'timm')}" for number, row in enumerate(ROWS)]
_UNIT = 2.0**-24


def drawn(height: int, width: int) -> Array:
    """Return an image that every machine makes alike."""
    rows, columns, channels = np.indices((height, width, 3))
    image: Array = ((rows * 7 + columns * 13 + channels * 31 + (rows * columns) % 11 * 5) % 256).astype(np.uint8)
    return image


def pipeline_of(row: dict[str, Any]) -> Pipeline:
    """Return a pipeline with the version of Pillow that made the digests."""
    found = ir_interp.pipeline(row["config"], backend=row["backend"])
    return Pipeline.of_json(found.json().replace('"pillow:', '"pillow@13:'))


@pytest.mark.parametrize("row", ROWS, ids=NAMES)
def test_bits_of_the_library(row: dict[str, Any]) -> None:
    y = pipeline_of(row)(drawn(*row["shape"])).astype(np.float32)
    assert list(y.shape) == row["output"]
    assert hashlib.sha256(y.tobytes()).hexdigest()[:16] == row["sha256"]


def _has_nodes(row: dict[str, Any], *, is_fixed: bool) -> bool:
    """Say whether a pipeline has nodes: of Lanczos none are known for any size."""
    return is_fixed or not any("lanczos" in call.like for call in pipeline_of(row).calls)


@pytest.mark.sampled(14)
@pytest.mark.parametrize(
    ("row", "is_fixed"),
    [
        *((row, False) for row in ROWS if _has_nodes(row, is_fixed=False)),
        *((row, True) for row in ROWS[::3]),
    ],
)
def test_nodes(row: dict[str, Any], is_fixed: bool, tmp_path: Path) -> None:
    """In onnxruntime the bytes are equal, and floats within the bound that ``step_nodes`` derives."""
    pipeline, x = pipeline_of(row), drawn(*row["shape"])
    source, whole = identity(tmp_path / "a.onnx", "n", 3, "h", "w"), tmp_path / "b.onnx"
    ir_interp.preprocess(
        source, whole, pipeline=pipeline, image_size=tuple(x.shape[:2]) if is_fixed else None, verify=False
    )
    y, expected = made(whole, x)[0], pipeline(x)
    assert y.shape == expected.shape
    # Both compute x / scale - mean / scale: 255 / scale bounds either term, and each has a few roundings.
    largest = 255 * max(1.0, float(np.abs(expected).max()))
    assert float(np.abs(y - expected.astype(np.float32)).max()) <= 8 * _UNIT * largest


@pytest.mark.parametrize("row", [row for row in ROWS if row["backend"] != "torchvision"])
def test_source_code(row: dict[str, Any], tmp_path: Path) -> None:
    """The Python of a pipeline, with Pillow alone, gives the same bits where that is the Pillow of the digests."""
    if PIL.__version__.partition(".")[0] != "13":
        pytest.skip("the digests are Pillow 13's")
    pipeline = ir_interp.pipeline(row["config"], backend=row["backend"])
    names: dict[str, Any] = {}
    hostile = replace(pipeline, name="x\nraise SystemExit")
    exec(source_code(hostile, "numpy", tmp_path), names)
    x = drawn(*row["shape"])
    assert np.array_equal(names["preprocess"](x), pipeline(x))


@pytest.mark.parametrize("row", ROWS[::16], ids=NAMES[::16])
def test_ir(row: dict[str, Any], tmp_path: Path) -> None:
    """An IR for images of one size has the values of the pipeline in OpenVINO."""
    pipeline, x = pipeline_of(row), drawn(*row["shape"])
    expected = pipeline(x)
    source, whole = identity(tmp_path / "a.onnx", 1, *expected.shape), tmp_path / "b.xml"
    ir_interp.preprocess(source, whole, pipeline=pipeline, image_size=(x.shape[0], x.shape[1]), verify=False)
    (y,) = ov.Core().compile_model(whole, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})([x]).values()
    largest = 255 * max(1.0, float(np.abs(expected).max()))
    assert float(np.abs(y[0] - expected.astype(np.float32)).max()) <= 8 * _UNIT * largest
