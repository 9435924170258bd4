"""Run models in child processes, all on the same inputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from numpy.typing import NDArray

from ir_interp.errors import IrInterpError, VerificationError
from ir_interp.files.kinds import FileKind
from ir_interp.files.memory import allow_declared, bound_advice, is_of_memory

from ...report import Progress
from ...workers.forks import Call, forks
from ..graphs import Graph, ModelInput, read
from . import runners
from .array_files import Named, load, save
from .input_shapes import Shapes, attempts, named, shapes
from .inputs import Inputs, arrays, distributions, read_files
from .paired_inputs import for_model, joined
from .runners import INPUTS, NOT_LOADED, OUTPUTS, REPLACEMENTS, TENSORS, USAGE, Request
from .tensor_memory import declared_bytes

_SECONDS = 600  # for one run of a model
Array = NDArray[Any]


class NotLoadedError(VerificationError):
    """A runtime does not take a model, on whatever inputs."""


class NoSourceError(VerificationError):
    """A source does not run in its own runtime, on any lengths that were tried."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Models:
    """Two models that are run on the same inputs, those of ``graph``; ``inputs_of`` has the inputs of each model.

    .onnx runs in onnxruntime, but for those of ``through_openvino``, .xml in OpenVINO.
    """

    graph: Graph
    inputs: Inputs
    inputs_of: Mapping[Path, tuple[ModelInput, ...]]
    through_openvino: frozenset[Path] = frozenset()

    def in_openvino(self, model: Path) -> bool:
        """Say which runtime runs a model."""
        return FileKind.of(model) is FileKind.IR or model in self.through_openvino


def models(first: Path, second: Path, inputs: Inputs, through_openvino: frozenset[Path] = frozenset()) -> Models:
    """Return two models, read. Raises IrInterpError where their inputs do not go together."""
    mine, theirs = read(first), read(second)
    graph = joined(mine, theirs)
    return Models(
        graph=graph,
        inputs=replace(inputs, shapes=named(graph.inputs, inputs.shapes)),
        inputs_of={first: mine.inputs, second: theirs.inputs},
        through_openvino=through_openvino,
    )


