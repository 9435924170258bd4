"""Weights of source pixels by their distance from the sampling point."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from ir_interp.plan.axes.correctly_rounded import cosine, exponential, sine
from ir_interp.spec import Box, Continuous, Cubic, Gaussian, Hamming, Lanczos, Linear, Magic, Mitchell


def radius(kernel: Continuous) -> int | Fraction:
    """Return the distance, in source pixels, from which a kernel is 0."""
    match kernel:
        case Box():
            return Fraction(1, 2)
        case Linear() | Hamming():
            return 1
        case Cubic() | Mitchell():
            return 2
        case Gaussian():
            return _CUT
        case Magic():
            return _MAGIC[kernel.year][0]
        case Lanczos():
            return kernel.radius


def sums_to_one(kernel: Continuous) -> bool:
    """Return whether weights are divided by their sum; those of other kernels sum to 1 already."""
    return kernel.exclude_outside or kernel.is_antialiased or not isinstance(kernel, Linear | Cubic | Mitchell)


def weigh(kernel: Continuous, offset: Any, xp: Any = np) -> Any:
    """Return the weights at ``offset`` from the sampling point, in source pixels.

    ``xp`` holds NumPy's functions, or those of a graph if ``offset`` is a node of it, for linear and cubic only.
    """
    match kernel:
        case Box():
            return box(offset)
        case Linear():
            return triangle(xp.abs(offset), xp)
        case Cubic():
            return keys(xp.abs(offset), kernel.a, xp)
        case Hamming():
            return hamming(np.abs(offset))
        case Lanczos():
            return lanczos(offset, kernel.radius)
        case Gaussian():
            return gaussian(np.abs(offset))
        case Mitchell():
            return mitchell(np.abs(offset))
        case Magic():
            return magic(np.abs(offset), kernel.year)


def box(offset: Any) -> Any:
    """Return 1 above -1/2 and up to 1/2."""
    return np.where((offset > -0.5) & (offset <= 0.5), 1.0, 0.0)


def sinc(offset: Any) -> Any:
    """Return sin(pi t) / (pi t)."""
    angle = np.where(offset == 0, 1.0, offset) * np.pi
    return np.where(offset == 0, 1.0, sine(angle) / angle)


_ROUND, _PEAK = float(np.float32(0.54)), float(np.float32(0.46))  # float32 in Pillow's source


def hamming(distance: Any) -> Any:
    """Return sinc under a Hamming window of radius 1 (Pillow, ``Resampling.HAMMING``)."""
    weights = np.where(distance < 1, sinc(distance) * (_ROUND + _PEAK * cosine(distance * np.pi)), 0.0)
    return np.where(distance == 0, 1.0, weights)  # the two float32 do not sum to 1


def lanczos(offset: Any, radius: int) -> Any:
    """Return sinc(t) sinc(t / radius) from -radius up to below radius (C. E. Duchon, 1979)."""
    inside = (-radius <= offset) & (offset < radius)
    return np.where(inside, sinc(offset) * sinc(offset / radius), 0.0)


_CUT, _DEVIATION = Fraction(3, 2), 0.5


def gaussian(distance: Any) -> Any:
    """Return exp(-t^2 / (2 / 4)) below 3/2 (TensorFlow, ``ResizeMethod.GAUSSIAN``)."""
    return np.where(distance < float(_CUT), exponential(-np.square(distance / _DEVIATION) / 2), 0.0)


def mitchell(distance: Any) -> Any:
    """Return the cubic of B = C = 1/3 (D. P. Mitchell and A. N. Netravali, 1988, equation 8)."""
    near = (7 * distance - 12) * distance * distance / 6 + 8 / 9
    far = ((12 - 7 / 3 * distance) * distance - 20) * distance / 6 + 16 / 9
    return np.where(distance < 1, near, np.where(distance < 2, far, 0.0))


_MAGIC: dict[int, tuple[Fraction, tuple[Callable[[Any], Any], ...]]] = {  # radius; pieces up to 1/2, 3/2, 5/2 ...
    2013: (
        Fraction(5, 2),
        (
            lambda t: 17 / 16 - 7 / 4 * (t * t),
            lambda t: (1 - t) * (7 / 4 - t),
            lambda t: -1 / 8 * (t - 5 / 2) * (t - 5 / 2),
        ),
    ),
    2021: (
        Fraction(9, 2),
        (
            lambda t: 577 / 576 - 239 / 144 * (t * t),
            lambda t: 35 / 36 * (t - 1) * (t - 239 / 140),
            lambda t: 1 / 6 * (t - 2) * (65 / 24 - t),
            lambda t: 1 / 36 * (t - 3) * (t - 15 / 4),
            lambda t: -1 / 288 * ((t - 9 / 2) * (t - 9 / 2)),  # the square first, as pow() in C
        ),
    ),
}


def magic(distance: Any, year: int) -> Any:
    """Return the quadratic spline, sharpened (J. P. Costella, "Solving the mystery of Magic Kernel Sharp")."""
    _, pieces = _MAGIC[year]
    ends = [distance < place + 0.5 for place in range(len(pieces))]
    return np.select(ends, [piece(distance) for piece in pieces], 0.0)


def triangle(distance: Any, xp: Any = np) -> Any:
    """Return 1 - |t|, at least 0: linear interpolation (ONNX Resize-19, ``mode=linear``)."""
    return xp.maximum(0.0, 1.0 - distance)


def keys(distance: Any, a: float, xp: Any = np) -> Any:
    """Return Keys' cubic convolution kernel (ONNX Resize-19, ``mode=cubic``; R. G. Keys, 1981, equation 15)."""
    near = ((a + 2.0) * distance - (a + 3.0)) * distance * distance + 1.0
    far = ((a * distance - 5.0 * a) * distance + 8.0 * a) * distance - 4.0 * a
    return xp.where(distance <= 1.0, near, xp.where(distance < 2.0, far, 0.0))
