"""Options and tables of all sweeps."""

from __future__ import annotations

import argparse
from collections.abc import Sequence


def options(doc: str | None) -> argparse.ArgumentParser:
    """Return the options of every sweep; the help begins as its module does."""
    parser = argparse.ArgumentParser(description=(doc or "").partition("\n")[0])
    parser.add_argument("--cases", type=int, default=1000, help="of each kind")
    parser.add_argument("--seed", type=int, default=1)
    return parser


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Return rows as lines of columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)
