"""Taps computed at run time: the executor's formulas as nodes of a graph."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ir_interp.plan.axes import kernels
from ir_interp.plan.axes.coordinates import source, split
from ir_interp.plan.axes.taps import chosen_pixel, covered, outside, spread
from ir_interp.shapes import resolve_axes
from ir_interp.spec import (
    Antialias,
    Area,
    Arithmetic,
    Aspect,
    Coordinates,
    Crop,
    Cubic,
    Length,
    Linear,
    Nearest,
    ResizeSpec,
    Scales,
    Sizes,
    Step,
)

from .apply_taps import AxisTaps, entry
from .tensor import Functions, Ops, Tensor, Value


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTimeAxis:
    """The fields of an AxisPlan that its formula needs, as tensors; ``scales`` are those of all axes."""

    axis: int
    in_size: Tensor[Ops]
    out_size: Tensor[Ops]
    scale: Tensor[Ops]
    asked: Tensor[Ops]
    scales: tuple[Tensor[Ops], ...]
    coordinates: Coordinates | Crop
    window: tuple[Tensor[Ops], Tensor[Ops]]
    length: Length
    arithmetic: Arithmetic
    start: int = 0


def run_time_axes(
    ops: Ops, x: Value, spec: ResizeSpec | None, rank: int, target: Value, roi: Value
) -> Iterator[RunTimeAxis]:
    """Yield axes whose sizes, scales and coordinates nodes compute."""
    if spec is None:
        return
    xp = Functions(ops)
    axes = resolve_axes(spec.axes, rank)
    sizes = ops.convert(ops.lengths(x), "float32")
    in_sizes = [entry(ops, sizes, axis) for axis in axes]
    windows = _windows(ops, spec, len(axes), roi)
    out_sizes, asked = _lengths(xp, spec, in_sizes, windows, _targets(ops, spec, len(axes), target))
    scales = [_step(xp, spec, *axis) for axis in zip(in_sizes, out_sizes, asked, strict=True)]
    for axis, n, m, s, scale, window in zip(axes, in_sizes, out_sizes, scales, asked, windows, strict=True):
        yield RunTimeAxis(
            axis=axis,
            in_size=n,
            out_size=m,
            scale=s,
            asked=scale,
            scales=tuple(scales),
            coordinates=spec.coordinates,
            window=window,
            length=spec.length,
            arithmetic=spec.arithmetic,
        )


def coordinates(xp: Functions, bound: RunTimeAxis) -> Tensor[Ops]:
    """Return the source coordinate of every output index."""
    # One quotient off by a last place would take another pixel at a tie.
    return xp.precise(xp.single(source(bound, xp.arange(0, bound.out_size), xp.numbers())))


def _targets(ops: Ops, spec: ResizeSpec, count: int, target: Value) -> list[Tensor[Ops]]:
    if isinstance(spec.target, Sizes | Scales):
        return [Tensor(ops, ops.constant(np.float32(value))) for value in spec.target.values]
    values = target if spec.gives_scales else ops.convert(target, "float32")
    return [entry(ops, values, place) for place in range(count)]


def _lengths(
    xp: Functions,
    spec: ResizeSpec,
    in_sizes: list[Tensor[Ops]],
    windows: list[tuple[Any, Any]],
    targets: list[Tensor[Ops]],
) -> tuple[list[Tensor[Ops]], list[Tensor[Ops]]]:
    """Return output sizes and requested scales, as ``geometry`` computes them, in float32."""
    if spec.gives_scales:
        # OpenVINO adds it, so that a product just below an integer counts as that integer.
        slack = [scale + 1e-6 if spec.arithmetic is Arithmetic.OPENVINO else scale for scale in targets]
        if isinstance(spec.coordinates, Crop) and spec.coordinates.scales_window:
            in_sizes = [n * (end - start) for n, (start, end) in zip(in_sizes, windows, strict=True)]
        return [xp.floor(n * scale) for n, scale in zip(in_sizes, slack, strict=True)], targets
    ratios = [m / n for n, m in zip(in_sizes, targets, strict=True)]
    if spec.aspect is Aspect.STRETCH:
        return targets, ratios
    scale = functools.reduce(xp.minimum if spec.aspect is Aspect.NOT_LARGER else xp.maximum, ratios)
    # Not floor(x + 1/2), which float32 rounds up from just below a half.
    products = [split(scale * n, Arithmetic.EXACT, xp) for n in in_sizes]
    return [product.floor + (product.half >= 0) for product in products], [scale] * len(in_sizes)


def _step(xp: Functions, spec: ResizeSpec, n: Tensor[Ops], m: Tensor[Ops], scale: Tensor[Ops]) -> Tensor[Ops]:
    """Return the scale that coordinates use."""
    if spec.step is Step.RATIO and (spec.gives_scales or spec.aspect is not Aspect.STRETCH):
        return m / n
    copied = spec.step is Step.GIVEN_UNLESS_EQUAL and spec.gives_scales
    return xp.where(m == n, 1.0, scale) if copied else scale


def _windows(ops: Ops, spec: ResizeSpec, count: int, roi: Value) -> list[tuple[Any, Any]]:
    if not isinstance(spec.coordinates, Crop):
        return [(0.0, 1.0)] * count
    if spec.coordinates.roi is not None:
        return list(spec.coordinates.roi)
    # All starts come first, then all ends.
    edges = ops.convert(roi, "float32")
    return [(entry(ops, edges, place), entry(ops, edges, place + count)) for place in range(count)]


def run_time_taps(ops: Ops, spec: ResizeSpec, bound: RunTimeAxis) -> AxisTaps:
    """Return the taps of one axis as ``taps`` computes them from a plan: the executor's formulas, on tensors."""
    xp, axis = Functions(ops), bound.axis
    at = split(coordinates(xp, bound), bound.arithmetic, xp)
    last = bound.in_size - 1
    beyond = outside(at, bound.in_size) if isinstance(bound.coordinates, Crop) else None
    kernel = spec.kernel
    if isinstance(kernel, Nearest):
        # Resize-10 rounds by whether the axis shrinks.
        chosen = xp.clip(chosen_pixel(at, kernel.rounding, shrinks=bound.scale < 1), 0, last)
        return AxisTaps(axis=axis, count=1, indices=chosen, beyond=beyond)
    if isinstance(kernel, Area):
        step = _covered_step(xp, bound)
        indices, weights = covered(at, bound.in_size, step=step, reach=xp.ceil(step), xp=xp)
        return AxisTaps(axis=axis, indices=indices, weights=weights, beyond=beyond)
    assert isinstance(kernel, Linear | Cubic)
    widening = _widening(xp, kernel.antialias, bound)
    reach = xp.ceil(kernels.radius(kernel) / widening) if isinstance(widening, Tensor) else int(kernels.radius(kernel))
    indices, weights = spread(kernel, at, bound.in_size, widening=widening, reach=reach, xp=xp)
    count = None if isinstance(reach, Tensor) else 2 * reach
    return AxisTaps(axis=axis, count=count, indices=indices, weights=weights, beyond=beyond)


def _covered_step(xp: Functions, bound: RunTimeAxis) -> Tensor[Ops]:
    """Return how many source pixels an output covers: the distance to its neighbour's first pixel, or all."""
    first, second = (xp.single(source(bound, xp.tensor(float(i)), xp.numbers())) for i in (0, 1))
    # The formula gives the step of any coordinates as the distance of two neighbours.
    step = second - first
    return xp.where(step == 0, bound.in_size / bound.out_size, step)


def _widening(xp: Functions, antialias: Antialias, bound: RunTimeAxis) -> Any:
    match antialias:
        case Antialias.OFF:
            return 1.0
        case Antialias.SHRINKING:
            return xp.minimum(bound.scale, 1.0)
        case Antialias.ANY_SHRINKING:
            return xp.where(functools.reduce(xp.minimum, bound.scales) < 1, bound.scale, 1.0)
