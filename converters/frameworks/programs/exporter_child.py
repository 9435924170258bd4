"""Exporters with runtimes of their own, in a process of theirs: a program of one operation is exported and run."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ir_interp.files.writing import scratch
from ir_interp.shapes import Array

from ...audit.audited_resizes import Verdict
from ...runtimes.execution import reason
from ...runtimes.outcome import Kind
from ..tflite.reading import run as run_tflite

if TYPE_CHECKING:
    from torch.export import ExportedProgram

os.environ |= {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}


def answer(arrays: Sequence[Array], setting: tuple[str, str]) -> Sequence[Array] | Verdict:
    """Return what an exported program computes of ``arrays``; a verdict if it is refused, or cannot run here.

    ``setting`` is the name of the exporter and the program's file.
    """
    import torch

    name, path = setting
    try:
        return ANSWERS[name](torch.export.load(path), arrays)
    except Exception as error:  # whatever an exporter raises for an operation that it does not know
        return Verdict(kind=Kind.REFUSED, reason=reason(error))


def _in_executorch(program: ExportedProgram, arrays: Sequence[Array]) -> list[Array]:
    """Run a program in ExecuTorch's portable kernels."""
    import torch
    from executorch.exir import to_edge
    from executorch.runtime import Runtime

    exported = to_edge(program).to_executorch()
    method = Runtime.get().load_program(exported.buffer).load_method("forward")
    return [np.array(result) for result in method.execute([torch.from_numpy(array) for array in arrays])]


def _in_litert(program: ExportedProgram, arrays: Sequence[Array]) -> Sequence[Array]:
    import litert_torch
    import torch

    tensors = tuple(map(torch.from_numpy, arrays))
    with scratch() as folder:
        path = folder / "resize.tflite"
        litert_torch.convert(program.module(), tensors).export(str(path))
        return run_tflite(arrays, (str(path), False))


def _by_coremltools(program: ExportedProgram, arrays: Sequence[Array]) -> Verdict:
    """Return which operations are written; only systems of Apple run them."""
    import coremltools

    model = coremltools.convert(
        program.run_decompositions({}),
        convert_to="milinternal",
        minimum_deployment_target=coremltools.target.iOS17,
        compute_precision=coremltools.precision.FLOAT32,
    )
    (function,) = model.functions.values()
    written = [_described(operation) for operation in function.operations if operation.op_type != "const"]
    return Verdict(kind=Kind.UNKNOWN, reason=f"writes {', '.join(written)}, which Apple's systems alone run")


def _described(operation: Any) -> str:
    """Return an operation of Core ML with its settings."""
    values: dict[str, Any] = {name: getattr(value, "val", None) for name, value in operation.inputs.items()}
    settings = [
        f"{name}={value:g}" for name, value in sorted(values.items()) if np.ndim(value) == 0 and _is_number(value)
    ]
    return " ".join((operation.op_type, *settings))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | np.number | np.bool_)


ANSWERS: Mapping[str, Callable[[Any, Sequence[Array]], Sequence[Array] | Verdict]] = {
    "executorch": _in_executorch,
    "litert-torch": _in_litert,
    "coremltools": _by_coremltools,
}
