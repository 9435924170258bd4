"""Pipelines in IRs for images of any size: the library's bytes in OpenVINO, in float32 and with its defaults."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov
import pytest

import ir_interp
from ir_interp import InexactError, Pipeline
from ir_interp.converters.preprocess import any_size_resize
from ir_interp.pipelines.rules import ByRatio, Exactly, ShorterSide, SizeRounding
from ir_interp.pipelines.steps import CentreCrop, Resize, letterbox
from tests.preprocess.test_preprocess import identity, image

SIZE = (14, 20)
FLOAT32 = {"INFERENCE_PRECISION_HINT": "f32"}
SHAPES = ((14, 20), (1, 1), (7, 90), (200, 31), (301, 3), (97, 64), (33, 480))


def cropped(like: str, shorter: int, longest: int | None = None) -> Pipeline:
    """Return a classifier's pipeline."""
    crop = CentreCrop(size=Exactly(height=14, width=14), start=SizeRounding.HALF_EVEN, padding=SizeRounding.DOWN)
    return Pipeline(steps=(Resize(like=like, size=ShorterSide(size=shorter, longest=longest)), crop))


def unequal(whole: Path, pipeline: Pipeline, settings: dict[str, str]) -> list[tuple[int, int]]:
    """Return the shapes of images that an IR processes otherwise than a pipeline."""
    compiled = ov.Core().compile_model(whole, "CPU", settings)
    images = [image(np.random.default_rng(0), *shape) for shape in SHAPES]
    return [x.shape[:2] for x in images if not np.array_equal(compiled(x)[0][0], pipeline(x))]


def resize(like: str) -> Pipeline:
    """Return a pipeline of one resize."""
    return Pipeline(steps=(Resize(like=like, size=Exactly(height=SIZE[0], width=SIZE[1])),))


PIPELINES = (
    resize("torch:nearest"), resize("torchvision:bicubic"), cropped("pillow@13:bicubic", 16),
    cropped("opencv:linear", 12, 400), Pipeline(steps=letterbox("opencv:linear", 40, 48, 114)),
)  # fmt: skip


@pytest.fixture
def few_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write fewer windows, which takes less time. Results stay the same."""
    monkeypatch.setattr(any_size_resize, "_GROUPS", 2)


@pytest.mark.sampled(1)
@pytest.mark.usefixtures("few_windows")
@pytest.mark.parametrize("pipeline", PIPELINES, ids=lambda pipeline: pipeline.steps[0].text)
def test_bytes(pipeline: Pipeline, tmp_path: Path) -> None:
    """The processors that have bfloat16 use it by default: nodes are marked so that they do not."""
    source, whole = identity(tmp_path / "a.onnx", 1, 3, "h", "w"), tmp_path / "whole.xml"
    assert ir_interp.preprocess(source, whole, pipeline=pipeline, verify=False) == "image"
    assert unequal(whole, pipeline, {}) == []


@pytest.mark.usefixtures("few_windows")
def test_tables_by_default(tmp_path: Path) -> None:
    """The tables of a static image size keep float32, too."""
    source, whole = identity(tmp_path / "a.onnx", 1, 3, *SIZE), tmp_path / "whole.xml"
    x = image(np.random.default_rng(0), 97, 64)
    ir_interp.preprocess(source, whole, pipeline=resize("pillow:bicubic"), image_size=(97, 64), verify=False)
    y = ov.Core().compile_model(whole, "CPU")(x)[0][0]
    assert np.array_equal(y, resize("pillow:bicubic")(x))


@pytest.mark.long
@pytest.mark.usefixtures("few_windows")
def test_more_taps_than_float32_sums(tmp_path: Path) -> None:
    source, whole = identity(tmp_path / "a.onnx", 1, 3, *SIZE), tmp_path / "whole.xml"
    ir_interp.preprocess(source, whole, pipeline=resize("torchvision:bicubic"), verify=False)
    compiled = ov.Core().compile_model(whole, "CPU", FLOAT32)
    for height, is_small in ((97, True), (7, True), (14 * 126, True), (14 * 130, False)):  # the last: 508 and 524 taps
        x = image(np.random.default_rng(0), height, 20)
        with nullcontext() if is_small else pytest.raises(RuntimeError):
            assert np.array_equal(compiled(x)[0][0], resize("torchvision:bicubic")(x))


COVERING = Resize(like="opencv:linear", size=ByRatio(height=14, width=20, covers=True))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"pipeline": resize("opencv:area")},
            "has no form in float32 nodes for images of any size; add their size: image_size",
        ),
        (
            {"pipeline": resize("pillow:nearest")},
            "has no form in float32 nodes for images of any size; add their size: image_size",
        ),
        (
            {"pipeline": resize("pillow:box")},
            "has no form in float32 nodes for images of any size; add their size: image_size",
        ),
        ({"pipeline": Pipeline(steps=(COVERING,))}, "quotients of float64 numbers, .*; use image_size"),
    ],
)
def test_what_is_refused(given: dict[str, Any], message: str, tmp_path: Path) -> None:
    source = identity(tmp_path / "a.onnx", 1, 3, "h", "w")
    with pytest.raises(InexactError, match=message):
        ir_interp.preprocess(source, tmp_path / "whole.xml", **given, verify=False)
    assert not (tmp_path / "whole.xml").exists()
