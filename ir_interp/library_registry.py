"""Registry of image libraries, and reader of their calls.

A library has no files to read, only a call with arguments. Its module in ``libraries/`` therefore defines a
``LIBRARY``: a dialect whose attributes are those arguments, and the packages whose installed version is the default.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from ir_interp.errors import ReadError, closest
from ir_interp.files.kinds import FileKind
from ir_interp.resize_op import ResizeOp
from ir_interp.shapes import PartialShape
from ir_interp.spec import ResizeSpec
from ir_interp.translation.dialect import Context
from ir_interp.translation.library_dialect import Library

_FOLDER = "ir_interp.libraries"


@cache
def names() -> tuple[str, ...]:
    """Return the names of all libraries in alphabetical order, without importing them."""
    return tuple(sorted(module.name for module in pkgutil.iter_modules(importlib.import_module(_FOLDER).__path__)))


@cache
def get(name: str) -> Library:
    """Return a library by its name. Raises ReadError for an unknown one."""
    if name not in names():
        raise ReadError(f"unknown library {name!r}; {closest(name, names())}")
    library = importlib.import_module(f"{_FOLDER}.{name}").LIBRARY
    assert isinstance(library, Library)
    return library


def named(text: str) -> Library:
    """Return the library of a call in the syntax of ``load``."""
    name = text.partition(":")[0].partition("@")[0]
    if name == text and name not in names():
        raise ReadError(
            f"unknown library {name!r}; a call is LIBRARY:WORD, as in pillow:bicubic; {closest(name, names())}"
        )
    return get(name)


def is_call(text: object) -> bool:
    """Return whether a text or path is a library call with a word or a version, not the name of a file."""
    if not isinstance(text, str | Path) or FileKind.of(text) is not None:
        return False
    name, *rest = re.split("[:@]", str(text))
    return bool(rest) and name in names()


def load(
    text: str,
    *,
    shape: PartialShape | None = None,
    dtype: str | None = None,
    arguments: Mapping[str, Any] | None = None,
) -> ResizeOp:
    """Return the call LIBRARY[@VERSION][:WORD][,NAME=VALUE ...], as in pillow@12:box.

    WORD is the filter, interpolation or mode. ``arguments`` apply where the text does not set them, if the library has
    the argument and the value: ``mode`` is the image mode in one library and the border mode in another. Raises
    ReadError, with the closest word, for a text that cannot be parsed.
    """
    head, _, rest = text.partition(":")
    name, at, version = head.partition("@")
    library = named(text)
    if at and not version.isdecimal():
        raise ReadError(f"unknown version {version!r}; expected a number, as in {name}@{library.dialect.versions[0]}")
    version_number = library.version(int(version) if at else None)
    choices = library.dialect.choices(version_number)
    attributes: dict[str, Any] = {
        key: value for key, value in (arguments or {}).items() if value in choices.get(key, ())
    }
    try:
        attributes |= _arguments(rest, library, version_number)
    except ReadError as error:
        raise error.under(text) from None
    spec = library.spec(attributes, version=version_number, dtype=dtype)
    return ResizeOp(
        name=text,
        where=text,
        spec=spec,
        dialect=name,
        version=version_number,
        shape=shape,
        dtype=dtype,
        attributes=attributes,
    )


def caveat(op: ResizeOp) -> str:
    """Return how results of a call may differ from the library's own; an empty text if none do."""
    return get(op.dialect).caveat(op.attributes, Context(version=op.version, dtype=op.dtype))


def _arguments(text: str, library: Library, version: int) -> dict[str, Any]:
    """Return the arguments of a call. Lists of numbers continue after a comma, as in box=10,20,300.5,200."""
    attributes: dict[str, Any] = {}
    numbers = {name: part for part, (name, versions) in library.dialect.numbers.items() if version in versions}
    last = ""
    for place, part in enumerate(filter(None, text.split(","))):
        key, equals, value = part.partition("=")
        if equals:
            last = key
            attributes[key] = (_real(value),) if key in numbers else value
        elif not place:
            attributes[library.first] = part
        elif last in numbers:
            attributes[last] = (*attributes[last], _real(part))
        else:
            raise ReadError(f"{part!r} has no value; expected NAME=VALUE")
    return {name: _as_part(numbers.get(name), value) for name, value in attributes.items()}


def _as_part(part: str | None, values: Any) -> Any:
    """Return numbers in the form of a dialect's part: a gap as one number, sizes as integers."""
    if part == "sizes":
        return tuple(int(value) if value.is_integer() else value for value in values)
    return values[0] if part == "gap" and len(values) == 1 else values


def _real(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ReadError(f"{text!r} is not a number") from None


def parse(text: str, *, dtype: str | None = None) -> ResizeSpec:
    """Return the spec of a call; see ``load``."""
    return load(text, dtype=dtype).spec
