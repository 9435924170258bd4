"""The correct result of a resize: formulas of the operator pages, in rationals and plain loops, slow and simple.

It shares nothing with the product but the words of ``ResizeSpec``, and knows only its exact arithmetic.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from ir_interp.specs import (
    Antialias,
    Area,
    Aspect,
    Border,
    Box,
    Continuous,
    Coordinates,
    Crop,
    Gaussian,
    Hamming,
    Lanczos,
    Length,
    Linear,
    Magic,
    Mean,
    Mitchell,
    Mode,
    Nearest,
    ResizeSpec,
    Rounding,
    Scales,
    Sizes,
    Smooth,
    Step,
)

Array = npt.NDArray[Any]
HALF = Fraction(1, 2)


def expected(x: Array, spec: ResizeSpec) -> Array:
    """Return the resized ``x``: copies of its values for nearest, else float64, not yet rounded to its type."""
    y = np.pad(x, _padding(spec, x.ndim)) if spec.pads else x
    y = y if isinstance(spec.kernel, Nearest) else y.astype(np.float64)
    axes = range(x.ndim) if spec.axes is None else [axis % x.ndim for axis in spec.axes]
    stretches = spec.box or [(0, y.shape[axis]) for axis in axes]
    spans = [Fraction(stop) - Fraction(start) for start, stop in stretches]
    lengths, asked = _targets(spec, spans)
    scales = _steps(spec, lengths, spans, asked)
    outside = np.zeros((1,) * x.ndim, dtype=bool)
    for position, (axis, m, s) in enumerate(zip(axes, lengths, scales, strict=True)):
        n = y.shape[axis]
        if isinstance(spec.before, Smooth) and n > m > 0:
            y = _smoothed(y, axis, (n / m - 1) / 2, spec.before.border)
        start = Fraction(0) if spec.box is None else Fraction(spec.box[position][0])
        at = [start + _source(spec, position, Fraction(i), n, m, s, asked[position]) for i in range(m)]
        y = _resized(y, axis, at, spec, s, any_shrinks=min(scales) < 1)
        if isinstance(spec.coordinates, Crop):
            beyond = np.array([not 0 <= source <= n - 1 for source in at], dtype=bool)
            outside = outside | beyond.reshape([-1 if other == axis else 1 for other in range(x.ndim)])
    if isinstance(spec.coordinates, Crop):
        fill = np.float64(spec.coordinates.extrapolation)
        y = np.where(outside, stored(fill, y.dtype), y)
    return y


def stored(values: npt.ArrayLike, dtype: npt.DTypeLike) -> Array:
    """Return float64 ``values`` in another type: integers round half to even, and stop at the ends of their range."""
    values, dtype = np.asarray(values, dtype=np.float64), np.dtype(dtype)
    if dtype.kind not in "iu":
        with np.errstate(over="ignore"):
            return values.astype(dtype)
    least, most = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    whole = [min(max(round(value), least), most) for value in values.ravel().tolist()]
    return np.array(whole, dtype=dtype).reshape(values.shape)


def _padding(spec: ResizeSpec, rank: int) -> list[tuple[int, int]]:
    padding = {pad.axis % rank: (pad.begin, pad.end) for pad in spec.pads}
    return [padding.get(axis, (0, 0)) for axis in range(rank)]


def _smoothed(y: Array, axis: int, deviation: float, border: Border) -> Array:
    n, radius = y.shape[axis], int(4 * deviation + 0.5)
    matrix = np.zeros((n, n))
    for i in range(n):
        for k in range(i - radius, i + radius + 1):
            matrix[i, _found(k, n, border)] += math.exp(-((k - i) ** 2) / (2 * deviation**2))
    return np.moveaxis(np.tensordot(matrix / matrix.sum(1, keepdims=True), y, (1, axis)), 0, axis)


def _targets(spec: ResizeSpec, sources: Sequence[Fraction]) -> tuple[list[int], list[Fraction]]:
    """Return each resized axis' output length, and the scale that is asked for."""
    if isinstance(spec.target, Sizes):
        ratios = [m / n if n else Fraction(1) for m, n in zip(spec.target.values, sources, strict=True)]
        if spec.aspect is Aspect.STRETCH:
            return list(spec.target.values), ratios
        scale = min(ratios) if spec.aspect is Aspect.NOT_LARGER else max(ratios)
        return [math.floor(scale * n + HALF) for n in sources], [scale] * len(sources)
    assert isinstance(spec.target, Scales)
    scales = [Fraction(float(np.float32(scale))) for scale in spec.target.values]
    parts = [Fraction(1)] * len(scales)
    if isinstance(spec.coordinates, Crop) and spec.coordinates.scales_window:
        assert spec.coordinates.roi is not None
        parts = [
            Fraction(float(np.float32(end))) - Fraction(float(np.float32(start))) for start, end in spec.coordinates.roi
        ]
    return [math.floor(scale * n * part) for scale, n, part in zip(scales, sources, parts, strict=True)], scales


