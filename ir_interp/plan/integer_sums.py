"""Integer sums of a piece of an output: the steps of runtimes, and sums of bytes that no order changes.

A piece has the part of the input that it needs. A runtime's sum of float32 products near a half, or near an integer
that is then truncated, is decided by its last bit, so its operations are repeated in its own order, derived by running
onnxruntime 1.31 and OpenVINO 2026.4 on processors that fuse a product into a sum (docs/semantics.md names the tests).
In exact sums, weights are integers over a power of two. One along one axis fits an int32, one along two axes a float64
below 2**53. ``library_passes`` has such sums for image libraries; here they are for integers that are rounded once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.errors import ShapeError
from ir_interp.plan.formulas import AxisPlan
from ir_interp.plan.library_passes import Pass, window_passes
from ir_interp.plan.library_weights import Sampled, filtered, four, pair, whole
from ir_interp.plan.taps import Plan, Taps, is_long, plan, segments, window_taps
from ir_interp.shapes import Array, Shape, resolve_axes
from ir_interp.specs import (
    Alpha,
    Antialias,
    Area,
    Border,
    Box,
    Cubic,
    IntegerRounding,
    Integers,
    Linear,
    Mean,
    Mode,
    Nearest,
    ResizeSpec,
    SumRounding,
    Unrounded,
)

Range = tuple[int, int]
"""Start and stop of a segment of an axis."""


@dataclass(frozen=True, slots=True)
class Piece:
    """The computed part of a plan: the segment of ``outputs`` of every axis, from that of ``inputs``, pads included.

    Taps count inputs from the start of the whole; the available part starts at ``origin``.
    """

    outputs: tuple[Range, ...]
    inputs: tuple[Range, ...]

    @property
    def shape(self) -> Shape:
        """The shape of the piece."""
        return tuple(stop - start for start, stop in self.outputs)

    @property
    def origin(self) -> Shape:
        """The first input along every axis."""
        return tuple(start for start, _ in self.inputs)

    def of_input(self, bound: Plan) -> tuple[slice, ...]:
        """Return the part that the piece needs of an input without pads."""
        pairs = zip(self.inputs, bound.padding, bound.in_shape, strict=True)
        return tuple(
            slice(*(min(max(edge - before, 0), size) for edge in stretch)) for stretch, (before, _), size in pairs
        )

    def padding(self, bound: Plan) -> tuple[Range, ...]:
        """Return the pads that the piece needs before and after that part."""
        pairs = zip(self.inputs, bound.padding, bound.in_shape, strict=True)
        return tuple(
            (max(min(before, stop) - start, 0), max(stop - max(before + size, start), 0))
            for (start, stop), (before, _), size in pairs
        )

    def taps(self, taps: Taps, axis: int) -> Taps:
        """Return the taps of the outputs along an axis, as positions in the segment of inputs."""
        cut = taps.of(*self.outputs[axis])
        return replace(cut, indices=cut.indices - self.inputs[axis][0])

    @property
    def by_itself(self) -> Piece:
        """The piece as a whole: outputs and inputs that are counted from its own first."""
        outputs, inputs = (tuple((0, stop - start) for start, stop in bounds) for bounds in (self.outputs, self.inputs))
        return Piece(outputs, inputs)

    def without_neighbours(self, bound: Plan) -> Piece:
        """Return the piece without the inputs beside its outputs along axes that keep their size."""
        unchanged = set(range(len(self.inputs))) - {axis.axis for axis in bound.axes}
        if bound.spec.alpha is Alpha.PREMULTIPLIED:
            unchanged.discard(axis_of_channels(bound))  # all of them are read
        pairs = enumerate(zip(self.inputs, self.outputs, strict=True))
        return Piece(self.outputs, tuple(outputs if axis in unchanged else inputs for axis, (inputs, outputs) in pairs))

    def within(self, other: Piece) -> tuple[slice, ...]:
        """Return the segment of another piece's inputs that are its own."""
        pairs = zip(self.inputs, other.inputs, strict=True)
        return tuple(slice(start - first, stop - first) for (start, stop), (first, _) in pairs)

    def passes(self, bound: Plan, dtype: str) -> tuple[Pass, ...]:
        """Return the passes of a plan for integers of a type, restricted to the outputs, from the segment of inputs."""
        return tuple(map(self._of_pass, window_passes(bound, dtype, self.outputs)))

    def _of_pass(self, step: Pass) -> Pass:
        begin, end = self.inputs[step.axis]
        indices = np.clip(step.indices - begin, 0, max(end - begin - 1, 0))  # others have a weight of 0
        return replace(step, indices=indices)


