"""Image libraries: which there are, and what a call of one means.

A library has no files to read. What it has is a call with arguments, so its module in ``libraries/`` holds a
``LIBRARY``: a dialect whose attributes are those arguments, and the packages whose installed version is the default.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from ir_interp.errors import ReadError, closest
from ir_interp.spec import ResizeSpec
from ir_interp.translation.library import Library

_FOLDER = "ir_interp.libraries"


@cache
def names() -> tuple[str, ...]:
    """Return the names of all libraries in alphabetical order, without importing them."""
    return tuple(sorted(module.name for module in pkgutil.iter_modules(importlib.import_module(_FOLDER).__path__)))


@cache
def get(name: str) -> Library:
    """Return a library by its name. Raises ReadError for one that is not known."""
    if name not in names():
        raise ReadError(f"unknown library {name!r}; {closest(name, names())}")
    found = importlib.import_module(f"{_FOLDER}.{name}").LIBRARY
    assert isinstance(found, Library)
    return found


def parse(text: str, *, dtype: str | None = None) -> ResizeSpec:
    """Return what a call means that is written as LIBRARY[@VERSION][:WORD][,NAME=VALUE ...], as in pillow@12:box.

    WORD is the filter, interpolation or mode. Raises ReadError for what is not understood, with the closest word.
    """
    head, _, rest = text.partition(":")
    name, at, version = head.partition("@")
    library = get(name)
    if at and not version.isdecimal():
        raise ReadError(f"unknown version {version!r}; expected a number, as in {name}@{library.dialect.versions[0]}")
    arguments: dict[str, str] = {}
    for place, part in enumerate(filter(None, rest.split(","))):
        key, equals, value = part.partition("=")
        if not equals and place:
            raise ReadError(f"{part!r} has no value; expected NAME=VALUE", text)
        arguments |= {key: value} if equals else {library.first: part}
    return library.spec(arguments, version=int(version) if at else None, dtype=dtype)
