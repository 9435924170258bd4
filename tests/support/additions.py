"""What a page tells to add to the project, done in a copy: its blocks of code, each below the name of its file.

The line above a block names the file, as in "`converters/new.py`:". Where it goes on with "above `text`" or "in place
of `text`", the block goes in front of the first line that begins so, or replaces it, indented as that line is.
"""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import indent

from tests.support.places import ROOT

REPORTED = "mypy then reports"
"""The words of a page above the blocks whose places mypy reports once those above are added."""

_BLOCK = re.compile(r"`([\w/]+\.py)`(?:, (above|in place of) `([^\n]+)`)?:\n\n```(?:python|text)\n(.*?)```", re.DOTALL)


def additions(page: Path) -> list[tuple[str, str, str, str]]:
    """Return the file, place, line and text of every block on a page."""
    return _BLOCK.findall(page.read_text(encoding="utf-8"))


def files(page: str) -> tuple[set[str], set[str]]:
    """Return the files that a page of docs/ adds to, and the others that mypy reports then."""
    chosen, _, reported = (ROOT / "docs" / page).read_text(encoding="utf-8").partition(REPORTED)
    names = {name for name, *_ in _BLOCK.findall(chosen)}
    return names, {name for name, *_ in _BLOCK.findall(reported)} - names


def add(page: str, folder: Path, *, is_whole: bool = True) -> set[str]:
    """Add the blocks of a page of docs/ to a copy of the project in a folder; return the files.

    Unless ``is_whole``, those whose places mypy reports are left out.
    """
    blocks = [block for block in additions(ROOT / "docs" / page) if is_whole or block[0] in files(page)[0]]
    for name, place, line, text in blocks:
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        whole = path.read_text(encoding="utf-8") if path.exists() else ""
        assert path.exists() == bool(place), f"{page}: {name} is no new file, or none yet"
        path.write_text(_placed(whole, place, line, text) if place else text, encoding="utf-8")
    return {name for name, *_ in blocks}


def _placed(whole: str, place: str, line: str, text: str) -> str:
    lines = whole.splitlines(keepends=True)
    at = next(number for number, each in enumerate(lines) if each.lstrip().startswith(line))
    spaces = len(lines[at]) - len(lines[at].lstrip())
    lines[at : at + (place == "in place of")] = indent(text, " " * spaces).splitlines(keepends=True)
    return "".join(lines)
