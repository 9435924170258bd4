"""Pictures of resizes in a page: where they sample, and what they weigh by how much."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from ir_interp.errors import IrInterpError, ReadError, ShapeError
from ir_interp.executor.resize import bind
from ir_interp.plan.axes.geometry import plan
from ir_interp.resize_op import ResizeOp
from ir_interp.shapes import PartialShape, resolve_axes, with_ones
from ir_interp.spec import Arithmetic, AtRunTime, ResizeSpec
from ir_interp.translation.axes import listed
from ir_interp.translation.dialect import Semantics
from ir_interp.views import canvas, describe, figures, image_arrays, pictures, positions
from ir_interp.views.explanation import tables

from ..audit.verdicts import deviations
from ..sources.readers import readings
from .frame import E, Element, clean, note, section

_MOST = 4  # configurations that are drawn: what keeps a page below a megabyte
_OPEN = 8  # what dynamic dimensions are drawn as
_LONGEST = 2**16  # axis that is drawn
_LARGEST = 2**20  # elements of a matrix of weights that is drawn


def gallery(resizes: Iterable[tuple[Path, ResizeOp]]) -> Iterator[Element]:
    """Yield pictures of the configurations among some resizes of files: each once, and of many only some."""
    groups: dict[tuple[object, ...], list[tuple[Path, ResizeOp]]] = {}
    for file, op in resizes:
        groups.setdefault(_key(op), []).append((file, op))
    if groups and not canvas.are_possible():
        yield section("Pictures", note(f"left out: {canvas.NEEDED}"))
    elif groups:
        yield _section(list(groups.values()))


Other = tuple[str, ResizeSpec]
"""Who computes another resize than is meant, and that resize."""


def elsewhere(resizes: Iterable[ResizeOp]) -> Iterator[tuple[ResizeOp, Other]]:
    """Yield the resizes of which a runtime computes another, each with the first that does."""
    for op in resizes:
        for other in islice(deviations(op), 1):
            yield op, other


def damage(resizes: Iterable[tuple[ResizeOp, Other]], image: Path | None) -> Iterator[Element]:
    """Yield pictures of an image as resizes have it, and as what computes another has it.

    Each configuration once, and of many only some. Raises ReadError for an ``image`` that is none.
    """
    changed = {_key(op): (op, other) for op, other in resizes}
    if not changed or not canvas.are_possible():
        return
    pixels, name = (image_arrays.pixels(image), image.name) if image else (None, "rings; --image shows your own image")
    drawn = [_damaged(op, other, pixels, name) for op, other in list(changed.values())[:_MOST]]
    yield section("What changes in an image", *drawn, *_left_out(len(changed) - _MOST))


def _damaged(op: ResizeOp, other: Other, pixels: NDArray[Any] | None, image: str) -> Element:
    name = op.name or op.where
    try:
        drawn = figures.damage(op, other, pixels)
    except IrInterpError as problem:
        return note(f"{name} is not drawn: {problem}")
    return _figure(drawn, f"{name}: as the model means it, in {other[0]}, and the difference; of {image}")


def _section(groups: Sequence[Sequence[tuple[Path, ResizeOp]]]) -> Element:
    return section("Pictures", *map(_drawn, groups[:_MOST]), *_left_out(len(groups) - _MOST))


def _left_out(count: int) -> list[Element]:
    text = f"{count} more configurations are not drawn here; `ir-interp plot` does it"
    return [note(text)] if count > 0 else []


def _key(op: ResizeOp) -> tuple[object, ...]:
    """Return what pictures of a resize depend on: how which lengths are resized, and whether readings differ."""
    spec = replace(op.spec, arithmetic=Arithmetic.EXACT)  # all are drawn
    if op.shape is None:
        return (spec,)
    spec = listed(spec, op.shape)
    return spec, tuple(op.shape[axis] for axis in spec.axes or ()), op.diagnostics != ()


def _drawn(groups: Sequence[tuple[Path, ResizeOp]]) -> Element:
    (file, op), *others = groups
    title = E.h3((op.name or op.where) + (f", and {len(others)} like it" if others else ""))
    formula = E.p(describe.summary(op.spec))
    try:
        return E.div(title, formula, *_figures(file, op))
    except IrInterpError as problem:
        return E.div(title, formula, note(f"not drawn: {problem}"))


def _figures(file: Path, op: ResizeOp) -> Iterator[Element]:
    """Yield pictures of the first axis that changes."""
    if op.shape is None:
        raise ReadError("the rank of its input is unknown")
    axes = resolve_axes(listed(op.spec, op.shape).axes, len(op.shape))
    shape = tuple(_OPEN if length is None and axis in axes else length for axis, length in enumerate(op.shape))
    target = _target(op.spec, axes, shape)
    _check_lengths(bind(op.spec, shape, **target), shape)
    read = readings(op, file) if op.diagnostics else {Semantics.RUNTIME: op.spec}
    axes_that_change = tables(read, shape, **target)
    if not axes_that_change:
        yield note("no axis changes: the input is copied")
        return
    axis, count = axes_that_change[0], len(axes_that_change)
    title = f"axis {axis.axis}" + (f", the first of {count} that change" if count > 1 else "")
    if shape != op.shape or isinstance(op.spec.target, AtRunTime):
        title += "; the file has dynamic dimensions, and these sizes are examples"
    yield _figure(positions.positions(axis, "source positions"), f"Source positions along {title}")
    if axis.in_size * max(axis.out_sizes) <= _LARGEST:
        yield _figure(pictures.weights(axis, "weights"), f"Weights along {title}")
    else:
        yield note("the matrix of weights is too large to be drawn")


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


def _figure(drawn: Any, caption: str) -> Element:
    """Return a picture that stands in the page itself; ``caption`` is its text for screen readers, too."""
    source = "data:image/svg+xml;base64," + base64.b64encode(canvas.svg(drawn)).decode("ascii")
    return E.figure(E.figcaption(caption), E.img(src=source, alt=clean(caption)))
