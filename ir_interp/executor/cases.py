"""A case: a piece of a resize of arrays of one type, its size limit and inputs, and its jobs of compiled loops.

First the limit of sizes, the properties that strategies and loops need, and the inputs of a piece; then exact integer
sums of 8 bits, copies, and sums of floats and of 16-bit numbers as jobs; last the choice among them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ir_interp.arguments import shown
from ir_interp.errors import ShapeError, SpecError
from ir_interp.executor import ordered_sums
from ir_interp.executor.definition import axes_in_order, distinct
from ir_interp.executor.infinities import reads
from ir_interp.executor.loop_calls import (
    BLOCK,
    TO_HALF,
    Blended,
    Call,
    Columns,
    ColumnsFirst,
    ColumnWindows,
    Copies,
    Ending,
    Halves,
    Kept,
    Narrow,
    Rows,
    RowsFirst,
    RowWindows,
    Settled,
    SettledColumnsFirst,
    SettledRowsFirst,
    Whole,
    code_of,
)
from ir_interp.executor.loop_runner import MOST_TOGETHER, Extents, Job, extents, lengths_of, taps_of
from ir_interp.executor.ordered_sums import planned_steps, step_columns
from ir_interp.executor.threads import cached_property
from ir_interp.plan import library_passes
from ir_interp.plan.integer_sums import (
    Along,
    Corners,
    Piece,
    Range,
    Step,
    WholeSum,
    Windows,
    at_once,
    axis_of_channels,
    error_bound,
    gathered,
    in_lowest_terms,
    in_passes,
    rounding_at_once,
    taps_by_axis,
    whole_piece,
)
from ir_interp.plan.library_passes import is_of_ipp, passes
from ir_interp.plan.taps import BYTES_A_TAP, Plan, Taps, count, is_long, window_taps
from ir_interp.shapes import Shape
from ir_interp.specs import Alpha, IntegerRounding, Integers, Mode, Nearest

MAX_BYTES = 8 * 2**30
"""The largest intermediate or output array that ``resize`` allocates."""


def check_memory(bound: Plan, piece: Piece, itemsize: int, *, of_all: bool) -> None:
    """Raise ShapeError, before pixels are allocated, if a piece needs more; intermediates are made in tiles.

    ``of_all`` means that the taps of all outputs are needed; those of the piece are checked before any are computed.
    """
    if of_all:
        check_taps(bound)
    needed = (stop - start for start, stop in piece.inputs)
    elements = max(math.prod(needed), math.prod(piece.shape), *piece.shape, 0)
    _check(itemsize * elements, bound)


def check_taps(bound: Plan, outputs: Sequence[Range] | None = None) -> None:
    """Raise ShapeError, before taps are computed, if those of an axis need more: of some outputs, or of all."""
    axes = bound.axes if outputs is None else [replace(axis, outputs=outputs[axis.axis]) for axis in bound.axes]
    _check(BYTES_A_TAP * max((count(bound, axis) for axis in axes), default=0), bound)


def _check(size: int, bound: Plan) -> None:
    if size > MAX_BYTES:
        raise ShapeError(
            f"resizing {list(bound.in_shape)} to {list(bound.out_shape)} needs {size / 2**30:.1f} GiB; "
            f"the limit ({__name__}.MAX_BYTES) is {MAX_BYTES / 2**30:g} GiB"
        )


# float32 represents these types exactly; sums of the others lose less in float64.
_SUMMED_IN_SINGLE = ("float32", "float16", "bfloat16", "int8", "int16", "uint8", "uint16")
_DOUBLE = ("float64", "int32", "int64", "uint32", "uint64")


class Case:
    """A piece of a resize of arrays of one type. Each property is computed on first use.

    Raises SpecError for a type whose values cannot be averaged, if the resize averages.
    """

    def __init__(self, bound: Plan, piece: Piece, dtype: np.dtype[Any]) -> None:
        self.bound, self.piece, self.dtype, self.spec = bound, piece, dtype, bound.spec
        self.padded: Shape = tuple(stop - start for start, stop in piece.inputs)
        self.copies = isinstance(bound.spec.kernel, Nearest)
        self.counts = isinstance(bound.spec.kernel, Mode)
        self.work = dtype if self.copies or self.counts or self.is_rational else _working_dtype(dtype)

    @property
    def is_premultiplied(self) -> bool:
        """Whether channels are multiplied by the last one first."""
        return self.spec.alpha is Alpha.PREMULTIPLIED

    @property
    def averages_integers(self) -> bool:
        """Whether sums are rounded to integers."""
        return self.dtype.kind in "iu" and not self.copies and not self.counts

    @property
    def is_rational(self) -> bool:
        """Whether sums of integers, or of bool as 0 and 1, are exact."""
        is_exact = self.spec.rounds is Integers.RATIONAL and self.dtype.kind in "iub"
        return is_exact and not self.copies and not self.counts

    @cached_property
    def rounding(self) -> IntegerRounding:
        """The rounding of a sum over all axes, if the steps are unknown."""
        return rounding_at_once(self.spec, self.dtype.name)

    @cached_property
    def exact_sums(self) -> tuple[WholeSum, ...]:
        """The uint8 resize as integer sums; empty if it is of another kind."""
        if self.is_rational and self.is_premultiplied:
            return ()
        once = at_once(self.bound, self.piece, self.dtype.name)
        return (once,) if once else in_passes(self.bound, self.piece, self.dtype.name) or ()

    @cached_property
    def is_in_passes(self) -> bool:
        """Whether an image library sums these integers axis by axis, in the numbers of the spec."""
        return self.averages_integers and self.spec.has_passes

    @cached_property
    def byte_passes(self) -> tuple[library_passes.Pass, ...]:
        """The passes of a library over bytes that are not exact sums; empty if there are none."""
        if not self.is_in_passes or self.exact_sums or self.dtype != np.uint8 or self.is_premultiplied:
            return ()
        if library_passes.are_at_once(self.bound):
            return ()
        return self.piece.passes(self.bound, "uint8")

    @cached_property
    def runtime_steps(self) -> tuple[Step, ...]:
        """The steps of a runtime for these integers; empty if they are unknown."""
        if not self.averages_integers or self.is_in_passes:
            return ()
        return ordered_sums.planned_steps(self.bound, self.dtype.name, self.piece.outputs) or ()

    @property
    def is_of_ipp(self) -> bool:
        """Whether Intel's library sums these bytes, within OpenCV."""
        return is_of_ipp(self.bound)


