"""Results of exact weights: sums of integers that are rounded once, half to even, and the value that covers most.

The weights of an output are integers over their total, so a sum is an integer N over an integer D. Sums are computed in
the first way that loses nothing:

- floats, if they represent every partial sum, which is an integer in any order. Then |N| < 2**(digits - 1), so the
  quotient N / D errs by less than 1 / (2 D), the least distance from a half of a quotient that is none.
- the bits of the pixels in two or more parts, each summed so, if pixels are wide.
- floats with a bound of their error, for weights of many digits and those of Lanczos, which are float64 numbers. Sums
  too close to a half are computed again in Python's integers.

Pixels may have weights of their own: 0 where they are missing, and alpha for colours. D is then the sum of the weights
times these.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.executor import loop_runner, tiles
from ir_interp.executor.cases import jobs_of_sums
from ir_interp.executor.definition import axes_in_order, distinct
from ir_interp.executor.loop_runner import lengths_of
from ir_interp.executor.stages import tap_sum
from ir_interp.executor.threads import cached_property
from ir_interp.plan import formulas
from ir_interp.plan.formulas import Positions
from ir_interp.plan.integer_sums import Piece
from ir_interp.plan.taps import Plan, Taps, ascending, covered, neighbours, widening, window_taps
from ir_interp.shapes import ARRAYS, Array, Shape
from ir_interp.specs import Area, Cubic, Linear, Mode

_SINGLE, _DOUBLE = np.dtype(np.float32), np.dtype(np.float64)
_DIGITS: dict[np.dtype[Any], int] = {_SINGLE: 24, _DOUBLE: 53}
_FEWEST_BITS = 8  # of a part of a pixel: with fewer, floats with a bound are faster
_WIDE = 2**62  # a limit of int64 that leaves one bit for twice a rest
_SPARE = 8  # roundings of the largest sum besides those of its terms
_MOST_CHANNELS = 8
_PART_ELEMENTS = 2**20  # that are computed at a time


@dataclass(frozen=True, slots=True, eq=False)
class AxisWeights:
    """Output ``i`` of an axis is the sum over ``t`` of ``weights[i, t] * source[indices[i, t]]``, over ``totals[i]``.

    Weights are integers, of int64 or, if these are too small, of Python.
    """

    indices: NDArray[np.intp]
    weights: Array
    totals: Array

    @property
    def largest(self) -> int:
        """The largest sum of the absolute weights of an output, at least 1."""
        return int(np.abs(self.weights).sum(axis=1).max(initial=1))


@lru_cache(maxsize=128)
def weights_of(bound: Plan, place: int, outputs: tuple[int, int], origin: int) -> AxisWeights:
    """Return the weights of a segment of the axis at a place of a plan, for inputs that are counted from ``origin``."""
    kernel, axis = bound.spec.kernel, bound.axes[place]
    if not isinstance(kernel, Linear | Cubic | Area | Mode):  # whose weights are float64 numbers
        taps = distinct(window_taps(bound, place, outputs))
        weights = np.ones(taps.indices.shape) if taps.weights is None else taps.weights
        return _counted(taps.indices - origin, _integers(weights))
    totals, denominator = formulas.numerators(axis)
    totals = totals[slice(*outputs)]
    floor, rest = (totals // denominator).astype(np.intp), totals % denominator
    # Outputs at the same place between two pixels have the same weights.
    rests = ascending(rest)
    kinds = np.searchsorted(rests, rest)
    between = np.array([Fraction(int(each), denominator) for each in rests], object)
    at = Positions(np.zeros(len(rests), np.int64), between, between)
    if isinstance(kernel, Area | Mode):
        first, reach = 0, math.ceil(Fraction(axis.in_size, axis.out_size))
        weighed = covered(at, 1, step=_rational(axis.in_size, axis.out_size), reach=reach, xp=ARRAYS)[1]
    else:
        wider = widening(kernel.antialias, axis.scale, any(other.scale < 1 for other in bound.axes))
        reach = math.ceil(formulas.radius(kernel) / wider)
        first, distances = 1 - reach, np.abs(neighbours(at, reach, ARRAYS)[1] * wider)
        weighed = (
            formulas.triangle(distances, ARRAYS)
            if isinstance(kernel, Linear)
            else formulas.keys(distances, _rational(kernel.a), ARRAYS)
        )
    places = floor[:, None] + np.arange(first, first + weighed.shape[1])
    weights = _integers(weighed)[kinds]
    if kernel.exclude_outside:
        weights = np.where((places >= 0) & (places < axis.in_size), weights, 0)
    return _counted(np.clip(places, 0, axis.in_size - 1) - origin, weights)


def _rational(numerator: float, denominator: int = 1) -> Array:
    """Return an exact quotient, which stays exact in arrays."""
    return np.array(Fraction(numerator) / denominator, object)


def _integers(weights: Array) -> Array:
    """Return rational or float weights times the same number, as integers without a common divisor."""
    exact = [Fraction(weight) for weight in weights.flat]
    denominator = math.lcm(*(weight.denominator for weight in exact))
    numbers = [weight.numerator * (denominator // weight.denominator) for weight in exact]
    divisor = math.gcd(*numbers) or 1
    whole = np.array([number // divisor for number in numbers], object).reshape(weights.shape)
    return whole.astype(np.int64) if max(map(abs, whole.flat), default=0) < 2**31 else whole


def _counted(indices: NDArray[np.intp], weights: Array) -> AxisWeights:
    return AxisWeights(indices, weights, weights.sum(axis=1))


class ExactSums:
    """The sums of a piece of a plan, along its changing axes in the order of summation."""

    def __init__(self, bound: Plan, piece: Piece) -> None:
        places = {axis.axis: place for place, axis in enumerate(bound.axes)}
        order = [axis.axis for axis in axes_in_order(bound)]
        self._piece = piece.by_itself
        self._axes = {
            axis: weights_of(bound, places[axis], piece.outputs[axis], piece.inputs[axis][0]) for axis in order
        }
        self._kept_totals: dict[np.dtype[Any], Array] = {}
        self._gain = math.prod(weights.largest for weights in self._axes.values())

    def run(self, x: Array, y: Array) -> None:
        """Fill ``y`` with the means of integers ``x``, padded already, or of bool as 0 and 1."""
        limits = _limits(y.dtype)
        x = x.view(np.uint8) if x.dtype.kind == "b" else x
        sums = self._sums(x, max(limits[1], -limits[0]))
        if sums is None:
            self._run_by_bound(x, y, limits)
        else:
            _store(_quotients(sums, self._totals(sums.dtype)), y, limits)

    def run_weighted(self, x: Array, weights: Array, y: Array, of_weights: ExactSums) -> Array:
        """Fill ``y`` with means of integers whose pixels have non-negative integers as weights; return their shares.

        A mean is 0 if the weights of its pixels have no positive sum. A share is that sum over what it would be if all
        weights were the largest. ``of_weights`` sums the weights, whose shape fits that of ``x``.
        """
        limits, heaviest = _limits(y.dtype), int(weights.max(initial=1))
        largest = max(limits[1], -limits[0]) * heaviest
        products = x.astype(np.int64 if largest < _WIDE else object) * weights
        weighed, sums = of_weights._any_sums(weights.astype(np.int64), heaviest), self._any_sums(products, largest)
        shares = np.asarray(weighed / (of_weights._totals(_DOUBLE) * heaviest), np.float64)
        weighed = np.broadcast_to(weighed, sums.shape)
        is_there = weighed > 0
        y[...] = 0
        means = np.empty(np.count_nonzero(is_there), y.dtype)
        _store(_quotients(_whole(sums[is_there]), _whole(weighed[is_there])), means, limits)
        y[is_there] = means
        return shares

    def _any_sums(self, x: Array, largest: int) -> Array:
        sums = self._sums(x, largest)
        return self._slow_sums(x) if sums is None else sums

    def _totals(self, dtype: np.dtype[Any]) -> Array:
        """Return the denominators, in a shape that fits the output; none has more digits than a sum."""
        if dtype not in self._kept_totals:
            total = np.ones((1,) * len(self._piece.outputs), dtype)
            for axis, weights in self._axes.items():
                total = total * weights.totals.astype(dtype).reshape((-1,) + (1,) * (total.ndim - axis - 1))
            channels = self._piece.shape[-1]
            if total.shape[-1] == 1 and channels <= _MOST_CHANNELS:  # NumPy divides few of them one by one
                total = np.repeat(total, channels, axis=-1)
            self._kept_totals[dtype] = total
        return self._kept_totals[dtype]

    def _sums(self, x: Array, largest: int) -> Array | None:
        """Return the numerators for pixels up to ``largest``; None if their weights have too many digits."""
        for work, digits in _DIGITS.items():
            if self._gain * largest < 2 ** (digits - 1):
                return self._float_sums(x, work)
        bits = _DIGITS[_DOUBLE] - 1 - self._gain.bit_length()
        if bits < _FEWEST_BITS:
            return None
        kind = np.int64 if self._gain * largest < _WIDE else object
        total: Array | None = None
        for place in reversed(range(0, largest.bit_length() + 1, bits)):  # the first part has the sign
            part = x >> place if total is None else (x >> place) & ((1 << bits) - 1)
            sums = self._float_sums(part, _DOUBLE).astype(np.int64).astype(kind)
            total = sums if total is None else (total << bits) + sums
        return total

    def _float_sums(self, x: Array, work: np.dtype[Any], *, of_shares: bool = False) -> Array:
        """Return the numerators, which floats of a type represent, or sums of the shares of weights."""
        if not self._axes:
            return x.astype(work)
        planned = self._of_shares if of_shares else self._in_doubles if work == _DOUBLE else self._in_singles
        return planned.run(x)

    @cached_property
    def _in_singles(self) -> _FloatSums:
        return _FloatSums(self._piece, self._of_each(lambda weights: weights.weights), _SINGLE)

    @cached_property
    def _in_doubles(self) -> _FloatSums:
        return _FloatSums(self._piece, self._of_each(lambda weights: weights.weights), _DOUBLE)

    @cached_property
    def _of_shares(self) -> _FloatSums:
        shares = self._of_each(lambda weights: weights.weights / weights.totals[:, None])
        return _FloatSums(self._piece, shares, _DOUBLE)

    def _of_each(self, numbers: Callable[[AxisWeights], Array]) -> dict[int, Taps]:
        return {
            axis: distinct(Taps(weights.indices, numbers(weights).astype(np.float64)))
            for axis, weights in self._axes.items()
        }

    def _slow_sums(self, x: Array) -> Array:
        """Return the numerators in Python's integers."""
        total = x.astype(object)
        for axis, weights in self._axes.items():
            column = (-1,) + (1,) * (x.ndim - axis - 1)
            terms = zip(weights.indices.T, weights.weights.astype(object).T, strict=True)
            total = sum(np.take(total, indices, axis) * weight.reshape(column) for indices, weight in terms)
        return np.asarray(total, object)

    def _run_by_bound(self, x: Array, y: Array, limits: tuple[int, int]) -> None:
        """Fill ``y`` with float64 sums, rounded; those that may be as near to a half as they err are computed again."""
        terms = sum(weights.indices.shape[1] + _SPARE for weights in self._axes.values())
        shares = (np.abs(weights.weights).sum(axis=1) / np.abs(weights.totals) for weights in self._axes.values())
        size = math.prod(float(share.max(initial=1)) for share in shares)
        # Higham, "Accuracy and Stability of Numerical Algorithms", 2002, equation 3.5
        error = 2 * terms * size * max(limits[1], -limits[0]) * 2.0 ** -_DIGITS[_DOUBLE]
        if error >= _MOST_ERROR:
            _store(_quotients(self._slow_sums(x), self._totals(np.dtype(object))), y, limits)
            return
        sums = self._float_sums(x, _DOUBLE, of_shares=True)
        doubtful = np.nonzero(np.abs(np.abs(sums - np.rint(sums)) - 0.5) <= error)
        _store(np.rint(sums, out=sums), y, limits)
        for place in zip(*(indices.tolist() for indices in doubtful), strict=True):
            y[place] = self._at(x, place, limits)

    def _at(self, x: Array, place: Shape, limits: tuple[int, int]) -> int:
        """Return one mean, in Python's integers."""
        total: Any = x
        denominator = 1
        for axis in range(x.ndim):  # each of which leaves one axis less
            along = self._axes.get(axis)
            if along is None:
                total = total[place[axis]]
            else:
                taken = total[along.indices[place[axis]]].astype(object)
                total = np.tensordot(along.weights[place[axis]].astype(object), taken, 1)
                denominator *= int(along.totals[place[axis]])
        return min(max(round(Fraction(int(total), denominator)), limits[0]), limits[1])


