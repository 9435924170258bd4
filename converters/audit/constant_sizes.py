"""Resizes to constant sizes in a model of dynamic size: the model then works at one input size only.

An exporter that traces a model records the sizes of one input. Other input sizes are followed through the graph, by
ONNX's shape inference or, in an IR or a TFLite file, OpenVINO's reshape. They prove the mistake if all of this holds:

- at some size of the input, every shape of the graph is consistent as it stands;
- at two and at three times that size, the shapes contradict each other because of the constant sizes;
- with sizes in proportion to their data instead, they are consistent at all three.

A resize to a constant size that contradicts nothing, such as that of an image to the size of a classifier, is meant so.
Sizes of which only a part is constant are examined in ONNX alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Generic, TypeVar

import numpy as np
import onnx
import onnx.checker
import onnx.shape_inference
import openvino as ov
from onnx import numpy_helper
from openvino import opset13 as ops

from ir_interp.errors import SpecError
from ir_interp.files.kinds import FileKind
from ir_interp.plan.taps import plan
from ir_interp.resize_op import ResizeOp
from ir_interp.shapes import Shape, resolve_axes, static_shape
from ir_interp.specs import Aspect, AtRunTime, Scales, Sizes
from ir_interp.translation.translate import compared

from ..onnx.onnx_files import graphs
from ..onnx.resize_nodes import ResizeNode, known_nodes
from ..onnx.static_values import without_weights
from ..openvino.frontends import check_frontend
from ..openvino.openvino_primitives import constant_of

_PROBE = 256  # pixels: a multiple of the strides of nearly every network
_ENLARGEMENTS = (2, 4, 8, 16, 32, 3, 1)  # of a resize in a network, the most frequent ones first
_MULTIPLES = (1, 2, 3)  # of the size at which the model works; strides that divide it divide these
_MOST_SYMBOLS = 3  # dynamic dimensions of inputs, apart from batches
_FIRST_WITH_SIZES = 11

Shapes = dict[str, Shape]


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
        first, second = (
            ", ".join(f"{name} {list(shape)}" for name, shape in shapes.items()) for shapes in self.shapes[:2]
        )
        return f"sizes {list(self.sizes)} are constant, in a model of dynamic size: it works with {first}, not {second}"


@dataclass(frozen=True, slots=True)
class _Resize:
    """A resize to constant sizes, by axis, of data with a shape."""

    data: Shape
    sizes: Mapping[int, int]
    scales: tuple[float, ...] | None  # those that mean the same; None if there are none


Symbol = TypeVar("Symbol")
_Resizes = Mapping[str, _Resize]
"""Resizes by the names of their outputs or layers."""


class _Network(ABC, Generic[Symbol]):
    """A model whose dynamic dimensions, its ``symbols``, can be chosen; the first of a shape is the batch, and none."""

    symbols: Sequence[Symbol]

    @abstractmethod
    def shapes(self, chosen: Mapping[Symbol, int]) -> Shapes:
        """Return the shapes of the inputs that have a chosen dimension, by name."""

    @abstractmethod
    def resizes(self, chosen: Mapping[Symbol, int]) -> Iterator[tuple[str, _Resize]]:
        """Yield the suspects whose sizes and data are known at chosen dimensions, in the order of the graph."""

    @abstractmethod
    def is_consistent(self, chosen: Mapping[Symbol, int], following: _Resizes) -> bool:
        """Return whether the shapes of the graph agree, with sizes in proportion to the data of some resizes."""

    def mistakes(self) -> dict[str, ConstantSizes]:
        """Return the suspects whose constant sizes are a proven mistake, by name."""
        if not 0 < len(self.symbols) <= _MOST_SYMBOLS:
            return {}
        tried = self._sizes_at_which_it_may_work()
        works = next((sizes for sizes in tried if self.is_consistent(sizes, {})), None)
        return {} if works is None else self._proven(works)

    def _sizes_at_which_it_may_work(self) -> Iterator[Mapping[Symbol, int]]:
        """Yield dimensions of the inputs at which the first suspect enlarges by a usual factor."""
        probe = dict.fromkeys(self.symbols, _PROBE)
        name, before = next(self.resizes(probe), ("", None))
        if before is None:
            return
        driven: dict[Symbol, tuple[int, int]] = {}  # the size of the resize's data at the probe, and its target
        for symbol in self.symbols:
            other, moved = next(self.resizes({**probe, symbol: 2 * _PROBE}), ("", None))
            if moved is None or other != name or moved.sizes != before.sizes:
                return  # its sizes follow the input
            for axis, size in before.sizes.items():
                if moved.data[axis] != before.data[axis]:
                    driven[symbol] = before.data[axis] or 1, size
        for factor in _ENLARGEMENTS:
            sizes = {symbol: size * _PROBE / (data * factor) for symbol, (data, size) in driven.items()}
            if sizes and all(size.is_integer() for size in sizes.values()):
                yield probe | {symbol: int(size) for symbol, size in sizes.items()}

    def _proven(self, works: Mapping[Symbol, int]) -> dict[str, ConstantSizes]:
        """Return the suspects without whose proportions the model contradicts itself at multiples of a working size."""
        multiples = [{symbol: size * factor for symbol, size in works.items()} for factor in _MULTIPLES]
        suspects = {name: resize for name, resize in self.resizes(works) if resize.scales is not None}
        following: _Resizes = next(
            (tried for tried in _choices(suspects) if all(self.is_consistent(sizes, tried) for sizes in multiples)), {}
        )
        shapes = tuple(map(self.shapes, multiples))
        return {
            name: ConstantSizes(sizes=tuple(resize.sizes.values()), scales=resize.scales or (), shapes=shapes)
            for name, resize in following.items()
            if not self.is_consistent(multiples[1], {other: kept for other, kept in following.items() if other != name})
        }


def _choices(suspects: _Resizes) -> Iterator[_Resizes]:
    """Yield the resizes that may be meant as scales: all of them, then all but one, whose size is meant."""
    if suspects:
        yield suspects
    if len(suspects) > 1:
        for left_out in suspects:
            yield {name: resize for name, resize in suspects.items() if name != left_out}


def of_nodes(model: onnx.ModelProto, path: Path, nodes: Sequence[ResizeNode]) -> dict[str, ConstantSizes]:
    """Return the resizes of an ONNX model whose constant sizes are a proven mistake, by their places.

    ``nodes`` are the resizes of the model as it stands.
    """
    suspects = {node.node.output[0]: node.op.where for node in nodes if _may_be_constant(node)}
    if not suspects:  # of most models, which are not copied then
        return {}
    found = _Graph(model, path, suspects).mistakes()
    return {suspects[name]: mistake for name, mistake in found.items()}


def _may_be_constant(node: ResizeNode) -> bool:
    """Return whether sizes, or some of them, are constants, and not computed from a shape."""
    op, values = node.op, node.values
    if op.version < _FIRST_WITH_SIZES or op.spec.aspect is not Aspect.STRETCH or values.outer is not None:
        return False
    if not isinstance(op.spec.target, AtRunTime):
        return isinstance(op.spec.target, Sizes)
    producer = values.producer(node.tensor("sizes")) if op.spec.target is AtRunTime.SIZES else None
    return producer is not None and any(values.value(name) is not None for name in producer.input if name)


class _Graph(_Network[str]):
    """An ONNX model, its dynamic dimensions by name; resizes by the names of their outputs."""

    def __init__(self, model: onnx.ModelProto, path: Path, suspects: Collection[str]) -> None:
        self._path, self._suspects = path, suspects
        self._model = without_weights(model)
        self._dims: dict[str, list[int | str]] = {}
        stored = {tensor.name for tensor in model.graph.initializer}
        for value in self._model.graph.input:
            kind = value.type.tensor_type
            if value.name not in stored and kind.HasField("shape"):
                self._dims[value.name] = [_dim(dim, value.name, axis) for axis, dim in enumerate(kind.shape.dim)]
        names = (dim for dims in self._dims.values() for dim in dims[1:] if isinstance(dim, str))
        self.symbols = list(dict.fromkeys(names))

    def shapes(self, chosen: Mapping[str, int]) -> Shapes:
        return {
            name: tuple(dim if isinstance(dim, int) else chosen.get(dim, 1) for dim in dims)
            for name, dims in self._dims.items()
            if any(dim in chosen for dim in dims)
        }

    def resizes(self, chosen: Mapping[str, int]) -> Iterator[tuple[str, _Resize]]:
        for node in known_nodes(self._frozen(chosen, {}), self._path)[0]:
            name, op = node.node.output[0], node.op
            shape = static_shape(op.shape)
            if name in self._suspects and isinstance(op.spec.target, Sizes) and shape:
                sizes = dict(zip(resolve_axes(op.spec.axes, len(shape)), op.spec.target.values, strict=True))
                yield name, _Resize(shape, sizes, _scales(op, shape, sizes))

    def is_consistent(self, chosen: Mapping[str, int], following: _Resizes) -> bool:
        try:
            onnx.shape_inference.infer_shapes(self._frozen(chosen, following), strict_mode=True, data_prop=True)
        except (onnx.shape_inference.InferenceError, onnx.checker.ValidationError, RuntimeError, ValueError):
            return False
        return True

    def _frozen(self, chosen: Mapping[str, int], following: _Resizes) -> onnx.ModelProto:
        """Return the model with chosen dimensions, and scales in place of the sizes of some resizes."""
        model = onnx.ModelProto()
        model.CopyFrom(self._model)
        for value in model.graph.input:
            for dim, name in zip(value.type.tensor_type.shape.dim, self._dims.get(value.name, ()), strict=False):
                dim.dim_value = name if isinstance(name, int) else chosen.get(name, 1)
        for graph in graphs(model.graph):
            del graph.value_info[:]  # shapes that the exporter recorded
        for output in model.graph.output:
            output.type.tensor_type.ClearField("shape")
        for node in model.graph.node:
            resize = following.get(node.output[0]) if node.output else None
            if resize is not None:
                name = f"{node.output[0]}/scales of {self._path.name}"
                model.graph.initializer.append(numpy_helper.from_array(np.array(resize.scales, np.float32), name))
                node.input[:] = [node.input[0], node.input[1], name]
        return model


def _dim(dim: onnx.TensorShapeProto.Dimension, name: str, axis: int) -> int | str:
    if dim.HasField("dim_value") and dim.dim_value >= 0:
        return dim.dim_value
    return dim.dim_param or f"{name}[{axis}]"


def _scales(op: ResizeOp, shape: Shape, sizes: Mapping[int, int]) -> tuple[float, ...] | None:
    """Return the scales that mean the same as the sizes for the shape of a resize; None if float32 has none."""
    scales = tuple(float(np.float32(size / (shape[axis] or 1))) for axis, size in sizes.items())
    spec = replace(op.spec, target=Scales(scales))
    try:
        is_same = plan(spec, shape).out_shape == plan(op.spec, shape).out_shape
        return scales if is_same and compared(op.spec, spec, shape) is not None else None
    except SpecError:
        return None


def of_layers(path: Path, resizes: Collection[ResizeOp]) -> dict[str, ConstantSizes]:
    """Return the resizes of an IR or a TFLite file whose constant sizes are a proven mistake, by their names.

    None of an IR without a .bin file, nor of a file that OpenVINO refuses. Raises ReadError if OpenVINO crashes.
    """
    suspects = [op for op in resizes if op.name and isinstance(op.spec.target, Sizes)]
    # Behind the first of them, sizes look static.
    if not any(None in (op.shape or ()) for op in suspects):
        return {}
    framework, *others = ("tflite",) if FileKind.of(path) is FileKind.TFLITE else ("ir", path.with_suffix(".bin"))
    if not all(other.exists() for other in others):
        return {}
    check_frontend(path, framework, *others)
    try:
        model = ov.Core().read_model(path)
    except RuntimeError:
        return {}
    return _Net(model, {op.name for op in suspects if op.name}).mistakes()


_Place = tuple[int, int]
"""An input, and an axis of it."""


class _Net(_Network[_Place]):
    """A model of OpenVINO, its dynamic dimensions by input and axis; resizes by the names of layers or of outputs."""

    def __init__(self, model: ov.Model, suspects: Collection[str]) -> None:
        self._model, self._suspects = model, suspects
        inputs = [parameter.get_partial_shape() for parameter in model.get_parameters()]
        self.symbols = [
            (place, axis)
            for place, shape in enumerate(inputs)
            if shape.rank.is_static
            for axis in range(1, len(shape))
            if shape[axis].is_dynamic
        ]

    def shapes(self, chosen: Mapping[_Place, int]) -> Shapes:
        places = {place for place, _ in chosen}
        return {self._model.inputs[place].any_name: self._shape(place, chosen) for place in sorted(places)}

    def _shape(self, place: int, chosen: Mapping[_Place, int]) -> Shape:
        shape = self._model.get_parameters()[place].get_partial_shape()
        return tuple(
            chosen.get((place, axis), 1) if length.is_dynamic else length.get_length()
            for axis, length in enumerate(shape)
        )

    def resizes(self, chosen: Mapping[_Place, int]) -> Iterator[tuple[str, _Resize]]:
        for name in self._interpolates(self._model):
            # Only what is before it is reshaped: behind it, shapes may contradict each other.
            model = self._model.clone()
            node = self._interpolates(model)[name]
            before = ov.Model([node.input_value(0)], model.get_parameters())
            sizes = _sizes(node)
            if sizes and self._is_reshaped(before, chosen) and not before.is_dynamic():
                data = tuple(before.outputs[0].shape)
                yield name, _Resize(data, sizes, tuple(size / data[axis] for axis, size in sizes.items()))

    def _interpolates(self, model: ov.Model) -> dict[str, ov.Node]:
        """Return the suspects of a model by name, in the order of the graph."""
        found = {}
        for node in model.get_ordered_ops():
            interpolate = node
            while interpolate.get_type_name() == "Transpose":  # of TFLite, whose channels come last
                interpolate = interpolate.input_value(0).get_node()
            names = [node.get_friendly_name(), *(name for output in node.outputs() for name in output.get_names())]
            name = next((name for name in names if name in self._suspects), None)
            if name is not None and interpolate.get_type_name() == "Interpolate":
                found[name] = interpolate
        return found

    def is_consistent(self, chosen: Mapping[_Place, int], following: _Resizes) -> bool:
        model = self._model.clone()
        interpolates = self._interpolates(model)
        for name, resize in following.items():
            node = interpolates[name]
            node.input(1).replace_source_output(_in_proportion(node, resize))
        return self._is_reshaped(model, chosen)

    def _is_reshaped(self, model: ov.Model, chosen: Mapping[_Place, int]) -> bool:
        """Reshape a model, or a part of it; return whether its shapes agree."""
        try:
            model.reshape({place: list(self._shape(place, chosen)) for place in range(len(model.get_parameters()))})
        except (RuntimeError, ValueError):
            return False
        return True


def _sizes(node: ov.Node) -> dict[int, int]:
    """Return the constant target size of each axis of an Interpolate; nothing for another target."""
    rank = node.input_value(0).get_partial_shape().rank
    attributes, sizes = node.get_attributes(), constant_of(node.input_value(1))
    if sizes is None or rank.is_dynamic or attributes.get("shape_calculation_mode", "sizes") != "sizes":
        return {}
    axes = _axes(node, rank.get_length())
    return dict(zip(axes, sizes.ravel().tolist(), strict=True)) if len(axes) == sizes.size else {}


def _axes(node: ov.Node, rank: int) -> Sequence[int]:
    """Return the axes that an Interpolate lists: an attribute of its first version, an input of others, or all."""
    listed = node.get_attributes().get("axes")
    ports = node.get_input_size()
    if listed is None and ports > 2:
        last = constant_of(node.input_value(ports - 1))
        listed = () if last is None else last.ravel().tolist()
    return range(rank) if listed is None else [int(axis) % rank for axis in listed]


def _in_proportion(node: ov.Node, resize: _Resize) -> ov.Output:
    """Return sizes of a resize in proportion to those of its data, which are ``resize.data`` where they are right."""
    places, targets, sources = (
        ops.constant(np.array(numbers, np.int64))
        for numbers in ([*resize.sizes], [*resize.sizes.values()], [resize.data[axis] for axis in resize.sizes])
    )
    lengths = ops.gather(ops.shape_of(node.input_value(0), "i64"), places, ops.constant(np.int64(0)))
    result = ops.divide(ops.multiply(lengths, targets), sources)
    return ops.convert(result, node.input_value(1).get_element_type().to_string()).output(0)
