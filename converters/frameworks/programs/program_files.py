"""Exported programs of PyTorch: read, and called like a function of arrays.

torch and onnxscript are imported on first use. Folders are not searched for programs.

A program names the type of each container, such as the outputs of transformers, and torch refuses names that no
package has registered. Stand-ins under these names hold the same tensors, without code of that package. Weights are
mapped into memory where ``torch.export.load`` would copy them, and attention takes a form that every exporter writes.
"""

from __future__ import annotations

import logging
import mmap
import os
import re
import sys
import warnings
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from pathlib import Path, PureWindowsPath
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ir_interp.containers import array_of_tensor, tensor_of_array
from ir_interp.errors import ExporterError, ReadError
from ir_interp.files.archives import opened_archive
from ir_interp.files.kinds import FileKind, check_readable, opened
from ir_interp.shapes import Array, PartialShape

from ...runtimes.execution import first_line
from . import FRAMEWORK, untrusted

if TYPE_CHECKING:
    import torch.fx
    from torch.export import ExportedProgram

_FRAME = re.compile(r'^\s*File "(?P<file>[^<].*)", line (?P<line>\d+)', re.MULTILINE)  # <...> is generated code
_OF_TORCH = re.compile(r"[\\/](site|dist)-packages[\\/]torch[\\/]")
_NODE = re.compile(r"(executing|translating) (node )?%(?P<name>\w+)")


def line(trace: str | None, node: str) -> str:
    """Return the last line outside torch of a stack trace, as ``file.py:12``; without one, the node."""
    frames = [(frame["file"], frame["line"]) for frame in _FRAME.finditer(trace or "")]
    outside = [frame for frame in frames if not _OF_TORCH.search(frame[0])] or frames
    if not outside:
        return f"node[{node}]"
    file, number = outside[-1]
    return f"{PureWindowsPath(file).name}:{number}"  # which takes both separators


def place(name: str, text: str, traces: Mapping[str, str]) -> str:
    """Return the place that an error of an exporter is about: a line behind ``name``, a node, or only the file.

    ``traces`` are those of the nodes by name; an error may quote that of a node which the exporter made.
    """
    node = _NODE.search(text)
    return f"{name}:{line(traces.get(node['name']) or text[node.end() :], node['name'])}" if node else name


def of_any_layout(program: ExportedProgram) -> ExportedProgram:
    """Return a program that computes the same, whatever the rank and the strides of attention are.

    Exporters write attention in primitive operations, whose strides differ from those of torch's kernel, so that a
    view of its output fails. A copy has the same strides in both, and a reshape takes any. The dynamo exporter also
    requires a single batch axis.
    """
    import torch

    aten, graph = torch.ops.aten, program.graph
    for node in list(graph.nodes):
        if node.target is aten.view.default:
            node.target = aten.reshape.default
        elif node.target is aten.scaled_dot_product_attention.default:
            _replace_attention(node)
    program.graph_module.recompile()
    return program


def _replace_attention(node: torch.fx.Node) -> None:
    """Let the users of attention read a copy of it, computed with one batch axis if it has none, or several."""
    import torch

    aten, graph = torch.ops.aten, node.graph
    with graph.inserting_after(node):
        copy = graph.call_function(aten.clone.default, (node,), {"memory_format": torch.contiguous_format})
    copy.meta = dict(node.meta)
    node.replace_all_uses_with(copy, lambda user: user is not copy and user.op != "output")
    shape, has_mask = node.meta["val"].shape, len(node.args) > 3 or "attn_mask" in node.kwargs
    is_static = all(isinstance(length, int) for length in shape)
    if len(shape) == 3 or (len(shape) > 4 and is_static and not has_mask):
        with graph.inserting_before(copy):
            batch = [_with_one_batch(graph, tensor, len(shape)) for tensor in node.args[:3]]
            attended: object = node.target
            attended = graph.call_function(attended, (*batch, *node.args[3:]), dict(node.kwargs))
            back = (aten.squeeze.dim, 0) if len(shape) == 3 else (aten.reshape.default, list(shape))
            copy.args = (graph.call_function(back[0], (attended, back[1])),)
        if not node.users:
            graph.erase_node(node)


def _with_one_batch(graph: torch.fx.Graph, tensor: object, rank: int) -> torch.fx.Node:
    """Return a tensor of attention with a single axis before heads, rows and columns."""
    import torch

    aten = torch.ops.aten
    if rank == 3:
        return graph.call_function(aten.unsqueeze.default, (tensor, 0))
    return graph.call_function(aten.flatten.using_ints, (tensor, 0, rank - 4))


_TYPE = re.compile(rb'\{\\"type\\": \\"(?P<name>[^"\\]+)\\"')  # JSON inside a string of JSON


