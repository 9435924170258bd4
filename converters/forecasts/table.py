"""What each runtime makes of an ONNX Resize or Upsample: what it refuses, and which resize it computes.

Tables and rules, each seen in the version that ``RUNTIMES`` names (docs/looking.md); TensorRT's are those of its
importer's source.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ir_interp.errors import InexactError, SpecError
from ir_interp.op import ResizeOp
from ir_interp.spec import (
    Area,
)
from ir_interp.translation.translate import write

from ..dialects.tensorrt import DIALECT
from ..onnx.resizes import FoundNode
from ..runtimes.openvino import OPENVINO_TYPES, plugin_problem
from ..runtimes.outcome import Forecast, differs, refused
from .forecast import Runtime
from .onnxruntime import onnxruntime
from .openvino import openvino_frontend, resized_axes
from .reference import reference
from .tensorrt import tensorrt_importer


def openvino_layer(op: ResizeOp) -> Forecast:
    """Return what OpenVINO's CPU plugin does with a layer of an IR."""
    if isinstance(op.spec.kernel, Area):
        return refused("no runtime executes mode area")
    if (op.dtype or "float32") not in OPENVINO_TYPES:
        return refused(f"Interpolate does not take {op.dtype}")
    rank, axes = len(op.shape or ()), resized_axes(op)
    if op.spec.pads and axes != set(range(rank - len(axes), rank)):
        return differs("the plugin lays pads around other axes, where those that it resizes are not the last")
    return plugin_problem(op, axes, full=op.spec.axes is None) or Forecast(spec=op.spec)


def onnxruntime_converted(op: ResizeOp) -> Forecast:
    """Return what onnxruntime does with what this program converts a layer to."""
    if isinstance(op.spec.kernel, Area):
        return refused("ONNX has no mode area")
    if op.shape is None:
        return refused("the rank of the input is unknown")
    return Forecast(spec=op.spec)


def tensorrt_layer(op: ResizeOp) -> Forecast:
    """Return what settings of a TensorRT layer make of a layer."""
    try:
        write(op.spec, DIALECT, shape=op.shape, dtype=op.dtype, name=op.name)
    except (InexactError, SpecError) as refusal:
        return refused(getattr(refusal, "reason", "") or str(refusal))
    return Forecast(spec=op.spec)


def openvino_converted(node: FoundNode) -> Forecast:
    """Return what OpenVINO does with what this program converts a node to."""
    from ..openvino.one_resize import one_op_model

    try:
        one_op_model(node.op)
    except (InexactError, SpecError) as refusal:
        return refused(getattr(refusal, "reason", "") or str(refusal))
    return Forecast(spec=node.op.spec)


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerRuntime:
    """A runtime of layers of an IR."""

    title: str
    version: str
    forecast: Callable[[ResizeOp], Forecast]


LAYER_RUNTIMES: Mapping[str, LayerRuntime] = {
    "openvino": LayerRuntime(title="OpenVINO", version="2026.4", forecast=openvino_layer),
    "onnxruntime": LayerRuntime(title="onnxruntime, converted here", version="1.31", forecast=onnxruntime_converted),
    "tensorrt": LayerRuntime(title="TensorRT, converted here", version="10", forecast=tensorrt_layer),
}
RUNTIMES: Mapping[str, Runtime] = {
    "onnxruntime": Runtime(title="onnxruntime", version="1.31", forecast=onnxruntime),
    "openvino": Runtime(title="OpenVINO, own frontend", version="2026.4", forecast=openvino_frontend),
    "openvino-converted": Runtime(title="OpenVINO, converted here", version="2026.4", forecast=openvino_converted),
    "tensorrt": Runtime(title="TensorRT's importer", version="10.1, by its source", forecast=tensorrt_importer),
    "reference": Runtime(title="ONNX reference", version="1.23", forecast=reference),
}
