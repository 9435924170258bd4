"""tract: it computes ONNX's formulas in float32, and counts a crop and align_corners by scales (0.23).

Source: ``onnx/src/ops/resize.rs``, ``onnx-opl/src/resize.rs`` and ``core/src/ops/nn/resize.rs`` of release 0.23.9.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.plan.axes.coordinates import AxisPlan
from ir_interp.resize_op import ResizeOp
from ir_interp.spec import Coordinates, Crop, Cubic, Length, Nearest, ResizeSpec, Rounding

from ..image_runtimes import FLOATS_ONLY, RESIZE_10, UPSAMPLE, Floats, Reading, divided, read_outcome
from ..node_geometry import geometry
from ..outcome import Outcome, differs, refused, unknown
from . import OtherRuntime

_COUNTED = range(11, 13)  # the operator sets whose roi and scales it finds by their place
_HALF = np.float32(0.5)


def outcome(op: ResizeOp, may_change: Set[int]) -> Outcome:
    """Return what comes of a node."""
    if op.version in UPSAMPLE:
        return refused("it has no Upsample")
    if op.dtype != "float32":
        return unknown(FLOATS_ONLY.format(op.dtype or "an unknown element type"))
    if isinstance(op.spec.coordinates, Crop):
        return unknown("a crop")
    if isinstance(op.spec.kernel, Nearest) and op.attributes.get("exclude_outside"):
        return differs("its nearest makes 0 of a pixel outside the image under exclude_outside")
    if _filters_single_output(op):
        return differs("it puts a single output at -1/2")
    readings = (_ROUNDING_OF_10, _BY_SCALES) if op.version == RESIZE_10 else (_BY_SCALES,)
    return read_outcome(op, readings, _placed)


def _filters_single_output(op: ResizeOp) -> bool:
    """Say whether an axis has, or may have, one output that more than the first pixel makes from -1/2."""
    kernel, at = op.spec.kernel, geometry(op)
    if op.spec.coordinates is not Coordinates.PYTORCH_HALF_PIXEL or isinstance(kernel, Nearest):
        return False
    weighs_more = isinstance(kernel, Cubic) and not kernel.exclude_outside
    if not weighs_more and not kernel.is_antialiased:
        return False
    return at is None or any(at.outputs[axis] == 1 and at.lengths[axis] > 1 for axis in at.scaled)


def _placed(output: Floats, axis: AxisPlan, before: np.float32, after: np.float32) -> Floats:
    """Return the source coordinate in float32, in its order of operations."""
    scale, length = np.float32(float(axis.scale)), np.float32(axis.in_size)
    match axis.coordinates:
        case Coordinates.ALIGN_CORNERS:
            last = scale * length
            return output * 0 if last == 1 else output * (length - 1) / (last - 1)
        case Coordinates.PYTORCH_HALF_PIXEL if axis.out_size == 1:
            return output * 0
        case Coordinates.HALF_PIXEL_SYMMETRIC:
            offset = length / 2 * (1 - np.float32(axis.out_size) / (scale * length))
            return offset + (output + _HALF) / scale - _HALF
        case _:
            return divided(output, axis, before, after)


def _rounding(spec: ResizeSpec) -> ResizeSpec:
    is_nearest = isinstance(spec.kernel, Nearest)
    return replace(spec, kernel=Nearest(rounding=Rounding.ROUND_PREFER_FLOOR)) if is_nearest else spec


def _length(spec: ResizeSpec) -> ResizeSpec:
    counts = spec.coordinates is Coordinates.ALIGN_CORNERS and spec.gives_scales
    return replace(spec, length=Length.FRACTIONAL) if counts else spec


_ROUNDING_OF_10 = Reading("it takes round_prefer_floor, the default since operator set 11, for Resize-10", _rounding)
_BY_SCALES = Reading("its align_corners spans scale * length, which is no whole number", _length)


def _run(model: str, x: NDArray[Any]) -> NDArray[Any]:
    import tract

    elements = {"float32": "f32", "float16": "f16", "float64": "f64", "int8": "i8", "uint8": "u8", "int32": "i32"}
    loaded = tract.onnx().load(model)
    loaded.set_input_fact(0, ",".join([*map(str, x.shape), elements[x.dtype.name]]))
    (made,) = loaded.into_model().into_runnable().run([x])
    return np.asarray(made.to_numpy())


RUNTIME = OtherRuntime(
    name="tract",
    title="tract",
    version="0.23",
    package="tract",
    distribution="tract",
    counts_inputs=_COUNTED,
    outcome=outcome,
    run=_run,
)