def register(path: Path) -> None:
    """Make the containers of a .pt2 file known to torch, unless they are. Raises BadZipFile for other files."""
    from torch.utils import _pytree as pytree

    for name in set(_types(path)) - pytree.SERIALIZED_TYPE_TO_PYTHON_TYPE.keys():
        container = type(name, (_Container,), {})
        pytree.register_pytree_node(
            container,
            lambda container: (container.leaves, container.context),
            container,
            serialized_type_name=name,
            to_dumpable_context=lambda context: context,
            from_dumpable_context=lambda context: context,
        )


def _types(path: Path) -> Iterator[str]:
    """Yield the names of all containers; each describes itself in the JSON of the file."""
    with opened_archive(path) as archive:
        for member in archive.names:
            if FileKind.of(member) is FileKind.JSON:
                yield from (match["name"].decode() for match in _TYPE.finditer(archive.read(member)))


class _Container:
    """The tensors of a container in order, and its description as the file has it."""

    def __init__(self, leaves: Iterable[object], context: object) -> None:
        self.leaves = list(leaves)
        self.context = context


@contextmanager
def mapped(path: Path) -> Iterator[None]:
    """Let torch map the weights of a file, whose pages the system reads and drops; a compressed one is copied."""
    from torch.export.pt2_archive import _package as package

    with opened_archive(path) as archive:
        is_stored = not archive.compressed
    original: Any = package.PT2ArchiveReader

    def reader(archive: object) -> object:
        opened = original(archive)
        opened.archive_file = _MappedRecords(opened.archive_file, path)
        return opened

    package.PT2ArchiveReader = reader if is_stored else original
    try:
        yield
    finally:
        package.PT2ArchiveReader = original


class _MappedRecords:
    """The records of an archive as torch reads them, except those of tensors."""

    def __init__(self, records: Any, path: Path) -> None:
        self._records, self._path = records, path

    def __getattr__(self, name: str) -> Any:
        return getattr(self._records, name)

    def get_storage_from_record(self, name: str, count: int, dtype: Any) -> object:
        """Return a record as a tensor. Its pages are private: a program that writes to it does not change the file."""
        import torch

        place = self._records.get_record_offset(name)
        start = place - place % mmap.ALLOCATIONGRANULARITY
        with opened(self._path) as file:
            # One mapping for each record: Linux refuses a private one that is larger than its memory.
            size = place - start + count * dtype.itemsize
            pages = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_COPY, offset=start)
        return torch.frombuffer(pages, dtype=dtype, count=count, offset=place - start)


End: TypeAlias = tuple[str, str, PartialShape]


def read(path: Path) -> ExportedProgram:
    """Return the program of a file. Raises ReadError for another file, or a missing package."""
    with silent():
        check_readable(path)
        FRAMEWORK.check_installed(path.name)
        import torch.export

        try:
            with opened_archive(path) as archive:
                archive.check_files()
                archive.check_size(path.stat().st_size)  # PyTorch does not compress members, but unpacks them
                untrusted.check_members(archive, path.name)
            register(path)
            with mapped(path), untrusted.without_code():
                return of_any_layout(untrusted.without_guards(torch.export.load(path)))
        except OSError as error:
            raise ReadError(f"cannot be read: {error.strerror or error}", str(path)) from error
        except ReadError as error:
            raise error if error.where else ReadError(error.problem, path.name) from error
        except Exception as error:  # whatever torch raises for another file
            cause = _cause_of_loading(path, error)
            if isinstance(cause, ReadError):
                raise ReadError(cause.problem, path.name) from error
            script = "it is TorchScript, which torch.jit.save wrote; export the module by torch.export.export"
            problem = script if _is_torch_script(path) else first_line(cause)
            raise ReadError(f"not a program as torch.export.save writes it: {problem}", path.name) from error


def _is_torch_script(path: Path) -> bool:
    """Return whether a file is the archive of a scripted module, which holds its code."""
    if not zipfile.is_zipfile(path):
        return False
    with opened_archive(path) as archive:
        return any("/code/" in name for name in archive.names)


def _cause_of_loading(path: Path, error: Exception) -> Exception:
    """Return why ``torch.export.load`` fails: it logs the cause, and raises an error that only points to the log."""
    from torch.export.pt2_archive._package import load_pt2

    if isinstance(error, RuntimeError):
        try:
            with untrusted.without_code():
                load_pt2(path)
        except Exception as cause:  # whatever torch raises
            return cause
    return error


def save(program: ExportedProgram, path: Path) -> None:
    """Write a program in memory to a file, so that it is read as any other. Raises ReadError if torch cannot."""
    import torch.export

    with silent():
        try:
            torch.export.save(program, path)
        except Exception as error:  # whatever torch raises for objects that it cannot write
            raise ReadError(f"PyTorch cannot save it: {first_line(error)}", path.name) from error


