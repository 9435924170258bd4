"""LiteRT: it computes the resizes of TFLite files (2.3), on processors where XNNPACK runs, except some long copies.

8-bit bilinear resizes to constant sizes are XNNPACK's, others those of its own kernels:
``ir_interp/plan/library_weights.py`` has both.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ir_interp.plan import library_weights
from ir_interp.plan.formulas import AxisPlan
from ir_interp.plan.library_weights import is_of_xnnpack
from ir_interp.plan.taps import plan
from ir_interp.resize_op import ResizeOp
from ir_interp.shapes import Array, static_shape
from ir_interp.specs import Coordinates, Linear, Nearest

from .image_runtimes import Floats, read_outcome
from .outcome import Outcome, computes, differs, unknown
from .runtime import Runner, Runtime

_OTHER_PIXELS, _BEYOND = "lead to other pixels", "lead beyond the image, where it reads what lies there"
# Bytes are copied at steps in units of 2**-16.
_BYTES, _FIXED = ("uint8", "int8"), 2**16
_INTEGERS = (*_BYTES, "int16")
_TYPES = ("float32", *_INTEGERS)


def outcome(op: ResizeOp) -> Outcome:
    """Return the outcome of an operator."""
    if (op.dtype or "float32") not in _TYPES:
        return unknown(f"a resize of {op.dtype}")
    spec, shape = op.spec, None if op.spec.waits else static_shape(op.shape)
    if copies_by_fixed_steps(op):
        is_same, reason = read_outcome(op, (), _by_fixed_steps).spec is not None, _OTHER_PIXELS
    elif op.dtype in _INTEGERS and isinstance(spec.kernel, Linear) and not is_of_xnnpack(spec, op.dtype):
        is_same = shape is None or not any(
            library_weights.litert_reads_beyond(spec, axis) for axis in plan(spec, shape).axes
        )
        reason = _BEYOND
    else:
        return computes(spec)
    if not is_same:
        return differs(f"its rounded steps {reason}")
    return computes(spec, provided="" if shape else f"no output is so long that rounded steps {reason}")


def copies_by_fixed_steps(op: ResizeOp) -> bool:
    """Return whether an operator copies bytes, at steps in 2^-16."""
    is_plain = isinstance(op.spec.kernel, Nearest) and op.spec.coordinates is Coordinates.ASYMMETRIC
    return op.dtype in _BYTES and is_plain


def fixed_pixels(axis: AxisPlan) -> NDArray[np.int64]:
    """Return the source pixel of each output of an operator that copies bytes."""
    pixels: NDArray[np.int64] = axis.index.astype(np.int64) * _fixed_step(axis) // _FIXED
    return np.minimum(pixels, axis.in_size - 1)


def _fixed_step(axis: AxisPlan) -> int:
    """Return a step in 2^-16, which is rounded up."""
    return axis.in_size * _FIXED // axis.out_size + 1  # by optimized_ops.h; whole steps too become 1 longer


def _by_fixed_steps(output: Floats, axis: AxisPlan, before: np.float32, after: np.float32) -> Floats:
    return (output.astype(np.int64) * _fixed_step(axis) // _FIXED).astype(np.float32)


def _run(model: str, x: Array) -> Array:
    from ai_edge_litert.interpreter import Interpreter

    net = Interpreter(model_path=model, num_threads=1)
    net.allocate_tensors()
    net.set_tensor(net.get_input_details()[0]["index"], x)
    net.invoke()
    return np.array(net.get_tensor(net.get_output_details()[0]["index"]))


RUNTIME = Runtime(
    name="litert",
    title="LiteRT",
    version="2.3",
    is_asked=True,
    of_operator=outcome,
    runner=Runner(package="ai_edge_litert", distribution="ai-edge-litert", run=_run),
)
