"""A common view of both kinds of models: inputs, and steps that compute tensors from tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.errors import ReadError
from ir_interp.files.kinds import FileKind
from ir_interp.shapes import PartialShape

Value = NDArray[Any] | None

_CAPTURING = ("if", "loop", "scan")  # in ONNX, their bodies read tensors that are not among their inputs


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelInput:
    """An input of a model: its shape, None where dynamic, and its element type as a NumPy name.

    ``symbols`` names the dimensions, empty for those without a name; ``most`` are the largest sizes
    allowed, if limited.
    """

    name: str
    lengths: PartialShape
    dtype: str
    symbols: tuple[str, ...] = ()
    most: PartialShape = ()

    @property
    def text(self) -> str:
        """The input as text, as in ``input 'x' is float32 of shape [1, 3, ?, ?]``."""
        return f"input {self.name!r} is {self.dtype} of shape {shape_text(self.lengths)}"


def shape_text(shape: PartialShape) -> str:
    """Return a shape as messages show it, ``?`` where dynamic."""
    return f"[{', '.join('?' if length is None else str(length) for length in shape)}]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A node or a layer: its type in lower case, and its tensors by name, empty for omitted ones."""

    type: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """The main graph of a model. ``shape`` and ``value`` return the statically known properties of a tensor.

    ``names`` are all tensor names, of which an IR's tensor may have several; ``hints`` are image sizes recorded in the
    file: height and width, or nothing.
    """

    inputs: tuple[ModelInput, ...]
    outputs: tuple[str, ...]
    steps: tuple[Step, ...]
    shape: Callable[[str], PartialShape | None]
    value: Callable[[str], Value]
    names: frozenset[str]
    hints: tuple[int, ...] = ()

    def readers(self) -> dict[str, list[tuple[Step, int]]]:
        """Return which steps read each tensor, and at which of their inputs."""
        readers: dict[str, list[tuple[Step, int]]] = {}
        for step in self.steps:
            for place, name in enumerate(step.inputs):
                readers.setdefault(name, []).append((step, place))
        return readers

    def starts(self, ends: Iterable[str], known: Set[str]) -> set[str]:
        """Return those of the ``known`` tensors from which steps compute ``ends``; known ends are computed as well."""
        if any(step.type in _CAPTURING for step in self.steps):
            return set(known)
        makers = {name: step for step in self.steps for name in step.outputs}
        starts = {name for name in known if name not in makers}  # another name of a tensor
        waiting, seen = list(ends), set[str]()
        while waiting:
            step = makers.get(waiting.pop())
            for name in step.inputs if step else ():
                if name in known:
                    starts.add(name)
                elif name not in seen:
                    seen.add(name)
                    waiting.append(name)
        return starts


def read(path: Path) -> Graph:
    """Return the graph of a model (.onnx, .xml)."""
    if FileKind.of(path) is FileKind.ONNX:
        return _of_onnx(path)
    state = path.stat() if path.exists() else None
    return _of_ir(path, (state.st_ino, state.st_size, state.st_mtime_ns) if state else ())


def _of_onnx(path: Path) -> Graph:

    from ..onnx.graph import attributes_of
    from ..onnx.onnx_files import read_outline
    from ..onnx.resize_nodes import known_values

    values = known_values(path)
    graph = values.graph
    constants = {
        tensor.name for tensor in (*graph.initializer, *(sparse.values for sparse in graph.sparse_initializer))
    }
    steps = tuple(
        Step(
            type=node.op_type.lower(),
            inputs=tuple(node.input),
            outputs=tuple(node.output),
            attributes=attributes_of(node),
        )
        for node in graph.node
    )
    return Graph(
        inputs=tuple(_onnx_input(value, path.name) for value in graph.input if value.name not in constants),
        outputs=tuple(value.name for value in graph.output),
        steps=steps,
        # Shape inference leaves out constants, whose values are there.
        shape=lambda name: values.shape(name) or _constant_shape(values.value(name)),
        value=values.value,
        names=frozenset(name for step in steps for name in step.outputs),
        hints=_hints({entry.key: entry.value for entry in read_outline(path).metadata_props}),
    )


