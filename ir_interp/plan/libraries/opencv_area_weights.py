"""OpenCV's INTER_AREA: the pixels that an output covers, and their weights. Formulas of ``resize.cpp``."""

from __future__ import annotations

import numpy as np

from ir_interp.array_types import Weighted
from ir_interp.plan.axes.coordinates import AxisPlan

_SLIVER = 1e-3  # of a pixel; a smaller part is left out


def covered(axis: AxisPlan) -> Weighted:
    """Return weights of pixels by the covered part of [i, i + 1) * step; fully covered ones are equal."""
    step = 1.0 / np.float64(axis.scale)
    start = axis.index * step
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


def covered_in_growing(axis: AxisPlan) -> Weighted:
    """Return weights of two neighbours by the covered part of each, for any axis if one of them grows."""
    scale, index = np.float64(axis.scale), axis.index
    floor = np.floor(index * (1.0 / scale))
    # The part of an output, in outputs, beyond the end of its first pixel; not positive if it ends before.
    place = ((index + 1) - (floor + 1) * scale).astype(np.float32)
    place = np.where(place <= 0, np.float32(0), place - np.floor(place)).astype(np.float32)
    indices = np.clip(floor[:, None] + np.arange(2), 0, axis.in_size - 1)
    return indices, np.stack([np.float32(1) - place, place], axis=1)