def _steps(
    spec: ResizeSpec, lengths: Sequence[int], sources: Sequence[Fraction], asked: Sequence[Fraction]
) -> list[Fraction]:
    """Return the scale by which each axis is stepped through."""
    scales, pairs = list(asked), list(zip(lengths, sources, strict=True))
    for position, (m, n) in enumerate(pairs):
        match spec.step:
            case Step.RATIO:
                by_lengths = True
            case Step.GIVEN_UNLESS_EQUAL:
                by_lengths = m == n
            case Step.GIVEN_UNLESS_DOUBLED:
                by_lengths = m in (n, 2 * n)
            case Step.GIVEN_UNLESS_ALL_EQUAL:
                by_lengths = all(m == n for m, n in pairs)
            case _:
                by_lengths = False
        if n and by_lengths and (spec.step is Step.RATIO or isinstance(spec.target, Scales)):
            scales[position] = m / n
    return scales


def _source(spec: ResizeSpec, position: int, i: Fraction, n: int, m: int, s: Fraction, asked: Fraction) -> Fraction:
    """Return where output ``i`` of ``m`` lies on the resized axis at ``position``, of length ``n`` and scale ``s``."""
    resized = s * n if spec.length is Length.FRACTIONAL else Fraction(m)
    match spec.coordinates:
        case Coordinates.HALF_PIXEL:
            return (i + HALF) / s - HALF
        case Coordinates.HALF_PIXEL_SYMMETRIC:
            adjustment = m / (asked * n)
            center = Fraction(n, 2)
            return center * (1 - adjustment) + (i + HALF) / s - HALF
        case Coordinates.PYTORCH_HALF_PIXEL:
            return (i + HALF) / s - HALF if m > 1 else Fraction(0)
        case Coordinates.ALIGN_CORNERS:
            return i * (n - 1) / (resized - 1) if m > 1 else Fraction(0)
        case Coordinates.ASYMMETRIC:
            return i / s
        case Coordinates.TFLITE_CORNERS:
            return (i + HALF) * (Fraction(n - 1, m - 1) if m > 1 else n)
        case Coordinates.TF_HALF_PIXEL_FOR_NN:
            return i if s == 1 else (i + HALF) / s
        case Coordinates.TF_HALF_PIXEL_THROUGHOUT:
            return (i + HALF) / s
        case Crop(roi=roi):
            assert roi is not None
            start, end = (Fraction(float(np.float32(edge))) for edge in roi[position])
            if resized == 1:
                return HALF * (start + end) * (n - 1)
            return start * (n - 1) + i * (end - start) * (n - 1) / (resized - 1)


def _resized(y: Array, axis: int, at: Sequence[Fraction], spec: ResizeSpec, s: Fraction, *, any_shrinks: bool) -> Array:
    n = y.shape[axis]
    if isinstance(spec.kernel, Nearest):
        nearest = [min(max(_rounded(source, spec.kernel.rounding, s), 0), n - 1) for source in at]
        return np.take(y, np.array(nearest, dtype=np.intp), axis=axis)
    if not at:
        rows: list[list[Fraction]] = []
    elif isinstance(spec.kernel, Area):
        step = (at[1] - at[0] if len(at) > 1 else Fraction(0)) or Fraction(n, len(at))
        if spec.coordinates is Coordinates.ASYMMETRIC:
            step = 1 / s
        rows = [_covered(source, source + step, n) for source in at]
    elif isinstance(spec.kernel, Mode):
        raise NotImplementedError("the value that covers most is no sum")
    elif isinstance(spec.kernel, Mean):
        rows = [_mean(i, n, len(at)) for i in range(len(at))]
    else:
        stretch = _stretch(spec.kernel.antialias, s, any_shrinks)
        rows = [_weights(spec.kernel, source, n, stretch) for source in at]
    matrix = np.array([[float(weight) for weight in row] for row in rows]).reshape(len(at), n)
    return np.moveaxis(np.tensordot(matrix, y, (1, axis)), 0, axis)


def _rounded(source: Fraction, rounding: Rounding, s: Fraction) -> int:
    match rounding:
        case Rounding.ROUND_PREFER_FLOOR:
            return math.ceil(source - HALF)
        case Rounding.ROUND_PREFER_CEIL:
            return math.floor(source + HALF)
        case Rounding.FLOOR:
            return math.floor(source)
        case Rounding.CEIL:
            return math.ceil(source)
        case Rounding.SIMPLE:
            return math.ceil(source) if s < 1 else math.floor(source)


def _stretch(antialias: Antialias, s: Fraction, any_shrinks: bool) -> Fraction:
    """Return the factor on distances that widens a kernel, or narrows it."""
    if antialias is Antialias.SHRINKING:
        return min(s, Fraction(1))
    return s if antialias is Antialias.ANY_SHRINKING and any_shrinks else Fraction(1)


