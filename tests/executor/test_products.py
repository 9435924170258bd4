"""What the executor takes from BLAS: a sum has the same bits wherever it lies in a matrix of a shape that fits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ir_interp.executor.products import LONGEST, fills_vectors

Array = NDArray[Any]


def _product(weights: Array, values: Array, rng: np.random.Generator, rows: int, columns: int, before: int) -> Any:
    """Return the sum of some products, from a matrix of other numbers in which they lie after so many zeros."""
    count, row, column = len(weights), int(rng.integers(rows)), int(rng.integers(columns))
    length = min(LONGEST, before + count + int(rng.integers(0, 60)))
    before = min(before, length - count)
    left = rng.standard_normal((rows, length)).astype(weights.dtype)
    left[row] = 0
    left[row, before : before + count] = weights
    right = rng.standard_normal((length, columns + int(rng.integers(0, 4)))).astype(weights.dtype)[:, :columns]
    right[before : before + count, column] = values
    return np.matmul(left, right)[row, column]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sums_do_not_depend_on_their_place(dtype: str) -> None:
    rng, lanes = np.random.default_rng(3), 64 // np.dtype(dtype).itemsize
    for _ in range(1500):
        weights, values = rng.standard_normal((2, rng.integers(1, 40))).astype(dtype)
        wanted = _product(weights, values, rng, 8, 16, 0)
        columns = int(rng.choice([1, 2, 3, 7, 70])) * lanes - int(rng.integers(0, lanes // 2))
        assert fills_vectors(columns, np.dtype(dtype).itemsize)
        rows, before = int(rng.choice([2, 3, 5, 8, 16, 31, 128])), int(rng.integers(0, 200))
        assert _product(weights, values, rng, rows, columns, before) == wanted, (rows, columns, before)
