"""The nodes of a model that QNN runs on the NPU, those that it leaves to the CPU provider, and its outputs.

The package onnxruntime-qnn contains a simulator of the NPU, for x86 on Linux. Some models end its process, so it runs
in a worker only: ``placed`` asks it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.errors import IrInterpError
from ir_interp.files.writing import scratch

from .runtimes.execution import first_line
from .runtimes.runtime import runtimes
from .workers import Died, Late, Question, lasting

NAME = "onnxruntime-qnn"
_SECONDS = 300.0  # for a model: the simulator compiles it for the NPU
_IDLE = 60.0  # seconds without a question, after which the process ends
_RECORD, _NPU_ALONE = "session.record_ep_graph_assignment_info", "session.disable_cpu_ep_fallback"
_PROVIDER = "qnn"
_SHOWN = 5  # nodes in a message


@dataclass(frozen=True, slots=True)
class Left:
    """A node that QNN leaves to the CPU provider."""

    operator: str
    name: str

    def __str__(self) -> str:
        return " ".join(filter(None, (self.operator, self.name and f'"{self.name}"')))


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """The placement of a model by a release, ``by``, or its ``problem`` if it does not run.

    If no node is ``left`` to the CPU provider, a session without that provider was created, too. ``outputs`` are those
    of QNN by name, if it was given inputs.
    """

    by: str
    left: tuple[Left, ...] = ()
    outputs: Mapping[str, NDArray[Any]] | None = None
    problem: str = ""

    @property
    def left_text(self) -> str:
        """The nodes left to the CPU provider, as in ``TopK "best", NonZero and 3 more nodes``."""
        shown = ", ".join(dict.fromkeys(map(str, self.left[:_SHOWN])))
        return shown if len(self.left) <= _SHOWN else f"{shown} and {len(self.left) - _SHOWN} more nodes"


def is_installed() -> bool:
    """Return whether QNN can be asked here; nothing is imported."""
    return runtimes()[NAME].is_installed


def placed(path: Path, inputs: Mapping[str, NDArray[Any]] | None = None) -> Placement:
    """Return where the nodes of an ONNX model run, and its outputs for inputs by name. Raises IrInterpError."""
    runner = runtimes()[NAME].runner
    assert runner is not None
    by = f"QNN's simulator of the NPU ({runner.distribution} {version(runner.distribution)})"
    with scratch() as folder:
        given, results = folder / "inputs.npz", folder / "outputs.npz"
        if inputs is not None:
            np.savez(given, **inputs)  # type: ignore[arg-type]  # a name is no option of savez
        question = Question(function=f"{__name__}:ran", setting=(given, results), limit=_SECONDS, attempts=1)
        answer = lasting(NAME, _IDLE).answer(question, path.absolute())
        if isinstance(answer, Died | Late):
            return Placement(by=by, problem=str(answer))
        left, problem = answer
        outputs = dict(np.load(results)) if results.exists() else None
    return Placement(by=by, left=left, problem=problem, outputs=outputs)


def ran(path: Path, files: tuple[Path, Path]) -> tuple[tuple[Left, ...], str]:
    """Create a session in this process, and run it if there are inputs.

    Return the nodes that are left to the CPU provider, and why the model does not run; empty if it does.
    """
    inputs, outputs = files
    try:
        session = _session(path, _RECORD)
        left = tuple(
            Left(node.op_type, node.name)
            for part in session.get_provider_graph_assignment_info()
            if part.ep_name != _PROVIDER
            for node in part.get_nodes()
        )
        if not left:
            session = _session(path, _NPU_ALONE)
        if inputs.exists():
            names = [output.name for output in session.get_outputs()]
            results = session.run(names, dict(np.load(inputs)))
            np.savez(outputs, **dict(zip(names, results, strict=True)))
    except Exception as error:  # whatever onnxruntime raises
        return (), first_line(error)
    return left, ""


def _session(path: Path, setting: str) -> Any:
    import onnxruntime
    import onnxruntime_qnn  # type: ignore[import-not-found, unused-ignore]

    if not any(device.ep_name == _PROVIDER for device in onnxruntime.get_ep_devices()):
        onnxruntime.register_execution_provider_library(_PROVIDER, onnxruntime_qnn.get_library_path())
    devices = [device for device in onnxruntime.get_ep_devices() if device.ep_name == _PROVIDER]
    if not devices:
        raise IrInterpError("onnxruntime-qnn has no device on this machine")
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.add_session_config_entry(setting, "1")
    options.add_provider_for_devices(devices[:1], {"backend_type": "htp"})
    return onnxruntime.InferenceSession(str(path), options)
