"""The resize of an image library in float32 nodes, for images of any size: OpenVINO has no float64.

Positions are integers: with n pixels in and m out, pixel j lies (2j + 1) m - (2i + 1) n from output i, in units of
1 / 2m pixels. Kernels are computed from pairs of float32 (``extended_precision``), so that a weight is off by at
most about 2**-44 before it becomes an integer. It equals the library's unless it lies that near to a half. Sums are
those of ``fixed_size_resize``: integers below 2**24, with weights split in two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

import numpy as np

from ir_interp.errors import InexactError
from ir_interp.plan import formulas
from ir_interp.resize_op import ResizeOp
from ir_interp.specs import Alpha, Arithmetic, Between, Coordinates, Cubic, FixedPoint, Linear, Nearest, ResizeSpec

from ..onnx.operators import NodeTensor, node
from .any_size_resize import Size, Taps, below, lengths_of, sizes_known, starts_with_rows, windows
from .extended_precision import PAIRS, Pair, select_pair
from .window_sums import Neighbours, Picture, shortened

_RESULT = "an IR of any image size"
_LOW_BITS = 8  # of a weight of up to 22 bits: 255 * 2**14 * 1.4, the most that high parts sum to, is below 2**24
_MOST_TAPS = 512  # 255 * 2**7 * 512, a sum of low parts, is below 2**24
Lengths = tuple[NodeTensor, NodeTensor]


def resized_in_float32(op: ResizeOp, x: NodeTensor, sizes: tuple[Size, Size]) -> NodeTensor:
    """Return ``x``, uint8 [height, width, channels], resized as a call does: integers as float32.

    Raises InexactError for a call without such a form. Fails at run time if an output has more than 512 taps.
    """
    spec, lengths, rounds = op.spec, lengths_of(x), op.spec.rounds
    is_whole = spec.box is None and spec.before is None and spec.alpha is Alpha.SEPARATE
    if is_whole and isinstance(spec.kernel, Nearest) and spec.arithmetic is Arithmetic.TORCH:
        at_middles = sizes_known(op, sizes).coordinates is Coordinates.TF_HALF_PIXEL_FOR_NN
        for axis in (0, 1):
            x = x.take(_nearest(lengths[axis], sizes[axis], 0.5 if at_middles else 0.0), axis)
        return x
    if is_whole and isinstance(rounds, FixedPoint) and rounds.lanes is None:
        if rounds.between is Between.SHORTENED and rounds.bits == _SHORTENED_BITS:
            rows, columns = map(_neighbours, lengths, sizes)
            return shortened(x, rows, columns, columns_first=False)
        if rounds.between is Between.ROUNDED and _is_summed(spec):
            return _in_passes(x, spec, rounds, lengths, sizes)
    reason = f"{spec.kernel} has no form in float32 nodes for images of any size; add their size: --image-size 240,320"
    raise InexactError(op.name, _RESULT, reason=reason)


# Fractional bits of the weights of OpenCV's linear (INTER_RESIZE_COEF_BITS).
_SHORTENED_BITS = 11


def _nearest(length: NodeTensor, size: Size, middle: float) -> NodeTensor:
    """Return which pixels torch takes along an axis: its coordinates are products of float32."""
    n = length.cast("float32")
    step = (
        Pair.of(n) / size.count
    ).high  # OpenVINO multiplies by the reciprocal of a constant, whose error is bounded here
    at = (size.index + middle) * step
    return at.floor().maximum(0.0).minimum(n - 1.0).cast("int64")


def _is_summed(spec: ResizeSpec) -> bool:
    kernel = spec.kernel
    return isinstance(kernel, Linear | Cubic) and kernel.is_antialiased and spec.coordinates is Coordinates.HALF_PIXEL


def _in_passes(
    x: NodeTensor, spec: ResizeSpec, rounds: FixedPoint, lengths: Lengths, sizes: tuple[Size, Size]
) -> NodeTensor:
    """Return sums that are rounded and cut after each axis."""
    kernel = spec.kernel
    assert isinstance(kernel, Linear | Cubic)
    axes = list(zip(lengths, sizes, strict=True))
    picture = Picture.of(x, in_rows=False)
    pieces, units = [], []
    for axis, of_axis in enumerate(axes):
        taps, unit = _rounded_taps(kernel, *of_axis, rounds)
        tables = [tap.spread(*of_axis, pixels_first=axis == 1).unsqueeze(0) for tap in taps]  # of the rank of planes
        pieces.append(windows(kernel, *of_axis, tables, _PLACES[axis]))
        units.append(unit)

    def along(y: Picture, axis: int) -> Picture:
        unit, half = units[axis]

        def finish(sums: NodeTensor, window: Sequence[NodeTensor]) -> NodeTensor:
            return ((sums + half) / unit).floor().maximum(0.0).minimum(_brightest(window))

        return y.summed(pieces[axis], axis, finish)

    rows_first = starts_with_rows(rounds, lengths, sizes)
    if rows_first is None:
        return along(along(picture, 1), 0).image
    # Both orders, one of them of no planes: OpenVINO's If would copy its inputs, and its branches share no memory.
    planes = node("Shape", picture.tensor, dtype="int64").take([0], 0)
    count = rows_first.cast("int64") * planes
    tall, wide = (replace(picture, planes=bounds) for bounds in ((count * 0, count), (count, planes)))
    results = [along(along(tall, 0), 1), along(along(wide, 1), 0)]
    return Picture(tensor=node("Concat", *(result.tensor for result in results), axis=0), in_rows=False).image


def _brightest(window: Sequence[NodeTensor]) -> NodeTensor:
    """Return 255 as a value that depends on the pixels of a window, which are not brighter, in each of their types.

    OpenVINO's tensors of dynamic size that are not alive at the same time share memory, in the order of their nodes.
    Without this dependency the small result of each window takes the place of its large input, and the next window
    needs another place of that size.
    """
    first, last, places = (window[0].of(three, "int64") for three in ([0] * 3, [1] * 3, [0, 1, 2]))
    corners = (node("Slice", pixels, first, last, places).cast("float32") for pixels in window)
    return reduce(lambda one, other: one.maximum(other), corners).maximum(255.0)


_PLACES = ((1, 2), (2, 1))
"""The axes of outputs and of pixels in tables of weights for height and width."""


def _rounded_taps(
    kernel: Linear | Cubic, length: NodeTensor, size: Size, rounds: FixedPoint
) -> tuple[tuple[Taps, Taps], tuple[NodeTensor, NodeTensor]]:
    """Return the high and the low part of integral weights; the divisor of their sum, and its half."""
    weights, pixels = _taps(kernel, length, size)
    unit, half = _unit(weights, rounds)
    whole = _whole(weights * (unit * 2.0**_LOW_BITS))
    high = (whole / 2.0**_LOW_BITS).round()  # not the floor: low parts lie around 0, and their sums stay small
    low = _checked((whole - high * 2.0**_LOW_BITS) * 2.0**-_LOW_BITS)
    return (Taps(high, pixels), Taps(low, pixels)), (unit, half)


def _checked(weights: NodeTensor) -> NodeTensor:
    """Return weights [out, taps]; with too many taps, they and two zeros do not broadcast, so that the model fails."""
    taps = node("Shape", weights, dtype="int64").take([1], 0)
    zeros = below((taps - _MOST_TAPS).maximum(0).minimum(1) + 1, "float32").minimum(0.0)
    return weights + zeros


def _taps(kernel: Linear | Cubic, length: NodeTensor, size: Size) -> tuple[Pair, NodeTensor]:
    """Return the weights of an axis [out, taps], and their pixels as in ``Taps``."""
    n, count, index = length.cast("float32"), size.count, size.index
    larger, radius = n.maximum(count), float(formulas.radius(kernel))
    reach = larger / count * radius
    # One pixel more on each side: a float32 error may move the floor, and surplus taps have weight 0.
    lowest = (((index + 0.5) * (n / count) - reach).floor() - 1.0).unsqueeze(1)
    taps = node("Range", n.of(0.0), node("Squeeze", (reach * 2.0).ceil() + 4.0), n.of(1.0))
    # In units of 1 / 2m pixels positions are integers, so that only the quotient is rounded.
    origin = (Pair.of(lowest * 2.0 + 1.0) * count - (Pair.of(index * 2.0 + 1.0) * n).unsqueeze(1)).high
    distance = Pair.of(abs(origin + taps * count * 2.0)) / (larger * 2.0)
    pixel = lowest + taps
    is_inside = ~(pixel < 0.0) & (pixel < n)
    weights = select_pair(is_inside, _weigh(kernel, distance), 0.0)
    return weights / weights.total(1), is_inside.where(pixel, n).cast("int64")


def _weigh(kernel: Linear | Cubic, t: Pair) -> Pair:
    """Return weights at distances in units of the kernel's own pixels."""
    return formulas.triangle(t, PAIRS) if isinstance(kernel, Linear) else formulas.keys(t, kernel.a, PAIRS)


