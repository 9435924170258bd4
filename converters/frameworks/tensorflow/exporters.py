"""Exporters of TensorFlow models: each resize is exported alone, and runs beside TensorFlow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from ir_interp.files.kinds import FileKind

from ...audit.framework_exporters import NOT_TRIED, Writer, all_are, ask, asked, random_image
from ...audit.verdicts import Verdict
from ...runtimes.outcome import Kind
from ...sources.model_description import Resize
from ...workers.worker import Died, Late
from .tensorflow_files import described

_CHILD = f"{__package__}.exporter_child"
EXPORTERS: Mapping[str, Writer] = {
    "tf2onnx": Writer(title="tf2onnx", package="tf2onnx", kind=FileKind.ONNX, writer=f"{_CHILD}:by_tf2onnx"),
    "openvino-tensorflow": Writer(
        title="OpenVINO's TensorFlow frontend", package="openvino", kind=FileKind.IR, writer=f"{_CHILD}:by_openvino"
    ),
    "tflite-converter": Writer(
        title="LiteRT's converter", package="ai_edge_litert", kind=FileKind.TFLITE, writer=f"{_CHILD}:by_litert"
    ),
}


def verdicts(path: Path) -> Iterator[dict[str, Verdict]]:
    """Yield the verdicts of all exporters on each resize of a model."""
    yield from map(of_operation, described(path).resizes)


def of_operation(operation: Resize) -> dict[str, Verdict]:
    """Return the verdict of each installed exporter on an operation of TensorFlow, by running it on random values."""
    if operation.shape is None or None in operation.inputs:
        return all_are(NOT_TRIED, EXPORTERS)
    array = random_image(operation.shape, operation.dtype)
    expected = ask(f"{_CHILD}:expected", array, operation)
    if isinstance(expected, Died | Late):
        return all_are(Verdict(kind=Kind.CRASHES, reason=f"TensorFlow: {expected}"), EXPORTERS)
    return asked(EXPORTERS, operation, array, expected)
