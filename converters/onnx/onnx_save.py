"""Write a model to a file, its constants sequentially: in one message they would be in memory three times."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import external_data_helper, helper, numpy_helper

from ir_interp.files.memory import blocks, let_go
from ir_interp.files.wire_format import field_start

LARGEST = 2**31 - 2**24
"""Bytes of constants that one file holds: protobuf is limited to 2 GiB, and the nodes need room as well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsaved:
    """A model without its constants, and those by name."""

    model: onnx.ModelProto
    constants: Mapping[str, NDArray[Any]]

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
    model = onnx.load(source, load_external_data=False)
    tensors = [tensor for tensor in model.graph.initializer if external_data_helper.uses_external_data(tensor)]
    weights = [_external(tensor, source.parent) for tensor in tensors]
    if sum(value.nbytes for value in weights) > LARGEST:
        for name in {source.name, *(external_data_helper.ExternalDataInfo(tensor).location for tensor in tensors)}:
            shutil.copyfile(source.with_name(name), output if name == source.name else output.with_name(name))
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
    return np.memmap(folder / info.location, np.uint8, "r", info.offset or 0, (info.length,))


def _save_whole(unsaved: Unsaved, output: Path) -> None:
    constants = [(_described(name, value), value) for name, value in unsaved.constants.items()]
    _write_whole(unsaved.model, constants, output)


def _write_whole(
    model: onnx.ModelProto, constants: Sequence[tuple[onnx.TensorProto, NDArray[Any]]], output: Path
) -> None:
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


def _described(name: str, value: NDArray[Any]) -> onnx.TensorProto:
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


def _bytes(value: NDArray[Any]) -> Iterator[bytes | memoryview]:
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


def _size(value: NDArray[Any]) -> int:
    return -(-value.size * _BITS[value.dtype.name] // 8) if value.dtype.name in _BITS else value.nbytes


_SMALL = 2**10  # bytes
_BITS = {"int4": 4, "uint4": 4, "int2": 2, "uint2": 2, "float4_e2m1fn": 4}
