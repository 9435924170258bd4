"""Paddle's side of a program, in a process of its own: it is loaded, described, run, and written for OpenVINO."""

from __future__ import annotations

import importlib
import os
import re
import struct
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from pathlib import Path
from types import ModuleType
from typing import IO, TYPE_CHECKING, Any

import ml_dtypes  # noqa: F401  (NumPy learns bfloat16 and floats of 8 bits)
import numpy as np
from google.protobuf.message import DecodeError

from ir_interp.errors import IrInterpError, ReadError
from ir_interp.files.kinds import bytes_of, is_beside, opened
from ir_interp.files.memory import StoredArray, allow_files, append, blocks, bound
from ir_interp.files.writing import is_file, real
from ir_interp.shapes import Array

from ...runtimes.execution import first_line
from ...sources.model_description import Description, End, Resize
from . import FRAMEWORK
from .reading import ATTRIBUTES, INPUTS, OPERATIONS, first_unknown, weights

if TYPE_CHECKING:
    from paddle.base.framework import Operator, Program

os.environ |= {"FLAGS_enable_pir_api": "0", "CUDA_VISIBLE_DEVICES": "", "GLOG_minloglevel": "3"}
_ENDS = ("feed", "fetch")
_ERROR = re.compile(r"^\s*(\([A-Z]\w+\) .+)$", re.MULTILINE)


def run(arrays: Sequence[Array], path: str) -> dict[str, Array]:
    """Return the outputs of a program by name. Raises as ``_loaded`` does."""
    loaded = _loaded(path, Path(path).stat().st_mtime_ns)
    outputs = loaded.outputs(arrays)
    if loaded.size > bound():
        _loaded.cache_clear()  # the model that it is compared with needs the memory
    return outputs


def write_skeleton(path: str, setting: tuple[str, int]) -> dict[str, StoredArray]:
    """Write a program to another path, whose weights of so many bytes or more are inputs; return these."""
    target, least = setting
    return _write(Path(path), Path(target), least)


def write_resize(array: Array, setting: tuple[Resize, str]) -> Array:
    """Write an operation as a program of its own; return its output for ``array``."""
    paddle, (operation, path) = _paddle(), setting
    program, executor = paddle.static.Program(), paddle.static.Executor(paddle.CPUPlace())
    stated = {name: operation.attributes[name] for name in ATTRIBUTES}
    stated["interp_method"] = operation.type.removesuffix("_interp_v2")
    with paddle.static.program_guard(program, paddle.static.Program()):
        x = paddle.static.data("x", array.shape, str(array.dtype))
        y = program.global_block().create_var(name="y", dtype=x.dtype)
        program.global_block().append_op(type=operation.type, inputs={"X": [x]}, outputs={"Out": [y]}, attrs=stated)
    paddle.static.save_inference_model(str(Path(path).with_suffix("")), [x], [y], executor, program=program)
    [output] = executor.run(program, feed={"x": array}, fetch_list=[y])
    return np.asarray(output)


def reason(error: Exception) -> str:
    """Return the line of Paddle's message that names the error, after those of its own source."""
    return next(iter(_ERROR.findall(str(error))), first_line(error))


class _Loaded:
    """A program with its weights, of ``size`` bytes."""

    def __init__(self, source: Path) -> None:
        paddle, path = _paddle(), weights(source)
        allow_files(source, path)
        self.size = path.stat().st_size if is_file(path) else 0
        self._executor, self._scope = paddle.static.Executor(paddle.CPUPlace()), paddle.static.Scope()
        with paddle.static.scope_guard(self._scope):
            loaded = paddle.static.load_inference_model(str(source.with_suffix("")), self._executor)
        self._program, self._inputs, self._outputs = loaded
        # Executors refer to a scope as long as their process lives.
        weakref.finalize(self, self._scope.erase, [variable.name for variable in self._program.list_vars()])

    def outputs(self, arrays: Sequence[Array]) -> dict[str, Array]:
        """Return its outputs by name."""
        inputs = dict(zip(self._inputs, arrays, strict=True))
        results = self._executor.run(self._program, feed=inputs, fetch_list=self._outputs, scope=self._scope)
        return {variable.name: np.asarray(result) for variable, result in zip(self._outputs, results, strict=True)}


@lru_cache(maxsize=2)
def _loaded(path: str, _: int) -> _Loaded:
    """Return a program with its weights. Raises IrInterpError for an operation that may do something else."""
    unknown = first_unknown(operation.type for operation in _operations(_program(Path(path))))
    if unknown:
        problem = f"operation {unknown} is not run: only those are that OpenVINO converts"
        raise IrInterpError(f"{FRAMEWORK.title}: {problem}")
    return _Loaded(Path(path))


def describe(path: str, _: str) -> Description:
    """Return what a program holds, without reading its weights. Raises ReadError if they do not belong to it."""
    program = _program(Path(path))
    block = program.global_block()
    return Description(
        format="PaddlePaddle program",
        inputs=tuple(_end(block.var(name)) for name in program.desc.get_feed_target_names()),
        outputs=tuple(_end(block.var(name)) for name in program.desc.get_fetch_target_names()),
        operations=tuple(operation.type for operation in _operations(program) if operation.type not in _ENDS),
        constants=tuple(weight.size for weight in _weights_of(Path(path))),
        resizes=tuple(
            _resize(operation)
            for operation in _operations(program)
            if operation.type in OPERATIONS or _is_other(operation)
        ),
    )


