"""The choice of the compiled loops for a case."""

from __future__ import annotations

import numpy as np

from ir_interp.executor.compiled import exact_jobs, float_jobs, ordered_jobs
from ir_interp.executor.compiled.jobs import Job
from ir_interp.executor.strategies.case import Case
from ir_interp.plan.libraries import passes
from ir_interp.plan.runtimes.integer_steps import Along, Corners

_EIGHT_BITS = ("uint8", "int8")


def jobs_of(case: Case) -> tuple[Job, ...]:
    """Return a case as a sequence of loop jobs; empty if there are no such loops."""
    bound, piece, dtype = case.bound, case.piece, case.dtype
    if case.is_premultiplied:  # a piece reads all channels, but its output may have fewer
        return ()
    if case.copies:
        return float_jobs.copies(bound, piece, dtype)
    if case.averages_integers and case.exact_sums:
        return exact_jobs.jobs(case.exact_sums, case.padded, dtype)
    if case.is_in_passes:
        is_ordered = dtype == np.uint8 and not passes.are_at_once(bound)
        return ordered_jobs.in_order(bound, piece) if is_ordered else ()
    if not case.runtime_steps:
        return float_jobs.floats(bound, piece, dtype, case.rounding)
    first = case.runtime_steps[0]
    if isinstance(first, Corners):
        return ordered_jobs.cornered(first, piece) if dtype.name in _EIGHT_BITS else ()
    return ordered_jobs.of_runtime([step for step in case.runtime_steps if isinstance(step, Along)], piece, dtype)
