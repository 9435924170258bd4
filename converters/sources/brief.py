"""A model in brief: its inputs and outputs, operator sets, operations, and size."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TypedDict, cast

from ir_interp.files.paths import is_file

from .model_description import Description

Length = int | str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tensor:
    """An input or an output. Dynamic dimensions are None, or their name; ``shape`` is None if the rank is unknown."""

    name: str
    dtype: str
    shape: tuple[Length, ...] | None

    def __str__(self) -> str:
        shape = "" if self.shape is None else "x".join("?" if size is None else str(size) for size in self.shape)
        return f"{self.name}: {self.dtype} " + (shape or ("of any rank" if self.shape is None else "scalar"))


class WeightsRecord(TypedDict):
    """Constants of a model in JSON: how many tensors, and their bytes."""

    tensors: int
    bytes: int


class ModelRecord(TypedDict):
    """A model in brief, in JSON."""

    format: str
    operator_sets: list[str]
    inputs: list[Tensor]
    outputs: list[Tensor]
    operations: dict[str, int]
    weights: WeightsRecord
    files: dict[str, int | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Brief:
    """A summary of a model. ``weights`` are constant tensors and their bytes; ``files`` its files, and their bytes.

    The size of a file is None if the file is missing.
    """

    format: str
    operator_sets: tuple[str, ...] = ()
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    operations: dict[str, int] = field(default_factory=dict)
    weights: tuple[int, int]
    files: dict[str, int | None]

    def record(self) -> ModelRecord:
        """Return all of it as plain values, for JSON."""
        tensors, size = self.weights
        return cast(ModelRecord, asdict(self) | {"weights": {"tensors": tensors, "bytes": size}})


def sizes(path: Path, others: Iterable[Path] = ()) -> dict[str, int | None]:
    """Return the size of a file and of others beside it, by name; None for those that are missing."""
    files = (path, *sorted(others))
    return {file.name: file.stat().st_size if is_file(file) else None for file in files}


def of_description(model: Description, files: Sequence[Path]) -> Brief:
    """Return a summary of a model that its framework describes; ``files`` are its own one, and those beside it."""
    inputs, outputs = (
        tuple(Tensor(name=end.name, dtype=end.dtype, shape=end.shape) for end in those)
        for those in (model.inputs, model.outputs)
    )
    return Brief(
        format=model.format,
        inputs=inputs,
        outputs=outputs,
        weights=(len(model.constants), sum(model.constants)),
        files=sizes(files[0], files[1:]),
    )
