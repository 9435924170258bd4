"""In which order axes are summed: decided for the whole of an array, so that a piece of it has the same bits."""

from __future__ import annotations

import math

from ir_interp.plan.coordinates import AxisPlan
from ir_interp.plan.geometry import Plan
from ir_interp.plan.taps import count
from ir_interp.spec import Nearest

_BLOCK, _LANES = 4, 16  # outputs of a block of rows, and cells of a block along rows, of which a product is made


def in_order(bound: Plan) -> list[AxisPlan]:
    """Return the axes of a plan as they are taken: of two the way of fewer products, of more those that shrink first.

    Of copies those that shrink go first, and of these the one of longer pieces.
    """
    axes = sorted(bound.axes, key=lambda axis: axis.axis)
    if isinstance(bound.spec.kernel, Nearest):
        return sorted(axes, key=lambda axis: (0, axis.axis) if axis.out_size < axis.in_size else (1, -axis.axis))
    if len(axes) != 2 or 0 in bound.out_shape:
        return sorted(axes, key=lambda axis: (axis.out_size / axis.in_size, -axis.axis))
    rows, columns = axes
    depth = math.prod(bound.in_shape[columns.axis + 1 :])
    of_rows, along_rows = _terms(bound, rows, _BLOCK), _terms(bound, columns, _BLOCK)
    if depth < _LANES:  # the weights of a cell are zeros for the other cells of its pixel
        along_rows = depth * _terms(bound, columns, max(1, _LANES // depth))
    # For each output: the second sum, and as many of the first as the second axis shrinks by.
    rows_first = of_rows * columns.in_size / columns.out_size + along_rows
    columns_first = along_rows * rows.in_size / rows.out_size + of_rows
    return axes if rows_first < columns_first else [columns, rows]


def _terms(bound: Plan, axis: AxisPlan, block: int) -> float:
    """Return how many inputs a block of outputs of an axis reaches over: the terms of each of its sums."""
    return (block - 1) * axis.in_size / axis.out_size + count(bound, axis) / axis.out_size