def in_steps(bound: Plan, dtype: np.dtype[Any]) -> bool:
    """Return whether values are sequential sums over the whole array, not tile by tile."""
    case = Case(bound, whole_piece(bound), dtype)
    return case.is_in_passes or bool(case.runtime_steps)


def _working_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    if dtype.name in _SUMMED_IN_SINGLE:
        return np.dtype(np.float32)
    if dtype.name in _DOUBLE:
        return np.dtype(np.float64)
    raise SpecError(f"{dtype} values can be copied (nearest) but not averaged")


Indices = NDArray[np.intp]
_TYPES_WITH_STEPS = ("uint8", "int32")  # types with two sets of steps; those of other types use the same inputs


def piece_of(bound: Plan, region: Sequence[slice] | None) -> Piece:
    """Return a piece of a plan, by slices of its output; all of it for None.

    Raises SpecError for values other than slices of step 1, ShapeError for more of them than axes.
    """
    if region is None:
        check_taps(bound)
        return whole_piece(bound)
    outputs = _ranges(region, bound.out_shape)
    check_taps(bound, outputs)
    if any(start == stop for start, stop in outputs):
        return Piece(outputs, tuple((0, 0) for _ in outputs))
    inputs = list(outputs)
    segments = (
        outputs if is_long(bound) else whole_piece(bound).outputs
    )  # of a short axis, what all outputs need is kept
    for axis, (lowest, highest) in _reach(bound, segments).items():
        taken = slice(*(edge - segments[axis][0] for edge in outputs[axis]))
        inputs[axis] = (int(lowest[taken].min()), int(highest[taken].max()) + 1)
    if bound.spec.alpha is Alpha.PREMULTIPLIED:
        channels = axis_of_channels(bound)
        inputs[channels] = (0, bound.out_shape[channels])  # all of them, since the last changes the others
    return Piece(outputs, tuple(inputs))


