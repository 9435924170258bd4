"""The formulas of an axis: filters before the resize, source coordinates, and weights by distance; each once.

``source`` is the only place with formulas of coordinates, and ``weigh`` of kernels: for rationals, arrays and nodes.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Generic, Protocol, SupportsFloat, TypeVar, assert_never

import numpy as np

from ir_interp.plan.float_arithmetic import cosine, exponential, sine
from ir_interp.shapes import ARRAYS, Array, Exact, Functions, Number, Operations, Quantity, Values, Wide
from ir_interp.specs import (
    Arithmetic,
    Box,
    Continuous,
    Coordinates,
    Crop,
    Cubic,
    Gaussian,
    Hamming,
    Lanczos,
    Length,
    Linear,
    Magic,
    Mitchell,
)
from ir_interp.specs.modes import Border

_REACH = 4.0  # standard deviations
Exact_co = TypeVar("Exact_co", bound=Quantity, covariant=True)


@dataclass(frozen=True, slots=True)
class Blocks:
    """Pixels from ``start`` to ``stop`` are averaged in blocks of ``size``; the last may be shorter."""

    start: int
    stop: int
    size: int

    def count(self, in_size: int) -> int:
        """Return the number of blocks."""
        return -(-(self.stop - self.start) // self.size)

    @property
    def reach(self) -> int:
        """The number of pixels in a block."""
        return self.size

    @property
    def edges(self) -> Array:
        """The start of each block, and the end of the last."""
        return np.append(np.arange(self.start, self.stop, self.size), self.stop)

    def origin(self, place: Array) -> Array:
        """Return the position among the pixels of a position among the blocks."""
        return (place + 0.5) * self.size + self.start - 0.5

    def weighted(self, in_size: int) -> tuple[Array, Array]:
        """Return indices and weights [blocks, pixels]."""
        starts, stops = self.edges[:-1, None], self.edges[1:, None]
        places = starts + np.arange(self.size)
        return np.minimum(places, self.stop - 1), np.where(places < stops, 1.0 / (stops - starts), 0.0)


@dataclass(frozen=True, slots=True)
class Bell:
    """Every pixel becomes a sum under a Gaussian (``ndimage`` of SciPy)."""

    deviation: float
    border: Border

    def count(self, in_size: int) -> int:
        """Return the number of output pixels for a number of input pixels."""
        return in_size

    @property
    def reach(self) -> int:
        """The number of pixels in a sum."""
        return 2 * self._radius + 1

    @property
    def _radius(self) -> int:
        return int(_REACH * self.deviation + 0.5)

    def origin(self, place: Array) -> Array:
        """Return the position unchanged."""
        return place

    def weighted(self, in_size: int) -> tuple[Array, Array]:
        """Return indices and weights [pixels, neighbours]."""
        steps = np.arange(-self._radius, self._radius + 1)
        weights = exponential(-0.5 / self.deviation**2 * steps**2)
        indices = within(np.arange(in_size)[:, None] + steps, in_size, self.border)
        return indices, np.broadcast_to(weights / weights.sum(), indices.shape)


Before = Blocks | Bell


def within(places: Array, in_size: int, border: Border) -> Array:
    """Return the pixels of an axis at positions, which may be beyond the axis."""
    match border:
        case Border.EDGE:
            return np.asarray(np.clip(places, 0, in_size - 1))
        case Border.MIRRORED:
            repeated = 0  # how often the last pixel appears at a mirror
        case Border.SYMMETRIC:
            repeated = 1
        case _:
            assert_never(border)
    period = 2 * (in_size - 1 + repeated)
    turned = np.mod(places, period) if period else places * 0
    return np.asarray(np.minimum(turned, abs(period - repeated - turned)))


_TIE = 1e-6  # onnxruntime treats a fraction this close to 1/2 as a tie (its issue 28291)


@dataclass(frozen=True, slots=True, kw_only=True)
class AxisPlan:
    """One resized axis of static size: ``source = step * output_index + offset``, exactly.

    ``in_size`` includes the pads. ``scale`` is the output / input ratio of the coordinates and the antialias filter:
    the requested one, out / in, or the aspect policy's. ``asked`` is the ratio before the size was rounded, by which
    half_pixel_symmetric centres. Coordinates count from ``start``, that of a box. With ``before``, they refer to the
    axis after that filter. ``copies`` means that every output is the one pixel at its coordinate, whatever the kernel.
    ``outputs`` limits what is computed of a long axis to a segment of its outputs.
    """

    axis: int
    in_size: int
    out_size: int
    scale: Fraction
    asked: Fraction
    step: Fraction
    offset: Fraction
    coordinates: Coordinates | Crop
    window: tuple[float, float]
    length: Length
    arithmetic: Arithmetic
    start: Fraction = Fraction(0)
    before: Before | None = None
    copies: bool = False
    outputs: tuple[int, int] | None = None

    @property
    def is_rational(self) -> bool:
        """Whether source coordinates are rationals, not rounded to a float."""
        return self.arithmetic in (Arithmetic.EXACT, Arithmetic.TENSORRT)

    @property
    def index(self) -> Array:
        """The computed outputs, counted from the first of the axis."""
        return np.arange(*(self.outputs or (0, self.out_size)))


@dataclass(frozen=True, slots=True)
class Numbers(Generic[Exact]):
    """The numbers that a formula is computed in: rationals, float32, or nodes of a graph.

    ``over`` divides by a scale; ``choose`` takes a condition and two functions. ``centred`` is the function of that
    name, in the type to which onnxruntime widens.
    """

    number: Callable[[Exact | Fraction | float], Exact]
    over: Callable[[Exact, Exact | Fraction], Exact]
    centred: Callable[[Exact, Exact, Exact], Exact]
    choose: Callable[[object, Callable[[], Exact], Callable[[], Exact]], Exact]


def centred(shift: Wide, i: Wide, scale: Wide, half: Wide) -> Wide:
    """Return half_pixel_symmetric: shift + (i + 1/2) / scale - 1/2."""
    return shift + (i + half) / scale - half


@dataclass(frozen=True, slots=True)
class Positions(Generic[Values]):
    """Source coordinates split in two; ``half`` has the sign of fraction - 1/2, and is 0 at a tie."""

    floor: Values
    fraction: Values
    half: Values


def single(value: SupportsFloat) -> np.float32:
    """Return the float32 nearest to a number."""
    return np.float32(float(value))


def _branch(condition: object, yes: Callable[[], Exact], no: Callable[[], Exact]) -> Exact:
    return yes() if condition else no()


def _centred_in_float64(shift: Array, i: Array, scale: Array) -> Array:
    return centred(shift.astype(np.float64), i.astype(np.float64), scale.astype(np.float64), np.asarray(0.5))


def _times(step: Callable[[Fraction], np.floating[Any]], kind: type[np.floating[Any]]) -> Numbers[Array]:
    """Return numbers of a ``kind`` that multiply by ``step(scale)`` instead of dividing by the scale."""

    def over(x: Array, scale: Array | Fraction) -> Array:
        assert isinstance(scale, Fraction)
        return np.multiply(x, step(scale))

    return Numbers(
        number=lambda value: np.asarray(float(value), kind), over=over, centred=_centred_in_float64, choose=_branch
    )


def _in_singles(value: Array | Fraction | float) -> Array:
    return np.asarray(single(value))


_INVERTED = _times(lambda scale: np.float64(1 / scale), np.float64)
_INVERTED_ROUNDED = _times(lambda scale: 1.0 / np.float64(scale), np.float64)  # of a scale that is rounded first
_INVERTED_SINGLE = _times(lambda scale: np.float32(float(1 / scale)), np.float32)
_ROUNDED_STEPS = (Arithmetic.OPENCV, Arithmetic.OPENCV_EXACT, Arithmetic.OPENCV_ADDED)
_SINGLES = (Arithmetic.TENSORFLOW, Arithmetic.JAX)  # whose coordinates are float32 for every kernel
_TORCH_SINGLES = (Arithmetic.TORCH, Arithmetic.TORCH_FUSED)  # float32 for copies only: sums take float64 positions
_FLOORED_AS_SINGLES = (Arithmetic.TORCH, Arithmetic.TORCH_FUSED, Arithmetic.TORCH_DOUBLE)
_STORED_AS_SINGLES = (Arithmetic.OPENCV, Arithmetic.TORCH_DOUBLE)  # computed in float64, then stored as float32
_RUNNING_TOTALS = (Arithmetic.PILLOW, Arithmetic.OPENCV_ADDED)  # nearest adds the step up from pixel to pixel
# These multiply i by a step for align_corners.
_STEP_FIRST = (Arithmetic.OPENVINO, Arithmetic.LITERT, Arithmetic.TENSORFLOW, Arithmetic.SCIPY)
_RATIONAL: Numbers[Fraction] = Numbers(
    number=lambda value: Fraction(value),
    over=operator.truediv,
    centred=lambda shift, i, scale: centred(shift, i, scale, Fraction(1, 2)),
    choose=_branch,
)
_SINGLE: Numbers[Array] = Numbers(
    number=_in_singles,
    over=lambda x, scale: x / _in_singles(scale),
    centred=_centred_in_float64,
    choose=_branch,
)


def affine(axis: AxisPlan) -> tuple[Fraction, Fraction]:
    """Return step and offset of an axis; its formula at two indices, in rationals, gives both exactly."""
    first, second = (source(axis, Fraction(i), _RATIONAL) for i in (0, 1))
    return second - first, first


def positions(axis: AxisPlan) -> Positions[Array]:
    """Return the source coordinate of every output index, in the plan's arithmetic."""
    if not axis.out_size:
        return Positions(*np.zeros((3, 0)))
    if axis.is_rational:
        total, denominator = numerators(axis)
        floor, rest = total // denominator, total % denominator
        fraction, half = np.asarray(rest / denominator, dtype=np.float64), np.sign(2 * rest - denominator)
        return Positions(floor.astype(np.int64), fraction, half.astype(np.int8))
    if axis.arithmetic.is_library:
        return split(_in_library(axis), axis.arithmetic, ARRAYS)
    index = axis.index.astype(np.float32)
    numbers = _INVERTED_SINGLE if axis.arithmetic is Arithmetic.LITERT else _SINGLE
    at = np.asarray(source(axis, index, numbers), dtype=np.float32).astype(np.float64)
    return split(np.broadcast_to(at, index.shape), axis.arithmetic, ARRAYS)


