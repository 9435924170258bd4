"""Exporters of TensorFlow models: each resize is exported alone, and runs beside TensorFlow."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ir_interp.files.kinds import FileKind

from ...audit.audited_resizes import Found, foreign
from ...audit.chosen_shapes import Shapes
from ...audit.framework_exporters import NOT_TRIED, Exporter, all_are, ask, random_image, verdicts
from ...audit.verdicts import Verdict
from ...runtimes.outcome import Kind
from ...sources.model_description import Resize
from ...workers.worker import Died, Late
from .tensorflow_files import described

_CHILD = f"{__package__}.exporter_child"
EXPORTERS: Mapping[str, Exporter] = {
    "tf2onnx": Exporter(title="tf2onnx", package="tf2onnx", kind=FileKind.ONNX, writer=f"{_CHILD}:by_tf2onnx"),
    "openvino-tensorflow": Exporter(
        title="OpenVINO's TensorFlow frontend", package="openvino", kind=FileKind.IR, writer=f"{_CHILD}:by_openvino"
    ),
    "tflite-converter": Exporter(
        title="LiteRT's converter", package="ai_edge_litert", kind=FileKind.TFLITE, writer=f"{_CHILD}:by_litert"
    ),
}


def audited(path: Path, shapes: Shapes, *, asks_exporters: bool) -> list[Found]:
    """Return the resizes of a model, each with the verdicts of its exporters if they are asked."""
    return foreign(path, shapes, lambda: map(of_operation, described(path).resizes) if asks_exporters else None)


def of_operation(operation: Resize) -> dict[str, Verdict]:
    """Return the verdict of each installed exporter on an operation of TensorFlow, by running it on random values."""
    if operation.shape is None or None in operation.inputs:
        return all_are(NOT_TRIED, EXPORTERS)
    array = random_image(operation.shape, operation.dtype)
    expected = ask(f"{_CHILD}:expected", array, operation)
    if isinstance(expected, Died | Late):
        return all_are(Verdict(kind=Kind.CRASHES, reason=f"TensorFlow: {expected}"), EXPORTERS)
    return verdicts(EXPORTERS, operation, array, expected)
