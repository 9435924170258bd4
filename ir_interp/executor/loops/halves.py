# mypy: disable-error-code="untyped-decorator,no-untyped-call"
"""uint8 images whose rows and columns are halved: every pixel is the mean of two by two.

Vector instructions pair neighbouring pixels, many at a time, which numba's compiler does not derive from a loop; a sum
of four needs 16 bits only.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types

from ir_interp.array_types import Array
from ir_interp.executor.loops.compiling import compiled
from ir_interp.executor.loops.vectors import AHEAD, fetch, intrinsic, spread

_READ = 64  # bytes at a time, of each of two rows
_BYTE, _WORD, _INDEX = ir.IntType(8), ir.IntType(16), ir.IntType(32)


def _halving(depth: int) -> Any:
    """Return a function that halves as many pixels of ``depth`` channels as ``_READ`` bytes hold."""
    firsts = [cell + 2 * depth * pixel for pixel in range(_READ // (2 * depth)) for cell in range(depth)]
    pairs = [at for pixel in firsts for at in (pixel, pixel + depth)]
    order = ir.Constant(ir.VectorType(_INDEX, _READ), pairs + [0] * (_READ - len(pairs)))
    words = ir.VectorType(_WORD, _READ // 2)

    def every(value: int) -> Any:
        return ir.Constant(words, [value] * words.count)

    @intrinsic
    def halve(context: Any, x: Any, upper: Any, lower: Any, parity: Any, y: Any, place: Any) -> Any:
        def made(target: Any, builder: Any, _: Any, values: Any) -> Any:
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
def halves(
    x: Array, y: Array, start: int, stop: int, height: int, first_rows: Array, begin: int, depth: int, parity: int
) -> None:
    """Compute rows ``start`` to ``stop`` of ``y``, each from two rows of ``x`` from their cell ``begin`` on.

    A half goes to the even neighbour if ``parity`` is 1, up if it is 0.
    """
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