class _FloatSums:
    """Sums of a piece in floats of a type, by taps along axes in order."""

    def __init__(self, piece: Piece, taps: dict[int, Taps], work: np.dtype[Any]) -> None:
        self._shape, self._work = piece.shape, work
        self._jobs = jobs_of_sums(taps, lengths_of(piece), work)
        self._tiles = tiles.tiled(taps, piece, work, tap_sum, tiles.MIN_ELEMENTS_FOR_THREADS)

    def run(self, x: Array) -> Array:
        """Return the sums of an array of any type whose values the floats represent."""
        sums = np.empty(self._shape, self._work)
        if not self._jobs or loop_runner.run(x.astype(self._work, order="C"), sums, self._jobs) is None:
            tiles.run(np.ascontiguousarray(x), sums, self._tiles, self._work, _keep)
        return sums


def _keep(values: Array, target: Array, _: tiles.Tile) -> None:
    target[...] = values


_MOST_ERROR = 2.0**-10  # more outputs than one in 500 would be computed one by one


def _limits(dtype: np.dtype[Any]) -> tuple[int, int]:
    """Return the least and the largest value of a type of integers, or of bool."""
    return (0, 1) if dtype.kind == "b" else (int(np.iinfo(dtype).min), int(np.iinfo(dtype).max))


