"""How much a source pixel weighs, by its distance from the sampling point."""

from __future__ import annotations

from typing import Any

import numpy as np

from ir_interp.spec import Cubic, Linear


def radius(kernel: Linear | Cubic) -> int:
    """Return the distance, in source pixels, from which a kernel is 0."""
    return 1 if isinstance(kernel, Linear) else 2


def weigh(kernel: Linear | Cubic, distance: Any, xp: Any = np) -> Any:
    """Return the weights at ``distance`` >= 0 from the sampling point, in source pixels.

    ``xp`` holds NumPy's functions, or those of a graph where ``distance`` is a node of it.
    """
    return triangle(distance, xp) if isinstance(kernel, Linear) else keys(distance, kernel.a, xp)


def triangle(distance: Any, xp: Any = np) -> Any:
    """Return 1 - |t|, at least 0: linear interpolation (ONNX Resize-19, ``mode=linear``)."""
    return xp.maximum(0.0, 1.0 - distance)


def keys(distance: Any, a: float, xp: Any = np) -> Any:
    """Return Keys' cubic convolution kernel (ONNX Resize-19, ``mode=cubic``; R. G. Keys, 1981, equation 15)."""
    near = ((a + 2.0) * distance - (a + 3.0)) * distance * distance + 1.0
    far = ((a * distance - 5.0 * a) * distance + 8.0 * a) * distance - 4.0 * a
    return xp.where(distance <= 1.0, near, xp.where(distance < 2.0, far, 0.0))
