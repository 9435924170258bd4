"""A bar while something is done."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def bar(quiet: bool = False, what: str = "reading") -> Iterator[Callable[[str, int, int], None]]:
    """Show a bar where somebody looks at a terminal, unless ``quiet``.

    Yields what tells it what is done, how much, and of how much.
    """
    from rich.console import Console
    from rich.progress import Progress

    from ir_interp.cli.terminal import escape

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=quiet or not console.is_terminal) as shown:
        task = shown.add_task(escape(what), total=None)
        yield lambda what, done, total: shown.update(
            task, description=escape(what), completed=done, total=total or None
        )
