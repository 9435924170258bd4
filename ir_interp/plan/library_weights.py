"""Weights of image libraries and runtimes, exact to the last bit, which affects the rounded integer.

First pixels and weights in which runtimes compute integers; OpenVINO's Pillow modes for 8-bit images have the same
weights as onnxruntime's antialias. Then those of OpenCV (formulas of ``resize.cpp``, in its own number types), and the
order of sums in Intel's library (IPP) within it, which is unpublished; derived by running OpenCV 4.14 and 5.0 on images
that isolate each sum. For 8 bits and three channels it is the order on processors with AVX-512; others differ by 1 in
one value of 10**5. Then TensorFlow and JAX, in float32. ``weighted`` is the formula of Pillow's ``Resample.c`` and
PyTorch's ``UpSampleKernel.cpp``, which are the same filter.

8-bit weights of LiteRT (2.3) are XNNPACK's: 11 bits of a float32 position. Others are its own kernel's: 10 bits of a
position in 1/1024 pixel (``ResizeBilinearInteger`` of resize_bilinear.h), also for int8 and a size of run time.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum, auto
from typing import Generic

import numpy as np
from numpy.typing import NDArray

from ir_interp.plan import formulas
from ir_interp.plan.float_arithmetic import cosine, sine
from ir_interp.plan.formulas import AxisPlan, Positions, half_pixels_rounded_once, positions, within
from ir_interp.shapes import ARRAYS, Array, Operations, Shape, Values, Weighted, resolve_axes
from ir_interp.specs import (
    Area,
    Arithmetic,
    Continuous,
    Coordinates,
    Crop,
    Cubic,
    IntegerRounding,
    Integers,
    Lanczos,
    Linear,
    ResizeSpec,
)
from ir_interp.specs.resize_spec import has_own_weights


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sampled(Generic[Values]):
    """One axis: its size, the scale of its coordinates, and the position of each output, all in float32."""

    length: Values
    scale: Values | float
    at: Values
    xp: Operations[Values]


def pair(axis: Sampled[Values], bits: int = 0) -> tuple[tuple[Values, Values], tuple[Values, Values]]:
    """Return the two neighbours of each output and their weights; at the edge both are one pixel, half each.

    With ``bits``, weights are integers of that many bits.
    """
    xp = axis.xp
    inside = xp.clip(axis.at, 0.0, axis.length - 1)
    low = xp.floor(inside)
    high = xp.minimum(low + 1, axis.length - 1)
    one = 2.0**bits
    place = xp.floor(inside * one) if bits else inside
    weights = (xp.where(xp.equal(low, high), one / 2, xp.abs(place - pixel * one)) for pixel in (high, low))
    near, far = weights
    return (low, high), (near, far)


def four(kernel: Cubic, axis: Sampled[Values]) -> tuple[tuple[Values, ...], tuple[Values, ...]]:
    """Return the four neighbours of each output and OpenVINO's form of Keys' weights."""
    xp = axis.xp
    low = xp.floor(axis.at)
    # `positive` keeps a graph's runtime from fusing a product into the sum that follows it.
    m, a, product = axis.at - low, float(np.float32(kernel.a)), xp.positive
    weights = (
        product(product(product(a * (m - 1)) * (m - 1)) * m),
        formulas.keys_near(m, a, product),
        product((product((product((-a - 2) * m) + (2 * a + 3)) * m) - a) * m),
        product(product(product(-a * m) * m) * (m - 1)),
    )
    return tuple(xp.clip(low + step, 0.0, axis.length - 1) for step in (-1, 0, 1, 2)), weights


def whole(x: Values, xp: Operations[Values]) -> Values:
    """Return integers, rounded half away from zero."""
    # Not floor(size + 0.5): that sum is 1 for the largest float32 below a half.
    size = xp.abs(x)
    below = xp.floor(size)
    rounded = xp.where(size - below >= 0.5, below + 1, below)
    return xp.where(x < 0, 0 - rounded, rounded)


def filtered(kernel: Linear | Cubic, axis: Sampled[Values]) -> tuple[Values, Values]:
    """Return indices and weights [out, taps] as onnxruntime's antialias computes them.

    Its loops over taps are running totals here, since the last bit of a sum depends on the order.
    """
    xp, wide, centre = axis.xp, axis.xp.maximum(1 / axis.scale, 1.0), axis.at + 0.5
    start, count, order = _window(kernel, centre, wide, xp)
    narrow, centre = 1 / wide, xp.expand_dims(centre, 1)
    places = start + order
    distance = xp.positive(xp.abs(places - centre + 0.5) * narrow)
    weights = xp.where(order < count, _weigh(kernel, distance, xp), 0.0)
    inside = (places >= 0) & (places <= axis.length - 1)
    if kernel.exclude_outside:
        weights = xp.where(inside, weights, 0.0)
    total = xp.running_total(weights)
    if not kernel.exclude_outside:
        first = xp.clip(0 - start, 0.0, count - 1)
        last = xp.clip(axis.length - 1 - start, 0.0, count - 1)
        weights = _folded(weights, order, order < first, first, xp)
        weights = _folded(weights, order, (order > last) & (order < count), last, xp)
        weights = xp.where(inside, weights, 0.0)
    # A product by the rounded reciprocal, not a quotient: their last bits differ.
    weights = weights * xp.where(xp.equal(total, 0), 1.0, 1 / xp.where(xp.equal(total, 0), 1.0, total))
    return xp.clip(places, 0.0, axis.length - 1), xp.precise(weights)


def is_in_window(kernel: Linear | Cubic, axis: Sampled[Values]) -> Values:
    """Return which taps of ``filtered`` are pixels of the image in the window of their output, [out, taps]."""
    start, count, order = _window(kernel, axis.at + 0.5, axis.xp.maximum(1 / axis.scale, 1.0), axis.xp)
    return (order < count) & (start + order >= 0) & (start + order <= axis.length - 1)


def _window(
    kernel: Linear | Cubic, centre: Values, wide: Values, xp: Operations[Values]
) -> tuple[Values, Values, Values]:
    """Return the first pixel of each window and the number of its pixels, [out, 1], and the numbers of all taps."""
    support = xp.positive(float(formulas.radius(kernel)) * wide)
    start, stop = xp.floor(centre - support + 0.5), xp.floor(centre + support + 0.5)
    count = xp.clip(stop - start, 0.0, 2 * xp.ceil(support) + 1)
    return xp.expand_dims(start, 1), xp.expand_dims(count, 1), xp.arange(0, 2 * xp.ceil(support) + 1)


def _folded(weights: Values, order: Values, beyond: Values, edge: Values, xp: Operations[Values]) -> Values:
    """Return weights with those ``beyond`` the image added sequentially to that at its edge."""
    at_edge = xp.equal(order, edge)
    edge_weight = xp.sum(xp.where(at_edge, weights, 0.0), axis=1, keepdims=True)
    begin = xp.where(xp.equal(order, 0), edge_weight, 0.0)
    total = xp.running_total(xp.where(beyond, weights, 0.0) + begin)
    return xp.where(at_edge, total, weights)


def _weigh(kernel: Linear | Cubic, distance: Values, xp: Operations[Values]) -> Values:
    """Return the kernel in onnxruntime's order of operations."""
    if isinstance(kernel, Linear):
        return xp.where(distance < 1, 1 - distance, 0.0)
    # Every product is rounded before the next operation; ``positive`` keeps it so in a graph.
    a, product = float(np.float32(kernel.a)), xp.positive
    near = formulas.keys_near(distance, a, product)
    far = product(product((product((distance - 5) * distance) + 8) * distance) - 4) * a
    return xp.where(distance < 1, near, xp.where(distance < 2, far, 0.0))


