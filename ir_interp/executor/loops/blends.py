# mypy: disable-error-code="untyped-decorator,no-untyped-call"
"""Outputs of 8-bit integers from two by two neighbours, each computed at once without intermediate arrays.

The sum of two rows, at both columns, fits an int32, that of all four a float64.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types

from ir_interp.array_types import Array
from ir_interp.executor.loops.compiling import compiled
from ir_interp.executor.loops.vectors import AHEAD, array_data, fetch, intrinsic, large, nearest_byte, spread

_BOTH, _ONE = 8, 4  # cells of two pixels, and of one, that are read and written; with three channels some are not used
_BYTE, _INDEX, _WIDE = ir.IntType(8), ir.IntType(32), ir.IntType(32)


def _blending(depth: int) -> Any:
    """Return a function that computes a pixel of ``depth`` channels."""

    @intrinsic
    def blend(
        context: Any, x: Any, upper: Any, lower: Any, above: Any, below: Any, weights: Any, at: Any, y: Any, place: Any
    ) -> Any:
        def made(target: Any, builder: Any, signature: Any, values: Any) -> Any:
            source, factors, goal = (array_data(target, builder, signature, values, k) for k in (0, 5, 7))
            wide, exact = ir.VectorType(_WIDE, _BOTH), ir.VectorType(ir.DoubleType(), _ONE)
            total = ir.Constant(wide, None)
            for begin, weight in zip(values[1:3], values[3:5], strict=True):
                pointer = builder.gep(source, [begin])
                cells = builder.load(builder.bitcast(pointer, ir.VectorType(_BYTE, _BOTH).as_pointer()), align=1)
                fetch(builder, builder.gep(pointer, [ir.Constant(ir.IntType(64), AHEAD)]))
                cells = (builder.sext if x.dtype.signed else builder.zext)(cells, wide)
                total = builder.add(total, builder.mul(cells, spread(builder, weight, wide)))
            # Added to this number, the mean is rounded half to even, and its last byte is the pixel.
            mean = large(exact)
            products = []
            for side in (0, 1):
                lanes = ir.Constant(ir.VectorType(_INDEX, _ONE), [(side * depth + k) % _BOTH for k in range(_ONE)])
                weight = builder.load(builder.gep(factors, [builder.add(values[6], ir.Constant(values[6].type, side))]))
                sums = builder.sitofp(builder.shuffle_vector(total, total, lanes), exact)
                products.append(builder.fmul(sums, spread(builder, weight, exact)))
            mean = builder.fadd(builder.fadd(*products), mean)
            bits = builder.bitcast(mean, ir.VectorType(ir.IntType(64), _ONE))
            pixel = builder.trunc(bits, ir.VectorType(_BYTE, _ONE))
            builder.store(pixel, builder.bitcast(builder.gep(goal, [values[8]]), pixel.type.as_pointer()), align=1)
            return target.get_dummy_value()

        position = types.intp
        return types.none(x, position, position, types.int32, types.int32, weights, position, y, position), made

    return blend


_blend_three, _blend_four = _blending(3), _blending(4)


@compiled
def blended(
    x: Array,
    y: Array,
    start: int,
    stop: int,
    height: int,
    first_rows: Array,
    row_weights: Array,
    first_columns: Array,
    column_weights: Array,
    depth: int,
    safe: int,
) -> None:
    """Compute rows ``start`` to ``stop`` of ``y``, rounded half to even; no sum exceeds the range of the type.

    For the first ``safe`` outputs, eight cells of either row may be read, and four written.
    """
    cells, cells_out, count = x.shape[1], y.shape[1], len(first_columns)
    source, target, weights = x.reshape(-1), y.reshape(-1), column_weights.reshape(-1)
    for out in range(start, stop):
        image, place = divmod(out, len(first_rows))
        upper, to = (image * height + first_rows[place]) * cells, out * cells_out
        lower, above, below = upper + cells, row_weights[place, 0], row_weights[place, 1]
        for i in range(safe):
            at = np.intp(first_columns[i])
            if depth == 3:
                _blend_three(source, upper + at, lower + at, above, below, weights, 2 * i, target, to + 3 * i)
            else:
                _blend_four(source, upper + at, lower + at, above, below, weights, 2 * i, target, to + 4 * i)
        for i in range(safe, count):
            for cell in range(depth):
                total = 0.0
                for side in range(2):
                    at = np.intp(first_columns[i]) + side * depth + cell
                    total += (source[upper + at] * above + source[lower + at] * below) * column_weights[i, side]
                target[to + i * depth + cell] = nearest_byte(total)
