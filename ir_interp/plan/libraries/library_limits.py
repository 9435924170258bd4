"""Refusals of image libraries, and cases with unknown results, by the shape and the element type of an image."""

from __future__ import annotations

import math

import numpy as np

from ir_interp.errors import ShapeError, SpecError
from ir_interp.plan.axes.geometry import Plan
from ir_interp.plan.libraries import opencv_ipp_order, opencv_sums
from ir_interp.plan.libraries.opencv_sums import channels
from ir_interp.plan.libraries.passes import Outputs, are_named, window_passes
from ir_interp.shapes import resolve_axes
from ir_interp.spec import (
    Area,
    Arithmetic,
    Cubic,
    FixedPoint,
    Integers,
    Linear,
    Mean,
    Nearest,
    ResizeSpec,
    Scales,
    Step,
)


def check(bound: Plan, dtype: str) -> None:
    """Raise SpecError or ShapeError for an image that the library of a spec refuses, or whose result is unknown.

    Specs of runtimes, and those of no library, accept every image here.
    """
    if not bound.spec.arithmetic.is_library:
        return
    _check_sizes(bound)
    if bound.spec.images is not None:
        bound.spec.images.check(dtype, channels(bound))
    if 0 in bound.out_shape:
        return
    if bound.axes and bound.spec.arithmetic in opencv_sums.OWN:
        _check_opencv(bound, dtype)
    if bound.spec.arithmetic is Arithmetic.TORCH:
        _check_torch(bound, dtype)


def _check_sizes(bound: Plan) -> None:
    """Refuse images and outputs of size 0, except by libraries that return empty arrays."""
    name = _library(bound)
    if name is None:
        return
    may_be_empty = _may_be_empty(bound.spec)
    for axis in resolve_axes(bound.spec.axes, len(bound.in_shape)):
        size, out_size = bound.in_shape[axis], bound.out_shape[axis]
        if not size:
            raise ShapeError(f"{name} refuses images of size 0, as axis {axis} has; use an image with pixels")
        if not out_size and not may_be_empty:
            problem = f"{name} refuses outputs of size 0, as axis {axis} of size {size} would have"
            raise ShapeError(f"{problem}; use a larger size or scale")


def _library(bound: Plan) -> str | None:
    """Return the library that refuses images of size 0; None for JAX and SciPy, which return empty arrays."""
    if bound.spec.arithmetic is Arithmetic.SCIPY:
        return "scikit-image" if bound.spec.images else None
    return _REFUSING.get(bound.spec.arithmetic)


def _may_be_empty(spec: ResizeSpec) -> bool:
    """Return whether outputs of an image may be empty: PyTorch's area, and scikit-image if it smooths nothing first."""
    return isinstance(spec.kernel, Mean) or (spec.arithmetic is Arithmetic.SCIPY and spec.before is None)


_REFUSING = {
    Arithmetic.PILLOW: "Pillow",
    Arithmetic.TENSORFLOW: "TensorFlow",
    **dict.fromkeys((Arithmetic.TORCH, Arithmetic.TORCH_FUSED, Arithmetic.TORCH_DOUBLE), "PyTorch"),
    **dict.fromkeys((*opencv_sums.OWN, Arithmetic.OPENCV_EXACT, Arithmetic.OPENCV_ADDED, Arithmetic.IPP), "OpenCV"),
}


def largest_pixel(bound: Plan, outputs: Outputs, dtype: str) -> int | None:
    """Return the largest value for which Pillow's sums of mode I stay within int32; None if all of them do.

    Pillow converts sums beyond int32 as the processor does, which C leaves undefined.
    """
    is_deep = bound.spec.arithmetic is Arithmetic.PILLOW and dtype == "int32" and bool(bound.axes)
    if not is_deep or not are_named(bound) or any(start == stop for start, stop in outputs):
        return None
    gains = [float(np.abs(each.weights).sum(axis=1).max()) for each in window_passes(bound, dtype, outputs)]
    gain = math.prod(max(gain, 1.0) for gain in gains)
    return None if gain < 1 + _ROUNDED else int((2**31 - 1) / gain)


def check_pixels(lowest: int, highest: int, largest: int) -> None:
    """Raise SpecError for pixels of mode I whose sums may exceed int32."""
    if -largest <= lowest and highest <= largest:
        return
    problem = f"Pillow's sums of mode I may overflow for pixels beyond {largest}; this image has {lowest} to {highest}"
    raise SpecError(f"{problem}; use mode F, or a filter without negative weights, as pillow:bilinear")


