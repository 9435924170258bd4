"""A kind of finding, and how much it matters."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Severity(Enum):
    """How much a finding matters."""

    ERROR = "error"  # a runtime refuses the resize, or crashes
    WARNING = "warning"  # outputs differ, between runtimes or from what was likely meant
    NOTE = "note"  # good to know


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A kind of finding: its ``summary``, its background (``story``), and what to do about it (``remedy``).

    ``test`` is the test that proves it: a file of ``tests/`` and a function in it.
    """

    code: str
    severity: Severity
    summary: str
    story: str
    remedy: str
    test: str
