"""The two examples of TensorRT's operator page "Resize", and what TensorRT 8 was seen to compute."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import ir_interp

X = np.arange(9, dtype=np.float32).reshape(1, 1, 3, 3)


def resized(folder: Path, x: NDArray[np.float32], **settings: Any) -> NDArray[Any]:
    """Return what a layer makes of an array."""
    layer = {"input": {"shape": x.shape}, **settings}
    (folder / "layer.json").write_text(json.dumps({"dialect": "tensorrt", "version": 10, "layers": [layer]}))
    (op,) = ir_interp.load(folder / "layer.json")
    return op.run(x)


def test_linear_align_corners_to_5x5(tmp_path: Path) -> None:
    settings = {"resize_mode": "LINEAR", "coordinate_transformation": "ALIGN_CORNERS", "shape": (1, 1, 5, 5)}
    expected = np.add.outer(np.arange(0, 6.5, 1.5), np.arange(0, 2.5, 0.5))
    np.testing.assert_array_equal(resized(tmp_path, X, **settings)[0, 0], expected)


def test_nearest_align_corners_by_2_floor(tmp_path: Path) -> None:
    settings = {"resize_mode": "NEAREST", "coordinate_transformation": "ALIGN_CORNERS", "nearest_rounding": "FLOOR"}
    row = np.array([0, 0, 0, 1, 1, 2], np.float32)
    expected = np.stack([row, row, row, row + 3, row + 3, row + 6])
    np.testing.assert_array_equal(resized(tmp_path, X, **settings, scales=(1, 1, 2, 2))[0, 0], expected)


# The cookbook of NVIDIA's trt-samples-for-hackathon prints what TensorRT 8 made of arange(4 * 5), resized to 6x10.
SEEN = [
    (
        {"resize_mode": "LINEAR", "coordinate_transformation": "HALF_PIXEL"},
        [0.25, 2.75, 6.083, 9.417, 12.75, 15.25],
        [0.25, 0.75, 1.25, 1.75, 2.25, 2.75, 3.25, 3.75, 4],
    ),
    (
        {"resize_mode": "LINEAR", "coordinate_transformation": "ALIGN_CORNERS"},
        [0.444, 3.444, 6.444, 9.444, 12.444, 15.444],
        [0.444, 0.889, 1.333, 1.778, 2.222, 2.667, 3.111, 3.556, 4],
    ),
    (
        {"resize_mode": "LINEAR", "coordinate_transformation": "ASYMMETRIC"},
        [0.5, 3.833, 7.167, 10.5, 13.833, 15.5],
        [0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4],
    ),
    ({"nearest_rounding": "FLOOR"}, [0, 0, 5, 10, 10, 15], [0, 1, 1, 2, 2, 3, 3, 4, 4]),
    ({"nearest_rounding": "CEIL"}, [1, 6, 11, 11, 16, 16], [1, 1, 2, 2, 3, 3, 4, 4, 4]),
    ({"nearest_rounding": "HALF_DOWN"}, [0, 5, 5, 10, 15, 15], [0, 1, 1, 2, 2, 3, 3, 4, 4]),
    ({"nearest_rounding": "HALF_UP"}, [1, 6, 6, 11, 16, 16], [1, 1, 2, 2, 3, 3, 4, 4, 4]),
]


@pytest.mark.parametrize(("settings", "column", "row"), SEEN)
def test_what_tensorrt_was_seen_to_compute(
    settings: dict[str, Any], column: list[float], row: list[float], tmp_path: Path
) -> None:
    """Its second column, and its first row from there: the cookbook misprints one first column."""
    x = np.arange(20, dtype=np.float32).reshape(1, 1, 4, 5)
    y = resized(tmp_path, x, **settings, shape=(1, 1, 6, 10))[0, 0]
    np.testing.assert_allclose(y[:, 1], column, rtol=0, atol=6e-4)
    np.testing.assert_allclose(y[0, 1:], row, rtol=0, atol=6e-4)


def test_nearest_resizes_the_batch_as_seen(tmp_path: Path) -> None:
    x = np.arange(60, dtype=np.float32).reshape(1, 3, 4, 5)
    np.testing.assert_array_equal(resized(tmp_path, x, shape=(2, 3, 4, 5)), np.concatenate([x, x]))


def test_one_pixel_takes_the_upper_left_as_seen(tmp_path: Path) -> None:
    x = np.arange(60, dtype=np.float32).reshape(1, 3, 4, 5)
    settings = {
        "resize_mode": "LINEAR",
        "selector_for_single_pixel": "UPPER",
        "coordinate_transformation": "HALF_PIXEL",
    }
    np.testing.assert_array_equal(resized(tmp_path, x, **settings, shape=(1, 3, 1, 1)).ravel(), [0, 20, 40])
