"""Run models in child processes, all on the same inputs.

The inputs of two models agree except for layout and element type, for example if one includes its preprocessing.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, takewhile
from math import prod
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.errors import IrInterpError
from ir_interp.files.kinds import FileKind
from ir_interp.files.memory import MemoryBoundError, allow_declared
from ir_interp.options.shared_options import Images
from ir_interp.shapes import Array, PartialShape

from ..reports import Progress
from .graphs import PATTERNS, Graph, ModelInput, is_channel_last, read
from .input_shapes import NEEDED, Extent, Shapes, attempts, extents, named, shapes
from .inputs import Inputs, arrays, distributions, domains, extreme_patterns, read_files, settings
from .requests import (
    NotLoadedError,
    NotRunError,
    Rehearsals,
    Trial,
    answer,
    declared_bytes,
    elements,
)
from .run_request import (
    INPUTS,
    LARGE,
    OUTPUTS,
    REPLACEMENTS,
    TENSORS,
    Group,
    Named,
    Outcome,
    Request,
    has_nan,
    has_values,
    is_empty,
    load_mapped_arrays,
    save_arrays,
)

_ORDERS = ((0, 2, 3, 1), (0, 3, 1, 2))  # of axes, from NCHW to NHWC and back


def paired(inputs: Sequence[ModelInput], others: Sequence[ModelInput]) -> dict[str, ModelInput]:
    """Return the input of another model for each of this one: by name if all names agree, else by place."""
    if len(inputs) != len(others):
        names = ", ".join(other.name for other in others)
        raise IrInterpError(f"{len(others)} inputs ({names}), but {len(inputs)} are given")
    by_name = {other.name: other for other in others}
    named = by_name.keys() == {tensor.name for tensor in inputs}
    return {tensor.name: by_name[tensor.name] if named else other for tensor, other in zip(inputs, others, strict=True)}


def joined(graph: Graph, other: Graph) -> Graph:
    """Return the graph with inputs that both models can take: static dimensions of either, pixels if one takes them.

    Raises IrInterpError if an input of one cannot be an input of the other.
    """
    partners = paired(graph.inputs, other.inputs)
    return replace(graph, inputs=tuple(_joined(tensor, partners[tensor.name]) for tensor in graph.inputs))


def _joined(mine: ModelInput, theirs: ModelInput) -> ModelInput:
    order = _order(theirs.lengths, mine.lengths)
    if order is None or not _same_kind(mine.dtype, theirs.dtype):
        raise IrInterpError(f"incompatible inputs: {mine.text}; {theirs.text}")
    lengths = [theirs.lengths[axis] for axis in order]
    both = tuple(a if a is not None else b for a, b in zip(mine.lengths, lengths, strict=True))
    if _takes_pixels(theirs) and not _takes_pixels(mine):
        return replace(theirs, name=mine.name, lengths=tuple(both[axis] for axis in np.argsort(order)))
    return replace(mine, lengths=both)


def _order(shape: PartialShape, target: PartialShape) -> tuple[int, ...] | None:
    """Return the order of axes that turns one shape into another; None if no layout of images does."""
    if len(shape) != len(target):
        return None
    orders = (tuple(range(len(shape))), *(_ORDERS if len(shape) == 4 else ()))
    return next(
        (
            order
            for order in orders
            if all(b is None or shape[a] in (None, b) for a, b in zip(order, target, strict=True))
        ),
        None,
    )


def _same_kind(mine: str, theirs: str) -> bool:
    """Return whether numbers of one element type can be passed as another."""
    if mine == theirs or "bfloat16" in (mine, theirs):  # NumPy has no bfloat16
        return True
    return bool(mine and theirs) and {np.dtype(mine).kind, np.dtype(theirs).kind} <= set("fiu")


def _takes_pixels(tensor: ModelInput) -> bool:
    return tensor.dtype in ("uint8", "int8")


def fitted(array: NDArray[Any], source: ModelInput, target: ModelInput, images: Images) -> NDArray[Any]:
    """Return an array of one input as another takes it: pixels become floats as ``images`` specifies."""
    order = _order(array.shape, target.lengths)
    if order is None:
        raise IrInterpError(f"{array.dtype} of shape {list(array.shape)} does not fit; {target.text}")
    if _takes_pixels(source) and target.dtype.startswith("float") and array.ndim == 4:
        axis = 3 if is_channel_last(array.shape) else 1
        array = images.normalised(np.flip(array, axis) if images.bgr else array, axis)
    return np.asarray(array.transpose(order).astype(target.dtype, copy=False), order="C")


def for_model(arrays: Mapping[str, NDArray[Any]], graph: Graph, inputs: Sequence[ModelInput], images: Images) -> Named:
    """Return arrays for the inputs of ``graph`` as those of another model take them: by name, in its order."""
    partners = paired(graph.inputs, inputs)
    fit = {
        partners[tensor.name].name: fitted(arrays[tensor.name], tensor, partners[tensor.name], images)
        for tensor in graph.inputs
    }
    return [(tensor.name, fit[tensor.name]) for tensor in inputs]


class NoSourceError(NotRunError):
    """A source does not run in its own runtime, with any shapes that were tried."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Models:
    """Two models that are run on the same inputs, those of ``graph``; ``graphs`` has the graph of each model.

    .onnx runs in onnxruntime, except those of ``through_openvino``, .xml in OpenVINO. ``as_large`` are those that also
    run with resizes as for large tensors.
    """

    graph: Graph
    inputs: Inputs
    graphs: Mapping[Path, Graph]
    through_openvino: frozenset[Path] = frozenset()
    as_large: frozenset[Path] = frozenset()

    def in_openvino(self, model: Path) -> bool:
        """Return whether OpenVINO runs a model; onnxruntime runs the others."""
        return FileKind.of(model) is FileKind.IR or model in self.through_openvino

    def read(self, model: Path) -> Graph:
        """Return the graph of one of the models, or of one that stands for it."""
        return self.graphs[model] if model in self.graphs else read(model)


