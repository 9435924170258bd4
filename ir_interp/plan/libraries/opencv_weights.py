"""OpenCV's pixels and weights, except for INTER_AREA: formulas of ``resize.cpp``, in its own number types."""

from __future__ import annotations

from typing import Any

import numpy as np

from ir_interp.array_types import Array, Weighted
from ir_interp.plan.axes import kernels
from ir_interp.plan.axes.coordinates import AxisPlan, Positions, positions
from ir_interp.plan.axes.correctly_rounded import cosine, sine
from ir_interp.plan.axes.prefilter_taps import within
from ir_interp.spec import Cubic, Lanczos, Linear


def neighbours_in_singles(kernel: Linear | Cubic | Lanczos, axis: AxisPlan) -> Weighted:
    """Return the neighbours and their weights in float32; those out of bounds read the edge."""
    at = positions(axis)
    place = at.fraction.astype(np.float32)
    match kernel:
        case Linear():
            weights = [np.float32(1) - place, place]
        case Cubic():
            weights = _keys(place, np.float32(kernel.a))
        case Lanczos():
            weights = _lanczos(place)
    return _neighbours(kernel, axis, at), np.stack(weights, axis=1)


def neighbours_of_ipp(kernel: Linear | Cubic, axis: AxisPlan) -> Weighted:
    """Return the neighbours and their weights in float32; positions of cubic keep only the bits that 1 + x keeps."""
    one, at = np.float32(1), positions(axis)
    place = at.fraction.astype(np.float32)
    if isinstance(kernel, Linear):
        weights = [one - place, place]
    else:
        # From 1 to 2 the last place of float32 is 2^-23: the sum drops all smaller bits of a position.
        weights = _keys(((place + one) - one).astype(np.float64), kernel.a)
    return _neighbours(kernel, axis, at), np.stack(weights, axis=1).astype(np.float32)


def _neighbours(kernel: Linear | Cubic | Lanczos, axis: AxisPlan, at: Positions) -> Array:
    """Return the pixels on both sides of every output, within the reach of the kernel."""
    reach = int(kernels.radius(kernel))
    places: Array = within(at.floor[:, None] + np.arange(1 - reach, reach + 1), axis.in_size, kernel.border)
    return places


def _keys(x: Array, a: Any) -> list[Array]:
    one = np.float32(1)
    outer = ((a * (x + one) - 5 * a) * (x + one) + 8 * a) * (x + one) - 4 * a
    left = ((a + 2) * x - (a + 3)) * x * x + one
    right = ((a + 2) * (one - x) - (a + 3)) * (one - x) * (one - x) + one
    # The last weight is the rest, not its own polynomial, so that the four sum to 1.
    return [outer, left, right, one - outer - left - right]


_DIAGONAL = 0.70710678118654752440084436210485  # s45 of interpolateLanczos4 in resize.cpp, digit for digit
# The first half of the table cs there; the other half has opposite signs.
_TURNS = ((1, 0), (-_DIAGONAL, -_DIAGONAL), (0, 1), (_DIAGONAL, -_DIAGONAL))
_ALL_TURNS = (*_TURNS, *((-of_sine, -of_cosine) for of_sine, of_cosine in _TURNS))


def _lanczos(x: Array) -> list[Array]:
    """Return the weights of eight neighbours; their sines are rotations of the sine of the first."""
    first = -(x + np.float32(3)).astype(np.float64) * np.pi * 0.25
    sines, cosines = sine(first), cosine(first)
    total, weights = np.zeros(x.shape, np.float32), []
    for place, (of_sine, of_cosine) in enumerate(_ALL_TURNS):
        distance = x + np.float32(3) - np.float32(place)
        on_pixel = np.abs(distance) < _ON_PIXEL
        angle = np.where(on_pixel, 1.0, -distance.astype(np.float64) * np.pi * 0.25)
        weight = (of_sine * sines + of_cosine * cosines) / (angle * angle)
        weights.append(np.where(on_pixel, _ALL, weight).astype(np.float32))
        total = total + weights[-1]
    inverse = np.float32(1) / total
    return [weight * inverse for weight in weights]


_ON_PIXEL, _ALL = 1e-6, 1e30  # a weight next to which the others are negligible
