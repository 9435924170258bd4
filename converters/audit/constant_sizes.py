"""Resizes to constant sizes in an ONNX model of dynamic size: the model then works at one input size only.

An exporter that traces a model records the sizes of one input. ONNX's shape inference follows other input sizes through
the graph. It proves the mistake if all of this holds:

- at some size of the input, every shape of the graph is consistent as it stands;
- at two and at three times that size, the shapes contradict each other because of the constant sizes;
- with scales instead, they are consistent at all three.

A resize to a constant size that contradicts nothing, such as that of an image to the size of a classifier, is meant so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import numpy as np
import onnx
import onnx.checker
import onnx.shape_inference
from onnx import numpy_helper

from ir_interp.errors import SpecError
from ir_interp.plan.taps import plan
from ir_interp.resize_op import ResizeOp
from ir_interp.shapes import resolve_axes, static_shape
from ir_interp.specs import Aspect, AtRunTime, Scales, Sizes
from ir_interp.translation.translate import compared

from ..onnx.onnx_files import graphs
from ..onnx.resize_nodes import ResizeNode, known_nodes
from ..onnx.static_values import without_weights

PROBE = 256  # pixels: a multiple of the strides of nearly every network
ENLARGEMENTS = (2, 4, 8, 16, 32, 3, 1)  # of a resize in a network, the most frequent ones first
MULTIPLES = (1, 2, 3)  # of the size at which the model works; strides that divide it divide these
MOST_SYMBOLS = 3  # dynamic dimensions of inputs, apart from batches
_FIRST_WITH_SIZES = 11

Shapes = dict[str, tuple[int, ...]]
_Number = TypeVar("_Number", int, float)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstantSizes:
    """A resize whose ``sizes`` should be ``scales``; the model works as it stands at ``shapes[0]`` of its inputs only.

    ``shapes`` are the inputs' shapes at the three sizes at which the repaired model is consistent.
    """

    sizes: tuple[int, ...]
    scales: tuple[float, ...]
    shapes: tuple[Shapes, ...]

    @property
    def message(self) -> str:
        """The finding as text."""
        first, second = (", ".join(f"{name} {list(shape)}" for name, shape in shapes.items()) for shapes in self._two)
        return f"sizes {list(self.sizes)} are constant, in a model of dynamic size: it works with {first}, not {second}"

    @property
    def _two(self) -> tuple[Shapes, Shapes]:
        return self.shapes[0], self.shapes[1]


def constant_sizes(model: onnx.ModelProto, path: Path, nodes: Sequence[ResizeNode]) -> dict[str, ConstantSizes]:
    """Return the resizes of a model whose constant sizes are a proven mistake, by their places.

    ``nodes`` are the resizes of the model as it stands.
    """
    suspects = {node.op.where for node in nodes if _may_be_constant(node)}
    if not suspects:  # of most models, which are not copied then
        return {}
    graph = _Graph(model, path)
    if not 0 < len(graph.symbols) <= MOST_SYMBOLS:
        return {}
    for chosen in graph.sizes_at_which_it_may_work(suspects):
        if not graph.contradicts(chosen, {}):
            return _proven(graph, chosen, suspects)
    return {}


def _may_be_constant(node: ResizeNode) -> bool:
    """Return whether sizes, or some of them, are constants, and not computed from a shape."""
    op, values = node.op, node.values
    if op.version < _FIRST_WITH_SIZES or op.spec.aspect is not Aspect.STRETCH or values.outer is not None:
        return False
    if not isinstance(op.spec.target, AtRunTime):
        return isinstance(op.spec.target, Sizes)
    producer = values.producer(node.tensor("sizes")) if op.spec.target is AtRunTime.SIZES else None
    return producer is not None and any(values.value(name) is not None for name in producer.input if name)


_Symbols = Mapping[str, int]
"""The size of every dynamic dimension by its name."""
_Rescaled = Mapping[str, tuple[float, ...]]
"""Scales for resizes, by the names of their outputs."""


class _Graph:
    """A model whose dynamic dimensions can be chosen."""

    def __init__(self, model: onnx.ModelProto, path: Path) -> None:
        self._path = path
        self._model = without_weights(model)
        self.dims: dict[str, list[int | str]] = {}
        stored = {tensor.name for tensor in model.graph.initializer}
        for value in self._model.graph.input:
            kind = value.type.tensor_type
            if value.name not in stored and kind.HasField("shape"):
                self.dims[value.name] = [_dim(dim, value.name, axis) for axis, dim in enumerate(kind.shape.dim)]
        # The first dimension is the batch, which no resize changes.
        self.symbols = list(
            dict.fromkeys(dim for dims in self.dims.values() for dim in dims[1:] if isinstance(dim, str))
        )

    def shapes(self, chosen: _Symbols) -> Shapes:
        """Return the shapes of the inputs that have a chosen dimension."""
        return {
            name: tuple(dim if isinstance(dim, int) else chosen.get(dim, 1) for dim in dims)
            for name, dims in self.dims.items()
            if any(dim in chosen for dim in dims)
        }

    def frozen(self, chosen: _Symbols, rescaled: _Rescaled) -> onnx.ModelProto:
        """Return the model with chosen dimensions, and scales in place of the sizes of some resizes."""
        model = onnx.ModelProto()
        model.CopyFrom(self._model)
        for value in model.graph.input:
            for dim, name in zip(value.type.tensor_type.shape.dim, self.dims.get(value.name, ()), strict=False):
                dim.dim_value = name if isinstance(name, int) else chosen.get(name, 1)
        for graph in graphs(model.graph):
            del graph.value_info[:]  # shapes that the exporter recorded
        for output in model.graph.output:
            output.type.tensor_type.ClearField("shape")
        for node in model.graph.node:
            scales = rescaled.get(node.output[0]) if node.output else None
            if scales is not None:
                name = f"{node.output[0]}/scales of {self._path.name}"
                model.graph.initializer.append(numpy_helper.from_array(np.array(scales, np.float32), name))
                node.input[:] = [node.input[0], node.input[1], name]
        return model

    def contradicts(self, chosen: _Symbols, rescaled: _Rescaled) -> bool:
        """Return whether the shapes of the graph contradict each other."""
        try:
            onnx.shape_inference.infer_shapes(self.frozen(chosen, rescaled), strict_mode=True, data_prop=True)
        except (onnx.shape_inference.InferenceError, onnx.checker.ValidationError, RuntimeError, ValueError):
            return True
        return False

    def resizes(self, chosen: _Symbols, suspects: set[str]) -> Iterator[ResizeNode]:
        """Yield the suspects whose sizes and input shape are known at chosen dimensions."""
        for node in known_nodes(self.frozen(chosen, {}), self._path)[0]:
            if node.op.where in suspects and isinstance(node.op.spec.target, Sizes) and static_shape(node.op.shape):
                yield node

    def sizes_at_which_it_may_work(self, suspects: set[str]) -> Iterator[_Symbols]:
        """Yield dimensions of the inputs at which the first suspect enlarges by a usual factor."""
        probe = dict.fromkeys(self.symbols, PROBE)
        before = next(self.resizes(probe, suspects), None)
        if before is None:
            return
        driven: dict[str, tuple[int, int]] = {}  # the size of the resize's input at the probe, and its target
        for symbol in self.symbols:
            moved = next(self.resizes({**probe, symbol: 2 * PROBE}, suspects), None)
            if moved is None or moved.op.where != before.op.where or moved.op.spec.target != before.op.spec.target:
                return  # its sizes follow the input
            for axis, size in _targets(before.op).items():
                assert before.op.shape is not None
                assert moved.op.shape is not None
                if moved.op.shape[axis] != before.op.shape[axis]:
                    driven[symbol] = before.op.shape[axis] or 1, size
        for factor in ENLARGEMENTS:
            sizes = {symbol: size * PROBE / (data * factor) for symbol, (data, size) in driven.items()}
            if sizes and all(size.is_integer() for size in sizes.values()):
                yield probe | {symbol: int(size) for symbol, size in sizes.items()}


def _dim(dim: onnx.TensorShapeProto.Dimension, name: str, axis: int) -> int | str:
    if dim.HasField("dim_value") and dim.dim_value >= 0:
        return dim.dim_value
    return dim.dim_param or f"{name}[{axis}]"


def _targets(op: ResizeOp) -> dict[int, int]:
    """Return the target size of each axis."""
    assert isinstance(op.spec.target, Sizes)
    assert op.shape is not None
    return dict(zip(resolve_axes(op.spec.axes, len(op.shape)), op.spec.target.values, strict=True))


def _proven(graph: _Graph, works: _Symbols, suspects: set[str]) -> dict[str, ConstantSizes]:
    """Return the suspects without whose scales the model contradicts itself at multiples of a size that works."""
    found: dict[str, tuple[ResizeNode, tuple[float, ...]]] = {}
    for node in graph.resizes(works, suspects):
        scales = _scales(node.op)
        if scales is not None:
            found[node.node.output[0]] = node, scales
    multiples = [{name: size * factor for name, size in works.items()} for factor in MULTIPLES]
    all_scales = {output: scales for output, (_, scales) in found.items()}
    rescaled = next((tried for tried in choices(all_scales) if _is_consistent(graph, multiples, tried)), {})
    shapes = tuple(map(graph.shapes, multiples))
    return {
        found[output][0].op.where: ConstantSizes(
            sizes=tuple(_targets(found[output][0].op).values()), scales=scales, shapes=shapes
        )
        for output, scales in rescaled.items()
        if graph.contradicts(multiples[1], {name: other for name, other in rescaled.items() if name != output})
    }


def choices(rescaled: Mapping[str, tuple[_Number, ...]]) -> Iterator[Mapping[str, tuple[_Number, ...]]]:
    """Yield the resizes that may be meant as scales: all of them, then all but one, whose size is meant."""
    yield rescaled
    if len(rescaled) > 1:
        for output in rescaled:
            yield {name: scales for name, scales in rescaled.items() if name != output}


def _is_consistent(graph: _Graph, multiples: Sequence[_Symbols], rescaled: _Rescaled) -> bool:
    return bool(rescaled) and not any(graph.contradicts(chosen, rescaled) for chosen in multiples)


def _scales(op: ResizeOp) -> tuple[float, ...] | None:
    """Return the scales that mean the same as the sizes for the shape of a resize; None if float32 has none."""
    assert isinstance(op.spec.target, Sizes)
    shape = static_shape(op.shape)
    assert shape is not None
    scales = tuple(float(np.float32(size / (shape[axis] or 1))) for axis, size in _targets(op).items())
    spec = replace(op.spec, target=Scales(scales))
    try:
        is_same = plan(spec, shape).out_shape == plan(op.spec, shape).out_shape
        return scales if is_same and compared(op.spec, spec, shape) is not None else None
    except SpecError:
        return None
