"""An ONNX graph under construction: nodes with readable names, constants that are stored once; and its file.

A model is written with its constants sequentially: in one message they would be in memory three times. Its weights may
be stored in half precision: a Cast turns each into float32 again where it is read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import ArrayLike, DTypeLike, NDArray
from onnx import external_data_helper, helper, numpy_helper

from ir_interp.files.kinds import opened
from ir_interp.files.memory import blocks, let_go
from ir_interp.files.snapshots import copy_file
from ir_interp.files.writing import field_start
from ir_interp.shapes import Array

from .onnx_files import graphs, merged, needed, read_file, with_inner
from .static_values import values_of

LARGEST = 2**31 - 2**24
"""Bytes of constants that one file holds: protobuf is limited to 2 GiB, and the nodes need room as well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsaved:
    """A model without its constants, and those by name."""

    model: onnx.ModelProto
    constants: Mapping[str, Array]

    def tensors(self) -> Iterator[onnx.TensorProto]:
        """Yield the constants; each takes memory only while it is in use."""
        for name, value in self.constants.items():
            yield numpy_helper.from_array(value, name)
            let_go(value)


def save(unsaved: Unsaved, output: Path) -> None:
    """Write a model; one too large for a single file gets a second file for its constants, named ``.data``."""
    if sum(map(_size, unsaved.constants.values())) > LARGEST:
        _save_apart(unsaved, output)
    else:
        _save_whole(unsaved, output)


def save_joined(source: Path, output: Path) -> None:
    """Write a model whose weights lie in a file beside it as one file, or as two again if one cannot hold them."""
    model = read_file(source)
    tensors = [tensor for tensor in model.graph.initializer if external_data_helper.uses_external_data(tensor)]
    weights = [_external(tensor, source.parent) for tensor in tensors]
    if sum(value.nbytes for value in weights) > LARGEST:
        for name in {source.name, *(external_data_helper.ExternalDataInfo(tensor).location for tensor in tensors)}:
            copy_file(source.with_name(name), output if name == source.name else output.with_name(name))
        return
    inside = [tensor for tensor in model.graph.initializer if not external_data_helper.uses_external_data(tensor)]
    del model.graph.initializer[:]
    model.graph.initializer.extend(inside)
    for tensor in tensors:
        tensor.ClearField("external_data")
        tensor.ClearField("data_location")
    _write_whole(model, list(zip(tensors, weights, strict=True)), output)


def _external(tensor: onnx.TensorProto, folder: Path) -> NDArray[np.uint8]:
    """Return the bytes of a tensor, mapped from the file that holds them."""
    info = external_data_helper.ExternalDataInfo(tensor)
    if not info.length:
        return np.empty(0, np.uint8)
    with opened(folder / info.location) as file:
        return np.memmap(file, np.uint8, "r", info.offset or 0, (info.length,))


def _save_whole(unsaved: Unsaved, output: Path) -> None:
    constants = [(_described(name, value), value) for name, value in unsaved.constants.items()]
    _write_whole(unsaved.model, constants, output)


def _write_whole(model: onnx.ModelProto, constants: Sequence[tuple[onnx.TensorProto, Array]], output: Path) -> None:
    """Write the model's message around those of its constants, byte for byte as protobuf would."""
    rest, graph = onnx.ModelProto(), model.graph.SerializeToString(deterministic=True)
    rest.CopyFrom(model)
    rest.ClearField("graph")
    heads = [_head(tensor, _size(value)) for tensor, value in constants]
    # A message starts with its length, so every constant's head is needed before the first is written.
    length = len(graph) + sum(map(len, heads)) + sum(_size(value) for _, value in constants)
    with output.open("wb") as file:
        file.write(rest.SerializeToString(deterministic=True))
        file.write(field_start(onnx.ModelProto, "graph", length))
        file.write(graph)
        for head, (_, value) in zip(heads, constants, strict=True):
            file.write(head)
            file.writelines(_bytes(value))


def _head(tensor: onnx.TensorProto, size: int) -> bytes:
    """Return the message of a constant up to its elements, which are its last field."""
    described: bytes = tensor.SerializeToString(deterministic=True)
    described += field_start(onnx.TensorProto, "raw_data", size)
    return field_start(onnx.GraphProto, "initializer", len(described) + size) + described


def _described(name: str, value: Array) -> onnx.TensorProto:
    kind = helper.np_dtype_to_tensor_dtype(value.dtype.newbyteorder("="))
    return onnx.TensorProto(name=name, data_type=kind, dims=value.shape)


