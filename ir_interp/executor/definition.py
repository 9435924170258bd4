"""The definition of every float, infinities included: weighted sums tap by tap, identical on every processor.

Along each axis, in the order of ``axes_in_order``, an output is 0, plus its first weight times its first input,
plus its second weight times its second input, and so on, inputs in ascending order. Weights are rounded to the type of
the sum; every product is rounded, then added, and the sum is rounded. Nothing is fused, so IEEE 754 leaves no choice.
Infinities and NaNs propagate only to outputs in which their weight is not 0; ``infinities`` adds those of runtimes.
A float16 shifted left by 13 bits is a float32 whose exponent is too small by 112 = 127 - 15. The conversion back rounds
by an addition: added to 2^(e+13), a float32 of exponent e keeps the 11 bits that a float16 has.
"""

from __future__ import annotations

import math
import threading
from functools import lru_cache
from typing import Any, NamedTuple, assert_never

import numpy as np
from numpy.typing import NDArray

from ir_interp.plan.formulas import AxisPlan
from ir_interp.plan.integer_sums import Piece, taps_by_axis, whole_piece
from ir_interp.plan.taps import Plan, Taps, count
from ir_interp.shapes import Array
from ir_interp.specs import IntegerRounding, Nearest, SumRounding, Unrounded


@lru_cache(maxsize=64)
def distinct(taps: Taps) -> Taps:
    """Return taps with one weight per input, inputs in ascending order; weights of 0 come last in a row.

    Weights are None if every output is a copy of one input. If a border repeats an input, several taps fall on it;
    their weights are added in the order of the taps. Some outputs of an axis stay sums unless all of it are copies.
    """
    if taps.weights is None:
        return taps
    used = taps.weights != 0
    keys = np.where(used, taps.indices, np.iinfo(np.intp).max)
    order = np.argsort(keys, axis=1, kind="stable")
    keys, weights = (np.take_along_axis(values, order, axis=1) for values in (keys, np.where(used, taps.weights, 0.0)))
    is_new = np.diff(keys, axis=1, prepend=-1) != 0
    places = np.cumsum(is_new, axis=1) - 1
    counts = (is_new & (weights != 0)).sum(axis=1)
    width = max(1, int(counts.max(initial=0)))
    rows, columns = np.nonzero(weights)
    merged = np.zeros((len(keys), width))
    np.add.at(merged, (rows, places[rows, columns]), weights[rows, columns])
    inputs = np.repeat(np.where(used.any(axis=1), keys[:, 0], taps.indices[:, 0])[:, None], width, axis=1)
    inputs[rows, places[rows, columns]] = keys[rows, columns]
    if width == 1 and (merged == 1).all() if taps.copies is None else taps.copies:
        return Taps(inputs, None, taps.outside)
    return Taps(np.maximum.accumulate(inputs, axis=1), merged, taps.outside)


_BLOCK_ROWS, _LANES = 4, 16  # outputs of a block of rows, and cells of a block along rows, for a matrix product


