"""Integers in the steps of a runtime, and in passes of integral weights, as nodes with the same bits as the executor.

First the steps of a runtime, then LiteRT's integer sums along dynamic axes, then passes as int32 nodes. Sums of passes
stay below 2**30, so that ONNX's division, which truncates, can be made to round down. If a sum is larger, its values
are split into high and low bits, which are summed separately.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, assert_never

import numpy as np

from ir_interp.errors import SpecError
from ir_interp.plan import library_weights
from ir_interp.plan.integer_sums import CORNER_BITS, FIXED_BITS, Along, Corners, Step, Sum
from ir_interp.plan.library_passes import Pass
from ir_interp.shapes import PartialShape
from ir_interp.specs import IntegerRounding, ResizeSpec, SumRounding, Unrounded

from .taps import AxisTaps, Column, RunTimeAxis, aligned
from .tensor import Functions, Ops, Tensor, Value

_EXACT_BITS = 24  # integers below 2**24 are summed in float32 without rounding, in any order
_BITS = 11  # of a part of a weight, for few taps
_MOST_TAPS = 512  # the assumed number of taps if it is known only at run time

Resize = Callable[[Value, Sequence[AxisTaps], PartialShape], Value]
"""Returns a tensor of some shape resized along axes by copies and weighted sums."""


@dataclass(frozen=True, slots=True)
class Steps:
    """The steps of a resize on a graph; ``resize`` takes entries and weights them."""

    ops: Ops
    resize: Resize
    dtype: str

    def run(self, x: Value, steps: Sequence[Step], shape: PartialShape) -> Value:
        """Return ``x``, integers as float32, after all steps: integers as float32."""
        for step in steps:
            x, shape = self._step(x, step, shape), _shape_after(step, shape)
        return x

    def _step(self, x: Value, step: Step, shape: PartialShape) -> Value:
        if isinstance(step, Corners):
            return self._cornered(x, step, shape)
        if step.sum is Sum.FIXED:
            pieces = _pieces(Functions(self.ops), step.weights)
            totals = [self._weighed(x, step, weights, shape) for weights in pieces[1]]
            y = _shifted(Functions(self.ops), [Tensor(self.ops, total) for total in totals], pieces[0])
        elif isinstance(step.weights, Tensor):
            y = Tensor(self.ops, self._weighed(x, step, step.weights, shape))
        else:
            y = Tensor(self.ops, self._chained(x, step, shape))
        return bounded(self.ops, rounded(self.ops, y.value, step.rounding), self.dtype)

    def _weighed(self, x: Value, step: Along, weights: Any, shape: PartialShape) -> Value:
        """Return the sum along an axis, its terms added in any order."""
        at_run_time = isinstance(weights, Tensor)
        count = None if at_run_time else weights.shape[1]
        in_size = None if at_run_time else shape[step.axis]
        taps = AxisTaps(axis=step.axis, in_size=in_size, count=count, indices=_places(step.indices), weights=weights)
        return self.resize(x, [taps], shape)

    def _chained(self, x: Value, step: Along, shape: PartialShape) -> Value:
        """Return products added sequentially, each rounded by itself."""
        used = np.flatnonzero(step.weights.any(axis=0))
        behind = range(1, len(shape) - step.axis)
        pixels = (self._taken(x, step.axis, step.indices[:, tap], shape) for tap in used)
        weights = (aligned(self.ops, step.weights[:, tap], behind) for tap in used)
        return self._total(map(self._product, pixels, weights))

    def _taken(self, x: Value, axis: int, indices: Column, shape: PartialShape) -> Value:
        copied = AxisTaps(axis=axis, count=1, indices=_places(indices))
        return self.resize(x, [copied], shape)

    def _product(self, left: Value, right: Value) -> Value:
        return self.ops.elementwise("positive", self.ops.elementwise("multiply", left, right))

    def _cornered(self, x: Value, step: Corners, shape: PartialShape) -> Value:
        """Return the sum over the corners of cells."""
        corners = list(self._corners(x, step, len(step.axes) - 1, shape))
        xp = Functions(self.ops)
        if not step.fixed:
            return self._total([self._product(weight, corner) for corner, weight in corners])
        unit = 2.0**CORNER_BITS
        highs = [xp.floor(Tensor(self.ops, weight) * (1 / unit)) for _, weight in corners]
        lows = [Tensor(self.ops, weight) - high * unit for (_, weight), high in zip(corners, highs, strict=True)]
        high, low = (
            Tensor(
                self.ops,
                self._total([self._product(corner.value, y) for corner, (y, _) in zip(those, corners, strict=True)]),
            )
            for those in (highs, lows)
        )
        return _cut(xp, high, low, unit).value

    def _total(self, terms: Iterable[Value]) -> Value:
        return functools.reduce(functools.partial(self.ops.elementwise, "add"), terms)

    def _corners(self, x: Value, step: Corners, place: int, shape: PartialShape) -> Iterator[tuple[Value, Value]]:
        """Yield the corners of cells with their weights: those of the first axes vary fastest."""
        axis = step.axes[place]
        for indices, weights in zip(step.indices[place], step.weights[place], strict=True):
            taken = self._taken(x, axis, indices, shape)
            column = aligned(self.ops, weights, range(1, len(shape) - axis))
            if place == 0:
                yield taken, column
                continue
            inner = (*shape[:axis], None if isinstance(indices, Tensor) else len(indices), *shape[axis + 1 :])
            for corner, weight in self._corners(taken, step, place - 1, inner):
                yield corner, self.ops.elementwise("multiply", weight, column)


def is_exact(step: Step) -> bool:
    """Return whether a step has the runtime's bits: the order of a sum is unknown if its number of floats is."""
    return isinstance(step, Corners) or step.sum is Sum.FIXED or not isinstance(step.weights, Tensor)


