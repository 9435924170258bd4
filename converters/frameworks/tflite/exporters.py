"""Exporters of TFLite files: each resize is exported alone, and runs beside LiteRT."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from ir_interp.files.kinds import FileKind
from ir_interp.files.writing import scratch
from ir_interp.resize_op import ResizeOp
from ir_interp.shapes import Array, resolve_axes
from ir_interp.specs import AtRunTime, Sizes

from ...audit.framework_exporters import OPSET, Writer, asked, frontend, random_image
from ...audit.verdicts import Verdict
from . import reading
from .conversion import write_resize
from .tflite_files import known

EXPORTERS: Mapping[str, Writer] = {
    "tf2onnx-tflite": Writer(title="tf2onnx", package="tf2onnx", kind=FileKind.ONNX, writer=f"{__name__}:by_tf2onnx"),
    "openvino-tflite": frontend("TFLite"),
}


def verdicts(path: Path) -> Iterator[dict[str, Verdict]]:
    """Yield the verdicts of all exporters on each resize of a file that can be read."""
    yield from map(_of_resize, known(path)[0])


def _of_resize(op: ResizeOp) -> dict[str, Verdict]:
    """Return the verdict of each installed exporter on a resize, by running it on random values.

    A size of run time becomes a constant that is half as large again.
    """
    with scratch() as folder:
        source = folder / "source.tflite"
        array = random_image(op.shape or (), op.dtype or "float32")
        spec = op.spec
        if isinstance(spec.target, AtRunTime):
            sizes = tuple(array.shape[axis] * 3 // 2 for axis in resolve_axes(spec.axes, array.ndim))
            spec = replace(spec, target=Sizes(sizes))
        write_resize(replace(op, spec=spec, shape=array.shape), source)
        [expected] = reading.outputs(source, [array])
        return asked(EXPORTERS, source, array, expected)


def by_tf2onnx(source: Path, array: Array, path: Path) -> None:
    """Write the ONNX model that tf2onnx makes of a file."""
    import tf2onnx

    tf2onnx.convert.from_tflite(str(source), opset=OPSET, output_path=str(path))
