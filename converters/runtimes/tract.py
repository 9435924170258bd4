"""tract: it computes ONNX's formulas in float32, and derives crops and align_corners from scales (0.23).

Source: ``onnx/src/ops/resize.rs``, ``onnx-opl/src/resize.rs`` and ``core/src/ops/nn/resize.rs`` of release 0.23.9.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace
from typing import assert_never

import numpy as np

from ir_interp.plan.formulas import AxisPlan
from ir_interp.resize_op import ResizeOp
from ir_interp.shapes import Array, resolve_axes
from ir_interp.specs import (
    Aspect,
    Coordinates,
    Crop,
    Cubic,
    IntegerRounding,
    Length,
    Nearest,
    ResizeSpec,
    Rounding,
    Scales,
    Sizes,
)

from .image_runtimes import NO_TIE, Floats, divided, of_type, read_outcome, ties_are_open
from .outcome import (
    PLAIN_COEFFICIENT,
    RESIZE_10,
    UPSAMPLE,
    Outcome,
    Reading,
    Surroundings,
    differs,
    geometry,
    refused,
    settled,
    unknown,
)
from .runtime import Accepted, Runner, Runtime

_COUNTED = range(11, 13)  # the operator sets whose roi and scales it finds by their place
_HELD = ("float32", "float16", "uint8", "int8")  # whose numbers its sums in float32 hold
_HALF = np.float32(0.5)
_OWN_ROUNDINGS = (Rounding.FLOOR, Rounding.ROUND_PREFER_CEIL)
_IN_ORDER = "its optimiser reads the entries as if axes were in order"


def outcome(op: ResizeOp, may_change: Set[int], stated: ResizeOp) -> Outcome:
    """Return the outcome of a node."""
    op = settled(op)
    if op.version in UPSAMPLE:
        return refused("Upsample is not supported")
    if op.dtype not in _HELD:
        return unknown(of_type(op))
    if isinstance(op.spec.kernel, Cubic) and op.spec.kernel.is_antialiased and "int" in op.dtype:
        return unknown("an antialiased cubic of integers, which onnxruntime clips after each axis")
    if isinstance(op.spec.kernel, Nearest) and op.attributes.get("exclude_outside"):
        return differs("its nearest returns 0 for an out-of-bounds pixel under exclude_outside")
    if _filters_single_output(op):
        return differs("it puts a single output at -1/2")
    # Before the readings: its optimiser rewrites such a node into another resize.
    if _orders_axes(op):
        return _in_order(op)
    result = read_outcome(op, (*([_ROUNDING_OF_10] if op.version == RESIZE_10 else []), *_readings(op)), _placed)
    if result.spec is not None and _filters_single(op.spec) and _may_be_single(op):
        return replace(result, provided=_NO_SINGLE)
    is_open = result.spec is not None and bool(may_change) and ties_are_open(op)
    return replace(result, provided=NO_TIE) if is_open else result


_NO_SINGLE = "no size becomes 1"
"""The condition of a dynamic node: see ``_filters_single_output``."""


def _may_be_single(op: ResizeOp) -> bool:
    """Return whether a dynamic axis may come to one output; sizes are decided by ``_filters_single_output``."""
    if geometry(op) is not None:
        return False
    if isinstance(op.spec.target, Scales):
        return min(op.spec.target.values, default=1) < 1
    return not isinstance(op.spec.target, Sizes) or op.spec.aspect is not Aspect.STRETCH


def _filters_single(spec: ResizeSpec) -> bool:
    """Return whether a single output would be a sum around the coordinate -1/2."""
    if spec.coordinates is not Coordinates.PYTORCH_HALF_PIXEL or isinstance(spec.kernel, Nearest):
        return False
    return isinstance(spec.kernel, Cubic) or spec.kernel.is_antialiased


def _readings(op: ResizeOp) -> tuple[Reading, ...]:
    by_scales = (_BY_SCALES, _CROPS_BY_SCALES)
    return (*by_scales, _OF_INTEGERS) if "int" in (op.dtype or "") else by_scales


def _orders_axes(op: ResizeOp) -> bool:
    """Return whether a node lists every axis, in another order, and has no attribute that prevents the optimisation."""
    spec, kernel, rank = op.spec, op.spec.kernel, len(op.shape or ())
    if isinstance(spec.coordinates, Crop):
        return False
    axes = resolve_axes(spec.axes, rank) if spec.axes is not None and rank else ()
    if len(axes) != rank or list(axes) == sorted(axes) or op.attributes.get("exclude_outside"):
        return False
    own_cubic = isinstance(kernel, Cubic) and kernel.a != PLAIN_COEFFICIENT
    return not (kernel.is_antialiased or own_cubic or spec.aspect is not Aspect.STRETCH)


def _in_order(op: ResizeOp) -> Outcome:
    """Return the outcome of entries that are read as those of every axis, in order: another shape is refused."""
    kernel, read = op.spec.kernel, replace(op, spec=replace(op.spec, axes=None))
    if isinstance(kernel, Nearest) and kernel.rounding not in _OWN_ROUNDINGS:
        return unknown("a nearest Resize of all axes in another order")  # its optimiser takes some of them only
    ends = [at.outputs if at else None for at in map(geometry, (op, read))]
    if None in ends:
        return unknown("a dynamic Resize of all axes in another order")
    if ends[0] != ends[1]:
        return refused(_IN_ORDER)
    prediction = read_outcome(read, _readings(op), _placed)
    return replace(prediction, reason=prediction.reason or _IN_ORDER)


def _filters_single_output(op: ResizeOp) -> bool:
    """Return whether an axis is known to have one output, whose coordinate -1/2 reaches more than the first pixel."""
    at, target = geometry(op), op.spec.target
    if not _filters_single(op.spec):
        return False
    if at is None and op.shape and isinstance(target, Sizes) and op.spec.aspect is Aspect.STRETCH:
        pairs = zip(resolve_axes(op.spec.axes, len(op.shape)), target.values, strict=True)
        return any(size == 1 and (op.shape[axis] or 1) > 1 for axis, size in pairs)
    return at is not None and any(at.outputs[axis] == 1 and at.in_sizes[axis] > 1 for axis in at.scaled)


def _placed(output: Floats, axis: AxisPlan, before: np.float32, after: np.float32) -> Floats:
    """Return the source coordinate in float32, in its order of operations."""
    scale, in_size = np.float32(float(axis.scale)), np.float32(axis.in_size)
    match axis.coordinates:
        case Coordinates.ALIGN_CORNERS:
            # It uses the fractional size here, which only scales make differ from the output size.
            last = scale * in_size
            return output * 0 if last == 1 else output * (in_size - 1) / (last - 1)
        case Coordinates.PYTORCH_HALF_PIXEL if axis.out_size == 1:
            return output * 0
        case Coordinates.HALF_PIXEL_SYMMETRIC:
            offset = in_size / 2 * (1 - np.float32(axis.out_size) / (scale * in_size))
            return offset + (output + _HALF) / scale - _HALF
        case Crop():
            (start, end), last = map(np.float32, axis.window), scale * in_size
            middle = output * 0 + _HALF * (start + end) * (in_size - 1)
            return middle if last == 1 else start * (in_size - 1) + output * (end - start) * (in_size - 1) / (last - 1)
        case (
            Coordinates.HALF_PIXEL
            | Coordinates.PYTORCH_HALF_PIXEL
            | Coordinates.ASYMMETRIC
            | Coordinates.TF_HALF_PIXEL_FOR_NN
            | Coordinates.TF_HALF_PIXEL_THROUGHOUT
            | Coordinates.TFLITE_CORNERS
        ):
            return divided(output, axis, before, after)
        case _:
            assert_never(axis.coordinates)


def _rounding(spec: ResizeSpec) -> ResizeSpec:
    is_nearest = isinstance(spec.kernel, Nearest)
    return replace(spec, kernel=Nearest(rounding=Rounding.ROUND_PREFER_FLOOR)) if is_nearest else spec


def _length(spec: ResizeSpec) -> ResizeSpec:
    by_scale = spec.gives_scales or spec.aspect is not Aspect.STRETCH
    counts = spec.coordinates is Coordinates.ALIGN_CORNERS and by_scale
    return replace(spec, length=Length.FRACTIONAL) if counts else spec


def _cropped_length(spec: ResizeSpec) -> ResizeSpec:
    by_scale = spec.gives_scales or spec.aspect is not Aspect.STRETCH
    return replace(spec, length=Length.FRACTIONAL) if isinstance(spec.coordinates, Crop) and by_scale else spec


def _cut_off(spec: ResizeSpec) -> ResizeSpec:
    return spec if isinstance(spec.kernel, Nearest) else replace(spec, integers=IntegerRounding.CUT_OFF)


_OF_INTEGERS = Reading("it truncates sums of integers", _cut_off)
_ROUNDING_OF_10 = Reading("it computes Resize-10 with round_prefer_floor, the default since opset 11", _rounding)
_BY_SCALES = Reading("its align_corners uses scale * size without rounding it", _length)
_CROPS_BY_SCALES = Reading("its crops use scale * size without rounding it", _cropped_length)


def among(op: ResizeOp, around: Surroundings) -> Outcome | None:
    """Return the refusal of a node in a body that it lacks, or in an If whose branches return other shapes."""
    loops = around.refused_in({"Loop"})
    if loops:
        return loops
    even = {body.is_even for body in around.bodies}
    if False in even:
        return refused("both branches of its If must return one shape")
    return unknown("an If whose branches return dynamic shapes") if None in even else None


def _run(model: str, x: Array) -> Array:
    import tract

    element = "bool" if x.dtype == bool else f"{x.dtype.kind}{8 * x.dtype.itemsize}"  # as in f32, u8
    loaded = tract.onnx().load(model)
    loaded.set_input_fact(0, ",".join([*map(str, x.shape), element]))
    (output,) = loaded.into_model().into_runnable().run([x])
    return np.array(output.to_numpy())


RUNTIME = Runtime(
    name="tract",
    title="tract",
    version="0.23",
    of_node=outcome,
    counts_inputs=_COUNTED,
    takes_functions=False,
    among=among,
    accepts=Accepted(),
    runner=Runner(package="tract", distribution="tract", run=_run),
)
