"""Pixels and weights of an axis, in the order of operations in which runtimes compute them for integers."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from ir_interp.plan.axes import kernels
from ir_interp.spec import Cubic, Linear

SINGLE = SimpleNamespace(
    **{name: getattr(np, name) for name in ("floor", "ceil", "abs", "where", "clip", "minimum", "maximum")},
    **{name: getattr(np, name) for name in ("expand_dims", "positive", "sum")},
    arange=lambda start, stop: np.arange(start, stop, dtype=np.float32),
    precise=lambda x: x,
    running_total=lambda x: np.cumsum(x, axis=1, dtype=np.float32)[:, -1:],
)
"""NumPy's functions, in float32; ``symbols.Functions`` has the same for nodes of a graph."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sampled:
    """One axis: its size, the scale of its coordinates, and the position of each output, all in float32.

    ``xp`` holds the functions for these: NumPy's, or a graph's.
    """

    length: Any
    scale: Any
    at: Any
    xp: Any


def pair(axis: Sampled, bits: int = 0) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """Return the two neighbours of each output and their weights; at the edge both are one pixel, half each.

    With ``bits``, weights are integers of that many bits.
    """
    xp = axis.xp
    inside = xp.clip(axis.at, 0.0, axis.length - 1)
    low = xp.floor(inside)
    high = xp.minimum(low + 1, axis.length - 1)
    one = 2.0**bits
    place = xp.floor(inside * one) if bits else inside
    weights = (xp.where(low == high, one / 2, xp.abs(place - pixel * one)) for pixel in (high, low))
    near, far = weights
    return (low, high), (near, far)


def four(kernel: Cubic, axis: Sampled) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Return the four neighbours of each output and OpenVINO's form of Keys' weights."""
    xp = axis.xp
    low = xp.floor(axis.at)
    # `positive` keeps a graph's runtime from fusing a product into the sum that follows it.
    m, a, product = axis.at - low, float(np.float32(kernel.a)), xp.positive
    weights = (
        product(product(product(a * (m - 1)) * (m - 1)) * m),
        product(product((product((a + 2) * m) - (a + 3)) * m) * m) + 1,
        product((product((product((-a - 2) * m) + (2 * a + 3)) * m) - a) * m),
        product(product(product(-a * m) * m) * (m - 1)),
    )
    return tuple(xp.clip(low + step, 0.0, axis.length - 1) for step in (-1, 0, 1, 2)), weights


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


def whole(x: Any, xp: Any) -> Any:
    """Return integers, rounded half away from zero."""
    # Not floor(size + 0.5): that sum is 1 for the largest float32 below a half.
    size = xp.abs(x)
    below = xp.floor(size)
    rounded = xp.where(size - below >= 0.5, below + 1, below)
    return xp.where(x < 0, 0 - rounded, rounded)
