"""The reading of SavedModels, Keras files and frozen graphs."""

from __future__ import annotations

from pathlib import Path

from ...sources.brief import Brief, of_description
from ...sources.frameworks import Reading
from .tensorflow_files import described, format_of, function, is_saved_model
from .tensorflow_resizes import load

_NO_OPERATIONS = ("Const", "Placeholder", "NoOp")


def _operations(path: Path) -> list[str]:
    return [operation for operation in described(path).operations if operation not in _NO_OPERATIONS]


def _brief(path: Path) -> Brief:
    variables = path.parent.glob("variables/variables.*") if is_saved_model(path) else ()
    return of_description(described(path), format_of(path), path, variables)


READING = Reading(load=load, operations=_operations, brief=_brief, function=function)
