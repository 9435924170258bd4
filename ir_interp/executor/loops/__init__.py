"""Loops that numba compiles. Imported only where it is installed.

The code that is kept of a loop is made again where its own file changes: who changes ``taps`` or ``vectors``, which the
others build on, removes ``__pycache__``. An installation writes all files anew.
"""

from ir_interp.executor.loops.blends import blended
from ir_interp.executor.loops.copies import copies
from ir_interp.executor.loops.corners import cornered
from ir_interp.executor.loops.floats import floats_columns, floats_columns_first, floats_rows, floats_rows_first
from ir_interp.executor.loops.halves import halves
from ir_interp.executor.loops.sixteen import (
    are_converted,
    sixteen_columns,
    sixteen_columns_first,
    sixteen_rows,
    sixteen_rows_first,
)
from ir_interp.executor.loops.steps import chained, paired, shortened
from ir_interp.executor.loops.sums import columns, rows, rows_then_columns

__all__ = [
    "are_converted",
    "blended",
    "chained",
    "columns",
    "copies",
    "cornered",
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
