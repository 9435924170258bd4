"""Which pixels image libraries weigh, and by how much, to the last bit: what is then made a whole number shows it.

Formulas: Pillow's ``Resample.c``, PyTorch's ``UpSampleKernel.cpp`` (the same filter), OpenCV's ``resize.cpp``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.plan.axes import kernels
from ir_interp.plan.axes.coordinates import AxisPlan, Positions, half_pixels, positions
from ir_interp.plan.axes.correctly_rounded import cosine, sine
from ir_interp.plan.axes.prefilter_taps import within
from ir_interp.spec import Area, Arithmetic, Continuous, Cubic, Kernel, Lanczos, Linear

Array = NDArray[Any]
Weighted = tuple[Array, Array]
"""Indices and weights [out, taps]."""

_TRANSLATE = (Arithmetic.TENSORFLOW, Arithmetic.JAX)
_OPENCV = (Arithmetic.OPENCV, Arithmetic.OPENCV_EXACT)


def is_own(kernel: Kernel, arithmetic: Arithmetic) -> bool:
    """Say whether a library weighs pixels by another formula than the kernel's, not only in other numbers."""
    if isinstance(kernel, Area):
        return arithmetic in _OPENCV
    return arithmetic is Arithmetic.TENSORFLOW and isinstance(kernel, Cubic) and not kernel.is_antialiased


def weighted(kernel: Continuous | Area, axis: AxisPlan, *, any_growing: bool) -> Weighted | None:
    """Return the taps of an axis in the order of its library; None where that does not matter."""
    if axis.arithmetic in _OPENCV and isinstance(kernel, Area):
        return _covered_in_growing(axis) if any_growing else covered(axis)
    if axis.arithmetic is Arithmetic.OPENCV and isinstance(kernel, Linear | Cubic | Lanczos):
        return _opencv(kernel, axis)
    if axis.arithmetic is Arithmetic.IPP and isinstance(kernel, Linear | Cubic):
        return _ipp(kernel, axis)
    if isinstance(kernel, Area):
        return _covered_in_singles(axis) if axis.arithmetic in _TRANSLATE else None
    if isinstance(kernel, Cubic) and is_own(kernel, axis.arithmetic):
        return _tabulated(kernel, axis)
    if axis.arithmetic in _TRANSLATE and kernels.sums_to_one(kernel):
        return _translated(kernel, axis)
    if kernel.is_antialiased:
        return _filtered(kernel, axis)
    return None


def _filtered(kernel: Continuous, axis: AxisPlan) -> Weighted:
    """Weigh the pixels of a window in float64, as Pillow and PyTorch do; none lies outside the image."""
    step = float(1 / axis.scale)
    wide = max(step, 1.0)
    support, narrow = float(kernels.radius(kernel)) * wide, 1.0 / wide
    centre = float(axis.start) + (np.arange(axis.out_size) + 0.5) * step
    first = np.maximum(np.trunc(centre - support + 0.5), 0)
    stop = np.minimum(np.trunc(centre + support + 0.5), axis.in_size)
    order = np.arange(max(int((stop - first).max()), 1))
    places = first[:, None] + order
    weights = kernels.weigh(kernel, (places - centre[:, None] + 0.5) * narrow)
    weights = np.where(order < (stop - first)[:, None], weights, 0.0)
    total = np.cumsum(weights, axis=1)[:, -1:]  # from the first to the last
    return np.minimum(places, axis.in_size - 1), weights / np.where(total == 0, 1.0, total)


def _opencv(kernel: Linear | Cubic | Lanczos, axis: AxisPlan) -> Weighted:
    """Weigh the neighbours in float32; those beyond the image fall on its edge."""
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


def _ipp(kernel: Linear | Cubic, axis: AxisPlan) -> Weighted:
    """Weigh the neighbours in float32, those of cubic by places that lost what float32 does not hold beside 1."""
    one, at = np.float32(1), positions(axis)
    place = at.fraction.astype(np.float32)
    if isinstance(kernel, Linear):
        weights = [one - place, place]
    else:
        weights = _keys(((place + one) - one).astype(np.float64), kernel.a)
    return _neighbours(kernel, axis, at), np.stack(weights, axis=1).astype(np.float32)


def _neighbours(kernel: Linear | Cubic | Lanczos, axis: AxisPlan, at: Positions) -> Array:
    """Return the pixels on both sides of every output, as many as the kernel reaches."""
    reach = int(kernels.radius(kernel))
    places: Array = within(at.floor[:, None] + np.arange(1 - reach, reach + 1), axis.in_size, kernel.border)
    return places


_TABLE = 1024  # steps from a pixel to the next


def _tabulated(kernel: Cubic, axis: AxisPlan) -> Weighted:
    """Weigh four neighbours by a table of the kernel, as TensorFlow's ``ResizeBicubic`` does."""
    at, steps = positions(axis), np.arange(-1, 3)
    fraction = np.rint(at.fraction * _TABLE) / _TABLE
    places = at.floor[:, None].astype(np.int64) + steps
    weights = kernels.weigh(kernel, steps - fraction[:, None])
    if kernel.exclude_outside:
        weights = np.where((places >= 0) & (places < axis.in_size), weights, 0.0)
        weights = weights / weights.sum(axis=1, keepdims=True)
    return np.clip(places, 0, axis.in_size - 1), weights


