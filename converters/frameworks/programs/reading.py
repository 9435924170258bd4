"""The reading of exported programs of PyTorch, in files and in memory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ir_interp.array_types import Array

from ...sources.brief import Brief, Tensor, sizes
from ...sources.frameworks import Reading
from . import modules, program_files
from .changing_buffers import check_stateless
from .program_resizes import calls, load

if TYPE_CHECKING:
    from ...sources.readers import InMemory


def _operations(path: Path) -> list[str]:
    return [call.operation for call in calls(program_files.read(path))]


def _brief(path: Path) -> Brief:
    program = program_files.read(path)
    inputs, outputs = (
        tuple(Tensor(name=name, dtype=dtype, shape=shape) for name, dtype, shape in those)
        for those in program_files.ends(program)
    )
    weights = [
        *program.state_dict.values(),
        *(constant for constant in program.constants.values() if hasattr(constant, "nbytes")),
    ]
    return Brief(
        format="PyTorch exported program",
        inputs=inputs,
        outputs=outputs,
        weights=(len(weights), sum(weight.nbytes for weight in weights)),
        files=sizes(path),
    )


def _function(source: Path | InMemory) -> Callable[..., list[Array]]:
    name = source.name if isinstance(source, Path) else "reference"
    program = program_files.read(source) if isinstance(source, Path) else modules.exported(source, name)
    check_stateless(program, name)
    return program_files.function(program)


def _save(model: InMemory, path: Path) -> None:
    program_files.save(modules.exported(model, path.name), path)


READING = Reading(
    load=load,
    operations=_operations,
    brief=_brief,
    function=_function,
    holds=modules.holds,
    save=_save,
)
