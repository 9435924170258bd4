"""What comes of a resize in a runtime."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from ir_interp.spec import (
    ResizeSpec,
)


class Kind(Enum):
    """What comes of a resize in a runtime."""

    SAME = "same"
    DIFFERS = "differs"
    REFUSED = "refused"
    CRASHES = "crashes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """What a runtime would do: compute ``spec``, or if there is none, ``kind`` without a number, for ``reason``."""

    spec: ResizeSpec | None = None
    kind: Kind = Kind.SAME
    reason: str = ""


def refused(reason: str) -> Forecast:
    """Return that a runtime does not take a resize."""
    return Forecast(kind=Kind.REFUSED, reason=reason)


def differs(reason: str) -> Forecast:
    """Return that a runtime computes something else."""
    return Forecast(kind=Kind.DIFFERS, reason=reason)