def _paddle() -> ModuleType:
    paddle = importlib.import_module("paddle")
    paddle.enable_static()
    return paddle


def _program(path: Path) -> Program:
    """Return a program without its weights."""
    return _paddle().static.deserialize_program(bytes_of(path))


def _operations(program: Program) -> Iterator[Operator]:
    """Yield the operations of a program, those of branches and loops included."""
    for block in program.blocks:
        yield from block.ops


def _is_other(operation: Operator) -> bool:
    """Return whether an operation resizes as another release of Paddle does, or antialiased; the reader refuses it."""
    return re.fullmatch(r"(\w+_)?interp(_(?!v2)\w+)?", operation.type) is not None


def _resize(operation: Any) -> Resize:
    block = operation.block
    data = block._var_recursive(operation.input("X")[0])
    known = {name: operation.attr(name) for name in ATTRIBUTES if operation.has_attr(name)}
    connected = [name for name in INPUTS if name in operation.input_names and operation.input(name)]
    return Resize(
        type=operation.type,
        name=operation.output("Out")[0],
        dtype=_dtype(data),
        shape=_shape(data),
        inputs=(),
        attributes=known | {"input": data.name, "connected": connected, "block": block.idx},
    )


def _end(variable: Any) -> End:
    return End(tensor=variable.name, name=variable.name, dtype=_dtype(variable), shape=_shape(variable))


def _shape(variable: Any) -> tuple[int | None, ...]:
    return tuple(None if length < 0 else length for length in variable.shape)


def _dtype(variable: Any) -> str:
    return _numpy_name(variable.dtype)


# The weights of a program in their file, and the program that OpenVINO's frontend reads in place of another one.
#
# The weights are tensors in the order of their names, one behind the other in a file (source: ``SerializeToStream`` in
# ``dense_tensor_serialize.cc`` of Paddle 3.3). The larger ones are inputs of the program for the frontend. It computes
# the same, but the frontend would misread two parts of quantised programs: a scale without axes, which Paddle saves for
# a variable of one element, and operations that only observe, which return their input.


def _schema() -> ModuleType:
    return importlib.import_module("paddle.base.proto.framework_pb2")


_HEAD = struct.Struct("<IQIi")  # version, levels of sequences, version of the tensor, bytes of its description


@dataclass(frozen=True, slots=True, kw_only=True)
class _Weight:
    """A tensor in a file: its ``description``, its head, and its elements from ``offset`` on.

    The description may differ from that in the program; Paddle and OpenVINO follow this one.
    """

    name: str
    description: Any
    offset: int

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of its elements."""
        return np.dtype(_numpy_name(self.description.data_type))

    @property
    def shape(self) -> tuple[int, ...]:
        """Its sizes."""
        return tuple(self.description.dims)

    def mapped(self, path: Path) -> Array:
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


def _weights_of(source: Path) -> Iterator[_Weight]:
    """Yield the weights of a program in the order of their file. Raises ReadError if they do not fill it."""
    program, path = _schema().ProgramDesc.FromString(bytes_of(source)), weights(source)
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
    return bool(variable.persistable) and variable.type.type == _schema().VarType.DENSE_TENSOR


def _weights_in(file: IO[bytes], names: list[str], size: int) -> Iterator[_Weight]:
    """Yield the weights of these names in a file of a size. Raises ValueError where another one follows, or none."""
    end = 0
    for name in names:
        start = file.seek(end)
        *versions, length = _HEAD.unpack(file.read(_HEAD.size).ljust(_HEAD.size, b"\xff"))
        if any(versions) or not 0 < length <= size:
            raise ValueError(f"{name!r} does not start at byte {start}")
        description = _schema().VarType.TensorDesc.FromString(file.read(length))
        if min(description.dims, default=0) < 0:
            raise ValueError(f"{name!r} has the shape {list(description.dims)}")
        weight = _Weight(name=name, description=description, offset=start + _HEAD.size + length)
        end = weight.end
        if end > size:
            raise ValueError(f"{name!r} ends at byte {end} of {size}")
        yield weight
    if end < size:
        raise ValueError(f"they end at byte {end} of {size}")


def _numpy_name(element: object) -> str:
    """Return the NumPy name of an element type of Paddle, or of its number in a file."""
    from paddle.base.core import VarDesc
    from paddle.base.data_feeder import convert_dtype

    kind = VarDesc.VarType(element) if isinstance(element, int) else element
    return str(convert_dtype(kind)).replace("uint16", "bfloat16")


_QUANTISATIONS = ("quantize_linear", "dequantize_linear")


def _write(source: Path, target: Path, least: int) -> dict[str, StoredArray]:
    """Write a program whose weights of ``least`` bytes or more are inputs; return these, in a file beside it.

    Those that a branch or loop reads remain weights, and those of bfloat16, which OpenVINO's Python cannot map.
    """
    program = _schema().ProgramDesc.FromString(bytes_of(source))
    main, *inner = program.blocks
    inside = {
        name for block in inner for operation in block.ops for port in operation.inputs for name in port.arguments
    }
    variables = {variable.name: variable for variable in main.vars if variable.name not in inside}
    stored = {}
    with weights(target).open("wb") as rest:
        for weight in _weights_of(source):
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


def _feed(block: Any, variable: Any, weight: _Weight) -> None:
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
        operation.CopyFrom(_schema().OpDesc(type="assign"))
        operation.inputs.add(parameter="X", arguments=x)
        operation.outputs.add(parameter="Out", arguments=y)
