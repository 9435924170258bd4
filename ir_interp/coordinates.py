"""Where an output samples its input along one axis: the one place with formulas of coordinates."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.spec import Arithmetic, Coordinates, Crop, Length

_TIE = 1e-6  # onnxruntime takes a fraction this close to 1/2 for a tie (its issue 28291)


@dataclass(frozen=True, slots=True, kw_only=True)
class AxisPlan:
    """One resized axis of a known length: ``source = step * output_index + offset``, exactly.

    ``in_size`` counts the pads. ``scale`` is the output / input ratio that the coordinates and the antialias filter
    use: given, out / in, or the aspect policy's.
    """

    axis: int
    in_size: int
    out_size: int
    scale: Fraction
    step: Fraction
    offset: Fraction
    coordinates: Coordinates | Crop
    window: tuple[float, float]
    length: Length
    arithmetic: Arithmetic


@dataclass(frozen=True, slots=True)
class Positions:
    """Source coordinates as whole and fractional parts; ``half`` is the sign of fraction - 1/2, ties told exactly."""

    floor: NDArray[np.int64]
    fraction: NDArray[np.float64]
    half: NDArray[np.int8]


def affine(axis: AxisPlan) -> tuple[Fraction, Fraction]:
    """Return step and offset of an axis: its formula at two indices, in rationals, gives both exactly."""
    first, second = (Fraction(_source(axis, Fraction(i), Fraction, Fraction)) for i in (0, 1))
    return second - first, first


def positions(axis: AxisPlan) -> Positions:
    """Return the source coordinate of every output index, in the plan's arithmetic."""
    if axis.arithmetic is Arithmetic.EXACT:
        return _exact_positions(axis.step, axis.offset, axis.out_size)
    index = np.arange(axis.out_size, dtype=np.float32)
    source = np.asarray(_source(axis, index, single, np.float64), dtype=np.float32).astype(np.float64)
    source = np.broadcast_to(source, index.shape)
    floor = np.floor(source)
    fraction = source - floor
    half = np.sign(fraction - 0.5)
    if axis.arithmetic is Arithmetic.ONNXRUNTIME:
        half[np.abs(fraction - 0.5) <= _TIE] = 0
    return Positions(floor.astype(np.int64), fraction, half.astype(np.int8))


def _exact_positions(step: Fraction, offset: Fraction, count: int) -> Positions:
    """Return step * i + offset for i < count in integer arithmetic: rationals over one denominator."""
    denominator = math.lcm(step.denominator, offset.denominator)
    slope, start = int(step * denominator), int(offset * denominator)
    fits = max(abs(slope) * count + abs(start), 2 * denominator) < 2**62
    total = np.arange(count).astype(np.int64 if fits else object) * slope + start
    floor, rest = total // denominator, total % denominator
    fraction = np.asarray(rest / denominator, dtype=np.float64)
    half = np.sign(2 * rest - denominator)
    return Positions(floor.astype(np.int64), fraction, half.astype(np.int8))


def _source(axis: AxisPlan, i: Any, number: Callable[..., Any], wide: Callable[..., Any]) -> Any:
    """Return the source coordinate of output index ``i``: every formula once, for rationals and for float32 alike.

    Formulas: ONNX Resize-19 and Resize-11 (``tf_half_pixel_for_nn``), coordinate_transformation_mode; the same names
    in OpenVINO's Interpolate-4 and -11. The order of operations is onnxruntime's, so that float32 rounds as there.
    ``wide`` is what onnxruntime widens to in half_pixel_symmetric.
    """
    n, m, s = number(axis.in_size), number(axis.out_size), number(axis.scale)
    half = number(1) / 2
    last = s * n if axis.length is Length.FRACTIONAL else m
    match axis.coordinates:
        case Coordinates.TF_HALF_PIXEL_FOR_NN if axis.scale == 1 and n == m:
            return i
        case Coordinates.TF_HALF_PIXEL_FOR_NN:
            return (i + half) / s
        case Coordinates.ASYMMETRIC:
            return i / s
        case Coordinates.PYTORCH_HALF_PIXEL | Coordinates.ALIGN_CORNERS if axis.out_size == 1:
            return i * 0
        case Coordinates.HALF_PIXEL | Coordinates.PYTORCH_HALF_PIXEL:
            return (i + half) / s - half
        case Coordinates.HALF_PIXEL_SYMMETRIC:
            shift = n / 2 * (1 - m / (s * n))
            return wide(shift) + (_widened(i, wide) + wide(1) / 2) / wide(s) - wide(1) / 2
        case Coordinates.ALIGN_CORNERS if axis.arithmetic is Arithmetic.OPENVINO and last != 1:
            return i * ((n - 1) / (last - 1))
        case Coordinates.ALIGN_CORNERS:
            return i * (n - 1) / (last - 1) if last != 1 else i * 0
        case Crop():
            start, end = (number(edge) for edge in axis.window)
            if last == 1:
                return i * 0 + half * (start + end) * (n - 1)
            return start * (n - 1) + i * (end - start) * (n - 1) / (last - 1)


def _widened(i: Any, wide: Callable[..., Any]) -> Any:
    return i.astype(np.float64) if isinstance(i, np.ndarray) else wide(i)


def single(value: Any) -> Any:
    """Return the float32 nearest to a number."""
    return np.float32(float(value))
