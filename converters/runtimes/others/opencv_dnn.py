"""OpenCV's DNN module: it resizes by the ratio of sizes, and ignores unknown attributes (5.0)."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.resize_op import ResizeOp
from ir_interp.spec import Coordinates, Crop, Linear, Rounding, Scales

from ..image_runtimes import ALL_TYPES, Floats, crop_or_policy, image_outcome, in_doubles, of_last_two, to_pixels
from ..node_geometry import copying, geometry, settled
from ..outcome import Outcome, computes, differs, refused, unknown
from ..shared_readings import (
    BY_RATIO,
    FLOOR,
    HALF_PIXEL_OF_10,
    NO_ANTIALIAS,
    NO_SYMMETRIC,
    RESIZE_10,
    UPSAMPLE,
    UPSAMPLE_7,
)
from . import OtherRuntime

# Added before it rounds, so that float32 errors at half-way positions make no difference.
_NEAR_A_HALF = {Rounding.ROUND_PREFER_FLOOR: -1e-6, Rounding.ROUND_PREFER_CEIL: 1e-6}
_HEIGHT = 2
_RANK = 4


def outcome(op: ResizeOp, may_change: Set[int], stated: ResizeOp) -> Outcome:
    """Return the outcome of a node."""
    if isinstance(op.spec.coordinates, Crop):
        return unknown(crop_or_policy(op))
    reason = _refusal(op)
    if reason:
        return refused(reason)
    if _copies_unmoved(op):
        return computes(copying(op.spec), "it copies if neither height nor width changes")
    roundings = (HALF_PIXEL_OF_10,) if op.version == RESIZE_10 else (FLOOR,)
    place = in_doubles if op.version in UPSAMPLE else None
    # The order matters: a reading sees the resize as the one before left it.
    readings = (*roundings, BY_RATIO, NO_ANTIALIAS, NO_SYMMETRIC)
    result = image_outcome(op, may_change, readings, place, _pixels, dtypes=ALL_TYPES)
    if result.spec is None or not isinstance(result.spec.kernel, Linear):
        return result
    if _is_a_row(op):
        return differs("its linear reads beyond an image of height 1, and the result varies from run to run")
    is_open = op.shape is not None and op.shape[_HEIGHT] is None
    return replace(result, but_for="images of height 1, where its linear reads out of bounds") if is_open else result


def _refusal(op: ResizeOp) -> str:
    if op.attributes.get("axes") is not None:
        return "axes are not supported"
    if op.version not in UPSAMPLE:
        return ""
    if isinstance(op.spec.kernel, Linear):
        return "a linear Upsample is not supported"
    scales = op.spec.target.values if isinstance(op.spec.target, Scales) else ()
    is_fractional = any(not scale.is_integer() for scale in scales[_HEIGHT:])
    return "its Upsample-7 supports integral scales only" if op.version == UPSAMPLE_7 and is_fractional else ""


def _copies_unmoved(op: ResizeOp) -> bool:
    """Return whether an image keeps its height and width under the coordinates that would move one of these alone."""
    is_moved = op.spec.coordinates is Coordinates.TF_HALF_PIXEL_FOR_NN and op.dtype in ALL_TYPES
    if not is_moved or op.shape is None or len(op.shape) != _RANK:
        return False
    at = geometry(settled(replace(op, spec=of_last_two(op.spec), shape=(1, 1, *op.shape[_HEIGHT:]))))
    return at is not None and not at.changing


def _pixels(at: Floats, rounding: Rounding) -> NDArray[Any]:
    """Return pixels: what lies near a half is one, even where float32 holds nothing as near."""
    return to_pixels(at.astype(np.float64) + _NEAR_A_HALF.get(rounding, 0.0), rounding)


def _is_a_row(op: ResizeOp) -> bool:
    """Return whether an image has one row, and may change."""
    at = geometry(settled(op))
    if at is None:
        return op.shape is not None and op.shape[_HEIGHT] == 1
    return at.in_sizes[_HEIGHT] == 1 and bool(at.changing)  # a single node may find zeros there, not so among others


def _run(model: str, x: NDArray[Any]) -> NDArray[Any]:
    import cv2

    net = cv2.dnn.readNetFromONNX(model)
    net.setInput(x)
    return np.array(net.forward())


RUNTIME = OtherRuntime(
    name="opencv-dnn",
    title="OpenCV DNN",
    version="5.0",
    package="cv2",
    distribution="opencv-python-headless",
    outcome=outcome,
    run=_run,
    refuses_functions=True,
    needs_stored_scales=range(11, 20),
)