def bounded(ops: Ops, x: Value, dtype: str) -> Value:
    """Return float32 numbers clipped to the range of an integer type. Raises SpecError for other types."""
    if np.dtype(dtype).kind not in "iu":
        raise SpecError(f"{dtype} values can be copied (nearest) but not averaged")
    low, high = (np.float32(bound) for bound in (np.iinfo(dtype).min, np.iinfo(dtype).max))
    # Float32 rounds the largest int32 up, beyond the type: the number below it is the largest that converts.
    high = high if int(high) <= np.iinfo(dtype).max else np.nextafter(high, np.float32(0))
    return ops.elementwise("minimum", ops.elementwise("maximum", x, ops.constant(low)), ops.constant(high))


def _places(indices: Column) -> Column:
    return indices if isinstance(indices, Tensor) else indices.astype(np.intp)


def _shape_after(step: Step, shape: PartialShape) -> PartialShape:
    sizes = list(shape)
    pairs = [(step.axis, step.indices)] if isinstance(step, Along) else zip(step.axes, step.indices, strict=True)
    for axis, indices in pairs:
        column = indices[0] if isinstance(indices, tuple) else indices
        sizes[axis] = None if isinstance(column, Tensor) else len(column)
    return tuple(sizes)


def _pieces(xp: Functions[Ops], weights: Any) -> tuple[int, list[Any]]:
    """Return the bits of a part, and integers of ``FIXED_BITS`` split into such parts, the lowest first.

    A part lies between -2**(bits - 1) and 2**(bits - 1), so that sums of its products with 8-bit integers are exact.
    """
    at_run_time = isinstance(weights, Tensor)
    taps = _MOST_TAPS if at_run_time else weights.shape[1]
    # 8-bit values have 7 bits beside the sign, and a sum has one more for each doubling of the taps.
    bits = max(1, min(_BITS, _EXACT_BITS - 7 - (taps - 1).bit_length()))
    floor = xp.floor if at_run_time else np.floor
    pieces: list[Any] = []
    for _ in range(bits, FIXED_BITS, bits):
        # Rounded to the nearest, so that what is left lies around 0 and is half as large as after a floor.
        rest = floor(weights * 2.0**-bits + 0.5)
        pieces.append(weights - rest * 2.0**bits)
        weights = rest
    return bits, [*pieces, weights]


def _shifted(xp: Functions[Ops], totals: Sequence[Tensor[Ops]], bits: int) -> Tensor[Ops]:
    """Return the integer that the sums of parts represent, without its last ``FIXED_BITS``, rounded half up."""
    total = totals[0]
    for word in totals[1:]:
        # The dropped bits cannot carry: they are positive after a floor, and less than one unit of the next part.
        total = xp.floor(total * 2.0**-bits) + word
    left = FIXED_BITS - bits * (len(totals) - 1)
    return xp.floor((total + 2.0 ** (left - 1)) * 2.0**-left)


def _cut(xp: Functions[Ops], high: Tensor[Ops], low: Tensor[Ops], unit: float) -> Tensor[Ops]:
    """Return (high * unit + low) / unit**2, truncated."""
    carried = xp.floor(low * (1 / unit))
    rest, total = low - carried * unit, high + carried
    below = xp.floor(total * (1 / unit))
    left_out = (rest > 0) | (total > below * unit)  # truncation is the floor, but for negative numbers one more
    return xp.where((total < 0) & left_out, below + 1, below)


def rounded(ops: Ops, x: Value, rounding: SumRounding) -> Value:
    """Return float32 numbers rounded; truncation is left to the conversion to integers."""
    xp, number = Functions(ops), Tensor(ops, x)
    match rounding:
        case Unrounded.KEPT | IntegerRounding.CUT_OFF:
            return x
        case IntegerRounding.HALF_EVEN:
            return ops.elementwise("round", x)
        case IntegerRounding.HALF_UP:
            return _half_up(xp, number).value
        case IntegerRounding.HALF_AWAY:
            whole = _half_up(xp, xp.abs(number))
            return xp.where(number < 0, 0 - whole, whole).value
        case _:
            assert_never(rounding)


