"""Loops that numba compiles. Imported only if numba is installed."""

from ir_interp.executor import loop_calls
from ir_interp.executor.loops import byte_sums, floats, neighbours, ordered_sums, waiting

__all__ = ["LOOPS", "waiting"]

LOOPS: dict[tuple[type, ...], loop_calls.Loop] = {
    (loop_calls.Copies,): neighbours.copies,
    (loop_calls.Rows, loop_calls.Kept): floats.floats_rows,
    (loop_calls.Columns, loop_calls.Kept): floats.floats_columns,
    (loop_calls.RowsFirst, loop_calls.Kept): floats.floats_rows_first,
    (loop_calls.ColumnsFirst, loop_calls.Kept): floats.floats_columns_first,
    (loop_calls.Rows, loop_calls.Narrow): floats.sixteen_rows,
    (loop_calls.Columns, loop_calls.Narrow): floats.sixteen_columns,
    (loop_calls.RowsFirst, loop_calls.Narrow): floats.sixteen_rows_first,
    (loop_calls.ColumnsFirst, loop_calls.Narrow): floats.sixteen_columns_first,
    (loop_calls.Rows, loop_calls.Whole): byte_sums.bytes_rows,
    (loop_calls.Columns, loop_calls.Whole): byte_sums.bytes_columns,
    (loop_calls.RowsFirst, loop_calls.Settled): byte_sums.bytes_rows_first,
    (loop_calls.ColumnsFirst, loop_calls.Settled): byte_sums.bytes_columns_first,
    (loop_calls.StepRows, loop_calls.Stepped): ordered_sums.float_rows,
    (loop_calls.StepColumns, loop_calls.Stepped): ordered_sums.float_columns,
    (loop_calls.StepRows, loop_calls.Fixed): ordered_sums.fixed_rows,
    (loop_calls.StepColumns, loop_calls.Fixed): ordered_sums.fixed_columns,
    (loop_calls.Halves,): neighbours.halves,
    (loop_calls.Blended,): neighbours.blended,
    (loop_calls.Shortened,): ordered_sums.shortened,
    (loop_calls.Chained,): ordered_sums.chained,
    (loop_calls.Paired,): ordered_sums.paired,
    (loop_calls.Cornered,): neighbours.cornered,
}
"""The loop of every call, by its class and that of its ending; ``x``, ``y`` and the rows to compute come first."""
