"""Copies by index, and products of small dense matrices with windows of the input.

A product is used for sums that no order of additions changes (integers that its type represents), and for proposals,
whose rounding is settled exactly afterwards. BLAS chooses its order by processor, so no other sum is computed here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from ir_interp.array_types import Array
from ir_interp.executor.arrays.threads import Forked

_CHUNK_ROWS = 128


@dataclass(frozen=True, slots=True, eq=False)
class Span:
    """A segment of outputs of an axis, and the segment of inputs that they need."""

    out_start: int
    out_stop: int
    in_start: int
    in_stop: int


@dataclass(frozen=True, slots=True, eq=False)
class Pick:
    """Copies: output ``i`` of the span is input ``indices[i]`` of the span.

    ``step`` is the distance of neighbours if it is constant, ``repeats`` how often every input is repeated if that is
    constant; otherwise 0.
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
        """Return whether inputs are copied by index, without any rule."""
        return not (self.step or self.repeats)

    def of_cells(self, start: int, depth: int) -> Pick:
        """Return the copies of single cells, ``depth`` of them in an input; the first input is ``start``."""
        cells = (self.indices + start)[:, None] * depth + np.arange(depth)
        return replace(self, indices=cells.reshape(-1))


def _cells(*arrays: Array) -> tuple[Array, ...]:
    """Return arrays with contiguous cells of the last axis merged into one element, which is copied as a whole."""
    first = arrays[0]
    packed = not first.dtype.hasobject and all(array.strides[2] == array.itemsize for array in arrays)
    if first.shape[2] == 1 or not packed:
        return arrays
    cell = np.dtype((np.void, first.itemsize * first.shape[2]))
    return tuple(array.view(cell) for array in arrays)


def _repeat(x: Array, y: Array, times: int) -> None:
    """Fill ``y`` with every value of ``x`` repeated ``times``, as one wider integer if there is one."""
    width, wide = x.dtype.itemsize, x.dtype.itemsize * times
    if x.dtype.kind in "fiub" and wide in (2, 4, 8) and y.strides[1] == width and x.strides[1] == width:
        whole = y.view(f"u{wide}")
        whole[...] = x.view(f"u{width}")
        # A factor of 0x0101...: the value in every part of the wide integer; parts do not overlap, so nothing carries.
        whole *= sum(1 << (8 * width * place) for place in range(times))
    else:
        for offset in range(times):
            y[:, offset::times] = x


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """Consecutive blocks of outputs whose windows of input start at equal distances: one batched product.

    Block ``b`` computes outputs from ``out + b * size`` on, from inputs from ``start + b * stride`` on. ``weights`` are
    [blocks or 1, size, window]; for a band whose inner axis is short they are [blocks or 1, window, size].
    """

    out: int
    blocks: int
    size: int
    start: int
    stride: int
    weights: Array

    def from_left(self, x: Array, y: Array) -> None:
        """Multiply the weights by each window of ``x`` [outer, inputs, inner]."""
        outer, rows, cells = x.strides
        shape = (len(x), self.blocks, self.weights.shape[2], x.shape[2])
        source = _windows(x, self.start, shape, (outer, self.stride * rows, rows, cells))
        target = y[:, self.out : self.out + self.blocks * self.size]
        _multiply(self.weights, source, target.reshape(len(y), self.blocks, self.size, -1))

    def from_right(self, x: Array, y: Array) -> None:
        """Multiply each window of ``x`` [rows, inputs] by the weights, some rows at a time, which stay in the cache."""
        whole = len(x) // _CHUNK_ROWS * _CHUNK_ROWS
        for start, stop, count in ((0, whole, _CHUNK_ROWS), (whole, len(x), len(x) - whole)):
            if stop > start:
                self._from_right(x[start:stop], y[start:stop], count)

    def _from_right(self, x: Array, y: Array, count: int) -> None:
        row, cell = x.strides
        shape = (len(x) // count, self.blocks, count, self.weights.shape[1])
        source = _windows(x, self.start, shape, (count * row, self.stride * cell, row, cell))
        target = y[:, self.out : self.out + self.blocks * self.size]
        blocks = target.reshape(-1, count, self.blocks, self.size).transpose(0, 2, 1, 3)
        _multiply(source, self.weights, blocks)


def _multiply(a: Array, b: Array, out: Array) -> None:
    # BLAS takes a lock that another thread may have held during the fork; einsum calls no BLAS.
    if Forked.lost_locks:
        np.einsum("...ij,...jk->...ik", a, b, out=out)
    else:
        np.matmul(a, b, out=out)


def _windows(x: Array, start: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> Array:
    """Return a view of ``x`` from cell ``start`` of its second axis on; ``as_strided`` takes eight times as long."""
    if x.flags.c_contiguous:
        return np.ndarray(shape, x.dtype, x, start * x.strides[1], strides)
    return as_strided(x[:, start:], shape, strides)


@dataclass(frozen=True, slots=True, eq=False)
class Band:
    """Weighted sums of a span as products; ``depth`` neighbouring cells move together (channels that come last)."""

    span: Span
    depth: int
    runs: tuple[Run, ...]

    def apply(self, x: Array, y: Array) -> None:
        """Fill ``y`` [outer, outputs, inner] from ``x`` [outer, inputs, inner], of the same dtype as the weights."""
        if self.depth:
            flat, target = x.reshape(len(x), -1), y.reshape(len(y), -1)
            for run in self.runs:
                run.from_right(flat, target)
        else:
            for run in self.runs:
                run.from_left(x, y)
