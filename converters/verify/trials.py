"""The inputs on which two models are tried, until both run: shapes at several extents, and values.

Trials of all extents run in one process, since a model takes longer to load and compile than to run.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, takewhile
from math import prod
from pathlib import Path

import numpy as np

from ir_interp.files.memory import MemoryBoundError, allow_declared
from ir_interp.shapes import Array

from ..reports import Progress
from .graphs import PATTERNS
from .input_shapes import NEEDED, Extent, Shapes, attempts, extents, shapes
from .inputs import arrays, distributions, domains, extreme_patterns, read_files, settings
from .processes import Models, NotLoadedError, NotRunError, Rehearsals, Runner, Trial, declared_bytes
from .run_request import Group, Named, Outcome, has_nan, has_values, is_empty


class NoSourceError(NotRunError):
    """A source does not run in its own runtime, with any shapes that were tried."""


@dataclass(slots=True, kw_only=True)
class Trials:
    """The inputs on which two models may run, and the first on which they do: those of ``run``.

    ``files`` are by input name, ``distribution`` is that of random floats; ``is_another`` if that is tried only because
    the first proves nothing. ``extent`` selects the sizes of dynamic dimensions. ``others`` are the trials at other
    extents than ``real``, which is the first. ``undefined`` are the distributions on which the model that settled gives
    NaN; it settled on another one, unless that is among them.
    """

    run: Runner
    files: Mapping[str, Path]
    distribution: str
    extent: Extent = Extent.REAL
    others: list[Trials] = field(default_factory=list)
    real: Trials | None = None
    is_another: bool = False
    undefined: tuple[str, ...] = ()
    _tried: int = 0
    _source_problem: str = ""

    @property
    def models(self) -> Models:
        """The two models."""
        return self.run.models

    def every(self) -> list[Trial]:
        """Return the inputs to try: all shapes with values of the roles of inputs, then some with others.

        A detector may find nothing in floats of one distribution, and then has no boxes to compare.
        """
        inputs, graph, distribution = self.models.inputs, self.models.graph, self.distribution
        trials = [Trial(shapes=shapes, distribution=distribution) for shapes in self._shapes()]
        others = [name for name in (*distributions(inputs, graph), *domains(inputs, graph)) if name != distribution]
        if self.extent not in NEEDED:
            # Values on which the model is defined at the real extent may be needed at this one, too.
            settled = self.real.run.trial.distribution if self.real and self.real.run.trial else distribution
            return trials + [replace(trial, distribution=settled) for trial in trials if settled in others]
        # Other values are tried on two shapes only: a model that refuses both refuses more.
        likeliest = trials[:2]
        values = settings(graph, trials[0].shapes, self.files)
        others = [] if distribution in PATTERNS else others
        return [
            *trials,
            *(replace(trial, setting=value) for value in values for trial in likeliest),
            *(replace(trial, distribution=name) for name in others for trial in likeliest),
        ]

    def at_extents(self) -> list[Trials]:
        """Return these trials, and others of the same files at each further extent."""
        distinct = extents(self.models.graph, self._chosen(), self.models.inputs.hints)
        self.others = [replace(self, extent=extent, real=self) for extent in distinct if extent is not Extent.REAL]
        return [self, *self.others]

    def _shapes(self) -> list[Shapes]:
        """Return the input shapes that may be tried, in order."""
        return shapes(self.models.graph, self._chosen(), self.extent, self.models.inputs.hints)

    def _chosen(self) -> dict[str, tuple[int, ...]]:
        """Return the shapes that the caller or the files decide, by name."""
        return {**self.models.inputs.shapes, **{name: array.shape for name, array in self._read().items()}}

    def _read(self) -> dict[str, Array]:
        return read_files(self.models.graph, self.models.inputs, self.files)

    def _arrays(self, trial: Trial) -> Named:
        models = self.models
        return arrays(models.graph, trial.shapes, self._read(), models.inputs.seed, trial.distribution, trial.setting)

    def _take(self, trial: Trial) -> None:
        """Let models run on the inputs of a trial from now on."""
        if not self.run.rehearsals.includes(trial):  # for which memory was allowed
            allow_declared(declared_bytes(self.models.graphs, trial.shapes))
        self.run = replace(self.run, trial=trial, arrays=self._arrays(trial))

    def settle(self, model: Path, data: Sequence[str] = ()) -> Outcome:
        """Run a model on shapes that it accepts, which all later runs use; return its outputs and ``data``.

        Among these, and among the outputs, none is empty then, and no output has a NaN, unless all inputs give such.
        Called again, it tries the rest. Raises NotRunError if it runs on none, MemoryBoundError if all would take too
        much.
        """
        trials = self.every()
        is_open = len(self._shapes()) > 1 or self.others or self.real
        data = data if is_open else ()  # with one shape there is no choice
        self._rehearse(model, data, self._likeliest())
        problems: list[Exception] = []
        without_values: list[tuple[bool, int]] = []
        for place, trial in enumerate(trials[self._tried :], self._tried):
            self._tried += 1
            try:
                # The first trial usually runs, so the others are rehearsed only once it has failed.
                if place and not self.run.rehearsals.has(model, data, trial):
                    self._rehearse_all(model, data, [Group(others=tuple(trials[place:]))])
                self._take(trial)
                outcome = self.run(model, data)
            except NotLoadedError:
                raise
            except (NotRunError, MemoryBoundError) as problem:
                problems.append(problem)
                continue
            if has_values(outcome):
                return outcome
            without_values.append((is_empty(outcome), place))
            if has_nan(outcome[0]) and trial.distribution not in self.undefined:
                self.undefined += (trial.distribution,)
        # Some tensor is empty, or NaN, on all inputs that it takes, as the model may intend: the first will do.
        if without_values:
            _, first_place = min(without_values)
            self._take(trials[first_place])
            return self.run(model)
        if problems and all(isinstance(problem, MemoryBoundError) for problem in problems):
            raise problems[0]
        first = [str(problem) for problem in problems[:1]]
        raise NotRunError(
            "; ".join([*first, *filter(None, [attempts(self._shapes(), self.models.graph, self.models.inputs.hints)])])
        )

    def settle_both(self, source: Path, result: Path, data: Sequence[str] = ()) -> tuple[Named, Named, str]:
        """Return the outputs of a model and its translation on shapes on which both run, and the error if one did not.

        A source may silently leave its own domain, for example if a pool is larger than its input. Raises NotRunError,
        or NoSourceError if only the source fails, if they run together on none.
        """
        problems: list[str] = []
        # Each round takes the trials further: it ends when the source has none left.
        while True:
            try:
                expected, _ = self.settle(source, data)
            except NotRunError as problem:
                text = "; ".join(filter(None, (*problems[:1], str(problem))))
                raise (NotRunError if problems else NoSourceError)(text) from None
            try:
                return expected, self.outputs_after(source, result, data), problems[0] if problems else ""
            except NotLoadedError:
                raise
            except NotRunError as problem:
                problems.append(f"{problem}, on {self._shown()}")
                self._pass_over(result)

    def leave_out_source(self, problem: str) -> None:
        """Let the result alone run from now on, on the first trial that it takes, at this extent and the others."""
        self._source_problem, self._tried = problem, 0

    @property
    def without_source(self) -> str:
        """Why the source does not run at all; empty if it does."""
        return (self.real or self)._source_problem

    @property
    def is_undefined(self) -> bool:
        """Whether the model that settled gives NaN on the inputs of this run, since it did on all that were tried."""
        return self.run.trial is not None and self.run.trial.distribution in self.undefined

    @property
    def domain(self) -> str:
        """What NaN outputs on random inputs mean for the proof; empty if there are none, or the inputs explain them."""
        is_random = any(tensor.name not in self.files for tensor in self.models.graph.inputs)
        is_finite = all(np.isfinite(array).all() for _, array in self.run.arrays if array.dtype.kind in "fV")
        if not self.undefined or not self.run.trial or not is_random or not is_finite:
            return ""
        if not self.is_undefined:
            undefined = ", ".join(self.undefined)
            return f"outputs are NaN on {undefined} values, so both models ran on {self.run.trial.distribution} values"
        return (
            f"outputs are NaN on all random inputs that were tried ({', '.join(self.undefined)} values); "
            "pass inputs on which the model is defined, with --input NAME=PATH"
        )

    def _pass_over(self, result: Path) -> None:
        """Leave out the trials that a result refuses, up to the first that it takes; one process tries those left."""
        trials = self.every()[self._tried :]
        untried = tuple(trial for trial in trials if not self.run.rehearsals.has(result, (), trial))
        if untried:
            self._rehearse_all(result, (), [Group(others=untried)])
        refused = takewhile(lambda trial: self.run.rehearsals.refuses(result, (), trial), trials)
        self._tried += len(list(refused))

    def outputs_after(self, source: Path, result: Path, data: Sequence[str] = ()) -> Named:
        """Return the outputs of a model on the inputs on which its source, shown with ``data``, has settled.

        The same process runs it on what the source takes at the other extents.
        """
        self._rehearse(result, (), self._on_which(source, data))
        return self.run(result)[0]

    def _rehearse(self, model: Path, data: Sequence[str], groups: Sequence[Group[Trial]]) -> None:
        """Run a model on the trials of each extent, all in one process, unless that was done."""
        if self.others and any(map(list, groups)) and not self.run.rehearsals.knows(model):
            self._rehearse_all(model, data, groups)

    def _rehearse_all(self, model: Path, data: Sequence[str], groups: Sequence[Group[Trial]]) -> None:
        """Run a model on the trials of each group, all in one process."""
        self.run.progress(f"running {model.name}", 0, 0)
        # One process runs all of them, so its memory is limited for the largest.
        largest = max((trial.shapes for group in groups for trial in group), key=_elements)
        self.run.rehearsals.rehearse(
            self.run.request(model, data),
            groups,
            lambda trial: self.models.inputs_of(model, self._arrays(trial)),
            declared_bytes(self.models.graphs, largest),
        )

    def _likeliest(self) -> list[Group[Trial]]:
        """Return the first trial at this extent, and all trials of the others.

        Small trials without a setting are all run, as many as together are no larger than the first trial: they take
        hardly any time, and a result may refuse a shape that its source accepts.
        """
        first, most = self.every()[0], _elements(self.every()[0].shapes)
        groups = [Group(others=(first,))]
        for other in self.others:
            trials = tuple(other.every())
            plain = takewhile(lambda trial: trial.setting is None, trials)  # a setting may be the size of outputs
            sizes = accumulate(_elements(trial.shapes) for trial in plain)
            few = bisect_right(list(sizes), most) if other.extent is Extent.SMALL else 0
            groups.append(Group(every=trials[:few], others=trials[few:]))
        return groups

    def _on_which(self, source: Path, data: Sequence[str]) -> list[Group[Trial]]:
        """Return the trials at this extent and the others that a source takes, or may take."""
        groups = [Group(others=(self.run.trial,))] if self.run.trial else []
        for other in self.others:
            taken = (trial for trial in other.every() if self.run.rehearsals.may_take(source, data, trial))
            groups.append(Group(others=tuple(taken)))
        return groups

    def _shown(self) -> str:
        """Return the inputs of ``run`` as text."""
        shapes = ", ".join(f"{name} {list(shape)}" for name, shape in self.run.shapes.items())
        has_choice = len(distributions(self.models.inputs, self.models.graph)) > 1
        return f"{shapes} ({self.run.trial.distribution} values)" if self.run.trial and has_choice else shapes


def _elements(shapes: Shapes) -> int:
    """Return the number of elements of all inputs."""
    return sum(map(prod, shapes.values()))


def trials_of(both: Models, folder: Path, progress: Progress) -> Iterator[Trials]:
    """Yield the trials of two models: on all files of each input, on all extents, then on other random floats.

    Quantised models also run on extreme inputs.
    """

    def trials(files: Mapping[str, Path], distribution: str, *, is_another: bool = False) -> Trials:
        run = Runner(folder=folder, models=both, progress=progress, rehearsals=Rehearsals(folder=folder))
        return Trials(run=run, files=files, distribution=distribution, is_another=is_another)

    first, *rest = both.inputs.samples()
    distribution, *others = distributions(both.inputs, both.graph)
    yield from trials(first, distribution).at_extents()
    for files in rest:
        yield trials(files, distribution)
    for pattern in extreme_patterns(both.inputs, both.graph):
        yield trials(first, pattern)
    for other in others:
        yield trials(first, other, is_another=True)  # other random floats need no other files or sizes
