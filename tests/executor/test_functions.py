"""Sine, cosine and exponential are those of exact arithmetic, rounded once."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal, localcontext

import numpy as np
import pytest

from ir_interp.plan import float_arithmetic

_PRECISION = 60
_PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899")


def _series(x: Decimal, first: int, step: int) -> Decimal:
    term = total = x**first if first else Decimal(1)
    for n in range(first + step, 400, step):
        term *= (-(x * x) if step == 2 else x) / (Decimal(n) * (n - 1) if step == 2 else n)
        total += term
    return total


EXACT: dict[str, Callable[[Decimal], Decimal]] = {
    "sine": lambda x: _series(x % (2 * _PI), 1, 2),
    "cosine": lambda x: _series(x % (2 * _PI), 0, 2),
    "exponential": lambda x: _series(x, 0, 1),
}


@pytest.mark.parametrize("name", EXACT)
def test_they_are_rounded_once(name: str) -> None:
    x = np.random.default_rng(0).uniform(-40, 40, 400)
    made = getattr(float_arithmetic, name)(x)
    with localcontext() as context:
        context.prec = _PRECISION
        exact = [float(EXACT[name](Decimal(value))) for value in x.tolist()]
    np.testing.assert_array_equal(made, exact)
    of_c = [getattr(math, {"sine": "sin", "cosine": "cos", "exponential": "exp"}[name])(value) for value in x.tolist()]
    np.testing.assert_array_max_ulp(made, np.array(of_c), maxulp=1)


def test_zero_and_turns() -> None:
    assert float_arithmetic.sine(np.array([0.0, np.pi / 2, -np.pi / 2])).tolist() == [0.0, 1.0, -1.0]
    assert float_arithmetic.cosine(np.array([0.0, np.pi])).tolist() == [1.0, -1.0]
    assert float_arithmetic.exponential(np.array([0.0, -0.5])).tolist() == [1.0, 0.6065306597126334]
