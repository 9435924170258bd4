"""ONNX's operator page "Resize" (11, 13, 18, 19) to the letter: its formulas in rationals and plain loops.

It reads the attributes of a node, and shares nothing with the product. Choices that the page leaves open
are the common ones: taps beyond the image fall on its edge, a single output of align_corners is pixel 0, a widened
kernel sums to 1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
HALF = Fraction(1, 2)


def resized(
    x: Array,
    attributes: Mapping[str, Any],
    *,
    scales: Sequence[float] | None = None,
    sizes: Sequence[int] | None = None,
    roi: Sequence[float] | None = None,
) -> Array:
    """Return what the page makes of a node: copies of values for nearest, else float64."""
    axes = [axis % x.ndim for axis in attributes.get("axes", range(x.ndim))]
    windows = _windows(attributes, roi, len(axes))
    lengths, wanted = _lengths([x.shape[axis] for axis in axes], attributes, scales, sizes, windows)
    outside = np.zeros((1,) * x.ndim, dtype=bool)
    for place, axis in enumerate(axes):
        n, m = x.shape[axis], lengths[place]
        at = [_x_original(Fraction(i), n, m, wanted[place], windows[place], attributes) for i in range(m)]
        beyond = np.array([not 0 <= source <= n - 1 for source in at], dtype=bool)
        outside = outside | beyond.reshape([-1 if other == axis else 1 for other in range(x.ndim)])
        x = _along(x, axis, at, Fraction(m, n), attributes)
    if attributes.get("coordinate_transformation_mode") == "tf_crop_and_resize":
        x = np.where(outside, np.asarray(attributes.get("extrapolation_value", 0.0)).astype(x.dtype), x)
    return x


def _windows(attributes: Mapping[str, Any], roi: Sequence[float] | None, count: int) -> list[tuple[Fraction, Fraction]]:
    """ "It only takes effect when coordinate_transformation_mode is tf_crop_and_resize"."""
    if roi is None or attributes.get("coordinate_transformation_mode") != "tf_crop_and_resize":
        return [(Fraction(0), Fraction(1))] * count
    edges = [Fraction(float(np.float32(edge))) for edge in roi]
    return list(zip(edges[:count], edges[count:], strict=True))


def _lengths(
    inputs: Sequence[int],
    attributes: Mapping[str, Any],
    scales: Sequence[float] | None,
    sizes: Sequence[int] | None,
    windows: Sequence[tuple[Fraction, Fraction]],
) -> tuple[list[int], list[Fraction]]:
    """Return output lengths, and output_width: the target, "which can be a fractional number"."""
    if scales is not None:
        exact = [Fraction(float(np.float32(scale))) for scale in scales]
        lengths = [math.floor(n * (end - start) * s) for n, s, (start, end) in zip(inputs, exact, windows, strict=True)]
        return lengths, [n * s for n, s in zip(inputs, exact, strict=True)]
    assert sizes is not None
    policy = attributes.get("keep_aspect_ratio_policy", "stretch")
    if policy == "stretch":
        return list(sizes), list(map(Fraction, sizes))
    ratios = [Fraction(size, n) for size, n in zip(sizes, inputs, strict=True)]
    scale = min(ratios) if policy == "not_larger" else max(ratios)
    return [math.floor(scale * n + HALF) for n in inputs], [scale * n for n in inputs]


def _x_original(
    x_resized: Fraction,
    length_original: int,
    length_resized: int,
    output_width: Fraction,
    window: tuple[Fraction, Fraction],
    attributes: Mapping[str, Any],
) -> Fraction:
    scale = Fraction(length_resized, length_original)
    last = length_original - 1
    match attributes.get("coordinate_transformation_mode", "half_pixel"):
        case "half_pixel":
            return (x_resized + HALF) / scale - HALF
        case "half_pixel_symmetric":
            adjustment = length_resized / output_width
            center = Fraction(length_original, 2)
            offset = center * (1 - adjustment)
            return offset + (x_resized + HALF) / scale - HALF
        case "pytorch_half_pixel":
            return (x_resized + HALF) / scale - HALF if length_resized > 1 else Fraction(0)
        case "align_corners":
            return x_resized * last / (length_resized - 1) if length_resized > 1 else Fraction(0)
        case "asymmetric":
            return x_resized / scale
        case "tf_half_pixel_for_nn":
            return (x_resized + HALF) / scale
        case "tf_crop_and_resize":
            start, end = window
            if length_resized > 1:
                return start * last + x_resized * (end - start) * last / (length_resized - 1)
            return HALF * (start + end) * last
        case mode:
            raise AssertionError(mode)


def _along(x: Array, axis: int, at: Sequence[Fraction], scale: Fraction, attributes: Mapping[str, Any]) -> Array:
    n, mode = x.shape[axis], attributes.get("mode", "nearest")
    if mode == "nearest" or not at:
        rounding = attributes.get("nearest_mode", "round_prefer_floor")
        pixels = [min(max(_nearest(source, rounding), 0), n - 1) for source in at]
        return np.take(x, np.array(pixels, dtype=np.intp), axis=axis)
    stretched = max(Fraction(1), 1 / scale) if attributes.get("antialias") else Fraction(1)
    a = Fraction(float(np.float32(attributes.get("cubic_coeff_a", -0.75))))
    radius = (1 if mode == "linear" else 2) * stretched
    matrix = np.zeros((len(at), n))
    for i, source in enumerate(at):
        taps = range(math.floor(source - radius), math.ceil(source + radius) + 1)
        weights = {k: _kernel((k - source) / stretched, mode, a) for k in taps}
        if attributes.get("exclude_outside"):
            weights = {k: weight for k, weight in weights.items() if 0 <= k < n}
        total = sum(weights.values()) or 1  # 0 where all lie outside, and the output is extrapolated
        for k, weight in weights.items():
            matrix[i, min(max(k, 0), n - 1)] += float(weight / total)
    return np.moveaxis(np.tensordot(matrix, x.astype(np.float64), (1, axis)), 0, axis)


def _nearest(source: Fraction, rounding: str) -> int:
    match rounding:
        case "floor":
            return math.floor(source)
        case "ceil":
            return math.ceil(source)
        case "round_prefer_floor":
            return math.ceil(source - HALF)
        case _:
            return math.floor(source + HALF)


def _kernel(distance: Fraction, mode: str, a: Fraction) -> Fraction:
    t = abs(distance)
    if mode == "linear":
        return max(1 - t, Fraction(0))
    if t <= 1:
        return (a + 2) * t**3 - (a + 3) * t**2 + 1
    return a * t**3 - 5 * a * t**2 + 8 * a * t - 4 * a if t < 2 else Fraction(0)
