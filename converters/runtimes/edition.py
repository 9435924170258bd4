"""Earlier releases of a runtime: how they computed otherwise than today's, rule by rule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ir_interp.resize_op import ResizeOp

from .outcome import Outcome

Rule = Callable[[ResizeOp], Outcome | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Edition:
    """Releases up to ``version``, and their differences from ``today``."""

    version: str
    rules: tuple[Rule, ...]
    today: Callable[[ResizeOp], Outcome]

    def outcome(self, op: ResizeOp) -> Outcome:
        """Return the outcome of a node. ``op.attributes`` are those of the node."""
        found = (rule(op) for rule in self.rules)
        earlier = next((each for each in found if each is not None), None)
        return earlier or self.today(op)
