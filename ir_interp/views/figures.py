"""Which picture of a resize: of one of its axes, or of an image under two configurations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from ir_interp.errors import ReadError, ShapeError, closest
from ir_interp.executor.resize import as_array, bind, resize
from ir_interp.kinds import WITH_RESIZES, FileKind
from ir_interp.names import shown
from ir_interp.op import ResizeOp
from ir_interp.plan.geometry import plan
from ir_interp.spec import Arithmetic, ResizeSpec
from ir_interp.translation.dialect import Semantics
from ir_interp.translation.meaning import differences
from ir_interp.views import images, pictures
from ir_interp.views.explain import AxisTable, Explanation, Lengths, Readings

_OPEN = 48  # what dynamic dimensions are in a picture of an image


class Picture(Enum):
    """What a picture shows."""

    POSITIONS = "positions"
    WEIGHTS = "weights"
    KERNEL = "kernel"
    IMAGE = "image"


def of_axis(explained: Explanation, what: Picture, axis: int | None = None) -> Any:
    """Return a figure of one axis, by default the first that changes. Raises ShapeError where that does not."""
    table = _chosen(explained.axes, axis)
    title = shown(explained.op.name or explained.op.where)
    match what:
        case Picture.POSITIONS:
            return pictures.positions(table, title)
        case Picture.WEIGHTS:
            return pictures.weights(table, title)
    kernels = {str(spec.kernel): spec.kernel for spec in explained.readings.values()}
    return pictures.kernel(table, kernels, title)


def _chosen(found: Sequence[AxisTable], axis: int | None) -> AxisTable:
    chosen = [each for each in found if axis in (None, each.axis)]
    if chosen:
        return chosen[0]
    changing = ", ".join(str(each.axis) for each in found)
    raise ShapeError(f"no axis {axis} changes; those that do: {changing}" if found else "no axis changes")


def of_image(
    op: ResizeOp,
    other: tuple[str, ResizeSpec],
    x: ArrayLike | Path | None,
    lengths: Lengths,
) -> Any:
    """Return a figure of an image, by default of rings, resized by ``op`` and by another spec, which has a name."""
    shape = lengths.shape or tuple(n or _OPEN for n in op.shape or (1, 1, _OPEN, _OPEN))
    given = images.array_or_image(x, op) if isinstance(x, Path) else x
    values = as_array(pictures.rings(shape) if given is None else given)
    name, spec = other
    specs = [bind(each, values.shape, sizes=lengths.sizes, scales=lengths.scales) for each in (op.spec, spec)]
    axes = [each.axis for each in plan(specs[0], values.shape).axes]
    names = (f"{op.spec.arithmetic.value} ({Semantics.RUNTIME.value})", name)
    first, second = (
        pictures.Resized(name=name, values=pictures.plane(resize(values, each), axes))
        for name, each in zip(names, specs, strict=True)
    )
    return pictures.images(first, second, shown(op.name or op.where))


def configuration(against: object, op: ResizeOp, readings: Readings) -> tuple[str, ResizeSpec] | None:
    """Return another configuration of a resize, and its name: that of a reading, of an arithmetic, a spec as it is.

    By default it is the first reading that differs, else exact arithmetic. Returns None for what has to be read
    first. Raises ReadError for a text that is neither a word nor the name of a file.
    """
    if against is None:
        differing = (each for each, spec in readings.items() if differences(op.spec, spec, op.shape))
        against = next(differing, Arithmetic.EXACT)
    words = {each.value: each for kind in (Semantics, Arithmetic) for each in kind}
    if isinstance(against, str):
        if against not in words and FileKind.of(against) not in WITH_RESIZES:
            raise ReadError(f"against {against!r}: {closest(against, words)}, or a file")
        against = words.get(against, against)
    match against:
        case Semantics():
            return against.value, readings.get(against, op.spec)
        case Arithmetic():
            return against.value, replace(op.spec, arithmetic=against)
        case ResizeSpec():
            return "the other spec", against
    return None