@lru_cache(maxsize=16)
def _reach(bound: Plan, outputs: tuple[Range, ...]) -> dict[int, tuple[Indices, Indices]]:
    """Return the first and the last input of each of the outputs, by axis, in any of the ways to sum along it."""
    reach: dict[int, tuple[Indices, Indices]] = {}
    for axis, indices in _taken(bound, outputs):
        lowest, highest = indices.min(axis=1), indices.max(axis=1)
        if axis in reach:
            lowest, highest = np.minimum(lowest, reach[axis][0]), np.maximum(highest, reach[axis][1])
        reach[axis] = lowest, highest
    return reach


def _taken(bound: Plan, outputs: tuple[Range, ...]) -> Iterator[tuple[int, Indices]]:
    """Yield the inputs of outputs, by axis, [out, taps]."""
    changing = {axis.axis for axis in bound.axes}
    for place, axis in enumerate(bound.axes):
        yield axis.axis, window_taps(bound, place, outputs[axis.axis]).indices
    if bound.axes and is_of_ipp(bound):  # which also sums along an axis that keeps its size
        yield from ((stage.axis, stage.indices[slice(*outputs[stage.axis])]) for stage in passes(bound, "uint8"))
    yield from ((axis, read.indices) for axis, read in reads(bound, outputs).items())
    for dtype in _TYPES_WITH_STEPS:
        for step in planned_steps(bound, dtype, outputs) or ():
            pairs = (
                [(step.axis, step.indices)] if isinstance(step, Along) else zip(step.axes, step.indices, strict=True)
            )
            for axis_of_step, indices in pairs:
                if axis_of_step in changing:  # along an axis that is copied a runtime reads neighbours, too, times 0
                    yield axis_of_step, np.stack(step_columns(indices), axis=1).astype(np.intp)


def _ranges(region: Sequence[slice], lengths: Shape) -> tuple[Range, ...]:
    if isinstance(region, str) or not isinstance(region, Sequence):
        raise SpecError(f"region is {shown(region)}; expected a slice for each axis")
    if len(region) > len(lengths):
        raise ShapeError(f"region has {len(region)} slices; the output has rank {len(lengths)}")
    ranges = [_range(segment, length) for segment, length in zip(region, lengths, strict=False)]
    return (*ranges, *((0, length) for length in lengths[len(region) :]))


def _range(segment: slice, length: int) -> Range:
    if not isinstance(segment, slice) or segment.step not in (None, 1):
        raise SpecError(f"region holds {segment!r}; expected slices of step 1")
    try:
        start, stop, _ = segment.indices(length)
    except TypeError:
        raise SpecError(f"region holds {segment!r}; expected slices of integers") from None
    return start, max(start, stop)


_SHORT = (
    2**8
)  # of the weights of an output in lowest terms: 255 * 2**8 * 2**8 is below 2**24, the last integer of float32
_NEVER = 1.0  # the distance from the nearest integer that no sum has
_HALVED = (1, 3, 4)  # channels of images whose halves have a loop
_FEW_ROWS = 0.6  # inputs of an output row; with fewer it is faster to sum their columns first, once
_READ_TOGETHER = 8  # cells of two pixels, as the loop of means reads them
_FEW_COLUMNS = {3: 4.0, 4: 2.5}  # by channels, inputs of a row for each output; with fewer, whole rows are faster


def exact_jobs(sums: Sequence[WholeSum], shape: Shape, dtype: np.dtype[Any]) -> tuple[Job, ...]:
    """Return the sums of arrays of a shape as jobs; empty if one of them has no loop."""
    jobs: list[Job] = []
    for exact_sum in map(in_lowest_terms, sums):
        lengths = extents({window.axis: len(window.first) for window in exact_sum.windows}, shape)
        if lengths is None:
            return ()
        call = _ByteSum(exact_sum, lengths, dtype).call()
        jobs.append(Job(extents=lengths, call=call, taps=taps_of(exact_sum.windows)))
        shape = lengths.out_shape
    return tuple(jobs)


