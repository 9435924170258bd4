"""Predictions for the results of this program's conversions, obtained from the writers themselves."""

from __future__ import annotations

from collections.abc import Callable

from ir_interp.errors import InexactError, SpecError
from ir_interp.resize_op import ResizeOp
from ir_interp.translation.translate import write

from ..dialects.tensorrt import DIALECT as TENSORRT
from ..runtimes.outcome import Outcome, computes, refused


def openvino(op: ResizeOp) -> Outcome:
    """Return how OpenVINO computes the IR that this program writes for a resize."""
    from ..openvino.single_layer import interpolate_model

    return _written(op, interpolate_model)


def onnxruntime(op: ResizeOp) -> Outcome:
    """Return how onnxruntime computes the ONNX model that this program writes for a resize."""
    from ..onnx.single_node import resize_model

    return _written(op, resize_model)


def tensorrt(op: ResizeOp) -> Outcome:
    """Return how TensorRT computes a resize by the settings of a layer."""
    return _written(op, lambda op: write(op.spec, TENSORRT, shape=op.shape, dtype=op.dtype, name=op.name))


def _written(op: ResizeOp, writer: Callable[[ResizeOp], object]) -> Outcome:
    try:
        writer(op)
    except (InexactError, SpecError) as refusal:
        return refused(getattr(refusal, "reason", "") or str(refusal))
    return computes(op.spec)