def save_onnx(program: ExportedProgram, path: Path, name: str) -> None:
    """Write the ONNX model that torch's own exporter makes of a program. Raises ExporterError, under ``name``.

    Dynamic dimensions stay dynamic. Weights go to a second file beside it, so that none is copied in memory.
    """
    import torch.onnx

    with silent():
        try:
            model = torch.onnx.export(program, dynamo=True, verbose=False)
            assert model is not None
            model.save(path, external_data=True)
        except Exception as error:  # whatever the exporter raises for an operation that it does not know
            raise _refusal(error, program, name) from error


def save_traced(program: ExportedProgram, path: Path, name: str) -> None:
    """Write the ONNX model that torch's exporter through TorchScript makes of a program of static shapes.

    Raises ExporterError, under ``name``, if it fails, and for dynamic dimensions, whose current sizes it would write.
    """
    import torch.onnx

    inputs, outputs = ends(program)
    if any(None in shape for _, _, shape in inputs):
        problem = "the TorchScript exporter writes one size, and this program has dynamic dimensions"
        raise ExporterError(f"{problem}; export it with static shapes", name)
    from torch.utils import _pytree as pytree

    module: Any = program.module()
    module.train = lambda mode=True: module  # the exporter calls it, though the program has no modes
    args, kwargs = program.example_inputs

    class Flat(torch.nn.Module):
        """The program with its outputs as a tuple: the exporter does not take other containers."""

        def __init__(self) -> None:
            super().__init__()
            self.module = module

        def forward(self, *args: object, **kwargs: object) -> tuple[object, ...]:
            leaves = pytree.tree_leaves(module(*args, **kwargs))
            return tuple(leaf for leaf in leaves if leaf is not None)

    names: Any = {"input_names": [end[0] for end in inputs], "output_names": [end[0] for end in outputs]}
    with silent(), _no_output():
        try:
            torch.onnx.export(Flat().eval(), args, path, kwargs=kwargs, dynamo=False, verbose=False, **names)
        except Exception as error:  # whatever the exporter raises for an operation that it does not know
            raise _refusal(error, program, name) from error


@contextmanager
def _no_output() -> Iterator[None]:
    """Close the standard output of C++, to which the exporter prints the graph of an operation that it refuses."""
    sys.stdout.flush()
    before = os.dup(1)
    try:
        with Path(os.devnull).open("wb") as nowhere:
            os.dup2(nowhere.fileno(), 1)
            yield
    finally:
        os.dup2(before, 1)
        os.close(before)


def function(program: ExportedProgram) -> Callable[..., list[Array]]:
    """Return the program as a function of arrays, its tensors in order, to its outputs; both flattened.

    Arguments that are no tensors keep the values with which the program was exported.
    """
    import torch
    from torch.export.graph_signature import ConstantArgument, InputKind
    from torch.utils import _pytree as pytree

    module = program.module()
    specs = [spec.arg for spec in program.graph_signature.input_specs if spec.kind is InputKind.USER_INPUT]

    def outputs(*arrays: Array) -> list[Array]:
        tensors = iter([tensor_of_array(np.array(array)) for array in arrays])
        values = [spec.value if isinstance(spec, ConstantArgument) else next(tensors) for spec in specs]
        args, kwargs = pytree.tree_unflatten(values, program.call_spec.in_spec)
        with torch.inference_mode():
            leaves = pytree.tree_leaves(module(*args, **kwargs))
        return [array_of_tensor(leaf) for leaf in leaves if leaf is not None]

    return outputs


def ends(program: ExportedProgram) -> tuple[list[End], list[End]]:
    """Return name, element type and shape of the inputs and of the outputs of a program, flattened."""
    tensors = {node.name: node.meta.get("val") for node in program.graph.nodes}
    signature = program.graph_signature
    inputs, outputs = ((str(name) for name in those) for those in (signature.user_inputs, signature.user_outputs))
    return _ends(tensors, inputs), _ends(tensors, outputs)


def _ends(tensors: Mapping[str, Any], names: Iterable[str]) -> list[End]:
    known = {name: tensors[name] for name in names if hasattr(tensors.get(name), "shape")}
    return [(name, str(tensor.dtype).removeprefix("torch."), static(tensor.shape)) for name, tensor in known.items()]


def static(shape: Iterable[object]) -> PartialShape:
    """Return a shape of torch, with None for each dynamic dimension."""
    return tuple(length if isinstance(length, int) else None for length in shape)


def _refusal(error: BaseException, program: ExportedProgram, name: str) -> ExporterError:
    """Return the error of a program that an exporter refuses: the first cause, as other texts tell how to report it."""
    chain = [error]
    while chain[-1].__cause__:
        chain.append(chain[-1].__cause__)
    problem = f"PyTorch cannot export it to ONNX: {first_line(chain[-1])}"
    traces = {node.name: node.meta.get("stack_trace") or "" for node in program.graph.nodes}
    return ExporterError(problem, place(name, "\n".join(map(str, reversed(chain))), traces))


@contextmanager
def silent() -> Iterator[None]:
    """Keep torch's progress, warnings and tracebacks away from a command's own output."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings(), redirect_stdout(StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)
