"""The resize of an image library in float32 nodes, for images of any size: OpenVINO has no float64.

Positions are integers: with n pixels in and m out, pixel j lies (2j + 1) m - (2i + 1) n from output i, in units of
1 / 2m pixels. Kernels are computed from pairs of float32 (``pairs``), so that a weight is off by at most about 2**-44
before it becomes an integer. It equals the library's unless it lies that near to a half. Sums are those of
``fixed_size_resize``: integers below 2**24, with weights split in two.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ir_interp.errors import InexactError
from ir_interp.plan.axes import kernels
from ir_interp.resize_op import ResizeOp
from ir_interp.spec import (
    Alpha,
    Arithmetic,
    Between,
    Coordinates,
    Cubic,
    FixedPoint,
    Linear,
    Nearest,
    ResizeSpec,
)

from ..onnx.onnx_primitives import NodeTensor, node
from .any_size_resize import lengths_of, ordered, sizes_known
from .any_size_weights import Size, below, windowed, windows
from .pairs import Pair, select

_RESULT = "an IR of any image size"
_LOW_BITS = 8  # of a weight of up to 22 bits: 255 * 2**14 * 1.4, the most that high parts sum to, is below 2**24
_MOST_TAPS = 512  # 255 * 2**7 * 512, a sum of low parts, is below 2**24
_BRIGHTEST = 255
Lengths = tuple[NodeTensor, NodeTensor]
Neighbour = tuple[NodeTensor, NodeTensor]
"""A pixel of each output, int64, and its weight."""


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
            return _shortened(x, lengths, sizes)
        if rounds.between is Between.ROUNDED and _is_summed(spec):
            return _in_passes(x, spec, rounds, lengths, sizes)
    reason = f"{spec.kernel} with its sums has no form in float32 nodes for any image size; use image_size"
    raise InexactError(op.name, _RESULT, reason=reason)


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
    tables = [_table(kernel, *of_axis, rounds, axis) for axis, of_axis in enumerate(axes)]
    pieces = [windows(kernel, *of_axis) for of_axis in axes]

    def along(y: NodeTensor, axis: int) -> NodeTensor:
        parts, unit, half = tables[axis]
        high, low = (windowed(y, part, pieces[axis], axis) for part in parts)
        sums = high + (low / 2.0**_LOW_BITS).floor()
        return ((sums + half) / unit).floor().maximum(0.0).minimum(float(_BRIGHTEST))

    return ordered(along, x.transposed(2, 0, 1), rounds, lengths, sizes).transposed(1, 2, 0)


def _table(
    kernel: Linear | Cubic, length: NodeTensor, size: Size, rounds: FixedPoint, axis: int
) -> tuple[list[NodeTensor], NodeTensor, NodeTensor]:
    """Return the integral weights of an axis for ``windowed``, in parts; the divisor of their sum, and its half."""
    weights, first = _taps(kernel, length, size)
    unit, half = _unit(weights, rounds)
    whole = _whole(weights * (unit * 2.0**_LOW_BITS))
    high = (whole / 2.0**_LOW_BITS).round()  # not the floor: low parts lie around 0, and their sums stay small
    parts = (high, _checked(whole - high * 2.0**_LOW_BITS))
    return [_spread(part, first, length, axis) for part in parts], unit, half


def _checked(weights: NodeTensor) -> NodeTensor:
    """Return weights [out, taps]; with too many taps, they and two zeros do not broadcast, so that the model fails."""
    taps = node("Shape", weights, dtype="int64").take([1], 0)
    zeros = below((taps - _MOST_TAPS).maximum(0).minimum(1) + 1, "float32").minimum(0.0)
    return weights + zeros


def _taps(kernel: Linear | Cubic, length: NodeTensor, size: Size) -> tuple[Pair, NodeTensor]:
    """Return the weights of an axis [out, taps], and the pixel of the first tap of each output [out, 1].

    The first and the last tap lie beyond the kernel: their weight is 0.
    """
    n, count, index = length.cast("float32"), size.count, size.index
    larger, radius = n.maximum(count), float(kernels.radius(kernel))
    reach = larger / count * radius
    first = (((index + 0.5) * (n / count) - reach).floor() - 1.0).unsqueeze(1)
    taps = node("Range", n.of(0.0), node("Squeeze", (reach * 2.0).ceil() + 4.0), n.of(1.0))
    # In units of 1 / 2m pixels positions are integers, so that only the quotient is rounded.
    origin = (Pair.of(first * 2.0 + 1.0) * count - (Pair.of(index * 2.0 + 1.0) * n).unsqueeze(1)).high
    distance = Pair.of(abs(origin + taps * count * 2.0)) / (larger * 2.0)
    pixel = first + taps
    is_inside = ~(pixel < 0.0) & (pixel < n)
    weights = select(is_inside, _weigh(kernel, distance), 0.0)
    return weights / weights.total(1), first


def _weigh(kernel: Linear | Cubic, t: Pair) -> Pair:
    """Return weights at distances in units of the kernel's own pixels; see ``kernels``."""
    if isinstance(kernel, Linear):
        return (1.0 - t).maximum(0.0)
    a = kernel.a
    near = ((a + 2.0) * t - (a + 3.0)) * t * t + 1.0
    far = ((a * t - 5.0 * a) * t + 8.0 * a) * t - 4.0 * a
    return select(t < 1.0, near, select(t < 2.0, far, 0.0))


