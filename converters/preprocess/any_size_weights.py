"""The taps and weights of an axis as ONNX nodes, for dynamic sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ir_interp.plan.axes import kernels
from ir_interp.spec import Arithmetic, Box, Coordinates, Cubic, FixedPoint, Kernel, Linear, ResizeSpec

from ..onnx.onnx_primitives import NodeTensor, node
from .neighbour_sums import Neighbours
from .windowed_products import Window

_WIDEST = 22  # bits of a weight at most


@dataclass(frozen=True, slots=True, eq=False)
class Size:
    """The size of an output axis, as int64 and as a float of one entry, and the numbers of its pixels.

    ``known`` is the size itself, if static. Floats are float64, and float32 for OpenVINO.
    """

    length: NodeTensor
    count: NodeTensor
    index: NodeTensor
    known: int | None = None

    @staticmethod
    def of(x: NodeTensor, length: int, dtype: str) -> Size:
        """Return a static size, in the graph of ``x``."""
        return Size(x.of([length], "int64"), x.of([length], dtype), x.of(np.arange(length), dtype), length)

    @staticmethod
    def at_run_time(length: NodeTensor, dtype: str) -> Size:
        """Return a dynamic size, an int64 of one entry."""
        return Size(length, length.cast(dtype), below(length, dtype))


def below(count: NodeTensor, dtype: str) -> NodeTensor:
    """Return the integers from 0 to below a count of one entry."""
    return node("Range", count.of(0), node("Squeeze", count), count.of(1)).cast(dtype)


def inverse(x: NodeTensor) -> NodeTensor:
    """Return 1 / x: onnxruntime turns 1 / x * y, with a constant 1, into the quotient y / x, which has other bits."""
    return x / x / x


def neighbours(length: NodeTensor, size: Size, bits: int, dtype: str = "float32") -> Neighbours:
    """Return two pixels of each output, and their integral weights, from coordinates of a type."""
    n = length.cast("float64")
    at = (inverse(size.count / n) * (size.index + 0.5) - 0.5).cast(dtype)
    floor = at.floor()
    place, last = at - floor, n.cast(dtype) - 1.0
    pixels = (floor.maximum(0.0).minimum(last).cast("int64"), (floor + 1.0).maximum(0.0).minimum(last).cast("int64"))
    unit = 2.0**bits
    return Neighbours(pixels, (((1.0 - place) * unit).round(), (place * unit).round()))


@dataclass(frozen=True, slots=True, eq=False)
class Taps:
    """Weights [out, taps] and their pixels, int64 [out, taps]; a tap without a pixel has the number of pixels.

    Taps of the same pixel have the same weight, its sum.
    """

    weights: NodeTensor
    pixels: NodeTensor

    def spread(self, length: NodeTensor, size: Size, *, pixels_first: bool = False) -> NodeTensor:
        """Return the weights of every pixel, [out, in + 1], or [1, in + 1, out] if they come first.

        The last of ``in`` takes the taps without a pixel.
        """
        lengths, weights, pixels = [size.length, length + 1], self.weights, self.pixels
        if pixels_first:
            lengths, weights, pixels = lengths[::-1], weights.transposed(1, 0), pixels.transposed(1, 0)
        zeros = weights.like(weights.ops.broadcast(weights.of([[0.0]]).value, node("Concat", *lengths, axis=0).value))
        return node("ScatterElements", zeros, pixels, weights, axis=0 if pixels_first else 1)


def axis_taps(spec: ResizeSpec, length: NodeTensor, size: Size) -> tuple[Taps, NodeTensor]:
    """Return the taps of an axis, and the largest sums while taps are added up."""
    kernel, n, index = spec.kernel, length.cast("float64"), size.index
    assert isinstance(kernel, Box | Linear | Cubic)
    if kernel.is_antialiased:
        step = n / size.count
        wide = step.maximum(1.0)
        reach, narrow = wide * float(kernels.radius(kernel)), inverse(wide)
        centre = (step * (index + 0.5)).unsqueeze(1)
        lowest = (centre - reach + 0.5).floor().maximum(0.0)
        stop = (centre + reach + 0.5).floor().minimum(n)
        # Two more than the kernel is wide, since rounding at both ends may include another pixel; ``inside`` drops the
        # rest.
        count = (reach * 2.0).ceil().cast("int64") + 2
        j = lowest + below(count, "float64")
        inside = j < stop
        weights = inside.where(_weigh(kernel, (j - centre + 0.5) * narrow), 0.0)
        # The total is added up tap by tap, as the library does: its last bits depend on the order.
        weights = weights / weights.running_total()
        return Taps(weights, inside.where(j, n).cast("int64")), weights
    at = _sampled(spec, n, size)
    floor, radius = at.floor(), int(kernels.radius(kernel))
    steps = n.of(np.arange(1 - radius, radius + 1))
    pixels = (floor.unsqueeze(1) + steps).maximum(0.0).minimum(n - 1.0)
    weights = _weigh(kernel, steps - (at - floor).unsqueeze(1))
    total = peak = None
    for tap in range(2 * radius):
        # Out-of-bounds taps read the edge. Equal pixels are merged in order, so that a sum has one weight for each
        # pixel.
        term = (pixels == pixels.take([tap], 1)).where(weights.take([tap], 1), 0.0)
        total = term if total is None else total + term
        peak = total if peak is None else peak.maximum(total)
    assert total is not None
    assert peak is not None
    return Taps(total, pixels.cast("int64")), peak


def _sampled(spec: ResizeSpec, n: NodeTensor, size: Size) -> NodeTensor:
    """Return the source coordinates of outputs on an axis of size ``n``, as in ``plan.axes.coordinates``."""
    if spec.coordinates is Coordinates.ALIGN_CORNERS:
        return ((n - 1.0) * size.index) / (size.count - 1.0).maximum(1.0)
    step, centre = n / size.count, size.index + 0.5
    if spec.arithmetic is Arithmetic.TENSORFLOW:
        # TensorFlow's coordinates are float32, and the product is rounded before the half is subtracted.
        return (centre.cast("float32") * step.cast("float32") - 0.5).cast("float64")
    if spec.arithmetic is Arithmetic.JAX:
        return (step.cast("float32").cast("float64") * centre - 0.5).cast("float32").cast("float64")
    return step * centre - 0.5


def _weigh(kernel: Kernel, offset: NodeTensor) -> NodeTensor:
    match kernel:
        case Box():
            return (~(offset < -0.5) & ~(offset == -0.5) & ~(offset > 0.5)).where(offset.of(1.0), 0.0)
        case Linear():
            return (1.0 - abs(offset)).maximum(0.0)
        case Cubic(a=a):
            t = abs(offset)
            near = ((a + 2.0) * t - (a + 3.0)) * t * t + 1.0
            far = ((a * t - 5.0 * a) * t + 8.0 * a) * t - 4.0 * a
            return (~(t > 1.0)).where(near, (t < 2.0).where(far, 0.0))
    raise AssertionError(kernel)


def rounded(weights: NodeTensor, peak: NodeTensor, rounds: FixedPoint) -> NodeTensor:
    """Return weights, at most as large as ``peak``, rounded to fractional bits: their sums of pixels are exact."""
    if rounds.width == 32:
        unit = weights.of([2.0**rounds.bits])
    else:
        largest = node("ReduceMax", peak, keepdims=0)
        units = 2.0 ** np.arange(1, min(rounds.bits, _WIDEST) + 1)
        fits = (largest * units + 0.5).floor() < 2.0 ** (rounds.width - 1)
        unit = fits.where(weights.of(units), 1.0)
        unit = node("ReduceMax", unit, keepdims=0)
    scaled = weights * unit
    size = (abs(scaled) + 0.5).floor() / unit
    return (scaled < 0.0).where(0.0 - size, size)


_GROUPS = 14
"""Windows of an axis: outputs in 14 groups read about a tenth of a large image each, whatever the kernel."""


def windows(
    kernel: Box | Linear | Cubic, length: NodeTensor, size: Size, tables: Sequence[NodeTensor], places: tuple[int, int]
) -> list[Window]:
    """Return the windows of an axis, with a margin: weights of pixels beyond are 0.

    ``places`` are the axes of outputs and of pixels in ``tables``. Windows are built outside of subgraphs: onnxruntime
    warns of nodes there that it could share, but cannot.
    """
    n, dtype = length.cast(size.count.dtype), size.count.dtype
    step = n / size.count
    margin = step.maximum(1.0) * float(kernels.radius(kernel)) + step + 2.0
    shares = np.arange(_GROUPS + 1)
    bounds = size.length.of(size.known * shares // _GROUPS) if size.known else size.length * shares / _GROUPS
    first, last = bounds.take(shares[:-1], 0), bounds.take(shares[1:], 0)
    starts = (first.cast(dtype) * step - margin).floor().maximum(0.0).cast("int64")
    stops = (last.cast(dtype) * step + margin).ceil().minimum(n).cast("int64")
    of_tables = [
        node("Concat", rows.unsqueeze(1), pixels.unsqueeze(1), axis=1)
        for rows, pixels in ((first, starts), (last, stops))
    ]

    def window(group: int) -> Window:
        corners = [bound.take(group, 0) for bound in of_tables]
        parts = [node("Slice", table, *corners, length.of(places)) for table in tables]
        return Window(parts, (starts.take([group], 0), stops.take([group], 0)))

    return list(map(window, range(_GROUPS)))
