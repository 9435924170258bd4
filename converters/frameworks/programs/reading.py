"""The reading of exported programs of PyTorch, in files and in memory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ir_interp.array_types import Array

from ...sources.frameworks import Reading
from ...sources.model_description import Description, End
from . import modules, program_files
from .changing_buffers import check_stateless
from .program_resizes import calls, load

if TYPE_CHECKING:
    from ...sources.readers import InMemory


def _described(path: Path) -> Description:
    program = program_files.read(path)
    inputs, outputs = (
        tuple(End(name=name, dtype=dtype, shape=shape) for name, dtype, shape in those)
        for those in program_files.ends(program)
    )
    weights = [
        *program.state_dict.values(),
        *(constant for constant in program.constants.values() if hasattr(constant, "nbytes")),
    ]
    return Description(
        format="PyTorch exported program",
        inputs=inputs,
        outputs=outputs,
        operations=tuple(call.operation for call in calls(program)),
        constants=tuple(weight.nbytes for weight in weights),
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
    describe=_described,
    function=_function,
    holds=modules.holds,
    save=_save,
)
