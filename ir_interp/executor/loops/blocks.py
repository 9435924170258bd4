# mypy: disable-error-code="untyped-decorator,no-untyped-call"
"""Blocks of neighbouring cells as vectors: weighted sums of rows of bytes, and sums that become bytes.

These float32 sums are exact, or checked and summed again in integers, so their products may be fused.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types

from ir_interp.executor.compiled.calls import BLOCK
from ir_interp.executor.loops.vectors import array_data, contracted, intrinsic, large, spread

_SINGLE, _WORD, _BYTE = (ir.VectorType(kind, BLOCK) for kind in (ir.FloatType(), ir.IntType(32), ir.IntType(8)))


@intrinsic
def blend(
    context: Any, x: Any, starts: Any, begin: Any, weights: Any, tap: Any, count: Any, sums: Any, place: Any
) -> Any:
    """Store the weighted sums of a block of some rows, each of which begins at ``starts[row] + begin``."""

    def made(target: Any, builder: Any, signature: Any, values: Any) -> Any:
        source, rows, factors, results = (array_data(target, builder, signature, values, k) for k in (0, 1, 3, 6))
        cells = ir.VectorType(target.get_value_type(x.dtype), BLOCK)

        def added(total: Any, row: Any) -> Any:
            at = builder.add(builder.load(builder.gep(rows, [row])), values[2])
            pointer = builder.bitcast(builder.gep(source, [at]), cells.as_pointer())
            block = builder.load(pointer, align=x.dtype.bitwidth // 8)
            weight = builder.load(builder.gep(factors, [builder.add(values[4], row)]))
            return contracted(builder, x.dtype, block, spread(builder, weight, _SINGLE), total)

        def store(total: Any) -> None:
            pointer = builder.bitcast(builder.gep(results, [values[7]]), _SINGLE.as_pointer())
            builder.store(total, pointer, align=4)

        number, nothing = values[5].type, ir.Constant(_SINGLE, None)
        is_other = ir.Constant(ir.IntType(1), 1)
        for taps in (2, 4):  # without a loop, those of most resizes take two thirds of the time
            is_known = builder.icmp_signed("==", values[5], ir.Constant(number, taps))
            is_other = builder.and_(is_other, builder.not_(is_known))
            with builder.if_then(is_known):
                total = nothing
                for row in range(taps):
                    total = added(total, ir.Constant(number, row))
                store(total)
        with builder.if_then(is_other):
            kept = cgutils.alloca_once_value(builder, nothing)
            with cgutils.for_range(builder, values[5]) as loop:
                builder.store(added(builder.load(kept), loop.index), kept)
            store(builder.load(kept))
        return target.get_dummy_value()

    position = types.intp
    return types.none(x, starts, position, weights, position, position, sums, position), made


def _rounding_half(to_even: bool, away: bool) -> Any:
    """Return a function that rounds a block of exact sums to bytes."""

    def rounded(builder: Any, value: Any) -> Any:
        if to_even:
            return builder.bitcast(builder.fadd(value, large(_SINGLE)), _WORD)
        half = ir.Constant(_SINGLE, [0.5] * BLOCK)
        if away:
            is_negative = builder.fcmp_ordered("<", value, ir.Constant(_SINGLE, None))
            return builder.fptosi(builder.fadd(value, builder.select(is_negative, builder.fneg(half), half)), _WORD)
        return builder.fptosi(_unary(builder, "floor", builder.fadd(value, half)), _WORD)

    @intrinsic
    def store(context: Any, sums: Any, at: Any, low: Any, high: Any, line: Any) -> Any:
        def made(target: Any, builder: Any, signature: Any, values: Any) -> Any:
            source, results = (array_data(target, builder, signature, values, k) for k in (0, 4))
            value = _clipped(builder, _block(builder, source, values[1]), values[2], values[3])
            _store(builder, rounded(builder, value), results, values[1])
            return target.get_dummy_value()

        return types.none(sums, types.intp, types.float32, types.float32, line), made

    return store


@intrinsic
def nearest_or_doubtful(context: Any, sums: Any, at: Any, low: Any, high: Any, line: Any, limits: Any, row: Any) -> Any:
    """Store a block of sums as the nearest bytes; return a mask of those that are as far as their limit from it."""

    def made(target: Any, builder: Any, signature: Any, values: Any) -> Any:
        source, results, bounds = (array_data(target, builder, signature, values, k) for k in (0, 4, 5))
        value = _clipped(builder, _block(builder, source, values[1]), values[2], values[3])
        limit = _block(builder, bounds, builder.add(values[6], values[1]))
        rounded = builder.fadd(value, large(_SINGLE))
        _store(builder, builder.bitcast(rounded, _WORD), results, values[1])
        apart = _unary(builder, "fabs", builder.fsub(value, builder.fsub(rounded, large(_SINGLE))))
        return builder.bitcast(builder.fcmp_ordered(">=", apart, limit), ir.IntType(BLOCK))

    position, single = types.intp, types.float32
    return types.uint64(sums, position, single, single, line, limits, position), made


def _unary(builder: Any, name: str, value: Any) -> Any:
    function = ir.FunctionType(_SINGLE, [_SINGLE])
    return builder.call(cgutils.get_or_insert_function(builder.module, function, f"llvm.{name}.v{BLOCK}f32"), [value])


def _block(builder: Any, source: Any, at: Any) -> Any:
    return builder.load(builder.bitcast(builder.gep(source, [at]), _SINGLE.as_pointer()), align=4)


def _clipped(builder: Any, value: Any, low: Any, high: Any) -> Any:
    low, high = (spread(builder, bound, _SINGLE) for bound in (low, high))
    value = builder.select(builder.fcmp_ordered(">", value, low), value, low)
    return builder.select(builder.fcmp_ordered("<", value, high), value, high)


def _store(builder: Any, words: Any, results: Any, at: Any) -> None:
    pointer = builder.bitcast(builder.gep(results, [at]), _BYTE.as_pointer())
    builder.store(builder.trunc(words, _BYTE), pointer, align=1)


exact_even, exact_up = _rounding_half(to_even=True, away=False), _rounding_half(to_even=False, away=False)
exact_away = _rounding_half(to_even=False, away=True)
"""``exact_up(sums, at, low, high, line)`` stores a block of exact sums, from ``at`` on, as bytes from ``line[at]`` on.

They are clipped to ``low`` and ``high`` first.
"""


@intrinsic
def lowest(context: Any, mask: Any) -> Any:
    """Return the position of the lowest bit of a mask that is set."""

    def made(_: Any, builder: Any, __: Any, values: Any) -> Any:
        return builder.cttz(values[0], ir.Constant(ir.IntType(1), 1))

    return types.intp(types.uint64), made
