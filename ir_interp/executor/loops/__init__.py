"""Loops that numba compiles. Imported only if numba is installed."""

from typing import Any

from ir_interp.executor.compiled import calls
from ir_interp.executor.loops import (
    blends,
    byte_planes,
    byte_sums,
    cell_corners,
    copies,
    floats,
    halves,
    library_steps,
    runtime_sums,
    sixteen,
    waiting,
)

__all__ = ["LOOPS", "waiting"]

LOOPS: dict[tuple[type, ...], Any] = {
    (calls.Copies,): copies.copies,
    (calls.Rows, calls.Kept): floats.floats_rows,
    (calls.Columns, calls.Kept): floats.floats_columns,
    (calls.RowsFirst, calls.Kept): floats.floats_rows_first,
    (calls.ColumnsFirst, calls.Kept): floats.floats_columns_first,
    (calls.Rows, calls.Narrow): sixteen.sixteen_rows,
    (calls.Columns, calls.Narrow): sixteen.sixteen_columns,
    (calls.RowsFirst, calls.Narrow): sixteen.sixteen_rows_first,
    (calls.ColumnsFirst, calls.Narrow): sixteen.sixteen_columns_first,
    (calls.Rows, calls.Whole): byte_sums.bytes_rows,
    (calls.Columns, calls.Whole): byte_sums.bytes_columns,
    (calls.RowsFirst, calls.Settled): byte_planes.bytes_rows_first,
    (calls.ColumnsFirst, calls.Settled): byte_planes.bytes_columns_first,
    (calls.StepRows, calls.Stepped): runtime_sums.float_rows,
    (calls.StepColumns, calls.Stepped): runtime_sums.float_columns,
    (calls.StepRows, calls.Fixed): runtime_sums.fixed_rows,
    (calls.StepColumns, calls.Fixed): runtime_sums.fixed_columns,
    (calls.Halves,): halves.halves,
    (calls.Blended,): blends.blended,
    (calls.Shortened,): library_steps.shortened,
    (calls.Chained,): library_steps.chained,
    (calls.Paired,): library_steps.paired,
    (calls.Cornered,): cell_corners.cornered,
}
"""The loop of every call, by its class and that of its ending; ``x``, ``y`` and the rows to compute come first."""