def taps_by_axis(bound: Plan, piece: Piece) -> dict[int, Taps]:
    """Return the taps of a piece by itself, by axis. Raises MemoryBoundError if they exceed the memory limit."""
    at = ((place, axis.axis) for place, axis in enumerate(bound.axes))
    return {axis: _by_itself(bound, place, piece.outputs[axis], piece.inputs[axis][0]) for place, axis in at}


@lru_cache(maxsize=128)
def _by_itself(bound: Plan, place: int, outputs: Range, origin: int) -> Taps:
    """Return the taps of a segment of an axis, kept since neighbouring pieces share their rows or columns."""
    taps = window_taps(bound, place, outputs)
    return replace(taps, indices=taps.indices - origin)


def whole_piece(bound: Plan) -> Piece:
    """Return the piece that is the whole output, from the whole input."""
    padded = (size + begin + end for size, (begin, end) in zip(bound.in_shape, bound.padding, strict=True))
    return Piece(tuple((0, size) for size in bound.out_shape), tuple((0, size) for size in padded))


def axis_of_channels(bound: Plan) -> int:
    """Return the axis whose last entry is alpha: the last one, or the one before the resized axes if these are last.

    Raises ShapeError if there is neither.
    """
    rank = len(bound.in_shape)
    axes = resolve_axes(bound.spec.axes, rank)
    if rank - 1 not in axes:
        return rank - 1
    if not min(axes):
        raise ShapeError(f"an image of shape {list(bound.in_shape)} has no axis of channels, the last of them alpha")
    return min(axes) - 1


def channels_last(bound: Plan, piece: Piece) -> tuple[Plan, Piece]:
    """Return a plan and a piece of it for the same image with its channels last."""
    channels, rank = axis_of_channels(bound), len(bound.in_shape)
    order = [axis for axis in range(rank) if axis != channels] + [channels]
    axes = tuple(order.index(axis) for axis in resolve_axes(bound.spec.axes, rank))
    pads = tuple(replace(pad, axis=order.index(pad.axis % rank)) for pad in bound.spec.pads)
    moved = plan(replace(bound.spec, axes=axes, pads=pads), tuple(bound.in_shape[axis] for axis in order))
    outputs, inputs = (tuple(edges[axis] for axis in order) for edges in (piece.outputs, piece.inputs))
    return moved, Piece(outputs, inputs)


FIXED_BITS = 22
"""Bits of the integer weights that onnxruntime uses for 8-bit integers under antialias."""

CORNER_BITS = 10
"""The same along each axis of 8-bit images whose channels come last."""


_EIGHT_BITS = ("uint8", "int8")
ONNXRUNTIME_INTEGERS = (*_EIGHT_BITS, "int32")
"""The integer types that onnxruntime resizes."""

SPATIAL_AXES = {2: {0, 1}, 3: {0, 1, 2}, 4: {2, 3}, 5: {2, 3, 4}}
"""The axes of images and volumes, by rank, that onnxruntime's kernels resize."""

CHANNELS_LAST_AXES = {1, 2}
"""The same for images of rank 4 whose channels come last."""


class Sum(Enum):
    """The number type of a sum."""

    CHAIN = "chain"  # float32 products, added from the first to the last, each rounded
    FUSED = "fused"  # the first product rounded, each other one fused into the sum before that is rounded
    FIXED = "fixed"  # weights are integers over 2**22, rounded half up


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Along:
    """A sum along one axis, of ``indices`` and ``weights`` [out, taps], and its rounding."""

    axis: int
    indices: Any
    weights: Any
    sum: Sum
    rounding: SumRounding = Unrounded.KEPT


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Corners:
    """A sum over the corners of a cell, with products of the weights of its axes, then truncated.

    ``indices`` and ``weights`` have two columns for each of ``axes``. Weights are float32 numbers, or integers
    over 2**10 if ``fixed``.
    """

    axes: tuple[int, ...]
    indices: tuple[tuple[Any, Any], ...]
    weights: tuple[tuple[Any, Any], ...]
    fixed: bool


