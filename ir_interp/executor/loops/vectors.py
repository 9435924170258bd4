# mypy: disable-error-code="untyped-decorator,no-untyped-call"
"""Operations that numba lacks: vectors of pixels, of blocks of cells, and fused products.

A pixel of three or four channels is a vector of four lanes, which numba's compiler does not derive from neighbouring
statements. By itself it never fuses a product into a sum, which ``executor.definition`` relies on. Float32 sums of
blocks are exact, or checked and summed again in integers, so their products may be fused.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.base import BaseContext
from numba.core.types import Type
from numba.core.typing.context import Context
from numba.core.typing.templates import Signature
from numba.extending import intrinsic as numba_intrinsic

from ir_interp.executor.loop_calls import BLOCK, code_of
from ir_interp.executor.loops.compilation import compiled
from ir_interp.specs import IntegerRounding, Unrounded

START: Any = np.intp(0)
"""The first place. numba compiles a function again for an argument that is the literal 0."""


KEPT = code_of(Unrounded.KEPT)
HALF_EVEN, HALF_UP = code_of(IntegerRounding.HALF_EVEN), code_of(IntegerRounding.HALF_UP)
HALF_AWAY, CUT_OFF = code_of(IntegerRounding.HALF_AWAY), code_of(IntegerRounding.CUT_OFF)


@compiled
def rounded(value: Any, rounding: int) -> Any:
    """Return a float32 rounded by the code of a rounding."""
    if rounding == HALF_EVEN:
        return np.rint(value)
    if rounding == CUT_OFF:
        return np.trunc(value)
    # floor(value + 0.5) would turn the largest float32 below 0.5 into 1
    size = value if rounding == HALF_UP else abs(value)
    below = np.floor(size)
    whole = below + np.float32(size - below >= np.float32(0.5))
    return whole if rounding == HALF_UP else np.copysign(whole, value)


_LANES = 4
PAIRS = 8  # of outputs that are computed together
_BYTE = 8  # bits of a cell of an image; other integers are sums, which the cache holds
AHEAD = 2048  # bytes: the distance at which an image outside the cache is read soon, at times beyond a page of memory


if TYPE_CHECKING:  # numba's own classes leave their attributes untyped

    class CellType(types.Type):
        """The type of a cell: an integer or a float."""

        bitwidth: int
        signed: bool  # of integers

    class ArrayType(types.Type):
        """The type of an array of cells."""

        dtype: CellType


Values = Sequence[ir.Value]
"""The arguments of an operation, in the code that it emits."""
Typed = tuple[Signature, Callable[..., ir.Value]]
"""The types of an operation's arguments and result, and the function that emits its code."""
intrinsic: Any = numba_intrinsic  # to a type checker its first argument would be the caller's, too


@intrinsic
def added(context: Context, total: Type, cell: CellType, weight: Type) -> Typed:
    """Return ``total`` plus the product of a cell and its weight, both rounded; for integers in 32 bits."""

    def made(_: BaseContext, builder: ir.IRBuilder, __: Signature, values: Values) -> ir.Value:
        return _added(builder, cell, values[1], values[2], values[0])

    return total(total, cell, weight), made


@intrinsic
def fused(context: Context, total: Type, cell: CellType, weight: Type) -> Typed:
    """Return ``total`` plus the product of a float cell and its weight, rounded once."""

    def made(_: BaseContext, builder: ir.IRBuilder, __: Signature, values: Values) -> ir.Value:
        return _fused(builder, cell, values[1], values[2], values[0])

    return total(total, cell, weight), made


@intrinsic
def nearest_byte(context: Context, value: CellType) -> Typed:
    """Return the last eight bits of a float rounded half to even, with at most 16 bits before the point.

    Added to a number so large that it has no fraction, it is rounded, and the last bits of the sum are its own.
    """

    def made(_: BaseContext, builder: ir.IRBuilder, __: Signature, values: Values) -> ir.Value:
        bits = builder.bitcast(builder.fadd(values[0], large(values[0].type)), ir.IntType(value.bitwidth))
        return builder.trunc(bits, ir.IntType(_BYTE))

    return types.uint8(value), made


@intrinsic
def float_of(context: Context, bits: Type) -> Typed:
    """Return the float32 with the given bits."""

    def made(_: BaseContext, builder: ir.IRBuilder, __: Signature, values: Values) -> ir.Value:
        return builder.bitcast(values[0], ir.FloatType())

    return types.float32(types.uint32), made


