"""How shells and notebooks show results: a line, and tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import islice

from ir_interp.text.names import printable

_LONGEST = 300  # characters of a line in a shell
_ROWS = 20  # of a table in a notebook


def line(kind: str, text: str) -> str:
    """Return a result in one line, as in ``<Audit: 1 resize in 1 file, 0 findings>``."""
    whole = f"<{kind}: {printable(text)}>"
    return whole if len(whole) <= _LONGEST else f"{whole[: _LONGEST - 4]}...>"


def table(rows: Mapping[str, str]) -> str:
    """Return an HTML table with a row for every name and its text."""
    cells = (f"<tr><th>{escape(name)}</th><td>{escape(text)}</td></tr>" for name, text in rows.items())
    return f"<table>{''.join(cells)}</table>"


def columns(title: str, names: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return an HTML table under a title, with a column for every name; of many rows the first."""
    left = iter(rows)
    cells = [_row("td", row) for row in islice(left, _ROWS)]
    more = sum(1 for _ in left)
    note = f"<p>and {more} more</p>" if more else ""
    head = f"<caption>{escape(title)}</caption><thead>{_row('th', names)}</thead>"
    return f"<table>{head}<tbody>{''.join(cells)}</tbody></table>{note}"


def _row(kind: str, cells: Sequence[str]) -> str:
    return f"<tr>{''.join(f'<{kind}>{escape(cell)}</{kind}>' for cell in cells)}</tr>"
