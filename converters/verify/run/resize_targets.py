"""Sizes, scales and windows of the resizes of a graph, as far as they are constants."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..graphs import Graph, Step

_SIZES = 1  # the place of the sizes, or scales, of an Interpolate


def resized_axes(graph: Graph, step: Step, rank: int) -> list[int]:
    """Return the axes of the sizes and scales of a resize."""
    listed = step.attributes.get("axes")
    if isinstance(listed, str):  # of Interpolate-1
        listed = integers(listed.split(","))
    elif step.type == "interpolate" and len(step.inputs) > _SIZES + 1:
        value = graph.value(step.inputs[-1])
        is_axes = value is not None and value.dtype.kind in "iu"  # floats are the scales of Interpolate-4
        listed = value.ravel().tolist() if value is not None and is_axes else None
    return [int(axis) % rank for axis in listed] if listed is not None else list(range(rank))


def target_sizes(graph: Graph, step: Step, rank: int) -> dict[int, int]:
    """Return the constant sizes of a resize, by axis; none if they are inputs, or scales are used."""
    place = _SIZES if step.type == "interpolate" else 3
    has_sizes = len(step.inputs) > place and step.attributes.get("shape_calculation_mode") != "scales"
    sizes = graph.value(step.inputs[place]) if has_sizes else None
    return {} if sizes is None else dict(zip(resized_axes(graph, step, rank), sizes.ravel().tolist(), strict=False))


def target_scales(graph: Graph, step: Step, rank: int) -> dict[int, float]:
    """Return the constant scales of a resize, by axis; none if they are inputs, or sizes are used."""
    axes = resized_axes(graph, step, rank)
    values = (graph.value(name) for name in step.inputs[1:])
    scales = (value.ravel().tolist() for value in values if value is not None and value.dtype.kind == "f")
    return next((dict(zip(axes, values, strict=True)) for values in scales if len(values) == len(axes)), {})


def axes_outside(graph: Graph, step: Step, rank: int) -> list[int]:
    """Return the axes of a resize along which no sample of its constant window lies between the first and last pixel.

    All its outputs are then the extrapolation value, unless the axis is a single pixel.
    """
    is_crop = step.attributes.get("coordinate_transformation_mode") == b"tf_crop_and_resize"
    roi, sizes = graph.value(step.inputs[1]) if is_crop else None, target_sizes(graph, step, rank)
    axes = resized_axes(graph, step, rank)
    if roi is None or roi.size != 2 * len(axes):
        return []
    windows = zip(axes, *np.split(roi.ravel().astype(float), 2), strict=True)
    return [axis for axis, start, end in windows if axis in sizes and _is_outside(start, end, sizes[axis])]


def _is_outside(start: float, end: float, count: int) -> bool:
    """Return whether no sample of a window, relative to the axis, is in [0, 1]; a single one lies in its middle."""
    # ONNX places the first and last sample at the ends of the window.
    samples = np.linspace(start, end, count) if count > 1 else np.array([(start + end) / 2])
    return not ((samples >= 0) & (samples <= 1)).any()


def scales_batch(graph: Graph, step: Step, rank: int) -> bool:
    """Return whether the constant scales of a resize change its first axis: then that is not a batch of images."""
    return target_scales(graph, step, rank).get(0, 1.0) != 1.0


def integers(listed: Iterable[Any]) -> list[int]:
    """Return the integers of a list, whose entries may be texts, some of them empty."""
    return [int(number) for number in listed if str(number).strip()]
