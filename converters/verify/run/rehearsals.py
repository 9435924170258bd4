"""Models run on several sets of inputs in one process: a model takes longer to load and compile than to run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from numpy.typing import NDArray

from ir_interp.errors import VerificationError
from ir_interp.files.memory import MemoryBoundError

from .array_files import Named, load_mapped, save
from .input_shapes import Shapes
from .requests import NotLoadedError, NotRunError, answer, not_run
from .run_request import INPUTS, LARGE, OUTPUTS, PROBLEM, TENSORS, Group, Request, numbered
from .runners import try_inputs

Outcome = tuple[Named, dict[str, NDArray[Any]]]
"""The outputs of a model, and the requested tensors, by name."""
_TrialKey = tuple[str, int | None, tuple[tuple[str, tuple[int, ...]], ...]]
_Key = tuple[Path, tuple[str, ...], _TrialKey]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """Inputs to try: their shapes, the distribution of random floats, and the value of inputs of a few integers.

    ``setting`` is that value, None for values of their roles.
    """

    shapes: Shapes
    distribution: str
    setting: int | None = None

    @property
    def key(self) -> _TrialKey:
        """Its fields, hashable."""
        return self.distribution, self.setting, tuple(sorted(self.shapes.items()))


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
    _numbers: Iterator[int] = field(default_factory=count)

    def rehearse(
        self, request: Request, groups: Sequence[Group[Trial]], inputs: Callable[[Trial], Named], declared: float
    ) -> None:
        """Run a model on the trials of each group; ``folder`` of the request is ignored.

        ``inputs`` returns the arrays of a trial as the model takes them. If the process dies, trials that it has not
        run are not remembered.
        """
        request = replace(request, folder=Path(mkdtemp(dir=self.folder)))
        numbers = tuple(
            Group(
                every=tuple(self._saved(request, group.every, inputs)),
                others=tuple(self._saved(request, group.others, inputs)),
            )
            for group in groups
        )
        try:
            answer(replace(request, groups=numbers), declared, try_inputs)
        except NotLoadedError as refusal:
            self._refusals[request.model] = refusal
        except VerificationError:
            pass

    def _saved(self, request: Request, trials: Sequence[Trial], inputs: Callable[[Trial], Named]) -> Iterator[int]:
        """Write the inputs of trials, and yield their numbers; trials of several groups have one."""
        for trial in trials:
            known = self._runs.get(_key(request.model, request.tensors, trial))
            if known is not None and known.request.folder == request.folder:
                yield known.number
                continue
            number = next(self._numbers)
            try:
                save(request.folder / numbered(INPUTS, number), inputs(trial))
            except MemoryBoundError:  # raised again if it is tried by itself
                continue
            self._runs[_key(request.model, request.tensors, trial)] = _Run(request=request, number=number)
            yield number

    def knows(self, model: Path) -> bool:
        """Return whether a model was rehearsed."""
        return model in self._refusals or any(known == model for known, *_ in self._runs)

    def has(self, model: Path, tensors: Sequence[str], trial: Trial) -> bool:
        """Return whether a trial was rehearsed, even if the process died before it."""
        return _key(model, tensors, trial) in self._runs

    def includes(self, trial: Trial) -> bool:
        """Return whether any model was to run on the inputs of a trial."""
        return any(trial.key == known for *_, known in self._runs)

    def recall(self, model: Path, tensors: Sequence[str], trial: Trial) -> Outcome | None:
        """Return the outputs of a model on the inputs of a trial; None if that was not rehearsed.

        Raises NotRunError if it did not run.
        """
        if model in self._refusals:
            raise self._refusals[model]
        run = self._runs.get(_key(model, tensors, trial))
        if run is None:
            return None
        if run.file(OUTPUTS).exists():
            return load_mapped(run.file(OUTPUTS)), dict(load_mapped(run.file(TENSORS)))
        if run.file(PROBLEM).exists():
            raise not_run(run.request, run.file(PROBLEM).read_text(encoding="utf-8"))
        return None

    def recall_as_large(self, model: Path, trial: Trial) -> tuple[Named, Named] | None:
        """Return the outputs of a model, and those with resizes as for large tensors; None if it has none."""
        runs = (run for (known, _, key), run in self._runs.items() if (known, key) == (model, trial.key))
        both = (
            (load_mapped(run.file(OUTPUTS)), load_mapped(run.file(LARGE))) for run in runs if run.file(LARGE).exists()
        )
        return next(both, None)

    def refuses(self, model: Path, tensors: Sequence[str], trial: Trial) -> bool:
        """Return whether a model is known not to run on the inputs of a trial."""
        try:
            self.recall(model, tensors, trial)
        except NotRunError:
            return True
        return False

    def may_take(self, model: Path, tensors: Sequence[str], trial: Trial) -> bool:
        """Return whether a model ran on the inputs of a trial without an empty output, or did not run on them yet."""
        if self.refuses(model, tensors, trial):
            return False
        outcome = self.recall(model, tensors, trial)
        return outcome is None or has_values(outcome)


def has_values(outcome: Outcome) -> bool:
    """Return whether no array is empty: an empty output proves nothing, nor does a resize of an empty tensor."""
    outputs, tensors = outcome
    return all(array.size for array in (*(array for _, array in outputs), *tensors.values()))


def _key(model: Path, tensors: Sequence[str], trial: Trial) -> _Key:
    return model, tuple(tensors), trial.key
