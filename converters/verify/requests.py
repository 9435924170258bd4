"""Requests to run a model, answered by child processes.

A request needs the memory of the model's tensors, by the model's own declarations. Rehearsals run several sets of
inputs in one process: a model takes longer to load and compile than to run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import count
from pathlib import Path
from tempfile import mkdtemp

import onnx

from ir_interp.errors import IrInterpError, VerificationError
from ir_interp.files.kinds import FileKind
from ir_interp.files.memory import MemoryBoundError, allow_declared, bound_advice, is_of_memory
from ir_interp.shapes import Shape

from ..onnx.onnx_files import read_model
from ..onnx.static_values import infer, without_weights
from ..workers import Call, forks
from . import graphs, runners
from .input_shapes import Shapes
from .run_request import (
    INPUTS,
    LARGE,
    NOT_LOADED,
    OUTPUTS,
    PROBLEM,
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
