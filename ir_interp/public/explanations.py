"""Explanations and plots of one resize."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ir_interp import arguments
from ir_interp.arguments import checked
from ir_interp.converters.sources import readers
from ir_interp.converters.sources.readers import Source
from ir_interp.errors import SpecError
from ir_interp.files.atomic import check_outputs, replacing
from ir_interp.files.kinds import FileKind
from ir_interp.options.declaration import settled
from ir_interp.options.resize_options import ExplainOptions
from ir_interp.resize_op import ResizeOp, choose
from ir_interp.spec import Arithmetic, ResizeSpec
from ir_interp.translation.dialect import Semantics

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike

    from ir_interp.options.plot_options import PlotOptions
    from ir_interp.views.explanation import Explanation, Lengths, Readings
    from ir_interp.views.figures import Picture


@checked
def explain(
    source: Source,
    layer: str | None = None,
    *,
    shape: Sequence[int] | None = None,
    sizes: Sequence[int] | None = None,
    scales: Sequence[float] | None = None,
) -> Explanation:
    """Return the source pixels of each output of a resize, in every reading and arithmetic.

    ``layer`` is the name of the resize, if the source has several. ``shape`` is the shape of its input, if it is
    dynamic; ``sizes`` (output sizes) or ``scales`` (output / input) replace those of the layer.

    Raises ReadError if there is no such resize, ShapeError if a required dimension is unknown.

    Examples:
        >>> for table in ir_interp.explain("layer.xml").axes:
        ...     print(table.axis, table.in_size, table.out_sizes)
        2 5 (10,)
        3 7 (14,)

    """
    options = settled(ExplainOptions, locals())
    from ir_interp.views.explanation import explanation

    op = _one(source, options.layer)
    return explanation(op, readers.readings(op, source), _lengths(options))


@checked
def plot(
    source: Source,
    output: str | os.PathLike[str] | None = None,
    *,
    what: Picture | str = "positions",
    layer: str | None = None,
    axis: int | None = None,
    shape: Sequence[int] | None = None,
    sizes: Sequence[int] | None = None,
    scales: Sequence[float] | None = None,
    x: ArrayLike | str | os.PathLike[str] | None = None,
    against: Semantics | Arithmetic | ResizeSpec | Source | None = None,
) -> Figure:
    """Return a picture of a resize, a figure of Matplotlib; it is written to ``output``, .png or .svg, unless None.

    ``what`` is shown: the sampling "positions" of the outputs of an axis, the "weights" of their inputs, the
    "kernel", or an "image" under two configurations and their difference. ``layer``, ``shape``, ``sizes`` and
    ``scales`` are those of ``explain``; ``axis`` is by default the first that changes. For an image, ``x`` is an array
    or the path of an array (.npy) or of an image, by default rings. ``against`` is the other configuration: a reading
    or an arithmetic by its name, a spec, or a source with another resize; by default a runtime that is known to
    differ, or a reading, or else exact arithmetic.

    Raises ReadError and ShapeError as ``explain`` does, IrInterpError if Matplotlib is not installed.

    Examples:
        >>> figure = ir_interp.plot("layer.xml", "up.png", axis=2)

    """
    from ir_interp.options.plot_options import PlotOptions
    from ir_interp.views import canvas, figures
    from ir_interp.views.explanation import explanation

    options = settled(PlotOptions, locals())
    place = None if output is None else _picture(arguments.path(output, "output"))
    read = [
        argument
        for argument in (source, x, against)
        if isinstance(argument, str | os.PathLike) and not isinstance(argument, bytes)
    ]
    check_outputs([place] if place else [], map(Path, read))
    op = _one(source, options.layer)
    readings, shape_and_target = readers.readings(op, source), _lengths(options)
    figure: Figure
    if options.what is figures.Picture.IMAGE:
        figure = figures.of_image(op, _other(against, op, readings), options.x, shape_and_target)
    else:
        figure = figures.of_axis(explanation(op, readings, shape_and_target), options.what, options.axis)
    if place is not None:
        with replacing(place) as (temporary,):
            canvas.save(figure, temporary, FileKind.of(place) or FileKind.PICTURE)
    return figure


def _picture(path: Path) -> Path:
    if FileKind.of(path) not in (FileKind.PICTURE, FileKind.DRAWING):
        raise SpecError(f"{path.name!r} is not the name of a picture; expected .png or .svg")
    return path


def _other(
    against: Semantics | Arithmetic | ResizeSpec | Source | None, op: ResizeOp, readings: Readings
) -> tuple[str, ResizeSpec]:
    """Return the configuration to compare a resize with, and its name: by default a runtime that differs."""
    from ir_interp.converters.audit.verdicts import deviations
    from ir_interp.views import figures

    deviating = next(deviations(op), None) if against is None else None
    return deviating or figures.configuration(against, op, readings) or _configuration(against)


def _configuration(source: Source) -> tuple[str, ResizeSpec]:
    """Return the name and the spec of a source that consists of one resize."""
    return readers.name_of(source, "against"), _one(source, None, "against").spec


def _one(source: Source, layer: str | None, name: str = "source") -> ResizeOp:
    """Return the only resize of a source; ``name`` is the argument's."""
    return choose(readers.load(source, name=name), layer, readers.name_of(source))


def _lengths(options: ExplainOptions | PlotOptions) -> Lengths:
    from ir_interp.views.explanation import Lengths

    shape = options.shape.lengths if options.shape is not None else None
    return Lengths(shape=shape, sizes=options.sizes, scales=options.scales)
