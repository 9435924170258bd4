"""Weighted sums of floats in NumPy alone, tap by tap: the arithmetic of ``executor.definition``.

A tap is a gather of inputs, a multiplication and an addition, each over many outputs at once. NumPy rounds every
element of these separately, so no result depends on a processor, on a library of products, or on the place in a tile.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.array_types import Array
from ir_interp.executor.arrays.threads import scratch
from ir_interp.executor.strategies.matrix_products import Span

Places = NDArray[np.intp]
_PART = 2**16  # elements: a part of the outputs and one term of it stay in the second cache
_MIN_INNER = 16  # cells; with fewer, NumPy's loop over the last axis costs more than its arithmetic


@dataclass(frozen=True, slots=True, eq=False)
class Tap:
    """The first, second ... input of each output, and its weight.

    ``stride`` is the distance of neighbours if it is constant, otherwise 0.
    """

    places: Places
    stride: int
    weights: Array

    def weigh(self, x: Array, y: Array, outputs: slice) -> None:
        """Fill ``y`` with the inputs of some outputs, times their weights."""
        places, weights = self.places[outputs], self.weights[outputs]
        if self.stride:
            inputs = slice(int(places[0]), int(places[-1]) + 1, self.stride)
            np.multiply(x[:, inputs], weights, out=y)
        else:
            np.take(x, places, axis=1, out=y, mode="clip")
            np.multiply(y, weights, out=y)


@dataclass(frozen=True, slots=True, eq=False)
class TapSum:
    """Weighted sums of a span of an axis, where ``depth`` neighbouring cells move together; 0 if many do."""

    span: Span
    depth: int
    taps: tuple[Tap, ...]

    def apply(self, x: Array, y: Array) -> None:
        """Fill ``y`` [outer, outputs, inner] from ``x`` [outer, inputs, inner], in C order and of the same dtype."""
        if self.depth:
            x, y = x.reshape(len(x), -1, 1), y.reshape(len(y), -1, 1)
        count = y.shape[1] if self.depth else max(1, _PART // y.shape[2])
        items = max(1, _PART // (min(count, y.shape[1]) * y.shape[2]))
        for item in range(0, len(y), items):
            for start in range(0, y.shape[1], count):
                outputs = slice(start, start + count)
                self._sum(x[item : item + items], y[item : item + items, outputs], outputs)

    def _sum(self, x: Array, y: Array, outputs: slice) -> None:
        first, *others = self.taps
        first.weigh(x, y, outputs)
        term = scratch(3, y.shape, y.dtype) if others else y
        for tap in others:
            tap.weigh(x, term, outputs)
            np.add(y, term, out=y)
        np.add(y, 0.0, out=y)  # a sum starts from 0: -0.0 becomes 0.0


def build(indices: Places, weights: Array, start: int, inner: int, dtype: np.dtype[Any]) -> TapSum:
    """Return sums of distinct taps [outputs, taps], the first of which is output ``start``, ready to run."""
    first, last = int(indices.min()), int(indices.max())
    count = max(1, int((weights != 0).any(axis=0).sum()))  # distinct taps have their zeros last
    places, weights = (indices[:, :count] - first).T, weights[:, :count].T.astype(dtype)
    depth = inner if inner < _MIN_INNER else 0
    if depth > 1:
        places = (places[:, :, None] * depth + np.arange(depth)).reshape(count, -1)
        weights = np.repeat(weights, depth, axis=1)
    taps = tuple(Tap(*entry) for entry in zip(places, map(_stride, places), weights[:, :, None], strict=True))
    return TapSum(Span(start, start + len(indices), first, last + 1), depth, taps)


def _stride(places: Places) -> int:
    steps = np.diff(places)
    return int(steps[0]) if len(steps) and steps[0] > 0 and (steps == steps[0]).all() else 0
