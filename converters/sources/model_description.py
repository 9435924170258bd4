"""A model of another framework as plain data, which processes with and without that framework exchange."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ir_interp.files.stored_arrays import StoredArray
from ir_interp.shapes import PartialShape


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """An input or output: its name in the model, and its tensor in the graph that OpenVINO reads, if it needs that."""

    name: str
    dtype: str
    shape: PartialShape | None
    tensor: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resize:
    """An operation that resizes: ``inputs`` are those behind the image, None if they are known only at run time."""

    type: str
    name: str
    dtype: str
    shape: PartialShape | None
    inputs: tuple[list[float] | None, ...]
    attributes: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """A model: its ends, the types of its operations, the bytes of its constants, and resizes that others read.

    ``weights`` are the constants that are inputs of the graph that OpenVINO reads, by the names that they have there.
    """

    format: str
    inputs: tuple[End, ...]
    outputs: tuple[End, ...]
    operations: tuple[str, ...]
    constants: tuple[int, ...]
    resizes: tuple[Resize, ...] = ()
    weights: Mapping[str, StoredArray] = field(default_factory=dict)
