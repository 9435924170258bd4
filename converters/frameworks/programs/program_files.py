"""Exported programs of PyTorch: read, and called like a function of arrays.

torch and onnxscript are imported on first use. ``torch.export.load`` unpickles, so only a named file is read.
"""

from __future__ import annotations

import logging
import os
import sys
import warnings
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ir_interp.array_types import Array
from ir_interp.errors import ReadError
from ir_interp.files.sources import check_readable
from ir_interp.shapes import PartialShape

from ...runtimes.messages import first_line
from . import FRAMEWORK, containers
from .attention import of_any_layout
from .mapped_weights import mapped
from .python_lines import place

if TYPE_CHECKING:
    from torch.export import ExportedProgram
End: TypeAlias = tuple[str, str, PartialShape]


def read(path: Path) -> ExportedProgram:
    """Return the program of a file. Raises ReadError for another file, or a missing package."""
    with silent():
        check_readable(path)
        FRAMEWORK.check_installed(path.name)
        import torch.export

        try:
            containers.register(path)
            with mapped(path):
                return of_any_layout(torch.export.load(path))
        except OSError as error:
            raise ReadError(f"cannot be read: {error.strerror or error}", str(path)) from error
        except Exception as error:  # whatever torch raises for another file
            script = "it is TorchScript, which torch.jit.save wrote; export the module by torch.export.export"
            problem = script if _is_torch_script(path) else first_line(_cause_of_loading(path, error))
            raise ReadError(f"not a program as torch.export.save writes it: {problem}", path.name) from error


def _is_torch_script(path: Path) -> bool:
    """Return whether a file is the archive of a scripted module, which holds its code."""
    if not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as archive:
        return any("/code/" in name for name in archive.namelist())


def _cause_of_loading(path: Path, error: Exception) -> Exception:
    """Return why ``torch.export.load`` fails: it logs the cause, and raises an error that only points to the log."""
    from torch.export.pt2_archive._package import load_pt2

    if isinstance(error, RuntimeError):
        try:
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
    """Write the ONNX model that torch's own exporter makes of a program. Raises ReadError, under ``name``, if it fails.

    Dynamic dimensions stay dynamic. Weights go to a second file beside it, so that none is copied in memory.
    """
    import torch.onnx

    with silent():
        try:
            model = torch.onnx.export(program, dynamo=True, verbose=False)
            assert model is not None
            model.save(path, external_data=True)
        except Exception as error:  # whatever the exporter raises for an operation that it does not know
            raise _refusal(error, program, name, "torchscript or openvino") from error


def save_traced(program: ExportedProgram, path: Path, name: str) -> None:
    """Write the ONNX model that torch's exporter through TorchScript makes of a program of static shapes.

    Raises ReadError, under ``name``, if it fails, and for dynamic dimensions, whose current sizes it would write.
    """
    import torch.onnx

    inputs, outputs = ends(program)
    if any(None in shape for _, _, shape in inputs):
        problem = "the TorchScript exporter writes one size, and this program has dynamic dimensions"
        raise ReadError(f"{problem}; use --exporter dynamo, or export it with static shapes", name)
    from torch.utils import _pytree as pytree

    module: Any = program.module()
    module.train = lambda mode=True: module  # the exporter calls it, though the program has no modes
    args, kwargs = program.example_inputs

    class Flat(torch.nn.Module):
        """The program with its outputs as a tuple: the exporter does not take other containers."""

        def __init__(self) -> None:
            super().__init__()
            self.module = module

        def forward(self, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
            leaves = pytree.tree_leaves(module(*args, **kwargs))
            return tuple(leaf for leaf in leaves if leaf is not None)

    names: Any = {"input_names": [end[0] for end in inputs], "output_names": [end[0] for end in outputs]}
    with silent(), _no_output():
        try:
            torch.onnx.export(Flat().eval(), args, path, kwargs=kwargs, dynamo=False, verbose=False, **names)
        except Exception as error:  # whatever the exporter raises for an operation that it does not know
            raise _refusal(error, program, name, "dynamo or openvino") from error


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
        tensors = iter([torch.from_numpy(np.array(array)) for array in arrays])
        leaves = [spec.value if isinstance(spec, ConstantArgument) else next(tensors) for spec in specs]
        args, kwargs = pytree.tree_unflatten(leaves, program.call_spec.in_spec)
        with torch.inference_mode():
            return [output.numpy() for output in pytree.tree_leaves(module(*args, **kwargs)) if output is not None]

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


def static(shape: Iterable[Any]) -> PartialShape:
    """Return a shape of torch, with None for each dynamic dimension."""
    return tuple(length if isinstance(length, int) else None for length in shape)


def _refusal(error: BaseException, program: ExportedProgram, name: str, others: str) -> ReadError:
    """Return the error of a program that an exporter refuses: the first cause, as other texts tell how to report it."""
    chain = [error]
    while chain[-1].__cause__:
        chain.append(chain[-1].__cause__)
    problem = f"PyTorch cannot export it to ONNX: {first_line(chain[-1])}"
    traces = {node.name: node.meta.get("stack_trace") or "" for node in program.graph.nodes}
    return ReadError(f"{problem}; try --exporter {others}", place(name, "\n".join(map(str, reversed(chain))), traces))


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
