"""Positions of output pixels in the input, for the coordinates of rasters and pyramids."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ir_interp.plan.axes.coordinates import AxisPlan
from ir_interp.plan.axes.prefilter_taps import Blocks
from ir_interp.spec import Area, Coordinates, Kernel, Mean, Nearest, Rounding

_HALF = Fraction(1, 2)


@dataclass(frozen=True, slots=True)
class PixelGrid:
    """The pixels of an axis, in input pixels whose centres are 0, 1, 2 ...

    ``first`` is the centre of the first one, ``step`` their size.
    """

    first: float = 0.0
    step: float = 1.0

    @property
    def corner(self) -> float:
        """The beginning of the first pixel, counted from the corner of the first input pixel."""
        return self.first + 0.5 - self.step / 2

    def centres(self, count: int) -> NDArray[np.float64]:
        """Return the centres of the first ``count`` pixels."""
        return np.arange(count, dtype=np.float64) * self.step + self.first

    def behind(self, pad: int) -> PixelGrid:
        """Return the grid in pixels of an input without the ``pad`` in front of it."""
        return PixelGrid(self.first - pad, self.step)


def pixel_grid(axis: AxisPlan | None, kernel: Kernel) -> PixelGrid:
    """Return the pixels of an output along an axis, which is None if it keeps its pixels.

    A sum lies where its weights are centred. A copied pixel may be anywhere in the part of the input that an output
    pixel stands for, so a resize of the whole input has the bounds of the whole.
    """
    if axis is None:
        return PixelGrid()
    # Aligned corners of a single pixel have no step; the pixel is as large as the ratio of the sizes.
    step, first = axis.step or 1 / axis.scale, axis.offset
    if isinstance(kernel, Area | Mean):  # positions are the beginnings of areas
        first += (step - 1) / 2
    elif isinstance(kernel, Nearest):
        first = _of_copies(axis, kernel.rounding)
    if isinstance(axis.before, Blocks):  # whose positions count blocks
        first = (first + _HALF) * axis.before.size + axis.before.start - _HALF
        step *= axis.before.size
    return PixelGrid(float(first), float(step))


_OF_WHOLE = (
    Coordinates.ASYMMETRIC,
    Coordinates.HALF_PIXEL,
    Coordinates.TF_HALF_PIXEL_FOR_NN,
    Coordinates.TF_HALF_PIXEL_THROUGHOUT,
)
"""Coordinates under which the outputs divide the input evenly: output i stands for [i * step, (i + 1) * step)."""

_ROUNDED = {  # by how much a copied pixel is below or above the coordinate
    Rounding.FLOOR: (Fraction(-1), Fraction(0)),
    Rounding.CEIL: (Fraction(0), Fraction(1)),
    Rounding.ROUND_PREFER_FLOOR: (-_HALF, _HALF),
    Rounding.ROUND_PREFER_CEIL: (-_HALF, _HALF),
}


def _of_copies(axis: AxisPlan, rounding: Rounding) -> Fraction:
    """Return the centre of the first output pixel of a nearest resize."""
    if rounding is Rounding.SIMPLE:
        rounding = Rounding.CEIL if axis.scale < 1 else Rounding.FLOOR
    below, above = _ROUNDED[rounding]
    ahead = axis.offset - axis.start  # how far the coordinate is from the beginning of its part
    # The copied pixel covers [copied, copied + 1); the whole grid is true if that always touches the part.
    if axis.coordinates in _OF_WHOLE and ahead + below >= -1 and ahead + above <= axis.step:
        return axis.start + (axis.step - 1) / 2
    return axis.offset + (below + above) / 2
