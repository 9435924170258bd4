"""Programs in memory: those of torch.export, and modules of PyTorch, which it exports with example inputs."""

from __future__ import annotations

from contextlib import redirect_stderr
from io import StringIO
from typing import TYPE_CHECKING, Any, TypeGuard

from ir_interp.arguments import shown
from ir_interp.errors import ReadError, SpecError

from ...runtimes.messages import first_line
from ...sources.frameworks import is_of_class
from .program_files import silent

if TYPE_CHECKING:
    import torch.nn
    from torch.export import ExportedProgram

    from ...sources.readers import InMemory


def holds(value: object) -> TypeGuard[InMemory]:
    """Return whether an object is a program in memory; False if PyTorch is not imported."""
    return is_of_class(value, "torch.export", "ExportedProgram") or _is_pair(value)


def _is_pair(value: object) -> TypeGuard[tuple[torch.nn.Module, Any]]:
    return isinstance(value, tuple) and len(value) == 2 and is_of_class(value[0], "torch.nn", "Module")


def exported(model: InMemory, name: str) -> ExportedProgram:
    """Return the program of a model in memory; that of a module has the sizes of its inputs.

    Raises SpecError for a module in training mode and for other inputs, ReadError, under ``name``, if PyTorch cannot
    export the module.
    """
    if not _is_pair(model):
        return model
    module, inputs = model
    if any(part.training for part in module.modules()):
        raise SpecError(
            "the module is in training mode, in which layers such as dropout are random; call .eval() first"
        )
    args, kwargs = _arguments(inputs)
    import torch.export

    with silent(), redirect_stderr(StringIO()):  # to which torch prints the graph up to the refused line
        try:
            return torch.export.export(module, args, kwargs)
        except Exception as error:  # whatever torch raises for code that it cannot trace
            raise ReadError(f"PyTorch cannot export the module: {first_line(error)}", name) from error


def _arguments(inputs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments and keyword arguments of a call. Raises SpecError for anything else."""
    if isinstance(inputs, dict):
        return (), inputs
    if isinstance(inputs, tuple):
        return inputs, {}
    if is_of_class(inputs, "torch", "Tensor"):
        return (inputs,), {}
    expected = "a tensor, a tuple of arguments, or a dict of keyword arguments"
    raise SpecError(f"the inputs of the module are {shown(inputs)}; expected {expected}")
