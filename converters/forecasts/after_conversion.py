"""What runtimes make of what this program converts a resize to: the writers themselves are asked."""

from __future__ import annotations

from collections.abc import Callable

from ir_interp.errors import InexactError, SpecError
from ir_interp.resize_op import ResizeOp
from ir_interp.translation.translate import write

from ..dialects.tensorrt import DIALECT as TENSORRT
from ..runtimes.outcome import Outcome, computes, refused


def openvino(op: ResizeOp) -> Outcome:
    """Return what OpenVINO does with the IR that this program makes of a resize."""
    from ..openvino.single_layer import interpolate_model

    return _written(op, interpolate_model)


def onnxruntime(op: ResizeOp) -> Outcome:
    """Return what onnxruntime does with the ONNX model that this program makes of a resize."""
    from ..onnx.single_node import resize_model

    return _written(op, resize_model)


def tensorrt(op: ResizeOp) -> Outcome:
    """Return what settings of a TensorRT layer make of a resize."""
    return _written(op, lambda op: write(op.spec, TENSORRT, shape=op.shape, dtype=op.dtype, name=op.name))


def _written(op: ResizeOp, writer: Callable[[ResizeOp], object]) -> Outcome:
    try:
        writer(op)
    except (InexactError, SpecError) as refusal:
        return refused(getattr(refusal, "reason", "") or str(refusal))
    return computes(op.spec)
