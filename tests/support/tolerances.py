"""How far floats of an image library may lie from those of ``ir_interp``: a bound from lengths and taps.

With u = 2**-24 (2**-53 where both compute in float64), M the largest magnitude of the image and, for each axis, T
taps whose magnitudes sum to A:

    apart <= M * u * product(A) * sum over axes (2 * (T + 2) + k * L * S)

Each side rounds T products and sums, the weights, and the result: T + 2 roundings of at most M * A. A coordinate up to
the length L that k roundings separate moves by k * u * L pixels, and the value by S * M times that: S is half the
sum of the slopes of the weights, since these sum to 1 and the values span M at most.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.plan import formulas
from ir_interp.plan.taps import Plan, Taps, axis_taps
from ir_interp.shapes import ARRAYS
from ir_interp.specs import Area, Continuous, Kernel, Mean, Mode, Nearest

ROUNDINGS = {
    "pillow": 0,
    "scipy": 0,
    "skimage": 0,
    "opencv": 1,
    "tensorflow": 2,
    "jax": 2,
    "paddle": 3,
    "torch": 3,
    "torchvision": 3,
}
"""The error of a float32 coordinate, on both sides together: none where the library computes it in float64.

OpenCV stores a float64 place as float32. TensorFlow and JAX round a step, and a product. PyTorch and Paddle round the
step, the product and the difference, in float32, where ``ir_interp`` computes in float64.
"""
_DOUBLE = ("scipy", "torch")  # sum float64 images in float64 throughout


def tolerance(library: str, bound: Plan, x: NDArray[Any]) -> float:
    """Return how far two resizes of ``x`` may lie apart."""
    if isinstance(bound.spec.kernel, Nearest) or not bound.axes or not x.size:
        return 0.0
    unit = 2.0**-53 if x.dtype == np.float64 and library in _DOUBLE else 2.0**-24
    taps = axis_taps(bound)
    roundings = sum(2 * (_count(each) + 2) for each in taps)
    moves = sum(axis.in_size * _slope(bound.spec.kernel) for axis in bound.axes)
    largest = float(np.abs(x.astype(np.float64)).max())
    return largest * unit * math.prod(map(_sum, taps)) * (roundings + ROUNDINGS[library] * moves)


def _count(taps: Taps) -> int:
    return int(np.count_nonzero(taps.weights, axis=1).max()) if taps.weights is not None else 1


def _sum(taps: Taps) -> float:
    return 1.0 if taps.weights is None else max(1.0, float(np.abs(taps.weights).sum(axis=1).max()))


@cache
def _slope(kernel: Kernel) -> float:
    """Return half the largest sum of the slopes of a kernel at pixels, be it not widened: a wider one is flatter."""
    if isinstance(kernel, Area | Mean | Mode | Nearest):
        return 1.0
    return _slope_of(kernel)


def _slope_of(kernel: Continuous) -> float:
    reach, step = math.ceil(formulas.radius(kernel)) + 1, 2.0**-10
    at = np.arange(-reach, reach)[:, None] + np.arange(0, 1, step)
    slopes = np.abs(np.diff(formulas.weigh(kernel, at, ARRAYS), axis=1)) / step
    return max(1.0, float(slopes.sum(axis=0).max()) / 2)
