"""Exact sums of 8-bit integers, in integers, so that every order of addition gives the same bytes.

Weights are integers over a power of two. A sum along one axis fits an int32, one along two axes a float64 below 2**53.
``plan.libraries.passes`` has such sums for image libraries; this module derives them for integers that are rounded
once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.plan.axes.geometry import Plan
from ir_interp.plan.axes.taps import is_long, segments
from ir_interp.plan.libraries.passes import are_named
from ir_interp.plan.pieces import Piece, taps_by_axis
from ir_interp.plan.runtimes.integer_steps import axes_of_steps, changing, rounding_at_once
from ir_interp.spec import Alpha, Area, Box, IntegerRounding, Linear, Mean, Nearest, Unrounded

# With 22 bits, 255 * 2 * 2**22 is below 2**31: int32 holds one axis whose weights' sizes sum to 2, as those of Lanczos
# do. Fewer than 16 bits would move a sum of bytes by 255 * 2**-17 for each tap, which shows.
_BITS, _LEAST_BITS = 22, 16  # fractional bits of a weight
_MOST_AT_ONCE, _MOST = 2**31, 2**53  # of a sum along one axis, and along two
_EIGHT_BITS = {"uint8": 255, "int8": 128}
_ULP = 2.0**-24  # largest relative error of a float32 rounding


@dataclass(frozen=True, slots=True, eq=False)
class Windows:
    """Output ``i`` is the sum over ``t`` of ``weights[i, t]``, int32 or floats, times input ``first[i] + t``."""

    axis: int
    first: NDArray[np.intp]
    weights: NDArray[Any]

    @property
    def largest(self) -> int:
        """The largest sum of the absolute weights of an output."""
        return int(np.abs(self.weights.astype(np.int64)).sum(axis=1).max(initial=0))


@dataclass(frozen=True, slots=True, eq=False)
class WholeSum:
    """A sum along one axis or two, over ``2**bits``, rounded to integers by ``rounding``."""

    windows: tuple[Windows, ...]
    bits: int
    rounding: IntegerRounding

    @property
    def is_mean(self) -> bool:
        """Whether no sum can exceed the range of its type: no weight is negative, and they sum to 1."""
        largest = math.prod(window.largest for window in self.windows)
        least = min(int(window.weights.min()) for window in self.windows)
        return least >= 0 and largest <= ABOUT_ONE * 2**self.bits


# 255 * 1.001 = 255.255 and -128 * 1.001 = -128.128 round into the range of a byte, so such sums need no clipping.
ABOUT_ONE = 1.001
"""Largest sum of the integer weights of a mean."""


def at_once(bound: Plan, piece: Piece, dtype: str) -> WholeSum | None:
    """Return the sum of integers that are rounded once; None if it needs more bits than the number types have."""
    rounding = rounding_at_once(bound.spec, dtype)
    bits = _precision(bound, _EIGHT_BITS[dtype]) if _is_rounded_once(bound, rounding, dtype) else None
    if bits is None:
        return None
    windows = []
    for axis, taps in taps_by_axis(bound, piece).items():
        assert taps.weights is not None
        weights = np.rint(np.ldexp(taps.weights, bits)).astype(np.int64)
        windows.append(gathered(axis, _length(piece, axis), taps.indices, weights))
    return WholeSum(_sorted(windows), bits * len(windows), rounding)


def _is_rounded_once(bound: Plan, rounding: IntegerRounding, dtype: str) -> bool:
    """Return whether bytes are sums along one or two axes, rounded once and not in steps of a runtime or a library."""
    if isinstance(bound.spec.kernel, Nearest) or dtype not in _EIGHT_BITS or not 1 <= len(bound.axes) <= 2:
        return False
    if are_named(bound) or 0 in bound.out_shape:
        return False
    # A weight's last bit would decide how a sum such as 3 * (1/3) is truncated: such sums stay floats.
    if rounding is IntegerRounding.CUT_OFF:
        return False
    return axes_of_steps(bound.spec, frozenset(changing(bound)), len(bound.in_shape), dtype) is None


def in_passes(bound: Plan, piece: Piece, dtype: str) -> tuple[WholeSum, ...] | None:
    """Return the passes of an image library as sums; None if they are of another kind."""
    if dtype not in _EIGHT_BITS or not are_named(bound) or bound.spec.alpha is not Alpha.SEPARATE:
        return None
    if 0 in bound.out_shape:
        return None
    sums: list[WholeSum] = []
    waiting: list[Windows] = []
    for step in piece.passes(bound, dtype):
        # Vectors add in another order, float weights round, and shortened products lose bits: in none of these is the
        # sum an integer that every order of addition gives.
        if step.is_turned or step.bits_before or step.bits_each or step.factor != 1.0 or step.weights.dtype.kind == "f":
            return None
        if step.counts is not None:
            return None
        waiting.append(gathered(step.axis, _length(piece, step.axis), step.indices, step.weights))
        if step.rounding is not Unrounded.KEPT:
            windows = _sorted(waiting)
            if len(windows) > 2 or not _fits(windows, _EIGHT_BITS[dtype]):
                return None
            sums.append(WholeSum(windows, step.bits_after, step.rounding))
            waiting = []
    return tuple(sums)


def _sorted(windows: Sequence[Windows]) -> tuple[Windows, ...]:
    return tuple(sorted(windows, key=lambda window: window.axis))


def _length(piece: Piece, axis: int) -> int:
    start, stop = piece.inputs[axis]
    return stop - start


def gathered(axis: int, in_size: int, indices: NDArray[np.intp], weights: NDArray[Any]) -> Windows:
    """Return taps as windows: weights of the same pixel are added up, and those of 0 are dropped."""
    used = weights != 0
    lowest = np.where(used, indices, in_size - 1).min(axis=1)
    # An output whose weights are all 0 would end before it starts.
    highest = np.maximum(np.where(used, indices, 0).max(axis=1), lowest)
    width = int((highest - lowest).max()) + 1
    first = np.minimum(lowest, in_size - width)
    dense = np.zeros((len(indices), width), weights.dtype)
    outputs, taps = np.nonzero(used)
    np.add.at(dense, (outputs, indices[outputs, taps] - first[outputs]), weights[outputs, taps])
    return Windows(axis, first, dense.astype(np.int32) if weights.dtype.kind == "i" else dense)


def in_lowest_terms(sums: WholeSum) -> WholeSum:
    """Return a sum with common factors of 2 removed from the weights of each axis: halves and quarters become small."""
    windows, bits = [], sums.bits
    for window in sums.windows:
        every = int(np.bitwise_or.reduce(window.weights, axis=None))
        twos = (every & -every).bit_length() - 1 if every else 0
        twos = min(twos, bits)
        windows.append(replace(window, weights=window.weights >> twos))
        bits -= twos
    return replace(sums, windows=tuple(windows), bits=bits)


def _fits(windows: Sequence[Windows], most: int) -> bool:
    largest = [most * window.largest for window in windows]
    return max(largest) < _MOST_AT_ONCE and math.prod(largest) < _MOST * most


@lru_cache(maxsize=512)
def _precision(bound: Plan, most: int) -> int | None:
    """Return the number of fractional bits of weights: those of the whole plan, the same for all pieces."""
    sizes = [_size(bound, place) for place in range(len(bound.axes))]
    for bits in range(_BITS, _LEAST_BITS - 1, -1):
        # Rounding moves each weight by at most 1/2, so `count` weights exceed their exact sum by less than `count`.
        sums = [largest * 2**bits + count for largest, count in sizes]
        if most * max(sums) < _MOST_AT_ONCE and most * math.prod(sums) < _MOST:
            return bits
    return None


def _size(bound: Plan, place: int) -> tuple[float, int]:
    """Return the largest sum of the absolute weights of an output of an axis, at least 1, and the number of taps.

    A long axis is taken in segments. Weights that are never negative add up to 1, since a sum within a last bit of 1
    gives as many bits as 1 does.
    """
    taps = segments(bound, place)
    if is_long(bound) and isinstance(bound.spec.kernel, _NEVER_NEGATIVE):
        return 1.0, next(taps).indices.shape[1]
    largest, count = 1.0, 0
    for tap in taps:
        assert tap.weights is not None
        largest = max(largest, float(np.abs(tap.weights).sum(axis=1).max(initial=1.0)))
        count = max(count, tap.indices.shape[1])
    return largest, count


_NEVER_NEGATIVE = (Linear, Area, Mean, Box)


def doubt(sums: WholeSum, most: int) -> float:
    """Return the largest error of a sum in float32 against integers; 0 if it is exact.

    In any order of additions, fused or not, each term is rounded at most once for every term of its sum (N. J. Higham,
    "Accuracy and Stability of Numerical Algorithms", 2002, equation 3.5).
    """
    if most * math.prod(window.largest for window in in_lowest_terms(sums).windows) <= _EXACT:
        return 0.0
    weights = [np.abs(window.weights.astype(np.float64)) for window in sums.windows]
    size = math.prod(weight.sum(axis=1).max() for weight in weights)
    terms = sum(int(np.count_nonzero(weight, axis=1).max()) for weight in weights)
    return float(most * np.ldexp(size, -sums.bits) * (terms + _SPARE) * _ULP)


def error_bound(first: Windows, second: Windows, most: int, bits: int) -> float:
    """Return the largest error of a sum of integers up to ``most`` in float32, along two axes in this order.

    Taps are added one by one, or even and odd ones apart. Every product and every sum so far is rounded at most once,
    by ``_ULP`` of its size (Higham, equation 3.4, which is sharper than 3.5 since early sums are small). Integer
    weights need no rounding below 2**24.
    """
    (size, error), (size_of_sums, error_of_sums) = (_growth(windows.weights) for windows in (first, second))
    summed = error * size_of_sums + size * error_of_sums
    errors_of_errors = 1 / (1 - 2 * _ULP * (first.weights.shape[1] + second.weights.shape[1] + _SPARE))
    return float(errors_of_errors * _ULP * (most * np.ldexp(summed, -bits) + _ENDS * most))


def _growth(weights: NDArray[Any]) -> tuple[float, float]:
    """Return the largest sum of absolute weights of an output, and of the sizes of its products and sums so far.

    Sums of even and of odd taps are no larger, but one more sum joins them.
    """
    sums = np.abs(weights.astype(np.float64)).cumsum(axis=1)
    return float(sums[:, -1].max()), float((2 * sums[:, -1] + sums.sum(axis=1)).max())


_ENDS = 1  # the rounding of a limit
_EXACT = 2**24  # float32 represents every integer up to here
_SPARE = 8  # roundings of the largest sum: of weights, between axes, of the final rounding, and of products of these