_ROUNDED = 1e-9  # by which weights without negative ones may add up to more than 1


def _check_opencv(bound: Plan, dtype: str) -> None:
    spec = bound.spec
    if isinstance(spec.kernel, Area) and channels(bound) > _MOST_CHANNELS and _is_uneven(bound):
        most = f"OpenCV averages images of at most {_MOST_CHANNELS} channels"
        raise ShapeError(f"{most} where a size is not an integer multiple of the other; this one has {channels(bound)}")
    if dtype.startswith("float"):
        return
    if spec.rounds is Integers.IPP and isinstance(spec.kernel, Linear) and dtype != "uint16":
        problem = f"these are the sums of Intel's library (IPP) for uint16, not for {dtype}"
        raise SpecError(f"{problem}; specify the dtype in the call, or use ipp=False")
    if spec.arithmetic is Arithmetic.IPP and _is_warped(bound):
        reason = "the result of Intel's library (IPP) where fx or fy is not a ratio of sizes is unknown"
        raise SpecError(f"{reason}; use sizes instead of scales, or ipp=False")
    if opencv_sums.adds_fours(bound, dtype) and opencv_sums.has_parts(bound):
        raise ShapeError("sums of blocks beyond 2**24 are unknown where the last block is incomplete")


_MOST_CHANNELS = 4  # of OpenCV's fractional INTER_AREA; torch 2.13 repeats rows of uint8 with more


def _is_uneven(bound: Plan) -> bool:
    """Return whether areas have fractional pixels: neither linear, as on growing axes, nor of integer blocks."""
    return all(axis.scale <= 1 for axis in bound.axes) and not opencv_sums.has_blocks(bound)


def _is_warped(bound: Plan) -> bool:
    """Return whether Intel's library warps: if scales are not ratios of sizes, and it supports the channels."""
    if not isinstance(bound.spec.target, Scales) or channels(bound) not in opencv_ipp_order.CHANNELS:
        return False
    axes = resolve_axes(bound.spec.axes, len(bound.in_shape))
    pairs = zip(axes, bound.spec.target.values, strict=True)
    return any(abs(bound.out_shape[axis] / bound.in_shape[axis] - scale) > _SAME * scale for axis, scale in pairs)


_SAME = 1e-10  # OpenCV's IPP_RESIZE_EPS, of a scale


def _check_torch(bound: Plan, dtype: str) -> None:
    """Refuse faults of PyTorch 2.13, and results that depend on an element type that was not specified."""
    spec, axes = bound.spec, resolve_axes(bound.spec.axes, len(bound.in_shape))
    if isinstance(spec.kernel, Nearest | Mean):
        return
    if len(axes) == _OF_AN_IMAGE and bound.out_shape[-1] == 1:
        _check_narrow(bound, dtype)
    is_cubic = isinstance(spec.kernel, Cubic) and not spec.kernel.is_antialiased and dtype != "uint8"
    if is_cubic and spec.step is Step.GIVEN_UNLESS_EQUAL and isinstance(spec.target, Scales):
        pairs = zip(axes, spec.target.values, strict=True)
        if any(bound.in_shape[axis] == bound.out_shape[axis] and scale != 1 for axis, scale in pairs):
            problem = f"an axis that keeps its size is copied for uint8 but not for {dtype}"
            raise SpecError(f"{problem}; specify the dtype in the call")


_OF_AN_IMAGE = 2


def _check_narrow(bound: Plan, dtype: str) -> None:
    """Refuse outputs of one column that torch 2.13 refuses, or fills with copies of their first row."""
    count = 1 if len(bound.in_shape) == _OF_AN_IMAGE else bound.in_shape[-3]
    height = bound.out_shape[-2]
    is_byte = dtype == "uint8" and isinstance(bound.spec.integers, FixedPoint)
    if is_byte and count == _OF_COLOUR and height == 1:
        raise ShapeError("torch 2.13 refuses to resize uint8 images of three channels to one pixel; use a larger size")
    filters = count > _MOST_CHANNELS if is_byte else bound.spec.kernel.is_antialiased
    if filters and height not in (1, bound.in_shape[-2]):
        which = "more than four channels" if is_byte else "antialiased floats"
        raise ShapeError(f"torch 2.13 repeats the first row of one-pixel-wide outputs for {which}; use a larger width")


_OF_COLOUR = 3
