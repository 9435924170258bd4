"""Axes of a spec, however they are listed: which change, and the same resize with fewer or more of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ir_interp.shapes import PartialShape, resolve_axes
from ir_interp.spec import Aspect, Coordinates, Crop, ResizeSpec, Scales, Sizes

WHOLE_WINDOW = (0.0, 1.0)
_MOVING = (Coordinates.TF_HALF_PIXEL_THROUGHOUT, Coordinates.TFLITE_CORNERS)  # half a pixel, even where sizes stay


def resized_axes(spec: ResizeSpec, shape: PartialShape | None) -> tuple[int, ...] | None:
    """Return the axes, counted from the first if the rank is known; None for all of an unknown number."""
    return spec.axes if shape is None else resolve_axes(spec.axes, len(shape))


def windows(spec: ResizeSpec, count: int) -> Sequence[tuple[float, float] | None]:
    """Return the window of each axis, or of a box its segment; None if known only at run time."""
    if spec.box is not None:
        return spec.box
    if not isinstance(spec.coordinates, Crop):
        return [WHOLE_WINDOW] * count
    return [None] * count if spec.coordinates.roi is None else spec.coordinates.roi


def keeps(
    spec: ResizeSpec, axis: int, value: float, window: tuple[float, float] | None, shape: PartialShape | None
) -> bool:
    """Return whether an axis with this target is certain to be unchanged."""
    whole = WHOLE_WINDOW if spec.box is None else (0, shape[axis] if shape else None)
    moved = spec.coordinates in _MOVING
    if window != whole or spec.aspect is not Aspect.STRETCH or moved:
        return False
    if isinstance(spec.target, Scales):
        return value == 1
    padded = any(from_first(pad.axis, shape) == axis for pad in spec.pads)
    return shape is not None and shape[axis] == value and not padded


def from_first(axis: int, shape: PartialShape | None) -> int:
    """Return an axis counted from the first, if the rank is known."""
    return axis % len(shape) if shape else axis


def listed(spec: ResizeSpec, shape: PartialShape) -> ResizeSpec:
    """Return the same resize with its axes listed from the first, without those certain to be unchanged."""
    axes = resolve_axes(spec.axes, len(shape))
    if not isinstance(spec.target, Sizes | Scales):
        return replace(spec, axes=axes)
    entries = zip(axes, spec.target.values, windows(spec, len(axes)), strict=True)
    changing = [place for place, entry in enumerate(entries) if not keeps(spec, *entry, shape)]
    return replace(spec, axes=axes).only(changing)


def spread(spec: ResizeSpec, shape: PartialShape, axes: tuple[int, ...] | None) -> ResizeSpec | None:
    """Return the same resize with a target for each of ``axes``, or for every axis if that is None.

    Return None if it resizes other axes too, or needs a dynamic dimension.
    """
    current, target = (resolve_axes(listed, len(shape)) for listed in (spec.axes, axes))
    if isinstance(spec.coordinates, Crop):
        return _spread_crop(spec, spec.coordinates, shape, axes)
    if current == target:
        return replace(spec, axes=axes)
    if (
        not isinstance(spec.target, Sizes | Scales)
        or spec.aspect is not Aspect.STRETCH
        or not set(current) <= set(target)
    ):
        return None
    if spec.box is not None:
        return None
    by_axis = dict(zip(current, spec.target.values, strict=True))
    values: list[Any] = [by_axis.get(axis, 1.0 if spec.gives_scales else shape[axis]) for axis in target]
    return None if None in values else replace(spec, axes=axes, target=type(spec.target)(tuple(values)))


def _spread_crop(spec: ResizeSpec, crop: Crop, shape: PartialShape, axes: tuple[int, ...] | None) -> ResizeSpec | None:
    """Return a crop of more axes; the added ones keep their whole window."""
    plain = spread(replace(spec, coordinates=Coordinates.ASYMMETRIC), shape, axes)
    if plain is None or crop.roi is None:
        return None
    by_axis = dict(zip(resolve_axes(spec.axes, len(shape)), crop.roi, strict=True))
    windows = tuple(by_axis.get(axis, WHOLE_WINDOW) for axis in resolve_axes(axes, len(shape)))
    return replace(plain, coordinates=replace(crop, roi=windows))