def _half_up(xp: Functions[Ops], number: Tensor[Ops]) -> Tensor[Ops]:
    # floor(number + 0.5) would give 1 for the largest float32 below 0.5
    below = xp.floor(number)
    return xp.where(number - below >= 0.5, below + 1, below)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTimePass:
    """A sum of two pixels along an axis, at ``indices`` and with int32 ``weights`` over 2**``bits``.

    The last of several passes drops ``bits_after``, and rounds.
    """

    axis: int
    indices: tuple[Tensor[Ops], Tensor[Ops]]
    weights: tuple[Tensor[Ops], Tensor[Ops]]
    bits: int
    bits_after: int = 0
    rounding: SumRounding = Unrounded.KEPT


def of_litert(ops: Ops, spec: ResizeSpec, axes: Sequence[RunTimeAxis], dtype: str) -> list[RunTimePass]:
    """Return the sums along some axes, the last axis first, as LiteRT computes them."""
    *before, last = (_pass(ops, spec, axis, dtype) for axis in sorted(axes, key=lambda axis: -axis.axis))
    bits = sum(layer.bits for layer in (*before, last))
    return [*before, replace(last, bits_after=bits, rounding=library_weights.litert_rounding(spec, dtype))]


def _pass(ops: Ops, spec: ResizeSpec, axis: RunTimeAxis, dtype: str) -> RunTimePass:
    bits = library_weights.litert_bits(spec, dtype)
    low, far = (pixel.cast("int32") for pixel in _pixels(ops, spec, axis, dtype))
    # At the last pixel both are one, and its weights sum to 2**bits: a copy.
    high = (low + 1).minimum(axis.in_size.cast("int32") - 1)
    return RunTimePass(axis=axis.axis, indices=(low, high), weights=(2**bits - far, far), bits=bits)


def _pixels(ops: Ops, spec: ResizeSpec, axis: RunTimeAxis, dtype: str) -> tuple[Tensor[Ops], Tensor[Ops]]:
    """Return the first pixel of each output and the weight of the second."""
    xp = Functions(ops)
    index, in_size, outputs = xp.arange(0, axis.out_size), axis.in_size, axis.out_size
    if library_weights.is_of_xnnpack(spec, dtype):
        low, far = library_weights.litert_taps_of_float32(spec.coordinates, index, in_size, outputs, xp)
        return xp.precise(low), xp.precise(far)
    index, in_size, outputs = (operand.cast("int32") for operand in (index, in_size, outputs))
    low, far = library_weights.litert_taps_of_integers(spec.coordinates, index, in_size, outputs, xp, _divided)
    return low, far


def _divided(x: Tensor[Ops], by: Tensor[Ops] | int) -> Tensor[Ops]:
    """Return int32 divided and rounded down, although runtimes may divide it in float32, which is off by 1 at most."""
    divisor = x.of(by)
    # The float32 quotient is at most one off, which the remainder shows.
    quotient = (x.cast("float32") / divisor.cast("float32")).floor().cast("int32")
    rest = x - quotient * divisor
    return quotient + (rest >= divisor) - (rest < 0)


LARGEST = 2**30  # of sums in int32: half its range is left to make the division round down
_MOST_COPIES = 16  # each is a copy and a product; a matrix of floats would be faster, and off by a level
_ROUNDINGS = (IntegerRounding.HALF_UP, IntegerRounding.HALF_AWAY)

AnyPass = Pass | RunTimePass
Interval = tuple[int, int]
"""The smallest and the largest value that a tensor may hold."""


def are_integral(passes: Sequence[Pass], dtype: str) -> bool:
    """Return whether int32 nodes hold every sum of some passes over integers of a type."""
    # A pass that is not rounded hands its sums on, so the next one multiplies a wider range.
    values = _all_of(dtype)
    for stage in passes:
        if not _is_plain(stage) or _split(stage, values) is None:
            return False
        values = _sums(stage, values) if stage.rounding is Unrounded.KEPT else _all_of(dtype)
    return True


def _is_plain(step: Pass) -> bool:
    has_integers = step.weights.dtype.kind == "i" and step.weights.shape[1] <= _MOST_COPIES
    keeps_bits = not (step.bits_before or step.bits_each or step.lanes or step.of_ipp or step.counts is not None)
    ends_so = not step.bits_after if step.rounding is Unrounded.KEPT else step.rounding in _ROUNDINGS
    return has_integers and keeps_bits and ends_so


def _all_of(dtype: str) -> Interval:
    return int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)


