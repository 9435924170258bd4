"""Names from untrusted files, shown as plain text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f"  # control characters: they move the cursor, set colours or end lines
    "\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"  # invisible, or changing the direction of writing
    "\ud800-\udfff\ufff9-\ufffb\ufffe\uffff\U000e0000-\U000e007f]"  # surrogates, annotations, tags
)


def printable(text: str, but: str = "") -> str:
    r"""Return a text on one line, with escapes such as ``\n`` and ``\x1b`` for invisible and control characters.

    The characters in ``but`` are kept.
    """
    return _UNSEEN.sub(lambda match: match[0] if match[0] in but else match[0].encode("unicode_escape").decode(), text)


def labels(files: Iterable[str | Path]) -> dict[str, str]:
    """Return a label for each file: its name, or its path from the current folder if several share the name."""
    paths = {str(file): Path(file) for file in files}
    times = Counter(path.name for path in paths.values())
    return {text: path.name if times[path.name] == 1 else _from_here(path) for text, path in paths.items()}


def _from_here(path: Path) -> str:
    here = Path.cwd()
    return path.relative_to(here).as_posix() if path.is_relative_to(here) else path.as_posix()