# Fractional bits of a weight, in XNNPACK's kernel and in LiteRT's own.
_OF_XNNPACK, _OF_KERNEL = 11, 10


def is_of_xnnpack(spec: ResizeSpec, dtype: str) -> bool:
    """Return whether XNNPACK computes a resize of integers."""
    return spec.rounds is Integers.LITERT and dtype in ("int8", "uint8")


def litert_rounding(spec: ResizeSpec, dtype: str) -> IntegerRounding:
    """Return how the sum along the last axis is rounded."""
    return IntegerRounding.HALF_UP if is_of_xnnpack(spec, dtype) else IntegerRounding.HALF_AWAY


def litert_weights(spec: ResizeSpec, axis: AxisPlan, dtype: str) -> tuple[NDArray[np.intp], NDArray[np.int64], int]:
    """Return the two pixels of each output, their weights [out, 2], and the number of fractional bits."""
    bits = litert_bits(spec, dtype)
    if is_of_xnnpack(spec, dtype):
        positions = axis.index.astype(np.float32)
        in_size, outputs = (np.asarray(size, np.float32) for size in (axis.in_size, axis.out_size))
        with np.errstate(divide="ignore", invalid="ignore"):  # a single output has no step between corners
            low, far = litert_taps_of_float32(spec.coordinates, positions, in_size, outputs, ARRAYS)
    else:
        numbers = axis.index.astype(np.int64)
        sizes = np.asarray(axis.in_size), np.asarray(axis.out_size)
        low, far = litert_taps_of_integers(spec.coordinates, numbers, *sizes, ARRAYS, operator.floordiv)
    low, far = low.astype(np.int64), far.astype(np.int64)
    high = np.minimum(low + 1, axis.in_size - 1)
    return np.stack([low, high], axis=1).astype(np.intp), np.stack([2**bits - far, far], axis=1), bits