Step = Along | Corners


def sums_integers(spec: ResizeSpec, dtype: str | None) -> bool:
    """Return whether a resize weighs integers, which runtimes round in different ways."""
    return "int" in (dtype or "") and not isinstance(spec.kernel, Nearest)


def changing(bound: Plan) -> dict[int, AxisPlan]:
    """Return the axes of a plan whose values may change: all but those that have one pixel and keep it.

    If such an axis has a scale other than 1, onnxruntime chooses another kernel because of it.
    """
    by_scale = bound.spec.rounds is Integers.ONNXRUNTIME
    return {
        axis.axis: axis
        for axis in bound.axes
        if (axis.in_size, axis.out_size) != (1, 1) or (by_scale and axis.scale != 1)
    }


def axes_of_steps(spec: ResizeSpec, changing: frozenset[int], rank: int, dtype: str) -> tuple[int, ...] | None:
    """Return the axes for ``steps``, the last first; None if the summation of integers is unknown.

    ``changing`` are the axes whose values may change.
    """
    rule, kernel = spec.rounds, spec.kernel
    if not isinstance(kernel, Linear | Cubic) or not changing or is_taken_apart(spec):
        return None
    last_first = tuple(sorted(changing, reverse=True))
    if rule is Integers.ONNXRUNTIME and dtype in ONNXRUNTIME_INTEGERS:
        if kernel.is_antialiased:
            return last_first
        return _cell(changing, rank) if isinstance(kernel, Linear) else None
    if rule is Integers.OPENVINO and not kernel.is_antialiased and not kernel.exclude_outside:
        # An image, or a volume by linear: beyond these, the order of the plugin's sums was not found.
        known = len(changing) <= (3 if isinstance(kernel, Linear) and rank != 4 else 2)
        return last_first if known else None
    if rule is Integers.OPENVINO and _in_passes(kernel, rank, dtype):
        return last_first
    return None


def is_taken_apart(spec: ResizeSpec) -> bool:
    """Return whether a spec has features that no runtime has."""
    return spec.before is not None or spec.box is not None or spec.kernel.border is not Border.EDGE


def rounding_at_once(spec: ResizeSpec, dtype: str) -> IntegerRounding:
    """Return the rounding of a sum over all axes, if ``steps`` are unknown."""
    if cuts_off(spec, dtype):
        return IntegerRounding.CUT_OFF
    return spec.rounds if isinstance(spec.rounds, IntegerRounding) else IntegerRounding.HALF_EVEN


def cuts_off(spec: ResizeSpec, dtype: str) -> bool:
    """Return whether integers are truncated, as in onnxruntime for a linear resize without antialias."""
    is_plain = isinstance(spec.kernel, Linear) and not spec.kernel.is_antialiased
    return is_plain and spec.rounds is Integers.ONNXRUNTIME and dtype in ONNXRUNTIME_INTEGERS


def _cell(changing: frozenset[int], rank: int) -> tuple[int, ...] | None:
    """Return the axes of an image or a volume that onnxruntime interpolates at once."""
    layouts = (SPATIAL_AXES.get(rank, set()), CHANNELS_LAST_AXES if rank == 4 else set())
    axes = next((axes for axes in layouts if changing <= axes), None)
    return None if axes is None else tuple(sorted(axes, reverse=True))


def _in_passes(kernel: Linear | Cubic, rank: int, dtype: str) -> bool:
    """Return whether OpenVINO rounds after each axis: in Pillow modes, for 8-bit images."""
    return kernel.antialias is Antialias.SHRINKING and rank == 4 and dtype in _EIGHT_BITS


