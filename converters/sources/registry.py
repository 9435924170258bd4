"""Find the dialects: every module of ``dialects/`` holds one, as ``DIALECT``; other packages provide more."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from types import MappingProxyType
from typing import Any

from ir_interp.errors import ReadError, closest
from ir_interp.translation.dialect import Dialect

from .. import dialects

GROUP = "ir_interp.dialects"
"""The entry points that name modules with a ``DIALECT``, by the dialect's name."""


def names() -> tuple[str, ...]:
    """Return the dialects' names in alphabetical order, without importing them."""
    return tuple(sorted({*own(), *_brought()}))


@cache
def get(name: str) -> Dialect:
    """Return a dialect; its module is imported on first use.

    Raises ReadError for an unknown name, and if another package provides something else than a dialect of that name.
    """
    brought = _brought().get(name, ())
    if len(brought) + (name in own()) > 1:
        several = [*(["the built-in one"] if name in own() else []), *map(_spelled, brought)]
        raise ReadError(f"{len(several)} dialects are named {name!r}: {', '.join(several)}; remove all but one")
    if not brought and name not in own():
        raise ReadError(f"unknown dialect {name!r}; {closest(name, names())}")
    place = _spelled(brought[0]) if brought else f"{dialects.__name__}.{name}"
    try:
        module = brought[0].load() if brought else importlib.import_module(f".{name}", dialects.__name__)
    except Exception as error:  # whatever a foreign module raises on import
        raise ReadError(f"{place} cannot be loaded: {type(error).__name__}: {error}") from error
    return _dialect(module, name, place)


@cache
def own() -> tuple[str, ...]:
    """Return the names of the project's own dialects: the modules of ``dialects/``."""
    return tuple(sorted(module.name for module in pkgutil.iter_modules(dialects.__path__)))


@cache
def _brought() -> Mapping[str, tuple[EntryPoint, ...]]:
    """Return the entry points of other packages by name; a package that is found twice on the path counts once."""
    entries: dict[str, dict[str, EntryPoint]] = {}
    for entry in entry_points(group=GROUP):
        entries.setdefault(entry.name, {})[entry.value] = entry
    return MappingProxyType({name: tuple(by_value.values()) for name, by_value in entries.items()})


def _dialect(module: Any, name: str, place: str) -> Dialect:
    dialect = getattr(module, "DIALECT", None)
    if not isinstance(dialect, Dialect):
        problem = (
            "has no DIALECT" if dialect is None else f"has a DIALECT of type {type(dialect).__name__}, not Dialect"
        )
        raise ReadError(f"{place} {problem}")
    if dialect.name != name:
        raise ReadError(f"{place} has a DIALECT named {dialect.name!r}; expected {name!r}")
    return dialect


def _spelled(brought: EntryPoint) -> str:
    package = f" of {brought.dist.name} {brought.dist.version}" if brought.dist else ""
    return f"entry point '{brought.name} = {brought.value}'{package}"
