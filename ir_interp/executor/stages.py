"""Taps prepared for execution: copies by index, sums tap by tap, or products of small dense matrices with windows.

A tap is a gather of inputs, a multiplication and an addition, each over many outputs at once. NumPy rounds every
element of these separately, so no result depends on a processor, on a library of products, or on the place in a tile.
``band`` creates products. A block of neighbouring outputs reads few inputs, so it is a small dense matrix times a short
window of the input. Many such blocks, whose windows are at equal distances, are one batched matrix product. It is used
for sums that no order of additions changes, and for proposals, whose rounding is settled exactly afterwards: BLAS
chooses its order by processor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from ir_interp.executor.definition import distinct
from ir_interp.executor.threads import Forked, scratch
from ir_interp.plan.taps import Taps, ascending
from ir_interp.shapes import Array

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


Places = NDArray[np.intp]
_PART = 2**16  # elements: a part of the outputs and one term of it stay in the second cache
_FEWEST_CELLS = 16  # cells; with fewer, NumPy's loop over the last axis costs more than its arithmetic


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


def tap_sum(indices: Places, weights: Array, start: int, inner: int, dtype: np.dtype[Any]) -> TapSum:
    """Return sums of distinct taps [outputs, taps], the first of which is output ``start``, ready to run."""
    first, last = int(indices.min()), int(indices.max())
    count = max(1, int((weights != 0).any(axis=0).sum()))  # distinct taps have their zeros last
    places, weights = (indices[:, :count] - first).T, weights[:, :count].T.astype(dtype)
    depth = inner if inner < _FEWEST_CELLS else 0
    if depth > 1:
        places = (places[:, :, None] * depth + np.arange(depth)).reshape(count, -1)
        weights = np.repeat(weights, depth, axis=1)
    taps = tuple(Tap(*entry) for entry in zip(places, map(_stride, places), weights[:, :, None], strict=True))
    return TapSum(Span(start, start + len(indices), first, last + 1), depth, taps)


def _stride(places: Places) -> int:
    """Return the distance between neighbours if it is constant, otherwise 0."""
    steps = np.diff(places)
    return int(steps[0]) if len(steps) and steps[0] > 0 and (steps == steps[0]).all() else 0


Indices = NDArray[np.intp]
Weights = NDArray[np.float64]


class Window(NamedTuple):
    """A window of input that moves over blocks: block ``b`` reads ``width`` inputs from ``start + b * stride``."""

    blocks: int
    start: int
    stride: int
    width: int


def reach(indices: Indices, used: NDArray[np.bool_]) -> tuple[Indices, Indices]:
    """Return the first and the last input with a weight for each output; one past the last and -1 if there is none."""
    lowest = np.where(used, indices, np.iinfo(np.intp).max).min(axis=1)
    return lowest, np.where(used, indices, -1).max(axis=1)


def touched(indices: Indices, weights: Weights, size: int) -> tuple[Indices, Indices]:
    """Return the first input with a weight for each block of ``size`` outputs, and one past the last."""
    blocks = np.arange(0, len(indices), size)
    used = weights != 0
    idle = ~np.logical_or.reduceat(used.any(axis=1), blocks)
    used[blocks[idle], 0] = True  # a window holds at least one input
    lowest, highest = reach(indices, used)
    return np.minimum.reduceat(lowest, blocks), np.maximum.reduceat(highest, blocks) + 1


def longest(
    firsts: Indices, stops: Indices, whole: int, edges: tuple[int, int], widest: int, widening: float
) -> Window:
    """Return a window that covers about as many of the first blocks as possible; the first ``whole`` have one size.

    No block is wider than ``widest``; a window may exceed it by a ``widening``, and lies between the ``edges``. The
    first few blocks are enough to refuse most counts.
    """
    seen: dict[int, tuple[Indices, Indices]] = {}
    for count in _shrinking(len(firsts)):
        stride = round(int(firsts[count - 1] - firsts[0]) / max(count - 1, 1))
        if stride not in seen:
            seen[stride] = _relative(firsts, stops, stride, widest * widening)
        starts, ends = seen[stride]
        if count == 1 or count <= min(whole, len(starts)):
            start, width = int(starts[count - 1]), int(ends[count - 1] - starts[count - 1])
            last = start + (count - 1) * stride  # before the start where a crop runs backwards
            inside = min(start, last) >= edges[0] and max(start, last) + width <= edges[1]
            if inside and width <= (stops[:count] - firsts[:count]).max() * widening:
                return Window(count, start, stride, width)
    raise AssertionError("a single block always fits")


def _shrinking(count: int) -> Iterator[int]:
    while count > 1:
        yield count
        count = count * 3 // 4
    yield 1


def _relative(firsts: Indices, stops: Indices, stride: int, limit: float) -> tuple[Indices, Indices]:
    """Return the start and the end of a window that moves by ``stride``, for 1, 2, 3 ... covered blocks.

    They grow with every block, and stop a little after they are ``limit`` apart.
    """
    count = 32
    while True:
        moved = stride * np.arange(min(count, len(firsts)))
        starts = np.minimum.accumulate(firsts[:count] - moved)
        ends = np.maximum.accumulate(stops[:count] - moved)
        if count >= len(firsts) or ends[-1] - starts[-1] > limit:
            return starts, ends
        count *= 4


Number = TypeVar("Number", int, float)
Build = Callable[[Indices, Weights, int, int, np.dtype[Any]], Band | TapSum]
"""Takes indices and weights [outputs, taps], the first output, the cells of each input, and the dtype of the sums."""

_WIDENING = {2048: 1.1, 0: 1.35}  # factor by which a window may widen so that more blocks share one product, by the
# least number of cells; with few cells a product costs what its call does
_SPARSE = {False: 0.75, True: 0.6}  # of a segment of inputs; if fewer have a weight, these are copied first; True:
# if neighbours along the axis are nearly contiguous, and a copy takes as long as a product
_MIN_INNER = 16  # a shorter inner axis is folded into the resized one
_LONGEST = 256  # inputs of a block; in a longer one most products are by 0
_BLOCK_RIGHT = 16  # outputs of a block: the preferred size of that side of a matrix product
_BLOCK_OF_LONG = 8  # the same, if even few outputs cover many inputs
_BLOCKS_LEFT = {192: 4, 64: 8, 0: 16}  # the same, with at least so many cells; with fewer, a call costs as much


def copied_first(taps: Taps, start: int, stop: int, inner: int) -> Indices | None:
    """Return the inputs that have a weight, if they are few; they are then copied before anything is summed.

    ``inner`` is the size of all axes that follow in the input.
    """
    taps = distinct(taps)
    if taps.weights is None:
        return None
    used = ascending(taps.indices[start:stop][taps.weights[start:stop] != 0])
    few = _SPARSE[inner < _MIN_INNER]
    return used if 0 < len(used) <= few * (used[-1:] - used[:1] + 1) else None


def stages(
    taps: Taps, start: int, stop: int, used: Indices | None, inner: int, dtype: np.dtype[Any], build: Build
) -> tuple[Pick | Band | TapSum, ...]:
    """Return the stage that ``prepare`` creates, after a copy of the ``used`` inputs if they are ``copied_first``."""
    if used is None:
        return (prepare(taps, start, stop, inner, dtype, build),)
    taps = distinct(taps)
    assert taps.weights is not None
    indices, weights = taps.indices[start:stop], taps.weights[start:stop]
    first, last = int(used[0]), int(used[-1])
    pick = Pick(Span(0, len(used), first, last + 1), used - first, _stride(used), 0)
    # Taps of weight 0 may be inputs that are not copied; any place serves them.
    places = np.minimum(np.searchsorted(used, indices), len(used) - 1)
    return pick, build(places, weights, start, inner, dtype)


def prepare(taps: Taps, start: int, stop: int, inner: int, dtype: np.dtype[Any], build: Build) -> Pick | Band | TapSum:
    """Return outputs ``start`` to ``stop`` of an axis, ready to run; ``inner`` is the size of all later axes."""
    taps = distinct(taps)
    indices = taps.indices[start:stop]
    if taps.weights is not None:
        return build(indices, taps.weights[start:stop], start, inner, dtype)
    first, last = int(indices.min()), int(indices.max())
    chosen = np.ascontiguousarray(indices[:, 0] - first)
    return Pick(Span(start, stop, first, last + 1), chosen, _stride(chosen), _repeats(chosen, last + 1 - first))


def _repeats(indices: NDArray[np.intp], count: int) -> int:
    """Return how often every one of ``count`` inputs is repeated if that is constant, otherwise 0."""
    times = len(indices) // count if count else 0
    same = times > 0 and len(indices) == times * count and (indices == np.arange(len(indices)) // times).all()
    return times if same else 0


def band(indices: Indices, weights: Weights, start: int, inner: int, dtype: np.dtype[Any]) -> Band:
    """Return sums as products: exact if ``dtype`` represents every partial sum, otherwise a proposal."""
    depth = inner if inner < _MIN_INNER else 0
    target = max(1, _BLOCK_RIGHT // depth) if depth else _block_left(len(indices), inner)
    size = _size(indices, weights, target, depth)
    if not size:  # even one output covers many inputs
        depth, size = 0, max(1, _size(indices, weights, _BLOCK_OF_LONG, 0))
    widening = _fitting(_WIDENING, len(indices) * depth if depth else inner)
    firsts, stops = touched(indices, weights, size)
    span = Span(start, start + len(indices), int(firsts.min()), int(stops.max()))
    runs, at, widest = [], 0, int((stops - firsts).max())
    while at < len(firsts):
        begin = at * size
        if begin + size > len(indices) > size:  # the last block is full, too: some outputs are computed again
            begin = len(indices) - size
            firsts[at:], stops[at:] = touched(indices[begin:], weights[begin:], size)
        window = longest(
            firsts[at:], stops[at:], len(indices) // size - at, (span.in_start, span.in_stop), widest, widening
        )
        outputs = slice(begin, begin + window.blocks * size)
        matrices = _matrices(indices[outputs], weights[outputs], window)
        runs.append(_run(matrices, window, begin, span.in_start, depth, dtype))
        at += window.blocks
    return Band(span, depth, tuple(runs))


def _block_left(count: int, inner: int) -> int:
    """Return the preferred number of outputs of a block, out of ``count``, with all blocks alike."""
    target = _fitting(_BLOCKS_LEFT, inner)
    return -(-count // max(1, round(count / target)))


def _fitting(sizes: Mapping[int, Number], cells: int) -> Number:
    return next(size for least, size in sizes.items() if cells >= least)


def _size(indices: Indices, weights: Weights, target: int, depth: int) -> int:
    """Return the number of outputs of a block such that no product is too long; 0 if there is none."""
    size = _even_size(indices, target)
    while size:
        firsts, stops = touched(indices, weights, size)
        if (stops - firsts).max() * _WIDENING[0] * max(depth, 1) <= _LONGEST:
            return size
        size //= 2
    return 0


def _even_size(indices: Indices, target: int) -> int:
    """Return a block size near ``target`` after which the pattern of indices repeats, otherwise ``target``."""
    firsts = indices[:, 0]
    for size in range(target, target * 3 // 2 + 1):
        steps = firsts[size:] - firsts[:-size]
        if len(steps) > size and (steps[size // 2 : -size] == steps[len(steps) // 2]).all():
            return size
    return target


def _matrices(indices: Indices, weights: Weights, window: Window) -> Weights:
    """Return the weights of blocks as dense matrices [blocks, size, width] over the inputs of the window."""
    dense = np.zeros((len(indices), window.width))
    outputs, taps = np.nonzero(weights)
    block = outputs // (len(indices) // window.blocks)
    places = indices[outputs, taps] - window.start - block * window.stride
    np.add.at(dense, (outputs, places), weights[outputs, taps])
    return dense.reshape(window.blocks, -1, window.width)


def _run(matrices: Weights, window: Window, out: int, in_start: int, depth: int, dtype: np.dtype[Any]) -> Run:
    size = matrices.shape[1]
    if not np.ptp(matrices, axis=0).any():
        matrices = matrices[:1]
    cells = max(depth, 1)
    if depth:  # cell c of an output depends on cells c of its inputs, so the weights are interleaved once per cell
        copies = matrices.transpose(0, 2, 1)[:, :, None, :, None] * np.eye(depth)[:, None, :]
        matrices = copies.reshape(-1, window.width * depth, size * depth)
    return Run(
        out=out * cells,
        blocks=window.blocks,
        size=size * cells,
        start=(window.start - in_start) * cells,
        stride=window.stride * cells,
        weights=np.ascontiguousarray(matrices, dtype),
    )