def steps(
    spec: ResizeSpec, axes: tuple[int, ...], sampled: Mapping[int, Sampled[Any]], rank: int, dtype: str
) -> Iterator[Step]:
    """Yield the steps in which the runtime of ``spec`` sums and rounds integers, in order.

    ``axes`` are those of ``axes_of_steps``.
    """
    kernel, rule = spec.kernel, spec.rounds
    assert isinstance(kernel, Linear | Cubic)
    if kernel.is_antialiased:
        # onnxruntime's antialias sums 8 bits as integers, others as float32.
        exact = rule is Integers.ONNXRUNTIME and dtype in _EIGHT_BITS
        rounding = IntegerRounding.HALF_AWAY if rule is Integers.ONNXRUNTIME else IntegerRounding.HALF_EVEN
        for axis in axes:
            indices, weights = filtered(kernel, sampled[axis])
            if exact:
                weights = whole(weights * 2.0**FIXED_BITS, sampled[axis].xp)
            yield Along(
                axis=axis,
                indices=indices,
                weights=weights,
                sum=Sum.FIXED if exact else Sum.CHAIN,
                rounding=IntegerRounding.CUT_OFF if exact else rounding,  # integral by then, but not yet clipped
            )
    elif rule is Integers.ONNXRUNTIME:
        # Its kernel for channels that come last weighs 8 bits by integers over 2**10; all others are float32.
        fixed = dtype in _EIGHT_BITS and rank == 4 and axes == (2, 1)
        pairs = [pair(sampled[axis], CORNER_BITS if fixed else 0) for axis in axes]
        yield Corners(
            axes=axes, indices=tuple(pair[0] for pair in pairs), weights=tuple(pair[1] for pair in pairs), fixed=fixed
        )
    else:
        yield from _at_once(kernel, axes, sampled, rank)


def _at_once(
    kernel: Linear | Cubic, axes: tuple[int, ...], sampled: Mapping[int, Sampled[Any]], rank: int
) -> Iterator[Step]:
    """Yield the steps of OpenVINO, which rounds once: width, then height, then depth."""
    for place, axis in enumerate(axes):
        if isinstance(kernel, Linear):
            (low, high), (near, far) = pair(sampled[axis])
            # the product that is rounded separately, before the other is fused; along the height the left one
            is_height = axis == _height(axes, rank)
            indices, weights = ((low, high), (near, far)) if is_height else ((high, low), (far, near))
        else:
            indices, weights = four(kernel, sampled[axis])
        rounding = IntegerRounding.HALF_EVEN if place == len(axes) - 1 else Unrounded.KEPT
        yield Along(axis=axis, indices=indices, weights=weights, sum=Sum.FUSED, rounding=rounding)


def _height(axes: tuple[int, ...], rank: int) -> int:
    """Return the axis of the height; for images whose channels come last it is axis 1."""
    return 1 if rank == 4 and set(axes) <= {1, 2} and 1 in axes else rank - 2


# With 22 bits, 255 * 2 * 2**22 is below 2**31: int32 holds one axis whose weights' sizes sum to 2, as those of Lanczos
# do. Fewer than 16 bits would move a sum of bytes by 255 * 2**-17 for each tap, which shows.
_BITS, _LEAST_BITS = 22, 16  # fractional bits of a weight
_MOST_AT_ONCE, _MOST = 2**31, 2**53  # of a sum along one axis, and along two
_LARGEST_BYTE = {"uint8": 255, "int8": 128}
_ULP = 2.0**-24  # largest relative error of a float32 rounding


@dataclass(frozen=True, slots=True, eq=False)
class Windows:
    """Output ``i`` is the sum over ``t`` of ``weights[i, t]``, int32 or floats, times input ``first[i] + t``."""

    axis: int
    first: NDArray[np.intp]
    weights: Array

    @property
    def largest(self) -> int:
        """The largest sum of the absolute weights of an output."""
        return int(np.abs(self.weights.astype(np.int64)).sum(axis=1).max(initial=0))


@dataclass(frozen=True, slots=True, eq=False)
class WholeSum:
    """A sum along one axis or two, over ``2**bits``, rounded to integers by ``rounding``."""

    windows: tuple[Windows, ...]
    bits: int
    rounding: IntegerRounding

    @property
    def is_mean(self) -> bool:
        """Whether no sum can exceed the range of its type: no weight is negative, and they sum to 1."""
        largest = math.prod(window.largest for window in self.windows)
        least = min(int(window.weights.min()) for window in self.windows)
        return least >= 0 and largest <= ABOUT_ONE * 2**self.bits


# 255 * 1.001 = 255.255 and -128 * 1.001 = -128.128 round into the range of a byte, so such sums need no clipping.
ABOUT_ONE = 1.001
"""Largest sum of the integer weights of a mean."""


