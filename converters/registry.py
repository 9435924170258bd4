"""Find the dialects: every module ``<name>_resize.py`` of this package holds one, as ``DIALECT``."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

import converters
from ir_interp.dialect import Dialect
from ir_interp.errors import ReadError, closest

_SUFFIX = "_resize"


@cache
def names() -> tuple[str, ...]:
    """Return the dialects' names, without importing them."""
    modules = (module.name for module in pkgutil.iter_modules(converters.__path__))
    return tuple(name.removesuffix(_SUFFIX) for name in modules if name.endswith(_SUFFIX))


def get(name: str) -> Dialect:
    """Return a dialect; its module is imported on first use. Raises ReadError for an unknown name."""
    if name not in names():
        raise ReadError(f"unknown dialect {name!r}; {closest(name, names())}")
    dialect: Dialect = importlib.import_module(f"converters.{name}{_SUFFIX}").DIALECT
    return dialect
