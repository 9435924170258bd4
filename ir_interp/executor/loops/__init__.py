"""Loops that numba compiles. Imported only if numba is installed."""

from ir_interp.executor import loop_calls
from ir_interp.executor.loops import neighbours, ordered_sums, waiting, windows

__all__ = ["LOOPS", "waiting"]

LOOPS: dict[type, loop_calls.Loop] = {
    loop_calls.Copies: neighbours.copies,
    loop_calls.Rows: windows.rows,
    loop_calls.Columns: windows.columns,
    loop_calls.RowsFirst: windows.rows_first,
    loop_calls.ColumnsFirst: windows.columns_first,
    loop_calls.SettledRowsFirst: ordered_sums.rows_first,
    loop_calls.SettledColumnsFirst: ordered_sums.columns_first,
    loop_calls.StepRows: ordered_sums.step_rows,
    loop_calls.StepColumns: ordered_sums.step_columns,
    loop_calls.Halves: neighbours.halves,
    loop_calls.Blended: neighbours.blended,
    loop_calls.Shortened: ordered_sums.shortened,
    loop_calls.Chained: ordered_sums.chained,
    loop_calls.Paired: ordered_sums.paired,
    loop_calls.Cornered: neighbours.cornered,
}
"""The loop of every call, by its class; ``x``, ``y`` and the rows to compute come first."""
