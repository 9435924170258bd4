"""The reader of each kind of file, or model in memory. Modules for foreign formats are imported on first use.

First the modules of a framework's folder, and the reading that each folder declares as ``READING``.
"""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

from ir_interp.arguments import path as checked_path, shown
from ir_interp.errors import ReadError, SpecError
from ir_interp.files.kinds import FOREIGN, FRAMEWORKS, WITH_RESIZES, FileKind, Framework, expect
from ir_interp.files.writing import is_file, scratch
from ir_interp.libraries import is_call, load as load_call
from ir_interp.resize_op import ResizeOp
from ir_interp.specs import ResizeSpec
from ir_interp.translation.dialect import Semantics

from ..runtimes.execution import save_model

if TYPE_CHECKING:
    import onnx
    import openvino
    import torch.export
    import torch.nn

    from .model_description import Description


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The reading of a framework's models, by the path of a file.

    ``load`` returns the resizes, ``describe`` everything else that reports show, and ``parts`` every file of a model,
    the one of this path first. ``function`` returns a model as a function of arrays, which the framework computes,
    and ``slack`` by how much its outputs may differ on arrays; None if they are not rounded to levels.

    ``holds`` returns whether an object is such a model in memory: ``save`` writes one to a file, and ``function`` takes
    it. ``known`` returns the resizes that can be read, and the name and error of each of the others; where it is None,
    one that cannot be read leaves the file unread.
    """

    load: Callable[[Path, Semantics], list[ResizeOp]]
    describe: Callable[[Path], Description]
    function: Callable[[Any], Callable[..., Any]]
    parts: Callable[[Path], list[Path]] = lambda path: [path]
    slack: Callable[[Path], Callable[..., list[float]] | None] = lambda path: None
    holds: Callable[[object], bool] = lambda value: False
    save: Callable[[Any, Path], None] | None = None
    known: Callable[[Path], tuple[list[ResizeOp], list[tuple[str, ReadError]]]] | None = None


def declared_by(framework: Framework) -> Reading:
    """Return the reading of a framework."""
    declared: Reading = framework.module("reading").READING
    return declared


def part(kind: FileKind | None, name: str) -> ModuleType | None:
    """Return a module of the framework of a kind of file; None if there is no such framework."""
    return kind.framework.module(name) if kind and kind.framework else None


def reading(kind: FileKind | None) -> Reading | None:
    """Return the reading of a kind of file; None if it belongs to no framework."""
    return declared_by(kind.framework) if kind and kind.framework else None


def of_object(value: object) -> Framework | None:
    """Return the framework of a model in memory; None for another object."""
    declaring = (framework for framework in FRAMEWORKS if framework.in_memory)
    return next((framework for framework in declaring if declared_by(framework).holds(value)), None)


def is_of_class(value: object, module: str, name: str) -> bool:
    """Return whether an object is of a class of a module; False if that is not imported."""
    kind = getattr(sys.modules.get(module), name, None)
    return isinstance(kind, type) and isinstance(value, kind)


InMemory: TypeAlias = "torch.export.ExportedProgram | torch.onnx.ONNXProgram | tuple[torch.nn.Module, Any] | list[Any]"
"""A program of PyTorch, or a module with its inputs: one, a tuple of arguments, or a dict of keyword arguments.

An input is a tensor, an array, or a shape, which stands for random float32.
"""
Source: TypeAlias = "str | os.PathLike[str] | onnx.ModelProto | openvino.Model | InMemory"
"""A source of resizes: the path of a file, a model in memory, or the call of an image library (pillow:bicubic)."""

_LONGEST = 100  # of the name of a model in memory, used for its file


def load(source: Source, semantics: Semantics = Semantics.RUNTIME, name: str = "source") -> list[ResizeOp]:
    """Return every resize of a file or of a model in memory; see ``ir_interp.load``. ``name`` is the argument's."""
    if is_call(source):
        return [load_call(str(source))]
    if is_onnx_model(source):
        from ..onnx import resize_nodes as of_onnx

        return of_onnx.load_model(source, _named(source), semantics)
    with as_file(source, name) as path:
        return _load(path, semantics)


def _load(path: Path, semantics: Semantics) -> list[ResizeOp]:
    kind = expect(path, *WITH_RESIZES)
    framework = reading(kind)
    if framework is not None:
        return framework.load(path, semantics)
    if kind is FileKind.ONNX:
        from ..onnx import neighbours, resize_nodes as of_onnx

        if semantics is Semantics.OBSERVED:
            neighbours.check_observed(of_onnx.nodes(path))
        return of_onnx.load(path, semantics)
    if kind is FileKind.IR:
        from ir_interp.ir import interpolates as of_ir

        return of_ir.load(path, semantics)
    from .. import dialects

    return dialects.load_layers(path, semantics)


def is_onnx_model(source: object) -> TypeGuard[onnx.ModelProto]:
    """Return whether an object is an ONNX model in memory."""
    return is_of_class(source, "onnx", "ModelProto")


def is_openvino_model(source: object) -> TypeGuard[openvino.Model]:
    """Return whether an object is an OpenVINO model in memory."""
    return is_of_class(source, "openvino", "Model")


def has_own_framework(source: object) -> bool:
    """Return whether a source is a model that its own framework runs, such as PyTorch or LiteRT."""
    if isinstance(source, str | os.PathLike):
        return FileKind.of(model_file(Path(source))) in FOREIGN
    return of_object(source) is not None


def model_file(path: Path) -> Path:
    """Return the file of a model that a folder stands for, such as a SavedModel; any other path as it is."""
    names = (framework.file_in_folder for framework in FRAMEWORKS if framework.file_in_folder)
    return next(filter(is_file, (path / name for name in names)), path)


