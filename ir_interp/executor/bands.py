"""Taps made ready to run: copies by index, or banded products of small dense matrices.

A block of neighbouring outputs touches few inputs. So it is a small dense matrix times a short window of the input,
and many such blocks, whose windows lie at equal distances, are one batched matrix product.

No sum may depend on where its block begins, or on what lies beside it: a piece of an output has the bits of the whole.
BLAS adds up the terms of an element one by one, so that zeros between them change nothing, but for three cases: where
a matrix has one row or column; where the columns leave the last vector half empty or emptier; and where sums are long.
So matrices are widened (``_ROWS``, ``fills_vectors``), and long sums are cut into panels where the whole is cut
(``_PANEL``). ``tests/executor/test_products.py`` asks the BLAS at hand whether that is enough.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from ir_interp.plan.taps import Taps

Array = NDArray[Any]
Indices = NDArray[np.intp]
Weights = NDArray[np.float64]
_MAX_WIDENING = 1.35  # how much wider a window may become so that more blocks share one product


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
        source = as_strided(x[:, self.start :], shape, (outer, self.stride * rows, rows, cells))
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
                self._from_right(x[rows], y[rows], max(count, _ROWS))

    def _from_right(self, x: Array, y: Array, count: int) -> None:
        row, cell = x.strides
        shape = (len(x) // count, self.blocks, count, self.weights.shape[1])
        source = as_strided(x[:, self.start :], shape, (count * row, self.stride * cell, row, cell))
        target = y[:, self.out : self.out + self.blocks * self.size]
        blocks = target.reshape(-1, count, self.blocks, self.size).transpose(0, 2, 1, 3)
        if self.weights.shape[2] == self.size:
            np.matmul(source, self.weights, out=blocks)
        else:
            blocks[...] = np.matmul(source, self.weights)[..., : self.size]


def _columns(count: int, itemsize: int) -> list[slice]:
    """Return columns in parts that fill vectors; where the last ones would not, a vector of them is made again."""
    if fills_vectors(count, itemsize):
        return [slice(0, count)]
    lanes = _VECTOR // itemsize
    return [slice(0, count // lanes * lanes), slice(count - lanes, count)]


def fills_vectors(count: int, itemsize: int) -> bool:
    """Say whether so many columns leave less than half of the last vector empty."""
    lanes = _VECTOR // itemsize
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
        elif len(x) < _ROWS:
            made = np.empty((_ROWS, *y.shape[1:]), y.dtype)
            self.apply(np.repeat(x, _ROWS, axis=0), made)
            y[...] = made[:1]
        else:
            flat, target = x.reshape(len(x), -1), y.reshape(len(y), -1)
            for run in self.runs:
                run.from_right(flat, target)

    def _apply_left(self, x: Array, y: Array) -> None:
        lanes = _VECTOR // x.itemsize
        if x.shape[2] < lanes:  # a piece of what fills a vector in the whole
            wide, made = np.zeros((*x.shape[:2], lanes), x.dtype), np.empty((*y.shape[:2], lanes), y.dtype)
            wide[:, :, : x.shape[2]] = x
            self._apply_left(wide, made)
            y[...] = made[:, :, : x.shape[2]]
            return
        for columns in _columns(x.shape[2], x.itemsize):
            for run in self.runs:
                run.from_left(x[:, :, columns], y[:, :, columns])


_VECTOR = 64  # bytes: of the widest vectors that there are
_ROWS = 2  # of a matrix: with one, BLAS sums in another order
_LONGEST = 256  # inputs of a product: BLAS cuts longer sums, from some 400 on, at places of its own
_PANEL = 128  # inputs that are summed at once where a sum is longer
_CHUNK_ROWS = 128
_SPARSE = {False: 0.75, True: 0.6}  # of a stretch of inputs: where fewer have a weight, these are copied first; True:
# where neighbours along the axis are neighbours in memory, nearly, and a copy is as long as a product
_MIN_INNER = 16  # a shorter inner axis is folded into the resized one
_BLOCK_LEFT, _BLOCK_RIGHT = 8, 16  # outputs of a block: what a matrix product wants on that side


def stages(taps: Taps, start: int, stop: int, inner: int, dtype: np.dtype[Any]) -> tuple[Pick | Band, ...]:
    """Return what ``prepare`` does, after a copy of the inputs that have a weight, where these are few."""
    whole = prepare(taps, start, stop, inner, dtype)
    if isinstance(whole, Pick) or _along(taps).longest > _PANEL:
        return (whole,)
    assert taps.weights is not None
    indices, weights = taps.indices[start:stop], taps.weights[start:stop]
    used = np.unique(indices[weights != 0])
    if not 0 < len(used) <= _SPARSE[inner < _MIN_INNER] * (whole.span.in_stop - whole.span.in_start):
        return (whole,)
    first, last = int(used[0]), int(used[-1])
    pick = Pick(Span(0, len(used), first, last + 1), used - first, _step(used), 0)
    places = np.searchsorted(used, np.where(weights != 0, indices, first))
    return pick, _band(places, weights, start, inner if inner < _MIN_INNER else 0, dtype)


def prepare(taps: Taps, start: int, stop: int, inner: int, dtype: np.dtype[Any]) -> Pick | Band:
    """Return outputs ``start`` to ``stop`` of an axis, ready to run; ``inner`` is the length of all that follows it."""
    axis = _along(taps)
    if axis.copied is not None:
        indices = axis.copied[start:stop]
        first, last = int(indices.min()), int(indices.max())
        chosen = np.ascontiguousarray(indices - first)
        return Pick(Span(start, stop, first, last + 1), chosen, _step(chosen), _repeats(chosen, last + 1 - first))
    assert taps.weights is not None
    indices, weights = taps.indices[start:stop], taps.weights[start:stop]
    if axis.longest > _PANEL:
        return _panels(indices, weights, start, dtype)
    return _band(indices, weights, start, inner if inner < _MIN_INNER else 0, dtype)


class _Along(NamedTuple):
    """What holds of a whole axis, and decides how every piece of it is made.

    ``copied`` are the inputs where all outputs are copies, ``longest`` how many inputs the longest sum reaches over.
    """

    copied: NDArray[np.intp] | None
    longest: int


@lru_cache(maxsize=8)
def _along(taps: Taps) -> _Along:
    if taps.weights is None:
        return _Along(taps.indices[:, 0], 1)
    used = taps.weights != 0
    chosen = np.abs(taps.weights).argmax(axis=1)[:, None]
    if (used.sum(axis=1) == 1).all() and (np.take_along_axis(taps.weights, chosen, axis=1) == 1).all():
        return _Along(np.take_along_axis(taps.indices, chosen, axis=1)[:, 0], 1)
    lowest, highest = _reach(taps.indices, used)
    return _Along(None, int((highest - lowest).max(initial=0)) + 1)


def _reach(indices: Indices, used: NDArray[np.bool_]) -> tuple[Indices, Indices]:
    """Return the first and the last input that each output weighs; where there is none, one after the last and -1."""
    lowest = np.where(used, indices, np.iinfo(np.intp).max).min(axis=1)
    return lowest, np.where(used, indices, -1).max(axis=1)


def _step(indices: NDArray[np.intp]) -> int:
    """Return the distance between neighbours where it is always the same, else 0."""
    steps = np.diff(indices)
    return int(steps[0]) if len(steps) and steps[0] > 0 and (steps == steps[0]).all() else 0


def _repeats(indices: NDArray[np.intp], count: int) -> int:
    """Return how often every one of ``count`` inputs is repeated where that is always the same, else 0."""
    times = len(indices) // count if count else 0
    same = times > 0 and len(indices) == times * count and (indices == np.arange(len(indices)) // times).all()
    return times if same else 0


class _Window(NamedTuple):
    """A window of input that moves over blocks: block ``b`` sees ``width`` inputs from ``start + b * stride``."""

    blocks: int
    start: int
    stride: int
    width: int


def _band(indices: Indices, weights: Weights, start: int, depth: int, dtype: np.dtype[Any]) -> Band:
    size = _size(indices, weights, depth, dtype)
    if depth and not size:  # the neighbours beside the inputs of even one output are too many
        depth, size = 0, _size(indices, weights, 0, dtype)
    firsts, stops = _touched(indices, weights, size)
    span = Span(start, start + len(indices), int(firsts.min()), int(stops.max()))
    runs, at, widest = [], 0, int((stops - firsts).max())
    while at < len(firsts):
        window = _longest(firsts[at:], stops[at:], len(indices) // size - at, span, widest)
        outputs = slice(at * size, (at + window.blocks) * size)
        matrices = _matrices(indices[outputs], weights[outputs], window)
        runs.append(_run(matrices, window, at * size, span.in_start, depth, dtype))
        at += window.blocks
    return Band(span, depth, tuple(runs))


def _panels(indices: Indices, weights: Weights, start: int, dtype: np.dtype[Any]) -> Band:
    """Return sums that are cut where the inputs of the whole are cut into panels."""
    firsts, stops = _touched(indices, weights, _BLOCK_LEFT)
    span = Span(start, start + len(indices), int(firsts.min()), int(stops.max()))
    runs = []
    for block, (first, stop) in enumerate(zip(firsts.tolist(), stops.tolist(), strict=True)):
        at = block * _BLOCK_LEFT
        outputs = slice(at, at + _BLOCK_LEFT)
        for edge in range(first // _PANEL * _PANEL, stop, _PANEL):
            begin, end = max(first, edge), min(stop, edge + _PANEL)
            inside = (indices[outputs] >= begin) & (indices[outputs] < end)
            window = _Window(1, begin, 0, end - begin)
            matrices = _matrices(indices[outputs], np.where(inside, weights[outputs], 0.0), window)
            made = _run(matrices, window, at, span.in_start, 0, dtype)
            runs.append(replace(made, adds=begin > first))
    return Band(span, 0, tuple(runs))


def _size(indices: Indices, weights: Weights, depth: int, dtype: np.dtype[Any]) -> int:
    """Return how many outputs a block has, such that no product is too long; 0 where none is."""
    wanted = max(1, _BLOCK_RIGHT // depth) if depth else _BLOCK_LEFT
    size = _even_size(indices, wanted, depth, dtype)
    while size:
        firsts, stops = _touched(indices, weights, size)
        if (stops - firsts).max() * _MAX_WIDENING * max(depth, 1) <= _LONGEST:
            return size
        size //= 2
    return 0


def _even_size(indices: Indices, wanted: int, depth: int, dtype: np.dtype[Any]) -> int:
    """Return a block size near ``wanted`` after which the pattern of indices repeats, else ``wanted``."""
    firsts = indices[:, 0]
    for size in range(wanted, 2 * wanted + 1):
        steps = firsts[size:] - firsts[:-size]
        fits = not depth or fills_vectors(size * depth, dtype.itemsize)
        if fits and len(steps) > size and (steps[size // 2 : -size] == steps[len(steps) // 2]).all():
            return size
    return wanted


def _touched(indices: Indices, weights: Weights, size: int) -> tuple[Indices, Indices]:
    """Return the first input that each block of ``size`` outputs weighs, and the one after the last."""
    blocks = np.arange(0, len(indices), size)
    used = weights != 0
    idle = ~np.logical_or.reduceat(used.any(axis=1), blocks)
    used[blocks[idle], 0] = True  # a window holds one input at least
    lowest, highest = _reach(indices, used)
    return np.minimum.reduceat(lowest, blocks), np.maximum.reduceat(highest, blocks) + 1


def _longest(firsts: Indices, stops: Indices, whole: int, span: Span, widest: int) -> _Window:
    """Return a window that covers about as many of the first blocks as one can: the first ``whole`` are of one size.

    None of the blocks is wider than ``widest``. Most counts are refused at a glance at the first few blocks.
    """
    seen: dict[int, tuple[Indices, Indices]] = {}
    for count in _shrinking(len(firsts)):
        stride = round(int(firsts[count - 1] - firsts[0]) / max(count - 1, 1))
        if stride not in seen:
            seen[stride] = _relative(firsts, stops, stride, widest * _MAX_WIDENING)
        starts, ends = seen[stride]
        if count == 1 or count <= min(whole, len(starts)):
            start, width = int(starts[count - 1]), int(ends[count - 1] - starts[count - 1])
            last = start + (count - 1) * stride  # before the start where a crop runs backwards
            inside = min(start, last) >= span.in_start and max(start, last) + width <= span.in_stop
            if inside and width <= (stops[:count] - firsts[:count]).max() * _MAX_WIDENING:
                return _Window(count, start, stride, width)
    raise AssertionError("a single block always fits")


def _shrinking(count: int) -> Iterator[int]:
    while count > 1:
        yield count
        count = count * 3 // 4
    yield 1


def _relative(firsts: Indices, stops: Indices, stride: int, limit: float) -> tuple[Indices, Indices]:
    """Return where a window that moves by ``stride`` starts and ends where it covers 1, 2, 3 ... blocks.

    They grow with every block; a little after they are ``limit`` apart there are no more of them.
    """
    count = 32
    while True:
        moved = stride * np.arange(min(count, len(firsts)))
        starts = np.minimum.accumulate(firsts[:count] - moved)
        ends = np.maximum.accumulate(stops[:count] - moved)
        if count >= len(firsts) or ends[-1] - starts[-1] > limit:
            return starts, ends
        count *= 4


def _matrices(indices: Indices, weights: Weights, window: _Window) -> Weights:
    """Return the weights of blocks as dense matrices [blocks, size, width] over the inputs that the window shows."""
    dense = np.zeros((len(indices), window.width))
    outputs, taps = np.nonzero(weights)
    block = outputs // (len(indices) // window.blocks)
    places = indices[outputs, taps] - window.start - block * window.stride
    np.add.at(dense, (outputs, places), weights[outputs, taps])
    return dense.reshape(window.blocks, -1, window.width)


def _run(matrices: Weights, window: _Window, out: int, in_start: int, depth: int, dtype: np.dtype[Any]) -> Run:
    size = matrices.shape[1]
    if not np.ptp(matrices, axis=0).any():
        matrices = matrices[:1]
    each = max(depth, 1)
    if depth:  # cell c of an output is made from cells c of its inputs: as many interleaved copies of the weights
        copies = matrices.transpose(0, 2, 1)[:, :, None, :, None] * np.eye(depth)[:, None, :]
        matrices = copies.reshape(-1, window.width * depth, size * depth)
    along = 2 if depth else 1  # the axis of the outputs
    return Run(
        out=out * each,
        blocks=window.blocks,
        size=size * each,
        start=(window.start - in_start) * each,
        stride=window.stride * each,
        weights=_widened(np.ascontiguousarray(matrices, dtype), along),
    )


def _widened(weights: Array, along: int) -> Array:
    """Return weights with zeros for as many more outputs as a product needs."""
    count = weights.shape[along]
    needed = _ROWS
    if along == 2 and not fills_vectors(count, weights.itemsize):
        lanes = _VECTOR // weights.itemsize
        needed = -(-count // lanes) * lanes
    if count >= needed:
        return weights
    shape = list(weights.shape)
    shape[along] = needed - count
    return np.concatenate([weights, np.zeros(shape, weights.dtype)], axis=along)
