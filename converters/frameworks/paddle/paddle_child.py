"""Paddle's side of a program, in a process of its own: it is loaded, described, and run."""

from __future__ import annotations

import importlib
import os
import re
import weakref
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from ir_interp.errors import IrInterpError
from ir_interp.files.memory import StoredArray, allow_files, bound
from ir_interp.files.writing import is_file
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
    from . import stored_program  # which imports Paddle

    target, least = setting
    return stored_program.write(Path(path), Path(target), least)


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
    from .stored_program import weights_of

    program = _program(Path(path))
    block = program.global_block()
    return Description(
        format="PaddlePaddle program",
        inputs=tuple(_end(block.var(name)) for name in program.desc.get_feed_target_names()),
        outputs=tuple(_end(block.var(name)) for name in program.desc.get_fetch_target_names()),
        operations=tuple(operation.type for operation in _operations(program) if operation.type not in _ENDS),
        constants=tuple(weight.size for weight in weights_of(Path(path))),
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
    return _paddle().static.deserialize_program(path.read_bytes())


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
    from .stored_program import dtype_of

    return dtype_of(variable.dtype)