def at_once(bound: Plan, piece: Piece, dtype: str) -> WholeSum | None:
    """Return the sum of integers that are rounded once; None if it needs more bits than the number types have."""
    rounding = rounding_at_once(bound.spec, dtype)
    bits = _precision(bound, _LARGEST_BYTE[dtype]) if _is_rounded_once(bound, rounding, dtype) else None
    if bits is None:
        return None
    windows = []
    for axis, taps in taps_by_axis(bound, piece).items():
        assert taps.weights is not None
        scaled = np.ldexp(taps.weights, bits)
        weights = np.rint(scaled).astype(np.int64)
        if bound.spec.rounds is Integers.RATIONAL and not _are_exact(scaled, weights, bits):
            return None
        windows.append(gathered(axis, _length(piece, axis), taps.indices, weights))
    return WholeSum(_sorted(windows), bits * len(windows), rounding)


def _are_exact(scaled: Array, weights: Array, bits: int) -> bool:
    """Return whether integer weights are the rational ones: these have few digits, so floats do not round them."""
    return bool((scaled == weights).all() and (weights.sum(axis=1) == 2**bits).all())


def _is_rounded_once(bound: Plan, rounding: IntegerRounding, dtype: str) -> bool:
    """Return whether bytes are sums along one or two axes, rounded once and not in steps of a runtime or a library."""
    if isinstance(bound.spec.kernel, Nearest | Mode) or dtype not in _LARGEST_BYTE or not 1 <= len(bound.axes) <= 2:
        return False
    if bound.spec.has_passes or 0 in bound.out_shape:
        return False
    # A weight's last bit would decide how a sum such as 3 * (1/3) is truncated: such sums stay floats.
    if rounding is IntegerRounding.CUT_OFF:
        return False
    return axes_of_steps(bound.spec, frozenset(changing(bound)), len(bound.in_shape), dtype) is None


def in_passes(bound: Plan, piece: Piece, dtype: str) -> tuple[WholeSum, ...] | None:
    """Return the passes of an image library as sums; None if they are of another kind."""
    if dtype not in _LARGEST_BYTE or not bound.spec.has_passes or bound.spec.alpha is not Alpha.SEPARATE:
        return None
    if 0 in bound.out_shape:
        return None
    sums: list[WholeSum] = []
    waiting: list[Windows] = []
    for step in piece.passes(bound, dtype):
        # Vectors add in another order, float weights round, and shortened products lose bits: in none of these is the
        # sum an integer that every order of addition gives.
        if step.is_turned or step.bits_before or step.bits_each or step.factor != 1.0 or step.weights.dtype.kind == "f":
            return None
        if step.counts is not None:
            return None
        waiting.append(gathered(step.axis, _length(piece, step.axis), step.indices, step.weights))
        if step.rounding is not Unrounded.KEPT:
            windows = _sorted(waiting)
            if len(windows) > 2 or not _fits(windows, _LARGEST_BYTE[dtype]):
                return None
            sums.append(WholeSum(windows, step.bits_after, step.rounding))
            waiting = []
    return tuple(sums)


def _sorted(windows: Sequence[Windows]) -> tuple[Windows, ...]:
    return tuple(sorted(windows, key=lambda window: window.axis))


def _length(piece: Piece, axis: int) -> int:
    start, stop = piece.inputs[axis]
    return stop - start


def gathered(axis: int, in_size: int, indices: NDArray[np.intp], weights: Array) -> Windows:
    """Return taps as windows: weights of the same pixel are added up, and those of 0 are dropped."""
    used = weights != 0
    lowest = np.where(used, indices, in_size - 1).min(axis=1)
    # An output whose weights are all 0 would end before it starts.
    highest = np.maximum(np.where(used, indices, 0).max(axis=1), lowest)
    width = int((highest - lowest).max()) + 1
    first = np.minimum(lowest, in_size - width)
    dense = np.zeros((len(indices), width), weights.dtype)
    outputs, taps = np.nonzero(used)
    np.add.at(dense, (outputs, indices[outputs, taps] - first[outputs]), weights[outputs, taps])
    return Windows(axis, first, dense.astype(np.int32) if weights.dtype.kind == "i" else dense)


