"""Identical resizes as one row, with their count: models repeat a resize once for each of their levels or blocks."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, TypeVar

from ir_interp.diagnostic_codes import Severity
from ir_interp.views.describe import count
from ir_interp.views.marks import OF_SEVERITY

if TYPE_CHECKING:
    from ir_interp.cli.terminal import Cell, Console

FindingKey = tuple[str, str, str, Severity, str]
"""The shared parts of findings that are printed as one: file, code, message, severity, next command."""
Key = TypeVar("Key", bound=Hashable)
_NAMED = 2  # resizes whose names are all shown; of more, the first and the last


def folded(rows: Iterable[tuple[str, Key]]) -> list[tuple[tuple[str, ...], Key]]:
    """Return the names of the rows that are otherwise alike, and what they share, in the order of the first ones."""
    names: dict[Key, list[str]] = {}
    for name, rest in rows:
        names.setdefault(rest, []).append(name)
    return [(tuple(those), rest) for rest, those in names.items()]


def folded_cells(rows: Iterable[tuple[str, tuple[Cell, ...]]]) -> list[tuple[Cell, ...]]:
    """Return the rows of a table of resizes, their names as the first cell."""
    return [(name_lines(names), *rest) for names, rest in folded(rows)]


def name_lines(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the lines that stand for the names of resizes."""
    if len(names) <= _NAMED:
        return names
    return names[0], f"... {names[-1]}", count(len(names), "resize")


def place(places: tuple[str, ...]) -> str:
    """Return the first place of a finding, and how many more there are."""
    return places[0] + (f" and {len(places) - 1} more" if len(places) > 1 else "")


def print_findings(console: Console, findings: Iterable[tuple[str, FindingKey]]) -> None:
    """Print findings by their places; under each that is no note, the command that comes next."""
    for places, (_, code, message, severity, step) in folded(findings):
        console.mark(f"{place(places)}: {code} {message}", OF_SEVERITY[severity])
        if severity is not Severity.NOTE:
            console.say(f"    {step}")
