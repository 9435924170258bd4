"""Conversion of the fields of frozen dataclasses to their annotated types; other values are refused by name."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Collection, Mapping, Set
from contextlib import suppress
from dataclasses import MISSING, fields
from enum import Enum
from functools import cache, partial
from numbers import Real
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np

from ir_interp.arguments import as_real, as_whole, entries, quoted
from ir_interp.errors import SpecError, closest

Convert = Callable[[str, Any], Any]
"""Takes the name of a field and a value; returns the value in the field's type, or raises SpecError."""


def settle(instance: Any, **called: str) -> None:
    """Convert every field to its type: strings to members of an Enum, lists and arrays to tuples, 6.0 to 6.

    A class among the types of a field can be passed as its ``word`` if it needs no arguments; messages show its
    ``example``. ``called`` maps fields to the names that users know, where these differ. Raises SpecError, with the
    choices, for a value that does not fit its field.
    """
    owner: Any = type(instance)
    for name, settled, convert in _fields(owner):
        value = getattr(instance, name)
        if type(value) not in settled:
            object.__setattr__(instance, name, convert(called.get(name, name), value))


@cache
def _fields(owner: Any) -> tuple[tuple[str, frozenset[Any], Convert], ...]:
    """Return for each field its name, the types whose values are kept, and the converter for other values."""
    hints = get_type_hints(owner)
    options = {field.name: _options(hints[field.name]) for field in fields(owner)}
    return tuple((name, frozenset(types), _converter(types)) for name, types in options.items())


def _options(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if isinstance(hint, UnionType) else (hint,)


def _converter(options: tuple[Any, ...]) -> Convert:
    """Return the converter to one of ``options``; values of a plain type among them never reach it."""
    first = options[0]
    if get_origin(first) is not tuple:
        return _NUMBERS.get(first) or partial(_one_of, options, _words(options))
    kind, *others = get_args(first)
    return partial(_listed, kind, _converter((kind,)), None if others == [...] else 1 + len(others))


def _words(options: tuple[Any, ...]) -> dict[str, Any]:
    """Return the value of each word: a class, or a member of an Enum."""
    classes = {option.word: option for option in options if hasattr(option, "word")}
    return classes | {member.value: member for option in options if issubclass(option, Enum) for member in option}


def _one_of(options: tuple[type, ...], words: Mapping[str, Any], name: str, value: Any) -> Any:
    if isinstance(value, options):
        return value
    if not isinstance(value, str):
        raise SpecError(f"{name}: {quoted(value)} is not one of {', '.join(map(_written, options))}")
    if value not in words:
        raise SpecError(f"{name}: unknown {quoted(value)}; {closest(value, words)}")
    meant = words[value]
    return meant if isinstance(meant, Enum) else _without_arguments(meant, name)


def _without_arguments(kind: Any, name: str) -> Any:
    needed = [field.name for field in fields(kind) if field.default is MISSING]
    if needed:
        raise SpecError(f"{name}: {kind.word!r} needs {' and '.join(needed)}, as in {_written(kind)}")
    return kind()


def _written(option: Any) -> str:
    """Return what can be written for one of the types of a field."""
    if option is NoneType:
        return "None"
    if issubclass(option, Enum):
        return ", ".join(repr(member.value) for member in option)
    return str(getattr(option, "example", f"{option.__name__}()"))


def _listed(kind_of_entry: Any, convert: Convert, count: int | None, name: str, value: Any) -> tuple[Any, ...]:
    """Return a collection as a tuple, of ``count`` entries unless that is None; text and sets are refused."""
    entries = value if type(value) is tuple else _entries(value)
    if entries is None or count not in (None, len(entries)):
        kind = _PLURALS.get(kind_of_entry) or _written(kind_of_entry)
        raise SpecError(f"{name}: {quoted(value)} is not a list of {kind if count is None else f'{count} {kind}'}")
    for entry in entries:
        if type(entry) is not kind_of_entry:
            return tuple(convert(name, entry) for entry in entries)
    return entries


def _entries(value: Any) -> tuple[Any, ...] | None:
    """Return the entries of an ordered collection; None for sets and iterators, which have no stable order."""
    return entries(value) if isinstance(value, Collection) and not isinstance(value, Set) else None


def _whole(name: str, value: Any) -> int:
    """Return an integer; 6.0 is 6."""
    with suppress(TypeError):
        return as_whole(value)
    with suppress(OverflowError, ValueError):  # infinities, NaN
        if isinstance(value, Real) and not isinstance(value, bool) and math.floor(value) == value:
            return operator.index(math.floor(value))
    raise SpecError(f"{name}: {quoted(value)} is not an integer")


def _real(name: str, value: Any) -> float:
    with suppress(TypeError, OverflowError):
        return as_real(value)
    raise SpecError(f"{name}: {quoted(value)} is not a number")


def _flag(name: str, value: Any) -> bool:
    if isinstance(value, bool | np.bool_):
        return bool(value)
    raise SpecError(f"{name}: {quoted(value)} is neither True nor False")


_NUMBERS: dict[Any, Convert] = {int: _whole, float: _real, bool: _flag}
_PLURALS: dict[Any, str] = {int: "integers", float: "numbers", tuple[float, float]: "pairs of numbers"}
