"""The JSON that commands print, and its schema: derived from the types of the records, so that both stay the same."""

from __future__ import annotations

import importlib
import json
import types
import typing
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from ir_interp.errors import IrInterpError, closest

VERSION = 1
"""The version of all schemas; it grows when a key changes its meaning or goes, not when one is added."""
_KEY = "schema_version"
_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_SUMMARY = "ir_interp.converters.fleet.summary:SummaryRecord"
_RECORDS = {
    "audit": ("ir_interp.converters.audit.formats:AuditRecord", _SUMMARY),
    "compare": ("ir_interp.converters.verify.comparison:ComparisonRecord", "ir_interp.views.likeness:Likeness"),
    "convert": ("ir_interp.converters.reports.conversion_report:ConversionRecord", _SUMMARY),
    "explain": ("ir_interp.views.explanation:ExplanationRecord", "ir_interp.diagnostic_codes:Rule"),
    "fix": ("ir_interp.converters.fix.fixed_files:FixedRecord",),
    "identify": ("ir_interp.origins.candidates:IdentifiedRecord",),
    "inspect": ("ir_interp.cli.inspect_records:InspectRecord",),
    "plot": ("ir_interp.cli.written_records:PlotRecord",),
    "preprocess": ("ir_interp.cli.written_records:PreprocessRecord",),
    "run": ("ir_interp.cli.written_records:RunRecord",),
    "reproduce": ("ir_interp.converters.reproduce.folder:ReproducedRecord", "ir_interp.cli.reproduce:KitRecord"),
}
"""The records of each command; imported late, as most need the runtimes. Pipelines have a format of their own."""
_PLAIN: dict[Any, str] = {bool: "boolean", int: "integer", float: "number", str: "string", type(None): "null"}

Schema = dict[str, Any]


def printed(record: Mapping[str, Any]) -> str:
    """Return a record as the JSON of a command, with the version of its schema."""
    return json.dumps({_KEY: VERSION, **record}, indent=2)


def is_command(name: str) -> bool:
    """Say whether a command prints JSON."""
    return name in _RECORDS


def of_command(name: str) -> Schema:
    """Return the schema of what ``ir-interp NAME --json`` prints. Raises IrInterpError for any other name."""
    if name not in _RECORDS:
        raise IrInterpError(f"no command {name!r} prints JSON; {closest(name, _RECORDS)}")
    definitions: dict[str, Schema] = {}
    records = [_type(place) for place in _RECORDS[name]]
    for record in records:
        _of_type(record, definitions)
        whole = definitions[record.__name__]
        whole["properties"] = {_KEY: {"const": VERSION}, **whole["properties"]}
        whole["required"] = [_KEY, *whole["required"]]
    return {
        "$schema": _DIALECT,
        "title": f"ir-interp {name} --json, version {VERSION}",
        "anyOf": [_reference(record) for record in records],
        "$defs": definitions,
    }


def _type(place: str) -> Any:
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(module), name)


def _reference(kind: Any) -> Schema:
    return {"$ref": f"#/$defs/{kind.__name__}"}


def _of_type(hint: Any, definitions: dict[str, Schema]) -> Schema:
    """Return the schema of a type; objects become definitions, which it refers to."""
    if hint is Any:
        return {}
    if hint in _PLAIN:
        return {"type": _PLAIN[hint]}
    if isinstance(hint, type) and issubclass(hint, Enum):
        return {"enum": [member.value for member in hint]}
    if is_dataclass(hint) or typing.is_typeddict(hint):
        return _of_object(hint, definitions)
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        return {"anyOf": [_of_type(argument, definitions) for argument in arguments]}
    if issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": _of_type(arguments[1], definitions)}
    if issubclass(origin, Sequence):
        kinds = dict.fromkeys(argument for argument in arguments if argument is not ...)
        elements = [_of_type(argument, definitions) for argument in kinds]
        return {"type": "array", "items": elements[0] if len(elements) == 1 else {"anyOf": elements}}
    raise TypeError(f"{origin} has no schema")


def _of_object(kind: Any, definitions: dict[str, Schema]) -> Schema:
    if kind.__name__ not in definitions:
        hints = typing.get_type_hints(kind)
        names = [field.name for field in fields(kind)] if is_dataclass(kind) else list(hints)
        whole = definitions[kind.__name__] = {"type": "object"}  # before its parts, which may refer to it
        properties = {name: _of_type(hints[name], definitions) for name in names}
        whole |= {"properties": properties, "required": names, "additionalProperties": False}
        definitions[kind.__name__] = whole
    return _reference(kind)
