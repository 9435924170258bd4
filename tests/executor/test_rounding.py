"""Every rounding, on values where formulas go astray: NumPy, compiled loops and whole resizes agree with decimals."""

from __future__ import annotations

import decimal
from collections.abc import Callable
from decimal import Decimal

import numpy as np
import pytest

from ir_interp import IntegerRounding, Linear, ResizeSpec, Sizes, resize
from ir_interp.executor.definition import round_in_place, rounded, store
from ir_interp.executor.loop_calls import code_of
from ir_interp.executor.loop_runner import is_installed

BELOW_HALF = float(np.nextafter(np.float32(0.5), np.float32(0)))
VALUES = [0.0, 0.25, 0.5, 1.5, 2.5, BELOW_HALF, 0.75, 8388607.5, 4194303.75, 8388609.0]
VALUES += [-each for each in VALUES]


def _half_up(value: Decimal) -> Decimal:
    return (value + Decimal("0.5")).to_integral_value(decimal.ROUND_FLOOR)


EXPECTED: dict[IntegerRounding, Callable[[Decimal], Decimal]] = {
    IntegerRounding.HALF_EVEN: lambda value: value.to_integral_value(decimal.ROUND_HALF_EVEN),
    IntegerRounding.HALF_UP: _half_up,
    IntegerRounding.HALF_AWAY: lambda value: value.to_integral_value(decimal.ROUND_HALF_UP),
    IntegerRounding.CUT_OFF: lambda value: value.to_integral_value(decimal.ROUND_DOWN),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("rounding", IntegerRounding)
def test_numpy_rounds(rounding: IntegerRounding, dtype: str) -> None:
    values = np.array(VALUES, dtype)
    expected = [float(EXPECTED[rounding](Decimal(each))) for each in VALUES]
    np.testing.assert_array_equal(rounded(values, rounding, np.dtype("int32")), expected)
    target = np.empty(values.shape, "int32")
    store(values.copy(), target, rounding)
    np.testing.assert_array_equal(target, expected)
    round_in_place(values, rounding)
    np.testing.assert_array_equal(values, expected)


def test_what_is_rounded_is_held_within_the_type() -> None:
    values = np.array([-300.0, 300.0])
    np.testing.assert_array_equal(rounded(values, IntegerRounding.HALF_UP, np.dtype("uint8")), [0, 255])


@pytest.mark.skipif(not is_installed(), reason="numba is not installed")
@pytest.mark.parametrize("rounding", IntegerRounding)
def test_loops_round_alike(rounding: IntegerRounding) -> None:
    from ir_interp.executor.loops import vectors as loops

    made = [loops.rounded(np.float32(each), code_of(rounding)) for each in VALUES]
    np.testing.assert_array_equal(made, [float(EXPECTED[rounding](Decimal(each))) for each in VALUES])


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32"])
@pytest.mark.parametrize(
    ("rounding", "middle"),
    [("half_even", [0, -2]), ("half_up", [1, -1]), ("half_away", [1, -2]), ("cut_off", [0, -1])],
)
def test_a_spec_names_its_rounding(rounding: str, middle: list[int], dtype: str) -> None:
    """The middle of 0 and 1 is 0.5, that of -1 and -2 is -1.5."""
    spec = ResizeSpec(kernel=Linear(), axes=(0,), target=Sizes((1,)), integers=rounding)  # type: ignore[arg-type]
    for pair, expected in zip(([0, 1], [-1, -2]), middle, strict=True):
        if min(pair) >= np.iinfo(dtype).min:
            assert resize(np.array(pair, dtype), spec).tolist() == [expected], pair