@intrinsic
def bits_of(context: Context, value: Type) -> Typed:
    """Return the bits of a float32."""

    def made(_: BaseContext, builder: ir.IRBuilder, __: Signature, values: Values) -> ir.Value:
        return builder.bitcast(values[0], ir.IntType(32))

    return types.uint32(types.float32), made


@intrinsic
def sum_beside(context: Context, row: ArrayType, at: Type, weights: ArrayType, first: Type) -> Typed:
    """Return the sum of four neighbouring cells, of two and two products, each rounded separately."""

    def made(target: BaseContext, builder: ir.IRBuilder, signature: Signature, values: Values) -> ir.Value:
        source, factors = (array_data(target, builder, signature, values, k) for k in (0, 2))
        vector, index = ir.VectorType(target.get_value_type(weights.dtype), _LANES), ir.VectorType(ir.IntType(32), 2)
        cells = ir.VectorType(target.get_value_type(row.dtype), _LANES)
        place, factor = (builder.gep(array, [values[k]]) for array, k in ((source, 1), (factors, 3)))
        loaded = builder.uitofp(builder.load(builder.bitcast(place, cells.as_pointer()), align=1), vector)
        terms = builder.fmul(loaded, builder.load(builder.bitcast(factor, vector.as_pointer()), align=4))
        # Lanes 0 and 2 plus lanes 1 and 3: (a + b) + (c + d), the order PAIRS of Intel's library.
        even, odd = (builder.shuffle_vector(terms, terms, ir.Constant(index, lanes)) for lanes in ([0, 2], [1, 3]))
        pairs = builder.fadd(even, odd)
        return builder.fadd(*(builder.extract_element(pairs, ir.Constant(ir.IntType(32), lane)) for lane in (0, 1)))

    return weights.dtype(row, types.intp, weights, types.intp), made


