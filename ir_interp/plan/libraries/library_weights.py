"""Weights of image libraries, exact to the last bit, which affects the rounded integer.

The formula here is that of Pillow's ``Resample.c`` and PyTorch's ``UpSampleKernel.cpp``, which are the same filter.
"""

from __future__ import annotations

import numpy as np

from ir_interp.array_types import Weighted
from ir_interp.plan.axes import kernels
from ir_interp.plan.axes.coordinates import AxisPlan
from ir_interp.plan.libraries import opencv_area_weights, opencv_weights, tensorflow_jax_weights
from ir_interp.spec import Area, Arithmetic, Continuous, Cubic, Kernel, Lanczos, Linear

_TRANSLATE = (Arithmetic.TENSORFLOW, Arithmetic.JAX)
_OPENCV = (Arithmetic.OPENCV, Arithmetic.OPENCV_EXACT)


def is_own(kernel: Kernel, arithmetic: Arithmetic) -> bool:
    """Return whether a library has another formula than the kernel's, not only other number types."""
    if isinstance(kernel, Area):
        return arithmetic in _OPENCV
    return arithmetic is Arithmetic.TENSORFLOW and isinstance(kernel, Cubic) and not kernel.is_antialiased


def weighted(kernel: Continuous | Area, axis: AxisPlan, *, any_growing: bool) -> Weighted | None:
    """Return the taps of an axis in the order of its library; None if the order makes no difference."""
    if axis.arithmetic in _OPENCV and isinstance(kernel, Area):
        return opencv_area_weights.covered_in_growing(axis) if any_growing else opencv_area_weights.covered(axis)
    if axis.arithmetic is Arithmetic.OPENCV and isinstance(kernel, Linear | Cubic | Lanczos):
        return opencv_weights.neighbours_in_singles(kernel, axis)
    if axis.arithmetic is Arithmetic.IPP and isinstance(kernel, Linear | Cubic):
        return opencv_weights.neighbours_of_ipp(kernel, axis)
    if isinstance(kernel, Area):
        return tensorflow_jax_weights.covered_in_singles(axis) if axis.arithmetic in _TRANSLATE else None
    if isinstance(kernel, Cubic) and is_own(kernel, axis.arithmetic):
        return tensorflow_jax_weights.tabulated(kernel, axis)
    if axis.arithmetic in _TRANSLATE and kernels.sums_to_one(kernel):
        return tensorflow_jax_weights.translated(kernel, axis)
    if kernel.is_antialiased:
        return _filtered(kernel, axis)
    return None


def _filtered(kernel: Continuous, axis: AxisPlan) -> Weighted:
    """Return the pixels of a window and their weights in float64, as Pillow and PyTorch do; none is out of bounds."""
    step = float(1 / axis.scale)
    wide = max(step, 1.0)
    support, narrow = float(kernels.radius(kernel)) * wide, 1.0 / wide
    centre = float(axis.start) + (axis.index + 0.5) * step
    # C casts to int before it compares with 0, and a cast truncates.
    first = np.maximum(np.trunc(centre - support + 0.5), 0)
    stop = np.minimum(np.trunc(centre + support + 0.5), axis.in_size)
    order = np.arange(max(int((stop - first).max()), 1))
    places = first[:, None] + order
    weights = kernels.weigh(kernel, (places - centre[:, None] + 0.5) * narrow)
    weights = np.where(order < (stop - first)[:, None], weights, 0.0)
    total = np.cumsum(weights, axis=1)[:, -1:]  # from the first to the last
    return np.minimum(places, axis.in_size - 1), weights / np.where(total == 0, 1.0, total)
