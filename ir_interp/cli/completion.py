"""The values of options that a shell completes; computed on request, as some take a while to import."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

import typer

from ir_interp.diagnostic_codes import RULES
from ir_interp.errors import IrInterpError
from ir_interp.options.finding_codes import BYTE_PRODUCTS, FAILURES
from ir_interp.translation.dialect import Semantics

Complete = Callable[[typer.Context, str], list[str]]
_FILES = ("file", "model", "source", "subject")
"""The arguments that may be the file of a resize."""


def completion(name: str) -> Complete:
    """Return what completes the last word of a list from the words of a name."""

    def complete(ctx: typer.Context, incomplete: str) -> list[str]:
        # Options take lists with commas, of which only the last word is completed.
        before, comma, last = incomplete.rpartition(",")
        return [f"{before}{comma}{word}" for word in words(name, ctx) if word.startswith(last)]

    return complete


def words(name: str, ctx: typer.Context | None = None) -> list[str]:
    """Return the words of a name; of layers, those in the file that the command line names already."""
    if name == "layers":
        return _layers(ctx.params if ctx else {})
    return list(WORDS[name]())


def _layers(arguments: dict[str, object]) -> list[str]:
    import ir_interp

    file = next((arguments[name] for name in _FILES if arguments.get(name)), None)
    names: list[str] = []
    with suppress(IrInterpError, OSError):  # a shell shows nothing for what it cannot complete
        names = [op.name for op in ir_interp.load(Path(str(file))) if op.name] if file else []
    return names


def _runtimes() -> Iterable[str]:
    from ir_interp.converters.predictions.runtimes_asked import NAMES

    return [*NAMES, "installed"]


def _runners() -> Iterable[str]:
    from ir_interp.converters.runtimes.running import RUNNERS

    return RUNNERS


def _targets() -> Iterable[str]:
    from ir_interp.converters.portable.targets import names

    return names()


def _dialects() -> Iterable[str]:
    from ir_interp.converters.sources import registry

    return registry.names()


def _likes() -> Iterable[str]:
    from ir_interp import library_registry

    for library in map(library_registry.get, library_registry.names()):
        choices = library.dialect.choices(library.dialect.versions[0])[library.first]
        for word in choices:
            call = f"{library.name}:{word.removeprefix('INTER_').lower()}"
            with suppress(IrInterpError):  # SciPy's orders from 2 on are not supported
                library_registry.load(call)
                yield call


WORDS: dict[str, Callable[[], Iterable[str]]] = {
    "codes": lambda: RULES,
    "failures": lambda: (*FAILURES, *RULES),
    "mistakes": lambda: (code for code in RULES if code.startswith("IRI01") or code == BYTE_PRODUCTS),
    "semantics": lambda: (reading.value for reading in Semantics),
    "runtimes": _runtimes,
    "runners": _runners,
    "targets": _targets,
    "dialects": _dialects,
    "likes": _likes,
}