def _whole(sums: Array) -> Array:
    """Return exact sums as integers, in a type that holds them."""
    return sums.astype(np.int64) if sums.dtype.kind == "f" else sums


def _quotients(sums: Array, totals: Array) -> Array:
    """Return exact quotients rounded half to even; those of floats in place."""
    if sums.dtype.kind == "f":
        return np.rint(np.divide(sums, totals, out=sums), out=sums)
    whole = sums // totals
    twice = 2 * (sums - whole * totals) - totals
    return np.asarray(whole + ((twice > 0) | ((twice == 0) & (whole % 2 == 1))))


def _store(whole: Array, y: Array, limits: tuple[int, int]) -> None:
    """Store integers, in any type, as those of ``y``, which end at ``limits``."""
    if whole.dtype.kind == "f" and y.dtype.itemsize > 2:
        with np.errstate(invalid="ignore"):  # of values at the limits, which are set next
            y[...] = np.clip(whole, float(limits[0]), float(limits[1]))
        for limit, is_beyond in ((limits[0], whole <= limits[0]), (limits[1], whole >= limits[1])):
            y[is_beyond] = limit
    else:
        y[...] = np.clip(whole, limits[0], limits[1], out=whole)


def most_covered(x: Array, bound: Plan, piece: Piece, y: Array, is_there: Array | None = None) -> Array:
    """Fill ``y`` with the values that cover most of each output; return the shares of the pixels that are there.

    The least of several values that cover as much counts; NaN is one value, above all others. An output without any
    pixel is 0.
    """
    shares = np.ones(y.shape)
    along = {
        axis.axis: weights_of(bound, place, piece.outputs[axis.axis], piece.inputs[axis.axis][0])
        for place, axis in enumerate(bound.axes)
    }
    if not along:
        y[...] = x
        return shares if is_there is None else is_there.astype(np.float64)
    first, count = min(along), len(along[min(along)].indices)
    inputs = math.prod(weights.indices.shape[1] for weights in along.values())
    rows = max(1, _PART_ELEMENTS * count // max(1, y.size * inputs))
    for start in range(0, count, rows):
        taken = slice(start, start + rows)
        of_first = along[first]
        part = AxisWeights(of_first.indices[taken], of_first.weights[taken], of_first.totals[taken])
        at = (slice(None),) * first + (taken,)
        y[at], shares[at] = _most_covered(x, along | {first: part}, is_there)
    return shares


def _most_covered(x: Array, along: dict[int, AxisWeights], is_there: Array | None) -> tuple[Array, Array]:
    values = _windows(x, along)
    covers = np.ones((1,) * (x.ndim + 1), np.int64)
    for axis, weights in sorted(along.items()):
        column = weights.weights.reshape(-1, *(1,) * (x.ndim - axis - 1), 1, weights.weights.shape[1])
        products = covers[..., None] * column
        covers = products.reshape(*products.shape[:-2], -1)
    total = covers.sum(axis=-1)
    covers = np.broadcast_to(covers, values.shape)
    covers = covers if is_there is None else covers * _windows(is_there, along)
    order = np.argsort(values, axis=-1, kind="stable")
    values, covers = (np.take_along_axis(numbers, order, axis=-1) for numbers in (values, covers))
    is_same = values[..., 1:] == values[..., :-1]
    if x.dtype.kind == "f":
        is_same |= np.isnan(values[..., 1:]) & np.isnan(values[..., :-1])
    is_last = np.concatenate([~is_same, np.ones((*values.shape[:-1], 1), bool)], axis=-1)
    sums = covers.cumsum(axis=-1)
    ends = np.maximum.accumulate(np.where(is_last, sums, 0), axis=-1)
    before = np.concatenate([np.zeros_like(ends[..., :1]), ends[..., :-1]], axis=-1)
    best = np.where(is_last, sums - before, -1).argmax(axis=-1)
    chosen = np.take_along_axis(values, best[..., None], axis=-1)[..., 0]
    shares = sums[..., -1] / total
    return (chosen if is_there is None else np.where(shares > 0, chosen, np.zeros((), x.dtype))), shares


def _windows(x: Array, along: dict[int, AxisWeights]) -> Array:
    """Return the inputs of each output, as a last axis."""
    windows = x[..., None]
    for axis, weights in sorted(along.items()):
        taken = np.moveaxis(np.take(windows, weights.indices, axis), axis + 1, -1)
        windows = taken.reshape(*taken.shape[:-2], -1)
    return windows
