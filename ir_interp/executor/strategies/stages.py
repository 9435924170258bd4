"""Taps made ready to run: copies by index, or sums that a caller chooses how to make.

``band`` makes products. A block of neighbouring outputs touches few inputs. So it is a small dense matrix times a short
window of the input, and many such blocks, whose windows lie at equal distances, are one batched matrix product.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ir_interp.executor.arrays.moving_windows import Indices, Weights, Window, longest, touched
from ir_interp.executor.strategies.matrix_products import Band, Pick, Run, Span
from ir_interp.executor.strategies.tap_sums import TapSum
from ir_interp.plan.axes.distinct import distinct
from ir_interp.plan.axes.taps import Taps

Array = NDArray[Any]
Number = TypeVar("Number", int, float)
Build = Callable[[Indices, Weights, int, int, np.dtype[Any]], Band | TapSum]
"""Takes indices and weights [outputs, taps], the first output, the cells of each input, and the dtype of the sums."""

_WIDENING = {2048: 1.1, 0: 1.35}  # how much wider a window may become so that more blocks share one product, beside
# more cells than so many: of few, a product costs what its call does
_SPARSE = {False: 0.75, True: 0.6}  # of a segment of inputs: where fewer have a weight, these are copied first; True:
# where neighbours along the axis are neighbours in memory, nearly, and a copy is as long as a product
_MIN_INNER = 16  # a shorter inner axis is folded into the resized one
_LONGEST = 256  # inputs of a block: of a longer one most products are by 0
_BLOCK_RIGHT = 16  # outputs of a block: what a matrix product wants on that side
_BLOCK_OF_LONG = 8  # the same, where even few outputs reach over many inputs
_BLOCKS_LEFT = {192: 4, 64: 8, 0: 16}  # the same, beside more cells than so many: of few, it costs what its call does


def copied_first(taps: Taps, start: int, stop: int, inner: int) -> Indices | None:
    """Return the inputs that have a weight, where they are few: then they are copied before anything is summed.

    ``inner`` is the length of all that follows the axis in the input.
    """
    taps = distinct(taps)
    if taps.weights is None:
        return None
    used = np.unique(taps.indices[start:stop][taps.weights[start:stop] != 0])
    few = _SPARSE[inner < _MIN_INNER]
    return used if 0 < len(used) <= few * (used[-1:] - used[:1] + 1) else None


def stages(
    taps: Taps, start: int, stop: int, used: Indices | None, inner: int, dtype: np.dtype[Any], build: Build
) -> tuple[Pick | Band | TapSum, ...]:
    """Return what ``prepare`` does, after a copy of the inputs that are ``used``, where they are ``copied_first``."""
    if used is None:
        return (prepare(taps, start, stop, inner, dtype, build),)
    taps = distinct(taps)
    assert taps.weights is not None
    indices, weights = taps.indices[start:stop], taps.weights[start:stop]
    first, last = int(used[0]), int(used[-1])
    pick = Pick(Span(0, len(used), first, last + 1), used - first, _step(used), 0)
    places = np.minimum(np.searchsorted(used, indices), len(used) - 1)
    return pick, build(places, weights, start, inner, dtype)


def prepare(taps: Taps, start: int, stop: int, inner: int, dtype: np.dtype[Any], build: Build) -> Pick | Band | TapSum:
    """Return outputs ``start`` to ``stop`` of an axis, ready to run; ``inner`` is the length of all that follows it."""
    taps = distinct(taps)
    indices = taps.indices[start:stop]
    if taps.weights is not None:
        return build(indices, taps.weights[start:stop], start, inner, dtype)
    first, last = int(indices.min()), int(indices.max())
    chosen = np.ascontiguousarray(indices[:, 0] - first)
    return Pick(Span(start, stop, first, last + 1), chosen, _step(chosen), _repeats(chosen, last + 1 - first))


def _step(indices: NDArray[np.intp]) -> int:
    """Return the distance between neighbours where it is always the same, else 0."""
    steps = np.diff(indices)
    return int(steps[0]) if len(steps) and steps[0] > 0 and (steps == steps[0]).all() else 0


def _repeats(indices: NDArray[np.intp], count: int) -> int:
    """Return how often every one of ``count`` inputs is repeated where that is always the same, else 0."""
    times = len(indices) // count if count else 0
    same = times > 0 and len(indices) == times * count and (indices == np.arange(len(indices)) // times).all()
    return times if same else 0


def band(indices: Indices, weights: Weights, start: int, inner: int, dtype: np.dtype[Any]) -> Band:
    """Return sums as products: exact where ``dtype`` holds every partial sum, a proposal elsewhere."""
    depth = inner if inner < _MIN_INNER else 0
    wanted = max(1, _BLOCK_RIGHT // depth) if depth else _block_left(len(indices), inner)
    size = _size(indices, weights, wanted, depth)
    if not size:  # even one output reaches over many inputs
        depth, size = 0, max(1, _size(indices, weights, _BLOCK_OF_LONG, 0))
    widening = _fitting(_WIDENING, len(indices) * depth if depth else inner)
    firsts, stops = touched(indices, weights, size)
    span = Span(start, start + len(indices), int(firsts.min()), int(stops.max()))
    runs, at, widest = [], 0, int((stops - firsts).max())
    while at < len(firsts):
        begin = at * size
        if begin + size > len(indices) > size:  # the last block is as large as others: some outputs are made again
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
    """Return how many of ``count`` outputs a block wants beside so many cells, all blocks alike."""
    wanted = _fitting(_BLOCKS_LEFT, inner)
    return -(-count // max(1, round(count / wanted)))


def _fitting(sizes: Mapping[int, Number], cells: int) -> Number:
    return next(size for least, size in sizes.items() if cells >= least)


def _size(indices: Indices, weights: Weights, wanted: int, depth: int) -> int:
    """Return how many outputs a block has, such that no product is too long; 0 where none is."""
    size = _even_size(indices, wanted)
    while size:
        firsts, stops = touched(indices, weights, size)
        if (stops - firsts).max() * _WIDENING[0] * max(depth, 1) <= _LONGEST:
            return size
        size //= 2
    return 0


def _even_size(indices: Indices, wanted: int) -> int:
    """Return a block size near ``wanted`` after which the pattern of indices repeats, else ``wanted``."""
    firsts = indices[:, 0]
    for size in range(wanted, wanted * 3 // 2 + 1):
        steps = firsts[size:] - firsts[:-size]
        if len(steps) > size and (steps[size // 2 : -size] == steps[len(steps) // 2]).all():
            return size
    return wanted


def _matrices(indices: Indices, weights: Weights, window: Window) -> Weights:
    """Return the weights of blocks as dense matrices [blocks, size, width] over the inputs that the window shows."""
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
    each = max(depth, 1)
    if depth:  # cell c of an output is made from cells c of its inputs: as many interleaved copies of the weights
        copies = matrices.transpose(0, 2, 1)[:, :, None, :, None] * np.eye(depth)[:, None, :]
        matrices = copies.reshape(-1, window.width * depth, size * depth)
    return Run(
        out=out * each,
        blocks=window.blocks,
        size=size * each,
        start=(window.start - in_start) * each,
        stride=window.stride * each,
        weights=np.ascontiguousarray(matrices, dtype),
    )
