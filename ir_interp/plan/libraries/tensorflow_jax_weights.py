"""Weights of TensorFlow and JAX, in float32."""

from __future__ import annotations

import numpy as np

from ir_interp.array_types import Weighted
from ir_interp.plan.axes import kernels
from ir_interp.plan.axes.coordinates import AxisPlan, half_pixels, positions
from ir_interp.spec import Arithmetic, Continuous, Cubic

_TABLE = 1024  # steps from one pixel to the next


def tabulated(kernel: Cubic, axis: AxisPlan) -> Weighted:
    """Return four neighbours with weights from a table of the kernel, as TensorFlow's ``ResizeBicubic`` does."""
    at, steps = positions(axis), np.arange(-1, 3)
    fraction = np.rint(at.fraction * _TABLE) / _TABLE
    places = at.floor[:, None].astype(np.int64) + steps
    weights = kernels.weigh(kernel, steps - fraction[:, None])
    if kernel.exclude_outside:
        weights = np.where((places >= 0) & (places < axis.in_size), weights, 0.0)
        weights = weights / weights.sum(axis=1, keepdims=True)
    return np.clip(places, 0, axis.in_size - 1), weights


def translated(kernel: Continuous, axis: AxisPlan) -> Weighted:
    """Return the pixels of a window, weighted by float32 distances: TensorFlow's ``ScaleAndTranslate``, and JAX."""
    one = np.float32(1)
    if axis.arithmetic is Arithmetic.JAX:  # the kernel measures from the centres of pixels
        step, middle = np.float32(float(1 / axis.scale)), np.float32(0)
        at = half_pixels(axis.index, step)
    else:
        step, middle = one / np.float32(float(axis.scale)), np.float32(0.5)
        at = (axis.index.astype(np.float32) + middle) * step
    at = at + np.float32(float(axis.start))
    wide = max(step, one) if kernel.is_antialiased else one
    reach = np.float32(float(kernels.radius(kernel))) * wide
    first = np.clip(np.ceil(at - reach - middle), 0, axis.in_size - 1)
    last = np.clip(np.floor(at + reach - middle), 0, axis.in_size - 1)
    places = first[:, None] + np.arange(int((last - first).max()) + 1, dtype=np.float32)
    distance = np.abs((places + middle - at[:, None]) * (one / wide))
    weights = np.where(places <= last[:, None], kernels.weigh(kernel, distance.astype(np.float64)), 0.0)
    return np.minimum(places, axis.in_size - 1), weights / weights.sum(axis=1, keepdims=True)


def covered_in_singles(axis: AxisPlan) -> Weighted:
    """Return weights by the covered part of [i * step, (i + 1) * step) in float32: area of TensorFlow and JAX."""
    is_jax = axis.arithmetic is Arithmetic.JAX
    step = np.float32(float(axis.step or 1 / axis.scale))
    edges = np.append(axis.index, axis.index[-1] + 1).astype(np.float32) * step
    start, stop = edges[:-1, None], edges[:-1, None] + step if is_jax else edges[1:, None]
    reach = int((np.ceil(stop) - np.floor(start)).max())
    places = np.floor(start) + np.arange(reach, dtype=np.float32)
    cover = np.maximum(np.minimum(stop, places + 1) - np.maximum(start, places), 0)
    if is_jax:
        cover = np.where(places < axis.in_size, cover, 0)
        return np.minimum(places, axis.in_size - 1), cover / cover.sum(axis=1, keepdims=True)
    cover = np.where((start > places) & (stop < places + 1), step, cover)
    return np.minimum(places, axis.in_size - 1), cover / step
