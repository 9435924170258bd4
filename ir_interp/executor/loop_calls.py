"""The parameters of compiled loops: one record for each loop, and for each way in which sums end.

A loop takes ``x``, ``y``, the rows to compute, and its record as plain tuples, which numba passes faster than objects.
``loops.LOOPS`` has the loop of a record. An ending is known by its length in compiled loops, so no two have the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, assert_never

import numpy as np

from ir_interp.plan.integer_sums import Windows
from ir_interp.shapes import Array
from ir_interp.specs import IntegerRounding, SumRounding, Unrounded

Loop = Callable[..., bool | None]
"""A compiled loop: it returns whether it met infinities, if it looks for them."""
BLOCK = 64
"""Cells that are summed and rounded together: their sums fill half of the vector registers of most processors."""
IN_PIXELS, IN_ANY_ORDER, IN_PAIRS = 1, 2, 3
"""Kinds of vectors: pixels of three or four cells, read and written as four, tap by tap or in any order; and pairs of
outputs that double a row."""
_FEWEST = 16  # outputs of a vector of pairs


def code_of(rounding: SumRounding) -> int:
    """Return the number of a rounding in compiled loops."""
    match rounding:
        case Unrounded.KEPT:
            return 0
        case IntegerRounding.HALF_EVEN:
            return 1
        case IntegerRounding.HALF_UP:
            return 2
        case IntegerRounding.HALF_AWAY:
            return 3
        case IntegerRounding.CUT_OFF:
            return 4
        case _:
            assert_never(rounding)


# Parts of several records


class RowWindows(NamedTuple):
    """The start of the rows of each output within an image of ``height`` rows, and their weights [outputs, width]."""

    height: int
    first_rows: Array
    row_weights: Array

    @classmethod
    def of(cls, windows: Windows, height: int) -> RowWindows:
        """Return windows over the rows of images."""
        return cls(height=height, first_rows=windows.first, row_weights=windows.weights)


class ColumnWindows(NamedTuple):
    """The first cell in a row for each output, the weights [outputs, width], and the cells of a pixel.

    From the first to the second number of ``inner``, outputs are vectors of the kind of the third.
    """

    first_columns: Array
    column_weights: Array
    depth: int
    inner: tuple[int, int, int]

    @classmethod
    def of(cls, windows: Windows, depth: int) -> ColumnWindows:
        """Return windows over pixels of ``depth`` cells."""
        return cls(
            first_columns=(windows.first * depth).astype(np.uint32),
            column_weights=windows.weights,
            depth=depth,
            inner=_doubled(windows, depth) or (0, _readable(windows, depth), IN_PIXELS),
        )

    def in_any_order(self) -> ColumnWindows:
        """Return the windows with sums of pixels in the fastest order."""
        begin, end, kind = self.inner
        return self._replace(inner=(begin, end, IN_ANY_ORDER if kind == IN_PIXELS else kind))


def _readable(columns: Windows, depth: int) -> int:
    """Return for how many outputs pixels of three or four cells may be read and written as four; 0 for others."""
    if depth not in (3, 4):
        return 0
    width = columns.weights.shape[1]
    beyond = (columns.first + width - 1) * depth + 4 > (int(columns.first.max()) + width) * depth
    beyond[-1] |= depth < 4  # writes beyond the last pixel are beyond the row
    return int(beyond.argmax()) if beyond.any() else len(beyond)


def _doubled(columns: Windows, depth: int) -> tuple[int, int, int] | None:
    """Return the first and the end of outputs in pairs, with windows of two or four pixels; None if there are few.

    The windows of the next pair begin one cell later and have the same weights, as where the row is doubled.
    """
    weights = columns.weights
    if weights.shape[1] not in (2, 4) or depth not in (1, 3, 4):
        return None
    repeats = (columns.first[2:] - columns.first[:-2] == 1) & (weights[2:] == weights[:-2]).all(axis=1)
    edges = np.flatnonzero(np.diff(repeats, prepend=False, append=False)).reshape(-1, 2)
    begin, end = max(edges.tolist(), key=lambda edge: edge[1] - edge[0], default=(0, 0))
    pairs = (end + 2 - begin) // 2
    return (begin, begin + 2 * pairs, IN_PAIRS) if 2 * pairs >= _FEWEST else None


class PassTaps(NamedTuple):
    """The rows of each output and the first cells of its pixels of ``depth`` cells, [outputs, taps], with weights."""

    row_indices: Array
    row_weights: Array
    column_indices: Array
    column_weights: Array
    depth: int


# Endings of sums


class Kept(NamedTuple):
    """Sums are floats, and are kept."""


class Narrow(NamedTuple):
    """float32 sums become float16, or 16-bit integers by the code of a rounding, between ``low`` and ``high``."""

    way: int
    low: float = 0.0
    high: float = 0.0


TO_HALF = -1
"""The ``way`` of float16, in place of the code of a rounding."""


class Whole(NamedTuple):
    """Integers times ``factor`` become bytes by the code of a rounding, between ``least`` and ``most``."""

    factor: float
    rounding: int
    least: float
    most: float


class Stepped(NamedTuple):
    """float32 sums, of products that are ``fused`` or rounded, end a step of a runtime by the code of a rounding."""

    fused: bool
    rounding: int
    least: float
    most: float


class Fixed(NamedTuple):
    """Integers over ``2**bits`` are rounded half up, and clipped to ``least`` and ``most``."""

    bits: int
    least: int
    most: int


Ending = Kept | Narrow | Whole
"""The operation that follows a sum of windows."""

# Calls


class Copies(NamedTuple):
    """A pixel of ``depth`` cells for each output, by its row and its first cell; every pixel twice if ``doubled``."""

    from_rows: Array
    from_columns: Array
    depth: int
    doubled: bool


class Rows(NamedTuple):
    """Sums of whole rows."""

    rows: RowWindows
    ending: Ending


class Columns(NamedTuple):
    """Sums along rows."""

    columns: ColumnWindows
    ending: Ending


class RowsFirst(NamedTuple):
    """Sums of rows, then along them."""

    rows: RowWindows
    columns: ColumnWindows
    ending: Ending


class ColumnsFirst(NamedTuple):
    """Sums along each needed row, then of these rows."""

    rows: RowWindows
    columns: ColumnWindows
    ending: Ending


class Settled(NamedTuple):
    """float32 sums of bytes become bytes as by ``Whole``; those in doubt are summed again, with integer weights.

    A sum is in doubt where it is as far from the nearest integer as its limit. The limits of a row of outputs [cells]
    are in the row of ``limits`` before ``row_limits``, which is 0 for a row of exact sums.
    """

    factor: float
    rounding: int
    least: float
    most: float
    whole_rows: Array
    whole_columns: Array
    row_limits: Array
    limits: Array


class SettledRowsFirst(NamedTuple):
    """Such sums of rows, then along them."""

    rows: RowWindows
    columns: ColumnWindows
    ending: Settled


class SettledColumnsFirst(NamedTuple):
    """Such sums along each needed row, then of these rows."""

    rows: RowWindows
    columns: ColumnWindows
    ending: Settled


class StepRows(NamedTuple):
    """Sums of rows at ``indices`` [outputs, taps], weighted by ``weights`` [outputs, taps], tap by tap."""

    height: int
    indices: Array
    weights: Array
    ending: Stepped | Fixed


class StepColumns(NamedTuple):
    """The same sums along rows; ``indices`` count cells."""

    indices: Array
    weights: Array
    depth: int
    ending: Stepped | Fixed


class Halves(NamedTuple):
    """Means of two rows by two columns, side by side from cell ``begin`` on.

    ``parity`` is 1 if a half goes to the even neighbour, which the last bit of a sum decides; 0 if it goes up.
    """

    height: int
    first_rows: Array
    begin: int
    depth: int
    parity: int


class Blended(NamedTuple):
    """Means of two rows by two columns, each computed at once; ``safe`` outputs may read eight cells of a row."""

    rows: RowWindows
    first_columns: Array
    column_weights: Array
    depth: int
    safe: int


class Shortened(NamedTuple):
    """Sums of two rows whose values lose ``bits_before``, and the result ``bits_after``, as in OpenCV's linear."""

    row_indices: Array
    row_weights: Array
    columns: ColumnWindows
    bits_before: int
    bits_after: int


class Chained(NamedTuple):
    """float32 sums along rows, then of rows, from the first tap to the last, rounded to bytes."""

    passes: PassTaps


class Paired(NamedTuple):
    """The same in the orders of Intel's library; ``inner`` outputs share one order and have contiguous inputs."""

    passes: PassTaps
    orders: Array
    inner: tuple[int, int]


class Cornered(NamedTuple):
    """Sums over the corners of cells, truncated, as in onnxruntime's linear: integers lose ``bits``."""

    corner_rows: Array
    row_weights: Array
    plane_weights: Array
    columns: Array
    column_weights: Array
    bits: int


Call = (
    Copies
    | Rows
    | Columns
    | RowsFirst
    | ColumnsFirst
    | SettledRowsFirst
    | SettledColumnsFirst
    | StepRows
    | StepColumns
    | Halves
    | Blended
    | Shortened
    | Chained
    | Paired
    | Cornered
)
"""All parameters of a loop."""