def models(first: Path, second: Path, inputs: Inputs, through_openvino: frozenset[Path] = frozenset()) -> Models:
    """Return two models, read. Raises IrInterpError if their inputs are incompatible."""
    mine = read(first)
    theirs = read(second) if second != first else mine
    graph = joined(mine, theirs)
    return Models(
        graph=graph,
        inputs=replace(
            inputs, shapes=named(graph.inputs, inputs.shapes), files=named(graph.inputs, inputs.files, "file")
        ),
        graphs={first: mine, second: theirs},
        through_openvino=through_openvino,
    )


@dataclass(slots=True, kw_only=True)
class Runs:
    """Runs models in child processes, on the same inputs: a runtime that dies or hangs affects nothing else.

    ``files`` are those of this run by input name, ``distribution`` that of random floats; ``is_another`` if that is
    tried only because the first proves nothing. ``extent`` selects the sizes of dynamic dimensions. ``others`` are
    the runs at other extents than ``real``, which is the first. ``trial`` has the inputs on which it has settled.
    With ``inner``, models compute the requested tensors and no outputs. ``undefined`` are the distributions on which
    the model that settled gives NaN; it settled on another one, unless that is among them.
    """

    folder: Path
    models: Models
    files: Mapping[str, Path]
    distribution: str
    progress: Progress
    rehearsals: Rehearsals
    extent: Extent = Extent.REAL
    others: list[Runs] = field(default_factory=list)
    real: Runs | None = None
    is_another: bool = False
    inner: bool = False
    has_settled: bool = False
    trial: Trial | None = None
    arrays: Named = field(default_factory=list)
    undefined: tuple[str, ...] = ()
    _large: dict[Path, tuple[Named, Named]] = field(default_factory=dict)
    _tried: int = 0
    _source_problem: str = ""

    def settle(self, model: Path, data: Sequence[str] = ()) -> Outcome:
        """Run a model on shapes that it accepts, which all later runs use; return its outputs and ``data``.

        Among these, and among the outputs, none is empty then, and no output has a NaN, unless all inputs give such.
        Called again, it tries the rest. Raises NotRunError if it runs on none, MemoryBoundError if all would take too
        much.
        """
        trials = self._trials()
        is_open = len(self._answers()) > 1 or self.others or self.real
        data = data if is_open else ()  # with one shape there is no choice
        self._rehearse(model, data, self._likeliest())
        problems: list[Exception] = []
        without_values: list[tuple[bool, int]] = []
        for place, trial in enumerate(trials[self._tried :], self._tried):
            self._tried += 1
            try:
                # The first trial usually runs, so the others are rehearsed only once it has failed.
                if place and not self.rehearsals.has(model, data, trial):
                    self._rehearse_all(model, data, [Group(others=tuple(trials[place:]))])
                self._take(trial)
                outcome = self(model, data)
            except NotLoadedError:
                raise
            except (NotRunError, MemoryBoundError) as problem:
                problems.append(problem)
                continue
            if has_values(outcome):
                self.has_settled = True
                return outcome
            without_values.append((is_empty(outcome), place))
            if has_nan(outcome[0]) and trial.distribution not in self.undefined:
                self.undefined += (trial.distribution,)
        # Some tensor is empty, or NaN, on all inputs that it takes, as the model may intend: the first will do.
        if without_values:
            _, first_place = min(without_values)
            self._take(trials[first_place])
            self.has_settled = True
            return self(model)
        if problems and all(isinstance(problem, MemoryBoundError) for problem in problems):
            raise problems[0]
        first = [str(problem) for problem in problems[:1]]
        raise NotRunError(
            "; ".join([*first, *filter(None, [attempts(self._answers(), self.models.graph, self.models.inputs.hints)])])
        )

    def leave_out_source(self, problem: str) -> None:
        """Let the result alone run from now on, on the first trial that it takes, at this extent and the others."""
        self._source_problem, self._tried = problem, 0

    @property
    def without_source(self) -> str:
        """Why the source does not run at all; empty if it does."""
        return (self.real or self)._source_problem

    def _take(self, trial: Trial) -> None:
        """Let all later runs use the inputs of a trial."""
        if not self.rehearsals.includes(trial):  # for which memory was allowed
            allow_declared(self._declared(trial.shapes))
        self.trial, self.arrays = trial, self._arrays(trial)

    def _answers(self) -> list[Shapes]:
        """Return the input shapes that may be tried, in order."""
        files = {name: array.shape for name, array in self._read().items()}
        inputs = self.models.inputs
        return shapes(self.models.graph, {**inputs.shapes, **files}, self.extent, inputs.hints)

    def _trials(self) -> list[Trial]:
        """Return the inputs to try: all shapes with values of the roles of inputs, then some with others.

        A detector may find nothing in floats of one distribution, and then has no boxes to compare.
        """
        answers, distribution = self._answers(), self.distribution
        values = settings(self.models.graph, answers[0], self._read())
        inputs, graph = self.models.inputs, self.models.graph
        others = [name for name in (*distributions(inputs, graph), *domains(inputs, graph)) if name != distribution]
        trials = [Trial(shapes=shapes, distribution=distribution) for shapes in answers]
        if self.extent not in NEEDED:
            # Values on which the model is defined at the real extent may be needed at this one, too.
            settled = self.real.trial.distribution if self.real and self.real.trial else distribution
            return trials + [replace(trial, distribution=settled) for trial in trials if settled in others]
        # Other values are tried on two shapes only: a model that refuses both refuses more.
        likeliest = trials[:2]
        others = [] if distribution in PATTERNS else others
        return [
            *trials,
            *(replace(trial, setting=value) for value in values for trial in likeliest),
            *(replace(trial, distribution=name) for name in others for trial in likeliest),
        ]

    def _read(self) -> dict[str, Array]:
        return read_files(self.models.graph, self.models.inputs, self.files)

    def _arrays(self, trial: Trial) -> Named:
        models = self.models
        return arrays(models.graph, trial.shapes, self._read(), models.inputs.seed, trial.distribution, trial.setting)

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
                problems.append(f"{problem}, on {self._lengths()}")
                self._pass_over(result)

    @property
    def is_undefined(self) -> bool:
        """Whether the model that settled gives NaN on the inputs of this run, since it did on all that were tried."""
        return self.trial is not None and self.trial.distribution in self.undefined

    @property
    def domain(self) -> str:
        """What NaN outputs on random inputs mean for the proof; empty if there are none, or the inputs explain them."""
        is_random = any(tensor.name not in self.files for tensor in self.models.graph.inputs)
        is_finite = all(np.isfinite(array).all() for _, array in self.arrays if array.dtype.kind in "fV")
        if not self.undefined or not self.trial or not is_random or not is_finite:
            return ""
        if not self.is_undefined:
            undefined = ", ".join(self.undefined)
            return f"outputs are NaN on {undefined} values, so both models ran on {self.trial.distribution} values"
        return (
            f"outputs are NaN on all random inputs that were tried ({', '.join(self.undefined)} values); "
            "pass inputs on which the model is defined, with --input NAME=PATH"
        )

    def _pass_over(self, result: Path) -> None:
        """Leave out the trials that a result refuses, up to the first that it takes; one process tries those left."""
        trials = self._trials()[self._tried :]
        untried = tuple(trial for trial in trials if not self.rehearsals.has(result, (), trial))
        if untried:
            self._rehearse_all(result, (), [Group(others=untried)])
        refused = takewhile(lambda trial: self.rehearsals.refuses(result, (), trial), trials)
        self._tried += len(list(refused))

    def outputs_after(self, source: Path, result: Path, data: Sequence[str] = ()) -> Named:
        """Return the outputs of a model on the inputs on which its source, shown with ``data``, has settled.

        The same process runs it on what the source takes at the other extents.
        """
        self._rehearse(result, (), self._on_which(source, data))
        return self(result)[0]

    def _rehearse(self, model: Path, data: Sequence[str], groups: Sequence[Group[Trial]]) -> None:
        """Run a model on the trials of each extent, all in one process, unless that was done."""
        if self.others and any(map(list, groups)) and not self.rehearsals.knows(model):
            self._rehearse_all(model, data, groups)

    def _rehearse_all(self, model: Path, data: Sequence[str], groups: Sequence[Group[Trial]]) -> None:
        """Run a model on the trials of each group, all in one process."""
        self.progress(f"running {model.name}", 0, 0)
        # One process runs all of them, so its memory is limited for the largest.
        largest = max((trial.shapes for group in groups for trial in group), key=_elements)
        self.rehearsals.rehearse(
            self._request(model, self.folder, data),
            groups,
            lambda trial: self._inputs_of(model, self._arrays(trial)),
            self._declared(largest),
        )

    def _likeliest(self) -> list[Group[Trial]]:
        """Return the first trial at this extent, and all trials of the others.

        Small trials without a setting are all run, as many as together are no larger than the first trial: they take
        hardly any time, and a result may refuse a shape that its source accepts.
        """
        first, most = self._trials()[0], _elements(self._trials()[0].shapes)
        groups = [Group(others=(first,))]
        for run in self.others:
            trials = tuple(run._trials())
            plain = takewhile(lambda trial: trial.setting is None, trials)  # a setting may be the size of outputs
            sizes = accumulate(_elements(trial.shapes) for trial in plain)
            few = bisect_right(list(sizes), most) if run.extent is Extent.SMALL else 0
            groups.append(Group(every=trials[:few], others=trials[few:]))
        return groups

    def _on_which(self, source: Path, data: Sequence[str]) -> list[Group[Trial]]:
        """Return the trials of this run and of the others that a source takes, or may take."""
        groups = [Group(others=(self.trial,))] if self.trial else []
        for run in self.others:
            taken = (trial for trial in run._trials() if self.rehearsals.may_take(source, data, trial))
            groups.append(Group(others=tuple(taken)))
        return groups

    def substitute(self, model: Path, path: Path) -> Path:
        """Let ``path`` run in the runtime of ``model``, for which it stands; return it."""
        if model in self.models.through_openvino:
            self.models = replace(self.models, through_openvino=self.models.through_openvino | {path})
        return path

    @property
    def is_elsewhere(self) -> bool:
        """Whether the source runs at another extent: if it does not at this one, these sizes are not for it."""
        return self.real is not None and self.real.has_settled

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shapes of the inputs that it runs on, by name."""
        return {name: array.shape for name, array in self.arrays}

    def hint(self) -> str:
        """Return the shapes that were tried, and how to choose others; empty if nothing is dynamic."""
        return attempts([self.shapes], self.models.graph, self.models.inputs.hints)

    def _lengths(self) -> str:
        shapes = ", ".join(f"{name} {list(array.shape)}" for name, array in self.arrays)
        has_choice = len(distributions(self.models.inputs, self.models.graph)) > 1
        return f"{shapes} ({self.trial.distribution} values)" if self.trial and has_choice else shapes

    def __call__(
        self,
        model: Path,
        tensors: Sequence[str] = (),
        *,
        replacements: Mapping[str, Array] | None = None,
        **options: Any,
    ) -> tuple[Named, dict[str, Array]]:
        """Return the outputs of a model, and those of ``tensors`` that it has, by name.

        ``replacements`` are values of inner tensors; ``options`` are those of ``Request``.
        """
        is_rehearsed = replacements is None and not options
        known = self.rehearsals.recall(model, tensors, self.trial) if self.trial and is_rehearsed else None
        if known is not None:
            return known
        if self.inner and not self._has_any(model, tensors):
            return [], {}
        self.progress(f"running {model.name}", 0, 0)
        with TemporaryDirectory(dir=self.folder) as place:
            folder = Path(place)
            save_arrays(folder / INPUTS, self._inputs_of(model, self.arrays))
            if replacements:
                save_arrays(folder / REPLACEMENTS, list(replacements.items()))
            answer(self._request(model, folder, tensors, **options), self._declared(self.shapes))
            outputs = load_mapped_arrays(folder / OUTPUTS)
            if (folder / LARGE).exists():
                self._large[model] = outputs, load_mapped_arrays(folder / LARGE)
            return outputs, dict(load_mapped_arrays(folder / TENSORS))

    def _has_any(self, model: Path, tensors: Sequence[str]) -> bool:
        graph = self.models.read(model)
        return not graph.names.union(tensor.name for tensor in graph.inputs).isdisjoint(tensors)

    def as_large(self, model: Path) -> tuple[Named, Named] | None:
        """Return the outputs of a model that ran, and those with resizes as for large tensors; None if it has none."""
        rehearsed = self.rehearsals.recall_as_large(model, self.trial) if self.trial else None
        return rehearsed or self._large.get(model)

    def _request(self, model: Path, folder: Path, tensors: Sequence[str], **options: Any) -> Request:
        in_openvino, as_large = self.models.in_openvino(model), model in self.models.as_large
        return Request(
            model=model,
            folder=folder,
            tensors=tuple(tensors),
            in_openvino=in_openvino,
            inner=self.inner,
            as_large=as_large,
            **options,
        )

    def elements(self, model: Path) -> Mapping[str, int]:
        """Return the number of elements of each tensor of a model, as far as it declares shapes."""
        return elements(model, self.shapes)

    def _declared(self, shapes: Shapes) -> float:
        """Return the memory of the models' tensors on inputs of these shapes."""
        return declared_bytes(self.models.graphs, shapes)

    def _inputs_of(self, model: Path, arrays: Named) -> Named:
        models = self.models
        return for_model(dict(arrays), models.graph, models.read(model).inputs, models.inputs.images)


