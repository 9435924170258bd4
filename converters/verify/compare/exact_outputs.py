"""Rung 2: all outputs have the same values."""

from __future__ import annotations

from ...reports.verification import Verification
from .model_outputs import ModelOutputs


def prove(outputs: ModelOutputs) -> Verification | None:
    """Return the comparisons of outputs if none differs; None if one does."""
    is_exact = all(comparison.absolute == 0 for comparison in outputs.comparisons)
    return Verification(outputs=outputs.comparisons) if is_exact else None
