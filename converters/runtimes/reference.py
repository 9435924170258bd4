"""ONNX's reference implementation, ``onnx.reference``: the nodes that it accepts, and its results (1.23)."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, assert_never

import numpy as np
from numpy.typing import NDArray

from ir_interp.plan.formulas import AxisPlan
from ir_interp.plan.taps import plan
from ir_interp.resize_op import ResizeOp
from ir_interp.shapes import Array
from ir_interp.specs import (
    Arithmetic,
    Aspect,
    Coordinates,
    Crop,
    Cubic,
    Kernel,
    Length,
    Nearest,
    ResizeSpec,
    Rounding,
    Scales,
)

from .image_runtimes import Floats, read_outcome
from .outcome import (
    Geometry,
    Kind,
    Outcome,
    Reading,
    Surroundings,
    computes,
    differs,
    geometry,
    refused,
    resized,
    sure_axes,
)
from .runtime import Runner, Runtime

_DEQUANTISES = 19  # its first operator set with a DequantizeLinear
_HALF = 0.5
_ERRS = "its float64 moves a position across an integer or a half"
_NO_ERROR = "its float64 moves no position across an integer or a half"
_MOST_OUTPUTS = 2**22  # of an axis, whose positions are computed: an image has fewer, and a hostile file names any size


def outcome(op: ResizeOp) -> Outcome:
    """Return the outcome of a node. ``op.attributes`` are those of the node."""
    if op.version in (7, 10):
        return refused(f"{'Upsample-7' if op.version == 7 else 'Resize-10'} is not supported")
    if op.version == 9:
        return _upsample(op)
    if op.spec.coordinates is Coordinates.TF_HALF_PIXEL_FOR_NN and resized(op):
        return refused("tf_half_pixel_for_nn is not supported", "" if sure_axes(op) else "a size changes")
    if min(op.spec.axes or (0,)) < 0:
        return refused("negative axes are not supported")
    if op.dtype in ("bool", "str"):
        return refused(f"it does not resize {op.dtype}")
    # It multiplies by the scale in align_corners and crops (onnx issue 2462), in float64.
    spec = replace(op.spec, length=Length.FRACTIONAL, arithmetic=Arithmetic.EXACT)
    at = geometry(op)
    if at is None:
        may_err = spec.coordinates is Coordinates.HALF_PIXEL_SYMMETRIC or not spec.gives_scales
        return computes(spec, provided=_NO_ERROR if may_err else "")
    result = _single_output(spec, at) if spec.coordinates is Coordinates.PYTORCH_HALF_PIXEL else computes(spec)
    return result if result.spec is None else _in_doubles(op, result.spec, result.reason, at)


def _in_doubles(op: ResizeOp, spec: ResizeSpec, reason: str, at: Geometry) -> Outcome:
    """Return the outcome of a node of static shape that is read as ``spec``: float64 rounds its positions."""
    axes = plan(spec, at.in_sizes).axes
    if max((axis.out_size for axis in axes), default=0) > _MOST_OUTPUTS:
        return computes(spec, reason, _NO_ERROR)
    if isinstance(spec.kernel, Nearest):
        read = read_outcome(op, [Reading(reason, lambda _: spec)], _place, _pixels)
        return read if read.spec is not None else differs(_ERRS)
    starts_early = any(_starts_early(axis, spec.kernel) for axis in axes)
    return differs(_ERRS) if starts_early else computes(spec, reason)


def among(op: ResizeOp, around: Surroundings) -> Outcome | None:
    """Return the outcome of a node behind a DequantizeLinear or in a Loop that it computes otherwise, or refuses."""
    if around.levels and op.version < _DEQUANTISES:
        return refused(f"it has no DequantizeLinear before operator set {_DEQUANTISES}")
    joins = any(body.operator == "Loop" and body.stacks for body in around.bodies)
    if not joins or len(op.shape or ()) == 1 or outcome(op).kind is Kind.REFUSED:
        return None
    return differs("its Loop joins the results of iterations along their first axis, and does not stack them")


def _starts_early(axis: AxisPlan, kernel: Kernel) -> bool:
    """Return whether the window of an output starts a pixel early.

    Outside pixels repeat those of the edge, so that a start before the first pixel makes no difference, unless outside
    pixels are excluded; nor does one beyond the last pixel.
    """
    places = _places(axis)
    excludes = isinstance(kernel, Cubic) and kernel.exclude_outside
    is_exposed = (places >= (0 if excludes else 1)) & (places < axis.in_size)
    return bool((_are_early(places, _margin(kernel, float(axis.scale))) & is_exposed).any())


def _are_early(places: Array, margin: int) -> NDArray[np.bool_]:
    """Return which positions lie above an integer only without the margin, which rounds their sum."""
    below = np.floor(places)
    return np.asarray((places > below) & (places + margin == below + margin))


def _place(outputs: Floats, axis: AxisPlan, before: np.float32, after: np.float32) -> Array:
    return _places(axis)


def _pixels(at: Array, rounding: Rounding) -> Array:
    """Return the pixels of a nearest resize."""
    below = np.floor(at)
    return np.asarray(below + _nearest(at - below, rounding) - _are_early(at, 1))


def _nearest(ratio: NDArray[np.float64], rounding: Rounding) -> NDArray[np.bool_]:
    """Return which positions take the pixel behind the one before them, by their distance from that."""
    match rounding:
        case Rounding.ROUND_PREFER_FLOOR | Rounding.SIMPLE:
            return ratio > _HALF
        case Rounding.ROUND_PREFER_CEIL:
            return ratio >= _HALF
        case Rounding.FLOOR:
            return np.zeros(ratio.shape, np.bool_)
        case Rounding.CEIL:
            return ratio > 0
        case _:
            assert_never(rounding)


def _margin(kernel: Kernel, scale: float) -> int:
    """Return how many pixels it puts before the image: half of those that it weighs."""
    radius = 2 if isinstance(kernel, Cubic) else 1
    return math.ceil(radius / min(scale, 1.0)) if kernel.is_antialiased else radius


def _places(axis: AxisPlan) -> NDArray[np.float64]:
    """Return the source positions of outputs in float64, in its order of operations."""
    outputs, scale = axis.index.astype(np.float64), float(axis.scale)
    in_size, out_size = axis.in_size, scale * axis.in_size
    match axis.coordinates:
        case Coordinates.ALIGN_CORNERS:
            return outputs * 0 if out_size == 1 else outputs * (in_size - 1) / (out_size - 1)
        case Coordinates.ASYMMETRIC:
            return outputs / scale
        case Coordinates.PYTORCH_HALF_PIXEL if out_size == 1:
            return outputs * 0 - _HALF
        case Coordinates.HALF_PIXEL | Coordinates.PYTORCH_HALF_PIXEL:
            return (outputs + _HALF) / scale - _HALF
        case Coordinates.HALF_PIXEL_SYMMETRIC:
            return in_size / 2 * (1 - axis.out_size / out_size) + (outputs + _HALF) / scale - _HALF
        case Crop():
            start, end = map(np.float32, axis.window)
            middle = np.full_like(outputs, (end - start) * (in_size - 1) / 2)
            moved = middle if out_size == 1 else outputs * (end - start) * (in_size - 1) / (out_size - 1)
            return moved + start * (in_size - 1)
        case (
            Coordinates.TF_HALF_PIXEL_FOR_NN | Coordinates.TF_HALF_PIXEL_THROUGHOUT | Coordinates.TFLITE_CORNERS
        ) as other:
            raise AssertionError(other)  # refused, or never those of a node
        case _:
            assert_never(axis.coordinates)


def _upsample(op: ResizeOp) -> Outcome:
    target = op.spec.target
    whole = isinstance(target, Scales) and all(float(scale).is_integer() for scale in target.values)
    if not isinstance(op.spec.kernel, Nearest) or not whole:
        return refused("its Upsample supports nearest and integral scales only")
    return computes(replace(op.spec, arithmetic=Arithmetic.EXACT))


def _single_output(spec: ResizeSpec, at: Geometry) -> Outcome:
    """Return the outcome of an axis with a single output: it lies at -1/2, or is not noticed under a fraction."""
    filtered = isinstance(spec.kernel, Cubic) or spec.kernel.is_antialiased
    single = [axis for axis in at.scaled if at.outputs[axis] == 1]
    stretched = spec.gives_sizes and spec.aspect is Aspect.STRETCH
    if single and not stretched and all(at.scales[axis] * at.in_sizes[axis] != 1 for axis in single):
        return computes(replace(spec, coordinates=Coordinates.HALF_PIXEL), "it misses a single output")
    return differs("it puts a single output at -1/2") if single and filtered else computes(spec)


def _run(model: str, x: Array) -> Array:
    import onnx
    import onnx.reference

    loaded = onnx.load(model)
    results: Any = onnx.reference.ReferenceEvaluator(loaded).run(None, {loaded.graph.input[0].name: x})
    return np.asarray(results[0])


RUNTIME = Runtime(
    name="reference",
    title="ONNX reference",
    version="1.23",
    is_asked=True,
    alone=outcome,
    takes_functions=True,
    among=among,
    runner=Runner(package="onnx", distribution="onnx", run=_run),
)
