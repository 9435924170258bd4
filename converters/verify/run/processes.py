"""Run models in child processes, all on the same inputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from ir_interp.errors import IrInterpError, VerificationError
from ir_interp.files.kinds import FileKind
from ir_interp.files.memory import allow_declared, bound_advice, is_of_memory

from ...report import Progress
from ...workers.forks import Call, forks
from ..graphs import Described, Graph, read
from . import runners
from .chosen_lengths import Shapes, named, shapes, told
from .ends import for_model, joined
from .inputs import Inputs, arrays, read_files, ways
from .runners import NOT_LOADED, USAGE, Named, Request, load, save
from .tensor_memory import declared_bytes

_SECONDS = 600


class NotLoadedError(VerificationError):
    """A runtime does not take a model, on whatever inputs."""


class NoSourceError(VerificationError):
    """A source does not run in its own runtime, on any lengths that were tried."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Models:
    """Two models that are run on the same inputs, those of ``graph``; and what they take of these themselves.

    .onnx runs in onnxruntime, but for those of ``through_openvino``, .xml in OpenVINO.
    """

    graph: Graph
    inputs: Inputs
    own: Mapping[Path, tuple[Described, ...]]
    through_openvino: frozenset[Path] = frozenset()

    def in_openvino(self, model: Path) -> bool:
        """Say which runtime runs a model."""
        return FileKind.of(model) is FileKind.IR or model in self.through_openvino


def models(first: Path, second: Path, inputs: Inputs, through_openvino: frozenset[Path] = frozenset()) -> Models:
    """Return two models, read. Raises IrInterpError where their inputs do not go together."""
    mine, theirs = read(first), read(second)
    own, graph = {first: mine.inputs, second: theirs.inputs}, joined(mine, theirs)
    inputs = replace(inputs, shapes=named(graph.inputs, inputs.shapes))
    return Models(graph=graph, inputs=inputs, own=own, through_openvino=through_openvino)


@dataclass(slots=True, kw_only=True)
class Runs:
    """Runs models in child processes, on the same inputs: a runtime that dies or hangs takes nothing along.

    ``files`` are those of this run by input name, ``way`` that in which the rest is made up; ``is_another`` where that
    is tried only because the first tells nothing.
    """

    folder: Path
    models: Models
    files: Mapping[str, Path]
    way: str
    progress: Progress
    is_another: bool = False
    arrays: Named = field(default_factory=list)
    _number: Iterator[int] = field(default_factory=count)
    _tried: int = 0

    def settle(self, model: Path, data: Sequence[str] = ()) -> tuple[Named, dict[str, NDArray[Any]]]:
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
            self.arrays = arrays(graph, each, read, inputs.seed, self.way)
            try:
                ran = self(model, data if len(answers) > 1 else ())
            except NotLoadedError:
                raise
            except VerificationError as problem:
                problems.append(str(problem))
                continue
            if all(array.size for array in (*(array for _, array in ran[0]), *ran[1].values())):
                return ran
            empty.append(each)
        self.arrays = arrays(graph, (empty or answers)[0], read, inputs.seed, self.way)
        if empty:
            return self(model)
        raise VerificationError("; ".join([*problems[:1], *filter(None, [told(answers, graph)])]))

    def settle_both(self, source: Path, result: Path, data: Sequence[str] = ()) -> tuple[Named, Named, str]:
        """Return what a model and its translation make on lengths with which both can work, and where one could not.

        A source may leave its own domain without a word, as where a pool is longer than what it is given. Raises
        VerificationError, NotLoadedError of the source, where they run together on none.
        """
        problems: list[str] = []
        while True:
            try:
                wanted, _ = self.settle(source, data)
            except VerificationError as problem:
                told_all = "; ".join(filter(None, (*problems[:1], str(problem))))
                raise (VerificationError if problems else NoSourceError)(told_all) from None
            try:
                return wanted, self(result)[0], problems[0] if problems else ""
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
        return told([self.shapes], self.models.graph)

    def _lengths(self) -> str:
        return ", ".join(f"{name} {list(array.shape)}" for name, array in self.arrays)

    def __call__(
        self,
        model: Path,
        tensors: Sequence[str] = (),
        *,
        given: Mapping[str, NDArray[Any]] | None = None,
        optimised: bool = True,
        in_8_bits: bool = False,
        threads: int = 0,
    ) -> tuple[Named, dict[str, NDArray[Any]]]:
        """Return the outputs of a model, and those of ``tensors`` that it has, by name; see ``Request``."""
        number = next(self._number)
        self.progress(f"running {model.name}", 0, 0)
        request = Request(
            model=str(model),
            inputs=str(self.folder / f"inputs{number}.npz"),
            outputs=str(self.folder / f"outputs{number}.npz"),
            found=str(self.folder / f"found{number}.npz"),
            given=str(self.folder / f"given{number}.npz") if given else "",
            tensors=list(tensors),
            in_openvino=self.models.in_openvino(model),
            optimised=optimised,
            in_8_bits=in_8_bits,
            threads=threads,
        )
        save(request.inputs, self._given_to(model))
        if given:
            save(request.given, list(given.items()))
        file = self.folder / f"request{number}.json"
        request.save(file)
        declared = self._declared(self.shapes)
        allow_declared(declared)
        call = Call(
            function=f"{runners.__name__}:answer",
            request=file,
            imports=("openvino",) if request.in_openvino else ("onnx", "onnxruntime"),
            seconds=_SECONDS,
            files=(model, model.with_suffix(".bin"), Path(request.inputs)),
            declared=declared,
        )
        _run(call, model)
        return load(request.outputs), dict(load(request.found)) if tensors else {}

    def _declared(self, shapes: Shapes) -> float:
        """Return what the tensors of the models take on inputs of these lengths."""
        return declared_bytes(self.models.own, shapes)

    def _given_to(self, model: Path) -> Named:
        own = self.models.own[model] if model in self.models.own else read(model).inputs
        return for_model(dict(self.arrays), self.models.graph, own, self.models.inputs.images)


def runs(both: Models, folder: Path, progress: Progress) -> Iterator[Runs]:
    """Yield what runs two models, once for all files of each input; then on what else can be made up."""
    number: Iterator[int] = count()
    samples = both.inputs.samples()
    for place, way in enumerate(ways(both.inputs, both.graph)):
        for files in samples if not place else samples[:1]:
            yield Runs(
                folder=folder,
                models=both,
                files=files,
                way=way,
                progress=progress,
                is_another=bool(place),
                _number=number,
            )


def _run(call: Call, model: Path) -> None:
    try:
        with forks() as processes:
            code, errors = processes.run(call)
    except TimeoutError:
        raise VerificationError(f"{model.name} did not finish in {call.seconds} s") from None
    if code == USAGE:
        raise IrInterpError(errors.strip())
    if code:
        lines = errors.strip().splitlines() or [f"it died with status {code}"]
        advice = f"; {bound_advice()}" if is_of_memory(lines[-1]) else ""
        problem = f"{model.name} does not run: {lines[-1]}{advice}"
        raise (NotLoadedError if code == NOT_LOADED else VerificationError)(problem)
