"""A spec expressed in a dialect, and its grade of exactness."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

from ir_interp.spec import ResizeSpec


class Grade(Enum):
    """The exactness of a translation, the best first."""

    EXACT = "exact"
    EXACT_FOR_SHAPE = "exact for this shape"
    EXACT_BUT_TIES = "exact but for float32 ties"
    DECOMPOSED = "exact, in several operations"
    INTEGERS_WITHIN_1 = "integers within 1 per axis"
    INTEGERS_WITHIN = "integers within a bound"  # the bound is ``Translation.within``

    def worded(self, within: int) -> str:
        """Return the grade as text with its bound, as in ``integers within 2``."""
        return f"integers within {within}" if self is Grade.INTEGERS_WITHIN else str(self.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Translation:
    """A spec expressed in a dialect: its ``attributes``, ``spec`` as their meaning there, and remarks.

    ``within`` is the largest difference of integers, if both sides sum them differently.
    """

    dialect: str
    version: int
    attributes: dict[str, Any]
    spec: ResizeSpec
    grade: Grade
    remarks: tuple[tuple[str, str], ...] = ()
    within: int = 0

    @property
    def exactness(self) -> str:
        """The grade as text."""
        return self.grade.worded(self.within)
