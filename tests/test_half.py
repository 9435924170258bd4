"""float16 by integer arithmetic is NumPy's, bit by bit."""

from __future__ import annotations

import numpy as np
import pytest

from ir_interp import half

EVERY = np.arange(2**16, dtype=np.uint16).view(np.float16)
FINITE = EVERY[np.isfinite(EVERY)]


def test_every_finite_value_is_loaded() -> None:
    loaded = np.empty((1, FINITE.size), np.float32)
    half.load(FINITE[None], loaded)
    np.testing.assert_array_equal(loaded[0].view(np.uint32), FINITE.astype(np.float32).view(np.uint32))


def test_parts_that_are_not_contiguous() -> None:
    values = np.linspace(-3, 3, 60, dtype=np.float16).reshape(3, 4, 5)
    loaded = np.empty((3, 4, 2), np.float32)
    half.load(values[:, :, 1:3], loaded)
    np.testing.assert_array_equal(loaded, values[:, :, 1:3])


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_infinity_and_nan_are_found(value: float) -> None:
    values = np.zeros(100_000, np.float16)
    assert half.is_finite(values)
    values[77_777] = value
    assert not half.is_finite(values)
