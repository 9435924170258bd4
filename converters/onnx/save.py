"""Write a model to a file, its constants one after the other: in one message memory would hold them three times."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx
from numpy.typing import NDArray
from onnx import external_data_helper, helper, numpy_helper

from ir_interp.memory import blocks, let_go

LARGEST = 2**31 - 2**24
"""Bytes of constants that one file holds: protobuf ends at 2 GiB, and the nodes need room as well."""


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


def save(made: Unsaved, output: Path) -> None:
    """Write a model; one too large for a single file gets its constants in another, beside it, named ``.data``."""
    if sum(value.nbytes for value in made.constants.values()) > LARGEST:
        _save_apart(made, output)
    else:
        _save_whole(made, output)


def _save_whole(made: Unsaved, output: Path) -> None:
    """Write the model's message around those of its constants, as protobuf would."""
    rest, graph = onnx.ModelProto(), made.model.graph.SerializeToString(deterministic=True)
    rest.CopyFrom(made.model)
    rest.ClearField("graph")
    starts = [_start(onnx.GraphProto, "initializer", tensor.ByteSize()) for tensor in made.tensors()]
    length = len(graph) + sum(len(start) + size for start, size in starts)
    with output.open("wb") as file:
        file.write(rest.SerializeToString(deterministic=True))
        file.write(_start(onnx.ModelProto, "graph", length)[0])
        file.write(graph)
        for (start, _), tensor in zip(starts, made.tensors(), strict=True):
            file.write(start)
            file.write(tensor.SerializeToString(deterministic=True))


def _start(message: Any, name: str, size: int) -> tuple[bytes, int]:
    """Return what stands before a field that is a message of ``size`` bytes, and that size."""
    return _varint(message.DESCRIPTOR.fields_by_name[name].number << 3 | 2) + _varint(size), size


def _varint(number: int) -> bytes:
    """Return a number in groups of 7 bits, the lowest first (protobuf's encoding page, "Base 128 Varints")."""
    low, high = number & 127, number >> 7
    return bytes([low | 128]) + _varint(high) if high else bytes([low])


def _save_apart(made: Unsaved, output: Path) -> None:
    """Write constants to a file of their own, block by block: what is mapped from a file passes through.

    Small ones stay in the model: shapes and axes are read there alone.
    """
    location = f"{output.name}.data"
    with output.with_name(location).open("wb") as data:
        for name, value in made.constants.items():
            if value.nbytes < _SMALL:
                made.model.graph.initializer.append(numpy_helper.from_array(value, name))
                continue
            start = data.tell()
            for block in _blocks(value):
                data.write(block)
            kind = helper.np_dtype_to_tensor_dtype(value.dtype.newbyteorder("="))
            tensor = onnx.TensorProto(name=name, data_type=kind, dims=value.shape, raw_data=b"")
            external_data_helper.set_external_data(tensor, location, start, data.tell() - start)
            tensor.ClearField("raw_data")
            made.model.graph.initializer.append(tensor)
    output.write_bytes(made.model.SerializeToString(deterministic=True))


def _blocks(value: NDArray[Any]) -> Iterable[bytes | memoryview]:
    """Return the bytes of a constant, some at a time; those of less than 8 bits are packed, all at once."""
    return [numpy_helper.from_array(value, "").raw_data] if value.dtype.name in _PACKED else blocks(value)


_SMALL = 2**10  # bytes
_PACKED = ("int4", "uint4", "int2", "uint2", "float4_e2m1fn")
