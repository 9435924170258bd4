"""Images of height 1, for a runtime that resizes only higher ones: they get a second row, which is cropped later."""

from __future__ import annotations

from collections.abc import Callable

from ir_interp.spec import AtRunTime, Coordinates, ResizeSpec, Scales, Sizes

from ..onnx import operators
from ..onnx.graph import Graph

Resized = Callable[[str], str]
"""Adds a resize of a tensor to a graph; returns the output."""
Form = Callable[[Graph, str, Resized], str]
"""Adds to a graph what resizes a tensor; returns the output."""

_RANK, _HEIGHT = 4, 2  # [batch, channels, height, width]
_SLICES_BY_INPUTS = 10  # the first operator set in which the ends of a Slice may be computed at run time
_ALL = 2**16  # rows that a crop leaves for each row beyond the first; times a height, int32 still holds it


def form(spec: ResizeSpec, rank: int, opset: int, *, measures: bool) -> Form | None:
    """Return what adds a linear resize of images whose height may be 1; None if there is no such form.

    ``measures`` is whether the runtime slices at sizes of run time. ``spec`` is the resize as it is written.
    """
    has_sizes = isinstance(spec.target, Sizes) or spec.target is AtRunTime.SIZES
    if rank != _RANK or spec.axes is not None or not (has_sizes or isinstance(spec.target, Scales)):
        return None
    scale = spec.target.values[_HEIGHT] if isinstance(spec.target, Scales) else None
    if scale is not None and scale.is_integer() and spec.coordinates is not Coordinates.ALIGN_CORNERS:
        return lambda graph, x, resized: _with_last_row_twice(graph, x, int(scale), resized)
    if not measures or opset < _SLICES_BY_INPUTS or (scale or 0) >= _ALL:
        return None
    return lambda graph, x, resized: _of_two_rows(graph, x, scale, resized)


def _with_last_row_twice(graph: Graph, x: str, scale: int, resized: Resized) -> str:
    """Add a row to every image: with an integral scale, its outputs lie after all others."""
    last = operators.cut(graph, x, [-1], [operators.END], [_HEIGHT])
    taller = graph.node("Concat", x, last, axis=_HEIGHT)
    return operators.cut(graph, resized(taller), [0], [-scale], [_HEIGHT])


def _of_two_rows(graph: Graph, x: str, scale: float | None, resized: Resized) -> str:
    """Add a row to an image of height 1 alone, so that other heights, which sizes and corners depend on, stay."""
    height = operators.cut(graph, graph.node("Shape", x), [_HEIGHT], [_HEIGHT + 1], [0])
    first, axis = graph.ints([0]), graph.ints([_HEIGHT])
    rows = graph.node(
        "Add", height, graph.node("Div", graph.ints([1]), height)
    )  # 1 / 1 is 1, any other 1 / height is 0
    twice = graph.node("Concat", x, x, axis=_HEIGHT)
    result = resized(graph.node("Slice", twice, first, rows, axis))
    if scale is None:
        return result
    beyond = graph.node("Mul", graph.node("Sub", height, graph.ints([1])), graph.ints([_ALL]))
    return graph.node("Slice", result, first, graph.node("Add", beyond, graph.ints([int(scale)])), axis)
