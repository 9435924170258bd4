"""How the program was called, and how it is to print results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from ir_interp.cli import json_schemas
from ir_interp.errors import IrInterpError
from ir_interp.text.quoting import shell

_COMMAND: ContextVar[Sequence[str]] = ContextVar("command", default=())


def remember(arguments: Sequence[str]) -> None:
    """Remember the command line, for the reports of it."""
    _COMMAND.set(tuple(arguments))


def command() -> str:
    """Return the command as a line of a shell."""
    return shell("ir-interp", *_COMMAND.get())


def printed_form(options: Any) -> str:
    """Return how to print: the value of a format, or "none". Raises IrInterpError where options contradict."""
    forms = {
        "--format": options.style and str(options.style.value),
        "--json": options.as_json and "json",
        "--quiet": getattr(options, "quiet", False) and "none",
    }
    chosen = {form for form in forms.values() if form}
    if len(chosen) > 1:
        raise IrInterpError(f"{' and '.join(flag for flag, form in forms.items() if form)} exclude each other")
    return chosen.pop() if chosen else "text"


def print_result(form: str, record: Callable[[], Mapping[str, Any]], show: Callable[[], None]) -> None:
    """Print a result: ``record`` as JSON, or as text by ``show``; nothing in the form "none"."""
    if form == "json":
        print(json_schemas.printed(record()))
    elif form == "text":
        show()


def check_image(image: Path | None, html: Path | None) -> None:
    """Raise IrInterpError for an --image that no page would show, ReadError for a file that is no image."""
    from ir_interp.views.image_arrays import pixels

    if image and not html:
        raise IrInterpError("--image has no effect without --html")
    if image:
        pixels(image)