@dataclass(slots=True, kw_only=True)
class Runs:
    """Runs models in child processes, on the same inputs: a runtime that dies or hangs takes nothing along.

    ``files`` are those of this run by input name, ``distribution`` that of random floats; ``is_another`` where that is
    tried only because the first proves nothing.
    """

    folder: Path
    models: Models
    files: Mapping[str, Path]
    distribution: str
    progress: Progress
    is_another: bool = False
    arrays: Named = field(default_factory=list)
    _tried: int = 0

    def settle(self, model: Path, data: Sequence[str] = ()) -> tuple[Named, dict[str, Array]]:
        """Run a model on lengths that it can work with, which all later runs take; return its outputs and ``data``.

        Among these, and among the outputs, there are then no empty ones, as far as any lengths give such. Called again,
        it tries what is left. Raises VerificationError where it runs on none.
        """
        graph, inputs = self.models.graph, self.models.inputs
        read = read_files(graph, inputs, self.files)
        answers = shapes(graph, {**inputs.shapes, **{name: array.shape for name, array in read.items()}})
        problems, empty = [], []
        for each in answers[self._tried :]:
            self._tried += 1
            allow_declared(self._declared(each))
            self.arrays = arrays(graph, each, read, inputs.seed, self.distribution)
            try:
                ran = self(model, data if len(answers) > 1 else ())  # with one answer there is no choice
            except NotLoadedError:
                raise
            except VerificationError as problem:
                problems.append(str(problem))
                continue
            # An empty output proves nothing, nor does a resize of an empty tensor.
            if all(array.size for array in (*(array for _, array in ran[0]), *ran[1].values())):
                return ran
            empty.append(each)
        self.arrays = arrays(graph, (empty or answers)[0], read, inputs.seed, self.distribution)
        if empty:
            return self(model)
        raise VerificationError("; ".join([*problems[:1], *filter(None, [attempts(answers, graph)])]))

    def settle_both(self, source: Path, result: Path, data: Sequence[str] = ()) -> tuple[Named, Named, str]:
        """Return the outputs of a model and its translation on lengths on which both run, and where one did not.

        A source may leave its own domain without a word, as where a pool is longer than its input. Raises
        VerificationError, NotLoadedError of the source, where they run together on none.
        """
        problems: list[str] = []
        while True:
            try:
                expected, _ = self.settle(source, data)
            except VerificationError as problem:
                text = "; ".join(filter(None, (*problems[:1], str(problem))))
                raise (VerificationError if problems else NoSourceError)(text) from None
            try:
                return expected, self(result)[0], problems[0] if problems else ""
            except NotLoadedError:
                raise
            except VerificationError as problem:
                problems.append(f"{problem}, on {self._lengths()}")

    def substitute(self, model: Path, path: Path) -> Path:
        """Let ``path`` run in the runtime of ``model``, for which it stands; return it."""
        if model in self.models.through_openvino:
            self.models = replace(self.models, through_openvino=self.models.through_openvino | {path})
        return path

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The lengths of the inputs that it runs on, by name."""
        return {name: array.shape for name, array in self.arrays}

    def hint(self) -> str:
        """Return what was run on, and how to choose; nothing where no length is dynamic."""
        return attempts([self.shapes], self.models.graph)

    def _lengths(self) -> str:
        return ", ".join(f"{name} {list(array.shape)}" for name, array in self.arrays)

    def __call__(
        self, model: Path, tensors: Sequence[str] = (), *, given: Mapping[str, Array] | None = None, **options: Any
    ) -> tuple[Named, dict[str, Array]]:
        """Return the outputs of a model, and those of ``tensors`` that it has, by name.

        ``given`` are values that take the place of tensors inside; ``options`` are those of ``Request``.
        """
        self.progress(f"running {model.name}", 0, 0)
        with TemporaryDirectory(dir=self.folder) as place:
            folder = Path(place)
            save(folder / INPUTS, self._inputs_of(model))
            if given:
                save(folder / REPLACEMENTS, list(given.items()))
            in_openvino = self.models.in_openvino(model)
            request = Request(model=model, folder=folder, tensors=tuple(tensors), in_openvino=in_openvino, **options)
            _run(request, self._declared(self.shapes))
            return load(folder / OUTPUTS), dict(load(folder / TENSORS))

    def _declared(self, shapes: Shapes) -> float:
        """Return what the tensors of the models take on inputs of these lengths."""
        return declared_bytes(self.models.inputs_of, shapes)

    def _inputs_of(self, model: Path) -> Named:
        models = self.models
        inputs = models.inputs_of[model] if model in models.inputs_of else read(model).inputs
        return for_model(dict(self.arrays), models.graph, inputs, models.inputs.images)


def runs(both: Models, folder: Path, progress: Progress) -> Iterator[Runs]:
    """Yield what runs two models, once for all files of each input; then on other random floats."""
    samples = both.inputs.samples()
    for place, distribution in enumerate(distributions(both.inputs, both.graph)):
        for files in samples if not place else samples[:1]:  # other random floats need no other files
            yield Runs(
                folder=folder,
                models=both,
                files=files,
                distribution=distribution,
                progress=progress,
                is_another=bool(place),
            )


def _run(request: Request, declared: float) -> None:
    """Run a request in a process of its own, for a model whose tensors are of ``declared`` bytes."""
    model = request.model
    allow_declared(declared)
    call = Call(
        function=f"{runners.__name__}:answer",
        argument=request,
        folder=request.folder,
        imports=("openvino",) if request.in_openvino else ("onnx", "onnxruntime"),
        seconds=_SECONDS,
        files=(model, model.with_suffix(".bin"), request.folder / INPUTS),
        declared=declared,
    )
    try:
        with forks() as processes:
            code, errors = processes.run(call)
    except TimeoutError:
        raise VerificationError(f"{model.name} did not finish in {_SECONDS} s") from None
    if code == USAGE:
        raise IrInterpError(errors.strip())
    if code:
        lines = errors.strip().splitlines() or [f"it died with status {code}"]
        advice = f"; {bound_advice()}" if is_of_memory(lines[-1]) else ""
        problem = f"{model.name} does not run: {lines[-1]}{advice}"
        raise (NotLoadedError if code == NOT_LOADED else VerificationError)(problem)