def _save_apart(unsaved: Unsaved, output: Path) -> None:
    """Write constants to a separate file, block by block, so that mapped files do not fill memory.

    Small ones stay in the model: shapes and axes are read only there.
    """
    location = f"{output.name}.data"
    with output.with_name(location).open("wb") as data:
        for name, value in unsaved.constants.items():
            if value.nbytes < _SMALL:
                unsaved.model.graph.initializer.append(numpy_helper.from_array(value, name))
                continue
            start = data.tell()
            data.writelines(_bytes(value))
            tensor = _described(name, value)
            tensor.raw_data = b""
            external_data_helper.set_external_data(tensor, location, start, data.tell() - start)
            tensor.ClearField("raw_data")
            unsaved.model.graph.initializer.append(tensor)
    output.write_bytes(unsaved.model.SerializeToString(deterministic=True))


def _bytes(value: Array) -> Iterator[bytes | memoryview]:
    """Yield the bytes of a constant in blocks; numbers of few bits are packed, the first in the lowest bits."""
    bits = _BITS.get(value.dtype.name)
    if bits is None:
        yield from blocks(value)
        return
    count = 8 // bits
    for block in blocks(value, count):
        numbers = np.frombuffer(block, np.uint8) & (1 << bits) - 1
        numbers = np.pad(numbers, (0, -len(numbers) % count))
        packed = numbers[::count].copy()
        for place in range(1, count):
            packed |= numbers[place::count] << bits * place
        yield packed.data


