"""From a spec and an input shape to one plan per axis: which lengths, and which source coordinate for each output."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.errors import ShapeError, SpecError
from ir_interp.spec import (
    Antialias,
    Arithmetic,
    Aspect,
    Coordinates,
    Crop,
    Cubic,
    Length,
    Linear,
    ResizeSpec,
    Scales,
    Sizes,
    Step,
)

Shape = tuple[int, ...]
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A spec bound to an input shape. ``axes`` holds only those axes whose values change."""

    spec: ResizeSpec
    in_shape: Shape
    padding: tuple[tuple[int, int], ...]
    axes: tuple[AxisPlan, ...]
    out_shape: Shape


@dataclass(frozen=True, slots=True)
class Positions:
    """Source coordinates as whole and fractional parts; ``half`` is the sign of fraction - 1/2, ties told exactly."""

    floor: NDArray[np.int64]
    fraction: NDArray[np.float64]
    half: NDArray[np.int8]


@lru_cache(maxsize=512)
def plan(spec: ResizeSpec, shape: Shape) -> Plan:
    """Bind ``spec`` to an input ``shape``.

    Raises ShapeError where the two do not fit, and SpecError where the spec waits for a value of run time.
    """
    if not isinstance(spec.target, Sizes | Scales):
        wanted = spec.target.value if spec.target else "sizes or scales"
        raise SpecError(f"{wanted} must be given: they are an input at run time")
    axes = check_rank(spec, len(shape))
    windows = _windows(spec.coordinates, len(axes))
    padding = _padding(spec, len(shape))
    padded = tuple(size + begin + end for size, (begin, end) in zip(shape, padding, strict=True))
    lengths, scales = _lengths(spec, [padded[axis] for axis in axes])
    bound = zip(axes, (padded[axis] for axis in axes), lengths, scales, windows, strict=True)
    plans = [_axis_plan(spec, *each) for each in bound]
    out = list(padded)
    for axis, size in zip(axes, lengths, strict=True):
        out[axis] = size
    changing = tuple(p for p in plans if not _is_identity(p, spec))
    return Plan(spec=spec, in_shape=shape, padding=padding, axes=changing, out_shape=tuple(out))


def check_rank(spec: ResizeSpec, rank: int) -> tuple[int, ...]:
    """Return the axes of ``spec`` counted from the first. Raises ShapeError where it does not fit inputs of a rank."""
    axes = resolve_axes(spec.axes, rank)
    if isinstance(spec.target, Sizes | Scales) and len(spec.target) != len(axes):
        raise ShapeError(f"{spec.target} do not fit {len(axes)} axes")
    if isinstance(spec.coordinates, Crop) and spec.coordinates.roi and len(spec.coordinates.roi) != len(axes):
        raise ShapeError(f"roi has {len(spec.coordinates.roi)} windows for {len(axes)} axes")
    for pad in spec.pads:
        resolve_axes((pad.axis,), rank)
    return axes


def resolve_axes(axes: tuple[int, ...] | None, rank: int) -> tuple[int, ...]:
    """Return ``axes`` counted from the first; every axis for ``None``. Raises ShapeError where they do not fit."""
    if axes is None:
        return tuple(range(rank))
    for axis in axes:
        if not -rank <= axis < rank:
            raise ShapeError(f"axis {axis} is out of range for an input of rank {rank}")
    resolved = tuple(axis % rank for axis in axes)
    if len(set(resolved)) != len(resolved):
        raise ShapeError(f"axes {list(axes)} name an axis of an input of rank {rank} twice")
    return resolved


def positions(axis: AxisPlan) -> Positions:
    """Return the source coordinate of every output index, in the plan's arithmetic."""
    if axis.arithmetic is Arithmetic.EXACT:
        return _exact_positions(axis.step, axis.offset, axis.out_size)
    index = np.arange(axis.out_size, dtype=np.float32)
    source = np.asarray(_source(axis, index, _single, np.float64), dtype=np.float32).astype(np.float64)
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


