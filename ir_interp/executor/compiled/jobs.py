"""A sum in the form that compiled loops take: the shapes that a loop processes, and its call."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ir_interp.caching import cached_property
from ir_interp.executor.compiled.calls import Call
from ir_interp.plan.exact_sums import Windows
from ir_interp.plan.pieces import Piece
from ir_interp.shapes import Shape

Lengths = tuple[int, int, int]
MOST_TOGETHER = 16  # cells of a pixel that a loop along rows sums; with more, whole rows of cells are summed at once
LONGEST = 2**32  # cells of a row, which loops count by uint32
_SMALLEST = 2**8  # elements of an image, if there are many; a call costs as much


class Timing:
    """The last durations of a job on one thread and on several, in seconds.

    Whether threads pay depends on how fast the machine wakes one, on its caches and on the pauses between calls, so
    both ways are timed. At the end of each period some calls in sequence go the slower way: the first may have to wake
    a thread, the others have it at hand. Early periods are short, since few calls may mislead.
    """

    def __init__(self) -> None:
        self._seconds = {is_shared: deque[float](maxlen=_TRIES) for is_shared in (False, True)}
        self._period, self._left, self._pays = _SHORTEST, 2 * _TRIES, False

    def is_shared(self) -> bool:
        """Return whether threads are to share the next call."""
        if not self._left:
            self._begin()
        self._left -= 1
        return self._pays == (self._left >= _TRIES)

    def _begin(self) -> None:
        self._pays = min(self._seconds[True]) < min(self._seconds[False])
        self._left, self._period = self._period, min(2 * self._period, _LONGEST)

    def add(self, seconds: float, *, is_shared: bool) -> None:
        """Add the duration of a call."""
        self._seconds[is_shared].append(seconds)

    def is_surely_alone(self) -> bool:
        """Return whether the next call is alone and not measured."""
        if self._pays or self._left <= 2 * _TRIES:
            return False
        self._left -= 1
        return True


_TRIES = 3  # calls each way, of which the fastest counts: whatever else the machine does makes a call slower
_SHORTEST, _LONGEST = 16, 256  # calls of a period


@dataclass(frozen=True, kw_only=True, eq=False)
class Extents:
    """The shapes of a loop: [outer, rows, cells] to [outer, rows, cells], and the shape of the result.

    ``height`` is the number of rows of an image, if many are stacked vertically; a pixel has ``depth`` cells.
    """

    shape_in: Lengths
    shape_out: Lengths
    out_shape: Shape
    height: int
    depth: int

    def apart(self, images: int) -> Extents:
        """Return the extents with ``images`` as a separate axis, for rows that are not contiguous."""
        lengths, made = ((images, rows // max(images, 1), cells) for _, rows, cells in (self.shape_in, self.shape_out))
        return replace(self, shape_in=lengths, shape_out=made)

    @property
    def pays(self) -> bool:
        """Return whether images are worth a call each."""
        outer, rows, cells = self.shape_out
        return outer == 1 or rows * cells >= _SMALLEST


def extents(counts: dict[int, int], shape: Shape) -> Extents | None:
    """Return the extents of an array whose axes, one or two neighbours, are resized to ``counts``.

    If a pixel has many cells, a sum along one axis is a sum of whole rows of cells, and ``depth`` is 0. None if
    loops cannot count the cells of a row, or if axes are not neighbours.
    """
    first, last = min(counts), max(counts)
    out = tuple(counts.get(axis, length) for axis, length in enumerate(shape))
    outer, depth = math.prod(shape[:first]), math.prod(shape[last + 1 :])
    cells, cells_out = shape[last] * depth, out[last] * depth
    if last - first > 1:
        return None
    if first == last and depth > MOST_TOGETHER:
        lengths, made, depth = (1, outer * shape[first], depth), (1, outer * out[first], depth), 0
    elif cells >= LONGEST:
        return None
    elif first == last:
        lengths, made = (1, outer, cells), (1, outer, cells_out)
    else:
        lengths, made = (1, outer * shape[first], cells), (1, outer * out[first], cells_out)
    return Extents(shape_in=lengths, shape_out=made, out_shape=out, height=shape[first], depth=depth)


@dataclass(frozen=True, kw_only=True, eq=False)
class Job:
    """A call of a loop on arrays of some extents.

    ``taps`` are the inputs of an output, for all axes. Copied elements are ``seen_as`` integers of their size, as is
    float16. Sums that another job continues are ``kept_as`` a type, by default that of the result.
    """

    extents: Extents
    call: Call
    taps: int = 1
    seen_as: np.dtype[Any] | None = None
    kept_as: np.dtype[Any] | None = None
    timing: Timing = field(default_factory=Timing)
    compiled: list[Any] = field(default_factory=list)
    """The loop, once it is compiled for arrays of these types."""

    @cached_property
    def kinds(self) -> str:
        """The types of its arguments; a loop is compiled for each set of them."""
        arrays = [argument for argument in self.call.arguments if isinstance(argument, np.ndarray)]
        return " ".join(f"{array.dtype.str}{array.flags.c_contiguous}" for array in arrays)


def lengths_of(piece: Piece) -> Shape:
    """Return the shape of the input of a piece."""
    return tuple(stop - start for start, stop in piece.inputs)


def taps_of(windows: Sequence[Windows]) -> int:
    """Return the number of inputs of an output."""
    return math.prod(window.weights.shape[1] for window in windows)
