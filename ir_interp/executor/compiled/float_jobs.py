"""What a resize is for compiled loops: which loop, the shapes that it sees, and its arguments. Copies and floats."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.caching import cached_property
from ir_interp.executor.axis_order import in_order
from ir_interp.plan.axes.distinct import distinct
from ir_interp.plan.axes.geometry import Plan
from ir_interp.plan.axes.taps import Taps, axis_taps
from ir_interp.plan.exact_sums import Windows, gathered
from ir_interp.plan.pieces import Piece
from ir_interp.shapes import Shape
from ir_interp.spec import IntegerRounding

Array = NDArray[Any]
MOST_TOGETHER = 16  # cells that move together along the last axis
_SIXTEEN = ("float16", "int16", "uint16")
_TO_HALF = -1  # in place of the code of a rounding: float32 to float16
LONGEST = 2**32  # cells of a row
_MOST_BETWEEN = 2  # inputs without weight within a window: Lanczos' kernel has zeros
_SMALLEST = 2**8  # elements of an image, where there are many: a call costs as much


class Timing:
    """How long a job takes on one thread, in seconds; nothing before it was run."""

    seconds = 0.0


@dataclass(frozen=True, eq=False)
class Job:
    """A sum as a loop takes it: of [outer, rows, cells] to [outer, rows, cells], and what its arguments are.

    ``taps`` are the inputs of an output, all axes together. Elements that are copied are ``seen_as`` integers of their
    size, and so is float16. Sums that another job goes on with are ``kept_as`` a type, by default that of the result.
    """

    loop: str
    shape_in: tuple[int, int, int]
    shape_out: tuple[int, int, int]
    arguments: tuple[Any, ...]
    out_shape: Shape
    taps: int = 1
    seen_as: np.dtype[Any] | None = None
    kept_as: np.dtype[Any] | None = None
    timing: Timing = field(default_factory=Timing)

    @cached_property
    def kinds(self) -> str:
        """The types of its arguments, for each set of which a loop is compiled."""
        arrays = [each for each in self.arguments if isinstance(each, np.ndarray)]
        return " ".join(f"{each.dtype.str}{each.flags.c_contiguous}" for each in arrays)


def pays(made: tuple[int, int, int]) -> bool:
    """Say whether outputs [outer, rows, cells] are worth a call each."""
    return made[0] == 1 or made[1] * made[2] >= _SMALLEST


def copies(bound: Plan, piece: Piece, dtype: np.dtype[Any]) -> tuple[Job, ...]:
    """Return the copies of a nearest resize of two neighbouring axes as a loop takes them; none of another."""
    axes = sorted(bound.axes, key=lambda each: each.axis)
    if len(axes) != 2 or axes[1].axis != axes[0].axis + 1 or dtype.itemsize not in (1, 2, 4, 8) or dtype.hasobject:
        return ()
    taken = zip(bound.axes, axis_taps(bound), strict=True)
    taps = {axis.axis: piece.taps(each, axis.axis).indices[:, 0] for axis, each in taken}
    shape = lengths_of(piece)
    first, last = axes[0].axis, axes[1].axis
    depth, outer = math.prod(shape[last + 1 :]), math.prod(shape[:first])
    places = (outer, len(taps[first]), len(taps[last]) * depth)
    if depth > MOST_TOGETHER or shape[last] * depth >= LONGEST or not pays(places):
        return ()
    columns, twice = taps[last], np.arange(len(taps[last])) // 2
    doubled = depth == 1 and len(columns) % 2 == 0 and bool((columns == twice).all())
    own = (taps[first], (columns * depth).astype(np.uint32), depth, doubled)
    bits = np.dtype(f"u{dtype.itemsize}")
    return (Job("copies", (outer, shape[first], shape[last] * depth), places, own, piece.shape, seen_as=bits),)


def lengths_of(piece: Piece) -> Shape:
    """Return the lengths of what a piece takes."""
    return tuple(stop - start for start, stop in piece.inputs)


def rows_of(window: Windows) -> tuple[Array, Array]:
    """Return where each output's rows begin, and their weights."""
    return window.first, window.weights


def columns_of(window: Windows, depth: int) -> tuple[Array, Array]:
    """Return at which cell each output's columns begin, and their weights."""
    return (window.first * depth).astype(np.uint32), window.weights


