"""Names from files, shown so that they stay what they are: text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f"  # what moves a cursor, sets colours or ends lines
    "\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"  # what is not seen, or turns the direction of writing
    "\ud800-\udfff\ufff9-\ufffb\ufffe\uffff\U000e0000-\U000e007f]"  # half characters, annotations, tags
)


def shown(text: str, but: str = "") -> str:
    r"""Return a text of one line, with escapes such as ``\n`` and ``\x1b`` for what would not be seen, or do something.

    Characters of ``but`` stay as they are.
    """
    return _UNSEEN.sub(lambda found: found[0] if found[0] in but else _escape(found[0]), text)


def labels(files: Iterable[str | Path]) -> dict[str, str]:
    """Return what to call each of some files: its name, or where several have it, its path from the current folder."""
    paths = {str(file): Path(file) for file in files}
    times = Counter(path.name for path in paths.values())
    return {text: path.name if times[path.name] == 1 else _from_here(path) for text, path in paths.items()}


def _from_here(path: Path) -> str:
    here = Path.cwd()
    return path.relative_to(here).as_posix() if path.is_relative_to(here) else path.as_posix()


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode()
