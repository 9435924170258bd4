"""Pictures of a resize that differs somewhere: its graph, an image, where it samples and what that weighs."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ir_interp.errors import IrInterpError, ReadError, ShapeError
from ir_interp.executor.resize import bind
from ir_interp.plan.axes.geometry import plan
from ir_interp.resize_op import ResizeOp
from ir_interp.shapes import PartialShape, resolve_axes, with_ones
from ir_interp.spec import Arithmetic, AtRunTime, ResizeSpec
from ir_interp.translation.axes import listed
from ir_interp.translation.dialect import Semantics
from ir_interp.views import canvas, figures, image_arrays, pictures, positions
from ir_interp.views.explanation import AxisTable, Cell, tables

from ..sources.readers import readings
from . import graph_picture
from .frame import E, Element, clean, note
from .surroundings import surroundings

MOST = 4
"""Configurations that a page draws, which keeps it below a megabyte."""
_OPEN = 8  # what dynamic dimensions are drawn as
_LONGEST = 2**16  # axis that is drawn
_LARGEST = 2**20  # elements of a matrix of weights that is drawn

Other = tuple[str, ResizeSpec]
"""The name of a runtime that computes another resize, and that resize."""


def configuration(op: ResizeOp) -> tuple[object, ...]:
    """Return what pictures of a resize depend on: how which lengths are resized, and whether readings differ."""
    spec = replace(op.spec, arithmetic=Arithmetic.EXACT)  # all are drawn
    if op.shape is None:
        return (spec,)
    spec = listed(spec, op.shape)
    return spec, tuple(op.shape[axis] for axis in spec.axes or ()), op.diagnostics != ()


def pictures_of(file: Path, op: ResizeOp, other: Other | None, image: Path | None) -> Iterator[Element]:
    """Yield what shows where a resize differs: its graph, an image as ``other`` has it, positions and weights.

    Raises ReadError for an ``image`` that is none.
    """
    around = surroundings(file, op)
    if around is not None:
        yield graph_picture.picture(around, op.name or op.where)
    if not canvas.are_possible():
        yield note(f"Pictures are left out: {canvas.NEEDED}")
        return
    if other is not None:
        yield damage(op, other, image)
    try:
        yield from _of_axis(file, op, other)
    except IrInterpError as problem:
        yield note(f"Positions and weights are not drawn: {problem}")


def damage(op: ResizeOp, other: Other, image: Path | None) -> Element:
    """Return a picture of an image as a resize has it, and as what computes another has it.

    Raises ReadError for an ``image`` that is none.
    """
    pixels = image_arrays.pixels(image) if image else None
    name = image.name if image else "an example image of rings; --image shows your own"
    try:
        drawn = figures.damage(op, other, pixels)
    except IrInterpError as problem:
        return note(f"What changes in an image is not drawn: {problem}")
    return _figure(drawn, f"{op.name or op.where}: as the model means it, in {other[0]}, and the difference; of {name}")


def _of_axis(file: Path, op: ResizeOp, other: Other | None) -> Iterator[Element]:
    """Yield pictures of the first axis on which readings, arithmetics or the other resize differ."""
    shape, target = _lengths(op)
    examples = "" if shape == op.shape and not target else "; dynamic dimensions have example sizes"
    read = readings(op, file) if op.diagnostics else {Semantics.RUNTIME: op.spec}
    axis = next((table for table in tables(read, shape, **target) if table.differing), None)
    if axis is not None:
        title = f"axis {axis.axis}{examples}"
        yield _figure(positions.positions(axis, "source positions"), f"Source positions along {title}", "drawing")
        # A larger matrix would be a picture of some megabytes, in which no weight is visible.
        if axis.in_size * max(axis.out_sizes) <= _LARGEST:
            yield _figure(pictures.weights(axis, "weights"), f"Weights along {title}", "drawing")
        else:
            yield note("the matrix of weights is too large to be drawn")
    elif other is not None:
        yield from _side_by_side(op, other, examples)


def _side_by_side(op: ResizeOp, other: Other, examples: str) -> Iterator[Element]:
    """Yield where a resize and another sample, along the first axis on which these differ."""
    ways = []
    for name, spec in (("as the model means it", op.spec), (f"in {other[0]}", other[1])):
        shape, target = _lengths(replace(op, spec=spec))
        ways.append((name, {table.axis: table for table in tables({Semantics.RUNTIME: spec}, shape, **target)}))
    (_, mine), (_, theirs) = ways
    axes = [axis for axis in sorted(mine.keys() & theirs.keys()) if _cells(mine[axis]) != _cells(theirs[axis])]
    for name, drawn in ways if axes else ():
        caption = f"Source positions along axis {axes[0]}, {name}{examples}"
        yield _figure(positions.positions(drawn[axes[0]], name), caption, "drawing")


def _cells(axis: AxisTable) -> list[tuple[Cell, ...]]:
    return [column.cells for column in axis.columns]


def _lengths(op: ResizeOp) -> tuple[PartialShape, dict[str, Any]]:
    """Return the shape on which a resize is drawn, and its target where that is an input of the model."""
    if op.shape is None:
        raise ReadError("the rank of its input is unknown")
    axes = resolve_axes(listed(op.spec, op.shape).axes, len(op.shape))
    shape = tuple(_OPEN if size is None and axis in axes else size for axis, size in enumerate(op.shape))
    target = _target(op.spec, axes, shape)
    _check_lengths(bind(op.spec, shape, **target), shape)
    return shape, target


def _check_lengths(spec: ResizeSpec, shape: PartialShape) -> None:
    """Raise ShapeError where an axis is so long that to list its taps would take long, too."""
    axes = plan(spec, with_ones(shape)).axes
    longest = max((max(axis.in_size, axis.out_size) for axis in axes), default=0)
    if longest > _LONGEST:
        raise ShapeError(f"an axis is {longest} long")


def _target(spec: ResizeSpec, axes: Sequence[int], shape: PartialShape) -> dict[str, Any]:
    """Return a target where it is an input of the model: the last two axes double."""
    if not isinstance(spec.target, AtRunTime):
        return {}
    factors = [2 if axis >= len(shape) - 2 else 1 for axis in axes]
    sizes = tuple(factor * (shape[axis] or 1) for factor, axis in zip(factors, axes, strict=True))
    return {"sizes": sizes} if spec.gives_sizes else {"scales": tuple(factors)}


def _figure(drawn: Any, caption: str, kind: str = "photo") -> Element:
    """Return a picture that stands in the page itself; of a "drawing" dark pages invert the colours."""
    source = "data:image/svg+xml;base64," + base64.b64encode(canvas.svg(drawn)).decode("ascii")
    return E.figure(E.figcaption(caption), E.img({"class": kind}, src=source, alt=clean(caption)))
