"""The weights of a program in their file, and the program that OpenVINO's frontend reads in place of another one.

The weights are tensors in the order of their names, one behind the other in a file (source: ``SerializeToStream`` in
``dense_tensor_serialize.cc`` of Paddle 3.3). The larger ones are inputs of the program for the frontend. It computes
the same, but the frontend would misread two parts of quantised programs: a scale without axes, which Paddle saves for
a variable of one element, and operations that only observe, which return their input.

Importing this imports Paddle, which reads its settings then: see ``paddle_child``.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import IO, Any

import ml_dtypes  # noqa: F401  (NumPy learns bfloat16 and floats of 8 bits)
import numpy as np
from google.protobuf.message import DecodeError
from numpy.typing import NDArray
from paddle.base.core import VarDesc
from paddle.base.data_feeder import convert_dtype
from paddle.base.proto import framework_pb2 as schema

from ir_interp.errors import ReadError
from ir_interp.files.kinds import is_beside, opened
from ir_interp.files.memory import StoredArray, append, blocks
from ir_interp.files.writing import is_file, real

from .reading import weights

_HEAD = struct.Struct("<IQIi")  # version, levels of sequences, version of the tensor, bytes of its description


@dataclass(frozen=True, slots=True, kw_only=True)
class Weight:
    """A tensor in a file: its ``description``, its head, and its elements from ``offset`` on.

    The description may differ from that in the program; Paddle and OpenVINO follow this one.
    """

    name: str
    description: Any
    offset: int

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of its elements."""
        return np.dtype(dtype_of(self.description.data_type))

    @property
    def shape(self) -> tuple[int, ...]:
        """Its sizes."""
        return tuple(self.description.dims)

    def mapped(self, path: Path) -> NDArray[Any]:
        """Return its elements, mapped from the file."""
        return np.memmap(path, self.dtype, "r", self.offset, self.shape) if self.size else np.empty(self.shape)

    @property
    def head(self) -> bytes:
        """The bytes in front of its elements."""
        description: bytes = self.description.SerializeToString()
        return _HEAD.pack(0, 0, 0, len(description)) + description

    @property
    def size(self) -> int:
        """The bytes of its elements."""
        return prod(self.shape) * self.dtype.itemsize

    @property
    def end(self) -> int:
        """The place behind its last byte."""
        return self.offset + self.size


def weights_of(source: Path) -> Iterator[Weight]:
    """Yield the weights of a program in the order of their file. Raises ReadError if they do not fill it."""
    program, path = schema.ProgramDesc.FromString(source.read_bytes()), weights(source)
    names = {variable.name for block in program.blocks for variable in block.vars if _is_weight(variable)}
    if not names:
        return
    if not is_file(path):
        raise ReadError(f"its weights are missing; expected {path.name} beside it", source.name)
    if not is_beside(path, source):
        raise ReadError(f"its weights lie outside its folder: {real(path)}", source.name)
    with opened(path) as file:
        try:
            yield from _weights_in(file, sorted(names), path.stat().st_size)
        except (ValueError, TypeError, DecodeError) as error:  # the last two of Paddle and protobuf
            raise ReadError(f"not the weights of {source.name}, or damaged: {error}", path.name) from error


def _is_weight(variable: Any) -> bool:
    return bool(variable.persistable) and variable.type.type == schema.VarType.DENSE_TENSOR


def _weights_in(file: IO[bytes], names: list[str], size: int) -> Iterator[Weight]:
    """Yield the weights of these names in a file of a size. Raises ValueError where another one follows, or none."""
    end = 0
    for name in names:
        start = file.seek(end)
        *versions, length = _HEAD.unpack(file.read(_HEAD.size).ljust(_HEAD.size, b"\xff"))
        if any(versions) or not 0 < length <= size:
            raise ValueError(f"{name!r} does not start at byte {start}")
        description = schema.VarType.TensorDesc.FromString(file.read(length))
        if min(description.dims, default=0) < 0:
            raise ValueError(f"{name!r} has the shape {list(description.dims)}")
        weight = Weight(name=name, description=description, offset=start + _HEAD.size + length)
        end = weight.end
        if end > size:
            raise ValueError(f"{name!r} ends at byte {end} of {size}")
        yield weight
    if end < size:
        raise ValueError(f"they end at byte {end} of {size}")


def dtype_of(element: object) -> str:
    """Return the NumPy name of an element type of Paddle, or of its number in a file."""
    kind = VarDesc.VarType(element) if isinstance(element, int) else element
    return str(convert_dtype(kind)).replace("uint16", "bfloat16")


_QUANTISATIONS = ("quantize_linear", "dequantize_linear")


def write(source: Path, target: Path, least: int) -> dict[str, StoredArray]:
    """Write a program whose weights of ``least`` bytes or more are inputs; return these, in a file beside it.

    Those that a branch or loop reads remain weights, and those of bfloat16, which OpenVINO's Python cannot map.
    """
    program = schema.ProgramDesc.FromString(source.read_bytes())
    main, *inner = program.blocks
    inside = {
        name for block in inner for operation in block.ops for port in operation.inputs for name in port.arguments
    }
    variables = {variable.name: variable for variable in main.vars if variable.name not in inside}
    stored = {}
    with weights(target).open("wb") as rest:
        for weight in weights_of(source):
            array, variable = weight.mapped(weights(source)), variables.get(weight.name)
            if variable and weight.size >= least and weight.dtype.isbuiltin == 1:
                stored[weight.name] = append(array, target.with_suffix(".weights"))
                _feed(main, variable, weight)
            else:
                declared = variable.type.dense_tensor.tensor.dims if variable else ()
                if not weight.shape and set(declared) == {1}:
                    weight.description.dims.extend(declared)
                rest.write(weight.head)
                rest.writelines(blocks(array))
    for operation in (operation for block in program.blocks for operation in block.ops):
        _pass_on(operation)
    target.write_bytes(program.SerializeToString())
    return stored


def _feed(block: Any, variable: Any, weight: Weight) -> None:
    """Turn a variable of a program from a weight into an input."""
    variable.persistable = False
    variable.type.dense_tensor.tensor.CopyFrom(weight.description)
    block.ops.add(type="feed").outputs.add(parameter="Out", arguments=[weight.name])


def _pass_on(operation: Any) -> None:
    """Turn a quantisation that only observes into an assignment."""
    observes = any(attribute.name == "only_observer" and attribute.b for attribute in operation.attrs)
    if operation.type in _QUANTISATIONS and observes:
        [x] = (port.arguments for port in operation.inputs if port.parameter == "X")
        [y] = (port.arguments for port in operation.outputs if port.parameter == "Y")
        operation.CopyFrom(schema.OpDesc(type="assign"))
        operation.inputs.add(parameter="X", arguments=x)
        operation.outputs.add(parameter="Out", arguments=y)
