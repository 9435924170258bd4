"""Run models in child processes: on inputs of both, by requests, and by rehearsals of several inputs in one process.

First the inputs of two models, which agree except for layout and element type, for example if one includes its
preprocessing. A request needs the memory of the model's tensors, by the model's own declarations. Rehearsals run
several sets of inputs in one process: a model takes longer to load and compile than to run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any

import numpy as np
import onnx

from ir_interp.errors import IrInterpError, VerificationError
from ir_interp.files.kinds import FileKind
from ir_interp.files.memory import MemoryBoundError, allow_declared, bound_advice, is_of_memory
from ir_interp.options.shared_options import Images
from ir_interp.shapes import Array, PartialShape, Shape

from ..onnx.onnx_files import read_model
from ..onnx.static_values import infer, without_weights
from ..reports import Progress
from ..workers import Call, forks
from . import graphs, runners
from .graphs import Graph, ModelInput, is_channel_last, read
from .input_shapes import Shapes, attempts, named
from .inputs import Inputs
from .run_request import (
    INPUTS,
    LARGE,
    NOT_LOADED,
    OUTPUTS,
    PROBLEM,
    REPLACEMENTS,
    TENSORS,
    USAGE,
    Group,
    Named,
    Outcome,
    Request,
    alike,
    has_values,
    load_mapped_arrays,
    model_files,
    numbered,
    save_arrays,
)
from .runners import try_inputs

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


def fitted(array: Array, source: ModelInput, target: ModelInput, images: Images) -> Array:
    """Return an array of one input as another takes it: pixels become floats as ``images`` specifies."""
    order = _order(array.shape, target.lengths)
    if order is None:
        raise IrInterpError(f"{array.dtype} of shape {list(array.shape)} does not fit; {target.text}")
    if _takes_pixels(source) and target.dtype.startswith("float") and array.ndim == 4:
        axis = 3 if is_channel_last(array.shape) else 1
        array = images.normalised(np.flip(array, axis) if images.bgr else array, axis)
    return np.asarray(array.transpose(order).astype(target.dtype, copy=False), order="C")


def for_model(arrays: Mapping[str, Array], graph: Graph, inputs: Sequence[ModelInput], images: Images) -> Named:
    """Return arrays for the inputs of ``graph`` as those of another model take them: by name, in its order."""
    partners = paired(graph.inputs, inputs)
    fit = {
        partners[tensor.name].name: fitted(arrays[tensor.name], tensor, partners[tensor.name], images)
        for tensor in graph.inputs
    }
    return [(tensor.name, fit[tensor.name]) for tensor in inputs]


@dataclass(frozen=True, slots=True, kw_only=True)
class Models:
    """Two models that are run on the same inputs, those of ``graph``; ``graphs`` has the graph of each model.

    .onnx runs in onnxruntime, except those of ``through_openvino``, .xml in OpenVINO. ``as_large`` are those that also
    run with resizes as for large tensors.
    """

    graph: Graph
    inputs: Inputs
    graphs: Mapping[Path, Graph]
    through_openvino: set[Path] = field(default_factory=set)
    as_large: frozenset[Path] = frozenset()

    def in_openvino(self, model: Path) -> bool:
        """Return whether OpenVINO runs a model; onnxruntime runs the others."""
        return FileKind.of(model) is FileKind.IR or model in self.through_openvino

    def read(self, model: Path) -> Graph:
        """Return the graph of one of the models, or of one that stands for it."""
        return self.graphs[model] if model in self.graphs else read(model)

    def substitute(self, model: Path, path: Path) -> Path:
        """Let ``path`` run in the runtime of ``model``, for which it stands; return it."""
        if model in self.through_openvino:
            self.through_openvino.add(path)
        return path

    def inputs_of(self, model: Path, arrays: Named) -> Named:
        """Return arrays for ``graph`` as one of the models takes them."""
        return for_model(dict(arrays), self.graph, self.read(model).inputs, self.inputs.images)


def models(first: Path, second: Path, inputs: Inputs, through_openvino: Iterable[Path] = ()) -> Models:
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
        through_openvino=set(through_openvino),
    )


# Requests to child processes.

_BYTES_AN_ELEMENT = 8  # float32 at least, in its own and in another layout


def declared_bytes(paths: Iterable[Path], shapes: Mapping[str, Shape]) -> float:
    """Return the memory of the tensors of the largest of some models on inputs of ``shapes``, by name."""
    return max((float(_BYTES_AN_ELEMENT * sum(elements(path, shapes).values())) for path in paths), default=0.0)


def elements(path: Path, shapes: Mapping[str, Shape]) -> Mapping[str, int]:
    """Return the number of elements of the tensors of a model on inputs of ``shapes``, by name."""
    return _of_model(path, path.stat().st_mtime_ns, tuple(sorted(shapes.items())))


@lru_cache(maxsize=64)
def _of_model(path: Path, _: int, shapes: tuple[tuple[str, Shape], ...]) -> Mapping[str, int]:
    try:
        return dict(_of_onnx(path, dict(shapes)) if FileKind.of(path) is FileKind.ONNX else _of_ir(path, dict(shapes)))
    except IrInterpError:
        return {}


def _of_onnx(path: Path, shapes: Mapping[str, Shape]) -> Iterable[tuple[str, int]]:
    """Yield the number of elements of every tensor of the main graph, inferred from inputs of these shapes."""
    model = without_weights(read_model(path))
    del model.graph.value_info[:]  # of other shapes, which inference would keep
    for value in model.graph.output:
        value.type.tensor_type.ClearField("shape")
    for value in model.graph.input:
        if value.name in shapes:
            _fix(value.type.tensor_type, shapes[value.name])
    graph = infer(model).graph
    for value in (*graph.input, *graph.value_info, *graph.output):
        yield value.name, math.prod(max(1, dim.dim_value) for dim in value.type.tensor_type.shape.dim)


def _fix(tensor: onnx.TypeProto.Tensor, shape: Shape) -> None:
    tensor.ClearField("shape")
    for length in shape:
        tensor.shape.dim.add(dim_value=length)


def _of_ir(path: Path, shapes: Mapping[str, Shape]) -> Iterable[tuple[str, int]]:
    """Yield the number of elements of every tensor; a dynamic dimension is that of an input of the same rank."""
    graph = graphs.read(path)
    like = {len(shape): shape for shape in shapes.values()}
    for name in graph.names:
        lengths = graph.shape(name)
        if lengths is not None:
            others = like.get(len(lengths), (1,) * len(lengths))
            sizes = (other if length is None else length for length, other in zip(lengths, others, strict=True))
            yield name, math.prod(sizes)


_SECONDS = 600  # for one request

MEMORY = "takes more memory than is allowed"
"""Part of the message of ``OutOfMemoryError``."""


class NotRunError(VerificationError):
    """A model does not run in its runtime, with any shapes that were tried."""


class OutOfMemoryError(NotRunError):
    """A model, or the comparison that shows its tensors, takes more memory than is allowed: it may run otherwise."""


class NotLoadedError(NotRunError):
    """A runtime does not accept a model, whatever the inputs."""


def answer(request: Request, declared: float, function: Callable[[Request], int] = runners.answer) -> None:
    """Run a request in a separate process, for a model whose tensors are of ``declared`` bytes.

    Raises NotRunError for errors in the runtime, IrInterpError for an invalid request.
    """
    model = request.model
    allow_declared(declared)
    call = Call(
        function=f"{runners.__name__}:{function.__name__}",
        argument=request,
        folder=request.folder,
        imports=("openvino",) if request.in_openvino else ("onnx", "onnxruntime"),
        seconds=_SECONDS,
        files=(*model_files(request), request.folder / INPUTS),
        declared=declared,
        name=repr(alike(request)),
    )
    try:
        with forks() as processes:
            code, errors = processes.run(call)
    except TimeoutError:
        raise NotRunError(f"{model.name} did not finish in {_SECONDS} s") from None
    if code == USAGE:
        raise IrInterpError(errors.strip())
    if code:
        problem = not_run(request, (errors.strip().splitlines() or [f"it died with status {code}"])[-1])
        is_refused = code == NOT_LOADED and not isinstance(problem, OutOfMemoryError)
        raise NotLoadedError(*problem.args) if is_refused else problem


def not_run(request: Request, reason: str) -> NotRunError:
    """Return the error for a model that does not run, for a reason of its runtime."""
    if is_of_memory(reason):
        shown = " while inner tensors are compared" if request.tensors else ""
        return OutOfMemoryError(f"{request.model.name} {MEMORY}{shown}: {reason}; {bound_advice()}")
    return NotRunError(f"{request.model.name} does not run: {reason}")


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
                save_arrays(request.folder / numbered(INPUTS, number), inputs(trial))
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
            return load_mapped_arrays(run.file(OUTPUTS)), dict(load_mapped_arrays(run.file(TENSORS)))
        if run.file(PROBLEM).exists():
            raise not_run(run.request, run.file(PROBLEM).read_text(encoding="utf-8"))
        return None

    def recall_as_large(self, model: Path, trial: Trial) -> tuple[Named, Named] | None:
        """Return the outputs of a model, and those with resizes as for large tensors; None if it has none."""
        runs = (run for (known, _, key), run in self._runs.items() if (known, key) == (model, trial.key))
        both = (
            (load_mapped_arrays(run.file(OUTPUTS)), load_mapped_arrays(run.file(LARGE)))
            for run in runs
            if run.file(LARGE).exists()
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
        """Return whether a model ran on the inputs of a trial, and gave values, or did not run on them yet."""
        if self.refuses(model, tensors, trial):
            return False
        outcome = self.recall(model, tensors, trial)
        return outcome is None or has_values(outcome)


def _key(model: Path, tensors: Sequence[str], trial: Trial) -> _Key:
    return model, tuple(tensors), trial.key


@dataclass(frozen=True, slots=True, kw_only=True)
class Runner:
    """Runs models on the same ``arrays`` in child processes: a runtime that dies or hangs affects nothing else.

    The arrays are those of ``trial``, if that is known; ``rehearsals`` may have its outcome. With ``inner``, models
    compute the requested tensors and no outputs.
    """

    folder: Path
    models: Models
    progress: Progress
    rehearsals: Rehearsals
    trial: Trial | None = None
    arrays: Named = field(default_factory=list)
    inner: bool = False
    _large: dict[Path, tuple[Named, Named]] = field(default_factory=dict)

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shapes of the inputs, by name."""
        return {name: array.shape for name, array in self.arrays}

    def hint(self) -> str:
        """Return the shapes of the inputs, and how to choose others; empty if nothing is dynamic."""
        return attempts([self.shapes], self.models.graph, self.models.inputs.hints)

    def elements(self, model: Path) -> Mapping[str, int]:
        """Return the number of elements of each tensor of a model, as far as it declares shapes."""
        return elements(model, self.shapes)

    def __call__(
        self,
        model: Path,
        tensors: Sequence[str] = (),
        *,
        replacements: Mapping[str, Array] | None = None,
        **options: Any,
    ) -> Outcome:
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
            save_arrays(folder / INPUTS, self.models.inputs_of(model, self.arrays))
            if replacements:
                save_arrays(folder / REPLACEMENTS, list(replacements.items()))
            request = replace(self.request(model, tensors), folder=folder, **options)
            answer(request, declared_bytes(self.models.graphs, self.shapes))
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

    def request(self, model: Path, tensors: Sequence[str]) -> Request:
        """Return the request to run a model by its usual settings, and to show tensors."""
        return Request(
            model=model,
            folder=self.folder,
            tensors=tuple(tensors),
            in_openvino=self.models.in_openvino(model),
            inner=self.inner,
            as_large=model in self.models.as_large,
        )
