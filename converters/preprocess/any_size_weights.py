"""The taps and weights of an axis as ONNX nodes, for dynamic sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ir_interp.plan.axes import kernels
from ir_interp.spec import (
    Arithmetic,
    Box,
    Coordinates,
    Cubic,
    FixedPoint,
    Kernel,
    Linear,
    ResizeSpec,
)

from ..onnx.onnx_primitives import NodeTensor, node

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


def neighbours(
    length: NodeTensor, size: Size, bits: int, dtype: str = "float32"
) -> tuple[tuple[NodeTensor, NodeTensor], tuple[NodeTensor, NodeTensor]]:
    """Return two pixels of each output, and their weights as integers, from coordinates of a type."""
    n = length.cast("float64")
    at = (inverse(size.count / n) * (size.index + 0.5) - 0.5).cast(dtype)
    floor = at.floor()
    place, last = at - floor, n.cast(dtype) - 1.0
    pixels = (floor.maximum(0.0).minimum(last).cast("int64"), (floor + 1.0).maximum(0.0).minimum(last).cast("int64"))
    unit = 2.0**bits
    near, far = (((1.0 - place) * unit).round().cast("int64"), (place * unit).round().cast("int64"))
    return (pixels[0], near), (pixels[1], far)


def axis_weights(spec: ResizeSpec, length: NodeTensor, size: Size) -> tuple[NodeTensor, NodeTensor]:
    """Return the weight of every pixel for every output [out, in], and the largest sum while taps are added up."""
    kernel, n, index = spec.kernel, length.cast("float64"), size.index
    j = below(length, "float64")
    assert isinstance(kernel, Box | Linear | Cubic)
    if kernel.is_antialiased:
        step = n / size.count
        wide = step.maximum(1.0)
        reach, narrow = wide * float(kernels.radius(kernel)), inverse(wide)
        centre = (step * (index + 0.5)).unsqueeze(1)
        first = (centre - reach + 0.5).floor().maximum(0.0)
        stop = (centre + reach + 0.5).floor().minimum(n)
        inside = ~(j < first) & (j < stop)
        weights = inside.where(_weigh(kernel, (j - centre + 0.5) * narrow), 0.0)
        weights = weights / weights.running_total()
        return weights, weights
    at = _sampled(spec, n, size)
    floor = at.floor()
    radius = int(kernels.radius(kernel))
    total = peak = None
    for step_from in range(1 - radius, radius + 1):
        places = (floor + float(step_from)).maximum(0.0).minimum(n - 1.0).unsqueeze(1)
        weight = _weigh(kernel, (float(step_from) - (at - floor)).unsqueeze(1))
        term = (j == places).where(weight, 0.0)
        total = term if total is None else total + term
        peak = total if peak is None else peak.maximum(total)
    assert total is not None
    assert peak is not None
    return total, peak


def _sampled(spec: ResizeSpec, n: NodeTensor, size: Size) -> NodeTensor:
    """Return the source coordinates of outputs on an axis of size ``n``, as in ``plan.axes.coordinates``."""
    if spec.coordinates is Coordinates.ALIGN_CORNERS:
        return ((n - 1.0) * size.index) / (size.count - 1.0).maximum(1.0)
    step, centre = n / size.count, size.index + 0.5
    if spec.arithmetic is Arithmetic.TENSORFLOW:
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


def whole(weights: NodeTensor, peak: NodeTensor, rounds: FixedPoint) -> tuple[NodeTensor, NodeTensor]:
    """Return weights, at most as large as ``peak``, as integers, and 2 to the number of fractional bits."""
    if rounds.width == 32:
        unit = weights.of([2.0**rounds.bits])
    else:
        largest = node("ReduceMax", peak, keepdims=0)
        units = 2.0 ** np.arange(1, min(rounds.bits, _WIDEST) + 1)
        fits = (largest * units + 0.5).floor() < 2.0 ** (rounds.width - 1)
        unit = fits.where(weights.of(units), 1.0)
        unit = node("ReduceMax", unit, keepdims=0)
    scaled = weights * unit
    size = (abs(scaled) + 0.5).floor()
    return (scaled < 0.0).where(0.0 - size, size), unit


_GROUPS = 14
"""Windows of an axis: outputs in 14 groups read about a tenth of a large image each, whatever the kernel."""


@dataclass(frozen=True, slots=True, eq=False)
class Window:
    """Outputs of an axis from ``first`` to ``stop``, and the pixels from ``start`` to ``end`` that they can read."""

    first: NodeTensor
    stop: NodeTensor
    start: NodeTensor
    end: NodeTensor


def windows(kernel: Box | Linear | Cubic, length: NodeTensor, size: Size) -> list[Window]:
    """Return the windows of an axis, with a margin: weights of pixels beyond are 0."""
    n, dtype = length.cast(size.count.dtype), size.count.dtype
    step = n / size.count
    margin = step.maximum(1.0) * float(kernels.radius(kernel)) + step + 2.0
    bounds = [_share(size, group) for group in range(_GROUPS + 1)]
    starts = [(bound.cast(dtype) * step - margin).floor().maximum(0.0).cast("int64") for bound in bounds[:-1]]
    ends = [(bound.cast(dtype) * step + margin).ceil().minimum(n).cast("int64") for bound in bounds[1:]]
    return list(map(Window, bounds[:-1], bounds[1:], starts, ends))


def _share(size: Size, group: int) -> NodeTensor:
    if group == _GROUPS:
        return size.length
    if size.known is not None:
        return size.length.of([size.known * group // _GROUPS])
    return size.length * group / _GROUPS


def windowed(x: NodeTensor, weights: NodeTensor, pieces: Sequence[Window], axis: int) -> NodeTensor:
    """Return planes [channels, height, width] times weights, in their type.

    Weights are [out, in] along height (0), and [in, out] along width (1). The windows are built outside of subgraphs:
    onnxruntime warns of nodes there that it could share, but cannot.
    """
    results = []
    for piece in pieces:
        window = _slice(x, piece.start, piece.end, axis + 1)
        table = _slice(_slice(weights, piece.first, piece.stop, axis), piece.start, piece.end, 1 - axis)
        window = window if window.dtype == weights.dtype else window.cast(weights.dtype)
        table = table.unsqueeze(0)  # OpenVINO replaces a MatMul of two ranks: see ``single_precision``
        results.append(table @ window if axis == 0 else window @ table)
    return node("Concat", *results, axis=axis + 1)


def _slice(x: NodeTensor, start: NodeTensor, end: NodeTensor, axis: int) -> NodeTensor:
    return node("Slice", x, start, end, x.of([axis], "int64"))