def _constant_shape(value: Value) -> PartialShape | None:
    return None if value is None else value.shape


def _onnx_input(value: Any, where: str) -> ModelInput:
    from onnx import TensorProto, helper

    tensor = value.type.tensor_type
    dims = tensor.shape.dim
    if tensor.elem_type not in TensorProto.DataType.values():
        raise ReadError(f"input {value.name!r} has element type {tensor.elem_type}, which ONNX does not define", where)
    return ModelInput(
        name=value.name,
        # A negative value is not a size, so the dimension is dynamic.
        lengths=tuple(dim.dim_value if dim.HasField("dim_value") and dim.dim_value >= 0 else None for dim in dims),
        dtype=str(np.dtype(helper.tensor_dtype_to_np_dtype(tensor.elem_type)).name) if tensor.elem_type else "",
        symbols=tuple(dim.dim_param for dim in dims),
    )


def _hints(metadata: Mapping[str, str]) -> tuple[int, ...]:
    """Return height and width of images, if an exporter recorded them: ``imgsz`` of Ultralytics."""
    numbers = [part.strip() for part in metadata.get("imgsz", "").strip("[]()").split(",")]  # "640" or "[480, 640]"
    image_size = tuple(int(number) for number in numbers if number.isdecimal())
    return image_size * 2 if len(image_size) == 1 else image_size


@lru_cache(maxsize=4)  # without weights; verification reads the same two files ten times
def _of_ir(path: Path, state: tuple[int, ...]) -> Graph:
    """Return the graph of an IR; ``state`` changes with the file."""
    from ir_interp.ir.net import Layer, Net, tensor_name
    from ir_interp.ir.reading import nets

    net = next(nets(path))
    ports = {tensor_name(layer, port): (layer, port) for layer in net.layers.values() for port in layer.outputs}

    def value(name: str) -> Value:
        return _ir_value(net, *ports[name]) if name in ports else None

    def names(net: Net, layer: Layer) -> tuple[str, ...]:
        sources = (net.source(layer, place) for place in range(len(layer.inputs)))
        return tuple(tensor_name(*source) if source else "" for source in sources)

    layers = list(net.layers.values())
    return Graph(
        inputs=tuple(_ir_input(layer) for layer in layers if layer.type.lower() == "parameter" and layer.outputs),
        outputs=tuple(name for layer in layers if layer.type.lower() == "result" for name in names(net, layer)),
        steps=tuple(
            Step(
                type=layer.type.lower(),
                inputs=names(net, layer),
                outputs=tuple(tensor_name(layer, port) for port in layer.outputs),
                attributes=layer.attributes,
            )
            for layer in layers
        ),
        shape=lambda name: ports[name][1].shape if name in ports else None,
        value=value,
        names=frozenset(
            name for layer in layers for port in layer.outputs for name in (port.names or (tensor_name(layer, port),))
        ),
    )


def _ir_value(net: Any, layer: Any, port: Any) -> Value:
    """Return the value of a tensor, if the constants of a net determine it and it is small; else None."""
    from ir_interp.ir.fold import fold

    readers = net.readers(layer, port)  # fold() takes the input of a layer, so one reader has to stand for it
    places = [
        (reader, place)
        for reader in readers[:1]
        for place in range(len(reader.inputs))
        if net.source(reader, place) == (layer, port)
    ]
    try:
        return fold(net, *places[0]) if places else None
    except ReadError:
        return None


def _ir_input(layer: Any) -> ModelInput:
    from ir_interp.ir.elements import numpy_name
    from ir_interp.ir.net import tensor_name

    port = layer.outputs[0]
    words = [part.strip() for part in layer.attributes.get("shape", "").split(",")]  # "1", "?" or "1..640"
    most = tuple(int(word.split("..")[-1]) if word.split("..")[-1].isdecimal() else None for word in words)
    shape = port.shape or ()
    return ModelInput(
        name=tensor_name(layer, port),
        lengths=shape,
        dtype=numpy_name(layer.attributes.get("element_type", "") or port.dtype or ""),
        symbols=("",) * len(shape),
        most=most if len(most) == len(shape) else (None,) * len(shape),
    )
