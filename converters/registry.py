"""Find the dialects: every module of ``dialects/`` holds one, as ``DIALECT``; other packages bring theirs.

Another package names its module, ``my_package.my_dialect``, under the entry point group ``ir_interp.dialects``.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from importlib.metadata import EntryPoint, entry_points

from ir_interp.errors import ReadError, closest
from ir_interp.translation.dialect import Dialect

from . import dialects

GROUP = "ir_interp.dialects"
"""The entry points that name modules with a ``DIALECT``, by the dialect's name."""


@cache
def names() -> tuple[str, ...]:
    """Return the dialects' names in alphabetical order, without importing them."""
    return tuple(sorted({*_own(), *_brought()}))


def get(name: str) -> Dialect:
    """Return a dialect; its module is imported on first use. Raises ReadError for an unknown name."""
    if name in _own():
        module = importlib.import_module(f".{name}", dialects.__name__)
    elif name in _brought():
        module = _brought()[name].load()
    else:
        raise ReadError(f"unknown dialect {name!r}; {closest(name, names())}")
    dialect: Dialect = module.DIALECT
    return dialect


@cache
def _own() -> tuple[str, ...]:
    return tuple(module.name for module in pkgutil.iter_modules(dialects.__path__))


@cache
def _brought() -> dict[str, EntryPoint]:
    return {each.name: each for each in entry_points(group=GROUP) if each.name not in _own()}
