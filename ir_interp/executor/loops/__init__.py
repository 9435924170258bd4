"""Loops that numba compiles. Imported only where it is installed."""

from ir_interp.executor.loops.blends import blended
from ir_interp.executor.loops.copies import copies
from ir_interp.executor.loops.corners import cornered
from ir_interp.executor.loops.floats import floats_columns, floats_columns_first, floats_rows, floats_rows_first
from ir_interp.executor.loops.halves import halves
from ir_interp.executor.loops.runtimes import fixed_columns, fixed_rows, float_columns, float_rows
from ir_interp.executor.loops.sixteen import (
    sixteen_columns,
    sixteen_columns_first,
    sixteen_rows,
    sixteen_rows_first,
)
from ir_interp.executor.loops.steps import chained, paired, shortened
from ir_interp.executor.loops.sums import columns, columns_then_rows, rows, rows_then_columns

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
