"""Offers: everything that a dialect can express with the numbers of a spec, by axes, target and attribute set."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from ir_interp.errors import Difference
from ir_interp.plan.axes.geometry import plan
from ir_interp.shapes import PartialShape, resolve_axes, with_ones
from ir_interp.spec import Aspect, AtRunTime, Crop, Cubic, Reduce, ResizeSpec, Scales, Sizes
from ir_interp.translation.axes import listed, spread
from ir_interp.translation.dialect import Context, Dialect


def offered_by(spec: ResizeSpec, dialect: Dialect, context: Context) -> dict[ResizeSpec, dict[str, Any]]:
    """Return every meaning that the dialect can express with the numbers of ``spec``, each with its attributes."""
    offers: dict[ResizeSpec, dict[str, Any]] = {}
    for numbers in expressible(spec, dialect, context):
        offers |= _attribute_sets(dialect, tuple(numbers.items()), context)
    return offers


def expressible(spec: ResizeSpec, dialect: Dialect, context: Context) -> list[dict[str, Any]]:
    """Return the numbers for every form of axes and target that the dialect has names for."""
    fixed = dialect.fixed_axes(context)
    variants = (_numbers(variant, dialect, context) for variant in _variants(spec, context.shape, fixed))
    return [numbers for numbers in variants if numbers is not None]


@lru_cache(maxsize=256)
def _attribute_sets(dialect: Dialect, numbers: tuple[tuple[str, Any], ...], context: Context) -> dict[ResizeSpec, Any]:
    return dialect.offers(dict(numbers), context)


def _variants(
    spec: ResizeSpec, shape: PartialShape | None, choices: tuple[tuple[int, ...], ...]
) -> Iterator[ResizeSpec]:
    """Yield equivalent axes and targets, for dialects that lack one or fix the axes to one of ``choices``."""
    if shape is None:
        yield spec
        return
    short = listed(spec, shape)
    fixed = fixed_shape(spec, shape)
    variants = [short, replace(spec, axes=resolve_axes(spec.axes, len(shape)))]
    if fixed:
        axes = resolve_axes(short.axes, len(fixed))
        bound = plan(short, fixed)
        out_sizes = tuple(bound.out_shape[axis] for axis in axes)
        variants.append(replace(short, target=Sizes(out_sizes), aspect=Aspect.STRETCH))
        # A scale of 0 is invalid, and under a box the ratio of sizes is not the scale.
        if all(out_sizes) and spec.box is None and spec.before is None:
            padded = [fixed[axis] + sum(bound.padding[axis]) for axis in axes]
            # Rounded to float32, as a model file stores scales.
            ratios = tuple(float(np.float32(out / size)) for out, size in zip(out_sizes, padded, strict=True))
            variants.append(replace(short, target=Scales(ratios), aspect=Aspect.STRETCH))
    for variant in variants:
        wider = (spread(variant, shape, choice) for choice in choices or (None,))
        yield from dict.fromkeys((variant, *filter(None, wider)))


def _numbers(spec: ResizeSpec, dialect: Dialect, context: Context) -> dict[str, Any] | None:
    """Return the numbers of ``spec`` under the dialect's names; None if axes or target have no name there.

    Axes that the dialect fixes need none. Any other number without a name is left out: the attributes are read back
    before they are offered, and differ then.
    """
    fixed = dialect.fixed_axes(context)
    if fixed and spec.axes not in fixed:
        return None
    named: dict[str, Any] = {}
    for part, value in _carried(spec, context.shape):
        name = dialect.number(part, context.version)
        if name is not None:
            named[name] = value
        elif part in ("sizes", "scales") or (part == "axes" and not fixed):
            return None
    return named


def unnamed(spec: ResizeSpec, dialect: Dialect, context: Context) -> Difference:
    """Return the part that the dialect has no name for: the target, or the axes unless it fixes them."""
    carried, fixed = dict(_carried(spec, context.shape)), dialect.fixed_axes(context)
    for part in ("sizes", "scales"):
        if part in carried and dialect.number(part, context.version) is None:
            return Difference(part, carried[part], None)
    return Difference("axes", spec.axes, fixed[0] if fixed else None)


def _carried(spec: ResizeSpec, shape: PartialShape | None) -> Iterator[tuple[str, Any]]:
    """Yield every number of a spec after its part; None if it is an input at run time."""
    if isinstance(spec.kernel, Cubic):
        yield "a", spec.kernel.a
    if spec.axes is not None:
        yield "axes", spec.axes
    match spec.target:
        case Sizes(values):
            yield "sizes", values
        case Scales(values):
            yield "scales", values
        case AtRunTime():
            yield spec.target.value, None
    if isinstance(spec.coordinates, Crop):
        yield "roi", spec.coordinates.edges
        yield "extrapolation", spec.coordinates.extrapolation
    if spec.box is not None:
        yield "box", tuple(edge for side in zip(*spec.box, strict=True) for edge in reversed(side))
    if isinstance(spec.before, Reduce):
        yield "gap", spec.before.gap
    if spec.pads and shape is not None:
        yield from zip(("pads_begin", "pads_end"), spec.padding(len(shape)), strict=True)


def fixed_shape(spec: ResizeSpec, shape: PartialShape | None) -> tuple[int, ...] | None:
    """Return ``shape`` with 1 for dynamic dimensions if none of them has an effect; otherwise None."""
    if shape is None or not isinstance(spec.target, Sizes | Scales):
        return None
    # The windows are an input at run time: no taps are known.
    if isinstance(spec.coordinates, Crop) and spec.coordinates.roi is None:
        return None
    resized = resolve_axes(listed(spec, shape).axes, len(shape))
    if any(shape[axis] is None for axis in resized):
        return None
    return with_ones(shape)
