"""Numbers as text, in plain decimal syntax; Python also accepts ``1_0`` and the digits of other scripts."""

from __future__ import annotations

import re

_INTEGER = re.compile(r"\s*[+-]?[0-9]{1,19}\s*")
_REAL = re.compile(r"\s*[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?|inf|infinity|nan)\s*", re.IGNORECASE)


def integer(text: str) -> int:
    """Return an integer of 64 bits. Raises ValueError for any other text."""
    if not _INTEGER.fullmatch(text) or not -(2**63) <= int(text) < 2**63:
        raise ValueError(f"{text!r} is not an integer")
    return int(text)


def real(text: str) -> float:
    """Return a number. Raises ValueError for any other text."""
    if not _REAL.fullmatch(text):
        raise ValueError(f"{text!r} is not a number")
    return float(text)
