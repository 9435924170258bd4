"""Rung 2: outputs differ by no more than sums do whose terms are added in another order."""

from __future__ import annotations

from ...report import Verification
from .array_differences import all_pass
from .model_outputs import ModelOutputs


def prove(outputs: ModelOutputs) -> Verification | None:
    """Return the comparisons of outputs that are equal within ``tolerances.OUTPUT``; None where one is not."""
    is_equal = all_pass(outputs.comparisons)
    return Verification(outputs=outputs.comparisons) if is_equal else None
