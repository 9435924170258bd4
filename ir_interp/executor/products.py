"""What runs of a resize: copies by index, and products of small dense matrices with windows of the input.

No sum may depend on where its block begins, or on what lies beside it: a piece of an output has the bits of the whole.
BLAS adds up the terms of an element one by one, so that zeros between them change nothing, but for three cases: where
a matrix has one row or column; where the columns leave the last vector half empty or emptier; and where sums are long.
So matrices are widened (``ROWS``, ``fills_vectors``), and long sums are cut into panels where the whole is cut
(``PANEL``). ``tests/executor/test_products.py`` asks the BLAS at hand whether that is enough.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

Array = NDArray[Any]

VECTOR = 64  # bytes: of the widest vectors that there are
ROWS = 2  # of a matrix: with one, BLAS sums in another order
LONGEST = 256  # inputs of a product: BLAS cuts longer sums, from some 400 on, at places of its own
PANEL = 128  # inputs that are summed at once where a sum is longer
_CHUNK_ROWS = 128


@dataclass(frozen=True, slots=True, eq=False)
class Span:
    """A stretch of outputs of an axis, and the stretch of inputs that they need."""

    out_start: int
    out_stop: int
    in_start: int
    in_stop: int


@dataclass(frozen=True, slots=True, eq=False)
class Pick:
    """Copies: output ``i`` of the span is input ``indices[i]`` of the span.

    ``step`` is the distance of neighbours where it is always the same, ``repeats`` how often every input comes where
    that is; else 0.
    """

    span: Span
    indices: NDArray[np.intp]
    step: int
    repeats: int

    def apply(self, x: Array, y: Array) -> None:
        """Fill ``y`` [outer, outputs, inner] from ``x`` [outer, inputs, inner]."""
        if self.step:
            source, target = _cells(x, y)
            target[...] = source[:, int(self.indices[0]) :: self.step][:, : len(self.indices)]
        elif self.repeats and x.shape[2] == 1:
            _repeat(x[:, :, 0], y[:, :, 0], self.repeats)
        else:
            np.take(x, self.indices, axis=1, out=y, mode="clip")

    @property
    def is_by_index(self) -> bool:
        """Say whether there is no rule by which inputs are copied."""
        return not (self.step or self.repeats)

    def of_cells(self, start: int, depth: int) -> Pick:
        """Return the copies of single cells, ``depth`` of them in an input; the first input is ``start``."""
        cells = (self.indices + start)[:, None] * depth + np.arange(depth)
        return replace(self, indices=cells.reshape(-1))


def _cells(*arrays: Array) -> tuple[Array, ...]:
    """Return arrays with neighbours of the last axis as one element, where memory has them so: it is copied whole."""
    first = arrays[0]
    packed = not first.dtype.hasobject and all(each.strides[2] == each.itemsize for each in arrays)
    if first.shape[2] == 1 or not packed:
        return arrays
    cell = np.dtype((np.void, first.itemsize * first.shape[2]))
    return tuple(each.view(cell) for each in arrays)


def _repeat(x: Array, y: Array, times: int) -> None:
    """Fill ``y`` with every value of ``x`` ``times`` over, as one wider integer where there is one."""
    width, wide = x.dtype.itemsize, x.dtype.itemsize * times
    if x.dtype.kind in "fiub" and wide in (2, 4, 8) and y.strides[1] == width and x.strides[1] == width:
        whole = y.view(f"u{wide}")
        whole[...] = x.view(f"u{width}")
        whole *= sum(1 << (8 * width * place) for place in range(times))
    else:
        for offset in range(times):
            y[:, offset::times] = x


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """Consecutive blocks of outputs whose windows of input start at equal distances: one batched product.

    Block ``b`` makes outputs ``out + b * size`` and on from inputs ``start + b * stride`` and on. ``weights`` are
    [blocks or 1, size, window]; for a band whose inner axis is short they are [blocks or 1, window, size]. There may be
    more of them than outputs, of zeros. A run that ``adds`` is a further panel of a sum.
    """

    out: int
    blocks: int
    size: int
    start: int
    stride: int
    weights: Array
    adds: bool = False

    def from_left(self, x: Array, y: Array) -> None:
        """Multiply each window of ``x`` [outer, inputs, inner] by the weights; inner fills vectors."""
        outer, rows, cells = x.strides
        shape = (len(x), self.blocks, self.weights.shape[2], x.shape[2])
        source = _windows(x, self.start, shape, (outer, self.stride * rows, rows, cells))
        target = y[:, self.out : self.out + self.blocks * self.size].reshape(len(y), self.blocks, self.size, -1)
        if self.weights.shape[1] == self.size and not self.adds:
            np.matmul(self.weights, source, out=target)
            return
        made = np.matmul(self.weights, source)[:, :, : self.size]
        np.add(target, made, out=target) if self.adds else np.copyto(target, made)

    def from_right(self, x: Array, y: Array) -> None:
        """Multiply the weights by each window of ``x`` [rows, inputs], some rows at a time: they stay in the cache."""
        whole = len(x) // _CHUNK_ROWS * _CHUNK_ROWS
        for start, stop, count in ((0, whole, _CHUNK_ROWS), (whole, len(x), len(x) - whole)):
            if stop > start:
                rows = slice(start, stop) if count > 1 else slice(start - 1, stop)  # the row before once more
                self._from_right(x[rows], y[rows], max(count, ROWS))

    def _from_right(self, x: Array, y: Array, count: int) -> None:
        row, cell = x.strides
        shape = (len(x) // count, self.blocks, count, self.weights.shape[1])
        source = _windows(x, self.start, shape, (count * row, self.stride * cell, row, cell))
        target = y[:, self.out : self.out + self.blocks * self.size]
        blocks = target.reshape(-1, count, self.blocks, self.size).transpose(0, 2, 1, 3)
        if self.weights.shape[2] == self.size:
            np.matmul(source, self.weights, out=blocks)
        else:
            blocks[...] = np.matmul(source, self.weights)[..., : self.size]


def _windows(x: Array, start: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> Array:
    """Return a view of ``x`` from cell ``start`` of its second axis on; ``as_strided`` takes eight times as long."""
    if x.flags.c_contiguous:
        return np.ndarray(shape, x.dtype, x, start * x.strides[1], strides)
    return as_strided(x[:, start:], shape, strides)


def _columns(count: int, itemsize: int) -> list[slice]:
    """Return columns in parts that fill vectors; where the last ones would not, a vector of them is made again."""
    if fills_vectors(count, itemsize):
        return [slice(0, count)]
    lanes = VECTOR // itemsize
    return [slice(0, count // lanes * lanes), slice(count - lanes, count)]


def fills_vectors(count: int, itemsize: int) -> bool:
    """Say whether so many columns leave less than half of the last vector empty."""
    lanes = VECTOR // itemsize
    return count % lanes == 0 or count % lanes > lanes // 2


@dataclass(frozen=True, slots=True, eq=False)
class Band:
    """Weighted sums of a span as products; ``depth`` neighbouring cells move together (channels that come last)."""

    span: Span
    depth: int
    runs: tuple[Run, ...]

    def apply(self, x: Array, y: Array) -> None:
        """Fill ``y`` [outer, outputs, inner] from ``x`` [outer, inputs, inner], of the same dtype as the weights."""
        if not self.depth:
            self._apply_left(x, y)
        elif len(x) < ROWS:
            made = np.empty((ROWS, *y.shape[1:]), y.dtype)
            self.apply(np.repeat(x, ROWS, axis=0), made)
            y[...] = made[:1]
        else:
            flat, target = x.reshape(len(x), -1), y.reshape(len(y), -1)
            for run in self.runs:
                run.from_right(flat, target)

    def _apply_left(self, x: Array, y: Array) -> None:
        lanes = VECTOR // x.itemsize
        if x.shape[2] < lanes:  # a piece of what fills a vector in the whole
            wide, made = np.zeros((*x.shape[:2], lanes), x.dtype), np.empty((*y.shape[:2], lanes), y.dtype)
            wide[:, :, : x.shape[2]] = x
            self._apply_left(wide, made)
            y[...] = made[:, :, : x.shape[2]]
            return
        for columns in _columns(x.shape[2], x.itemsize):
            for run in self.runs:
                run.from_left(x[:, :, columns], y[:, :, columns])