def in_lowest_terms(sums: WholeSum) -> WholeSum:
    """Return a sum with common factors of 2 removed from the weights of each axis: halves and quarters become small."""
    windows, bits = [], sums.bits
    for window in sums.windows:
        every = int(np.bitwise_or.reduce(window.weights, axis=None))
        twos = (every & -every).bit_length() - 1 if every else 0
        twos = min(twos, bits)
        windows.append(replace(window, weights=window.weights >> twos))
        bits -= twos
    return replace(sums, windows=tuple(windows), bits=bits)


def _fits(windows: Sequence[Windows], most: int) -> bool:
    largest = [most * window.largest for window in windows]
    return max(largest) < _MOST_AT_ONCE and math.prod(largest) < _MOST * most


@lru_cache(maxsize=512)
def _precision(bound: Plan, most: int) -> int | None:
    """Return the number of fractional bits of weights: those of the whole plan, the same for all pieces."""
    sizes = [_size(bound, place) for place in range(len(bound.axes))]
    for bits in range(_BITS, _LEAST_BITS - 1, -1):
        # Rounding moves each weight by at most 1/2, so `count` weights exceed their exact sum by less than `count`.
        sums = [largest * 2**bits + count for largest, count in sizes]
        if most * max(sums) < _MOST_AT_ONCE and most * math.prod(sums) < _MOST:
            return bits
    return None


def _size(bound: Plan, place: int) -> tuple[float, int]:
    """Return the largest sum of the absolute weights of an output of an axis, at least 1, and the number of taps.

    A long axis is taken in segments. Weights that are never negative add up to 1, since a sum within a last bit of 1
    gives as many bits as 1 does.
    """
    taps = segments(bound, place)
    if is_long(bound) and isinstance(bound.spec.kernel, _NEVER_NEGATIVE):
        return 1.0, next(taps).indices.shape[1]
    largest, count = 1.0, 0
    for tap in taps:
        assert tap.weights is not None
        largest = max(largest, float(np.abs(tap.weights).sum(axis=1).max(initial=1.0)))
        count = max(count, tap.indices.shape[1])
    return largest, count


_NEVER_NEGATIVE = (Linear, Area, Mean, Box)


def doubt(sums: WholeSum, most: int) -> float:
    """Return the largest error of a sum in float32 against integers; 0 if it is exact.

    In any order of additions, fused or not, each term is rounded at most once for every term of its sum (N. J. Higham,
    "Accuracy and Stability of Numerical Algorithms", 2002, equation 3.5).
    """
    if most * math.prod(window.largest for window in in_lowest_terms(sums).windows) <= _EXACT:
        return 0.0
    weights = [np.abs(window.weights.astype(np.float64)) for window in sums.windows]
    size = math.prod(weight.sum(axis=1).max() for weight in weights)
    terms = sum(int(np.count_nonzero(weight, axis=1).max()) for weight in weights)
    return float(most * np.ldexp(size, -sums.bits) * (terms + _SPARE) * _ULP)


def error_bound(first: Windows, second: Windows, most: float, bits: int) -> float:
    """Return the largest error of a sum of integers up to ``most`` in float32, along two axes in this order.

    Taps are added one by one, or even and odd ones apart. Every product and every sum so far is rounded at most once,
    by ``_ULP`` of its size (Higham, equation 3.4, which is sharper than 3.5 since early sums are small). Integer
    weights need no rounding below 2**24.
    """
    (size, error), (size_of_sums, error_of_sums) = (_growth(windows.weights) for windows in (first, second))
    summed = error * size_of_sums + size * error_of_sums
    errors_of_errors = 1 / (1 - 2 * _ULP * (first.weights.shape[1] + second.weights.shape[1] + _SPARE))
    return float(errors_of_errors * _ULP * (most * np.ldexp(summed, -bits) + _ENDS * most))


def _growth(weights: Array) -> tuple[float, float]:
    """Return the largest sum of absolute weights of an output, and of the sizes of its products and sums so far.

    Sums of even and of odd taps are no larger, but one more sum joins them.
    """
    sums = np.abs(weights.astype(np.float64)).cumsum(axis=1)
    return float(sums[:, -1].max()), float((2 * sums[:, -1] + sums.sum(axis=1)).max())


_ENDS = 1  # the rounding of a limit
_EXACT = 2**24  # float32 represents every integer up to here
_SPARE = 8  # roundings of the largest sum: of weights, between axes, of the final rounding, and of products of these
