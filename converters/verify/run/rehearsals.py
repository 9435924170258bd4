"""Models run on several sets of inputs in one process: a model takes longer to load and compile than to run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, count
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from numpy.typing import NDArray

from ir_interp.errors import VerificationError

from .array_files import Named, load, save
from .input_shapes import Shapes
from .requests import NotLoadedError, NotRunError, answer, not_run
from .runners import INPUTS, OUTPUTS, PROBLEM, TENSORS, Request, numbered, try_inputs

Outcome = tuple[Named, dict[str, NDArray[Any]]]
"""The outputs of a model, and the requested tensors, by name."""
Inputs = tuple[Shapes, Named]
"""Inputs as a model takes them, behind the shapes by which they are remembered."""
_Key = tuple[Path, tuple[str, ...], tuple[tuple[str, tuple[int, ...]], ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """The folder with the files of a run, and its number."""

    request: Request
    number: int

    def file(self, name: str) -> Path:
        return self.request.folder / numbered(name, self.number)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehearsals:
    """Remembers the outcomes of models on inputs of different sizes, which are otherwise the same."""

    folder: Path
    _runs: dict[_Key, _Run] = field(default_factory=dict)
    _refusals: dict[Path, NotLoadedError] = field(default_factory=dict)

    def rehearse(self, request: Request, groups: Sequence[Sequence[Inputs]], declared: float) -> None:
        """Run a model on the first inputs of each group that it takes; ``folder`` of the request is ignored.

        If the process dies, inputs that it has not run are not remembered.
        """
        request = replace(request, folder=Path(mkdtemp(dir=self.folder)))
        numbers = count()
        numbered_groups = [[(next(numbers), *inputs) for inputs in group] for group in groups]
        for number, shapes, arrays in chain.from_iterable(numbered_groups):
            save(request.folder / numbered(INPUTS, number), arrays)
            self._runs[_key(request.model, request.tensors, shapes)] = _Run(request=request, number=number)
        groups_of_numbers = tuple(tuple(number for number, *_ in group) for group in numbered_groups)
        try:
            answer(replace(request, groups=groups_of_numbers), declared, try_inputs)
        except NotLoadedError as refusal:
            self._refusals[request.model] = refusal
        except VerificationError:
            pass

    def knows(self, model: Path) -> bool:
        """Return whether a model was rehearsed."""
        return model in self._refusals or any(known == model for known, _, _ in self._runs)

    def recall(self, model: Path, tensors: Sequence[str], shapes: Shapes) -> Outcome | None:
        """Return the outputs of a model on inputs of ``shapes``; None if that was not tried.

        Raises NotRunError if it did not run.
        """
        if model in self._refusals:
            raise self._refusals[model]
        run = self._runs.get(_key(model, tensors, shapes))
        if run is None:
            return None
        if run.file(OUTPUTS).exists():
            return load(run.file(OUTPUTS)), dict(load(run.file(TENSORS)))
        if run.file(PROBLEM).exists():
            raise not_run(run.request, run.file(PROBLEM).read_text(encoding="utf-8"))
        return None

    def takes(self, model: Path, tensors: Sequence[str], shapes: Shapes) -> bool:
        """Return whether a model ran on inputs of ``shapes`` without an empty output."""
        try:
            outcome = self.recall(model, tensors, shapes)
        except NotRunError:
            return False
        return outcome is not None and has_values(outcome)


def has_values(outcome: Outcome) -> bool:
    """Return whether no array is empty: an empty output proves nothing, nor does a resize of an empty tensor."""
    outputs, tensors = outcome
    return all(array.size for array in (*(array for _, array in outputs), *tensors.values()))


def _key(model: Path, tensors: Sequence[str], shapes: Shapes) -> _Key:
    return model, tuple(tensors), tuple(sorted(shapes.items()))
