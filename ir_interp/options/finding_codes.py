"""Codes of findings, chosen by their beginnings or by their kinds."""

from __future__ import annotations

from collections.abc import Sequence

from ir_interp.diagnostic_codes import RULES, Severity
from ir_interp.errors import SpecError, closest

FAILURES = {
    "differs": ("IRI00", "IRI023"),
    "refused": ("IRI021", "IRI022"),
    "unknown": ("IRI025", "IRI027"),
    "mistake": ("IRI01",),
}
"""Kinds of findings, by the beginnings of their codes."""
ON_REQUEST = "IRI031"
"""The finding that is reported only where it is selected."""

BYTE_PRODUCTS = "IRI026"
"""The finding about sums of 8-bit products."""
UNREAD = "IRI027"
"""The finding about a resize that cannot be read."""


def check_codes(words: Sequence[str], known: Sequence[str] = tuple(RULES)) -> None:
    """Raise SpecError, with the closest of ``known``, for a word that no code among these begins with."""
    for word in words:
        if not word or not any(code.startswith(word) for code in known if code in RULES):
            raise SpecError(f"no code begins with {word!r}; {closest(word, known)}")


def is_chosen(code: str, select: Sequence[str], ignore: Sequence[str]) -> bool:
    """Say whether a code is selected, and not ignored more precisely than it is selected."""
    chosen = max((len(word) for word in select or ("",) if code.startswith(word)), default=-1)
    unwanted = max((len(word) for word in ignore if code.startswith(word)), default=-1)
    return chosen > unwanted


def fails(code: str, severity: Severity, on: Sequence[str]) -> bool:
    """Say whether a finding is among the kinds ``on``; a note is only where its code is written in full."""
    return code in on or (severity is not Severity.NOTE and code.startswith(codes_of(on)))


def codes_of(kinds: Sequence[str]) -> tuple[str, ...]:
    """Return the beginnings of the codes that some kinds of findings, or codes, stand for; every code's for none.

    Raises SpecError for other words.
    """
    check_codes([word for word in kinds if word not in FAILURES], (*FAILURES, *RULES))
    return tuple(code for word in kinds for code in FAILURES.get(word, (word,))) or ("",)
