"""The JSON of ``ir-interp inspect``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypedDict

from ir_interp.converters.sources.brief import ModelRecord


class DiagnosticRecord(TypedDict):
    """A diagnostic in JSON."""

    code: str
    message: str


class OperationRecord(TypedDict):
    """A resize of a file in JSON; None for dynamic dimensions, and for an unknown shape or element type."""

    name: str
    where: str
    dialect: str
    version: int
    shape: Sequence[int | None] | None
    dtype: str | None
    target: str
    formula: str
    arithmetic: str
    diagnostics: list[DiagnosticRecord]


class UnknownRecord(TypedDict):
    """A layer in JSON that cannot be read without its .bin."""

    name: str
    where: str
    attributes: Mapping[str, str]
    problem: str


class InspectRecord(TypedDict):
    """A file and its resizes in JSON; ``model`` is None for single layers."""

    file: str
    model: ModelRecord | None
    resizes: list[OperationRecord]
    unknown: list[UnknownRecord]