def _lengths(spec: ResizeSpec, in_sizes: list[int]) -> tuple[list[int], list[Fraction]]:
    """Return the output length and the scale of each resized axis."""
    if isinstance(spec.target, Sizes):
        if spec.aspect is not Aspect.STRETCH:
            return _keep_aspect(spec.target.values, in_sizes, spec)
        return list(spec.target.values), list(map(_ratio, spec.target.values, in_sizes))
    assert isinstance(spec.target, Scales)
    lengths, scales = [], []
    for value, size in zip(spec.target.values, in_sizes, strict=True):
        out = _scaled_length(size, np.float32(value), spec.arithmetic)
        copied = spec.step is Step.GIVEN_UNLESS_EQUAL and out == size
        lengths.append(out)
        scales.append(_ratio(out, size) if copied or spec.step is Step.RATIO else Fraction(float(np.float32(value))))
    return lengths, scales


def _scaled_length(size: int, scale: np.float32, arithmetic: Arithmetic) -> int:
    """Return floor(size * scale), as each arithmetic rounds the product."""
    if arithmetic is Arithmetic.EXACT:
        return math.floor(size * Fraction(float(scale)))
    # OpenVINO adds 1e-6, so that a product just below an integer counts as that integer
    factor = scale + np.float32(1e-6) if arithmetic is Arithmetic.OPENVINO else scale
    with np.errstate(over="ignore"):
        product = np.float32(size) * factor
    if not np.isfinite(product):
        raise ShapeError(f"scale {scale:g} of an axis of length {size} gives no finite length")
    return int(product)


def _keep_aspect(sizes: tuple[int, ...], in_sizes: list[int], spec: ResizeSpec) -> tuple[list[int], list[Fraction]]:
    """Return lengths and the common scale under an aspect policy (ONNX Resize-18: round half up)."""
    if 0 in in_sizes:
        raise ShapeError("an aspect ratio cannot be kept on an axis of length 0")
    choose = min if spec.aspect is Aspect.NOT_LARGER else max
    scale = choose(map(_ratio, sizes, in_sizes))
    exact = spec.arithmetic is Arithmetic.EXACT
    products = [scale * size if exact else Fraction(float(_single(scale) * _single(size))) for size in in_sizes]
    return [math.floor(product + Fraction(1, 2)) for product in products], [scale] * len(in_sizes)


def _ratio(out: int, size: int) -> Fraction:
    return Fraction(out, size) if size else Fraction(1)


def _single(value: Any) -> Any:
    return np.float32(float(value))


def _axis_plan(
    spec: ResizeSpec, axis: int, in_size: int, out_size: int, scale: Fraction, window: tuple[float, float]
) -> AxisPlan:
    if in_size == 0 and out_size > 0:
        raise ShapeError(f"axis {axis} has length 0: there is nothing to resize to length {out_size}")
    unbound = AxisPlan(
        axis=axis,
        in_size=in_size,
        out_size=out_size,
        scale=scale,
        step=Fraction(1),
        offset=Fraction(0),
        coordinates=spec.coordinates,
        window=window,
        length=spec.length,
        arithmetic=spec.arithmetic,
    )
    if out_size == 0:
        return unbound
    first, second = (Fraction(_source(unbound, Fraction(i), Fraction, Fraction)) for i in (0, 1))
    return replace(unbound, step=second - first, offset=first)


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


def _is_identity(axis: AxisPlan, spec: ResizeSpec) -> bool:
    """Say whether an axis is copied: its coordinates stay, and no filter widens over them."""
    filtered = isinstance(spec.kernel, Linear | Cubic) and spec.kernel.antialias is not Antialias.OFF
    stays = axis.in_size == axis.out_size and axis.step == 1 and axis.offset == 0
    return stays and (axis.scale == 1 or not filtered)


def _windows(coordinates: Coordinates | Crop, count: int) -> list[tuple[float, float]]:
    if not isinstance(coordinates, Crop):
        return [(0.0, 1.0)] * count
    if coordinates.roi is None:
        raise SpecError("roi is an input at run time here: tf_crop_and_resize needs its values")
    return [(float(np.float32(start)), float(np.float32(end))) for start, end in coordinates.roi]


def _padding(spec: ResizeSpec, rank: int) -> tuple[tuple[int, int], ...]:
    padding = [(0, 0)] * rank
    for pad in spec.pads:
        (axis,) = resolve_axes((pad.axis,), rank)
        padding[axis] = (pad.begin, pad.end)
    return tuple(padding)