def litert_bits(spec: ResizeSpec, dtype: str) -> int:
    """Return the number of fractional bits of the weights for integers of a type."""
    return _OF_XNNPACK if is_of_xnnpack(spec, dtype) else _OF_KERNEL


def litert_taps_of_float32(
    coordinates: Coordinates | Crop, index: Values, in_size: Values, outputs: Values, xp: Operations[Values]
) -> tuple[Values, Values]:
    """Return the first pixel of each output ``index``, and the weight of the second, all in float32."""
    step = in_size / outputs
    if coordinates is Coordinates.ALIGN_CORNERS:
        step = xp.where(outputs > 1, (in_size - 1) / (outputs - 1), step)
    # ``positive`` keeps a graph's runtime from fusing the product into the sum that follows; XNNPACK rounds both.
    at = xp.positive(index * step)
    if coordinates is Coordinates.HALF_PIXEL:
        at = at + (xp.positive(step * 0.5) - 0.5)
    at = xp.clip(at, 0.0, in_size - 1)
    low = xp.floor(at)
    return low, xp.rint((at - low) * 2.0**_OF_XNNPACK)


def litert_reads_beyond(spec: ResizeSpec, axis: AxisPlan) -> bool:
    """Say whether LiteRT's own kernel reads behind an axis: its step, rounded to 10 bits, may be too long."""
    last, in_size, outputs = (np.asarray(number) for number in (axis.out_size - 1, axis.in_size, axis.out_size))
    at = _thousandths(spec.coordinates, last, in_size, outputs, ARRAYS, operator.floordiv)
    return bool(at // 2**_OF_KERNEL >= axis.in_size)


def litert_taps_of_integers(
    coordinates: Coordinates | Crop,
    index: Values,
    in_size: Values,
    outputs: Values,
    xp: Operations[Values],
    divided: Callable[[Values, Values | int], Values],
) -> tuple[Values, Values]:
    """Return the same as ``litert_taps_of_float32``, of integers throughout; ``divided`` rounds quotients down."""
    one, at = 2**_OF_KERNEL, _thousandths(coordinates, index, in_size, outputs, xp, divided)
    low = xp.clip(divided(at, one), 0, in_size - 1)
    return low, xp.where(at < 0, 0, at - low * one)


def _thousandths(
    coordinates: Coordinates | Crop,
    index: Values,
    in_size: Values,
    outputs: Values,
    xp: Operations[Values],
    divided: Callable[[Values, Values | int], Values],
) -> Values:
    """Return where outputs lie, in 1/1024 pixel."""
    one = 2**_OF_KERNEL
    pixels, parts = in_size, outputs
    if coordinates is Coordinates.ALIGN_CORNERS:
        pixels, parts = (xp.where(outputs > 1, count - 1, count) for count in (in_size, outputs))
    # The step itself is rounded to 1/1024 pixel, so output i lies up to i/2048 pixels off.
    step = divided(pixels * one + divided(parts, 2), parts)
    at = index * step
    return at + (divided(step, 2) - one // 2) if coordinates is Coordinates.HALF_PIXEL else at


_SLIVER = 1e-3  # of a pixel; a smaller part is left out


def covered(axis: AxisPlan) -> Weighted:
    """Return weights of pixels by the covered part of [i, i + 1) * step; fully covered ones are equal."""
    step = 1.0 / np.float64(axis.scale)
    start = axis.index * step
    stop, cell = start + step, np.minimum(step, axis.in_size - start)
    last = np.minimum(np.floor(stop), axis.in_size - 1)
    first = np.minimum(np.ceil(start), last)
    begin = np.where(first - start > _SLIVER, (first - start) / cell, 0.0)
    end = np.where(stop - last > _SLIVER, np.minimum(np.minimum(stop - last, 1.0), cell) / cell, 0.0)
    places = (first - 1)[:, None] + np.arange(int((last - first).max()) + 2)
    inside = (places >= first[:, None]) & (places < last[:, None])
    weights = np.where(inside, (1.0 / cell)[:, None], 0.0)
    weights = np.where(places == (first - 1)[:, None], begin[:, None], weights)
    weights = np.where(places == last[:, None], end[:, None], weights)
    return np.clip(places, 0, axis.in_size - 1), weights.astype(np.float32)


def covered_in_growing(axis: AxisPlan) -> Weighted:
    """Return weights of two neighbours by the covered part of each, for any axis if one of them grows."""
    scale, index = np.float64(axis.scale), axis.index
    floor = np.floor(index * (1.0 / scale))
    # The part of an output, in outputs, beyond the end of its first pixel; not positive if it ends before.
    place = ((index + 1) - (floor + 1) * scale).astype(np.float32)
    place = np.where(place <= 0, np.float32(0), place - np.floor(place)).astype(np.float32)
    indices = np.clip(floor[:, None] + np.arange(2), 0, axis.in_size - 1)
    return indices, np.stack([np.float32(1) - place, place], axis=1)


def neighbours_in_singles(kernel: Linear | Cubic | Lanczos, axis: AxisPlan) -> Weighted:
    """Return the neighbours and their weights in float32; those out of bounds read the edge."""
    at = positions(axis)
    place = at.fraction.astype(np.float32)
    match kernel:
        case Linear():
            weights = [np.float32(1) - place, place]
        case Cubic():
            weights = _keys(place, np.asarray(kernel.a, np.float32))
        case Lanczos():
            weights = _lanczos(place)
    return _neighbours(kernel, axis, at), np.stack(weights, axis=1)


def neighbours_of_ipp(kernel: Linear | Cubic, axis: AxisPlan) -> Weighted:
    """Return the neighbours and their weights in float32; positions of cubic keep only the bits that 1 + x keeps."""
    one, at = np.float32(1), positions(axis)
    place = at.fraction.astype(np.float32)
    if isinstance(kernel, Linear):
        weights = [one - place, place]
    else:
        # From 1 to 2 the last place of float32 is 2^-23: the sum drops all smaller bits of a position.
        weights = _keys(((place + one) - one).astype(np.float64), kernel.a)
    return _neighbours(kernel, axis, at), np.stack(weights, axis=1).astype(np.float32)


def _neighbours(kernel: Linear | Cubic | Lanczos, axis: AxisPlan, at: Positions[Array]) -> Array:
    """Return the pixels on both sides of every output, within the reach of the kernel."""
    reach = int(formulas.radius(kernel))
    return within(at.floor[:, None] + np.arange(1 - reach, reach + 1), axis.in_size, kernel.border)


def _keys(x: Array, a: Array | float) -> list[Array]:
    one = np.float32(1)
    outer, left, right = formulas.keys_far(x + one, a), formulas.keys_near(x, a), formulas.keys_near(one - x, a)
    # The last weight is the rest, not its own polynomial, so that the four sum to 1.
    return [outer, left, right, one - outer - left - right]


_DIAGONAL = 0.70710678118654752440084436210485  # s45 of interpolateLanczos4 in resize.cpp, digit for digit
# The first half of the table cs there; the other half has opposite signs.
_TURNS = ((1, 0), (-_DIAGONAL, -_DIAGONAL), (0, 1), (_DIAGONAL, -_DIAGONAL))
_ALL_TURNS = (*_TURNS, *((-of_sine, -of_cosine) for of_sine, of_cosine in _TURNS))


def _lanczos(x: Array) -> list[Array]:
    """Return the weights of eight neighbours; their sines are rotations of the sine of the first."""
    first = -(x + np.float32(3)).astype(np.float64) * np.pi * 0.25
    sines, cosines = sine(first), cosine(first)
    total, weights = np.zeros(x.shape, np.float32), []
    for place, (of_sine, of_cosine) in enumerate(_ALL_TURNS):
        distance = x + np.float32(3) - np.float32(place)
        on_pixel = np.abs(distance) < _ON_PIXEL
        angle = np.where(on_pixel, 1.0, -distance.astype(np.float64) * np.pi * 0.25)
        weight = (of_sine * sines + of_cosine * cosines) / (angle * angle)
        weights.append(np.where(on_pixel, _ALL, weight).astype(np.float32))
        total = total + weights[-1]
    inverse = np.float32(1) / total
    return [weight * inverse for weight in weights]


_ON_PIXEL, _ALL = 1e-6, 1e30  # a weight next to which the others are negligible


CHANNELS = (1, 3, 4)
_BLOCK = 4  # outputs of a row that are computed together


@dataclass(frozen=True, slots=True)
class Order:
    """Chains of taps: each is added up in order, then one chain to the other.

    With ``fused``, a product that is added to a sum keeps all its bits, and one rounding follows.
    """

    chains: tuple[tuple[int, ...], ...]
    fused: bool


@dataclass(frozen=True, slots=True)
class Orders:
    """The order across the width for each of the four rows, which are then summed ``down`` the height."""

    across: tuple[Order, Order, Order, Order]
    down: Order


@dataclass(frozen=True, slots=True, eq=False)
class Patch:
    """Outputs, by their rows and columns, that are summed in the same orders.

    Sums of two neighbours have none: a fused product adds their weighted difference to the first.
    """

    rows: NDArray[np.intp]
    columns: NDArray[np.intp]
    orders: Orders | None


def takes(spec: ResizeSpec, shape: Shape) -> bool:
    """Return whether the library accepts images of a shape, pads included: two axes, not too short, few channels."""
    axes = sorted(resolve_axes(spec.axes, len(shape)))
    if spec.arithmetic is not Arithmetic.IPP or len(axes) != 2 or axes[1] != axes[0] + 1:
        return False
    if not isinstance(spec.kernel, Linear | Cubic):
        return False
    channels = math.prod(shape[axes[1] + 1 :])
    return channels in CHANNELS and min(shape[axis] for axis in axes) >= 2 * formulas.radius(spec.kernel)


_FORWARD, _SECOND_FIRST = Order(((0, 1, 2, 3),), True), Order(((1, 0, 2, 3),), True)
_PAIRS, _FUSED_PAIRS = Order(((0, 1), (2, 3)), False), Order(((1, 0), (3, 2)), True)
_ALTERNATE, _FUSED_ALTERNATE = Order(((0, 2), (1, 3)), False), Order(((0, 2), (1, 3)), True)
_OUTER_INNER = Order(((3, 0), (2, 1)), True)

_EDGE = {
    "uint8": Orders((_FORWARD,) * 4, _FUSED_PAIRS),
    "uint16": Orders((_FORWARD, _SECOND_FIRST, _SECOND_FIRST, _FORWARD), _ALTERNATE),
}
_BLOCKS = {
    "uint8": {1: _PAIRS, 3: _FORWARD, 4: _FUSED_ALTERNATE},
    "uint16": {1: _PAIRS, 3: _OUTER_INNER, 4: _OUTER_INNER},
}
_REST = {
    "uint8": {1: _ALTERNATE, 3: _FORWARD, 4: _OUTER_INNER},
    "uint16": {1: _ALTERNATE, 3: _OUTER_INNER, 4: _OUTER_INNER},
}


def patches(rows: Array, columns: Array, channels: int, dtype: str) -> tuple[Patch, ...]:
    """Return groups of outputs with the same order of sums, by the taps of rows and columns [out, taps].

    With four taps, separate groups are those with out-of-bounds taps (for 8 bits in columns only), and the columns of
    an incomplete block.
    """
    if columns.shape[1] == 2:
        return (Patch(np.arange(len(rows)), np.arange(len(columns)), None),)
    width = dtype if dtype in _EDGE else "uint16"
    high, wide = (_reaching(pairs) for pairs in (rows, columns))
    edges, inner = np.flatnonzero(wide), np.flatnonzero(~wide)
    if width == "uint8":
        high = np.zeros_like(high)
    among, beyond = np.flatnonzero(~high), np.flatnonzero(high)
    whole = len(inner) // _BLOCK * _BLOCK

    def inside(order: Order) -> Orders:
        return Orders((order,) * 4, _FUSED_PAIRS)

    patch_list = (
        Patch(among, inner[:whole], inside(_BLOCKS[width][channels])),
        Patch(among, inner[whole:], inside(_REST[width][channels])),
        Patch(among, edges, _EDGE[width]),
        Patch(beyond, np.arange(len(columns)), _EDGE[width]),
    )
    return tuple(patch for patch in patch_list if patch.rows.size and patch.columns.size)


class Across(IntEnum):
    """The orders in which rows of bytes are summed."""

    PAIRS = auto()
    FORWARD = auto()
    ALTERNATE = auto()
    FUSED_ALTERNATE = auto()
    OUTER_INNER = auto()


_ACROSS = {
    _PAIRS: Across.PAIRS,
    _FORWARD: Across.FORWARD,
    _ALTERNATE: Across.ALTERNATE,
    _FUSED_ALTERNATE: Across.FUSED_ALTERNATE,
    _OUTER_INNER: Across.OUTER_INNER,
}


def across(columns: Array, channels: int) -> NDArray[np.uint8]:
    """Return the order in which each output of a row of bytes is summed, as an ``Across``.

    ``columns`` are the four taps of all outputs of a row. All rows have the same order, and are then summed in two
    fused pairs.
    """
    orders = np.zeros(len(columns), np.uint8)
    for patch in patches(columns[:1], columns, channels, "uint8"):
        assert patch.orders is not None
        assert patch.orders.down == _FUSED_PAIRS
        orders[patch.columns] = _ACROSS[patch.orders.across[0]]
    return orders


def _reaching(indices: Array) -> NDArray[np.bool_]:
    """Return which outputs have out-of-bounds taps, which read the edge."""
    return np.asarray((indices[:, 0] == indices[:, 1]) | (indices[:, 2] == indices[:, 3]))


_TABLE = 1024  # steps from one pixel to the next


def tabulated(kernel: Cubic, axis: AxisPlan) -> Weighted:
    """Return four neighbours with weights from a table of the kernel, as TensorFlow's ``ResizeBicubic`` does."""
    at, steps = positions(axis), np.arange(-1, 3)
    fraction = np.rint(at.fraction * _TABLE) / _TABLE
    places = at.floor[:, None].astype(np.int64) + steps
    weights = formulas.weigh(kernel, steps - fraction[:, None], ARRAYS)
    if kernel.exclude_outside:
        weights = np.where((places >= 0) & (places < axis.in_size), weights, 0.0)
        weights = weights / weights.sum(axis=1, keepdims=True)
    return np.clip(places, 0, axis.in_size - 1), weights


def translated(kernel: Continuous, axis: AxisPlan) -> Weighted:
    """Return the pixels of a window, weighted by float32 distances: TensorFlow's ``ScaleAndTranslate``, and JAX."""
    one = np.float32(1)
    if axis.arithmetic is Arithmetic.JAX:  # the kernel measures from the centres of pixels
        step, middle = np.float32(float(1 / axis.scale)), np.float32(0)
        at = half_pixels_rounded_once(axis.index, axis.scale)
    else:
        step, middle = one / np.float32(float(axis.scale)), np.float32(0.5)
        at = (axis.index.astype(np.float32) + middle) * step
    at = at + np.float32(float(axis.start))
    wide = max(step, one) if kernel.is_antialiased else one
    reach = np.float32(float(formulas.radius(kernel))) * wide
    first = np.clip(np.ceil(at - reach - middle), 0, axis.in_size - 1)
    last = np.clip(np.floor(at + reach - middle), 0, axis.in_size - 1)
    places = first[:, None] + np.arange(int((last - first).max()) + 1, dtype=np.float32)
    distance = np.abs((places + middle - at[:, None]) * (one / wide))
    weights = np.where(places <= last[:, None], formulas.weigh(kernel, distance.astype(np.float64), ARRAYS), 0.0)
    return np.minimum(places, axis.in_size - 1), weights / weights.sum(axis=1, keepdims=True)


def covered_in_singles(axis: AxisPlan) -> Weighted:
    """Return weights by the covered part of [i * step, (i + 1) * step) in float32: area of TensorFlow and JAX."""
    is_jax = axis.arithmetic is Arithmetic.JAX
    step = np.float32(float(axis.step or 1 / axis.scale))
    edges = np.append(axis.index, axis.index[-1] + 1).astype(np.float32) * step
    start, stop = edges[:-1, None], edges[:-1, None] + step if is_jax else edges[1:, None]
    reach = int((np.ceil(stop) - np.floor(start)).max())
    places = np.floor(start) + np.arange(reach, dtype=np.float32)
    cover = np.maximum(np.minimum(stop, places + 1) - np.maximum(start, places), 0)
    if is_jax:
        cover = np.where(places < axis.in_size, cover, 0)
        return np.minimum(places, axis.in_size - 1), cover / cover.sum(axis=1, keepdims=True)
    cover = np.where((start > places) & (stop < places + 1), step, cover)
    return np.minimum(places, axis.in_size - 1), cover / step


_TRANSLATE = (Arithmetic.TENSORFLOW, Arithmetic.JAX)


def weighted(kernel: Continuous | Area, axis: AxisPlan, *, any_growing: bool) -> Weighted | None:
    """Return the taps of an axis in the order of its library; None if the order makes no difference."""
    if isinstance(kernel, Area) and has_own_weights(kernel, axis.arithmetic):
        return covered_in_growing(axis) if any_growing else covered(axis)
    if axis.arithmetic is Arithmetic.OPENCV and isinstance(kernel, Linear | Cubic | Lanczos):
        return neighbours_in_singles(kernel, axis)
    if axis.arithmetic is Arithmetic.IPP and isinstance(kernel, Linear | Cubic):
        return neighbours_of_ipp(kernel, axis)
    if isinstance(kernel, Area):
        return covered_in_singles(axis) if axis.arithmetic in _TRANSLATE else None
    if isinstance(kernel, Cubic) and has_own_weights(kernel, axis.arithmetic):
        return tabulated(kernel, axis)
    if axis.arithmetic in _TRANSLATE and formulas.sums_to_one(kernel):
        return translated(kernel, axis)
    if kernel.is_antialiased:
        return _filtered(kernel, axis)
    return None


def _filtered(kernel: Continuous, axis: AxisPlan) -> Weighted:
    """Return the pixels of a window and their weights in float64, as Pillow and PyTorch do; none is out of bounds."""
    step = float(1 / axis.scale)
    wide = max(step, 1.0)
    support, narrow = float(formulas.radius(kernel)) * wide, 1.0 / wide
    centre = float(axis.start) + formulas.centres(axis.index, step)
    # C casts to int before it compares with 0, and a cast truncates.
    first = np.maximum(np.trunc(centre - support + 0.5), 0)
    stop = np.minimum(np.trunc(centre + support + 0.5), axis.in_size)
    order = np.arange(max(int((stop - first).max()), 1))
    places = first[:, None] + order
    weights = formulas.weigh(kernel, (places - centre[:, None] + 0.5) * narrow, ARRAYS)
    weights = np.where(order < (stop - first)[:, None], weights, 0.0)
    total = np.cumsum(weights, axis=1)[:, -1:]  # from the first to the last
    return np.minimum(places, axis.in_size - 1), weights / np.where(total == 0, 1.0, total)
