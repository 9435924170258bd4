"""float16 by integer arithmetic is NumPy's, bit by bit."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from ir_interp.executor import definition
from ir_interp.executor.loop_runner import is_installed

EVERY = np.arange(2**16, dtype=np.uint16).view(np.float16)
FINITE = EVERY[np.isfinite(EVERY)]


def test_every_finite_value_is_loaded() -> None:
    loaded = np.empty((1, FINITE.size), np.float32)
    definition.load_float16(FINITE[None], loaded)
    np.testing.assert_array_equal(loaded[0].view(np.uint32), FINITE.astype(np.float32).view(np.uint32))


def _between() -> NDArray[np.float32]:
    """Return every value, what lies half-way to the next, and what lies just beside that."""
    values = FINITE.astype(np.float32)
    with np.errstate(over="ignore"):  # behind the last comes infinity
        middles = values + np.spacing(FINITE).astype(np.float32) / 2
    return np.concatenate([values, middles, np.nextafter(middles, 0), np.nextafter(middles, np.float32(np.inf))])


def _any() -> NDArray[np.float32]:
    values = np.random.default_rng(0).integers(0, 2**32, 2**20, np.uint32).view(np.float32)
    return values[~np.isnan(values)]


@pytest.mark.parametrize(
    "values",
    [_between(), _any(), np.array([65504, 65519.9, 65520, 1e9, -1e9], np.float32), np.empty(0, np.float32)],
    ids=["all and between", "any bits", "too large", "none"],
)
def test_values_are_rounded_half_to_even(values: NDArray[np.float32]) -> None:
    stored = np.empty((1, values.size), np.float16)
    definition.store_float16(values[None], stored)
    with np.errstate(over="ignore", under="ignore"):
        wanted = values.astype(np.float16)
    np.testing.assert_array_equal(stored[0].view(np.uint16), wanted.view(np.uint16))


@pytest.mark.skipif(not is_installed(), reason="numba is not installed")
def test_loops_convert_alike() -> None:
    loops = pytest.importorskip("ir_interp.executor.loops.windows")
    loaded, ending = np.empty(FINITE.size + 3, np.float32), (loops.TO_HALF, 0.0, 0.0)
    loops.read(FINITE.view(np.uint16), 0, loaded, 3, FINITE.size, ending)
    np.testing.assert_array_equal(loaded[3:].view(np.uint32), FINITE.astype(np.float32).view(np.uint32))
    for values in (_between(), _any()):
        stored, wanted = np.empty(values.size + 3, np.uint16), np.empty((1, values.size), np.float16)
        loops.finish(values, stored, 3, values.size, ending)
        definition.store_float16(values[None], wanted)
        np.testing.assert_array_equal(stored[3:], wanted[0].view(np.uint16))


def test_parts_that_are_not_contiguous() -> None:
    values = np.linspace(-3, 3, 60, dtype=np.float16).reshape(3, 4, 5)
    loaded = np.empty((3, 4, 2), np.float32)
    definition.load_float16(values[:, :, 1:3], loaded)
    np.testing.assert_array_equal(loaded, values[:, :, 1:3])
    target = np.zeros((3, 4, 5), np.float16)
    definition.store_float16(loaded, target[:, :, 1:3])
    np.testing.assert_array_equal(target[:, :, 1:3], values[:, :, 1:3])


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_infinity_and_nan_are_found(value: float) -> None:
    values = np.zeros(100_000, np.float16)
    assert definition.is_finite_float16(values)
    values[77_777] = value
    assert not definition.is_finite_float16(values)
