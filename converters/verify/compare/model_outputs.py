"""The outputs of two models on the same inputs: the argument of every rung of the ladder."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ir_interp.errors import VerificationError

from ...reports.verification import Compared
from ..run.array_files import Named
from ..run.processes import Runs
from .array_differences import compare_all, largest_difference


class SegmentError(VerificationError):
    """A segment of a model differs on the source's own values: the error is inside it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOutputs:
    """A source and a result, and their outputs in the order of the source: ``expected`` and ``actual``.

    ``has_half_weights`` means that the result's weights are rounded to half precision. ``tolerance`` is relative, by
    default that of the element types; ``comparisons`` use it. Raises VerificationError if the models
    have different numbers of outputs.
    """

    run: Runs
    source: Path
    result: Path
    expected: Named
    actual: Named
    has_half_weights: bool = False
    tolerance: float | None = None
    comparisons: tuple[Compared, ...] = field(init=False)

    def __post_init__(self) -> None:
        if len(self.expected) != len(self.actual):
            counts = f"{len(self.actual)} outputs, its source {len(self.expected)}"
            raise VerificationError(f"{self.result.name} has {counts}")
        comparisons = compare_all(self.expected, self.actual, tolerance=self.tolerance)
        object.__setattr__(self, "comparisons", comparisons)  # the dataclass is frozen

    def self_difference(self) -> str:
        """Return the source's difference from itself without graph optimisation, as text: it is only reported."""
        try:
            apart = f"{outputs_difference(self.expected, self.run(self.source, optimised=False)[0]):.3g}"
        except VerificationError:
            apart = "an unknown amount"
        return f"the source differs from itself by {apart}"


def outputs_difference(expected: Named, actual: Named) -> float:
    """Return the largest difference between outputs, infinite if their shapes differ."""
    pairs = [(mine, theirs) for (_, mine), (_, theirs) in zip(expected, actual, strict=True)]
    if any(mine.shape != theirs.shape for mine, theirs in pairs):
        return np.inf
    return max((largest_difference(*pair) for pair in pairs), default=0.0)
