"""Integers in the steps of a runtime, as primitive operations: with the same bits as there."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ir_interp.errors import SpecError
from ir_interp.plan.runtimes.integer_steps import CORNER_BITS, FIXED_BITS, Along, Corners, Step, Sum
from ir_interp.shapes import PartialShape
from ir_interp.spec import IntegerRounding, SumRounding, Unrounded

from .apply_taps import AxisTaps, aligned
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

    def _taken(self, x: Value, axis: int, indices: Any, shape: PartialShape) -> Value:
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


def _places(indices: Any) -> Any:
    return indices if isinstance(indices, Tensor) else indices.astype(np.intp)


def _shape_after(step: Step, shape: PartialShape) -> PartialShape:
    sizes = list(shape)
    pairs = [(step.axis, step.indices)] if isinstance(step, Along) else zip(step.axes, step.indices, strict=True)
    for axis, indices in pairs:
        column = indices[0] if isinstance(indices, tuple) else indices
        sizes[axis] = None if isinstance(column, Tensor) else len(column)
    return tuple(sizes)


def _pieces(xp: Functions, weights: Any) -> tuple[int, list[Any]]:
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


def _shifted(xp: Functions, totals: Sequence[Tensor[Ops]], bits: int) -> Tensor[Ops]:
    """Return the integer that the sums of parts represent, without its last ``FIXED_BITS``, rounded half up."""
    total = totals[0]
    for word in totals[1:]:
        # The dropped bits cannot carry: they are positive after a floor, and less than one unit of the next part.
        total = xp.floor(total * 2.0**-bits) + word
    left = FIXED_BITS - bits * (len(totals) - 1)
    return xp.floor((total + 2.0 ** (left - 1)) * 2.0**-left)


def _cut(xp: Functions, high: Tensor[Ops], low: Tensor[Ops], unit: float) -> Tensor[Ops]:
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


def _half_up(xp: Functions, number: Tensor[Ops]) -> Tensor[Ops]:
    # floor(number + 0.5) would give 1 for the largest float32 below 0.5
    below = xp.floor(number)
    return xp.where(number - below >= 0.5, below + 1, below)
