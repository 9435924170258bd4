"""Tables that notebooks show."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape


def table(rows: Mapping[str, str]) -> str:
    """Return an HTML table with a row for every name and its text."""
    cells = (f"<tr><th>{escape(name)}</th><td>{escape(text)}</td></tr>" for name, text in rows.items())
    return f"<table>{''.join(cells)}</table>"
