"""The order in which axes are summed, decided for the whole array, so that a piece of it has the same bits."""

from __future__ import annotations

import math
from typing import NamedTuple

from ir_interp.plan.axes.coordinates import AxisPlan
from ir_interp.plan.axes.geometry import Plan
from ir_interp.plan.axes.taps import count
from ir_interp.spec import Nearest

_BLOCK, _LANES = 4, 16  # outputs of a block of rows, and cells of a block along rows, for a matrix product


def in_order(bound: Plan) -> list[AxisPlan]:
    """Return the axes of a plan in order: of two the order with fewer products, of more those that shrink first.

    For copies, axes that shrink go first, and among these the one with longer pieces.
    """
    axes = sorted(bound.axes, key=lambda axis: axis.axis)
    if isinstance(bound.spec.kernel, Nearest):
        return sorted(axes, key=lambda axis: (0, axis.axis) if axis.out_size < axis.in_size else (1, -axis.axis))
    if len(axes) != 2 or 0 in bound.out_shape:
        return sorted(axes, key=lambda axis: (axis.out_size / axis.in_size, -axis.axis))
    rows, columns = axes
    depth = math.prod(bound.in_shape[columns.axis + 1 :])
    of_rows, of_columns = (Extent(axis.in_size, axis.out_size, count(bound, axis)) for axis in axes)
    return axes if are_rows_first(of_rows, of_columns, depth) else [columns, rows]


class Extent(NamedTuple):
    """The numbers of inputs, of outputs and of all their taps along an axis."""

    inputs: int
    outputs: int
    taps: int

    def terms(self, block: int) -> float:
        """Return the number of inputs that a block of outputs covers: the terms of each of its sums."""
        return (block - 1) * self.inputs / self.outputs + self.taps / self.outputs


def are_rows_first(rows: Extent, columns: Extent, depth: int) -> bool:
    """Return whether summing rows before columns takes fewer products, with ``depth`` cells each."""
    of_rows, along_rows = rows.terms(_BLOCK), columns.terms(_BLOCK)
    if depth < _LANES:  # the weights of a cell are zeros for the other cells of its pixel
        along_rows = depth * columns.terms(max(1, _LANES // depth))
    # For each output: the second sum, and as many of the first as the second axis shrinks by.
    rows_first = of_rows * columns.inputs / columns.outputs + along_rows
    columns_first = along_rows * rows.inputs / rows.outputs + of_rows
    return rows_first < columns_first