def _whole(scaled: Pair) -> NodeTensor:
    """Return integers below 2**24, halves rounded away from zero."""
    size = (abs(scaled) + 0.5).floor().high
    return (scaled.high < 0.0).where(-size, size)


def _unit(weights: Pair, rounds: FixedPoint) -> tuple[NodeTensor, NodeTensor]:
    """Return the divisor of the sum of high parts, a power of 2, and its half.

    If the largest weight does not fit the width of weights, they have fewer bits.
    """
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


def _spread(weights: NodeTensor, first: NodeTensor, length: NodeTensor, axis: int) -> NodeTensor:
    """Return weights [out, taps] at their pixels: [out, in] for axis 0, [in, out] for axis 1.

    Other pixels have the weight of the first or last tap, which is 0.
    """
    taps = node("Shape", weights, dtype="int64").take([1], 0).cast("float32")
    pixels = below(length, "float32")
    if axis == 1:
        weights, first, pixels = weights.transposed(1, 0), first.transposed(1, 0), pixels.unsqueeze(1)
    place = (pixels - first).maximum(0.0).minimum(taps - 1.0).cast("int64")
    return node("GatherElements", weights, place, axis=1 - axis)


def _shortened(x: NodeTensor, lengths: Lengths, sizes: tuple[Size, Size]) -> NodeTensor:
    """Return OpenCV's linear: along the width, then the height, where values and products lose bits."""
    rows, columns = (_neighbours(length, size) for length, size in zip(lengths, sizes, strict=True))
    terms = [_product((_along_width(x, i, columns) / 16.0).floor(), w.unsqueeze(1).unsqueeze(1)) for i, w in rows]
    return ((terms[0] + terms[1] + 2.0) / 4.0).floor()


def _along_width(x: NodeTensor, rows: NodeTensor, columns: Sequence[Neighbour]) -> NodeTensor:
    chosen = x.take(rows, 0)
    left, right = (chosen.take(i, 1).cast("float32") * w.unsqueeze(1) for i, w in columns)
    return left + right


def _product(x: NodeTensor, weight: NodeTensor) -> NodeTensor:
    """Return x * weight / 2**16, rounded down, of integers of 15 and 11 bits: 8 bits of ``x`` and those above apart."""
    upper = (x / 256.0).floor()
    lower = x - upper * 256.0
    return ((upper * weight + (lower * weight / 256.0).floor()) / 256.0).floor()


def _neighbours(length: NodeTensor, size: Size) -> tuple[Neighbour, Neighbour]:
    """Return two pixels of each output, and their weights."""
    n, count, index = length.cast("float32"), size.count, size.index
    at = ((Pair.of(index * 2.0 + 1.0) * n - count) / (count * 2.0)).high
    floor, last = at.floor(), n - 1.0
    place, unit = at - floor, 2.0**_SHORTENED_BITS
    pixels = [x.maximum(0.0).minimum(last).cast("int64") for x in (floor, floor + 1.0)]
    weights = [(x * unit).round() for x in (1.0 - place, place)]
    return (pixels[0], weights[0]), (pixels[1], weights[1])
