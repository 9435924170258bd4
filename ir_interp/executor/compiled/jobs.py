"""A sum as compiled loops take it: the shapes that a loop sees, and its call."""

from __future__ import annotations

import math
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
_SMALLEST = 2**8  # elements of an image, where there are many: a call costs as much


class Timing:
    """How long a job takes on one thread, in seconds; 0 before it was run."""

    seconds = 0.0


@dataclass(frozen=True, kw_only=True, eq=False)
class Extents:
    """An array as loops see it: [outer, rows, cells] to [outer, rows, cells], and the shape that comes out.

    ``height`` is how many rows an image has, where many lie one below the other; a pixel has ``depth`` cells.
    """

    shape_in: Lengths
    shape_out: Lengths
    out_shape: Shape
    height: int
    depth: int

    def apart(self, images: int) -> Extents:
        """Return the extents of ``images`` with an axis of their own, of rows that do not lie below each other."""
        lengths, made = ((images, rows // max(images, 1), cells) for _, rows, cells in (self.shape_in, self.shape_out))
        return replace(self, shape_in=lengths, shape_out=made)

    @property
    def pays(self) -> bool:
        """Whether images are worth a call each."""
        outer, rows, cells = self.shape_out
        return outer == 1 or rows * cells >= _SMALLEST


def extents(counts: dict[int, int], shape: Shape) -> Extents | None:
    """Return how an array is seen whose axes, one or two neighbours, become as long as ``counts`` says.

    Where a pixel has many cells, a sum along one axis is one of whole rows of cells: ``depth`` is then 0. None where
    loops cannot count the cells of a row, or axes lie apart.
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
    """A call of a loop, on arrays of some extents.

    ``taps`` are the inputs of an output, all axes together. Elements that are copied are ``seen_as`` integers of their
    size, and so is float16. Sums that another job goes on with are ``kept_as`` a type, by default that of the result.
    """

    extents: Extents
    call: Call
    taps: int = 1
    seen_as: np.dtype[Any] | None = None
    kept_as: np.dtype[Any] | None = None
    timing: Timing = field(default_factory=Timing)
    compiled: dict[bool, Any] = field(default_factory=dict)
    """Its loop, by whether what it reads can be written: numba compiles each by itself."""

    @cached_property
    def kinds(self) -> str:
        """The types of its arguments, for each set of which a loop is compiled."""
        arrays = [each for each in self.call.arguments if isinstance(each, np.ndarray)]
        return " ".join(f"{each.dtype.str}{each.flags.c_contiguous}" for each in arrays)


def lengths_of(piece: Piece) -> Shape:
    """Return the lengths of what a piece takes."""
    return tuple(stop - start for start, stop in piece.inputs)


def taps_of(windows: Sequence[Windows]) -> int:
    """Return how many inputs an output weighs."""
    return math.prod(each.weights.shape[1] for each in windows)