def _size(value: Array) -> int:
    return -(-value.size * _BITS[value.dtype.name] // 8) if value.dtype.name in _BITS else value.nbytes


_SMALL = 2**10  # bytes
_BITS = {"int4": 4, "uint4": 4, "int2": 2, "uint2": 2, "float4_e2m1fn": 4}


@dataclass(slots=True, kw_only=True)
class Graph:
    """Nodes and constants so far, in the operators of ``opset``.

    ``layer`` is the name of the layer being written: its nodes are named after it. ``exact`` are the tensors
    that resizes read, whose constants must keep their precision. ``is_inner`` marks the body of a node.
    """

    opset: int
    layer: str = ""
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    initialisers: dict[str, Array] = field(default_factory=dict)
    exact: set[str] = field(default_factory=set)
    is_inner: bool = False
    _tensors: dict[str, int] = field(default_factory=dict)
    _nodes: dict[str, int] = field(default_factory=dict)
    _shared: dict[tuple[str, tuple[int, ...], bytes], str] = field(default_factory=dict)

    def fresh(self, name: str) -> str:
        """Return an unused tensor name: ``name``, or that with a number behind it."""
        return _unique(name, self._tensors)

    def node(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """Add a node of one output and return that; see ``outputs``."""
        return self.outputs(1, kind, *inputs, **attributes)[0]

    def outputs(self, count: int, kind: str, *inputs: str, **attributes: Any) -> tuple[str, ...]:
        """Add a node and return its outputs; an attribute of None is left out, as is an empty input at the end."""
        operands = list(inputs)
        while operands and not operands[-1]:
            operands.pop()
        names = tuple(self.fresh(f"{self.layer}/{kind}") for _ in range(count))
        stated = {name: value for name, value in attributes.items() if value is not None}
        self.nodes.append(helper.make_node(kind, operands, names, **stated))
        return names

    def again(self, node: onnx.NodeProto, *inputs: str) -> str:
        """Add a node like another of one output, with other inputs, and return its output."""
        return self.node(node.op_type, *inputs, **attributes_of(node))

    def constant(self, value: ArrayLike, dtype: DTypeLike | None = None, name: str = "") -> str:
        """Return the name of a constant of this value: that of an equal one if the graph has it already."""
        array = np.asarray(value, dtype)
        # A constant may be as large as a model's weights: its digest is kept, not a second copy of its bytes.
        digest = hashlib.sha256()
        for block in blocks(array):
            digest.update(block)
        key = (array.dtype.name, array.shape, digest.digest())
        if key not in self._shared:
            self._shared[key] = self.fresh(name or f"{self.layer}/constant")
            self.initialisers[self._shared[key]] = array
        return self._shared[key]

    def ints(self, values: Iterable[int]) -> str:
        """Return a constant vector of 64-bit integers: axes, shapes, sizes."""
        return self.constant(list(values), np.int64)

    def maker(self, tensor: str) -> onnx.NodeProto | None:
        """Return the node that produces a tensor; None for inputs, constants, and outputs of nodes around a body."""
        return next((node for node in reversed(self.nodes) if tensor in node.output), None)

    def rename(self, old: str, new: str, since: int = 0) -> None:
        """Rename a tensor in the nodes from index ``since`` on."""
        for node in with_inner(self.nodes[since:]):
            for ends in (node.input, node.output):
                if old in ends:
                    ends[:] = [new if end == old else end for end in ends]

    def name_nodes(self, since: int) -> None:
        """Name the nodes from index ``since`` on: the last of them like the layer."""
        for node in self.nodes[since:-1]:
            node.name = _unique(f"{self.layer}/{node.op_type}", self._nodes)
        for node in self.nodes[since:][-1:]:
            node.name = _unique(self.layer, self._nodes)

    def inner(self) -> Graph:
        """Return a graph for the inside of a node: separate nodes, but names and constants in common with this."""
        return replace(self, nodes=[], is_inner=True)

    def proto(
        self, name: str, inputs: Sequence[onnx.ValueInfoProto], outputs: Sequence[onnx.ValueInfoProto]
    ) -> onnx.GraphProto:
        """Return the content, each thing once, without nodes that no output depends on; constants apart."""
        result_names = [output.name for output in outputs]
        return helper.make_graph(needed(merged(self.nodes, result_names), result_names), name, inputs, outputs)

    def model(
        self, name: str, inputs: Sequence[onnx.ValueInfoProto], outputs: Sequence[onnx.ValueInfoProto]
    ) -> Unsaved:
        """Return a model of the content, and the constants that it uses."""
        graph = self.proto(name, inputs, outputs)
        opset = helper.make_opsetid("", self.opset)
        model = helper.make_model(graph, opset_imports=[opset], producer_name="ir_interp")
        # The oldest version of the format that has the operator set: more runtimes read it.
        model.ir_version = 10 if self.opset > 20 else 9 if self.opset > 18 else 8
        used = {tensor for node in with_inner(graph.node) for tensor in node.input}
        constants = {tensor: value for tensor, value in self.initialisers.items() if tensor in used}
        return Unsaved(model=model, constants=constants)


def attributes_of(node: onnx.NodeProto) -> dict[str, Any]:
    """Return the attributes of a node as Python values, bytes for text."""
    return {attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute}


def _unique(proposal: str, taken: dict[str, int]) -> str:
    """Return ``proposal``, or that with the next number behind it; ``taken`` has names and the last number of each."""
    name, count = proposal, taken.get(proposal, 0)
    while name in taken or not name:
        count += 1
        name = f"{proposal}_{count}"
    taken[proposal] = count
    taken.setdefault(name, 0)
    return name


MIN_ELEMENTS = 16
"""A constant of fewer elements is not a weight: epsilons, bounds and the like stay, since they save nothing."""

# A larger weight would become infinite, so its constant keeps float32.
_LARGEST = float(np.finfo(np.float16).max)


def halved(unsaved: Unsaved, exact: Collection[str]) -> Unsaved:
    """Return a model with its constants in half precision, except those named in ``exact``."""
    chosen = {name for name, value in unsaved.constants.items() if name not in exact and _is_weight(value)}
    if not chosen:
        return unsaved
    names = _stored_names(unsaved.model, chosen)
    _cast(unsaved.model, names)
    values = {
        names.get(name, name): _half(value) if name in names else value for name, value in unsaved.constants.items()
    }
    return replace(unsaved, constants=values)


def halve(model: onnx.ModelProto, exact: Collection[str]) -> None:
    """Store a model's initialisers in half precision, except those named in ``exact`` and those that are inputs."""
    # A caller may pass inputs in float32, and an output keeps its type.
    not_halved = {*exact, *(value.name for value in model.graph.input), *(value.name for value in model.graph.output)}
    floats = (weight for weight in model.graph.initializer if weight.data_type == onnx.TensorProto.FLOAT)
    chosen = {weight.name: weight for weight in floats if weight.name not in not_halved}
    weights = {name for name, tensor in chosen.items() if _is_weight(values_of(tensor))}
    names = _stored_names(model, weights)
    for name in weights:
        chosen[name].CopyFrom(numpy_helper.from_array(_half(values_of(chosen[name])), names[name]))
    _cast(model, names)


def read_by(nodes: Iterable[onnx.NodeProto]) -> set[str]:
    """Return the tensors that nodes read, and those inside of them."""
    return {name for node in with_inner(nodes) for name in node.input}


def _is_weight(value: Array) -> bool:
    """Return whether half precision can store a constant, if less exactly, and saves space."""
    return value.dtype == np.float32 and value.size >= MIN_ELEMENTS and float(np.abs(value).max()) <= _LARGEST


def _half(value: Array) -> Array:
    return np.asarray(value, np.float16)


def _stored_names(model: onnx.ModelProto, chosen: Iterable[str]) -> dict[str, str]:
    """Return an unused tensor name for each constant as it is stored."""
    taken = {name for graph in graphs(model.graph) for node in graph.node for name in (*node.input, *node.output)}
    names = {}
    # Sorted, so that equal models have equal bytes.
    for name in sorted(chosen):
        stored = f"{name}/float16"
        while stored in taken:
            stored += "_"
        names[name] = stored
    return names


def _cast(model: onnx.ModelProto, names: dict[str, str]) -> None:
    """Add nodes in front that convert each stored constant back to its type."""
    float32 = onnx.TensorProto.FLOAT
    casts = [
        helper.make_node("Cast", [stored], [name], name=f"{stored}/Cast", to=float32) for name, stored in names.items()
    ]
    nodes = [*casts, *model.graph.node]
    del model.graph.node[:]
    model.graph.node.extend(nodes)
