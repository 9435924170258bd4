"""The formulas of run time, on tensors that NumPy computes at once instead of building a graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from ir_interp import ResizeOp, resize
from ir_interp.converters.decompose.decomposed_resize import decompose
from ir_interp.converters.decompose.tensor import ELEMENTWISE, Double, Functions, Tensor, quotient
from ir_interp.converters.runtimes.execution import ANY_SIZE, LargestGather
from ir_interp.plan.formulas import centred
from tests.support.configurations import OnnxCase, random_onnx_case
from tests.support.graphs import assert_equal
from tests.support.runtimes import Array
from tests.support.verdicts import magnifies, spec_of

_ELEMENTWISE: dict[str, Any] = {name: getattr(np, name, None) for name in ELEMENTWISE} | {
    "and": np.logical_and,
    "or": np.logical_or,
    "not": np.logical_not,
    "select": np.where,
    "round": np.rint,
}


class Computed:
    """The primitive operations, done at once: a tensor is an array, never of float64."""

    def constant(self, array: Any) -> Array:
        return np.asarray(array)

    def elementwise(self, name: str, *values: Array) -> Array:
        with np.errstate(all="ignore"):  # both branches of every choice are computed
            result = np.asarray(_ELEMENTWISE[name](*values))
        assert result.dtype != np.float64, name
        return result

    def convert(self, x: Array, dtype: str) -> Array:
        return x.astype(dtype)

    def gather(self, x: Array, indices: Array, axis: int) -> Array:
        return np.asarray(np.take(x, indices, axis))

    def matmul(self, left: Array, right: Array) -> Array:
        return np.asarray(left @ right)

    def transpose(self, x: Array, order: Sequence[int]) -> Array:
        return x.transpose(order)

    def unsqueeze(self, x: Array, axes: Sequence[int]) -> Array:
        return np.asarray(np.expand_dims(x, tuple(axes)))

    def total(self, x: Array, axis: int, *, keep: bool) -> Array:
        return np.asarray(x.sum(axis, keepdims=keep))

    def shifted(self, x: Array, bits: int) -> Array:
        return x >> bits

    def running_total(self, x: Array) -> Array:
        return x.cumsum(1, np.float32)[:, -1:]

    def range(self, start: Array, stop: Array) -> Array:
        return np.arange(float(start), float(stop)).astype(np.float32)

    def lengths(self, x: Array) -> Array:
        return np.array(x.shape)

    def pad(self, x: Array, begin: Sequence[int], end: Sequence[int]) -> Array:
        return np.pad(x, list(zip(begin, end, strict=True)))

    def precisely(self, vector: Array) -> Array:
        return vector

    def cut(self, x: Array, at: Array) -> tuple[Array, Array]:
        return x[: at[0]], x[at[0] :]

    def flag(self, condition: Array) -> Array:
        return np.array([int(condition)])

    def concat(self, values: Sequence[Array], axis: int) -> Array:
        return np.concatenate(values, axis)

    def reshape(self, x: Array, lengths: Array) -> Array:
        return x.reshape(lengths)

    def broadcast(self, x: Array, lengths: Array) -> Array:
        return np.broadcast_to(x, lengths)

    def gather_elements(self, x: Array, indices: Array, axis: int) -> Array:
        return np.take_along_axis(x, indices, axis)

    @property
    def largest_gather(self) -> LargestGather:
        return ANY_SIZE


class Bounded(Computed):
    """A runtime whose Gather takes and gives few elements only."""

    def __init__(self, largest: int) -> None:
        self.largest = largest
        self.gathered = self.by_elements = 0

    def gather(self, x: Array, indices: Array, axis: int) -> Array:
        taken = Computed.gather(self, x, indices, axis)
        if x.ndim > 2:  # what is left are taps
            assert not taken.size or max(x.size, taken.size) <= self.largest
            self.gathered += taken.size
        return taken

    def gather_elements(self, x: Array, indices: Array, axis: int) -> Array:
        self.by_elements += indices.size
        return Computed.gather_elements(self, x, indices, axis)

    @property
    def largest_gather(self) -> LargestGather:
        return LargestGather(static=self.largest, dynamic=self.largest)


OPS = Computed()
XP = Functions(OPS)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("open_lengths", [True, False], ids=["at run time", "constant"])
@pytest.mark.parametrize("seed", range(3))
def test_a_resize_of_primitive_operations(seed: int, open_lengths: bool) -> None:
    """The executor's own result: nearest bit for bit, floats but for rounding."""
    rng = np.random.default_rng(seed)
    cases = [case for case in (random_onnx_case(rng) for _ in range(300)) if _compares(case)]
    for case in cases:
        actual = decompose(OPS, case.array(), _op(case, open_lengths)).output
        assert_equal(actual, resize(case.array(), spec_of(case)), copied=case.mode == "nearest")


