"""Filters of an axis before the resize, as taps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ir_interp.array_types import Array
from ir_interp.plan.axes.correctly_rounded import exponential
from ir_interp.spec.modes import Border

_REACH = 4.0  # standard deviations


@dataclass(frozen=True, slots=True)
class Blocks:
    """Pixels from ``start`` to ``stop`` are averaged in blocks of ``size``; the last may be shorter."""

    start: int
    stop: int
    size: int

    def count(self, in_size: int) -> int:
        """Return the number of blocks."""
        return -(-(self.stop - self.start) // self.size)

    @property
    def reach(self) -> int:
        """The number of pixels in a block."""
        return self.size

    @property
    def edges(self) -> Array:
        """The start of each block, and the end of the last."""
        return np.append(np.arange(self.start, self.stop, self.size), self.stop)

    def origin(self, place: Array) -> Array:
        """Return the position among the pixels of a position among the blocks."""
        return (place + 0.5) * self.size + self.start - 0.5

    def weighted(self, in_size: int) -> tuple[Array, Array]:
        """Return indices and weights [blocks, pixels]."""
        starts, stops = self.edges[:-1, None], self.edges[1:, None]
        places = starts + np.arange(self.size)
        return np.minimum(places, self.stop - 1), np.where(places < stops, 1.0 / (stops - starts), 0.0)


@dataclass(frozen=True, slots=True)
class Bell:
    """Every pixel becomes a sum under a Gaussian (``ndimage`` of SciPy)."""

    deviation: float
    border: Border

    def count(self, in_size: int) -> int:
        """Return the number of output pixels for a number of input pixels."""
        return in_size

    @property
    def reach(self) -> int:
        """The number of pixels in a sum."""
        return 2 * self._radius + 1

    @property
    def _radius(self) -> int:
        return int(_REACH * self.deviation + 0.5)

    def origin(self, place: Array) -> Array:
        """Return the position unchanged."""
        return place

    def weighted(self, in_size: int) -> tuple[Array, Array]:
        """Return indices and weights [pixels, neighbours]."""
        steps = np.arange(-self._radius, self._radius + 1)
        weights = exponential(-0.5 / self.deviation**2 * steps**2)
        indices = within(np.arange(in_size)[:, None] + steps, in_size, self.border)
        return indices, np.broadcast_to(weights / weights.sum(), indices.shape)


Before = Blocks | Bell


def within(places: Any, in_size: Any, border: Border, xp: Any = np) -> Any:
    """Return the pixels of an axis at positions, which may be beyond the axis.

    ``xp`` holds NumPy's functions, or a graph's for the edge border.
    """
    if border is Border.EDGE:
        return xp.clip(places, 0, in_size - 1)
    repeated = 1 if border is Border.SYMMETRIC else 0  # how often the last pixel appears at a mirror
    period = 2 * (in_size - 1 + repeated)
    turned = np.mod(places, period) if period else places * 0
    return np.minimum(turned, abs(period - repeated - turned))
