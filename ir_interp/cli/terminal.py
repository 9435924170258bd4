"""A terminal that shows what files hold as text, whatever it is."""

from __future__ import annotations

from typing import Any

from rich import console, markup

from ir_interp.names import shown


class Console(console.Console):
    """Prints texts as lines, each without what would do something; tables hold what ``escape`` returns."""

    def print(self, *objects: Any, **options: Any) -> None:
        """Print lines and tables; see Rich."""
        super().print(*(shown(each) if isinstance(each, str) else each for each in objects), **options)


def escape(text: str) -> str:
    """Return a text for a table: neither markup nor a control character has a meaning in it."""
    return markup.escape(shown(text))