def floats(bound: Plan, piece: Piece, dtype: np.dtype[Any], rounding: IntegerRounding) -> tuple[Job, ...]:
    """Return sums of floats as loops take them: along one axis or two neighbours each; none where there are no loops.

    Integers of 16 bits are summed as float32.
    """
    order = [axis.axis for axis in in_order(bound)]
    taps = {axis.axis: distinct(each) for axis, each in zip(bound.axes, axis_taps(bound), strict=True)}
    if dtype.name not in (*_SIXTEEN, "float32", "float64") or all(each.weights is None for each in taps.values()):
        return ()
    if not all(map(_is_dense, taps.values())):
        return ()
    kind, shape, made = _kind(dtype, rounding), lengths_of(piece), []
    windows = {axis: _floats(taps[axis], piece, axis, kind.work) for axis in taps}
    for group in _groups(order, shape):
        job = _floats_job([windows[axis] for axis in group], shape, kind)
        if job is None:
            return ()
        made.append(job)
        shape = job.out_shape
    return tuple(made) if len(made) == 1 or dtype == kind.work else ()  # between loops sums keep all their bits


def _groups(order: Sequence[int], shape: Shape) -> list[tuple[int, ...]]:
    """Return axes in order, neighbours in twos where few cells follow them: a loop sums both at once."""
    groups: list[tuple[int, ...]] = []
    for axis in order:
        before = groups[-1] if groups else ()
        together = len(before) == 1 and abs(before[0] - axis) == 1
        if together and math.prod(shape[max(before[0], axis) + 1 :]) <= MOST_TOGETHER:
            groups[-1] = (*before, axis)
        else:
            groups.append((axis,))
    return groups


def _floats_job(windows: Sequence[Windows], shape: Shape, kind: _Kind) -> Job | None:
    """Return the sum of an array along the axes of windows, the first to be summed first; None of rows too long."""
    by_axis = sorted(windows, key=lambda each: each.axis)
    first, last = by_axis[0], by_axis[-1]
    out = list(shape)
    for window in windows:
        out[window.axis] = len(window.first)
    depth, outer = math.prod(shape[last.axis + 1 :]), math.prod(shape[: first.axis])
    cells, places = shape[last.axis] * depth, out[last.axis] * depth
    if depth <= MOST_TOGETHER and cells >= LONGEST:
        return None
    rows, columns = (shape[first.axis], *rows_of(first)), (*columns_of(last, depth), depth, safe(last, depth))
    lengths, made = (1, outer * shape[first.axis], cells), (1, outer * out[first.axis], places)
    own: tuple[Any, ...]
    if len(windows) == 2:
        loop, own = "columns_first" if windows[0] is last else "rows_first", (*rows, *columns)
    elif depth > MOST_TOGETHER:
        loop, own, lengths, made = "rows", rows, (1, lengths[1], depth), (1, made[1], depth)
    else:
        loop, own, lengths, made = "columns", columns, (1, outer, cells), (1, outer, places)
    count = math.prod(each.weights.shape[1] for each in windows)
    return Job(f"{kind.loops}_{loop}", lengths, made, (*own, *kind.tail), tuple(out), count, kind.seen_as)


@dataclass(frozen=True, slots=True)
class _Kind:
    """The loops that sum elements of a type, as floats of type ``work``; those of 16 bits take a ``tail``, too."""

    loops: str
    work: np.dtype[Any]
    seen_as: np.dtype[Any] | None = None
    tail: tuple[float, ...] = ()


def _kind(dtype: np.dtype[Any], rounding: IntegerRounding) -> _Kind:
    if dtype.name not in _SIXTEEN:
        return _Kind("floats", dtype)
    single = np.dtype(np.float32)
    if dtype == np.float16:
        return _Kind("sixteen", single, np.dtype(np.uint16), (_TO_HALF, 0.0, 0.0))
    bounds = np.iinfo(dtype)
    return _Kind("sixteen", single, None, (rounding.code, float(bounds.min), float(bounds.max)))


def _is_dense(taps: Taps) -> bool:
    """Say whether the inputs of every output are neighbours, nearly: a loop weighs those between them by 0."""
    width = taps.indices.shape[1]
    return bool((taps.indices[:, -1] - taps.indices[:, 0] < width + _MOST_BETWEEN).all())


def _floats(taps: Taps, piece: Piece, axis: int, dtype: np.dtype[Any]) -> Windows:
    cut = piece.taps(taps, axis)
    weights = np.ones(cut.indices.shape) if cut.weights is None else cut.weights
    made = gathered(axis, lengths_of(piece)[axis], cut.indices, weights)
    return replace(made, weights=made.weights.astype(dtype))


def safe(columns: Windows, depth: int) -> int:
    """Return of how many outputs, the first, pixels of three or four cells may be read and written as four."""
    if depth not in (3, 4):
        return 0
    width = columns.weights.shape[1]
    beyond = (columns.first + width - 1) * depth + 4 > (int(columns.first.max()) + width) * depth
    beyond[-1] |= depth < 4
    return int(beyond.argmax()) if beyond.any() else len(beyond)