def _mean(i: int, n: int, m: int) -> list[Fraction]:
    """Return the same weight for every pixel that [i, i + 1) * n / m touches."""
    touched = range(math.floor(Fraction(i * n, m)), math.ceil(Fraction((i + 1) * n, m)))
    return [Fraction(1, len(touched)) if k in touched else Fraction(0) for k in range(n)]


def _weights(kernel: Continuous, source: Fraction, n: int, stretch: Fraction) -> list[Fraction]:
    """Return the weight of each of ``n`` pixels; they sum to 1, or all are 0 where the kernel meets no pixel."""
    reach = _RADII.get(type(kernel), kernel.radius if isinstance(kernel, Lanczos) else 2) / stretch
    taps = {k: _weight(kernel, (k - source) * stretch) for k in _between(source - reach, source + reach)}
    if kernel.exclude_outside:
        taps = {k: weight for k, weight in taps.items() if 0 <= k < n}
    total = sum(taps.values()) or Fraction(1)
    row = [Fraction(0)] * n
    for k, weight in taps.items():
        row[_found(k, n, kernel.border)] += weight / total
    return row


def _found(k: int, n: int, border: Border) -> int:
    """Return which of ``n`` pixels lies at ``k``: beyond an end it is turned back, as often as is needed."""
    while not 0 <= k < n:
        if border is Border.EDGE or (border is Border.MIRRORED and n == 1):
            return min(max(k, 0), n - 1)
        mirror = (0 if k < 0 else n - 1) * 2
        k = mirror - k if border is Border.MIRRORED else mirror - k + (-1 if k < 0 else 1)
    return k


def _between(low: Fraction, high: Fraction) -> range:
    return range(math.floor(low), math.ceil(high) + 1)


_RADII = {Box: 1, Linear: 1, Hamming: 1, Magic: 5}
_THIRD = Fraction(1, 3)


def _weight(kernel: Continuous, signed: Fraction) -> Fraction:
    t = abs(signed)
    match kernel:
        case Box():
            return Fraction(-HALF < signed <= HALF)
        case Linear():
            return max(Fraction(0), 1 - t)
        case Hamming() if t == 0:
            return Fraction(1)
        case Hamming():
            return (
                Fraction(_sinc(t) * (float(np.float32(0.54)) + float(np.float32(0.46)) * math.cos(math.pi * t)))
                if t < 1
                else Fraction(0)
            )
        case Lanczos(radius=radius):
            return Fraction(_sinc(t) * _sinc(t / radius)) if t < radius else Fraction(0)
        case Gaussian():
            return Fraction(math.exp(-2 * float(t) ** 2)) if t < Fraction(3, 2) else Fraction(0)
        case Mitchell():
            return _cubic(t, _THIRD, _THIRD)
        case Magic(year=year):
            return sum((sharp * _spline(t - place) for place, sharp in _SHARPENED[year].items()), Fraction(0))
    return _cubic(t, Fraction(0), -Fraction(kernel.a))


_SHARPENED = {  # Costella's: a quadratic spline, sharpened at whole pixels
    2013: {-1: Fraction(-1, 4), 0: Fraction(3, 2), 1: Fraction(-1, 4)},
    2021: {
        place: Fraction(weight, 144) for place, weight in zip(range(-3, 4), (-1, 6, -35, 204, -35, 6, -1), strict=True)
    },
}


def _spline(t: Fraction) -> Fraction:
    t = abs(t)
    return Fraction(3, 4) - t * t if t < HALF else max(Fraction(0), Fraction(3, 2) - t) ** 2 / 2


def _cubic(t: Fraction, b: Fraction, c: Fraction) -> Fraction:
    """Return the family of Mitchell and Netravali, which holds Keys' cubics at b = 0."""
    if t < 1:
        return ((12 - 9 * b - 6 * c) * t**3 + (-18 + 12 * b + 6 * c) * t**2 + 6 - 2 * b) / 6
    if t < 2:
        return ((-b - 6 * c) * t**3 + (6 * b + 30 * c) * t**2 - (12 * b + 48 * c) * t + 8 * b + 24 * c) / 6
    return Fraction(0)


def _sinc(t: Fraction) -> float:
    if t.denominator == 1:  # where the sine of a float would leave 1e-16 of 0
        return float(t == 0)
    return math.sin(math.pi * t) / (math.pi * t)


def _covered(low: Fraction, high: Fraction, n: int) -> list[Fraction]:
    """Return which part of [low, high) each pixel covers; what lies beyond the last counts as the last."""
    row = [Fraction(0)] * n
    for k in _between(low, high):
        part = min(high, Fraction(k + 1)) - max(low, Fraction(k))
        if part > 0:
            row[min(k, n - 1)] += part / (high - low)
    return row
