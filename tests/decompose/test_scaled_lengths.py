"""Output sizes in float32 steps against float64, at every size up to the largest."""

from __future__ import annotations

import numpy as np
import pytest

from ir_interp.plan.float_arithmetic import LARGEST, Rounding, deciding_sizes, formula_steps, length_steps
from ir_interp.shapes import ARRAYS

SIZES = np.arange(1, LARGEST + 1)
SCALES = (0.7, 1.3, 1.4, 2.3, 120 / 88, 1 / 1.3, 1920 / 1081, 0.123456789, 3**0.5, 2.0, 100.3, 7 / 4095)


@pytest.mark.parametrize("scale", SCALES)
def test_sizes_are_those_of_float64(scale: float) -> None:
    made = length_steps(scale).of(SIZES.astype(np.float32)[:, None], ARRAYS)[:, 0]
    np.testing.assert_array_equal(made, np.floor(SIZES * scale))


@pytest.mark.parametrize("scale", SCALES)
def test_sizes_that_are_rounded_up_are_those_of_float64(scale: float) -> None:
    steps = formula_steps((("multiply", scale),), Rounding.UP)
    np.testing.assert_array_equal(steps.of(SIZES.astype(np.float32)[:, None], ARRAYS)[:, 0], np.ceil(SIZES * scale))


def test_every_result_of_a_formula_is_rounded() -> None:
    """30 * 2.1 is 63 and 90 * 0.7 is less."""
    steps = formula_steps((("divide", 3.0), ("multiply", 2.1)))
    made = steps.of(SIZES.astype(np.float32)[:, None], ARRAYS)[:, 0]
    np.testing.assert_array_equal(made, np.floor(SIZES / 3.0 * 2.1))


@pytest.mark.parametrize("scale", [0.7, 1.3, 1.4, 2.3, 120 / 88])
def test_a_size_at_which_rounding_decides_is_found(scale: float) -> None:
    sizes = np.array(deciding_sizes(scale, 1024))
    singles = np.floor(sizes.astype(np.float32) * np.float32(scale))
    assert (singles != np.floor(sizes * scale)).any()


@pytest.mark.parametrize(
    ("scale", "rounding", "of"),
    [
        (1.1, Rounding.UP, np.ceil),
        (2.2, Rounding.UP, np.ceil),
        *((scale, Rounding.EVEN, np.rint) for scale in (1.1, 1.3, 2.3)),
    ],
)
def test_a_size_at_which_another_rounding_decides_is_found(scale: float, rounding: Rounding, of: np.ufunc) -> None:
    sizes = np.array(deciding_sizes(scale, 1024, rounding))
    singles = of(sizes.astype(np.float32) * np.float32(scale))
    assert (singles != of(sizes * scale)).any()


def test_a_scale_that_float32_holds_decides_nowhere() -> None:
    assert deciding_sizes(1.5, 1024) == ()
    assert deciding_sizes(2.0, 1024) == ()
