"""Run models in child processes, all on the same inputs.

The inputs of two models agree except for layout and element type, for example if one includes its preprocessing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.errors import IrInterpError
from ir_interp.files.kinds import FileKind
from ir_interp.options.shared_options import Images
from ir_interp.shapes import Array, PartialShape

from ..reports import Progress
from .graphs import Graph, ModelInput, is_channel_last, read
from .input_shapes import attempts, named
from .inputs import Inputs
from .requests import (
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
    Named,
    Outcome,
    Request,
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
        return attempts([self.shapes], self.models.graph)

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
