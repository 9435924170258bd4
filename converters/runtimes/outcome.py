"""The outcome of a resize in a runtime, and in its earlier releases."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from ir_interp.resize_op import ResizeOp
from ir_interp.spec import ResizeSpec


class Kind(Enum):
    """The kind of an outcome."""

    SAME = "same"
    DIFFERS = "differs"
    REFUSED = "refused"
    CRASHES = "crashes"
    UNKNOWN = "unknown"  # no rule covers it: only a run decides


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The outcome of a runtime: the ``spec`` that it computes, or None, with the ``kind`` and ``reason`` why.

    ``provided`` is a condition on dynamic dimensions under which it holds; empty if it holds for all. ``but_for``
    names degenerate images for which it does not hold.
    """

    spec: ResizeSpec | None = None
    kind: Kind = Kind.SAME
    reason: str = ""
    provided: str = ""
    but_for: str = ""

    def __str__(self) -> str:
        """Return the reason and the condition, as in ``antialias dropped; provided that no size changes``."""
        return "; ".join(filter(None, (self.reason, self.condition)))

    @property
    def condition(self) -> str:
        """The condition, as text."""
        parts = (self.provided and f"provided that {self.provided}", self.but_for and f"except for {self.but_for}")
        return "; ".join(filter(None, parts))


def computes(spec: ResizeSpec, reason: str = "", provided: str = "") -> Outcome:
    """Return that a runtime computes a resize, which may differ from the intended one."""
    return Outcome(spec=spec, reason=reason, provided=provided)


def refused(reason: str, provided: str = "") -> Outcome:
    """Return that a runtime refuses a resize."""
    return Outcome(kind=Kind.REFUSED, reason=reason, provided=provided)


def unknown(what: str) -> Outcome:
    """Return that no rule covers a resize."""
    return Outcome(kind=Kind.UNKNOWN, reason=f"no rule covers {what}")


def differs(reason: str, provided: str = "") -> Outcome:
    """Return that a runtime computes something that no spec describes."""
    return Outcome(kind=Kind.DIFFERS, reason=reason, provided=provided)


def crashes(reason: str) -> Outcome:
    """Return that a runtime crashes on a resize, or corrupts its memory."""
    return Outcome(kind=Kind.CRASHES, reason=reason)


Rule = Callable[[ResizeOp], Outcome | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Edition:
    """Releases up to ``version``, and their differences from ``today``."""

    version: str
    rules: tuple[Rule, ...]
    today: Callable[[ResizeOp], Outcome]

    def outcome(self, op: ResizeOp) -> Outcome:
        """Return the outcome of a node. ``op.attributes`` are those of the node."""
        # The first rule that applies decides, so the order of an edition's rules matters.
        outcomes = (rule(op) for rule in self.rules)
        earlier = next((outcome for outcome in outcomes if outcome is not None), None)
        return earlier or self.today(op)
