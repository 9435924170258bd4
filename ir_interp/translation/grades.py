"""A spec expressed in a dialect, and how exact that is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

from ir_interp.spec import ResizeSpec


class Grade(Enum):
    """How exact a translation is, the best first."""

    EXACT = "exact"
    EXACT_FOR_SHAPE = "exact for this shape"
    EXACT_BUT_TIES = "exact but for float32 ties"
    DECOMPOSED = "exact, in several operations"
    INTEGERS_WITHIN_1 = "integers within 1 per axis"
    INTEGERS_WITHIN = "integers within a bound"  # that of ``Translation.within``

    def worded(self, within: int) -> str:
        """Return it in words, with its bound, as in ``integers within 2``."""
        return f"integers within {within}" if self is Grade.INTEGERS_WITHIN else str(self.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Translation:
    """A spec expressed in a dialect: its ``attributes``, ``spec`` as what they mean there, and remarks on it.

    ``within`` is how far integers may lie apart, where both sides sum them otherwise.
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
        """The grade in words."""
        return self.grade.worded(self.within)
