"""From a spec and an input shape to one plan per axis: axes, sizes, scales, pads."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

import numpy as np

from ir_interp.errors import ShapeError, SpecError
from ir_interp.plan.axes.coordinates import AxisPlan, affine, of_lengths, single
from ir_interp.plan.axes.prefilter_taps import Before, Bell
from ir_interp.plan.libraries import opencv_ipp_order
from ir_interp.plan.libraries.pillow_reduce import reduced, stretches
from ir_interp.shapes import Shape, resolve_axes
from ir_interp.spec import Arithmetic, Aspect, Coordinates, Crop, ResizeSpec, Scales, Sizes, Smooth, Step

LONGEST = 2**53
"""The largest size of an axis: positions are float64, which represents no larger integers one by one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A spec bound to an input shape. ``axes`` contains only axes whose values change."""

    spec: ResizeSpec
    in_shape: Shape
    padding: tuple[tuple[int, int], ...]
    axes: tuple[AxisPlan, ...]
    out_shape: Shape


@lru_cache(maxsize=512)
def plan(spec: ResizeSpec, shape: Shape) -> Plan:
    """Return ``spec`` bound to an input ``shape``.

    Raises ShapeError if the two do not fit, and SpecError if the spec depends on a value at run time.
    """
    if not isinstance(spec.target, Sizes | Scales):
        target = spec.target.value if spec.target else "sizes or scales"
        example = "--scales 2,1.5" if spec.gives_scales else "--sizes 50,60"
        raise SpecError(f"{target} are missing: this resize takes them at run time; pass them, as in {example}")
    axes = check_rank(spec, len(shape))
    _check_lengths(shape)
    windows = _windows(spec.coordinates, len(axes))
    padding = tuple(zip(*spec.padding(len(shape)), strict=True))
    padded = tuple(size + begin + end for size, (begin, end) in zip(shape, padding, strict=True))
    reduction = reduced(spec, padded)
    resize, first = (spec, padded) if reduction is None else (reduction.spec, reduction.shape)
    if resize.arithmetic is Arithmetic.IPP and not opencv_ipp_order.takes(resize, first):
        resize = replace(resize, arithmetic=Arithmetic.OPENCV)
    in_sizes = [first[axis] for axis in axes]
    starts, spans = zip(*stretches(resize, in_sizes), strict=True) if axes else ((), ())
    out_sizes, asked = _lengths(resize, spans, windows)
    # PyTorch chooses its loop by the output, so the arithmetic of coordinates is known only now.
    resize = of_lengths(resize, out_sizes)
    steps = _step_scales(resize, asked, out_sizes, spans)
    bound = zip(axes, in_sizes, out_sizes, asked, steps, windows, starts, strict=True)
    plans = [_axis_plan(resize, *parts) for parts in bound]
    plans = _copied(plans, spec)
    if reduction is not None:
        pairs = zip(plans, reduction.blocks, strict=True)
        # Coordinates count blocks; `taps` composes them with the blocks, which count pixels of the padded input.
        plans = [replace(axis_plan, in_size=padded[axis_plan.axis], before=blocks) for axis_plan, blocks in pairs]
    out = list(padded)
    for axis, size in zip(axes, out_sizes, strict=True):
        out[axis] = size
    _check_lengths(out)
    # Every later step skips the others: executor, conversions and comparisons see axes that change only.
    changing = tuple(p for p in plans if not _is_identity(p, spec))
    return Plan(spec=spec, in_shape=shape, padding=padding, axes=changing, out_shape=tuple(out))


def _check_lengths(out_sizes: Sequence[int]) -> None:
    longest = max(out_sizes, default=0)
    if longest > LONGEST:
        raise ShapeError(f"an axis of {longest} elements; the limit is {LONGEST}")


def check_rank(spec: ResizeSpec, rank: int) -> tuple[int, ...]:
    """Return the axes of ``spec`` counted from the first. Raises ShapeError for a rank that the spec does not fit."""
    axes = resolve_axes(spec.axes, rank)
    if isinstance(spec.target, Sizes | Scales) and len(spec.target) != len(axes):
        raise ShapeError(f"{spec.target} do not fit {len(axes)} axes")
    if isinstance(spec.coordinates, Crop) and spec.coordinates.roi and len(spec.coordinates.roi) != len(axes):
        raise ShapeError(f"roi has {len(spec.coordinates.roi)} windows for {len(axes)} axes")
    resolve_axes(tuple(pad.axis for pad in spec.pads), rank)
    return axes


def _lengths(
    spec: ResizeSpec, in_sizes: Sequence[Fraction], windows: Sequence[tuple[float, float]]
) -> tuple[list[int], list[Fraction]]:
    """Return the output size and the scale of each resized axis, of which ``in_sizes`` pixels are resized.

    The scale is the requested one, or that of an aspect policy.
    """
    if isinstance(spec.target, Sizes):
        if spec.aspect is not Aspect.STRETCH:
            return _keep_aspect(spec.target.values, in_sizes, spec)
        return list(spec.target.values), list(map(_ratio, spec.target.values, in_sizes))
    assert isinstance(spec.target, Scales)
    # ONNX and OpenVINO store scales as float32; the factors of image libraries are float64.
    exact = [value if spec.arithmetic.is_library else float(np.float32(value)) for value in spec.target.values]
    scales = list(map(Fraction, exact))
    taken = [size * part for size, part in zip(in_sizes, _parts(spec.coordinates, windows), strict=True)]
    out_sizes = [scaled_length(size, scale, spec.arithmetic) for size, scale in zip(taken, scales, strict=True)]
    for out_size, (start, end) in zip(out_sizes, windows, strict=True):
        if out_size < 0:
            raise ShapeError(f"the window from {start:g} to {end:g} has no size that scales can multiply; use sizes")
    return out_sizes, scales


def _parts(coordinates: Coordinates | Crop, windows: Sequence[tuple[float, float]]) -> list[Fraction]:
    """Return the part of each axis that scales multiply."""
    if not isinstance(coordinates, Crop) or not coordinates.scales_window:
        return [Fraction(1)] * len(windows)
    return [Fraction(end) - Fraction(start) for start, end in windows]


def _step_scales(
    spec: ResizeSpec, asked: Sequence[Fraction], outs: Sequence[int], sizes: Sequence[Fraction]
) -> list[Fraction]:
    """Return the scales that determine the steps along axes of ``sizes`` pixels."""
    ratios = list(map(_ratio, outs, sizes))
    if spec.step is Step.RATIO:
        return ratios
    own_ratios = _OWN_RATIOS.get(spec.step, ()) if spec.gives_scales else ()
    if spec.step is Step.GIVEN_UNLESS_ALL_EQUAL and any(ratio != 1 for ratio in ratios):
        own_ratios = ()
    return [ratio if ratio in own_ratios else scale for ratio, scale in zip(ratios, asked, strict=True)]


_OWN_RATIOS = {  # axes whose step is the ratio of their sizes, whatever the scale
    Step.GIVEN_UNLESS_EQUAL: (1,),
    Step.GIVEN_UNLESS_DOUBLED: (1, 2),
    Step.GIVEN_UNLESS_ALL_EQUAL: (1,),
}


def scaled_length(size: Fraction, ratio: Fraction, arithmetic: Arithmetic) -> int:
    """Return floor(size * scale), the product rounded as in each arithmetic; OpenCV and SciPy round it half to even."""
    if arithmetic is Arithmetic.EXACT:
        return math.floor(size * ratio)
    if arithmetic.is_library:
        length = float(size) * float(ratio)
        return round(length) if arithmetic.rounds_lengths else math.floor(length)
    scale = np.float32(float(ratio))
    # OpenVINO adds 1e-6, so that a product just below an integer counts as that integer
    factor = scale + np.float32(1e-6) if arithmetic is Arithmetic.OPENVINO else scale
    with np.errstate(over="ignore"):
        product = single(size) * factor
    if not np.isfinite(product):
        raise ShapeError(f"scale {scale:g} of an axis of size {size} gives no finite size")
    return int(product)


def _keep_aspect(
    sizes: tuple[int, ...], in_sizes: Sequence[Fraction], spec: ResizeSpec
) -> tuple[list[int], list[Fraction]]:
    """Return sizes and the common scale under an aspect policy (ONNX Resize-18: round half up)."""
    if 0 in in_sizes:
        raise ShapeError("an aspect ratio cannot be kept on an axis of size 0")
    choose = min if spec.aspect is Aspect.NOT_LARGER else max
    scale = choose(map(_ratio, sizes, in_sizes))
    exact = spec.arithmetic is Arithmetic.EXACT
    products = [scale * size if exact else Fraction(float(single(scale) * single(size))) for size in in_sizes]
    return [math.floor(product + Fraction(1, 2)) for product in products], [scale] * len(in_sizes)


def _ratio(out: int, size: Fraction) -> Fraction:
    return out / size if size else Fraction(1)


def _axis_plan(
    spec: ResizeSpec,
    axis: int,
    in_size: int,
    out_size: int,
    asked: Fraction,
    scale: Fraction,
    window: tuple[float, float],
    start: Fraction,
) -> AxisPlan:
    if in_size == 0 and out_size > 0:
        raise ShapeError(f"axis {axis} has size 0 and cannot be resized to size {out_size}")
    unbound = AxisPlan(
        axis=axis,
        in_size=in_size,
        out_size=out_size,
        scale=scale,
        asked=asked,
        step=Fraction(1),
        offset=Fraction(0),
        coordinates=spec.coordinates,
        window=window,
        length=spec.length,
        arithmetic=spec.arithmetic,
        start=start,
        before=_smoothed(spec, in_size, out_size),
    )
    if out_size == 0:
        return unbound
    step, offset = affine(unbound)
    return replace(unbound, step=step, offset=offset)


def _smoothed(spec: ResizeSpec, in_size: int, out_size: int) -> Before | None:
    """Return the smoothing of an axis before the resize, or None."""
    if not isinstance(spec.before, Smooth) or not out_size:
        return None
    deviation = (in_size / out_size - 1) / 2
    return Bell(deviation, spec.before.border) if deviation > _SHARP else None


_SHARP = 1e-15  # a standard deviation up to which nothing is smoothed


def _copied(axes: list[AxisPlan], spec: ResizeSpec) -> list[AxisPlan]:
    """Return axes with those that Pillow copies marked: axes that keep their size, and all axes if they only shift."""
    if spec.arithmetic is not Arithmetic.PILLOW:
        return axes
    moved = all(axis.scale == 1 and axis.start.denominator == 1 for axis in axes)
    return [replace(axis, copies=moved or (axis.scale == 1 and axis.in_size == axis.out_size)) for axis in axes]


def _is_identity(axis: AxisPlan, spec: ResizeSpec) -> bool:
    """Return whether an axis is unchanged: its coordinates are, and no filter widens or smooths."""
    if axis.before is not None or (spec.kernel.smooths and not axis.copies):
        return False
    stays = axis.in_size == axis.out_size and axis.step == 1 and axis.offset == 0
    # align_corners may have step 1 under another scale, by which antialias still widens the kernel.
    return stays and (axis.scale == 1 or not spec.kernel.is_antialiased)


def _windows(coordinates: Coordinates | Crop, count: int) -> list[tuple[float, float]]:
    if not isinstance(coordinates, Crop):
        return [(0.0, 1.0)] * count
    if coordinates.roi is None:
        raise SpecError("roi is an input of the resize at run time; tf_crop_and_resize needs its values")
    return [(float(np.float32(start)), float(np.float32(end))) for start, end in coordinates.roi]