def is_in_memory(source: object) -> bool:
    """Return whether an object is a model, not the path of one."""
    return is_onnx_model(source) or is_openvino_model(source) or of_object(source) is not None


def shown_path(source: Source, path: Path) -> Path:
    """Return the name that reports use for a source that ``as_file`` yielded as ``path``."""
    return Path(path.name) if is_in_memory(source) else path


def several(sources: Source | Iterable[Source]) -> list[Source]:
    """Return one source, or several, as a list."""
    is_single = is_in_memory(sources) or _is_module(sources) or isinstance(sources, str | os.PathLike)
    if is_single or not isinstance(sources, Iterable):
        return [sources]
    return list(sources)


def name_of(source: Source, name: str = "source") -> str:
    """Return the prefix of the places in a source."""
    return _named(source).name if is_in_memory(source) else _path(source, name).name


@contextmanager
def as_file(source: Source, name: str = "source") -> Iterator[Path]:
    """Yield the path of a source; a model in memory is written to a temporary file, under its own name.

    Raises SpecError, which names the argument ``name``, for anything else.
    """
    if not is_in_memory(source):
        yield _path(source, name)
        return
    with scratch() as folder:
        path = Path(folder, _named(source))
        _save(source, path)
        yield path


def _is_module(source: object) -> bool:
    return is_of_class(source, "torch.nn", "Module")


def _torch_problem(source: object) -> str | None:
    """Return what an object of PyTorch is, and how to pass it; None if it is not one, or PyTorch is not imported."""
    first = source[0] if isinstance(source, tuple | list) and source else source
    call = "(module, torch.rand(1, 3, 64, 64))"
    if _is_module(source):
        return f"a torch module; pass it with its inputs, as in {call}"
    if _is_module(first):
        return "a module and more than one other value; pass several inputs as one tuple: (module, (first, second))"
    if first is not source and of_object(first) is not None:
        return f"{type(first).__name__} and another value; pass the {type(first).__name__} alone"
    if isinstance(source, Mapping) and any(is_of_class(value, "torch", "Tensor") for value in source.values()):
        return "weights without a program; load them into the module, and pass (module.eval(), inputs)"
    module = getattr(sys.modules.get("torch.nn"), "Module", None)
    if module is not None and isinstance(first, type) and issubclass(first, module):
        return f"the class {first.__name__}; pass a module of it with its inputs, as in {call}"
    if module is not None and callable(first) and not isinstance(first, type):
        return f"a function; pass a torch.nn.Module that calls it, with its inputs, as in {call}"
    return None


def _path(source: object, name: str) -> Path:
    if isinstance(source, str | os.PathLike):
        return model_file(checked_path(source, name))
    if (problem := _torch_problem(source)) is not None:
        raise SpecError(f"{name} is {problem}")
    classes = [kind for framework in FRAMEWORKS for kind in framework.in_memory]
    *others, last = ("a path", "an onnx.ModelProto", "an openvino.Model", *classes)
    raise SpecError(f"{name} is {shown(source)}; expected {', '.join(others)} or {last}")


def _named(model: Any) -> Path:
    """Return a file name for a model in memory."""
    framework = of_object(model)
    if framework is not None:  # which has no name
        return Path(f"program{framework.extensions[0]}")
    name = model.graph.name if is_onnx_model(model) else model.get_friendly_name()
    kind = FileKind.ONNX if is_onnx_model(model) else FileKind.IR
    return Path((re.sub(r"[^\w.-]", "_", name)[:_LONGEST] or "model") + kind.value)


def _save(model: object, path: Path) -> None:
    framework = of_object(model)
    save = declared_by(framework).save if framework else None
    if save is not None:
        save(model, path)
    elif is_onnx_model(model):
        from google.protobuf.message import EncodeError

        try:
            path.write_bytes(model.SerializeToString())
        except (EncodeError, ValueError) as error:  # beyond protobuf's limit of 2 GiB
            raise ReadError(f"cannot be saved: {error}", path.name) from error
    else:
        save_model(model, path)


def readings(op: ResizeOp, source: Source) -> dict[Semantics, ResizeSpec]:
    """Return the result of each reading of a file for one resize.

    Readings that need more information are left out, and all others if the resize comes from another place.
    """
    readings = {Semantics.RUNTIME: op.spec}
    for semantics in (Semantics.DOCUMENT, Semantics.REFERENCE):
        with suppress(ReadError):
            specs = {op.where: op.spec for op in load(source, semantics)}
            if op.where in specs:
                readings[semantics] = specs[op.where]
    return readings


_NO_OPERATIONS = ("parameter", "result", "const")


def operations(path: Path) -> dict[str, int] | None:
    """Return the number of operations by type, including subgraphs, the most frequent first; None for other files."""
    kind = FileKind.of(path)
    framework = reading(kind)
    if framework:
        return counted(framework.describe(path).operations)
    types = _TYPES.get(kind) if kind else None
    return counted(types(path)) if types else None


def counted(types: Iterable[str]) -> dict[str, int]:
    """Return the number of operations by type, the most frequent first."""
    return dict(Counter(sorted(types)).most_common())


def _of_onnx(path: Path) -> list[str]:
    from ..onnx.onnx_files import graphs, read_model

    nodes = (node for graph in graphs(read_model(path).graph) for node in graph.node)
    return [node.op_type for node in nodes if node.op_type != "Constant"]


def _of_ir(path: Path) -> list[str]:
    from ir_interp.ir import ir_files

    types = (layer.get("type", "") for layer in ir_files.parse(path).iter("layer"))  # those of bodies, too
    return [kind for kind in types if kind.lower() not in _NO_OPERATIONS]


_TYPES = {FileKind.ONNX: _of_onnx, FileKind.IR: _of_ir}
