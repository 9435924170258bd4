"""Calls and keywords as the code of image libraries writes them."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import ir_interp
from ir_interp.errors import IrInterpError, ReadError, SpecError
from tests.support.pipelines import pipeline, resize

_IMAGE = np.random.default_rng(0).integers(0, 256, (12, 10), np.uint8)


def resized(like: str) -> np.ndarray:
    return np.asarray(ir_interp.resize(_IMAGE, (7, 5), like=like))


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("cv2:area", "opencv:area"),
        ("cv2:INTER_AREA", "opencv:area"),
        ("cv2:cv2.INTER_AREA", "opencv:area"),
        ("opencv:interpolation=2", "opencv:cubic"),
        ("PIL:bicubic", "pillow:bicubic"),
        ("PIL@12:LANCZOS", "pillow@12:lanczos"),
        ("pillow:Image.LANCZOS", "pillow:lanczos"),
        ("PIL:Image.Resampling.BOX", "pillow:box"),
        ("torchvision@0.17:bilinear", "torchvision@17:bilinear"),
        ("torchvision@0.16.2:InterpolationMode.BICUBIC", "torchvision@16:bicubic"),
    ],
)
def test_names_of_modules_and_constants(written: str, name: str) -> None:
    written_op, op = ir_interp.load(written)[0], ir_interp.load(name)[0]
    assert (written_op.spec, written_op.version) == (op.spec, op.version)
    np.testing.assert_array_equal(resized(written), resized(name))


@pytest.mark.parametrize(
    ("number", "name"), [(0, "nearest"), (1, "lanczos"), (2, "bilinear"), (3, "bicubic"), (4, "box"), (5, "hamming")]
)
def test_numbers_of_pillow(number: int, name: str) -> None:
    image = pytest.importorskip("PIL.Image")
    assert image.Resampling[name.upper()] == number
    expected = np.asarray(image.fromarray(_IMAGE).resize((5, 7), number))
    np.testing.assert_array_equal(resized(f"PIL:{number}"), expected)
    np.testing.assert_array_equal(resized(f"pillow:{image.Resampling(number)}"), expected)


@pytest.mark.parametrize("name", ["INTER_NEAREST", "INTER_LINEAR", "INTER_CUBIC", "INTER_AREA", "INTER_LANCZOS4"])
def test_numbers_of_opencv(name: str) -> None:
    cv2 = pytest.importorskip("cv2")
    expected = cv2.resize(_IMAGE, (5, 7), interpolation=getattr(cv2, name))
    np.testing.assert_array_equal(resized(f"cv2:{getattr(cv2, name)}"), expected)


@pytest.mark.parametrize(
    ("like", "problem"),
    [
        ("opencv:99", "unknown value '99'"),
        ("skimage:9", "unknown value '9'"),
        ("pillow@12.1:box", "unknown version '12.1'"),  # 12.1 and 12.2 differ
        ("torchvision@1.17:bilinear", "unknown version '1.17'"),
        ("cv3:area", "unknown library 'cv3'"),
    ],
)
def test_what_no_library_has(like: str, problem: str) -> None:
    with pytest.raises(ReadError, match=problem):
        resized(like)


def test_steps_know_libraries_by_one_name() -> None:
    """Code is printed by the name of the library."""
    (given, named) = (pipeline(resize(call, "Exactly", height=6, width=8)) for call in ("cv2:3", "opencv:area"))
    assert given == named


@pytest.mark.parametrize(
    ("keyword", "value", "equivalent"),
    [
        ("interpolation", 2, "like"),
        ("resample", 3, "like"),
        ("method", "bicubic", "like"),
        ("mode", "bilinear", "like"),
        ("order", 3, "like"),
        ("align_corners", True, "like"),
        ("reducing_gap", 2.0, "like"),
        ("scale_factor", 2, "scales"),
        ("fx", 0.5, "scales"),
        ("channel_axis", 2, "axes"),
        ("dsize", (5, 7), "sizes"),
    ],
)
def test_keywords_of_libraries(keyword: str, value: Any, equivalent: str) -> None:
    with pytest.raises(SpecError) as caught:
        ir_interp.resize(_IMAGE, (7, 5), **{keyword: value})
    text = str(caught.value)
    assert f"no argument {keyword!r}; the equivalent is {equivalent}=" in text
    calls = re.findall(r'like="([^"]+)"', text)
    assert bool(calls) == (equivalent == "like")
    for call in calls:  # what a message names exists
        ir_interp.spec(call, dtype="float32")


def test_a_function_without_like_keeps_its_list() -> None:
    with pytest.raises(IrInterpError, match="has no argument 'interpolation'; expected one of"):
        ir_interp.audit("a.onnx", interpolation=2)  # type: ignore[call-arg]
