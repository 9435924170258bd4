"""Taps prepared for execution: copies by index, or sums by a method that the caller chooses.

``band`` creates products. A block of neighbouring outputs reads few inputs, so it is a small dense matrix times a short
window of the input. Many such blocks, whose windows are at equal distances, are one batched matrix product.
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
    used = np.unique(taps.indices[start:stop][taps.weights[start:stop] != 0])
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
    pick = Pick(Span(0, len(used), first, last + 1), used - first, _step(used), 0)
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
    return Pick(Span(start, stop, first, last + 1), chosen, _step(chosen), _repeats(chosen, last + 1 - first))


def _step(indices: NDArray[np.intp]) -> int:
    """Return the distance between neighbours if it is constant, otherwise 0."""
    steps = np.diff(indices)
    return int(steps[0]) if len(steps) and steps[0] > 0 and (steps == steps[0]).all() else 0


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
