"""Integers that are summed in passes of integral weights, as int32 nodes: with the same bits as the executor.

Sums stay below 2**30, so that ONNX's division, which truncates, can be made to round down. If a sum is larger, its
values are split into high and low bits, which are summed separately.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ir_interp.plan.libraries.passes import Pass
from ir_interp.shapes import PartialShape
from ir_interp.spec import IntegerRounding, Unrounded

from .apply_taps import AxisTaps
from .integer_steps_as_nodes import Resize
from .run_time_passes import RunTimePass
from .tensor import Ops, Tensor, Value

LARGEST = 2**30  # of sums in int32: half its range is left to make the division round down
_MOST_TAPS = 16  # each is a copy and a product; a matrix of floats would be faster, and off by a level
_ROUNDINGS = (IntegerRounding.HALF_UP, IntegerRounding.HALF_AWAY)

AnyPass = Pass | RunTimePass
Interval = tuple[int, int]
"""The smallest and the largest value that a tensor may hold."""


def are_integral(passes: Sequence[Pass], dtype: str) -> bool:
    """Return whether int32 nodes hold every sum of some passes over integers of a type."""
    # A pass that is not rounded hands its sums on, so the next one multiplies a wider range.
    values = _all_of(dtype)
    for stage in passes:
        if not _is_plain(stage) or _split(stage, values) is None:
            return False
        values = _sums(stage, values) if stage.rounding is Unrounded.KEPT else _all_of(dtype)
    return True


def _is_plain(step: Pass) -> bool:
    has_integers = step.weights.dtype.kind == "i" and step.weights.shape[1] <= _MOST_TAPS
    keeps_bits = not (step.bits_before or step.bits_each or step.lanes or step.of_ipp or step.counts is not None)
    ends_so = not step.bits_after if step.rounding is Unrounded.KEPT else step.rounding in _ROUNDINGS
    return has_integers and keeps_bits and ends_so


def _all_of(dtype: str) -> Interval:
    return int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)


def _sums(step: AnyPass, values: Interval) -> Interval:
    """Return the smallest and the largest sum of values by the weights of a pass."""
    if isinstance(step, RunTimePass):
        return values[0] << step.bits, values[1] << step.bits
    weights = step.weights
    ends = [np.where(weights > 0, *pair) * weights for pair in (values[::-1], values)]
    return int(ends[1].sum(axis=1).min()), int(ends[0].sum(axis=1).max())


def _split(step: AnyPass, values: Interval) -> int | None:
    """Return how many low bits of the values are summed separately; None if no number of bits is enough."""
    for bits in range(step.bits_after + 1):
        # The low bits are never negative, since the shift rounds down.
        high, low = (values[0] >> bits, values[1] >> bits), (0, 2**bits - 1)
        sums = [*_sums(step, high), *(_sums(step, low) if bits else ())]
        # Half of the divisor is added before the division, which must fit as well.
        if max(map(abs, sums)) + 2 ** max(step.bits_after, 1) < LARGEST:
            return bits
    return None


@dataclass(frozen=True, slots=True)
class IntegerPasses:
    """Passes over integers of a type on a graph; ``resize`` takes entries of an axis."""

    ops: Ops
    resize: Resize
    dtype: str

    def run(self, x: Value, passes: Sequence[AnyPass], shape: PartialShape) -> Value:
        """Return a tensor of ``shape`` after all passes, in its own element type."""
        y, values = Tensor(self.ops, x, self.dtype).cast("int32"), _all_of(self.dtype)
        for step in passes:
            if step.rounding is Unrounded.KEPT:
                y, values = self._sum(y, step, shape), _sums(step, values)
            else:
                y, values = self._rounded(y, step, values, shape), _all_of(self.dtype)
            size = None if isinstance(step, RunTimePass) else len(step.indices)
            shape = (*shape[: step.axis], size, *shape[step.axis + 1 :])
        return y.cast(self.dtype).value

    def _sum(self, x: Tensor[Ops], step: AnyPass, shape: PartialShape) -> Tensor[Ops]:
        behind = range(1, len(shape) - step.axis)
        columns = (step.indices, step.weights) if isinstance(step, RunTimePass) else (step.indices.T, step.weights.T)
        terms = [
            self._taken(x, step.axis, indices, shape) * _aligned(weights, behind)
            for indices, weights in zip(*columns, strict=True)
        ]
        return functools.reduce(operator.add, terms)

    def _taken(self, x: Tensor[Ops], axis: int, indices: Any, shape: PartialShape) -> Tensor[Ops]:
        copies = AxisTaps(axis=axis, count=1, indices=indices)
        return x.like(self.resize(x.value, [copies], shape))

    def _rounded(self, x: Tensor[Ops], step: AnyPass, values: Interval, shape: PartialShape) -> Tensor[Ops]:
        """Return a sum without its last bits, rounded and clipped to the element type."""
        bits = _split(step, values)
        assert bits is not None  # as ``are_integral`` verifies
        half = 2**step.bits_after // 2
        if not bits:
            total = self._sum(x, step, shape)
            y = self._shifted(total + self._half(step, total, half), step.bits_after)
        else:
            high = self._shifted(x, bits)
            total, low = self._sum(high, step, shape), self._sum(x - high * 2**bits, step, shape)
            # The sign of the whole sum decides how a half is rounded, and only the high part has it.
            added = self._half(step, total + self._shifted(low, bits), half)
            y = self._shifted(total + self._shifted(low + added, bits), step.bits_after - bits)
        return self._bounded(y, step)

    def _half(self, step: AnyPass, total: Tensor[Ops], half: int) -> Tensor[Ops]:
        """Return the offset before bits are dropped: one less where a negative sum rounds away from 0."""
        rounds_away = step.rounding is IntegerRounding.HALF_AWAY and self.dtype[0] != "u"
        return (total < 0).where(total.of(half - 1), half) if rounds_away else total.of(half)

    def _shifted(self, x: Tensor[Ops], bits: int) -> Tensor[Ops]:
        return x.like(self.ops.shifted(x.value, bits)) if bits else x

    def _bounded(self, y: Tensor[Ops], step: AnyPass) -> Tensor[Ops]:
        """Return numbers clipped to the element type, which negative weights may exceed."""
        if isinstance(step, RunTimePass):
            return y
        if (step.weights >= 0).all() and (step.weights.sum(axis=1) <= 2**step.bits_after).all():
            return y
        low, high = (y.of(bound) for bound in _all_of(self.dtype))
        y = (y < low).where(low, y)
        return (y > high).where(high, y)


def _aligned(weights: Any, behind: range) -> Any:
    """Return weights of an axis with axes of size 1 ``behind`` it."""
    if isinstance(weights, Tensor):
        return weights.unsqueeze(*behind) if behind else weights
    return weights.reshape(-1, *(1 for _ in behind))
