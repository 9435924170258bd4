"""The sums that OpenCV uses, by kernel, element type, ratios and channels."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.plan import library_weights
from ir_interp.plan.formulas import AxisPlan
from ir_interp.plan.taps import Plan
from ir_interp.shapes import resolve_axes
from ir_interp.specs import (
    Area,
    Arithmetic,
    Between,
    Cubic,
    FixedPoint,
    FloatingPoint,
    Integers,
    Kernel,
    Lanczos,
    Linear,
)

FEW_CHANNELS = (1, 3, 4)
"""Numbers of channels of images whose blocks of four pixels are rounded half up."""
_WEIGHT_BITS = 11  # INTER_RESIZE_COEF_BITS of OpenCV's resize.cpp
_LANES = 8
OWN = (Arithmetic.OPENCV, Arithmetic.OPENCV_EXACT, Arithmetic.IPP)
"""The arithmetics of OpenCV's sums."""


def is_of_ipp(bound: Plan) -> bool:
    """Return whether integers are summed as in ``library_weights``."""
    padded = bound.spec.padded(bound.in_shape)
    return bound.spec.rounds is Integers.IPP and library_weights.takes(bound.spec, tuple(size or 0 for size in padded))


def sums(bound: Plan, dtype: str) -> FixedPoint | FloatingPoint | None:
    """Return the sums that the spec of a plan specifies or OpenCV chooses; None where pixels of blocks are counted."""
    rounds = bound.spec.rounds
    if rounds is Integers.OPENCV_AREA:
        return _by_ratio(bound, dtype)
    if rounds is Integers.IPP:
        rounds = without_ipp(bound.spec.kernel, dtype)
    assert isinstance(rounds, FixedPoint | FloatingPoint)
    return None if _is_halved(bound) else rounds


def without_ipp(kernel: Kernel, dtype: str) -> FixedPoint | FloatingPoint:
    """Return OpenCV's own sums of integers; for cubic, blocks of values of a row are summed as vectors."""
    lanes = _LANES if isinstance(kernel, Cubic) or (isinstance(kernel, Lanczos) and dtype == "int16") else None
    if dtype != "uint8":
        return FloatingPoint(bits=32, lanes=lanes)
    if isinstance(kernel, Linear):
        return FixedPoint(bits=_WEIGHT_BITS, between=Between.SHORTENED)
    return FixedPoint(bits=_WEIGHT_BITS, between=Between.KEPT, lanes=lanes)


def adds_fours(bound: Plan, dtype: str) -> bool:
    """Return whether blocks are so large that float32 does not represent their sum exactly."""
    if not isinstance(bound.spec.kernel, Area) or bound.spec.rounds is not Integers.OPENCV_AREA:
        return False
    counts = dtype in _SIXTEEN_BITS and _by_ratio(bound, dtype) is None
    return counts and math.prod(1 / axis.scale for axis in bound.axes) * _SIXTEEN_BITS[dtype] > _HELD


_HELD = 2**24  # float32 represents every integer up to here
# The largest value of a pixel.
_SIXTEEN_BITS = {"uint16": 2**16 - 1, "int16": 2**15}


def blocks(axis: AxisPlan) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return indices and weights of the pixels that are counted along an axis; the last block may have fewer."""
    indices, weights = library_weights.covered(axis)
    return indices.astype(np.intp), weights


def channels(bound: Plan) -> int:
    """Return the number of values of a pixel: the axes after the resized ones. Axes before them count images."""
    return math.prod(bound.out_shape[max(resolve_axes(bound.spec.axes, len(bound.out_shape))) + 1 :])


def copies_ends(bound: Plan) -> bool:
    """Return whether, along the width, outputs beyond the centre of the last pixel are copies of it, not sums."""
    # OpenCV's linear loop ends where the right neighbour would lie outside, and copies from there on.
    is_linear = isinstance(bound.spec.kernel, Linear | Area)  # an area that grows is linear
    return is_linear and bound.spec.arithmetic in (Arithmetic.OPENCV, Arithmetic.IPP)


def _by_ratio(bound: Plan, dtype: str) -> FixedPoint | FloatingPoint | None:
    """Return the sums of INTER_AREA: growing axes as linear, integer ratios (None) by counting pixels."""
    assert isinstance(bound.spec.kernel, Area)
    if any(axis.scale > 1 for axis in bound.axes):
        return without_ipp(Linear(), dtype)
    return None if has_blocks(bound) else FloatingPoint(bits=32)


def has_blocks(bound: Plan) -> bool:
    """Return whether every output of an area is a block of full pixels; not for 49 to 1, fractional in float64."""
    steps = [1 / np.float64(axis.scale) for axis in bound.axes]
    return all(abs(step - round(step)) < np.finfo(np.float64).eps for step in steps)


def has_parts(bound: Plan) -> bool:
    """Return whether the last blocks lack pixels, as those of fx and fy may."""
    return any(round(1 / axis.scale) * axis.out_size != axis.in_size for axis in bound.axes)


def _is_halved(bound: Plan) -> bool:
    """Return whether linear halves an image in height and width: OpenCV then uses area, exact or not."""
    if [axis.scale for axis in bound.axes] != [Fraction(1, 2)] * 2 or not isinstance(bound.spec.kernel, Linear):
        return False
    is_exact = bound.spec.arithmetic is Arithmetic.OPENCV_EXACT and channels(bound) == _EXACT_ALWAYS
    return bound.spec.arithmetic in OWN and not is_exact


_EXACT_ALWAYS = 2  # channels for which INTER_LINEAR_EXACT does not use area
