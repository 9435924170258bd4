"""Which picture of a resize: of one of its axes, or of an image under two configurations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ir_interp.errors import ReadError, ShapeError, closest
from ir_interp.executor.resize import as_array, bind, resize
from ir_interp.files.kinds import WITH_RESIZES, FileKind
from ir_interp.files.memory import check_bytes
from ir_interp.library_registry import is_call, load
from ir_interp.plan.axes.geometry import plan
from ir_interp.resize_op import ResizeOp
from ir_interp.shapes import PartialShape, resolve_axes
from ir_interp.spec import Arithmetic, ResizeSpec, Scales, Sizes
from ir_interp.text.names import printable
from ir_interp.translation.axes import listed
from ir_interp.translation.dialect import Semantics
from ir_interp.translation.meaning import differences
from ir_interp.views import image_arrays, pictures, positions
from ir_interp.views.explanation import AxisTable, Explanation, Lengths, Readings

_BYTES_AN_ELEMENT = 8  # as float32, and a copy
_RINGS = 96  # rows and columns of an image of rings
_OPEN = 48  # what dynamic dimensions are in a picture of an image


class Picture(Enum):
    """The subject of a picture."""

    POSITIONS = "positions"
    WEIGHTS = "weights"
    KERNEL = "kernel"
    IMAGE = "image"


def of_axis(explained: Explanation, what: Picture, axis: int | None = None) -> Any:
    """Return a figure of one axis, by default the first that changes. Raises ShapeError where that does not."""
    table = _chosen(explained.axes, axis)
    title = printable(explained.op.name or explained.op.where)
    match what:
        case Picture.POSITIONS:
            return positions.positions(table, title)
        case Picture.WEIGHTS:
            return pictures.weights(table, title)
    kernels = {str(spec.kernel): spec.kernel for spec in explained.readings.values()}
    return pictures.kernel(table, kernels, title)


def _chosen(axis_tables: Sequence[AxisTable], axis: int | None) -> AxisTable:
    chosen = [table for table in axis_tables if axis in (None, table.axis)]
    if chosen:
        return chosen[0]
    changing = ", ".join(str(table.axis) for table in axis_tables)
    raise ShapeError(f"axis {axis} keeps its size; expected one of {changing}" if axis_tables else "no axis changes")


def of_image(op: ResizeOp, other: tuple[str, ResizeSpec], x: ArrayLike | Path | None, lengths: Lengths) -> Any:
    """Return a figure of an image, by default of rings, resized by ``op`` and by another spec, which has a name."""
    shape = lengths.shape or tuple(n or _OPEN for n in op.shape or (1, 1, _OPEN, _OPEN))
    image = image_arrays.array_or_image(x, op) if isinstance(x, Path) else x
    values = as_array(pictures.rings(shape) if image is None else image)
    name, spec = other
    is_of_all = len(lengths.sizes or lengths.scales or shape) == len(shape)
    readings = [reading if is_of_all else _of_pictures(reading, op.shape) for reading in (op.spec, spec)]
    specs = [bind(reading, values.shape, sizes=lengths.sizes, scales=lengths.scales) for reading in readings]
    axes = [axis.axis for axis in plan(specs[0], values.shape).axes]
    for bound in specs:
        ends = values.shape, plan(bound, values.shape).out_shape
        what = f"a picture of shapes {list(ends[0])} and {list(ends[1])}"
        check_bytes(_BYTES_AN_ELEMENT * sum(map(math.prod, ends)), what)
    names = (f"as meant, in the arithmetic of {op.spec.arithmetic.value}", name)
    first, second = (
        pictures.Resized(name=name, values=pictures.plane(resize(values, bound), axes))
        for name, bound in zip(names, specs, strict=True)
    )
    return pictures.images(first, second, printable(op.name or op.where))


def _of_pictures(spec: ResizeSpec, declared: PartialShape | None) -> ResizeSpec:
    """Return a resize without the axes before height and width that keep the size that a file declares.

    A picture may have fewer channels than the input that the sizes of all axes were written for.
    """
    if declared is None or None in declared[:-2]:
        return spec
    axes, changing = resolve_axes(spec.axes, len(declared)), listed(spec, declared).axes or ()
    resized = [place for place, axis in enumerate(axes) if axis in changing or axis >= len(declared) - 2]
    return replace(spec, axes=axes).only(resized)


def damage(op: ResizeOp, other: tuple[str, ResizeSpec], pixels: NDArray[Any] | None = None) -> Any:
    """Return a figure of an image as a resize would have it, and as a runtime has it that computes another.

    ``pixels`` are rows, columns and perhaps colours, uint8; by default rings. The image is resized as much as the
    input of ``op`` is, or doubled where that is known at run time only. Raises ShapeError where fewer than two axes
    can be shown.
    """
    if op.shape is None:
        raise ShapeError("the rank of its input is unknown")
    values = (pictures.rings((_RINGS, _RINGS)) * 255).astype(np.uint8) if pixels is None else pixels
    name, spec = other
    axes = _two_axes(op.spec, spec, op.shape)
    mine, theirs = (_of_plane(reading, op.shape, axes, values.shape) for reading in (op.spec, spec))
    first, second = (
        pictures.Resized(name=title, values=resize(values.astype(np.float32), plane).astype(np.float64))
        for title, plane in (("as the model means it", mine), (name, theirs))
    )
    return pictures.images(first, second, printable(op.name or op.where))


def _two_axes(first: ResizeSpec, second: ResizeSpec, shape: PartialShape) -> tuple[int, int]:
    """Return two axes to show: the last that are resized, or beside it the last that is not."""
    resized = {axis for spec in (first, second) for axis in listed(spec, shape).axes or ()}
    ranked = sorted(range(len(shape)), key=lambda axis: (axis in resized, axis))[-2:]
    if len(ranked) < 2:
        raise ShapeError("a picture needs two axes")
    rows, columns = sorted(ranked)
    return rows, columns


def _of_plane(spec: ResizeSpec, shape: PartialShape, axes: tuple[int, int], image_shape: Sequence[int]) -> ResizeSpec:
    """Return the resize of two of the axes of an input, for an image of other sizes."""
    every = listed(spec, shape)
    spec_axes = every.axes or ()
    places = [place for place, axis in enumerate(spec_axes) if axis in axes]
    chosen = every.only(places)
    mapped = tuple(axes.index(spec_axes[place]) for place in places)
    pads = tuple(replace(pad, axis=axes.index(pad.axis)) for pad in spec.pads if pad.axis in axes)
    match chosen.target:
        case Scales():
            target: Sizes | Scales = chosen.target
        case Sizes(values):
            known = [shape[spec_axes[place]] for place in places]
            ratios = [value / size if size else 2 for value, size in zip(values, known, strict=True)]
            target = Sizes(tuple(max(1, round(image_shape[axis] * r)) for axis, r in zip(mapped, ratios, strict=True)))
        case _:
            target = (
                Scales((2.0,) * len(mapped)) if spec.gives_scales else Sizes(tuple(2 * image_shape[a] for a in mapped))
            )
    return replace(chosen, axes=mapped, target=target, pads=pads)


def configuration(against: object, op: ResizeOp, readings: Readings) -> tuple[str, ResizeSpec] | None:
    """Return another configuration of a resize, and its name: that of a reading, of an arithmetic, a spec as it is.

    By default it is the first reading that differs, else exact arithmetic. Returns None for what has to be read
    first. Raises ReadError for a text that is neither a word nor the name of a file.
    """
    if against is None:
        differing = (reading for reading, spec in readings.items() if differences(op.spec, spec, op.shape))
        against = next(differing, Arithmetic.EXACT)
    words = {member.value: member for kind in (Semantics, Arithmetic) for member in kind}
    if isinstance(against, str):
        if is_call(against):
            return against, load(against).spec
        if against not in words and FileKind.of(against) not in WITH_RESIZES:
            raise ReadError(f"against {against!r} is neither a file nor a known name; {closest(against, words)}")
        against = words.get(against, against)
    match against:
        case Semantics():
            return against.value, readings.get(against, op.spec)
        case Arithmetic():
            return against.value, replace(op.spec, arithmetic=against)
        case ResizeSpec():
            return "the other spec", against
    return None