def axes_in_order(bound: Plan) -> list[AxisPlan]:
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
    of_rows, along_rows = rows.terms(_BLOCK_ROWS), columns.terms(_BLOCK_ROWS)
    if depth < _LANES:  # the weights of a cell are zeros for the other cells of its pixel
        along_rows = depth * columns.terms(max(1, _LANES // depth))
    # For each output: the second sum, and as many of the first as the second axis shrinks by.
    rows_first = of_rows * columns.inputs / columns.outputs + along_rows
    columns_first = along_rows * rows.inputs / rows.outputs + of_rows
    return rows_first < columns_first


_HALF_EVEN = IntegerRounding.HALF_EVEN


def store(values: Array, target: Array, rounding: IntegerRounding = _HALF_EVEN) -> None:
    """Store floats as the dtype of ``target``; integers are rounded and saturate. ``values`` may change."""
    if target.dtype.kind not in "iu":
        with np.errstate(over="ignore"):  # float16: too large becomes inf, as in every runtime
            target[...] = values
        return
    bounds = np.iinfo(target.dtype)
    round_in_place(values, rounding)
    if target.dtype.itemsize <= 2:
        # Every bound of 16 bits is a float32, so a clipped value fits the type exactly.
        np.clip(values, bounds.min, bounds.max, out=values)
        target[...] = values
        return
    with np.errstate(invalid="ignore"):
        target[...] = values
    target[values >= float(bounds.max)] = bounds.max  # 2**63 - 1 is not a float64, so the cast alone would overflow
    target[values <= float(bounds.min)] = bounds.min


def rounded(sums: Array, rounding: SumRounding, dtype: np.dtype[Any]) -> Array:
    """Return integers, or floats as float64, rounded and clipped to an integer type, or kept."""
    if rounding is Unrounded.KEPT:
        return sums
    bounds = np.iinfo(dtype)
    if sums.dtype.kind != "f":
        return np.clip(sums, bounds.min, bounds.max)
    values = np.array(sums)  # a copy
    round_in_place(values, rounding)
    return np.clip(values.astype(np.float64, copy=False), bounds.min, bounds.max)


def round_in_place(values: Array, rounding: IntegerRounding) -> None:
    """Round floats in place."""
    match rounding:
        case IntegerRounding.HALF_EVEN:
            np.rint(values, out=values)
        case IntegerRounding.CUT_OFF:
            np.trunc(values, out=values)
        case IntegerRounding.HALF_UP:
            floor = np.floor(values)
            np.add(floor, np.subtract(values, floor, out=values) >= 0.5, out=values)
        case IntegerRounding.HALF_AWAY:
            # not floor(size + 0.5): that sum rounds up to 1 for the largest float below 0.5
            size = np.abs(values)
            floor = np.floor(size)
            np.copysign(floor + (np.subtract(size, floor, out=size) >= 0.5), values, out=values)
        case _:
            assert_never(rounding)


_BLOCK = 2**17  # elements; smaller blocks have closer scratch memory, but two threads then wait for each other
# 112 = 127 - 15, the difference of the biases; a product with a power of 2 is exact, and right for subnormals.
_REBIAS = np.array(2.0**112, np.float32)
# Without the copies of the sign that a conversion of int16 to int32 leaves between it and the value.
_SIGN_AND_VALUE = np.array(0x8FFFE000, np.uint32).view(np.int32)
_INFINITY = 0x7C00  # all bits of the exponent, which finite numbers never have

# Parts of a float32's bits; arrays without axes, since Python numbers make every call slower.
_VALUE, _EXPONENT, _SIGN_OF_HALF, _THIRTEEN, _SIXTEEN = (
    np.array(bits, np.uint32) for bits in (0x7FFFFFFF, 0x7F800000, 0x8000, 13, 16)
)
_BESIDE = np.array((13 << 23) + 0x800, np.uint32)  # 13 exponents more; 0x800 corrects what they add to the sum
_INFINITE = np.array(143 << 23, np.uint32)  # 2^16
_LEAST = np.full(_BLOCK, 113 << 23, np.uint32)  # 2^-14: float16 has no smaller exponent; maxima of arrays are faster
_kept = threading.local()  # two arrays of each thread, since fresh memory costs more than the arithmetic


def load_float16(values: NDArray[np.float16], target: NDArray[np.float32]) -> None:
    """Fill ``target``, which is contiguous, with finite ``values`` of the same shape."""
    if values.flags.c_contiguous:
        bits, wide = values.view(np.int16).reshape(-1), target.reshape(-1)
        for start in range(0, bits.size, _BLOCK):
            _load_block(bits[start : start + _BLOCK], wide[start : start + _BLOCK])
    elif len(values) > 1:
        for item, place in zip(values, target, strict=True):
            load_float16(item[None], place[None])
    else:
        target[...] = values


def _load_block(half: NDArray[np.int16], single: NDArray[np.float32]) -> None:
    bits = single.view(np.int32)
    bits[...] = half
    np.left_shift(bits, 13, out=bits)
    np.bitwise_and(bits, _SIGN_AND_VALUE, out=bits)
    np.multiply(single, _REBIAS, out=single)


def store_float16(values: NDArray[np.float32], target: NDArray[np.float16]) -> None:
    """Fill ``target`` with ``values``, contiguous and without NaN, rounded half to even; overflows become infinite."""
    if target.flags.c_contiguous:
        bits, narrow = values.view(np.uint32).reshape(-1), target.view(np.uint16).reshape(-1)
        for start in range(0, bits.size, _BLOCK):
            _store_block(bits[start : start + _BLOCK], narrow[start : start + _BLOCK])
    elif len(target) > 1:
        for item, place in zip(values, target, strict=True):
            store_float16(item[None], place[None])
    else:
        target[...] = values


def _store_block(bits: NDArray[np.uint32], half: NDArray[np.uint16]) -> None:
    arrays = _kept.__dict__.pop("arrays", None)  # a call within this one, by a signal handler, finds none
    if arrays is None:
        arrays = np.empty((2, _BLOCK), np.uint32)
    value, power = (array[: bits.size] for array in arrays)
    np.bitwise_and(bits, _VALUE, out=value)
    if value.max() > _INFINITE:  # 2^16 rounds to the bits of an infinity; larger exponents would overflow
        np.minimum(value, _INFINITE, out=value)
    np.bitwise_and(value, _EXPONENT, out=power)
    np.maximum(power, _LEAST[: bits.size], out=power)
    np.add(power, _BESIDE, out=power)
    np.add(value.view(np.float32), power.view(np.float32), out=value.view(np.float32))
    np.right_shift(power, _THIRTEEN, out=power)
    np.add(value, power, out=value)
    np.right_shift(bits, _SIXTEEN, out=power)
    np.bitwise_and(power, _SIGN_OF_HALF, out=power)
    np.bitwise_or(value, power, out=value)  # the rest of the float32's exponent is beyond 16 bits
    half[...] = value
    _kept.arrays = arrays


def is_finite_float16(x: NDArray[np.float16]) -> bool:
    """Return whether a contiguous array contains neither infinity nor NaN."""
    bits = x.view(np.uint16).reshape(-1)
    blocks = (bits[start : start + _BLOCK] & _INFINITY for start in range(0, bits.size, _BLOCK))
    return all(block.max() < _INFINITY for block in blocks)


def run(x: Array, bound: Plan, piece: Piece | None = None) -> Array:
    """Return ``x``, padded already, resized along every axis of a plan: copied, or summed in its own dtype."""
    for axis, taps in _cut(bound, piece or whole_piece(bound)):
        x = _resized(x, taps, axis)
    return x


def marked(marks: NDArray[np.bool_], bound: Plan, piece: Piece | None = None) -> NDArray[np.bool_]:
    """Return which outputs weight an input that ``marks`` marks."""
    for axis, taps in _cut(bound, piece or whole_piece(bound)):
        marks = _any(marks, taps, axis)
    return marks


def _any(marks: NDArray[np.bool_], taps: Taps, axis: int) -> NDArray[np.bool_]:
    if taps.weights is None:
        return np.take(marks, taps.indices[:, 0], axis=axis)
    column = (-1,) + (1,) * (marks.ndim - axis - 1)
    total = np.zeros((*marks.shape[:axis], len(taps.indices), *marks.shape[axis + 1 :]), np.bool_)
    for indices, weight in zip(taps.indices.T, taps.weights.T, strict=True):
        total |= np.take(marks, indices, axis=axis) & (weight != 0).reshape(column)
    return total


def _cut(bound: Plan, piece: Piece) -> list[tuple[int, Taps]]:
    """Return the axes of a plan in order, each with the taps of a piece."""
    taps = taps_by_axis(bound, piece)
    return [(axis.axis, distinct(taps[axis.axis])) for axis in axes_in_order(bound)]


def _resized(x: Array, taps: Taps, axis: int) -> Array:
    """Return sums along an axis; an input of weight 0 is left out, even if it is infinite."""
    if taps.weights is None:
        return np.take(x, taps.indices[:, 0], axis=axis)
    column = (-1,) + (1,) * (x.ndim - axis - 1)
    weights, nothing = taps.weights.astype(x.dtype), np.zeros((), x.dtype)
    total = np.zeros((*x.shape[:axis], len(taps.indices), *x.shape[axis + 1 :]), x.dtype)
    for indices, weight in zip(taps.indices.T, weights.T, strict=True):
        weight = weight.reshape(column)
        total += np.where(weight == 0, nothing, np.take(x, indices, axis=axis) * weight)
    return total


def by_definition(x: Array, y: Array, work: np.dtype[Any], bound: Plan, piece: Piece) -> None:
    """Fill ``y`` with plain sums of ``x``, which leave out inputs of weight 0."""
    sums = np.empty_like(y)
    with np.errstate(over="ignore", invalid="ignore"):
        store(run(x.astype(work), bound, piece), sums)
    y[...] = sums


def is_finite(x: Array) -> bool:
    """Return whether ``x`` contains neither infinity nor NaN."""
    if x.dtype == np.float16 and x.flags.c_contiguous:
        return is_finite_float16(x)
    return bool(np.isfinite(x).all())