def _elements(shapes: Shapes) -> int:
    """Return the number of elements of all inputs."""
    return sum(map(prod, shapes.values()))


def runs(both: Models, folder: Path, progress: Progress) -> Iterator[Runs]:
    """Yield runners of two models: on all files of each input, on all extents, then on other random floats.

    Quantised models also run on extreme inputs.
    """
    shared: dict[str, Any] = {"folder": folder, "models": both, "progress": progress}
    first, *rest = both.inputs.samples()
    distribution, *others = distributions(both.inputs, both.graph)
    yield from _at_extents(first, distribution, shared)
    for files in rest:
        yield _run(files, distribution, shared)
    for pattern in extreme_patterns(both.inputs, both.graph):
        yield _run(first, pattern, shared)
    for other in others:
        yield _run(first, other, shared, is_another=True)  # other random floats need no other files or sizes


def _at_extents(files: Mapping[str, Path], distribution: str, shared: Mapping[str, Any]) -> list[Runs]:
    """Return the runs on one set of files at all extents that differ, the real one first."""
    real = _run(files, distribution, shared)
    known = {name: array.shape for name, array in real._read().items()}
    inputs = real.models.inputs
    distinct = extents(real.models.graph, {**inputs.shapes, **known}, inputs.hints)
    real.others = [replace(real, extent=extent, real=real) for extent in distinct if extent is not Extent.REAL]
    return [real, *real.others]


def _run(files: Mapping[str, Path], distribution: str, shared: Mapping[str, Any], *, is_another: bool = False) -> Runs:
    rehearsals = Rehearsals(folder=shared["folder"])
    return Runs(**shared, files=files, distribution=distribution, rehearsals=rehearsals, is_another=is_another)
