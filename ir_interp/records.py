"""Reports as data: a record lists the keys of its JSON; its values and their schema follow from the list.

Infinity and NaN become null, so a schema allows null for every float.
"""

from __future__ import annotations

import math
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
Schema = dict[str, Json]

_PLAIN: dict[object, Json] = {
    bool: "boolean",
    int: "integer",
    float: ["number", "null"],
    str: "string",
    Path: "string",
    type(None): "null",
}


_NONE: Mapping[str, Json] = types.MappingProxyType({})


class Record:
    """An object that has a form in JSON.

    ``KEYS`` are names of fields and properties. ``"op.name"`` is the ``name`` of its field ``op``, and
    ``"op.spec as meaning"`` has another key; both are None if ``op`` is None. Without ``KEYS``, all fields of the
    dataclass are written.
    """

    __slots__ = ()
    KEYS: ClassVar[tuple[str, ...]] = ()

    def record(self) -> dict[str, Any]:
        """Return the JSON of this object, as plain values."""
        return _record(self)


def _keys(kind: type) -> Iterator[tuple[str, list[str]]]:
    """Yield each key of a record, and the attributes that lead to its value."""
    keys = kind.KEYS if issubclass(kind, Record) else ()
    for text in keys or (field.name for field in fields(kind)):
        path, _, key = text.partition(" as ")
        *_, last = attributes = path.split(".")
        yield key or last, attributes


def _record(value: object) -> dict[str, Json]:
    return {key: plain(_followed(value, attributes)) for key, attributes in _keys(type(value))}


def _followed(value: object, attributes: Sequence[str]) -> object:
    for attribute in attributes:
        value = None if value is None else getattr(value, attribute)
    return value


def plain(value: object) -> Json:
    """Return the plain value that stands for a value in JSON. Raises TypeError if there is none."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, Enum):
        return plain(value.value)
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, Sequence):
        return [plain(each) for each in value]
    if is_dataclass(value) or isinstance(value, Record):
        return _record(value)
    raise TypeError(f"{type(value)} is no data")


def reference(kind: type) -> Schema:
    """Return a schema that refers to that of a record."""
    return {"$ref": f"#/$defs/{kind.__name__}"}


def schema(hint: object, definitions: dict[str, Schema]) -> Schema:
    """Return the schema of a type; records become definitions, which it refers to."""
    if hint in _PLAIN:
        return {"type": _PLAIN[hint]}
    if isinstance(hint, type) and issubclass(hint, Enum):
        return {"enum": [member.value for member in hint]}
    if isinstance(hint, type) and (is_dataclass(hint) or issubclass(hint, Record)):
        if hint.__name__ not in definitions:
            definitions[hint.__name__] = {}  # before its parts, which may refer to it
            definitions[hint.__name__] = _of_record(hint, definitions)
        return reference(hint)
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        return _any_of(arguments, definitions)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": schema(arguments[1], definitions)}
    if isinstance(origin, type) and issubclass(origin, Sequence):
        return {"type": "array", "items": _any_of((each for each in arguments if each is not ...), definitions)}
    raise TypeError(f"{hint} has no schema")


def _any_of(hints: typing.Iterable[object], definitions: dict[str, Schema]) -> Schema:
    kinds = [schema(hint, definitions) for hint in dict.fromkeys(hints)]
    return kinds[0] if len(kinds) == 1 else {"anyOf": kinds}


def schema_of(kinds: Sequence[type], constants: Mapping[str, Json]) -> Schema:
    """Return the schema of a record of any of these kinds, whose first keys have constant values."""
    definitions: dict[str, Schema] = {}
    references: list[Json] = [schema(kind, definitions) for kind in kinds]
    for kind in kinds:
        definitions[kind.__name__] = _of_record(kind, definitions, constants)
    return {"anyOf": references, "$defs": definitions}


def _of_record(kind: type, definitions: dict[str, Schema], constants: Mapping[str, Json] = _NONE) -> Schema:
    properties: dict[str, Json] = {key: {"const": value} for key, value in constants.items()}
    properties |= {key: _of_path(kind, attributes, definitions) for key, attributes in _keys(kind)}
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}


def _of_path(kind: type, attributes: Sequence[str], definitions: dict[str, Schema]) -> Schema:
    hint: object = kind
    is_optional = False
    for attribute in attributes:
        present = [each for each in typing.get_args(hint) if each is not type(None)]
        is_optional, (hint,) = is_optional or bool(present), present or [hint]
        hint = _hint(hint, attribute)
    return _any_of((hint, type(None)) if is_optional else (hint,), definitions)


def _hint(kind: object, attribute: str) -> object:
    """Return the type of a field or property of a class."""
    member = getattr(kind, attribute, None)
    if isinstance(member, property):
        return typing.get_type_hints(member.fget)["return"]
    return typing.get_type_hints(kind)[attribute]
