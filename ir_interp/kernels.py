"""How much a source pixel weighs, by its distance from the sampling point."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ir_interp.spec import Cubic, Linear

Weights = NDArray[np.float64]


def radius(kernel: Linear | Cubic) -> int:
    """Return the distance, in source pixels, from which a kernel is 0."""
    return 1 if isinstance(kernel, Linear) else 2


def weigh(kernel: Linear | Cubic, distance: Weights) -> Weights:
    """Return the weights at ``distance`` >= 0 from the sampling point, in source pixels."""
    return triangle(distance) if isinstance(kernel, Linear) else keys(distance, kernel.a)


def triangle(distance: Weights) -> Weights:
    """Return 1 - |t|, at least 0: linear interpolation (ONNX Resize-19, ``mode=linear``)."""
    return np.maximum(0.0, 1.0 - distance)


def keys(distance: Weights, a: float) -> Weights:
    """Return Keys' cubic convolution kernel (ONNX Resize-19, ``mode=cubic``; R. G. Keys, 1981, equation 15)."""
    near = ((a + 2.0) * distance - (a + 3.0)) * distance**2 + 1.0
    far = ((a * distance - 5.0 * a) * distance + 8.0 * a) * distance - 4.0 * a
    return np.select([distance <= 1.0, distance < 2.0], [near, far], 0.0)
