"""What a conversion did: one row a resize."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ir_interp.op import ResizeOp
from ir_interp.translate import Grade, Translation


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One translated resize: what it was, what it became, how exactly, and what else to know."""

    name: str
    source: ResizeOp
    form: str
    grade: Grade
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversionReport:
    """The files of a conversion, its resizes, and the largest difference per output where it was verified."""

    source: Path
    destination: Path
    rows: tuple[Row, ...]
    differences: dict[str, float] | None = None


def form(translation: Translation) -> str:
    """Return a translation in one line: its version and its attributes."""
    words = ", ".join(f"{name}={_text(value)}" for name, value in translation.attributes.items())
    return f"{translation.dialect} {translation.version}: {words}"


def _text(value: object) -> str:
    if value is None:
        return "at run time"
    return str(list(value)) if isinstance(value, tuple) else str(value)