def _sums(step: AnyPass, values: Interval) -> Interval:
    """Return the smallest and the largest sum of values by the weights of a pass."""
    if isinstance(step, RunTimePass):
        return values[0] << step.bits, values[1] << step.bits
    weights = step.weights
    ends = [np.where(weights > 0, *pair) * weights for pair in (values[::-1], values)]
    return int(ends[1].sum(axis=1).min()), int(ends[0].sum(axis=1).max())


def _split(step: AnyPass, values: Interval) -> int | None:
    """Return how many low bits of the values are summed separately; None if no number of bits is enough."""
    for bits in range(step.bits_after + 1):
        # The low bits are never negative, since the shift rounds down.
        high, low = (values[0] >> bits, values[1] >> bits), (0, 2**bits - 1)
        sums = [*_sums(step, high), *(_sums(step, low) if bits else ())]
        # Half of the divisor is added before the division, which must fit as well.
        if max(map(abs, sums)) + 2 ** max(step.bits_after, 1) < LARGEST:
            return bits
    return None


@dataclass(frozen=True, slots=True)
class IntegerPasses:
    """Passes over integers of a type on a graph; ``resize`` takes entries of an axis."""

    ops: Ops
    resize: Resize
    dtype: str

    def run(self, x: Value, passes: Sequence[AnyPass], shape: PartialShape) -> Value:
        """Return a tensor of ``shape`` after all passes, in its own element type."""
        y, values = Tensor(self.ops, x, self.dtype).cast("int32"), _all_of(self.dtype)
        for step in passes:
            if step.rounding is Unrounded.KEPT:
                y, values = self._sum(y, step, shape), _sums(step, values)
            else:
                y, values = self._rounded(y, step, values, shape), _all_of(self.dtype)
            size = None if isinstance(step, RunTimePass) else len(step.indices)
            shape = (*shape[: step.axis], size, *shape[step.axis + 1 :])
        return y.cast(self.dtype).value

    def _sum(self, x: Tensor[Ops], step: AnyPass, shape: PartialShape) -> Tensor[Ops]:
        behind = range(1, len(shape) - step.axis)
        columns = (step.indices, step.weights) if isinstance(step, RunTimePass) else (step.indices.T, step.weights.T)
        terms = [
            self._taken(x, step.axis, indices, shape) * _aligned(weights, behind)
            for indices, weights in zip(*columns, strict=True)
        ]
        return functools.reduce(operator.add, terms)

    def _taken(self, x: Tensor[Ops], axis: int, indices: Column, shape: PartialShape) -> Tensor[Ops]:
        copies = AxisTaps(axis=axis, count=1, indices=indices)
        return x.like(self.resize(x.value, [copies], shape))

    def _rounded(self, x: Tensor[Ops], step: AnyPass, values: Interval, shape: PartialShape) -> Tensor[Ops]:
        """Return a sum without its last bits, rounded and clipped to the element type."""
        bits = _split(step, values)
        assert bits is not None  # as ``are_integral`` verifies
        half = 2**step.bits_after // 2
        if not bits:
            total = self._sum(x, step, shape)
            y = self._shifted(total + self._half(step, total, half), step.bits_after)
        else:
            high = self._shifted(x, bits)
            total, low = self._sum(high, step, shape), self._sum(x - high * 2**bits, step, shape)
            # The sign of the whole sum decides how a half is rounded, and only the high part has it.
            added = self._half(step, total + self._shifted(low, bits), half)
            y = self._shifted(total + self._shifted(low + added, bits), step.bits_after - bits)
        return self._bounded(y, step)

    def _half(self, step: AnyPass, total: Tensor[Ops], half: int) -> Tensor[Ops]:
        """Return the offset before bits are dropped: one less where a negative sum rounds away from 0."""
        rounds_away = step.rounding is IntegerRounding.HALF_AWAY and self.dtype[0] != "u"
        return (total < 0).where(total.of(half - 1), half) if rounds_away else total.of(half)

    def _shifted(self, x: Tensor[Ops], bits: int) -> Tensor[Ops]:
        return x.like(self.ops.shifted(x.value, bits)) if bits else x

    def _bounded(self, y: Tensor[Ops], step: AnyPass) -> Tensor[Ops]:
        """Return numbers clipped to the element type, which negative weights may exceed."""
        if isinstance(step, RunTimePass):
            return y
        if (step.weights >= 0).all() and (step.weights.sum(axis=1) <= 2**step.bits_after).all():
            return y
        low, high = (y.of(bound) for bound in _all_of(self.dtype))
        y = (y < low).where(low, y)
        return (y > high).where(high, y)


def _aligned(weights: Column, behind: range) -> Column:
    """Return weights of an axis with axes of size 1 ``behind`` it."""
    if isinstance(weights, Tensor):
        return weights.unsqueeze(*behind) if behind else weights
    return weights.reshape(-1, *(1 for _ in behind))
