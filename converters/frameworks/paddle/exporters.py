"""Exporters of Paddle programs: each resize is exported alone, and runs beside Paddle."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from ir_interp.files.kinds import FileKind
from ir_interp.files.writing import scratch
from ir_interp.shapes import Array

from ...audit.framework_exporters import NOT_TRIED, OPSET, Writer, all_are, asked, frontend, random_image
from ...audit.verdicts import Verdict
from ...sources.model_description import Resize
from .reading import connected, described, weights, write_resize

EXPORTERS: Mapping[str, Writer] = {
    "openvino-paddle": frontend("Paddle"),
    "paddle2onnx": Writer(
        title="Paddle2ONNX", package="paddle2onnx", kind=FileKind.ONNX, writer=f"{__name__}:by_paddle2onnx"
    ),
}


def verdicts(path: Path) -> Iterator[dict[str, Verdict]]:
    """Yield the verdicts of all exporters on each resize of a program."""
    yield from map(_of_operation, described(path).resizes)


def _of_operation(operation: Resize) -> dict[str, Verdict]:
    """Return the verdict of each installed exporter on an operation, by running it on random values."""
    if connected(operation) is not None or operation.shape is None:
        return all_are(NOT_TRIED, EXPORTERS)
    with scratch() as folder:
        source = folder / "source.pdmodel"
        array = random_image(operation.shape, operation.dtype)
        return asked(EXPORTERS, source, array, write_resize(operation, array, source))


def by_paddle2onnx(source: Path, array: Array, path: Path) -> None:
    """Write the ONNX model that Paddle2ONNX makes of a program, as it is."""
    import paddle2onnx

    paddle2onnx.export(str(source), str(weights(source)), str(path), opset_version=OPSET, optimize_tool="None")
