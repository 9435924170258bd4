"""The nodes of a model that QNN runs on the NPU, those that it leaves to the CPU provider, and its outputs.

Then the check that a result stays on the NPU and computes the intended resizes, if onnxruntime-qnn is installed. The
package onnxruntime-qnn contains a simulator of the NPU, for x86 on Linux. Some models end its process, so it runs
in a worker only: ``placed`` asks it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from ir_interp.errors import InexactError, IrInterpError, VerificationError
from ir_interp.files.kinds import FileKind
from ir_interp.files.writing import scratch
from ir_interp.resize_op import ResizeOp
from ir_interp.shapes import Array, static_shape
from ir_interp.specs import Nearest

from .onnx.low_precision import has_quantised_operators
from .onnx.onnx_files import graphs, read_file
from .onnx.resize_nodes import OPS, ResizeNode, nodes, single
from .runtimes.execution import first_line
from .runtimes.onnxruntime_providers import FLOATS_OF_NPU
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
    outputs: Mapping[str, Array] | None = None
    problem: str = ""

    @property
    def left_text(self) -> str:
        """The nodes left to the CPU provider, as in ``TopK "best", NonZero and 3 more nodes``."""
        shown = ", ".join(dict.fromkeys(map(str, self.left[:_SHOWN])))
        return shown if len(self.left) <= _SHOWN else f"{shown} and {len(self.left) - _SHOWN} more nodes"


def is_installed() -> bool:
    """Return whether QNN can be asked here; nothing is imported."""
    return runtimes()[NAME].is_installed


def placed(path: Path, inputs: Mapping[str, Array] | None = None) -> Placement:
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


# The proof of a result that is written for QNN.

WriteForQnn = Callable[[Path, Path], object]
"""Writes an ONNX model for QNN, to another path."""
_LARGEST = 2**20  # elements of a resize that is run alone: the simulator is slow
_SEED = 0


def on_npu(source: Path, result: Path, destination: Path, write: WriteForQnn) -> list[str]:
    """Return notes about a result that is written for QNN: where its nodes run. ``write`` writes a single resize.

    Raises VerificationError if a written node is left to the CPU provider, or a resize differs on the NPU.
    """
    if not is_installed():
        return [f"{destination.name}: not run by QNN; {_installation()}"]
    placement = placed(result)
    by, name = placement.by, destination.name
    if placement.problem:
        return [f"{name}: {by} does not run the model: {placement.problem}"]
    wrong = _written(source, result, placement)
    if wrong:
        raise VerificationError(
            f"{name}: {by} leaves what was written to the CPU provider: {wrong[0]}; please report it"
        )
    meant = source if FileKind.of(source) is FileKind.ONNX else result
    count = sum(_runs_alone(node, write, name) for node in _distinct(nodes(meant)))
    alone = f"; {count} of its resizes ran alone, as meant" if count else ""
    if placement.left:
        return [f"{name}: {by} leaves {placement.left_text} to the CPU provider, and no resize{alone}"]
    return [f"{name}: {by} runs every node, without the CPU provider{alone}"]


def _installation() -> str:
    known = runtimes()[NAME]
    return f"its simulator is not installed; to run it, pip install {known.name}=={known.version} (x86-64 Linux)"


def _written(source: Path, result: Path, placement: Placement) -> list[Left]:
    """Return the nodes left to the CPU provider that are resizes, or that the source does not have.

    Of a source of another kind every node is new, so only resizes count, as in models of quantised operators.
    """
    new = set[str]()
    if FileKind.of(source) is FileKind.ONNX and not has_quantised_operators(source):
        new = _names(result) - _names(source)
    return [left for left in placement.left if left.operator in OPS or left.name in new]


def _names(path: Path) -> set[str]:
    return {node.name for graph in graphs(read_file(path).graph) for node in graph.node}


def _distinct(resizes: Sequence[ResizeNode]) -> Iterator[ResizeNode]:
    """Yield resizes that differ in more than their names."""
    seen = set[str]()
    for node in resizes:
        key = f"{node.op.version} {node.op.dtype} {node.op.shape} {node.op.attributes}"
        if key not in seen:
            seen.add(key)
            yield node


def _runs_alone(node: ResizeNode, write: WriteForQnn, name: str) -> bool:
    """Run a resize alone, as it is written for the NPU. Return whether it could be. Raises VerificationError."""
    op, model, shape = node.op, single(node), static_shape(node.op.shape)
    if model is None or shape is None or op.spec.waits or op.dtype not in FLOATS_OF_NPU or np.prod(shape) > _LARGEST:
        return False
    with scratch() as folder:
        plain, written = folder / "plain.onnx", folder / "written.onnx"
        onnx.save(model, plain)
        try:
            write(plain, written)
            x = np.random.default_rng(_SEED).random(shape).astype(op.dtype)
            wanted = np.asarray(op.run(x))
        except ExceptionGroup as refusals:  # it has a form among the nodes around it only
            if refusals.split(InexactError)[1]:
                raise
            return False
        placement = placed(written, {model.graph.input[0].name: x})
    if placement.outputs is None:
        raise VerificationError(f"{name}: {op.name}: {placement.by} does not run the resize: {placement.problem}")
    (output,) = placement.outputs.values()
    apart = _apart(op, wanted, output)
    if apart:
        raise VerificationError(f"{name}: {op.name}: {placement.by} computes another resize: {apart}; please report it")
    return True


def _apart(op: ResizeOp, wanted: Array, output: Array) -> str:
    """Return how an output differs from the meaning; empty if it does not."""
    if wanted.shape != output.shape:
        return f"shape {list(output.shape)}, not {list(wanted.shape)}"
    apart = float(np.abs(output.astype(float) - wanted.astype(float)).max(initial=0))
    allowed = 0.0 if isinstance(op.spec.kernel, Nearest) else FLOATS_OF_NPU[op.dtype or "float32"]
    return "" if apart <= allowed else f"{apart:.2g} apart"
