"""Run models in child processes, all on the same inputs."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from ir_interp.errors import IrInterpError, VerificationError
from ir_interp.kinds import FileKind
from ir_interp.memory import bound_advice

from ..report import Progress
from .child import started
from .runners import USAGE, Named, Request, load

_SECONDS = 600
_OF_MEMORY = re.compile("bad.alloc|allocat|MemoryError", re.IGNORECASE)  # what runtimes say where there is too little


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """What to run models on: lengths and .npy files by input name; the rest is made up."""

    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    files: Mapping[str, Path] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Runs:
    """Runs models in child processes, all on the same inputs: a runtime that dies or hangs takes nothing along.

    .onnx runs in onnxruntime, but for those of ``through_openvino``, .xml in OpenVINO.
    """

    folder: Path
    inputs: Inputs
    values: dict[str, list[float]]
    progress: Progress
    through_openvino: frozenset[Path] = frozenset()
    _number: Iterator[int] = field(default_factory=count)

    def __call__(self, model: Path, tensors: Sequence[str] = ()) -> tuple[Named, dict[str, NDArray[Any]]]:
        """Return the outputs of a model, and those of ``tensors`` that it has, by name."""
        number = next(self._number)
        self.progress(f"running {model.name}", 0, 0)
        request = Request(
            model=str(model),
            inputs=str(self.folder / "inputs.npz"),
            outputs=str(self.folder / f"outputs{number}.npz"),
            found=str(self.folder / f"found{number}.npz"),
            shapes={name: list(shape) for name, shape in self.inputs.shapes.items()},
            files={name: str(path) for name, path in self.inputs.files.items()},
            values=self.values,
            tensors=list(tensors),
            in_openvino=FileKind.of(model) is FileKind.IR or model in self.through_openvino,
        )
        request.save(self.folder / f"request{number}.json")
        _run(self.folder / f"request{number}.json", model, self.inputs.files.values())
        return load(request.outputs), dict(load(request.found)) if tensors else {}

    def given(self) -> list[NDArray[Any]]:
        """Return the inputs of the last run."""
        return [array for _, array in load(self.folder / "inputs.npz")]


def _run(request: Path, model: Path, arrays: Iterable[Path]) -> None:
    name, files, module = model.name, [model, model.with_suffix(".bin"), *arrays], f"{__package__}.runners"
    streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    with started(module, str(request), folder=request.parent, seconds=_SECONDS, files=files, **streams) as child:
        try:
            _, errors = child.communicate(timeout=_SECONDS)
        except subprocess.TimeoutExpired:
            raise VerificationError(f"{name} did not finish in {_SECONDS} s") from None
    if child.returncode == USAGE:
        raise IrInterpError(errors.strip())
    if child.returncode:
        lines = errors.strip().splitlines() or [f"it died with status {child.returncode}"]
        advice = f"; {bound_advice()}" if _OF_MEMORY.search(lines[-1]) else ""
        raise VerificationError(f"{name} does not run: {lines[-1]}{advice}")
