"""Loops that numba compiles. Imported only where it is installed."""

from ir_interp.executor.loops.blends import blended
from ir_interp.executor.loops.byte_sums import columns, columns_then_rows, rows, rows_then_columns
from ir_interp.executor.loops.cell_corners import cornered
from ir_interp.executor.loops.copies import copies
from ir_interp.executor.loops.floats import floats_columns, floats_columns_first, floats_rows, floats_rows_first
from ir_interp.executor.loops.halves import halves
from ir_interp.executor.loops.library_steps import chained, paired, shortened
from ir_interp.executor.loops.runtime_sums import fixed_columns, fixed_rows, float_columns, float_rows
from ir_interp.executor.loops.sixteen import (
    sixteen_columns,
    sixteen_columns_first,
    sixteen_rows,
    sixteen_rows_first,
)

__all__ = [
    "blended",
    "chained",
    "columns",
    "columns_then_rows",
    "copies",
    "cornered",
    "fixed_columns",
    "fixed_rows",
    "float_columns",
    "float_rows",
    "floats_columns",
    "floats_columns_first",
    "floats_rows",
    "floats_rows_first",
    "halves",
    "paired",
    "rows",
    "rows_then_columns",
    "shortened",
    "sixteen_columns",
    "sixteen_columns_first",
    "sixteen_rows",
    "sixteen_rows_first",
]
