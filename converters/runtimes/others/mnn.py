"""MNN: one rounding for two nearest_modes, and a cubic with one coefficient (3.6)."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.plan.axes.geometry import plan
from ir_interp.resize_op import ResizeOp
from ir_interp.shapes import static_shape
from ir_interp.spec import Coordinates, Cubic, Nearest, ResizeSpec, Rounding

from ..image_runtimes import (
    BY_RATIO,
    FLOOR,
    HALF_PIXEL_OF_10,
    NO_ANTIALIAS,
    NO_SYMMETRIC,
    RESIZE_10,
    UPSAMPLE,
    Reading,
    image_outcome,
    offset_first,
    own_cubic,
    to_pixels,
)
from ..outcome import Outcome, differs
from . import OtherRuntime

_COEFFICIENT = -0.75
_LESS_THAN_HALF = 0.499
_NEVER_BELOW_0 = (Coordinates.ALIGN_CORNERS, Coordinates.ASYMMETRIC, Coordinates.TF_HALF_PIXEL_FOR_NN)
_TAKEN_FOR_HALF_DOWN = (Rounding.CEIL, Rounding.ROUND_PREFER_CEIL)


def outcome(op: ResizeOp, may_change: Set[int]) -> Outcome:
    """Return what comes of a node."""
    if op.version == RESIZE_10:
        return image_outcome(op, may_change, (HALF_PIXEL_OF_10,), offset_first, _pixels)
    if op.version in UPSAMPLE:
        return image_outcome(op, may_change, (FLOOR, BY_RATIO), offset_first, _pixels)
    readings = (NO_SYMMETRIC, NO_ANTIALIAS, own_cubic(_COEFFICIENT), _OWN_NEAREST)
    found = image_outcome(op, may_change, readings, offset_first, _pixels)
    if found.spec is not None and isinstance(found.spec.kernel, Cubic) and _starts_outside(op, found.spec):
        return differs("its cubic takes the first pixel's middle for all places before the first pixel's middle")
    return found


def _pixels(at: NDArray[np.float32], rounding: Rounding) -> NDArray[Any]:
    """Return pixels; it rounds half down by adding a little less than a half."""
    down = rounding is Rounding.ROUND_PREFER_FLOOR
    return np.floor(at + np.float32(_LESS_THAN_HALF)) if down else to_pixels(at, rounding)


def _starts_outside(op: ResizeOp, spec: ResizeSpec) -> bool:
    """Say whether a first output samples before the first pixel, or may."""
    shape = static_shape(op.shape)
    if spec.coordinates in _NEVER_BELOW_0:
        return False
    return shape is None or spec.waits or any(axis.offset < 0 for axis in plan(spec, shape).axes)


def _nearest(spec: ResizeSpec) -> ResizeSpec:
    if not isinstance(spec.kernel, Nearest) or spec.kernel.rounding not in _TAKEN_FOR_HALF_DOWN:
        return spec
    return replace(spec, kernel=Nearest(rounding=Rounding.ROUND_PREFER_FLOOR))


_OWN_NEAREST = Reading("it takes ceil and round_prefer_ceil for round_prefer_floor", _nearest)


def _run(model: str, x: NDArray[Any]) -> NDArray[Any]:
    import _tools  # MNN's converter without its command line, which wants a package that reports its use
    import MNN.expr
    import MNN.nn

    converted = f"{model}.mnn"
    options = ["-f", "ONNX", "--modelFile", model, "--MNNModel", converted, "--bizCode", "ir_interp"]
    _tools.mnnconvert(["mnnconvert", *options])
    names = MNN.nn.load_module_from_file(converted, [], []).get_info()
    net = MNN.nn.load_module_from_file(converted, names["inputNames"], names["outputNames"])
    (made,) = net.forward([MNN.expr.const(x, list(x.shape), MNN.expr.NCHW)])
    made = MNN.expr.convert(made, MNN.expr.NCHW)
    return np.array(made.read()).reshape(made.shape)


RUNTIME = OtherRuntime(
    name="mnn",
    title="MNN",
    version="3.6",
    package="MNN",
    distribution="MNN",
    outcome=outcome,
    run=_run,
)
