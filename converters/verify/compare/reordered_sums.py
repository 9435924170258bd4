"""Rung 3: outputs differ by no more than sums do whose terms are added in another order."""

from __future__ import annotations

from ...reports.verification import Verification
from .array_differences import all_pass
from .model_outputs import ModelOutputs


def prove(outputs: ModelOutputs) -> Verification | None:
    """Return the comparisons of outputs if all are equal within ``tolerances.OUTPUT``; None if one is not."""
    is_equal = all_pass(outputs.comparisons)
    return Verification(outputs=outputs.comparisons) if is_equal else None
