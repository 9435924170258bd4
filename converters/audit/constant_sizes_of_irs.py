"""Resizes to constant sizes in an IR of dynamic size: the same mistake as in ONNX, shown by OpenVINO's own reshape.

OpenVINO reshapes an IR to other input sizes, and refuses those at which shapes contradict each other. The conditions
are those of ``constant_sizes``. Sizes of which only a part is constant are not examined.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import openvino as ov
from openvino import opset13 as ops

from ir_interp.resize_op import ResizeOp
from ir_interp.shapes import Shape
from ir_interp.specs import Sizes

from ..openvino.frontends import check_frontend
from ..openvino.openvino_primitives import constant_of
from .constant_sizes import ENLARGEMENTS, MOST_SYMBOLS, MULTIPLES, PROBE, ConstantSizes, choices

_Chosen = Mapping[tuple[int, int], int]
"""The sizes of dynamic dimensions, by input and axis."""


def constant_sizes(path: Path, resizes: Collection[ResizeOp]) -> dict[str, ConstantSizes]:
    """Return the resizes of an IR whose constant sizes are a proven mistake, by the names of their layers.

    None without a .bin file. Raises ReadError for an IR on which OpenVINO crashes.
    """
    suspects = [op for op in resizes if op.name and isinstance(op.spec.target, Sizes)]
    names = [op.name for op in suspects if op.name]
    # Behind the first of them, sizes look static.
    if not any(None in (op.shape or ()) for op in suspects) or not path.with_suffix(".bin").exists():
        return {}
    check_frontend(path, "ir", path.with_suffix(".bin"))
    try:
        net = _Net(ov.Core().read_model(path), names)
    except RuntimeError:
        return {}
    if not net.names or not 0 < len(net.symbols) <= MOST_SYMBOLS:
        return {}
    works = next((sizes for sizes in net.sizes_at_which_it_may_work() if net.reshaped(sizes) is not None), None)
    return {} if works is None else _proven(net, works)


class _Net:
    """An IR whose dynamic dimensions can be chosen; ``names`` are the resizes of constant sizes, in order."""

    def __init__(self, model: ov.Model, names: Collection[str]) -> None:
        self._model = model
        suspects = [node for node in model.get_ordered_ops() if node.get_friendly_name() in names]
        self.sizes = {node.get_friendly_name(): sizes for node in suspects if (sizes := _sizes(node))}
        self.names = list(self.sizes)
        shapes = [parameter.get_partial_shape() for parameter in model.get_parameters()]
        # The first dimension is the batch, which no resize changes.
        self.symbols = [
            (place, axis)
            for place, shape in enumerate(shapes)
            if shape.rank.is_static
            for axis in range(1, len(shape))
            if shape[axis].is_dynamic
        ]

    def shapes(self, chosen: _Chosen) -> dict[str, Shape]:
        """Return the shapes of the inputs that have a chosen dimension, by name."""
        places = {place for place, _ in chosen}
        return {self._model.inputs[place].any_name: self._shape(place, chosen) for place in sorted(places)}

    def _shape(self, place: int, chosen: _Chosen) -> Shape:
        shape = self._model.get_parameters()[place].get_partial_shape()
        return tuple(
            chosen.get((place, axis), 1) if length.is_dynamic else length.get_length()
            for axis, length in enumerate(shape)
        )

    def reshaped(self, chosen: _Chosen, following: Mapping[str, Shape] | None = None) -> ov.Model | None:
        """Return the model at chosen sizes; None if its shapes contradict each other there.

        The resizes ``following`` have sizes in proportion to their data, which have the given shape where the constant
        sizes are right.
        """
        model = self._model.clone()
        for node in model.get_ordered_ops():
            data = (following or {}).get(node.get_friendly_name())
            if data is not None:
                node.input(1).replace_source_output(_in_proportion(node, data))
        return self._with(model, chosen)

    def _with(self, model: ov.Model, chosen: _Chosen) -> ov.Model | None:
        places = range(len(self._model.get_parameters()))
        try:
            model.reshape({place: list(self._shape(place, chosen)) for place in places})
        except (RuntimeError, ValueError):
            return None
        return model

    def data_shape(self, name: str, chosen: _Chosen) -> Shape | None:
        """Return the shape of the data of a resize, before which nothing contradicts; None if it is unknown."""
        model = self._model.clone()
        node = next(node for node in model.get_ordered_ops() if node.get_friendly_name() == name)
        part = self._with(ov.Model([node.input_value(0)], model.get_parameters()), chosen)
        return None if part is None or part.is_dynamic() else tuple(part.outputs[0].shape)

    def sizes_at_which_it_may_work(self) -> Iterator[_Chosen]:
        """Yield dimensions of the inputs at which the first resize enlarges by a usual factor."""
        name, probe = self.names[0], dict.fromkeys(self.symbols, PROBE)
        before = self.data_shape(name, probe)
        if before is None:
            return
        driven: dict[tuple[int, int], tuple[int, int]] = {}  # the size of the data at the probe, and the target
        for symbol in self.symbols:
            moved = self.data_shape(name, {**probe, symbol: 2 * PROBE})
            for axis, size in self.sizes[name].items():
                if moved is not None and moved[axis] != before[axis]:
                    driven[symbol] = before[axis], size
        for factor in ENLARGEMENTS:
            sizes = {symbol: size * PROBE / (data * factor) for symbol, (data, size) in driven.items()}
            if sizes and all(size.is_integer() for size in sizes.values()):
                yield probe | {symbol: int(size) for symbol, size in sizes.items()}


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


def _in_proportion(node: ov.Node, data: Shape) -> ov.Output:
    """Return sizes of a resize that are in proportion to those of its data, which are ``data`` where they are right."""
    sizes = _sizes(node)
    places, targets, sources = (
        ops.constant(np.array(numbers, np.int64))
        for numbers in ([*sizes], [*sizes.values()], [data[axis] for axis in sizes])
    )
    lengths = ops.gather(ops.shape_of(node.input_value(0), "i64"), places, ops.constant(np.int64(0)))
    result = ops.divide(ops.multiply(lengths, targets), sources)
    return ops.convert(result, node.input_value(1).get_element_type().to_string()).output(0)


def _proven(net: _Net, works: _Chosen) -> dict[str, ConstantSizes]:
    """Return the resizes without whose proportions the model contradicts itself at multiples of a size that works."""
    model = net.reshaped(works)
    assert model is not None
    data = {
        node.get_friendly_name(): tuple(node.input_value(0).get_shape())
        for node in model.get_ordered_ops()
        if node.get_friendly_name() in net.names and node.input_value(0).get_partial_shape().is_static
    }
    multiples = [{symbol: size * factor for symbol, size in works.items()} for factor in MULTIPLES]
    following = next(
        (tried for tried in choices(data) if tried and all(net.reshaped(sizes, tried) for sizes in multiples)), {}
    )
    shapes = tuple(map(net.shapes, multiples))
    return {
        name: ConstantSizes(
            sizes=tuple(net.sizes[name].values()),
            scales=tuple(size / shape[axis] for axis, size in net.sizes[name].items()),
            shapes=shapes,
        )
        for name, shape in following.items()
        if net.reshaped(multiples[1], {other: kept for other, kept in following.items() if other != name}) is None
    }
