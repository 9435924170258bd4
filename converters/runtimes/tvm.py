"""TVM, by the ONNX frontend of Relax: it resizes by the ratio of sizes (0.27)."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace
from typing import Any, assert_never

import numpy as np

from ir_interp.plan.formulas import AxisPlan
from ir_interp.resize_op import ResizeOp
from ir_interp.shapes import Array
from ir_interp.specs import Aspect, AtRunTime, Coordinates, Crop, Cubic, Nearest, Rounding, Scales, Sizes

from .image_runtimes import (
    ALL_TYPES,
    HEIGHT_AND_WIDTH,
    NO_TIE,
    Floats,
    has_weights_of,
    image_outcome,
    is_longer_in_singles,
    of_last_two,
    read_outcome,
    to_pixels,
)
from .outcome import (
    BY_RATIO,
    FLOOR,
    NO_ANTIALIAS,
    UPSAMPLE_7,
    Outcome,
    Reading,
    Surroundings,
    differs,
    geometry,
    refused,
    resized,
    settled,
    sure_axes,
    unknown,
)
from .runtime import Accepted, Runner, Runtime

_NO_NUMBER = "it returns NaN if align_corners resizes a dynamic dimension to 1"
_SEVERAL = "align_corners gives no size of 1, which becomes NaN"
# Added before it rounds, so that float32 errors at integers make no difference to floor and ceil.
_ROOM = np.float32(1e-5)
_FLOOR_OF_DYNAMIC = "a floor under asymmetric to stored sizes is not supported if height or width is dynamic"
_LAST_TWO = Reading("it resizes the last two axes only", of_last_two)
_RANK, _WHOLE, _HALF = 4, (0.0, 1.0), np.float32(0.5)
_RESIZE_WITH_SIZES = 11
_LEAVES_OUT = 13  # since this operator set exporters leave out scales; before, they give empty ones


def outcome(op: ResizeOp, may_change: Set[int], stated: ResizeOp) -> Outcome:
    """Return the outcome of a node."""
    reason = _refusal(stated)
    if reason:
        return refused(reason)
    at = geometry(settled(op))
    moves = at is None or any(at.in_sizes[axis] > 1 for axis in at.changing)  # a single pixel is taken wherever it is
    if op.version == UPSAMPLE_7 and isinstance(op.spec.kernel, Nearest) and moves:
        return differs("its Upsample-7 rounds nearest positions, where others round down")
    # Sizes come first: if they differ, no reading of the pixels matters.
    if op.version == UPSAMPLE_7 and is_longer_in_singles(op):
        return differs("it multiplies sizes and scales exactly")
    if _divides_by_0(op):
        return differs(_NO_NUMBER)
    if isinstance(op.spec.coordinates, Crop):
        result = _of_crop(op, may_change, op.spec.coordinates)
    else:
        readings = (FLOOR, BY_RATIO, NO_ANTIALIAS)
        result = image_outcome(op, may_change, readings, rounded=_pixels, dtypes=ALL_TYPES)
    if result.spec is not None and _divides_by_0(op) is None:
        result = replace(result, provided=" and ".join(filter(None, (result.provided, _SEVERAL))))
    # A cubic overshoots, and its integers are cut to their lowest bits.
    wraps = isinstance(op.spec.kernel, Cubic) and "int" in (op.dtype or "")
    if wraps and result.spec is not None and not has_weights_of(op, result.spec, 0):
        may_copy = geometry(op) is None and not sure_axes(op)
        conditions = (result.provided, "a size changes" if may_copy else "")
        return differs("its cubic wraps integers around", " and ".join(filter(None, conditions)))
    return result


def _refusal(op: ResizeOp) -> str:
    if op.version < _RESIZE_WITH_SIZES and op.version != UPSAMPLE_7:
        return "its importer does not support Upsample-9 and Resize-10"
    if op.version == UPSAMPLE_7:
        is_dynamic, others = None in (op.shape or ()), resized(op) - HEIGHT_AND_WIDTH
        return (
            "its Upsample-7 supports neither dynamic dimensions nor axes other than 2 and 3"
            if is_dynamic or others
            else ""
        )
    if isinstance(op.spec.coordinates, Crop) and 1 in _cropped_sizes(op):
        return "a crop to a size of 1 divides by 0"
    if op.spec.target is AtRunTime.SIZES:
        return "sizes at run time are not supported"
    if op.attributes.get("axes") is not None:
        return "axes are not supported"
    if op.spec.coordinates is Coordinates.HALF_PIXEL_SYMMETRIC:
        return "half_pixel_symmetric is not supported"
    if isinstance(op.spec.target, Sizes) and op.version < _LEAVES_OUT:
        return "it refuses empty scales beside sizes"
    return _shortened(op)


def _of_crop(op: ResizeOp, may_change: Set[int], crop: Crop) -> Outcome:
    """Return the outcome of a crop: it takes the windows of height and width, and no others."""
    uncropped = replace(op.spec, coordinates=Coordinates.ASYMMETRIC)
    at = geometry(replace(op, spec=uncropped))
    is_extrapolated = "int" in (op.dtype or "") and crop.extrapolation != 0
    if at is None or len(at.outputs) != _RANK or op.dtype not in ALL_TYPES or is_extrapolated:
        return unknown("a crop of a dynamic image, of another rank than 4, or of integers with an extrapolation value")
    if op.spec.aspect is not Aspect.STRETCH:
        return unknown("a keep_aspect_ratio_policy")
    others = [axis for axis in range(_RANK) if axis not in HEIGHT_AND_WIDTH]
    crops_others = crop.roi is not None and any(crop.roi[axis] != _WHOLE for axis in others)
    readings = [_LAST_TWO, NO_ANTIALIAS] if crops_others or may_change - HEIGHT_AND_WIDTH else [NO_ANTIALIAS]
    result = read_outcome(op, readings, _cropped, _pixels)
    if crop.roi is not None or result.spec is None:
        return result
    ties = [NO_TIE] if isinstance(op.spec.kernel, Nearest) else []
    return replace(result, provided=" and ".join(["the windows of batch and channels are whole", *ties]))


def _cropped(output: Floats, axis: AxisPlan, before: np.float32, after: np.float32) -> Floats:
    """Return the source coordinate in float32, in its order of operations."""
    (start, end), last = map(np.float32, axis.window), np.float32(axis.in_size - 1)
    if axis.out_size == 1:
        return output * 0 + _HALF * (start + end) * last
    return start * last + output * (end - start) * last / np.float32(axis.out_size - 1)


def _cropped_sizes(op: ResizeOp) -> tuple[int, ...]:
    """Return height and width of a crop of static shape."""
    at = geometry(replace(op, spec=replace(op.spec, coordinates=Coordinates.ASYMMETRIC)))
    return at.outputs[-2:] if at else ()


def _pixels(at: Floats, rounding: Rounding) -> Array:
    """Return pixels: floor and ceil tolerate some float32 rounding."""
    match rounding:
        case Rounding.FLOOR:
            return to_pixels(at + _ROOM, rounding)
        case Rounding.CEIL:
            return to_pixels(at - _ROOM, rounding)
        case Rounding.ROUND_PREFER_FLOOR | Rounding.ROUND_PREFER_CEIL | Rounding.SIMPLE:
            return to_pixels(at, rounding)
        case _:
            assert_never(rounding)


def _divides_by_0(op: ResizeOp) -> bool | None:
    """Return whether align_corners gives a size of 1; None if run time decides."""
    if op.spec.coordinates is not Coordinates.ALIGN_CORNERS or isinstance(op.spec.kernel, Nearest):
        return False
    at, target = geometry(settled(op)), op.spec.target
    if at is not None:
        return 1 in at.outputs[-2:]
    if isinstance(target, Sizes):  # those of 1 are refused
        return False
    scales = target.values[-2:] if isinstance(target, Scales) else (1.0, 1.0)
    # A dynamic dimension is at least 1, so this is the smallest size that it may get.
    least = (int((in_size or 1) * scale) for in_size, scale in zip((op.shape or ())[-2:], scales, strict=True))
    return None if 1 in least else False


def _shortened(op: ResizeOp) -> str:
    """Return why a formula is refused that is simplified when it is compiled."""
    at, target, corners = geometry(settled(op)), op.spec.target, op.spec.coordinates is Coordinates.ALIGN_CORNERS
    sizes = target.values[-2:] if isinstance(target, Sizes) else at.outputs[-2:] if at else ()
    if corners and 1 in sizes:
        return "align_corners to a size of 1 divides by 0"
    if None not in (op.shape or ())[-2:]:
        return ""
    if isinstance(op.spec.kernel, Nearest):
        is_floor = op.spec.kernel.rounding is Rounding.FLOOR and op.spec.coordinates is Coordinates.ASYMMETRIC
        return _FLOOR_OF_DYNAMIC if is_floor and isinstance(target, Sizes) else ""
    scales = target.values[-2:] if isinstance(target, Scales) else ()
    if 1 in scales and (corners or op.spec.coordinates is Coordinates.ASYMMETRIC):
        return "a scale of 1 is not supported under asymmetric or align_corners if height or width is dynamic"
    return (
        "a size of 2 is not supported under align_corners if height or width is dynamic"
        if corners and 2 in sizes
        else ""
    )


def among(op: ResizeOp, around: Surroundings) -> Outcome | None:
    """Return the refusal of a node in a body that it lacks."""
    return around.refused_in({"Loop", "Scan"})


def _run(model: str, x: Array) -> Array:
    import onnx
    import tvm
    from tvm import relax
    from tvm.relax.frontend.onnx import from_onnx

    built = tvm.compile(from_onnx(onnx.load(model), keep_params_in_input=False), target="llvm")
    machine = relax.VirtualMachine(built, tvm.cpu())
    output: Any = machine["main"](tvm.runtime.tensor(x))
    return np.array((output if hasattr(output, "numpy") else output[0]).numpy())


RUNTIME = Runtime(
    name="tvm",
    title="TVM",
    version="0.27",
    of_node=outcome,
    takes_functions=False,
    among=among,
    accepts=Accepted(measures=False),
    runner=Runner(package="tvm", distribution="apache-tvm", run=_run, also=("onnx",)),
)
