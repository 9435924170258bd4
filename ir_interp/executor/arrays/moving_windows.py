"""Windows of input that move over blocks of neighbouring outputs at equal distances."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

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
