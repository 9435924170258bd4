"""What comes of a resize in a runtime."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from ir_interp.spec import ResizeSpec


class Kind(Enum):
    """What comes of a resize in a runtime, in a word."""

    SAME = "same"
    DIFFERS = "differs"
    REFUSED = "refused"
    CRASHES = "crashes"
    UNKNOWN = "unknown"  # no rule covers it: only a run tells


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a runtime does: it computes ``spec``; or where that is None, what ``kind`` says. ``reason`` says why.

    ``provided`` is a condition on dynamic dimensions under which it holds; nothing where it holds for all. ``but_for``
    names degenerate images for which it does not hold.
    """

    spec: ResizeSpec | None = None
    kind: Kind = Kind.SAME
    reason: str = ""
    provided: str = ""
    but_for: str = ""

    def __str__(self) -> str:
        """Return the reason and the conditions, as in ``antialias dropped; provided that axis 0 keeps its length``."""
        return "; ".join(filter(None, (self.reason, self.condition)))

    @property
    def condition(self) -> str:
        """What it depends on, in words."""
        parts = (self.provided and f"provided that {self.provided}", self.but_for and f"except for {self.but_for}")
        return "; ".join(filter(None, parts))


def computes(spec: ResizeSpec, reason: str = "", provided: str = "") -> Outcome:
    """Return that a runtime computes a resize, which may be another than was meant."""
    return Outcome(spec=spec, reason=reason, provided=provided)


def refused(reason: str, provided: str = "") -> Outcome:
    """Return that a runtime does not take a resize."""
    return Outcome(kind=Kind.REFUSED, reason=reason, provided=provided)


def unknown(what: str) -> Outcome:
    """Return that no rule says what a runtime does with a resize."""
    return Outcome(kind=Kind.UNKNOWN, reason=f"no rule covers {what}")


def differs(reason: str, provided: str = "") -> Outcome:
    """Return that a runtime computes something that no spec describes."""
    return Outcome(kind=Kind.DIFFERS, reason=reason, provided=provided)


def crashes(reason: str) -> Outcome:
    """Return that a runtime dies of a resize, or corrupts its memory."""
    return Outcome(kind=Kind.CRASHES, reason=reason)
