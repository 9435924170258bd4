"""Sizes of images at which the rounding of a scale decides an output size of a model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import zip_longest

import numpy as np

from ir_interp.plan.axes.scaled_lengths import deciding_sizes

from ..graphs import Graph, Step
from .resize_targets import target_scales

_LARGEST = 1024  # pixels of an axis
_MOST = 2**15  # pixels of an image: a network takes ten times as long as on one of 64x64
_BESIDE = 33  # pixels of the other axis if the image would be larger
_RESIZES = ("resize", "upsample", "interpolate")
_IMAGE_RANK = 4
_SIZES = ("shape", "shapeof")
_ON_THE_WAY = (
    *("cast", "convert", "convertlike", "gather", "identity", "reshape", "squeeze", "slice", "stridedslice"),
    *("transpose", "unsqueeze"),
)
_PRODUCTS = ("mul", "multiply", "div", "divide")
_STRIDED = ("conv", "convolution", "groupconvolution", "maxpool", "averagepool", "avgpool")


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeHints:
    """Sizes of a source of a framework: its scales in float64, and the shapes of the inputs of its example."""

    scales: tuple[float, ...] = ()
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)


def deciding_images(graph: Graph, hints: SizeHints) -> list[tuple[int, int]]:
    """Return heights and widths at which float64, float32 and OpenVINO give different output sizes, small ones first.

    Scales of resizes and products of sizes count, behind layers that shrink an image as well.
    """
    scales = dict.fromkeys((*hints.scales, *_scales(graph)))
    inner = sorted({size for scale in scales for size in deciding_sizes(scale, _LARGEST)})
    lengths = sorted({size * stride for size in inner for stride in _strides(graph) if size * stride <= _LARGEST})
    pairs = zip_longest(lengths[::2], lengths[1::2])
    return [image for height, width in pairs for image in _images(height, width or height)]


def _images(height: int, width: int) -> Iterator[tuple[int, int]]:
    """Yield images of two lengths: one, or two that are not too large."""
    if height * width <= _MOST:
        yield height, width
        return
    yield height, _BESIDE
    yield _BESIDE, width


def _scales(graph: Graph) -> Iterator[float]:
    """Yield the constant scales of a graph that are no integers."""
    makers = {name: step for step in graph.steps for name in step.outputs}
    for step in graph.steps:
        if step.type in _RESIZES:
            yield from (scale for scale in target_scales(graph, step, _rank(graph, step)).values() if scale % 1)
        elif step.type in _PRODUCTS and len(step.inputs) == 2 and any(_is_size(makers, name) for name in step.inputs):
            yield from (number for number in _numbers(graph, step) if number % 1)


def _rank(graph: Graph, step: Step) -> int:
    return len(graph.shape(step.inputs[0]) or ()) or _IMAGE_RANK


def _numbers(graph: Graph, step: Step) -> list[float]:
    """Return the constants that sizes are multiplied by: one for all, or one for each axis."""
    for name in reversed(step.inputs):
        value = graph.value(name)
        if value is not None and value.dtype.kind == "f" and value.size <= _IMAGE_RANK:
            numbers = [float(number) for number in value.ravel() if number > 0]
            return [1 / number for number in numbers] if step.type in ("div", "divide") else numbers
    return []


def _is_size(makers: dict[str, Step], name: str) -> bool:
    """Return whether a tensor is a part of a shape."""
    while (step := makers.get(name)) and step.type in _ON_THE_WAY and step.inputs:
        name = step.inputs[0]
    return step is not None and step.type in _SIZES


def _strides(graph: Graph) -> list[int]:
    """Return by how much layers shrink the image of a model, each on the way of its data."""
    strides: dict[str, int] = {tensor.name: 1 for tensor in graph.inputs}
    for step in graph.steps:
        if step.inputs and step.inputs[0] in strides:
            own = _stride(step) if step.type in _STRIDED else 1
            strides |= dict.fromkeys(step.outputs, strides[step.inputs[0]] * own)
    return sorted(set(strides.values()))


def _stride(step: Step) -> int:
    listed = step.attributes.get("strides", [1])
    numbers = listed.split(",") if isinstance(listed, str) else listed
    return int(max(np.array([int(number) for number in numbers] or [1])))
