"""Taps made ready to run: copies by index, or banded products of small dense matrices.

A block of neighbouring outputs touches few inputs. So it is a small dense matrix times a short window of the input,
and many such blocks, whose windows lie at equal distances, are one batched matrix product.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from ir_interp.plan.taps import Taps

Array = NDArray[Any]
_SPARE = 0.35  # how much wider a window may become so that more blocks share one product


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
    [blocks or 1, size, window]; for a band whose inner axis is 1 they are [blocks or 1, window, size].
    """

    out: int
    blocks: int
    size: int
    start: int
    stride: int
    weights: Array

    def from_left(self, x: Array, y: Array) -> None:
        """Multiply each window of ``x`` [outer, inputs, inner] by the weights; inner is long."""
        outer, rows, cells = x.strides
        shape = (len(x), self.blocks, self.weights.shape[2], x.shape[2])
        source = as_strided(x[:, self.start :], shape, (outer, self.stride * rows, rows, cells))
        target = y[:, self.out : self.out + self.blocks * self.size].reshape(len(y), self.blocks, self.size, -1)
        np.matmul(self.weights, source, out=target)

    def from_right(self, x: Array, y: Array) -> None:
        """Multiply the weights by each window of ``x`` [rows, inputs], some rows at a time: they stay in the cache."""
        whole = len(x) // _ROWS * _ROWS
        for start, stop, count in ((0, whole, _ROWS), (whole, len(x), len(x) - whole)):
            if stop > start:
                row, cell = x.strides
                shape = (-(-(stop - start) // count), self.blocks, count, self.weights.shape[1])
                source = as_strided(x[start:, self.start :], shape, (count * row, self.stride * cell, row, cell))
                target = y[start:stop, self.out : self.out + self.blocks * self.size]
                blocks = target.reshape(-1, count, self.blocks, self.size).transpose(0, 2, 1, 3)
                np.matmul(source, self.weights, out=blocks)


@dataclass(frozen=True, slots=True, eq=False)
class Band:
    """Weighted sums of a span as products; ``depth`` neighbouring cells move together (channels that come last)."""

    span: Span
    depth: int
    runs: tuple[Run, ...]

    def apply(self, x: Array, y: Array) -> None:
        """Fill ``y`` [outer, outputs, inner] from ``x`` [outer, inputs, inner], of the same dtype as the weights."""
        if not self.depth:
            for run in self.runs:
                run.from_left(x, y)
            return
        flat, target = x.reshape(len(x), -1), y.reshape(len(y), -1)
        for run in self.runs:
            run.from_right(flat, target)


_ROWS = 128  # rows of a chunk
_FEW = 16  # an inner axis shorter than this is folded into the resized one
_BLOCK_LEFT, _BLOCK_RIGHT = 8, 16  # outputs of a block: what a matrix product wants on that side


def prepare(taps: Taps, start: int, stop: int, inner: int, dtype: np.dtype[Any]) -> Pick | Band:
    """Return outputs ``start`` to ``stop`` of an axis, ready to run; ``inner`` is the length of all that follows it."""
    indices, weights = taps.indices[start:stop], taps.weights
    if weights is not None:
        chosen = np.abs(weights[start:stop]).argmax(axis=1)[:, None]
        alone = np.count_nonzero(weights[start:stop], axis=1) == 1
        if alone.all() and (np.take_along_axis(weights[start:stop], chosen, axis=1) == 1).all():
            indices, weights = np.take_along_axis(indices, chosen, axis=1), None
    if weights is None:
        first, last = int(indices.min()), int(indices.max())
        chosen = np.ascontiguousarray(indices[:, 0] - first)
        return Pick(Span(start, stop, first, last + 1), chosen, _step(chosen), _repeats(chosen, last + 1 - first))
    return _band(indices, weights[start:stop], start, inner if inner < _FEW else 0, dtype)


def _step(indices: NDArray[np.intp]) -> int:
    """Return the distance between neighbours where it is always the same, else 0."""
    steps = np.diff(indices)
    return int(steps[0]) if len(steps) and steps[0] > 0 and (steps == steps[0]).all() else 0


def _repeats(indices: NDArray[np.intp], count: int) -> int:
    """Return how often every one of ``count`` inputs is repeated where that is always the same, else 0."""
    times = len(indices) // count if count else 0
    same = times > 0 and len(indices) == times * count and (indices == np.arange(len(indices)) // times).all()
    return times if same else 0


_Block = tuple[int, NDArray[np.float64]]  # first input, and weights [outputs, inputs]


def _band(
    indices: NDArray[np.intp], weights: NDArray[np.float64], start: int, depth: int, dtype: np.dtype[Any]
) -> Band:
    size = max(1, _BLOCK_RIGHT // depth) if depth else _BLOCK_LEFT
    size = _even_size(indices, size)
    blocks = [_dense(indices[at : at + size], weights[at : at + size]) for at in range(0, len(indices), size)]
    in_start = min(first for first, _ in blocks)
    in_stop = max(first + dense.shape[1] for first, dense in blocks)
    runs, at = [], 0
    while blocks:
        group, fit = _longest(blocks, in_start, in_stop)
        runs.append(_run(group, fit, in_start, at, depth, dtype))
        blocks, at = blocks[len(group) :], at + sum(len(dense) for _, dense in group)
    return Band(Span(start, start + len(indices), in_start, in_stop), depth, tuple(runs))


def _even_size(indices: NDArray[np.intp], wanted: int) -> int:
    """Return a block size near ``wanted`` after which the pattern of indices repeats, else ``wanted``."""
    firsts = indices[:, 0]
    for size in range(wanted, 2 * wanted + 1):
        steps = firsts[size:] - firsts[:-size]
        if len(steps) > size and (steps[size // 2 : -size] == steps[len(steps) // 2]).all():
            return size
    return wanted


def _dense(indices: NDArray[np.intp], weights: NDArray[np.float64]) -> _Block:
    """Return the weights of a block as a dense matrix over the inputs that it touches."""
    used = weights != 0
    touched = indices[used] if used.any() else indices[:1, 0]
    first, stop = int(touched.min()), int(touched.max()) + 1
    dense = np.zeros((len(indices), stop - first))
    rows = np.broadcast_to(np.arange(len(indices))[:, None], indices.shape)
    np.add.at(dense, (rows[used], indices[used] - first), weights[used])
    return first, dense


def _longest(blocks: list[_Block], in_start: int, in_stop: int) -> tuple[list[_Block], tuple[int, int, int]]:
    """Return as many of the first blocks as one moving window covers, and that window: start, stride and width."""
    for count in _shrinking(len(blocks)):
        fit = _fit(blocks[:count], in_start, in_stop)
        if fit:
            return blocks[:count], fit
    raise AssertionError("a single block always fits")


def _shrinking(count: int) -> Iterator[int]:
    while count > 1:
        yield count
        count = count * 3 // 4
    yield 1


def _fit(blocks: list[_Block], in_start: int, in_stop: int) -> tuple[int, int, int] | None:
    widest = max(dense.shape[1] for _, dense in blocks)
    if len(blocks) == 1:
        return blocks[0][0], 0, widest
    if len({len(dense) for _, dense in blocks}) > 1:
        return None
    firsts = np.array([first for first, _ in blocks])
    stops = firsts + [dense.shape[1] for _, dense in blocks]
    steps = np.arange(len(blocks))
    stride = round(int(firsts[-1] - firsts[0]) / (len(blocks) - 1))
    start = int((firsts - steps * stride).min())
    width = int((stops - steps * stride).max()) - start
    ends = (start, start + (len(blocks) - 1) * stride)  # a crop may run backwards
    inside = min(ends) >= in_start and max(ends) + width <= in_stop
    return (start, stride, width) if inside and width <= widest * (1 + _SPARE) else None


def _run(
    blocks: list[_Block], fit: tuple[int, int, int], in_start: int, out: int, depth: int, dtype: np.dtype[Any]
) -> Run:
    start, stride, width = fit
    size = len(blocks[0][1])
    weights = np.zeros((len(blocks), size, width))
    for index, (first, dense) in enumerate(blocks):
        shift = first - start - index * stride
        weights[index, :, shift : shift + dense.shape[1]] = dense
    if not np.ptp(weights, axis=0).any():
        weights = weights[:1]
    each = max(depth, 1)
    if depth:  # cell c of an output is made from cells c of its inputs: as many interleaved copies of the weights
        weights = np.stack([np.kron(matrix.T, np.eye(depth)) for matrix in weights])
    return Run(
        out=out * each,
        blocks=len(blocks),
        size=size * each,
        start=(start - in_start) * each,
        stride=stride * each,
        weights=np.ascontiguousarray(weights, dtype),
    )