def _sum_of(*chains: tuple[int, ...], add: Callable[..., ir.Value], alternating: int = 1) -> Any:
    """Return a function that sums pixels in ``chains`` of taps, each in its order, then adds the chains.

    ``add`` adds a product to a sum. Without ``chains``, any number of taps are summed in as many ``alternating`` ones.
    """

    @intrinsic
    def sum_pixels(
        context: Context,
        row: ArrayType,
        at: Type,
        step: Type,
        weights: ArrayType,
        output: Type,
        width: Type,
        sums: ArrayType,
        place: Type,
    ) -> Typed:
        def made(target: BaseContext, builder: ir.IRBuilder, signature: Signature, values: Values) -> ir.Value:
            source, factors, results = (array_data(target, builder, signature, values, k) for k in (0, 3, 6))
            first, vector = builder.mul(values[4], values[5]), ir.VectorType(target.get_value_type(sums.dtype), _LANES)
            cells = ir.VectorType(target.get_value_type(row.dtype), _LANES)

            def added(total: ir.Value, tap: ir.Value) -> ir.Value:
                begin = builder.add(values[1], builder.mul(tap, values[2]))
                pointer = builder.bitcast(builder.gep(source, [begin]), cells.as_pointer())
                weight = spread(builder, builder.load(builder.gep(factors, [builder.add(first, tap)])), vector)
                values_read = builder.load(pointer, align=row.dtype.bitwidth // 8)
                return add(builder, row.dtype, values_read, weight, total)

            if row.dtype.bitwidth == _BYTE:
                fetch(builder, builder.gep(source, [builder.add(values[1], ir.Constant(ir.IntType(64), AHEAD))]))
            nothing, total = ir.Constant(vector, None), None
            for chain in chains:
                part = nothing
                for tap in chain:
                    part = added(part, ir.Constant(ir.IntType(64), tap))
                total = part if total is None else builder.fadd(total, part)
            if total is None:
                step = ir.Constant(values[5].type, alternating)
                totals = [cgutils.alloca_once_value(builder, nothing) for _ in range(alternating)]
                with cgutils.for_range(builder, builder.udiv(values[5], step)) as loop:
                    for number, part in enumerate(totals):
                        tap = builder.add(builder.mul(loop.index, step), ir.Constant(step.type, number))
                        builder.store(added(builder.load(part), tap), part)
                # Which chain takes the remaining taps makes no difference: callers settle the sums that another order
                # would round differently.
                rest = builder.urem(values[5], step)
                with cgutils.for_range(builder, rest) as loop:
                    tap = builder.add(builder.sub(values[5], rest), loop.index)
                    builder.store(added(builder.load(totals[0]), tap), totals[0])
                add_parts = builder.fadd if isinstance(sums.dtype, types.Float) else builder.add
                total = functools.reduce(add_parts, map(builder.load, totals))
            pointer = builder.bitcast(builder.gep(results, [values[7]]), vector.as_pointer())
            builder.store(total, pointer, align=sums.dtype.bitwidth // 8)
            return target.get_dummy_value()

        parameters = (types.intp, types.intp, weights, types.intp, types.intp, sums, types.intp)
        return types.none(row, *parameters), made

    return sum_pixels


@intrinsic
def sum_pairs(
    context: Context,
    row: ArrayType,
    near: Type,
    far: Type,
    weights: ArrayType,
    tap: Type,
    width: Type,
    depth: Type,
    sums: ArrayType,
    place: Type,
) -> Typed:
    """Store the weighted sums of ``PAIRS`` pairs of outputs of ``width`` pixels, which double a row.

    The windows of the first pair begin at ``near`` and ``far``, and move by one pixel of ``depth`` cells from pair to
    pair. All pairs have the same weights, which begin at ``tap``. So inputs are contiguous, and no index or weight is
    read for each output. There are vectors for windows of two and four pixels, of one, three or four cells.
    """

    def made(target: BaseContext, builder: ir.IRBuilder, signature: Signature, values: Values) -> ir.Value:
        source, factors, results = (array_data(target, builder, signature, values, k) for k in (0, 3, 7))
        _, near, far, _, tap, *_, place = values

        def store(width: int, depth: int) -> None:
            vector, cells = (ir.VectorType(target.get_value_type(kind.dtype), PAIRS * depth) for kind in (sums, row))
            totals = []
            for begin, first in ((near, 0), (far, width)):
                total = ir.Constant(vector, None)
                for number in range(width):
                    at = builder.add(begin, ir.Constant(begin.type, number * depth))
                    factor = builder.add(tap, ir.Constant(tap.type, first + number))
                    pointer = builder.bitcast(builder.gep(source, [at]), cells.as_pointer())
                    weight = spread(builder, builder.load(builder.gep(factors, [factor])), vector)
                    read = builder.load(pointer, align=row.dtype.bitwidth // 8)
                    total = _added(builder, row.dtype, read, weight, total)
                totals.append(total)
            order = [
                side * vector.count + pair * depth + cell
                for pair in range(PAIRS)
                for side in (0, 1)
                for cell in range(depth)
            ]
            both = builder.shuffle_vector(*totals, ir.Constant(ir.VectorType(ir.IntType(32), len(order)), order))
            pointer = builder.bitcast(builder.gep(results, [place]), both.type.as_pointer())
            builder.store(both, pointer, align=sums.dtype.bitwidth // 8)

        for wide in (2, 4):
            for deep in (1, 3, 4):
                alike = (
                    builder.icmp_signed("==", values[5], ir.Constant(values[5].type, wide)),
                    builder.icmp_signed("==", values[6], ir.Constant(values[6].type, deep)),
                )
                with builder.if_then(builder.and_(*alike)):
                    store(wide, deep)
        return target.get_dummy_value()

    position = types.intp
    return types.none(row, position, position, weights, position, position, position, sums, position), made


def _added(builder: ir.IRBuilder, cell: CellType, value: ir.Value, weight: ir.Value, total: ir.Value) -> ir.Value:
    """Return ``total`` plus the product of a value, of the type of a ``cell``, and its weight; or vectors of them."""
    if isinstance(getattr(total.type, "element", total.type), ir.IntType):
        # Integers wrap around without an error, so their sum is the same in any order, and LLVM may choose one.
        return builder.add(builder.mul(cast(builder, cell, value, total.type), weight), total)
    return builder.fadd(total, builder.fmul(cast(builder, cell, value, total.type), weight))


def _fused(builder: ir.IRBuilder, cell: CellType, value: ir.Value, weight: ir.Value, total: ir.Value) -> ir.Value:
    """Return ``total`` plus such a product of floats, rounded once."""
    return builder.call(
        _product_and_sum(builder, "fma", total.type), [cast(builder, cell, value, total.type), weight, total]
    )


def contracted(builder: ir.IRBuilder, cell: CellType, value: ir.Value, weight: ir.Value, total: ir.Value) -> ir.Value:
    """Return ``total`` plus such a product, which is rounded only on processors that cannot fuse it."""
    if isinstance(getattr(total.type, "element", total.type), ir.IntType):
        return _added(builder, cell, value, weight, total)
    function = _product_and_sum(builder, "fmuladd", total.type)
    return builder.call(function, [cast(builder, cell, value, total.type), weight, total])


def cast(builder: ir.IRBuilder, cell: CellType, value: ir.Value, kind: ir.Type) -> ir.Value:
    """Return a value, of the type of a ``cell``, as one of the ``kind`` of a sum; or vectors of them."""
    if isinstance(cell, types.Float) or value.type == kind:
        return value
    if isinstance(getattr(kind, "element", kind), ir.IntType):
        return (builder.sext if cell.signed else builder.zext)(value, kind)
    return (builder.sitofp if cell.signed else builder.uitofp)(value, kind)


sum_pixels = _sum_of(add=_added)
sum_two, sum_four = _sum_of((0, 1), add=_added), _sum_of((0, 1, 2, 3), add=_added)
sum_in_any_order = _sum_of(add=contracted, alternating=2)  # a sum that waits for one before takes half of the time
sum_fused, sum_alternate = _sum_of((0, 1, 2, 3), add=_fused), _sum_of((0, 2), (1, 3), add=_fused)
"""``sum_pixels(row, at, step, weights, output, width, sums, place)``: the weighted sum of some pixels of a row.

The first is at ``at``, they are ``step`` cells apart, ``weights`` are those of all outputs, [outputs * width]. The four
lanes of the sum are stored from ``sums[place]`` on. All four are read and written, whatever the step; the caller must
ensure that they exist. Sums start from 0 and add one product at a time; two chains each do so, and are then added.
"""


def fetch(builder: ir.IRBuilder, pointer: ir.Value) -> None:
    """Prefetch the cell at a pointer into the cache; the pointer may be beyond all memory."""
    number = ir.IntType(32)
    kind = ir.FunctionType(ir.VoidType(), [pointer.type, number, number, number])
    to_read, near, of_numbers = (ir.Constant(number, lane) for lane in (0, 3, 1))
    builder.call(
        cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0"), [pointer, to_read, near, of_numbers]
    )


def array_data(
    target: BaseContext, builder: ir.IRBuilder, signature: Signature, values: Values, number: int
) -> ir.Value:
    """Return the pointer to the elements of the array that is argument ``number``."""
    return target.make_array(signature.args[number])(target, builder, values[number]).data


def large(kind: ir.Type) -> ir.Constant:
    """Return the number of a float type, or a vector of it, that has no fraction in any sum with a byte.

    Added to it, a byte is rounded half to even, and its bits are the last ones of the sum.
    """
    element = getattr(kind, "element", kind)
    # From 2^23 to 2^24 the last place of a float32 is 1, and from 2^52 to 2^53 that of a float64. In the middle of the
    # range, a sum with a negative number stays within it.
    number = 1.5 * 2 ** (23 if isinstance(element, ir.FloatType) else 52)
    return ir.Constant(kind, number if element is kind else [number] * kind.count)


def spread(builder: ir.IRBuilder, value: ir.Value, vector: ir.VectorType) -> ir.Value:
    """Return a vector with ``value`` in every lane."""
    lanes, index = ir.Constant(vector, ir.Undefined), ir.IntType(32)
    one = builder.insert_element(lanes, value, ir.Constant(index, 0))
    return builder.shuffle_vector(one, lanes, ir.Constant(ir.VectorType(index, vector.count), [0] * vector.count))


def _product_and_sum(builder: ir.IRBuilder, name: str, kind: ir.Type) -> ir.Value:
    """Return LLVM's own function, for numbers or vectors of them; llvmlite's builder has that of numbers only."""
    element = getattr(kind, "element", kind)
    suffix = f"f{32 if isinstance(element, ir.FloatType) else 64}"
    suffix = suffix if element is kind else f"v{kind.count}{suffix}"
    return cgutils.get_or_insert_function(builder.module, ir.FunctionType(kind, [kind] * 3), f"llvm.{name}.{suffix}")


_SINGLE, _WORD, _BYTES = (ir.VectorType(kind, BLOCK) for kind in (ir.FloatType(), ir.IntType(32), ir.IntType(8)))


@intrinsic
def blend(
    context: Context,
    x: ArrayType,
    starts: ArrayType,
    begin: Type,
    weights: ArrayType,
    tap: Type,
    count: Type,
    sums: ArrayType,
    place: Type,
) -> Typed:
    """Store the weighted sums of a block of some rows, each of which begins at ``starts[row] + begin``."""

    def made(target: BaseContext, builder: ir.IRBuilder, signature: Signature, values: Values) -> ir.Value:
        source, rows, factors, results = (array_data(target, builder, signature, values, k) for k in (0, 1, 3, 6))
        cells = ir.VectorType(target.get_value_type(x.dtype), BLOCK)

        def added(total: ir.Value, row: ir.Value) -> ir.Value:
            at = builder.add(builder.load(builder.gep(rows, [row])), values[2])
            pointer = builder.bitcast(builder.gep(source, [at]), cells.as_pointer())
            block = builder.load(pointer, align=x.dtype.bitwidth // 8)
            weight = builder.load(builder.gep(factors, [builder.add(values[4], row)]))
            return contracted(builder, x.dtype, block, spread(builder, weight, _SINGLE), total)

        def store(total: ir.Value) -> None:
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

    def rounded(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
        if to_even:
            return builder.bitcast(builder.fadd(value, large(_SINGLE)), _WORD)
        half = ir.Constant(_SINGLE, [0.5] * BLOCK)
        if away:
            is_negative = builder.fcmp_ordered("<", value, ir.Constant(_SINGLE, None))
            return builder.fptosi(builder.fadd(value, builder.select(is_negative, builder.fneg(half), half)), _WORD)
        return builder.fptosi(_unary(builder, "floor", builder.fadd(value, half)), _WORD)

    @intrinsic
    def store(context: Context, sums: ArrayType, at: Type, low: Type, high: Type, line: ArrayType) -> Typed:
        def made(target: BaseContext, builder: ir.IRBuilder, signature: Signature, values: Values) -> ir.Value:
            source, results = (array_data(target, builder, signature, values, k) for k in (0, 4))
            value = _clipped(builder, _block(builder, source, values[1]), values[2], values[3])
            _store(builder, rounded(builder, value), results, values[1])
            return target.get_dummy_value()

        return types.none(sums, types.intp, types.float32, types.float32, line), made

    return store


@intrinsic
def nearest_or_doubtful(
    context: Context,
    sums: ArrayType,
    at: Type,
    low: Type,
    high: Type,
    line: ArrayType,
    limits: ArrayType,
    row: ArrayType,
) -> Typed:
    """Store a block of sums as the nearest bytes; return a mask of those that are as far as their limit from it."""

    def made(target: BaseContext, builder: ir.IRBuilder, signature: Signature, values: Values) -> ir.Value:
        source, results, bounds = (array_data(target, builder, signature, values, k) for k in (0, 4, 5))
        value = _clipped(builder, _block(builder, source, values[1]), values[2], values[3])
        limit = _block(builder, bounds, builder.add(values[6], values[1]))
        rounded = builder.fadd(value, large(_SINGLE))
        _store(builder, builder.bitcast(rounded, _WORD), results, values[1])
        apart = _unary(builder, "fabs", builder.fsub(value, builder.fsub(rounded, large(_SINGLE))))
        return builder.bitcast(builder.fcmp_ordered(">=", apart, limit), ir.IntType(BLOCK))

    position, single = types.intp, types.float32
    return types.uint64(sums, position, single, single, line, limits, position), made


def _unary(builder: ir.IRBuilder, name: str, value: ir.Value) -> ir.Value:
    function = ir.FunctionType(_SINGLE, [_SINGLE])
    return builder.call(cgutils.get_or_insert_function(builder.module, function, f"llvm.{name}.v{BLOCK}f32"), [value])


def _block(builder: ir.IRBuilder, source: ir.Value, at: ir.Value) -> ir.Value:
    return builder.load(builder.bitcast(builder.gep(source, [at]), _SINGLE.as_pointer()), align=4)


def _clipped(builder: ir.IRBuilder, value: ir.Value, low: ir.Value, high: ir.Value) -> ir.Value:
    low, high = (spread(builder, bound, _SINGLE) for bound in (low, high))
    value = builder.select(builder.fcmp_ordered(">", value, low), value, low)
    return builder.select(builder.fcmp_ordered("<", value, high), value, high)


def _store(builder: ir.IRBuilder, words: ir.Value, results: ir.Value, at: ir.Value) -> None:
    pointer = builder.bitcast(builder.gep(results, [at]), _BYTES.as_pointer())
    builder.store(builder.trunc(words, _BYTES), pointer, align=1)


exact_even, exact_up = _rounding_half(to_even=True, away=False), _rounding_half(to_even=False, away=False)
exact_away = _rounding_half(to_even=False, away=True)
"""``exact_up(sums, at, low, high, line)`` stores a block of exact sums, from ``at`` on, as bytes from ``line[at]`` on.

They are clipped to ``low`` and ``high`` first.
"""


@intrinsic
def lowest(context: Context, mask: Type) -> Typed:
    """Return the position of the lowest bit of a mask that is set."""

    def made(_: BaseContext, builder: ir.IRBuilder, __: Signature, values: Values) -> ir.Value:
        return builder.cttz(values[0], ir.Constant(ir.IntType(1), 1))

    return types.intp(types.uint64), made
