"""OpenVINO's Interpolate of a PrePostProcessor as ONNX nodes: a Resize that computes the same, or its taps."""

from __future__ import annotations

from ir_interp.errors import InexactError
from ir_interp.pipelines.openvino_steps import Interpolate

from ..onnx.onnx_primitives import NodeTensor
from ..onnx.resize_subgraph import resized

_CHANNELS = 3


def interpolated(
    step: Interpolate, x: NodeTensor, size: tuple[int, int] | None, *, is_batch: bool, for_openvino: bool
) -> NodeTensor:
    """Return an image [height, width, channels], or a batch [height, width, batch, channels], resized by a step.

    ``size`` is its height and width, None if known only at run time. Raises InexactError for sums of uint8, and for an
    IR, which keeps the layer itself.
    """
    if for_openvino:
        reason = "an IR holds the layer itself: use the model with its PrePostProcessor"
        raise InexactError(step.text, "nodes for OpenVINO", reason=reason)
    if not step.is_float and step.mode != "nearest":
        reason = "OpenVINO rounds sums of uint8 in a way of its own; expected a Convert to f32 before the resize"
        raise InexactError(step.text, "ONNX nodes", reason=reason)
    y = x.cast("float32") if step.is_float else x
    y = y.transposed(2, 0, 1, 3) if is_batch else y.unsqueeze(0)
    shape: tuple[int | None, ...] = (None if is_batch else 1, *(size or (None, None)), _CHANNELS)
    if step.layout == "nchw":
        y, shape = y.transposed(0, 3, 1, 2), (shape[0], shape[3], shape[1], shape[2])
    y = y.like(resized(y.ops.graph, step.op(shape, y.dtype), str(y.value), "")[0])
    y = y.transposed(0, 2, 3, 1) if step.layout == "nchw" else y
    return y.transposed(1, 2, 0, 3) if is_batch else y.take(0, 0)
