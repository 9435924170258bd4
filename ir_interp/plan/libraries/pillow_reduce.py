"""Geometry of boxes, and of block-averaging before a resize: sizes only, no values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

import numpy as np

from ir_interp.errors import ShapeError
from ir_interp.plan.axes import kernels
from ir_interp.plan.axes.prefilter_taps import Blocks
from ir_interp.shapes import Shape, resolve_axes
from ir_interp.spec import Area, Arithmetic, Mean, Nearest, Reduce, ResizeSpec, Sizes


@dataclass(frozen=True, slots=True)
class Reduced:
    """The blocks of each resized axis, the shape after averaging, and the resize from there."""

    blocks: tuple[Blocks, ...]
    shape: Shape
    spec: ResizeSpec


@lru_cache(maxsize=512)
def reduced(spec: ResizeSpec, shape: Shape) -> Reduced | None:
    """Return the blocks that are averaged in an input of ``shape``, pads included; None if there are none.

    Formulas: ``Image.resize`` of Pillow, ``reducing_gap``. If one axis is averaged, the others are cropped, too.
    """
    if not isinstance(spec.before, Reduce) or not isinstance(spec.target, Sizes) or 0 in spec.target.values:
        return None
    axes = resolve_axes(spec.axes, len(shape))
    in_sizes = [shape[axis] for axis in axes]
    check_box(spec, in_sizes)
    box = spec.box or tuple((0.0, float(in_size)) for in_size in in_sizes)
    sizes = [int((stop - start) / out / spec.before.gap) or 1 for (start, stop), out in _each(box, spec.target)]
    if max(sizes, default=1) == 1:
        return None
    assert not isinstance(spec.kernel, Nearest | Area | Mean)
    reach = float(kernels.radius(spec.kernel)) - 0.5
    blocks, boxes, averaged = [], [], list(shape)
    for axis, size, in_size, ((start, stop), out) in zip(axes, sizes, in_sizes, _each(box, spec.target), strict=True):
        # Formula: ``_get_safe_box`` of Pillow's Image.py. Pixels beside the box count if the kernel reaches them.
        beside = reach * ((stop - start) / out)
        first = max(0, int(start - beside))
        blocks.append(Blocks(first, min(in_size, math.ceil(stop + beside)), size))
        boxes.append(((start - first) / size, (stop - first) / size))
        averaged[axis] = blocks[-1].count(in_size)
    return Reduced(tuple(blocks), tuple(averaged), replace(spec, box=tuple(boxes), before=None, pads=(), axes=axes))


def _each(box: tuple[tuple[float, float], ...], target: Sizes) -> Sequence[tuple[tuple[float, float], int]]:
    return list(zip(box, target.values, strict=True))


def check_box(spec: ResizeSpec, in_sizes: Sequence[int]) -> None:
    """Raise ShapeError for a box that exceeds axes of these sizes."""
    for (start, stop), in_size in zip(spec.box or (), in_sizes, strict=bool(spec.box)):
        if stop > in_size:
            raise ShapeError(f"the box from {start:g} to {stop:g} exceeds an axis of {in_size} pixels")


def stretches(spec: ResizeSpec, in_sizes: Sequence[int]) -> list[tuple[Fraction, Fraction]]:
    """Return the start and the size of the resized part of each axis; those of a box in Pillow's float32."""
    if spec.box is None:
        return [(Fraction(0), Fraction(in_size)) for in_size in in_sizes]
    check_box(spec, in_sizes)
    if spec.arithmetic is not Arithmetic.PILLOW:
        return [(Fraction(start), Fraction(stop) - Fraction(start)) for start, stop in spec.box]
    singles = [(np.float32(start), np.float32(stop)) for start, stop in spec.box]
    return [(Fraction(float(start)), Fraction(float(stop - start))) for start, stop in singles]