# A segment far down an axis then needs no array of all outputs before it.
_PART = 2**20  # outputs that are added up at a time


def _running_total(axis: AxisPlan, start: float) -> Array:
    """Return coordinates that are added up from the first output on, however few of them are computed."""
    step, begin = float(1 / axis.scale), int(axis.index[0])
    total = start + step * 0.5
    for first in range(0, begin, _PART):
        total = float(np.add.accumulate(np.append(total, np.full(min(_PART, begin - first), step)))[-1])
    return np.add.accumulate(np.append(total, np.full(len(axis.index) - 1, step)))


_FIXED = 2**16  # OpenCV's bit-exact nearest, up to 4.x


def _in_library(axis: AxisPlan) -> Array:
    """Return the source coordinate of every output index, computed as in an image library."""
    index, start = axis.index, float(axis.start)
    nearest = axis.coordinates is Coordinates.TF_HALF_PIXEL_FOR_NN  # no other kernel of a library uses it
    if nearest and axis.arithmetic in _RUNNING_TOTALS:
        # The rounding errors of the total decide pixels, so i * step would be wrong.
        return _running_total(axis, start)
    if nearest and axis.arithmetic is Arithmetic.OPENCV_EXACT:
        step = (axis.in_size * _FIXED + axis.out_size // 2) // axis.out_size
        return start + (step * index + step // 2 - axis.in_size % 2) / _FIXED
    if nearest and axis.arithmetic is Arithmetic.JAX:  # XLA multiplies by 1 / out, which it computes beforehand
        inverse = np.float32(1) / np.float32(axis.out_size)
        size = np.float32(float(axis.out_size / axis.scale))
        return start + centres(index.astype(np.float32), np.asarray(size * inverse)).astype(np.float64)
    if axis.arithmetic is Arithmetic.JAX and axis.coordinates is Coordinates.HALF_PIXEL:
        return start + half_pixels_rounded_once(index, axis.scale).astype(np.float64)
    if nearest and axis.arithmetic is Arithmetic.TORCH_FUSED:  # from the centres of pixels, and back
        return half_pixels_rounded_once(index, axis.scale) + np.float32(0.5) + start
    copies = nearest or axis.coordinates is Coordinates.ASYMMETRIC
    if axis.arithmetic in _SINGLES or (axis.arithmetic in _TORCH_SINGLES and copies):
        singles = source(axis, index.astype(np.float32), _INVERTED_SINGLE)
        return singles.astype(np.float64)
    numbers = _INVERTED_ROUNDED if axis.arithmetic in _ROUNDED_STEPS else _INVERTED
    at = np.broadcast_to(source(axis, index.astype(np.float64), numbers), index.shape)
    return at.astype(np.float32).astype(np.float64) if axis.arithmetic in _STORED_AS_SINGLES else at


def centres(index: Number, step: Number | float) -> Number:
    """Return (i + 1/2) * step: the centre of an output, from the edge of the input, if libraries multiply by a step."""
    return (index + 0.5) * step


def half_pixels(index: Number, step: Number | float) -> Number:
    """Return (i + 1/2) * step - 1/2: half_pixel of libraries that multiply by a step; ``source`` divides by a scale."""
    return centres(index, step) - 0.5


def half_pixels_rounded_once(index: Array, scale: Fraction) -> Array:
    """Return them by a step in float32, the product and the difference rounded as one (XLA)."""
    return half_pixels(index, float(np.float32(float(1 / scale)))).astype(np.float32)


def split(coordinate: Values, arithmetic: Arithmetic, xp: Operations[Values]) -> Positions[Values]:
    """Return float coordinates as integral and fractional parts."""
    floor = xp.floor(coordinate)
    fraction = coordinate - floor
    if arithmetic in _FLOORED_AS_SINGLES:
        # PyTorch's floorf() of a float64 steps onto the next pixel from just below it; no weight is left for the last.
        floor = xp.applied(lambda at: np.floor(at.astype(np.float32)).astype(np.float64), coordinate)
        fraction = xp.clip(coordinate - floor, 0, 1)
    half = fraction - 0.5
    if arithmetic is Arithmetic.ONNXRUNTIME:
        half = xp.where(xp.abs(half) <= _TIE, 0.0, half)
    if arithmetic is Arithmetic.SCIPY:  # not floor(x + 1/2): float64 rounds that sum up from just below a half
        half = xp.where(xp.floor(coordinate + 0.5) > floor, xp.maximum(half, 0.0), half)
    return Positions(floor, fraction, half)


def numerators(axis: AxisPlan) -> tuple[Array, int]:
    """Return the source coordinates as integers over one denominator."""
    denominator = math.lcm(axis.step.denominator, axis.offset.denominator)
    slope, start = int(axis.step * denominator), int(axis.offset * denominator)
    # Python's integers are exact at any size, but slow; int64 must also hold twice a rest.
    fits = max(abs(slope) * int(axis.index[-1] + 1) + abs(start), 2 * denominator) < 2**62
    return axis.index.astype(np.int64 if fits else object) * slope + start, denominator


def settled(kernel: Box | Gaussian, axis: AxisPlan, indices: Array, offset: Array, widening: Fraction) -> Array:
    """Return offsets [out, taps] that are on the side of the kernel's jump where the rational offsets are.

    float64 rounds offsets across it (10 to 7 pixels: below 3/2), and a pixel would count that is outside.
    """
    total, denominator = numerators(axis)
    jump, bound = float(radius(kernel)), radius(kernel) / widening * denominator
    fits = (int(np.abs(indices).max()) * denominator + int(np.abs(total).max())) * bound.denominator < 2**62
    total, indices = (numbers.astype(np.int64 if fits else object) for numbers in (total, indices))
    distance = np.abs(indices * denominator - total[:, None]) * bound.denominator
    size = np.abs(offset)
    below, above = np.minimum(size, math.nextafter(jump, 0)), np.maximum(size, math.nextafter(jump, math.inf))
    near = np.select([distance < bound.numerator, distance > bound.numerator], [below, above], jump)
    return np.asarray(np.copysign(near, offset))


class Located(Protocol[Exact_co]):
    """What the formula of a source coordinate needs of an axis: numbers, or sizes, scale and window as nodes."""

    @property
    def in_size(self) -> Exact_co | int:
        """The number of pixels."""

    @property
    def out_size(self) -> Exact_co | int:
        """The number of outputs."""

    @property
    def scale(self) -> Exact_co | Fraction:
        """The output / input ratio."""

    @property
    def asked(self) -> Exact_co | Fraction:
        """The ratio before the size was rounded."""

    @property
    def start(self) -> Fraction | int:
        """The beginning of a box."""

    @property
    def window(self) -> tuple[Exact_co | float, Exact_co | float]:
        """The start and end of a crop, as parts of the axis."""

    @property
    def coordinates(self) -> Coordinates | Crop:
        """The formula."""

    @property
    def length(self) -> Length:
        """The output size in the formula."""

    @property
    def arithmetic(self) -> Arithmetic:
        """The arithmetic, which selects the order of ``align_corners``."""


def source(axis: Located[Exact], i: Exact, numbers: Numbers[Exact]) -> Exact:
    """Return the source coordinate of output index ``i``: every formula once, for every kind of numbers.

    Formulas: ONNX Resize-19 and Resize-11 (``tf_half_pixel_for_nn``), coordinate_transformation_mode; the same names
    in OpenVINO's Interpolate-4 and -11. The order of operations is onnxruntime's, so that float32 rounds identically.
    """
    number, choose, over, s, equal = numbers.number, numbers.choose, numbers.over, axis.scale, operator.eq
    n, m, half = number(axis.in_size), number(axis.out_size), number(0.5)
    last = number(s) * n if axis.length is Length.FRACTIONAL else m

    def begun(at: Exact) -> Exact:
        return number(float(axis.start)) + at if axis.start else at

    match axis.coordinates:
        case Coordinates.ASYMMETRIC:
            return begun(over(i, s))
        case Coordinates.HALF_PIXEL:
            return begun(over(i + half, s)) - half
        case Coordinates.PYTORCH_HALF_PIXEL:
            return choose(equal(m, 1), lambda: i * 0, lambda: over(i + half, s) - half)
        case Coordinates.TF_HALF_PIXEL_FOR_NN:
            return choose(equal(s, 1) & equal(n, m), lambda: i, lambda: begun(over(i + half, s)))
        case Coordinates.TF_HALF_PIXEL_THROUGHOUT:
            return over(i + half, s)
        case Coordinates.TFLITE_CORNERS:
            return choose(equal(m, 1), lambda: (i + half) * n, lambda: (i + half) * ((n - 1) / (m - 1)))
        case Coordinates.HALF_PIXEL_SYMMETRIC:
            shift = n / 2 * (1 - m / (number(axis.asked) * n))
            return numbers.centred(shift, i, number(s))
        case Coordinates.ALIGN_CORNERS if axis.arithmetic in _STEP_FIRST:
            return choose(equal(m, 1) | equal(last, 1), lambda: i * 0, lambda: i * ((n - 1) / (last - 1)))
        case Coordinates.ALIGN_CORNERS:
            return choose(equal(m, 1) | equal(last, 1), lambda: i * 0, lambda: i * (n - 1) / (last - 1))
        case Crop():
            start, end = (number(edge) for edge in axis.window)
            return choose(
                equal(last, 1),
                lambda: i * 0 + half * (start + end) * (n - 1),
                lambda: start * (n - 1) + i * (end - start) * (n - 1) / (last - 1),
            )
        case _:
            assert_never(axis.coordinates)


def radius(kernel: Continuous) -> int | Fraction:
    """Return the distance, in source pixels, from which a kernel is 0."""
    match kernel:
        case Box():
            return Fraction(1, 2)
        case Linear() | Hamming():
            return 1
        case Cubic() | Mitchell():
            return 2
        case Gaussian():
            return _CUT
        case Magic():
            return _MAGIC[kernel.year][0]
        case Lanczos():
            return kernel.radius
        case _:
            assert_never(kernel)


def sums_to_one(kernel: Continuous) -> bool:
    """Return whether weights are divided by their sum; those of other kernels sum to 1 already."""
    match kernel:
        case Linear() | Cubic() | Mitchell():
            return kernel.exclude_outside or kernel.is_antialiased
        case Box() | Hamming() | Lanczos() | Gaussian() | Magic():
            return True
        case _:
            assert_never(kernel)


def weigh(kernel: Continuous, offset: Values, xp: Operations[Values]) -> Values:
    """Return the weights at ``offset`` from the sampling point, in source pixels; a graph has box, linear and cubic."""
    match kernel:
        case Box():
            return box(offset, xp)
        case Linear():
            return triangle(xp.abs(offset), xp)
        case Cubic():
            return keys(xp.abs(offset), kernel.a, xp)
        case Hamming():
            return xp.applied(hamming, xp.abs(offset))
        case Lanczos():
            return xp.applied(lambda t: lanczos(t, kernel.radius), offset)
        case Gaussian():
            return xp.applied(gaussian, xp.abs(offset))
        case Mitchell():
            return xp.applied(mitchell, xp.abs(offset))
        case Magic():
            return xp.applied(lambda t: magic(t, kernel.year), xp.abs(offset))
        case _:
            assert_never(kernel)


def box(offset: Number, xp: Functions[Number]) -> Number:
    """Return 1 above -1/2 and up to 1/2."""
    # Two constants would have a type of their own in a graph; 0 times the offset has that of the offset.
    return xp.where(offset <= -0.5, 0.0, xp.where(offset <= 0.5, 1.0, offset * 0.0))


def sinc(offset: Array) -> Array:
    """Return sin(pi t) / (pi t)."""
    angle = np.where(offset == 0, 1.0, offset) * np.pi
    return np.where(offset == 0, 1.0, sine(angle) / angle)


_ROUND, _PEAK = float(np.float32(0.54)), float(np.float32(0.46))  # float32 in Pillow's source


def hamming(distance: Array) -> Array:
    """Return sinc under a Hamming window of radius 1 (Pillow, ``Resampling.HAMMING``)."""
    weights = np.where(distance < 1, sinc(distance) * (_ROUND + _PEAK * cosine(distance * np.pi)), 0.0)
    return np.where(distance == 0, 1.0, weights)  # the two float32 do not sum to 1


def lanczos(offset: Array, radius: int) -> Array:
    """Return sinc(t) sinc(t / radius) from -radius up to below radius (C. E. Duchon, 1979)."""
    inside = (-radius <= offset) & (offset < radius)
    return np.where(inside, sinc(offset) * sinc(offset / radius), 0.0)


_CUT, _DEVIATION = Fraction(3, 2), 0.5


def gaussian(distance: Array) -> Array:
    """Return exp(-t^2 / (2 / 4)) below 3/2 (TensorFlow, ``ResizeMethod.GAUSSIAN``)."""
    return np.where(distance < float(_CUT), exponential(-np.square(distance / _DEVIATION) / 2), 0.0)


def mitchell(distance: Array) -> Array:
    """Return the cubic of B = C = 1/3 (D. P. Mitchell and A. N. Netravali, 1988, equation 8)."""
    near = (7 * distance - 12) * distance * distance / 6 + 8 / 9
    far = ((12 - 7 / 3 * distance) * distance - 20) * distance / 6 + 16 / 9
    return np.where(distance < 1, near, np.where(distance < 2, far, 0.0))


_MAGIC: dict[int, tuple[Fraction, tuple[Callable[[Array], Array], ...]]] = {  # radius; pieces up to 1/2, 3/2, 5/2 ...
    2013: (
        Fraction(5, 2),
        (
            lambda t: 17 / 16 - 7 / 4 * (t * t),
            lambda t: (1 - t) * (7 / 4 - t),
            lambda t: -1 / 8 * (t - 5 / 2) * (t - 5 / 2),
        ),
    ),
    2021: (
        Fraction(9, 2),
        (
            lambda t: 577 / 576 - 239 / 144 * (t * t),
            lambda t: 35 / 36 * (t - 1) * (t - 239 / 140),
            lambda t: 1 / 6 * (t - 2) * (65 / 24 - t),
            lambda t: 1 / 36 * (t - 3) * (t - 15 / 4),
            lambda t: -1 / 288 * ((t - 9 / 2) * (t - 9 / 2)),  # the square first, as pow() in C
        ),
    ),
}


def magic(distance: Array, year: int) -> Array:
    """Return the quadratic spline, sharpened (J. P. Costella, "Solving the mystery of Magic Kernel Sharp")."""
    _, pieces = _MAGIC[year]
    ends = [distance < place + 0.5 for place in range(len(pieces))]
    return np.select(ends, [piece(distance) for piece in pieces], 0.0)


def triangle(distance: Number, xp: Functions[Number]) -> Number:
    """Return 1 - |t|, at least 0: linear interpolation (ONNX Resize-19, ``mode=linear``)."""
    return xp.maximum(1 - distance, 0)


def keys(distance: Number, a: Number | float, xp: Functions[Number]) -> Number:
    """Return Keys' cubic convolution kernel (ONNX Resize-19, ``mode=cubic``; R. G. Keys, 1981, equation 15)."""
    far = xp.where(distance < 2, keys_far(distance, a), 0)
    return xp.where(distance <= 1, keys_near(distance, a), far)


def _same(product: Number) -> Number:
    return product


def keys_near(t: Number, a: Number | float, product: Callable[[Number], Number] = _same) -> Number:
    """Return Keys' polynomial up to a distance of 1; ``product`` keeps a product from being fused into a sum."""
    return product(product((product((a + 2) * t) - (a + 3)) * t) * t) + 1


def keys_far(t: Number, a: Number | float) -> Number:
    """Return Keys' polynomial from a distance of 1 to 2."""
    return ((a * t - 5 * a) * t + 8 * a) * t - 4 * a