@dataclass(frozen=True, slots=True)
class _ByteSum:
    """A sum of bytes, and the arrays of its input."""

    sums: WholeSum
    extents: Extents
    dtype: np.dtype[Any]

    def call(self) -> Call:
        """Return the call of the fastest loop for the sum."""
        first, last = self.sums.windows[0], self.sums.windows[-1]
        if first is last:
            return self._along_one(first)
        columns_in, columns_out = (shape[2] for shape in (self.extents.shape_in, self.extents.shape_out))
        depth = self.extents.depth
        if depth in _HALVED and self.dtype == np.uint8 and self._are_halves():
            parity = int(self.sums.rounding is IntegerRounding.HALF_EVEN)
            begin, height = int(last.first[0]) * depth, self.extents.height
            return Halves(height=height, first_rows=first.first, begin=begin, depth=depth, parity=parity)
        if depth in _FEW_COLUMNS and columns_in >= _FEW_COLUMNS[depth] * columns_out and self._are_means_of_four():
            return self._blended(first, last)
        return self._along_two(first, last)

    @property
    def _ending(self) -> Whole:
        bounds, sums = np.iinfo(self.dtype), self.sums
        return Whole(
            factor=2.0**-sums.bits, rounding=code_of(sums.rounding), least=float(bounds.min), most=float(bounds.max)
        )

    def _along_one(self, window: Windows) -> Call:
        if self.extents.depth:
            return Columns(columns=ColumnWindows.of(window, self.extents.depth), ending=self._ending)
        return Rows(rows=RowWindows.of(window, self.extents.height), ending=self._ending)

    def _along_two(self, rows: Windows, columns: Windows) -> Call:
        columns_first = self.extents.height <= _FEW_ROWS * len(rows.first)
        ending, depth = self._ending, self.extents.depth
        largest = max(abs(ending.least), ending.most)
        bound = error_bound(*((columns, rows) if columns_first else (rows, columns)), largest, self.sums.bits)
        cells = np.repeat(_are_short(columns), depth)
        limits = np.full((2, -len(cells) // BLOCK * -BLOCK), _NEVER, np.float32)
        limits[:, : len(cells)] = 0.5 - bound
        # Exact sums are nearest to the byte half to even that is stored; other roundings of a half are settled.
        limits[0, : len(cells)][cells] = _NEVER if self.sums.rounding is IntegerRounding.HALF_EVEN else 0.5
        settled = Settled(
            *ending,
            whole_rows=rows.weights,
            whole_columns=columns.weights,
            row_limits=np.where(_are_short(rows), int(not cells.all()), 2),
            limits=limits,
        )
        rows = _weighed(rows, np.float32)
        columns = replace(columns, weights=np.ldexp(columns.weights.astype(np.float32), -self.sums.bits))
        order = SettledColumnsFirst if columns_first else SettledRowsFirst
        of_rows, of_columns = RowWindows.of(rows, self.extents.height), ColumnWindows.of(columns, depth)
        return order(rows=of_rows, columns=of_columns.in_any_order(), ending=settled)

    def _blended(self, rows: Windows, columns: Windows) -> Call:
        depth, cells = self.extents.depth, self.extents.shape_in[2]
        first = columns.first * depth
        beyond = first + _READ_TOGETHER > cells
        beyond[-1] |= depth < 4  # writes beyond the last pixel are beyond the row
        return Blended(
            rows=RowWindows.of(_weighed(rows, np.int32), self.extents.height),
            first_columns=first.astype(np.uint32),
            column_weights=np.ldexp(columns.weights.astype(np.float64), -self.sums.bits),
            depth=depth,
            safe=int(beyond.argmax()) if beyond.any() else len(beyond),
        )

    def _are_halves(self) -> bool:
        """Return whether every output is the mean of two rows by two columns that are contiguous."""
        windows, sums = self.sums.windows, self.sums
        two = all(window.weights.shape[1] == 2 and (window.weights == 1).all() for window in windows)
        are_beside = bool((np.diff(windows[-1].first) == 2).all())
        known = sums.rounding in (IntegerRounding.HALF_EVEN, IntegerRounding.HALF_UP)
        return sums.bits == 2 and two and are_beside and known

    def _are_means_of_four(self) -> bool:
        """Return whether every output is a mean of two rows by two columns, rounded half to even."""
        two = all(window.weights.shape[1] == 2 for window in self.sums.windows)
        return two and self.sums.is_mean and self.sums.rounding is IntegerRounding.HALF_EVEN


def _weighed(window: Windows, dtype: DTypeLike) -> Windows:
    return replace(window, weights=window.weights.astype(dtype))


def _are_short(windows: Windows) -> NDArray[np.bool_]:
    """Return which outputs have weights so short that float32 sums of bytes along two such axes are exact."""
    weights = windows.weights.astype(np.int64)
    every = np.bitwise_or.reduce(weights, axis=1)
    return np.asarray(np.abs(weights).sum(axis=1) <= _SHORT * (every & -every))


# Types whose rows become float32 before they are summed.
_NARROW = ("float16", "int16", "uint16")
_SINGLE = np.dtype(np.float32)
_MOST_BETWEEN = 2  # inputs without weight within a window: Lanczos' kernel has zeros


def copy_jobs(bound: Plan, piece: Piece, dtype: np.dtype[Any]) -> tuple[Job, ...]:
    """Return the copies of a nearest resize of two neighbouring axes; empty for any other."""
    if len(bound.axes) != 2 or dtype.itemsize not in (1, 2, 4, 8) or dtype.hasobject:
        return ()
    pixels = {axis: taps.indices[:, 0] for axis, taps in taps_by_axis(bound, piece).items()}
    rows, columns = (pixels[axis] for axis in sorted(pixels))
    lengths = extents({axis: len(indices) for axis, indices in pixels.items()}, lengths_of(piece))
    if lengths is None or lengths.depth > MOST_TOGETHER:
        return ()
    lengths = lengths.apart(math.prod(piece.shape[: min(pixels)]))
    if not lengths.pays:
        return ()
    doubled = lengths.depth == 1 and len(columns) % 2 == 0 and bool((columns == np.arange(len(columns)) // 2).all())
    cells = (columns * lengths.depth).astype(np.uint32)
    call = Copies(from_rows=rows, from_columns=cells, depth=lengths.depth, doubled=doubled)
    return (Job(extents=lengths, call=call, seen_as=np.dtype(f"u{dtype.itemsize}")),)


def floats(bound: Plan, piece: Piece, dtype: np.dtype[Any], rounding: IntegerRounding) -> tuple[Job, ...]:
    """Return sums of floats along one axis or two neighbouring ones each; empty if there are no loops.

    16-bit numbers are summed as float32; integers among them are rounded.
    """
    taps = {axis: distinct(axis_taps) for axis, axis_taps in taps_by_axis(bound, piece).items()}
    if dtype.name not in (*_NARROW, "float32", "float64"):
        return ()
    ordered = {axis.axis: taps[axis.axis] for axis in axes_in_order(bound)}
    return jobs_of_sums(ordered, lengths_of(piece), dtype, _numbers(dtype, rounding))


def jobs_of_sums(
    taps: Mapping[int, Taps], shape: Shape, dtype: np.dtype[Any], numbers: _Numbers | None = None
) -> tuple[Job, ...]:
    """Return sums by distinct taps along axes in order, of arrays of a shape and a type, by default kept in it."""
    if not all(map(_is_dense, taps.values())) or all(tap.weights is None for tap in taps.values()):
        return ()
    numbers, jobs = numbers or _Numbers(dtype, Kept()), []
    windows = {axis: _windows(taps[axis], shape[axis], axis, numbers.work) for axis in taps}
    for group in _groups(list(taps), shape):
        job = _job([windows[axis] for axis in group], shape, numbers)
        if job is None:
            return ()
        jobs.append(job)
        shape = job.extents.out_shape
    # Between loops sums keep all their bits; those of 16-bit numbers would be rounded to these.
    return tuple(jobs) if len(jobs) == 1 or dtype == numbers.work else ()


def _groups(order: Sequence[int], shape: Shape) -> list[tuple[int, ...]]:
    """Return axes in order, neighbours in pairs if few cells follow them, since a loop sums both at once."""
    groups: list[tuple[int, ...]] = []
    for axis in order:
        before = groups[-1] if groups else ()
        together = len(before) == 1 and abs(before[0] - axis) == 1
        if together and math.prod(shape[max(before[0], axis) + 1 :]) <= MOST_TOGETHER:
            groups[-1] = (*before, axis)
        else:
            groups.append((axis,))
    return groups


@dataclass(frozen=True, slots=True)
class _Numbers:
    """The floats in which elements are summed, their type in loops, and the ending of sums."""

    work: np.dtype[Any]
    ending: Ending
    seen_as: np.dtype[Any] | None = None


def _numbers(dtype: np.dtype[Any], rounding: IntegerRounding) -> _Numbers:
    if dtype.name not in _NARROW:
        return _Numbers(dtype, Kept())
    if dtype == np.float16:
        return _Numbers(_SINGLE, Narrow(way=TO_HALF), np.dtype(np.uint16))
    bounds = np.iinfo(dtype)
    return _Numbers(_SINGLE, Narrow(way=code_of(rounding), low=float(bounds.min), high=float(bounds.max)))


def _job(windows: Sequence[Windows], shape: Shape, numbers: _Numbers) -> Job | None:
    """Return the sum of an array along the axes of windows, in the order of summation."""
    lengths = extents({window.axis: len(window.first) for window in windows}, shape)
    if lengths is None:
        return None
    first, last = min(windows, key=lambda window: window.axis), max(windows, key=lambda window: window.axis)
    call: Rows | Columns | RowsFirst | ColumnsFirst
    if not lengths.depth:
        call = Rows(rows=RowWindows.of(first, lengths.height), ending=numbers.ending)
    else:
        columns = ColumnWindows.of(last, lengths.depth)
        if len(windows) == 1:
            call = Columns(columns=columns, ending=numbers.ending)
        else:
            both = ColumnsFirst if windows[0] is last else RowsFirst
            call = both(rows=RowWindows.of(first, lengths.height), columns=columns, ending=numbers.ending)
    return Job(extents=lengths, call=call, taps=taps_of(windows), seen_as=numbers.seen_as)


def _is_dense(taps: Taps) -> bool:
    """Return whether the inputs of every output are nearly contiguous; a loop gives those in between a weight of 0."""
    width = taps.indices.shape[1]
    return bool((taps.indices[:, -1] - taps.indices[:, 0] < width + _MOST_BETWEEN).all())


def _windows(taps: Taps, length: int, axis: int, dtype: np.dtype[Any]) -> Windows:
    weights = np.ones(taps.indices.shape) if taps.weights is None else taps.weights
    windows = gathered(axis, length, taps.indices, weights)
    return replace(windows, weights=windows.weights.astype(dtype))


_EIGHT_BITS = ("uint8", "int8")


def jobs_of(case: Case) -> tuple[Job, ...]:
    """Return a case as a sequence of loop jobs; empty if there are no such loops."""
    bound, piece, dtype = case.bound, case.piece, case.dtype
    if case.counts or (case.is_rational and not case.exact_sums):
        return ()
    if case.is_premultiplied:  # a piece reads all channels, but its output may have fewer
        return ()
    if case.copies:
        return copy_jobs(bound, piece, dtype)
    if case.averages_integers and case.exact_sums:
        return exact_jobs(case.exact_sums, case.padded, dtype)
    if case.is_in_passes:
        is_ordered = dtype == np.uint8 and not library_passes.are_at_once(bound)
        return ordered_sums.ordered_jobs(bound, piece) if is_ordered else ()
    if not case.runtime_steps:
        return floats(bound, piece, dtype, case.rounding)
    first = case.runtime_steps[0]
    if isinstance(first, Corners):
        return ordered_sums.corner_jobs(first, piece) if dtype.name in _EIGHT_BITS else ()
    return ordered_sums.runtime_jobs([step for step in case.runtime_steps if isinstance(step, Along)], piece, dtype)
