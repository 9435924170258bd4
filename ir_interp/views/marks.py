"""Marks: how well something went, as a sign that pages and terminals show beside its word."""

from __future__ import annotations

from typing import Literal

from ir_interp.diagnostic_codes import Severity
from ir_interp.translation.grades import Grade

Tone = Literal["good", "doubt", "bad", "plain"]
"""How a mark is coloured; its word and its sign say the same."""

SIGNS: dict[Tone, str] = {"good": "✓", "doubt": "!", "bad": "✗", "plain": "·"}
SIGNS_IN_ASCII: dict[Tone, str] = {"good": "+", "doubt": "!", "bad": "x", "plain": "-"}

OF_SEVERITY: dict[Severity, Tone] = {Severity.NOTE: "plain", Severity.WARNING: "doubt", Severity.ERROR: "bad"}
OF_GRADE: dict[Grade, Tone] = {
    Grade.EXACT: "good",
    Grade.EXACT_FOR_SHAPE: "good",  # all that a static model asks for; --strict asks for every shape
    Grade.EXACT_BUT_TIES: "plain",
    Grade.DECOMPOSED: "good",
    Grade.INTEGERS_WITHIN_1: "plain",
    Grade.INTEGERS_WITHIN: "plain",
}

OF_VERDICT: dict[str, Tone] = {
    "equal": "good",
    "equal on this processor": "doubt",
    "unknown": "doubt",
    "INCONCLUSIVE": "doubt",
    "DIFFERS": "bad",
}
"""The marks of compared outputs, and of plain calls."""
