"""The last rung: outputs that pass, but whose range of values is within the tolerance, prove nothing.

Other random inputs are tried until every output is conclusive; an output that never is becomes INCONCLUSIVE.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from ...reports.verification import Compared
from ..run.processes import Runs
from .array_differences import worst


def until_conclusive(runs: Iterable[Runs], is_conclusive: Callable[[], bool]) -> Iterator[Runs]:
    """Yield the runs on all inputs, then on other random ones until the results are conclusive."""
    for run in runs:
        if run.is_another and is_conclusive():
            return
        yield run


def over_inputs(comparisons: Sequence[Compared]) -> Compared:
    """Return an output's comparison over several inputs: the worst, and the largest range of its values."""
    return replace(worst(comparisons), span=max(comparison.span for comparison in comparisons))