def _whole(scaled: Pair) -> NodeTensor:
    """Return integers below 2**24, halves rounded away from zero."""
    size = (abs(scaled) + 0.5).floor().high
    return (scaled.high < 0.0).where(-size, size)


def _unit(weights: Pair, rounds: FixedPoint) -> tuple[NodeTensor, NodeTensor]:
    """Return the divisor of the sum of high parts, a power of 2, and its half.

    If the largest weight does not fit the width of weights, they have fewer bits.
    """
    # One entry for each possible number of bits; those whose largest weight does not fit become the least power.
    powers = 2.0 ** np.arange(_LOW_BITS + 1, rounds.bits + 1)
    if rounds.width == 32:
        powers, fits = powers[-1:], weights.high.of([True], "bool")
    else:
        high = node("ReduceMax", weights.high, keepdims=0)
        low = node("ReduceMax", (weights.high == high).where(weights.rest, -1.0), keepdims=0)
        scaled = (Pair(high * powers, low * powers) + 0.5).floor()
        fits = scaled.high < 2.0 ** (rounds.width - 1)
    shares = (2.0**-bits for bits in (_LOW_BITS, _LOW_BITS + 1))
    unit, half = (node("ReduceMax", fits.where(weights.high.of(powers * share), share), keepdims=1) for share in shares)
    return unit, half


def _neighbours(length: NodeTensor, size: Size) -> Neighbours:
    """Return two pixels of each output, and their weights."""
    n, count, index = length.cast("float32"), size.count, size.index
    # (i + 1/2) n / m - 1/2 as one quotient of integers, so that it is rounded once.
    at = ((Pair.of(index * 2.0 + 1.0) * n - count) / (count * 2.0)).high
    floor, last = at.floor(), n - 1.0
    place, unit = at - floor, 2.0**_SHORTENED_BITS
    pixels = floor.maximum(0.0).minimum(last).cast("int64"), (floor + 1.0).maximum(0.0).minimum(last).cast("int64")
    return Neighbours(pixels, (((1.0 - place) * unit).round(), (place * unit).round()))
