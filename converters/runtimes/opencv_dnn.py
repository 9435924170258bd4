"""OpenCV's DNN module: it resizes by the ratio of sizes, and ignores unknown attributes (5.0)."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import replace
from typing import assert_never

import numpy as np

from ir_interp.resize_op import ResizeOp
from ir_interp.shapes import Array
from ir_interp.specs import Coordinates, Crop, Linear, ResizeSpec, Rounding, Scales

from .image_runtimes import ALL_TYPES, Floats, crop_or_policy, image_outcome, in_doubles, of_last_two, to_pixels
from .outcome import (
    BY_RATIO,
    FLOOR,
    HALF_PIXEL_OF_10,
    NO_ANTIALIAS,
    NO_SYMMETRIC,
    RESIZE_10,
    UPSAMPLE,
    UPSAMPLE_7,
    Geometry,
    Outcome,
    Reading,
    computes,
    copying,
    differs,
    geometry,
    refused,
    settled,
    unknown,
)
from .runtime import Accepted, Runner, Runtime

_NEAR_A_HALF = 1e-6  # in pixels
_NO_AXES = "axes are not supported"
_COPIED = "it copies if neither height nor width changes"
_HEIGHT = 2
_RANK = 4


def outcome(op: ResizeOp, may_change: Set[int], stated: ResizeOp) -> Outcome:
    """Return the outcome of a node."""
    if isinstance(op.spec.coordinates, Crop):
        return _of_crop(op, op.spec.coordinates)
    return _of_stretch(op, may_change, (BY_RATIO,))


def with_computed_scales(op: ResizeOp, may_change: Set[int], stated: ResizeOp) -> Outcome:
    """Return the outcome of a node whose scales nodes compute: its importers read them at different times."""
    if op.version > RESIZE_10:
        return refused("it needs scales that are stored, not computed by nodes")
    return _of_stretch(op, may_change, () if op.version == RESIZE_10 else (BY_RATIO,))


def _of_crop(op: ResizeOp, crop: Crop) -> Outcome:
    if crop.roi is not None:
        return refused("crops are not supported")
    # Windows of run time pass its check for crops.
    if len(op.shape or ()) != _RANK or crop_or_policy(replace(op, spec=_stretched(op))):
        return unknown(crop_or_policy(op))
    is_listed, gives_scales = op.attributes.get("axes") is not None, op.attributes.get("scales") is not None
    if is_listed:
        return unknown("a crop of listed axes by scales") if gives_scales else refused(_NO_AXES)
    at = _of_image(op)
    if at is not None and not at.changing:
        return computes(copying(op.spec), _COPIED)
    reason = "it crops height and width to the windows of the batch and the channels"
    return differs(reason, "" if at is not None else "height or width changes")


def _of_stretch(op: ResizeOp, may_change: Set[int], scales: Sequence[Reading]) -> Outcome:
    """Return the outcome of a node that is no crop, whose scales are read in this way."""
    reason = _refusal(op)
    if reason:
        return refused(reason)
    if op.spec.coordinates is Coordinates.TF_HALF_PIXEL_FOR_NN and op.dtype in ALL_TYPES and _copies(op):
        return computes(copying(op.spec), _COPIED)  # the coordinates would move an axis that alone keeps its size
    roundings = (HALF_PIXEL_OF_10,) if op.version == RESIZE_10 else (FLOOR,)
    place = in_doubles if op.version in UPSAMPLE else None
    # The order matters: a reading sees the resize as the one before left it.
    readings = (*roundings, *scales, NO_ANTIALIAS, NO_SYMMETRIC)
    result = image_outcome(op, may_change, readings, place, _pixels, dtypes=ALL_TYPES)
    if result.spec is None or not isinstance(result.spec.kernel, Linear):
        return result
    if _is_a_row(op):
        return differs("its linear reads beyond an image of height 1, and the result varies from run to run")
    is_open = op.shape is not None and op.shape[_HEIGHT] is None
    return replace(result, but_for="images of height 1, where its linear reads out of bounds") if is_open else result


def _refusal(op: ResizeOp) -> str:
    if op.attributes.get("axes") is not None:
        return _NO_AXES
    if op.version not in UPSAMPLE:
        return ""
    if isinstance(op.spec.kernel, Linear):
        return "a linear Upsample is not supported"
    scales = op.spec.target.values if isinstance(op.spec.target, Scales) else ()
    is_fractional = any(not scale.is_integer() for scale in scales[_HEIGHT:])
    return "its Upsample-7 supports integral scales only" if op.version == UPSAMPLE_7 and is_fractional else ""


def _copies(op: ResizeOp) -> bool:
    """Return whether an image keeps its height and width."""
    at = _of_image(op)
    return at is not None and not at.changing


def _of_image(op: ResizeOp) -> Geometry | None:
    """Return the geometry of height and width; None if it is unknown."""
    if op.shape is None or len(op.shape) != _RANK:
        return None
    return geometry(settled(replace(op, spec=of_last_two(_stretched(op)), shape=(1, 1, *op.shape[_HEIGHT:]))))


def _stretched(op: ResizeOp) -> ResizeSpec:
    """Return a resize to the same size without its crop."""
    crops = isinstance(op.spec.coordinates, Crop)
    return replace(op.spec, coordinates=Coordinates.ASYMMETRIC) if crops else op.spec


def _pixels(at: Floats, rounding: Rounding) -> Array:
    """Return pixels: what lies near a half is one, even where float32 holds nothing as near."""
    return to_pixels(at.astype(np.float64) + _nudge(rounding), rounding)


def _nudge(rounding: Rounding) -> float:
    """Return what it adds before it rounds, so that float32 errors at half-way positions make no difference."""
    match rounding:
        case Rounding.ROUND_PREFER_FLOOR:
            return -_NEAR_A_HALF
        case Rounding.ROUND_PREFER_CEIL:
            return _NEAR_A_HALF
        case Rounding.FLOOR | Rounding.CEIL | Rounding.SIMPLE:
            return 0.0
        case _:
            assert_never(rounding)


def _is_a_row(op: ResizeOp) -> bool:
    """Return whether an image has one row, and may change."""
    at = geometry(settled(op))
    if at is None:
        return op.shape is not None and op.shape[_HEIGHT] == 1
    return at.in_sizes[_HEIGHT] == 1 and bool(at.changing)  # a single node may find zeros there, not so among others


def _run(model: str, x: Array) -> Array:
    import cv2

    net = cv2.dnn.readNetFromONNX(model)
    net.setInput(x)
    return np.array(net.forward())


RUNTIME = Runtime(
    name="opencv-dnn",
    title="OpenCV DNN",
    version="5.0",
    of_node=outcome,
    with_computed_scales=with_computed_scales,
    takes_functions=False,
    accepts=Accepted(),
    runner=Runner(package="cv2", distribution="opencv-python-headless", run=_run),
)
