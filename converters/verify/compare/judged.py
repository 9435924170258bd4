"""Whether two models make the same: exactly, but for rounding, order of ties, or levels."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from ir_interp.errors import VerificationError

from ...report import Verification
from ..run.processes import Runs
from ..run.runners import Named
from . import differences, quantised, spread
from .differences import compared
from .rows import Aligned, aligned, sorts


def judged(
    run: Runs, source: Path, result: Path, wanted: Named, got: Named, *, half_weights: bool = False
) -> Verification:
    """Compare the outputs of two models, by what the source's own runtime lets expect where that is needed.

    Raises VerificationError for the first that differs by more, or the first stretch between two quantisations.
    """
    try:
        return Verification(outputs=compared(wanted, got, result.name, differences.TOLERANCE))
    except VerificationError:
        if len(wanted) != len(got):
            raise
    graph = run.models.graph
    if quantised.quantises(source, result):
        return quantised.verified(run, source, result, wanted, got)
    moved = aligned(wanted, got, differences.TOLERANCE) if sorts(graph) else Aligned(outputs=got)
    with suppress(VerificationError):
        return Verification(
            outputs=compared(wanted, moved.outputs, result.name, differences.TOLERANCE), note=moved.note
        )
    return spread.verified(run, source, result, wanted, got, half_weights=half_weights, sorts=sorts(graph))