def _translated(kernel: Continuous, axis: AxisPlan) -> Weighted:
    """Weigh the pixels of a window by float32 distances, as TensorFlow's ``ScaleAndTranslate`` and JAX do."""
    one = np.float32(1)
    if axis.arithmetic is Arithmetic.JAX:  # measures from the middles of pixels
        step, middle = np.float32(float(1 / axis.scale)), np.float32(0)
        at = half_pixels(axis.out_size, step)
    else:
        step, middle = one / np.float32(float(axis.scale)), np.float32(0.5)
        at = (np.arange(axis.out_size, dtype=np.float32) + middle) * step
    at = at + np.float32(float(axis.start))
    wide = max(step, one) if kernel.is_antialiased else one
    reach = np.float32(float(kernels.radius(kernel))) * wide
    first = np.clip(np.ceil(at - reach - middle), 0, axis.in_size - 1)
    last = np.clip(np.floor(at + reach - middle), 0, axis.in_size - 1)
    places = first[:, None] + np.arange(int((last - first).max()) + 1, dtype=np.float32)
    distance = np.abs((places + middle - at[:, None]) * (one / wide))
    weights = np.where(places <= last[:, None], kernels.weigh(kernel, distance.astype(np.float64)), 0.0)
    return np.minimum(places, axis.in_size - 1), weights / weights.sum(axis=1, keepdims=True)


def _covered_in_singles(axis: AxisPlan) -> Weighted:
    """Weigh pixels by the part of [i * step, (i + 1) * step) that they cover, in float32: TensorFlow's, JAX's area."""
    is_jax = axis.arithmetic is Arithmetic.JAX
    step = np.float32(float(axis.step or 1 / axis.scale))
    edges = np.arange(axis.out_size + 1, dtype=np.float32) * step
    start, stop = edges[:-1, None], edges[:-1, None] + step if is_jax else edges[1:, None]
    reach = int((np.ceil(stop) - np.floor(start)).max())
    places = np.floor(start) + np.arange(reach, dtype=np.float32)
    cover = np.maximum(np.minimum(stop, places + 1) - np.maximum(start, places), 0)
    if is_jax:
        cover = np.where(places < axis.in_size, cover, 0)
        return np.minimum(places, axis.in_size - 1), cover / cover.sum(axis=1, keepdims=True)
    cover = np.where((start > places) & (stop < places + 1), step, cover)
    return np.minimum(places, axis.in_size - 1), cover / step


def _keys(x: Array, a: Any) -> list[Array]:
    one = np.float32(1)
    outer = ((a * (x + one) - 5 * a) * (x + one) + 8 * a) * (x + one) - 4 * a
    left = ((a + 2) * x - (a + 3)) * x * x + one
    right = ((a + 2) * (one - x) - (a + 3)) * (one - x) * (one - x) + one
    return [outer, left, right, one - outer - left - right]


_DIAGONAL = 0.70710678118654752440084436210485
_TURNS = ((1, 0), (-_DIAGONAL, -_DIAGONAL), (0, 1), (_DIAGONAL, -_DIAGONAL))
_ALL_TURNS = (*_TURNS, *((-of_sine, -of_cosine) for of_sine, of_cosine in _TURNS))


def _lanczos(x: Array) -> list[Array]:
    """Return the weights of eight neighbours: sines of the others are turned from that of the first."""
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


_ON_PIXEL, _ALL = 1e-6, 1e30  # a weight beside which the others are nothing

_SLIVER = 1e-3  # of a pixel: less is left out


def covered(axis: AxisPlan) -> Weighted:
    """Weigh pixels by the part of [i, i + 1) * step that they cover, whole ones alike."""
    step = 1.0 / np.float64(axis.scale)
    start = np.arange(axis.out_size) * step
    stop, cell = start + step, np.minimum(step, axis.in_size - start)
    last = np.minimum(np.floor(stop), axis.in_size - 1)
    first = np.minimum(np.ceil(start), last)
    begin = np.where(first - start > _SLIVER, (first - start) / cell, 0.0)
    end = np.where(stop - last > _SLIVER, np.minimum(np.minimum(stop - last, 1.0), cell) / cell, 0.0)
    places = (first - 1)[:, None] + np.arange(int((last - first).max()) + 2)
    inside = (places >= first[:, None]) & (places < last[:, None])
    weights = np.where(inside, (1.0 / cell)[:, None], 0.0)
    weights = np.where(places == (first - 1)[:, None], begin[:, None], weights)
    weights = np.where(places == last[:, None], end[:, None], weights)
    return np.clip(places, 0, axis.in_size - 1), weights.astype(np.float32)


def _covered_in_growing(axis: AxisPlan) -> Weighted:
    """Weigh two neighbours by what an output covers of each: of any axis, if one of them grows."""
    scale, index = np.float64(axis.scale), np.arange(axis.out_size)
    floor = np.floor(index * (1.0 / scale))
    place = ((index + 1) - (floor + 1) * scale).astype(np.float32)
    place = np.where(place <= 0, np.float32(0), place - np.floor(place)).astype(np.float32)
    indices = np.clip(floor[:, None] + np.arange(2), 0, axis.in_size - 1)
    return indices, np.stack([np.float32(1) - place, place], axis=1)
