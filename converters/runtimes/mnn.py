"""MNN: one rounding for two nearest_modes, and a cubic with one coefficient (3.6)."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ir_interp.plan.taps import plan
from ir_interp.resize_op import ResizeOp
from ir_interp.shapes import Array, static_shape
from ir_interp.specs import Aspect, AtRunTime, Coordinates, Crop, Cubic, Nearest, ResizeSpec, Rounding, Scales, Sizes

from .image_runtimes import ALL_TYPES, has_weights_of, image_outcome, offset_first, to_pixels
from .outcome import (
    BY_RATIO,
    FLOOR,
    HALF_PIXEL_OF_10,
    NO_ANTIALIAS,
    NO_SYMMETRIC,
    PLAIN_CUBIC,
    RESIZE_10,
    UPSAMPLE,
    Kind,
    Levels,
    Outcome,
    Reading,
    Surroundings,
    changing_axes,
    crashes,
    differs,
    geometry,
    refused,
    resized,
    unknown,
)
from .runtime import Accepted, Runner, Runtime

_LESS_THAN_HALF = 0.499  # as observed: added before positions are rounded down
_BITS = 7  # of the weights of integer sums
_NEVER_BELOW_0 = (Coordinates.ALIGN_CORNERS, Coordinates.ASYMMETRIC, Coordinates.TF_HALF_PIXEL_FOR_NN)
_CHANNELS, _HEIGHT, _WIDTH = 1, 2, 3
_IMAGE, _ALL_BUT_BATCH = frozenset({_HEIGHT, _WIDTH}), frozenset({_CHANNELS, _HEIGHT, _WIDTH})
_NOT_OF_CHANNELS = (Coordinates.PYTORCH_HALF_PIXEL, Coordinates.ASYMMETRIC)
_RANK = 4  # [batch, channels, height, width]
_UNCROPPED = Coordinates.ASYMMETRIC
_NO_WINDOW = "it computes tf_crop_and_resize as asymmetric, without the window"
_TAKEN_FOR_HALF_DOWN = (Rounding.CEIL, Rounding.ROUND_PREFER_CEIL)


def outcome(op: ResizeOp, may_change: Set[int], stated: ResizeOp) -> Outcome:
    """Return the outcome of a node."""
    axes = op.attributes.get("axes")
    if axes is not None and op.spec.gives_scales:
        return crashes("it reads out of bounds if scales are given for some axes only")
    if isinstance(op.spec.coordinates, Crop):
        return _of_crop(op, may_change, stated)
    if axes is not None:
        if len(axes) != len(_IMAGE) or op.spec.aspect is not Aspect.STRETCH:
            return unknown("sizes of other than two axes, or a keep_aspect_ratio_policy")
        # It takes two sizes for those of the last two axes.
        attributes = {name: value for name, value in op.attributes.items() if name != "axes"}
        op, may_change = replace(op, spec=replace(op.spec, axes=(_HEIGHT, _WIDTH)), attributes=attributes), _IMAGE
    others = changing_axes(op, may_change) - _IMAGE
    is_nearest, of_channels = isinstance(op.spec.kernel, Nearest), others == {_CHANNELS} and op.version not in UPSAMPLE
    if others and not (is_nearest and (of_channels or op.version in UPSAMPLE)):
        return crashes("it writes out of bounds if axes other than height and width are resized")
    if of_channels and (op.dtype != "float32" or (op.version != RESIZE_10 and op.spec.coordinates in _NOT_OF_CHANNELS)):
        return unknown(f"a nearest resize of channels of {op.dtype} under {op.spec.coordinates}")
    resized = _ALL_BUT_BATCH if of_channels else _IMAGE
    result = image_outcome(op, may_change, _readings(op, of_channels), offset_first, _pixels, ALL_TYPES, resized)
    return result if result.spec is None or is_nearest or not may_change else _summed(op, result, result.spec)


def _of_levels(alone: Outcome, op: ResizeOp, levels: Levels) -> Outcome:
    """Return the outcome of a node behind a DequantizeLinear, whose result has batch and channels swapped.

    A QuantizeLinear swaps them back. Elements of uint8 are read in another order, whatever follows.
    """
    shape, target = op.shape or (), op.spec.target
    if alone.kind is Kind.CRASHES:
        return alone
    is_known = len(shape) == _RANK and None not in shape[:_HEIGHT] and not isinstance(target, AtRunTime)
    if not is_known or resized(op) - _IMAGE:
        return unknown(
            "a Resize behind a DequantizeLinear that is dynamic, or resizes other axes than height and width"
        )
    swaps = shape[0] != shape[_CHANNELS]
    if swaps and isinstance(target, Sizes) and op.attributes.get("axes") is None:
        return refused("it swaps batch and channels behind a DequantizeLinear, and takes no sizes there")
    if levels.dtype == "uint8":
        return differs("its DequantizeLinear reads uint8 in another order")
    if levels.dtype == "int8" and swaps and not levels.follow:
        return differs("its DequantizeLinear swaps batch and channels")
    if levels.dtype == "int8" and not levels.are_inputs and levels.follow:
        return alone
    return unknown(f"a Resize behind a DequantizeLinear of {levels.dtype} {_OTHER_LEVELS}")


_OTHER_LEVELS = "that reads the model's input, or keeps the order of batch and channels"


def _of_crop(op: ResizeOp, may_change: Set[int], stated: ResizeOp) -> Outcome:
    """Return the outcome of a crop: by scales it ignores the window, by sizes it computes no coordinates at all."""
    target, shape = op.spec.target, op.shape or ()
    is_image = len(shape) == _RANK and not changing_axes(op, may_change) - _IMAGE
    if not is_image or op.spec.aspect is not Aspect.STRETCH or not isinstance(target, Scales | Sizes):
        return unknown("a crop that resizes other axes than height and width, at run time, or with an aspect policy")
    if isinstance(target, Sizes):
        return differs("its crops by sizes return the first pixel everywhere")
    as_asymmetric = [replace(node, spec=replace(node.spec, coordinates=_UNCROPPED)) for node in (op, stated)]
    result = outcome(as_asymmetric[0], may_change, as_asymmetric[1])
    return replace(result, reason="; ".join(filter(None, (_NO_WINDOW, result.reason)))) if result.spec else result


def _summed(op: ResizeOp, result: Outcome, spec: ResizeSpec) -> Outcome:
    """Return the outcome of a node whose kernel sums, if its attributes are read as a resize."""
    is_cubic, is_open = isinstance(spec.kernel, Cubic), geometry(op) is None
    # Only copies are right: a weight of 1 leaves the byte as it is.
    if op.dtype == "int8" and not has_weights_of(op, spec, 0):
        return differs("its sums read int8 as uint8", "not every output is a copy" if is_open else "")
    if op.dtype == "uint8" and not is_cubic and not has_weights_of(op, spec, _BITS):
        reason = f"it rounds the weights of integers to {_BITS} bits"
        return differs(reason, f"some weight has more than {_BITS} bits" if is_open else "")
    if is_cubic and _starts_outside(op, spec):
        reason = "its cubic clamps positions to the centre of the first pixel"
        return differs(reason, "" if geometry(op) else "height or width grows")
    return result


def _readings(op: ResizeOp, of_channels: bool) -> tuple[Reading, ...]:
    if op.version == RESIZE_10:
        return (HALF_PIXEL_OF_10,)
    if op.version in UPSAMPLE:
        return (FLOOR,) if of_channels else (FLOOR, BY_RATIO)
    return (NO_SYMMETRIC, NO_ANTIALIAS, PLAIN_CUBIC, _OWN_NEAREST)


def _pixels(at: NDArray[np.float32], rounding: Rounding) -> Array:
    """Return pixels; it rounds half down by adding a little less than a half."""
    down = rounding is Rounding.ROUND_PREFER_FLOOR
    return np.floor(at + np.float32(_LESS_THAN_HALF)) if down else to_pixels(at, rounding)


def _starts_outside(op: ResizeOp, spec: ResizeSpec) -> bool:
    """Return whether a first output may sample before the first pixel."""
    shape = static_shape(op.shape)
    if spec.coordinates in _NEVER_BELOW_0:
        return False
    return shape is None or spec.waits or any(axis.offset < 0 and axis.in_size > 1 for axis in plan(spec, shape).axes)


def _nearest(spec: ResizeSpec) -> ResizeSpec:
    if not isinstance(spec.kernel, Nearest) or spec.kernel.rounding not in _TAKEN_FOR_HALF_DOWN:
        return spec
    return replace(spec, kernel=Nearest(rounding=Rounding.ROUND_PREFER_FLOOR))


_OWN_NEAREST = Reading("it computes ceil and round_prefer_ceil as round_prefer_floor", _nearest)


def among(op: ResizeOp, around: Surroundings) -> Outcome | None:
    """Return the refusal of a node in a body that it lacks."""
    return around.refused_in({"Scan"})


def _run(model: str, x: Array) -> Array:
    import _tools  # MNN's converter without its command line, which requires a package that reports its use
    import MNN.expr
    import MNN.nn

    converted = f"{model}.mnn"
    options = ["-f", "ONNX", "--modelFile", model, "--MNNModel", converted, "--bizCode", "ir_interp"]
    _tools.mnnconvert(["mnnconvert", *options])
    names = MNN.nn.load_module_from_file(converted, [], []).get_info()
    # The first load only lists the names, which the second requires.
    net = MNN.nn.load_module_from_file(converted, names["inputNames"], names["outputNames"])
    taken = x.astype(np.float32) if x.dtype == np.float16 else x  # it reads half precision as float32
    if taken.dtype.kind in "iu":
        image = MNN.expr.const(taken.ravel().tolist(), list(x.shape), MNN.expr.NCHW, getattr(MNN.expr, str(x.dtype)))
    else:
        image = MNN.expr.const(taken, list(x.shape), MNN.expr.NCHW)
    (output,) = net.forward([image])
    # Its results may lie in blocks of four channels.
    output = MNN.expr.convert(output, MNN.expr.NCHW)
    result = np.array(output.read()).reshape(output.shape)
    return result.astype(x.dtype) if result.dtype.kind == x.dtype.kind else result


RUNTIME = Runtime(
    name="mnn",
    title="MNN",
    version="3.6",
    of_node=outcome,
    accepts=Accepted(),
    runner=Runner(package="MNN", distribution="MNN", run=_run),
    takes_functions=False,
    among=among,
    of_levels=_of_levels,
)
