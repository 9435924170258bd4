"""Pixels and weights of an axis under onnxruntime's antialias, in its order of operations.

OpenVINO's Pillow modes for 8-bit images have the same weights.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ir_interp.plan.axes import kernels
from ir_interp.plan.runtimes.integer_weights import Sampled
from ir_interp.spec import Cubic, Linear


def filtered(kernel: Linear | Cubic, axis: Sampled) -> tuple[Any, Any]:
    """Return indices and weights [out, taps] as onnxruntime's antialias computes them.

    Its loops over taps are running totals here, since the last bit of a sum depends on the order.
    """
    xp, inverse = axis.xp, 1 / axis.scale
    wide = xp.maximum(inverse, 1.0)
    support, narrow = xp.positive(kernels.radius(kernel) * wide), 1 / wide
    centre = axis.at + 0.5
    start, stop = xp.floor(centre - support + 0.5), xp.floor(centre + support + 0.5)
    order = xp.arange(0, 2 * xp.ceil(support) + 1)
    count = xp.clip(stop - start, 0.0, 2 * xp.ceil(support) + 1)
    start, count, centre = (xp.expand_dims(values, 1) for values in (start, count, centre))
    places = start + order
    distance = xp.positive(xp.abs(places - centre + 0.5) * narrow)
    weights = xp.where(order < count, _weigh(kernel, distance, xp), 0.0)
    inside = (places >= 0) & (places <= axis.length - 1)
    if kernel.exclude_outside:
        weights = xp.where(inside, weights, 0.0)
    total = xp.running_total(weights)
    if not kernel.exclude_outside:
        first = xp.clip(0 - start, 0.0, count - 1)
        last = xp.clip(axis.length - 1 - start, 0.0, count - 1)
        weights = _folded(weights, order, order < first, first, xp)
        weights = _folded(weights, order, (order > last) & (order < count), last, xp)
        weights = xp.where(inside, weights, 0.0)
    # A product by the rounded reciprocal, not a quotient: their last bits differ.
    weights = weights * xp.where(total == 0, 1.0, 1 / xp.where(total == 0, 1.0, total))
    return xp.clip(places, 0.0, axis.length - 1), xp.precise(weights)


def _folded(weights: Any, order: Any, beyond: Any, edge: Any, xp: Any) -> Any:
    """Return weights with those ``beyond`` the image added sequentially to that at its edge."""
    at_edge = order == edge
    edge_weight = xp.sum(xp.where(at_edge, weights, 0.0), axis=1, keepdims=True)
    begin = xp.where(order == 0, edge_weight, 0.0)
    total = xp.running_total(xp.where(beyond, weights, 0.0) + begin)
    return xp.where(at_edge, total, weights)


def _weigh(kernel: Linear | Cubic, distance: Any, xp: Any) -> Any:
    """Return the kernel in onnxruntime's order of operations."""
    if isinstance(kernel, Linear):
        return xp.where(distance < 1, 1 - distance, 0.0)
    # Every product is rounded before the next operation; ``positive`` keeps it so in a graph.
    a, product = float(np.float32(kernel.a)), xp.positive
    near = product(product((product((a + 2) * distance) - (a + 3)) * distance) * distance) + 1
    far = product(product((product((distance - 5) * distance) + 8) * distance) - 4) * a
    return xp.where(distance < 1, near, xp.where(distance < 2, far, 0.0))