@pytest.mark.sampled(3)
@pytest.mark.parametrize("open_lengths", [True, False], ids=["at run time", "constant"])
@pytest.mark.parametrize("largest", [300, 3_000, 30_000])
def test_no_gather_is_larger_than_it_may_be(largest: int, open_lengths: bool) -> None:
    rng = np.random.default_rng(largest)
    cases = [case for case in (random_onnx_case(rng) for _ in range(200)) if _compares(case)]
    gathered = by_elements = 0
    for case in cases:
        ops = Bounded(largest)
        actual = decompose(ops, case.array(), _op(case, open_lengths)).output
        assert_equal(actual, resize(case.array(), spec_of(case)), copied=case.mode == "nearest")
        assert not (ops.gathered and ops.by_elements)
        gathered, by_elements = gathered + bool(ops.gathered), by_elements + bool(ops.by_elements)
    assert min(gathered, by_elements) > 0


def _compares(case: OnnxCase) -> bool:
    """Say whether float32 sums in any order are close."""
    return case.dtype == "float32" and not magnifies(spec_of(case))


def _op(case: OnnxCase, open_lengths: bool) -> ResizeOp:
    shape = (None,) * len(case.shape) if open_lengths else case.shape
    return ResizeOp(
        name="y", where="", spec=spec_of(case), dialect="onnx", version=case.opset, shape=shape, dtype=case.dtype
    )


def _random(rng: np.random.Generator, count: int = 100_000) -> Array:
    """Return float32 numbers as scales and lengths are, of either sign."""
    return np.asarray(np.exp(rng.uniform(-6, 8, count)) * rng.choice([-1, 1], count), np.float32)


RNG = np.random.default_rng(3)


def _double(x: Array) -> Double[Tensor[Computed]]:
    return XP.widened(Tensor(OPS, x))


def _wide(x: Double[Tensor[Computed]]) -> Array:
    return np.asarray(x.high.value.astype(np.float64) + x.low.value.astype(np.float64))


@pytest.mark.parametrize("name", ["add", "subtract", "divide"])
def test_doubles_round_as_float64_does(name: str) -> None:
    rng = np.random.default_rng(1)
    x, y = _random(rng), _random(rng)
    operation: Any = {"add": Double.__add__, "subtract": Double.__sub__, "divide": Double.__truediv__}[name]
    result = operation(_double(x), _double(y))
    wanted = getattr(np, name)(x.astype(np.float64), y.astype(np.float64))
    np.testing.assert_array_equal((result.high + result.low).value, wanted.astype(np.float32))
    np.testing.assert_allclose(_wide(result), wanted, rtol=2.0**-44)


