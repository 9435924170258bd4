"""Pixels and weights of an axis, in the order of operations in which runtimes compute them for integers."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from ir_interp.spec import Cubic

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


def whole(x: Any, xp: Any) -> Any:
    """Return integers, rounded half away from zero."""
    # Not floor(size + 0.5): that sum is 1 for the largest float32 below a half.
    size = xp.abs(x)
    below = xp.floor(size)
    rounded = xp.where(size - below >= 0.5, below + 1, below)
    return xp.where(x < 0, 0 - rounded, rounded)
