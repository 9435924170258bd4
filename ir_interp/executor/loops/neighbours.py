# mypy: disable-error-code="untyped-decorator,no-untyped-call"
"""Outputs of few neighbours: copies, halves and blends of two by two, and sums over the corners of cells.

Halves are means of two by two pixels. Vector instructions pair neighbours, many at a time, which numba's compiler does
not derive from a loop; a sum of four needs 16 bits only. In blends, the sum of two rows, at both columns, fits an
int32, that of all four a float64. Corners are summed with every product and sum rounded separately, then truncated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.core.base import BaseContext
from numba.core.types import Type
from numba.core.typing.context import Context
from numba.core.typing.templates import Signature

from ir_interp.executor.loop_calls import Blended, Copies, Cornered, Halves
from ir_interp.executor.loops.compilation import compiled
from ir_interp.executor.loops.vectors import (
    AHEAD,
    Typed,
    Values,
    array_data,
    fetch,
    intrinsic,
    large,
    nearest_byte,
    spread,
)
from ir_interp.shapes import Array

if TYPE_CHECKING:
    from ir_interp.executor.loops.vectors import ArrayType


@compiled
def copies(x: Array, y: Array, start: int, stop: int, call: Copies) -> None:
    """Copy a pixel of ``x`` to each of rows ``start`` to ``stop`` of ``y``; every pixel twice if ``doubled``.

    Pixels of one, three and four channels have a loop each. Contiguous cells are copied in flat arrays, which numba's
    compiler turns into vector instructions; it does not do so for slices of rows.
    """
    from_rows, from_columns, depth, doubled = call
    count, cells, cells_in = len(from_columns), y.shape[1], x.shape[1]
    one, two, three, next_cell = np.uint32(1), np.uint32(2), np.uint32(3), np.uint64(1)
    source, target = x.reshape(-1), y.reshape(-1)
    for out in range(start, stop):
        row, line = x[from_rows[out]], y[out]
        begin, to = np.uint64(from_rows[out] * cells_in), np.uint64(out * cells)
        if out > start and from_rows[out] == from_rows[out - 1]:
            above = to - np.uint64(cells)
            for i in range(cells):
                target[to + np.uint64(i)] = target[above + np.uint64(i)]
        elif doubled:
            for i in range(count // 2):
                value, place = source[begin + np.uint64(i)], to + np.uint64(2 * i)
                target[place] = value
                target[place + next_cell] = value
        elif depth == 1:
            for i in range(count):
                line[i] = row[from_columns[i]]
        elif depth == 3:
            for i in range(count):
                at = from_columns[i]
                line[3 * i], line[3 * i + 1], line[3 * i + 2] = row[at], row[at + one], row[at + two]
        elif depth == 4:
            for i in range(count):
                at = from_columns[i]
                line[4 * i], line[4 * i + 1] = row[at], row[at + one]
                line[4 * i + 2], line[4 * i + 3] = row[at + two], row[at + three]
        else:
            for i in range(count):
                at, place = begin + np.uint64(from_columns[i]), to + np.uint64(i * depth)
                for cell in range(depth):
                    target[place + np.uint64(cell)] = source[at + np.uint64(cell)]


_READ = 64  # bytes at a time, of each of two rows
_BYTE, _WORD, _INT = ir.IntType(8), ir.IntType(16), ir.IntType(32)


def _halving(depth: int) -> Any:
    """Return a function that halves as many pixels of ``depth`` channels as ``_READ`` bytes hold."""
    firsts = [cell + 2 * depth * pixel for pixel in range(_READ // (2 * depth)) for cell in range(depth)]
    pairs = [at for pixel in firsts for at in (pixel, pixel + depth)]
    order = ir.Constant(ir.VectorType(_INT, _READ), pairs + [0] * (_READ - len(pairs)))
    words = ir.VectorType(_WORD, _READ // 2)

    def every(value: int) -> ir.Constant:
        return ir.Constant(words, [value] * words.count)

    @intrinsic
    def halve(
        context: Context, x: ArrayType, upper: Type, lower: Type, parity: Type, y: ArrayType, place: Type
    ) -> Typed:
        def made(target: BaseContext, builder: ir.IRBuilder, _: Signature, values: Values) -> ir.Value:
            source, goal = (target.make_array(kind)(target, builder, values[at]).data for kind, at in ((x, 0), (y, 4)))
            # Four bytes and a half of their number sum to 1022 at most, so lanes of 16 bits hold every step.
            total = every(0)
            for at in values[1:3]:
                pointer = builder.gep(source, [at])
                fetch(builder, builder.gep(pointer, [ir.Constant(ir.IntType(64), AHEAD)]))
                cells = builder.load(builder.bitcast(pointer, ir.VectorType(_BYTE, _READ).as_pointer()), align=1)
                beside = builder.bitcast(builder.shuffle_vector(cells, cells, order), words)
                both = builder.add(builder.and_(beside, every(0xFF)), builder.lshr(beside, every(8)))
                total = builder.add(total, both)
            # With parity, ``less`` is 1 where the quotient total >> 2 is even. A half, a rest of 2, then goes down to
            # it; other rests are too far from a half for 1 to matter.
            is_even = spread(builder, builder.trunc(values[3], _WORD), words)
            less = builder.and_(builder.xor(builder.lshr(total, every(2)), every(1)), is_even)
            whole = builder.lshr(builder.sub(builder.add(total, every(2)), less), every(2))
            result = builder.trunc(whole, ir.VectorType(_BYTE, words.count))
            builder.store(result, builder.bitcast(builder.gep(goal, [values[5]]), result.type.as_pointer()), align=1)
            return target.get_dummy_value()

        return types.none(x, types.intp, types.intp, types.intp, y, types.intp), made

    return halve


_halve_one, _halve_three, _halve_four = _halving(1), _halving(3), _halving(4)


@compiled
def halves(x: Array, y: Array, start: int, stop: int, call: Halves) -> None:
    """Compute rows ``start`` to ``stop`` of ``y``, each from two rows of ``x`` from their cell ``begin`` on.

    A half goes to the even neighbour if ``parity`` is 1, up if it is 0.
    """
    height, first_rows, begin, depth, parity = call
    cells, cells_out = x.shape[1], y.shape[1]
    source, target, step = x.reshape(-1), y.reshape(-1), _READ // (2 * depth) * depth
    for out in range(start, stop):
        image, place = divmod(out, len(first_rows))
        upper = (image * height + first_rows[place]) * cells + begin
        lower, to, at = upper + cells, out * cells_out, 0
        while at + _READ // 2 <= cells_out and 2 * at + _READ <= cells - begin:
            if depth == 1:
                _halve_one(source, upper + 2 * at, lower + 2 * at, parity, target, to + at)
            elif depth == 3:
                _halve_three(source, upper + 2 * at, lower + 2 * at, parity, target, to + at)
            else:
                _halve_four(source, upper + 2 * at, lower + 2 * at, parity, target, to + at)
            at += step
        for i in range(at, cells_out):
            left = i // depth * 2 * depth + i % depth
            total: Any = 0
            for row in (upper, lower):
                total += np.int64(source[row + left]) + np.int64(source[row + left + depth])
            target[to + i] = (total + 2 - (parity & ~(total >> 2))) >> 2


_BOTH, _ONE = 8, 4  # cells of two pixels, and of one, that are read and written; with three channels some are not used


def _blending(depth: int) -> Any:
    """Return a function that computes a pixel of ``depth`` channels."""

    @intrinsic
    def blend(
        context: Context,
        x: ArrayType,
        upper: Type,
        lower: Type,
        above: Type,
        below: Type,
        weights: ArrayType,
        at: Type,
        y: ArrayType,
        place: Type,
    ) -> Typed:
        def made(target: BaseContext, builder: ir.IRBuilder, signature: Signature, values: Values) -> ir.Value:
            source, factors, goal = (array_data(target, builder, signature, values, k) for k in (0, 5, 7))
            wide, exact = ir.VectorType(_INT, _BOTH), ir.VectorType(ir.DoubleType(), _ONE)
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
                lanes = ir.Constant(ir.VectorType(_INT, _ONE), [(side * depth + k) % _BOTH for k in range(_ONE)])
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
def blended(x: Array, y: Array, start: int, stop: int, call: Blended) -> None:
    """Compute rows ``start`` to ``stop`` of ``y``, rounded half to even; no sum exceeds the range of the type.

    For the first ``safe`` outputs, eight cells of either row may be read, and four written.
    """
    (height, first_rows, row_weights), first_columns, column_weights, depth, safe = call
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


@compiled
def _ends(row: Array, columns: Array, near: Array, far: Array) -> None:
    """Fill ``near`` and ``far`` with the cells of a row at both ``columns`` [2, cells], or at the near ones only."""
    for i in range(len(near)):
        near[i] = row[columns[0, i]]
    if len(columns) > 1:
        for i in range(len(far)):
            far[i] = row[columns[1, i]]


@compiled
def cornered(x: Array, y: Array, start: int, stop: int, call: Cornered) -> None:
    """Compute rows ``start`` to ``stop`` of ``y``, each from two or four ``corner_rows`` [out, corners] of ``x``.

    Integers lose their last ``bits``, towards 0. The ends of the cells of a row are kept for the next output.
    """
    corner_rows, row_weights, plane_weights, columns, column_weights, bits = call
    count, corners = y.shape[1], corner_rows.shape[1]
    ends = np.empty((corners, 2, count), column_weights.dtype)
    buffered, near, far = np.full(corners, -1), column_weights[0], column_weights[-1]
    total = np.empty(count, column_weights.dtype)
    for out in range(start, stop):
        for corner in range(corners):
            row = corner_rows[out, corner]
            place = corner // 2 * 2 + row % 2  # neighbours have a place each
            if buffered[place] != row:
                _ends(x[row], columns, ends[place, 0], ends[place, 1])
                buffered[place] = row
            left, right = ends[place, 0], ends[place, 1]
            high, deep = row_weights[out, corner], plane_weights[out, corner]
            if len(columns) == 1:
                if corner == 0:
                    for i in range(count):
                        total[i] = near[i] * high * deep * left[i]
                else:
                    for i in range(count):
                        total[i] = total[i] + near[i] * high * deep * left[i]
            elif corner == 0:
                for i in range(count):
                    total[i] = near[i] * high * deep * left[i] + far[i] * high * deep * right[i]
            else:
                for i in range(count):
                    total[i] = total[i] + near[i] * high * deep * left[i] + far[i] * high * deep * right[i]
        line = y[out]
        for i in range(count):
            # A shift rounds down; truncation is one more for a negative sum that loses bits other than 0.
            value = np.int32(total[i])
            line[i] = ((value >> bits) + ((value < 0) & (value & ((1 << bits) - 1) != 0))) if bits else value
