"""The two examples of TensorRT's operator page "Resize"."""

from __future__ import annotations

import numpy as np

from converters.tensorrt_resize import DIALECT
from ir_interp import resize
from ir_interp.dialect import Context

X = np.arange(9, dtype=np.float32).reshape(1, 1, 3, 3)
CONTEXT = Context(version=10, shape=X.shape)


def test_linear_align_corners_to_5x5() -> None:
    spec = DIALECT.parse(
        {"resize_mode": "LINEAR", "coordinate_transformation": "ALIGN_CORNERS", "shape": (1, 1, 5, 5)}, CONTEXT
    )
    expected = np.add.outer(np.arange(0, 6.5, 1.5), np.arange(0, 2.5, 0.5))
    np.testing.assert_array_equal(resize(X, spec)[0, 0], expected)


def test_nearest_align_corners_by_2_floor() -> None:
    spec = DIALECT.parse(
        {
            "resize_mode": "NEAREST",
            "coordinate_transformation": "ALIGN_CORNERS",
            "nearest_rounding": "FLOOR",
            "scales": (1.0, 1.0, 2.0, 2.0),
        },
        CONTEXT,
    )
    row = np.array([0, 0, 0, 1, 1, 2], np.float32)
    expected = np.stack([row, row, row, row + 3, row + 3, row + 6])
    np.testing.assert_array_equal(resize(X, spec)[0, 0], expected)
