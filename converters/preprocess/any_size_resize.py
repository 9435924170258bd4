"""The resize of an image library as ONNX nodes, for images of dynamic size: byte for byte as the library.

First the taps and weights of an axis. The formulas are those of ``plan.library_weights`` and
``plan.library_passes``, in float64 nodes, the products in any order: integers below 2**53 are summed exactly. Then the
same in float32 nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np

from ir_interp.errors import InexactError
from ir_interp.plan import formulas
from ir_interp.plan.formulas import half_pixels
from ir_interp.resize_op import ResizeOp
from ir_interp.specs import (
    Alpha,
    Arithmetic,
    Between,
    Box,
    Coordinates,
    Cubic,
    FixedPoint,
    Linear,
    Nearest,
    Passes,
    ResizeSpec,
)
from ir_interp.specs.resize_spec import of_lengths

from ..decompose.tensor import Functions
from ..onnx.operators import NodeTensor, node
from . import fixed_size_resize
from .extended_precision import PAIRS, Pair, select_pair
from .fixed_size_resize import Neighbours, Picture, Window, clipped, shortened

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
    at = half_pixels(size.index, inverse(size.count / n)).cast(dtype)
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
    kernel, n, index, xp = spec.kernel, length.cast("float64"), size.index, Functions(length.ops)
    assert isinstance(kernel, Box | Linear | Cubic)
    if kernel.is_antialiased:
        step = n / size.count
        wide = step.maximum(1.0)
        reach, narrow = wide * float(formulas.radius(kernel)), inverse(wide)
        centre = formulas.centres(index, step).unsqueeze(1)
        lowest = (centre - reach + 0.5).floor().maximum(0.0)
        stop = (centre + reach + 0.5).floor().minimum(n)
        # Two more than the kernel is wide, since rounding at both ends may include another pixel; ``inside`` drops the
        # rest.
        count = (reach * 2.0).ceil().cast("int64") + 2
        j = lowest + below(count, "float64")
        inside = j < stop
        weights = inside.where(formulas.weigh(kernel, (j - centre + 0.5) * narrow, xp), 0.0)
        # The total is added up tap by tap, as the library does: its last bits depend on the order.
        weights = weights / weights.running_total()
        return Taps(weights, inside.where(j, n).cast("int64")), weights
    at = _sampled(spec, n, size)
    floor, radius = at.floor(), int(formulas.radius(kernel))
    steps = n.of(np.arange(1 - radius, radius + 1))
    pixels = (floor.unsqueeze(1) + steps).maximum(0.0).minimum(n - 1.0)
    weights = formulas.weigh(kernel, steps - (at - floor).unsqueeze(1), xp)
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
    """Return the source coordinates of outputs on an axis of size ``n``, as in ``plan.formulas``."""
    if spec.coordinates is Coordinates.ALIGN_CORNERS:
        return ((n - 1.0) * size.index) / (size.count - 1.0).maximum(1.0)
    step = n / size.count
    if spec.arithmetic is Arithmetic.TENSORFLOW:
        # TensorFlow's coordinates are float32, and the product is rounded before the half is subtracted.
        return half_pixels(size.index.cast("float32"), step.cast("float32")).cast("float64")
    if spec.arithmetic is Arithmetic.JAX:
        return half_pixels(size.index, step.cast("float32").cast("float64")).cast("float32").cast("float64")
    return half_pixels(size.index, step)


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
    margin = step.maximum(1.0) * float(formulas.radius(kernel)) + step + 2.0
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


def resized_in_float64(op: ResizeOp, x: NodeTensor, sizes: tuple[Size, Size]) -> NodeTensor:
    """Return ``x``, uint8 [height, width, channels], resized as a call does: integers as float32.

    A call that converts integers to floats, so that its ``dtype`` is float32, gives its values except for the last
    bits, as float64. Raises InexactError for a call without such a form.
    """
    spec, lengths = op.spec, lengths_of(x)
    if spec.box is not None or spec.before is not None:
        raise InexactError(
            op.name, "an ONNX subgraph", reason="a box, or block averages before the resize, need a static image size"
        )
    if isinstance(spec.kernel, Nearest):
        known_sizes = sizes_known(op, sizes)
        for axis in (0, 1):
            x = x.take(_nearest(op, known_sizes, lengths[axis], sizes[axis]), axis)
        return x
    rounds = spec.rounds
    if op.dtype == "float32" and _is_plain(spec):
        return _in_floats(x, spec, lengths, sizes)
    if spec.alpha is Alpha.SEPARATE and isinstance(rounds, FixedPoint) and rounds.lanes is None:
        if rounds.between is Between.SHORTENED:
            rows, columns = map(neighbours, lengths, sizes, [rounds.bits] * 2)
            return fixed_size_resize.shortened(x, rows, columns, columns_first=True)
        if rounds.between is Between.KEPT and isinstance(spec.kernel, Linear):
            rows, columns = (neighbours(*axis, rounds.bits, "float64") for axis in zip(lengths, sizes, strict=True))
            return fixed_size_resize.kept(x, rows, columns, rounds.bits)
        if rounds.between is Between.ROUNDED and isinstance(spec.kernel, Box | Linear | Cubic):
            return _in_passes(x, spec, rounds, lengths, sizes)
    raise InexactError(
        op.name,
        "an ONNX subgraph",
        reason=f"{spec.kernel} has no form in nodes for images of any size; add their size, as in --image-size 240,320",
    )


def _is_plain(spec: ResizeSpec) -> bool:
    """Return whether ``axis_weights`` are those of a resize of floats."""
    kernel, tabled = spec.kernel, spec.arithmetic is Arithmetic.TENSORFLOW and isinstance(spec.kernel, Cubic)
    if not isinstance(kernel, Box | Linear | Cubic) or spec.coordinates not in _COORDINATES:
        return False
    return kernel.is_antialiased or not (kernel.exclude_outside or tabled)


_PLACES = (0, 1)
"""The axes of outputs and of pixels in tables of weights."""
_COORDINATES = (Coordinates.HALF_PIXEL, Coordinates.ALIGN_CORNERS)


def _in_floats(
    x: NodeTensor, spec: ResizeSpec, lengths: tuple[NodeTensor, NodeTensor], sizes: tuple[Size, Size]
) -> NodeTensor:
    kernel, picture = spec.kernel, Picture.of(x, in_rows=True)
    assert isinstance(kernel, Box | Linear | Cubic)
    for axis in (1, 0):
        of_axis = lengths[axis], sizes[axis]
        weights = axis_taps(spec, *of_axis)[0].spread(*of_axis)
        picture = picture.summed(windows(kernel, *of_axis, [weights], _PLACES), axis)
    return picture.image


def lengths_of(x: NodeTensor) -> tuple[NodeTensor, NodeTensor]:
    """Return height and width of an image, each an int64 of one entry."""
    shape = node("Shape", x, dtype="int64")
    height, width = (shape.take([axis], 0) for axis in (0, 1))
    return height, width


def sizes_known(op: ResizeOp, sizes: tuple[Size, Size]) -> ResizeSpec:
    """Return a spec as it is for outputs of these sizes. Raises InexactError if it depends on run time."""
    known = [size.known for size in sizes if size.known is not None]
    if len(known) == len(sizes):
        return of_lengths(op.spec, known)
    small, large = (of_lengths(op.spec, lengths) for lengths in ((1, 1), (_MANY, _MANY)))
    if small != large:
        reason = "its pixels depend on sizes known only at run time; use --image-size 240,320"
        raise InexactError(op.name, "an ONNX subgraph", reason=reason)
    return small


_MANY = 2**20  # a spec that is equal for sizes of 1 and of this does not depend on the size
_RUNNING_TOTALS = (
    (Arithmetic.PILLOW, Coordinates.TF_HALF_PIXEL_FOR_NN),
    (Arithmetic.OPENCV_ADDED, Coordinates.TF_HALF_PIXEL_FOR_NN),
)


_BY_STEPS_OF_FLOAT32 = (Arithmetic.TENSORFLOW, Arithmetic.TORCH, Arithmetic.TORCH_FUSED)
_MIDDLES = {Coordinates.TF_HALF_PIXEL_FOR_NN: 0.5, Coordinates.ASYMMETRIC: 0.0}


def _nearest(op: ResizeOp, spec: ResizeSpec, length: NodeTensor, size: Size) -> NodeTensor:
    """Return which pixels a nearest resize takes along an axis."""
    n, index = length.cast("float64"), size.index
    place = (spec.arithmetic, spec.coordinates)
    if place in _RUNNING_TOTALS:  # half a step, and steps added up
        steps = n / size.count * (index == 0.0).where(n.of(0.5), 1.0)
        at = node("CumSum", steps, n.of(0, "int64"))
    elif place == (Arithmetic.OPENCV_EXACT, Coordinates.ASYMMETRIC):
        at = inverse(size.count / n) * index
    elif place == (Arithmetic.OPENCV_EXACT, Coordinates.TF_HALF_PIXEL_FOR_NN):  # integers over 2**16
        step = ((n * 65536.0 + (size.count * 0.5).floor()) / size.count).floor()
        odd = n - (n * 0.5).floor() * 2.0
        at = (step * index + (step * 0.5).floor() - odd) / 65536.0
    elif place == (Arithmetic.TORCH_FUSED, Coordinates.TF_HALF_PIXEL_FOR_NN):  # from the middles of pixels, and back
        step = (n / size.count).cast("float32").cast("float64")
        at = (half_pixels(index, step).cast("float32") + 0.5).cast("float64")
    elif spec.arithmetic in _BY_STEPS_OF_FLOAT32 and spec.coordinates in _MIDDLES:
        centre = index + _MIDDLES[spec.coordinates]
        at = (centre.cast("float32") * (n / size.count).cast("float32")).cast("float64")
    else:
        reason = f"{op.spec.arithmetic} with {op.spec.coordinates} has no form in nodes"
        raise InexactError(op.name, "an ONNX subgraph", reason=reason)
    return at.floor().maximum(0.0).minimum(n - 1.0).cast("int64")


def _in_passes(
    x: NodeTensor,
    spec: ResizeSpec,
    rounds: FixedPoint,
    lengths: tuple[NodeTensor, NodeTensor],
    sizes: tuple[Size, Size],
) -> NodeTensor:
    """Return sums that are rounded and cut after each axis."""
    kernel, axes = spec.kernel, list(zip(lengths, sizes, strict=True))
    assert isinstance(kernel, Box | Linear | Cubic)
    pieces = [windows(kernel, *of_axis, [_table(spec, *of_axis, rounds)], _PLACES) for of_axis in axes]

    def along(y: Picture, axis: int) -> Picture:
        return y.summed(pieces[axis], axis, lambda sums, _: clipped((sums + 0.5).floor().cast("float32")))

    picture = Picture.of(x, in_rows=True)
    rows_first = starts_with_rows(rounds, lengths, sizes)

    def columns_first() -> NodeTensor:
        return along(along(picture, 1), 0).image

    if rows_first is None:
        return columns_first()
    return _either(rows_first, lambda: along(along(picture, 0), 1).image, columns_first)


def _table(spec: ResizeSpec, length: NodeTensor, size: Size, rounds: FixedPoint) -> NodeTensor:
    taps, peak = axis_taps(spec, length, size)
    return replace(taps, weights=rounded(taps.weights, peak, rounds)).spread(length, size)


def starts_with_rows(
    rounds: FixedPoint, lengths: tuple[NodeTensor, NodeTensor], sizes: tuple[Size, Size]
) -> NodeTensor | None:
    """Return whether the library resizes the height first, of one entry; None if it never does."""
    if rounds.passes is Passes.LAST_FIRST:
        return None
    lost = [length - size.length for length, size in zip(lengths, sizes, strict=True)]
    is_tall = (lengths[0] > lengths[1] * 100) if rounds.passes is Passes.UNLESS_TALL else lost[0] > lost[1] * 2
    return (lost[0] > 0) & is_tall


def _either(condition: NodeTensor, yes: Callable[[], NodeTensor], no: Callable[[], NodeTensor]) -> NodeTensor:
    """Return the result of one of two functions; only that one runs."""
    from onnx import helper

    branches = {}
    outer = condition.ops.graph
    for name, make in (("then_branch", yes), ("else_branch", no)):
        start = len(outer.nodes)
        weights = make()
        inner, outer.nodes[start:] = outer.nodes[start:], []
        element = helper.np_dtype_to_tensor_dtype(np.dtype(weights.dtype))
        output = helper.make_tensor_value_info(weights.value, element, None)
        branches[name] = helper.make_graph(inner, name, [], [output])
    scalar = outer.node("Squeeze", condition.value)
    return condition.like(outer.node("If", scalar, **branches), weights.dtype)


# In float32 nodes, as OpenVINO has no float64. Positions are integers: with n pixels in and m out, pixel j lies
# (2j + 1) m - (2i + 1) n from output i, in units of 1 / 2m pixels. Kernels are computed from pairs of float32
# (``extended_precision``), so that a weight is off by at most about 2**-44 before it becomes an integer. It equals the
# library's unless it lies that near to a half. Sums are those of ``fixed_size_resize``: integers below 2**24, with
# weights split in two.

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
            x = x.take(_nearest_in_float32(lengths[axis], sizes[axis], 0.5 if at_middles else 0.0), axis)
        return x
    if is_whole and isinstance(rounds, FixedPoint) and rounds.lanes is None:
        if rounds.between is Between.SHORTENED and rounds.bits == _SHORTENED_BITS:
            rows, columns = map(_neighbours_in_float32, lengths, sizes)
            return shortened(x, rows, columns, columns_first=False)
        if rounds.between is Between.ROUNDED and _is_summed(spec):
            return _passes_in_float32(x, spec, rounds, lengths, sizes)
    reason = f"{spec.kernel} has no form in float32 nodes for images of any size; add their size: --image-size 240,320"
    raise InexactError(op.name, _RESULT, reason=reason)


# Fractional bits of the weights of OpenCV's linear (INTER_RESIZE_COEF_BITS).
_SHORTENED_BITS = 11


def _nearest_in_float32(length: NodeTensor, size: Size, middle: float) -> NodeTensor:
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


def _passes_in_float32(
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
        pieces.append(windows(kernel, *of_axis, tables, _PLACES_IN_FLOAT32[axis]))
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


_PLACES_IN_FLOAT32 = ((1, 2), (2, 1))
"""The axes of outputs and of pixels in tables of weights for height and width."""


def _rounded_taps(
    kernel: Linear | Cubic, length: NodeTensor, size: Size, rounds: FixedPoint
) -> tuple[tuple[Taps, Taps], tuple[NodeTensor, NodeTensor]]:
    """Return the high and the low part of integral weights; the divisor of their sum, and its half."""
    weights, pixels = _taps_in_float32(kernel, length, size)
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


def _taps_in_float32(kernel: Linear | Cubic, length: NodeTensor, size: Size) -> tuple[Pair, NodeTensor]:
    """Return the weights of an axis [out, taps], and their pixels as in ``Taps``."""
    n, count, index = length.cast("float32"), size.count, size.index
    larger, radius = n.maximum(count), float(formulas.radius(kernel))
    reach = larger / count * radius
    # One pixel more on each side: a float32 error may move the floor, and surplus taps have weight 0.
    lowest = ((formulas.centres(index, n / count) - reach).floor() - 1.0).unsqueeze(1)
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


def _neighbours_in_float32(length: NodeTensor, size: Size) -> Neighbours:
    """Return two pixels of each output, and their weights."""
    n, count, index = length.cast("float32"), size.count, size.index
    # (i + 1/2) n / m - 1/2 as one quotient of integers, so that it is rounded once.
    at = ((Pair.of(index * 2.0 + 1.0) * n - count) / (count * 2.0)).high
    floor, last = at.floor(), n - 1.0
    place, unit = at - floor, 2.0**_SHORTENED_BITS
    pixels = floor.maximum(0.0).minimum(last).cast("int64"), (floor + 1.0).maximum(0.0).minimum(last).cast("int64")
    return Neighbours(pixels, (((1.0 - place) * unit).round(), (place * unit).round()))
