"""A model of another framework as plain data, which processes with and without that framework exchange.

First the description, and a model in brief: its inputs and outputs, operator sets, operations, and size. Then models
that only their framework reads: described and run by it, in a process of its own.
"""

from __future__ import annotations

import importlib
import os
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ir_interp.errors import IrInterpError, ReadError
from ir_interp.files.kinds import Framework, check_readable
from ir_interp.files.memory import StoredArray
from ir_interp.files.writing import is_file
from ir_interp.records import Record
from ir_interp.shapes import Array, PartialShape

from ..runtimes.execution import first_line
from ..workers import Died, Late, Question, lasting


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


Length = int | str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tensor(Record):
    """An input or an output. Dynamic dimensions are None, or their name; ``shape`` is None if the rank is unknown."""

    name: str
    dtype: str
    shape: tuple[Length, ...] | None

    def __str__(self) -> str:
        shape = "" if self.shape is None else "x".join("?" if size is None else str(size) for size in self.shape)
        return f"{self.name}: {self.dtype} " + (shape or ("of any rank" if self.shape is None else "scalar"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights(Record):
    """Constants of a model: how many tensors, and their bytes."""

    tensors: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Brief(Record):
    """A summary of a model. ``files`` are its files, and their bytes: None for a file that is missing."""

    format: str
    operator_sets: tuple[str, ...] = ()
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    operations: dict[str, int] = field(default_factory=dict)
    weights: Weights
    files: dict[str, int | None]


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
        weights=Weights(tensors=len(model.constants), bytes=sum(model.constants)),
        files=sizes(files[0], files[1:]),
    )


_SECONDS, _IDLE = 600.0, 120.0


@dataclass(frozen=True, slots=True)
class Failure:
    """An error of a framework, as the line that names its reason."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """The process of a framework: ``child`` is the module of its folder that runs there.

    The module has the functions ``describe(path, setting)`` and ``run(arrays, path)``, and may have ``reason(error)``.
    """

    framework: Framework
    child: str

    def described(self, path: Path, setting: str = "") -> Description:
        """Return what a model holds.

        Raises ReadError for an unreadable file or a missing framework, IrInterpError if that dies, and its own error.
        """
        self._check(path)
        label = self.framework.label(path)
        answer = self._answer("describe", str(path.absolute()), setting, label)
        if isinstance(answer, Failure):
            raise ReadError(f"{self.framework.title} cannot load it: {answer.reason}", label)
        assert isinstance(answer, Description)
        return answer

    def function(self, path: Path) -> Callable[..., dict[str, Array]]:
        """Return a model as a function of its inputs, in order, to its outputs by name. Raises as ``described``."""
        self._check(path)

        def outputs(*arrays: Array) -> dict[str, Array]:
            inputs, label = [np.asarray(array) for array in arrays], self.framework.label(path)
            return dict(self.answer("run", inputs, str(path.absolute()), label))

        return outputs

    def answer(self, function: str, item: object, setting: object, label: str) -> Any:
        """Return what a function of the framework's process returns. Raises IrInterpError if it fails."""
        answer = self._answer(function, item, setting, label)
        if isinstance(answer, Failure):
            raise IrInterpError(f"{self.framework.title}: {answer.reason}")
        return answer

    def _answer(self, function: str, item: object, setting: object, label: str) -> object:
        module = f"{self.framework.folder}.{self.child}"
        question = Question(
            function=f"{__name__}:answer", setting=(module, function, setting), limit=_SECONDS, attempts=1
        )
        answer = lasting(module, _IDLE).answer(question, item)
        if isinstance(answer, Died | Late):
            raise IrInterpError(f"{label} does not run in {self.framework.title}: {answer}")
        if isinstance(answer, IrInterpError):
            raise answer
        return answer

    def _check(self, path: Path) -> None:
        """Raise ReadError for an unreadable file, or a missing framework."""
        check_readable(path)
        self.framework.check_installed(self.framework.label(path))


def answer(item: object, setting: tuple[str, str, object]) -> object:
    """Return what a function of a module returns, in this process; its error of this program, any other as Failure."""
    module, function, value = setting
    os.chdir(tempfile.gettempdir())  # this process lives longer than the folder it was started in may; paths are whole
    child = importlib.import_module(module)
    try:
        return getattr(child, function)(item, value)
    except IrInterpError as error:
        return error
    except Exception as error:  # whatever a framework raises
        return Failure(getattr(child, "reason", first_line)(error))
