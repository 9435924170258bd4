"""Exact integer sums of 8-bit integers, as jobs of compiled loops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ir_interp.executor.compiled.calls import (
    BLOCK,
    Blended,
    Call,
    Columns,
    ColumnsFirst,
    ColumnWindows,
    Halves,
    Rows,
    RowsFirst,
    RowWindows,
    Settled,
    Whole,
)
from ir_interp.executor.compiled.jobs import Extents, Job, extents, taps_of
from ir_interp.plan.exact_sums import WholeSum, Windows, error_bound, in_lowest_terms
from ir_interp.shapes import Shape
from ir_interp.spec import IntegerRounding

_SHORT = (
    2**8
)  # of the weights of an output in lowest terms: 255 * 2**8 * 2**8 is below 2**24, the last integer of float32
_NEVER = 1.0  # the distance from the nearest integer that no sum has
_HALVED = (1, 3, 4)  # channels of images whose halves have a loop
_FEW_ROWS = 0.6  # inputs of an output row; with fewer it is faster to sum their columns first, once
_READ_TOGETHER = 8  # cells of two pixels, as the loop of means reads them
_FEW_COLUMNS = {3: 4.0, 4: 2.5}  # by channels, inputs of a row for each output; with fewer, whole rows are faster


def jobs(sums: Sequence[WholeSum], shape: Shape, dtype: np.dtype[Any]) -> tuple[Job, ...]:
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
        return Whole(bits=sums.bits, rounding=sums.rounding.code, least=bounds.min, most=bounds.max)

    def _along_one(self, window: Windows) -> Call:
        if self.extents.depth:
            return Columns(columns=ColumnWindows.of(window, self.extents.depth), ending=self._ending)
        return Rows(rows=RowWindows.of(window, self.extents.height), ending=self._ending)

    def _along_two(self, rows: Windows, columns: Windows) -> Call:
        columns_first = self.extents.height <= _FEW_ROWS * len(rows.first)
        largest, depth = max(abs(self._ending.least), self._ending.most), self.extents.depth
        bound = error_bound(*((columns, rows) if columns_first else (rows, columns)), largest, self.sums.bits)
        cells = np.repeat(_are_short(columns), depth)
        limits = np.full((2, -len(cells) // BLOCK * -BLOCK), _NEVER, np.float32)
        limits[:, : len(cells)] = 0.5 - bound
        # Exact sums are nearest to the byte half to even that is stored; other roundings of a half are settled.
        limits[0, : len(cells)][cells] = _NEVER if self.sums.rounding is IntegerRounding.HALF_EVEN else 0.5
        settled = Settled(
            bits=self.sums.bits,
            rounding=self.sums.rounding.code,
            least=self._ending.least,
            most=self._ending.most,
            whole_rows=rows.weights,
            whole_columns=columns.weights,
            row_limits=np.where(_are_short(rows), int(not cells.all()), 2),
            limits=limits,
        )
        rows = _weighed(rows, np.float32)
        columns = replace(columns, weights=np.ldexp(columns.weights.astype(np.float32), -self.sums.bits))
        order = ColumnsFirst if columns_first else RowsFirst
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