def _beside_halves(count: int) -> tuple[Array, Array]:
    """Return numbers whose quotients lie as close to the middle of two float32 ones as any do.

    a * 2**25 - m * b is 1, 3 or 5, of either sign, m being odd and of 25 bits: the quotient is next to m / 2**25.
    """
    divisors = np.random.default_rng(5).integers(2**22, 2**23, count) * 2 + 1
    inverse = np.ones_like(divisors)
    for _ in range(5):  # Newton's, modulo a power of 2
        inverse = inverse * (2 - divisors * inverse) % 2**25
    pairs = []
    for apart in (-5, -3, -1, 1, 3, 5):
        middle = apart * inverse % 2**25
        dividends = (middle * divisors - apart) // 2**25
        held = (middle >= 2**24) & (dividends < 2**24)
        pairs.append(np.stack([dividends, divisors])[:, held].astype(np.float32))
    dividend, divisor = np.concatenate(pairs, axis=1)
    return dividend, divisor


@pytest.mark.parametrize("scale", [1, 2.0**-23])
def test_quotients_are_the_nearest(scale: float) -> None:
    close, plain = _beside_halves(50_000), (_random(RNG), np.abs(_random(RNG)))
    a, b = (np.concatenate(each) for each in zip(close, plain, strict=True))
    b = b * np.float32(scale)
    dividend, divisor, inverse = (Tensor(OPS, each) for each in (a, b, np.float32(1) / b))
    np.testing.assert_array_equal(quotient(dividend, divisor, inverse, XP).value, a / b)
    assert (a * (np.float32(1) / b) != a / b).mean() > 0.2


def test_the_sum_of_half_pixel_symmetric_rounds_as_float64_does() -> None:
    """shift + (i + 1/2) / s - 1/2, the longest there is."""
    rng = np.random.default_rng(2)
    shift, i, s = _random(rng), rng.integers(0, 4096, 100_000).astype(np.float32), np.abs(_random(rng))
    half = np.full_like(i, 0.5)
    result = centred(_double(shift), _double(i), _double(s), _double(half))
    wanted = shift.astype(np.float64) + (i.astype(np.float64) + 0.5) / s - 0.5
    np.testing.assert_array_equal((result.high + result.low).value, wanted.astype(np.float32))


def test_operators_of_tensors_are_those_of_numpy() -> None:
    x, y = np.array([-1.5, 0, 2, 2], np.float32), np.array([2, 0, 2, -3], np.float32)
    a, b = Tensor(OPS, x), Tensor(OPS, y)
    pairs = [
        (a + b, x + y),
        (a - b, x - y),
        (a * b, x * y),
        (1 + a, 1 + x),
        (1 - a, 1 - x),
        (3 * a, 3 * x),
        (1 / (a + 4), 1 / (x + 4)),
        (a < b, x < y),
        (a <= b, x <= y),
        (a > b, x > y),
        (a >= b, x >= y),
        (a == b, x == y),
        ((a < b) & (a < 0), (x < y) & (x < 0)),
        ((a < b) | (a == 2), (x < y) | (x == 2)),
        (a + (a > b), x + (x > y)),
        (XP.where(a < b, a, 7), np.where(x < y, x, 7)),
        (XP.clip(a, -1, 1), np.clip(x, -1, 1)),
        (XP.floor(a), np.floor(x)),
        (XP.ceil(a), np.ceil(x)),
        (XP.abs(a), np.abs(x)),
        (XP.minimum(a, b), np.minimum(x, y)),
        (XP.arange(1, 4), np.arange(1, 4)),
    ]
    for symbol, wanted in pairs:
        np.testing.assert_array_equal(symbol.value, wanted)


def test_constants_take_the_type_of_the_tensor_beside_them() -> None:
    x = Tensor(OPS, np.array([1, 2, 3]), "int64")
    results = (x + 1, 2 * x, x.where(x, 0), x.minimum(2), -x, x.take([0, 0], 0), (x > 1) * 1.0, (x > 1) + x)
    assert [each.dtype for each in results] == [*["int64"] * 6, "float32", "int64"]
    assert [each.value.dtype.name for each in results] == [each.dtype for each in results]
    assert [each.value.tolist() for each in (x > 1, ~(x > 1), x == 2)] == [
        [False, True, True],
        [True, False, False],
        [False, True, False],
    ]
    assert {(x > 1).dtype, (~(x > 1)).dtype, (x == 2).dtype} == {"bool"}
