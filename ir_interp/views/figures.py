"""Pictures of a resize, by Matplotlib where it is installed: of one of its axes, or of an image.

First what all figures have in common, then pictures of weights, kernels and images, readable in grey by markers, dashes
and hatches, then that of the source pixels that outputs take, then the choice: ``of_axis`` and ``of_image``.
"""

from __future__ import annotations

import io
import itertools
import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, assert_never

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ir_interp.errors import IrInterpError, ReadError, ShapeError, closest
from ir_interp.executor.resize import as_array, bind, resize
from ir_interp.files.kinds import WITH_RESIZES, FileKind
from ir_interp.files.memory import check_bytes
from ir_interp.libraries import is_call, load
from ir_interp.plain_text import printable
from ir_interp.plan import formulas
from ir_interp.plan.taps import plan
from ir_interp.resize_op import ResizeOp
from ir_interp.shapes import ARRAYS, Array, PartialShape, resolve_axes
from ir_interp.specs import Arithmetic, AtRunTime, Continuous, Kernel, ResizeSpec, Scales, Sizes
from ir_interp.translation.dialect import Semantics
from ir_interp.translation.meaning import differences, listed_axes
from ir_interp.views import image_arrays
from ir_interp.views.explanation import AxisTable, Column, Explanation, Lengths, Readings

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NEEDED = "pictures need Matplotlib: pip install 'ir-interp[plot]'"
"""The advice if Matplotlib is not installed."""

EDGE = 9.0
"""The longest edge of a picture, in inches."""

_DPI = 150  # pixels an inch of a PNG
_POINTS = 72  # of an inch
_LETTER = 0.6  # the width of most letters, by the size of the font


def save(figure: Figure, path: Path, kind: FileKind) -> None:
    """Write a figure as PNG or SVG."""
    if kind is FileKind.DRAWING:
        path.write_bytes(svg(figure))
    else:
        figure.savefig(path, format="png", dpi=_DPI)


def svg(figure: Figure) -> bytes:
    """Return a figure as SVG, the same whenever it is drawn."""
    from matplotlib import rc_context

    buffer = io.BytesIO()
    with rc_context({"svg.hashsalt": "ir-interp"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    return buffer.getvalue()


def are_possible() -> bool:
    """Say whether Matplotlib is installed."""
    return find_spec("matplotlib") is not None


def figure_of(width: float, height: float) -> Figure:
    """Return an empty figure of these inches. Raises IrInterpError where Matplotlib is not installed."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise IrInterpError(NEEDED) from None

    class Shown(Figure):
        """A figure that notebooks show, whatever shows those of pyplot."""

        def _repr_svg_(self) -> str:
            return svg(self).decode("utf-8")

    return Shown(figsize=(width, height), layout="constrained")


def plain(name: str) -> str:
    """Return a name as Matplotlib shows it, which takes what stands between dollars for a formula."""
    return name.replace("$", r"\$")


def headline(text: str, width: float, size: float = 10.0) -> str:
    """Return a title on as many lines as it needs above a figure of a ``width`` in inches, for a ``size`` in points."""
    return plain(textwrap.fill(text, max(1, int(width * _POINTS / (_LETTER * size)))))


def lengths(axis: AxisTable) -> str:
    """Return the lengths of an axis, before and after, in words."""
    return f"axis {axis.axis}: {axis.in_size} -> {' or '.join(dict.fromkeys(map(str, axis.out_sizes)))}"


def marker_size(count: int, largest: float = 10.0) -> float:
    """Return the size of a marker of which ``count`` stand side by side."""
    return max(2.0, min(largest, 0.55 * _POINTS * EDGE / max(count, 1)))


_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "h")
_DASHES = ("-", "--", ":", "-.")
_NUMBERED = 12  # weights are written into a matrix of at most so many rows and columns
_MARKED = 64  # negative weights are marked in one of at most so many
_BYTES_A_CELL = 32  # of a matrix that is drawn
_BRIGHTEST = 255  # of a colour
_TITLE = 34  # characters of a line above one of three panes
_KERNEL = 7.0  # the width of a picture of kernels, in inches
_HIGHEST = 6.0  # of a matrix of weights, whose rows are many where an axis grows


@dataclass(frozen=True, slots=True, kw_only=True)
class Resized:
    """An image under one configuration: a plane of values, or of three colours in their last axis, and its name."""

    name: str
    values: Array


def draw_weights(axis: AxisTable, title: str) -> Figure:
    """Return a figure of the matrix of weights, outputs down and source pixels across, for each way that differs."""
    rows, columns = max(axis.out_sizes), axis.in_size
    many = len(axis.columns)
    edge = min(EDGE / many, 4.5)
    width = edge * many + 1.0
    figure = figure_of(width, max(2.4, min(_HIGHEST, edge * rows / max(columns, 1))) + 0.9)
    plots = figure.subplots(1, many, squeeze=False, sharey=True).ravel()
    largest = max((abs(w) for column in axis.columns for cell in column.cells for w in (cell.weights or {}).values()),
                  default=1.0)  # fmt: skip
    for plot, column in zip(plots, axis.columns, strict=True):
        shown = plot.imshow(
            np.abs(_matrix(column, columns)), cmap="Greys", vmin=0, vmax=largest, aspect="auto", origin="upper"
        )
        _mark_matrix(plot, axis, column, largest if max(rows, columns) <= _NUMBERED else None)
        plot.set_title("\n".join(axis.names(column)), fontsize=9)
        plot.set_xlabel("source pixel")
        _whole(plot, rows, columns)
    plots[0].set_ylabel("output")
    figure.colorbar(shown, ax=list(plots), label="size of weight")
    signs = "- negative, > row differs, / extrapolated"
    figure.suptitle(f"{headline(f'{title}, {lengths(axis)}', width)}\n{signs}", fontsize=10)
    return figure


def _matrix(column: Column, pixels: int) -> NDArray[np.float64]:
    check_bytes(_BYTES_A_CELL * len(column.cells) * pixels, f"a picture of {len(column.cells)} x {pixels} weights")
    matrix = np.zeros((len(column.cells), pixels))
    for index, cell in enumerate(column.cells):
        for pixel, weight in (cell.weights or {}).items():
            matrix[index, pixel] = weight
    return matrix


def _mark_matrix(plot: Axes, axis: AxisTable, column: Column, numbered_to: float | None) -> None:
    """Mark rows that differ or are extrapolated; number the weights, or at least mark the negative ones."""
    from matplotlib.patches import Rectangle

    matrix = _matrix(column, axis.in_size)
    for index in (index for index in axis.differing if index < len(column.cells)):
        plot.plot(-0.5, index, ">", color="black", ms=5, clip_on=False, zorder=3)
    for index, cell in enumerate(column.cells):
        if cell.weights is None:
            plot.add_patch(Rectangle((-0.5, index - 0.5), axis.in_size, 1, fill=False, hatch="//", lw=0))
    if numbered_to is not None:
        for (index, pixel), weight in np.ndenumerate(matrix):
            if weight:
                ink = "white" if abs(weight) > numbered_to / 2 else "black"
                plot.text(pixel, index, f"{weight:.2g}", ha="center", va="center", color=ink, fontsize=7)
    elif max(matrix.shape) <= _MARKED:
        rows, pixels = np.nonzero(matrix < 0)
        plot.plot(pixels, rows, linestyle="none", marker="_", color="black", ms=marker_size(max(matrix.shape), 6))


def draw_kernel(axis: AxisTable, shapes: Mapping[str, Kernel], title: str) -> Figure:
    """Return a figure of weight by distance: the kernels as lines, and what outputs really take as markers."""
    figure = figure_of(_KERNEL, 5.0)
    (plot,) = figure.subplots(1, 1, squeeze=False).ravel()
    for place, (name, shape) in enumerate(shapes.items()):
        if isinstance(shape, Continuous):
            distance, weight = _curve(shape, axis.columns[0].scale)
            plot.plot(distance, weight, _DASHES[place % len(_DASHES)], color=str(0.3 * (place % 3)), label=name)
    for place, column in enumerate(axis.columns):
        taps = [
            (pixel - cell.source, weight) for cell in column.cells for pixel, weight in (cell.weights or {}).items()
        ]
        marker = _MARKERS[place % len(_MARKERS)]
        if taps:
            style = {"linestyle": "none", "mfc": "none", "mec": str(0.25 * (place % 3)), "ms": 5 + 2 * place}
            label = f"taps, {', '.join(axis.names(column))}"
            plot.plot(*zip(*taps, strict=True), marker=marker, label=label, **style)
    plot.axhline(0, color="0.7", lw=0.8, zorder=0)
    plot.set_xlabel("source pixel - source coordinate")
    plot.set_ylabel("weight")
    figure.legend(fontsize=8, loc="outside lower center")
    plot.set_title(headline(f"{title}, {lengths(axis)}", _KERNEL), fontsize=10)
    return figure


def _curve(shape: Continuous, scale: float) -> tuple[Array, Array]:
    """Return a kernel as the taps of an axis of this scale have it, but for what edges do."""
    widening = min(scale, 1.0) if shape.is_antialiased else 1.0
    reach = float(formulas.radius(shape)) / widening
    distance = np.linspace(-reach, reach, 401)
    return distance, np.asarray(formulas.weigh(shape, distance * widening, ARRAYS)) * widening


def draw_images(first: Resized, second: Resized, title: str) -> Figure:
    """Return a figure of an image under two configurations, and how far they differ where."""
    panes = [first, second]
    fits = first.values.shape == second.values.shape
    rows, columns = first.values.shape[:2]
    width = EDGE / 3
    figure = figure_of(EDGE + 1.2, max(1.6, min(2 * width, width * rows / max(columns, 1))) + 0.9)
    plots = figure.subplots(1, 3, squeeze=False).ravel()
    finite = [pane.values[np.isfinite(pane.values)] for pane in panes]
    low, high = (float(f([f(v) for v in finite if v.size] or [0.0])) for f in (min, max))
    for plot, pane in zip(plots, panes, strict=False):
        if pane.values.ndim == 3:
            plot.imshow(np.clip(pane.values / _BRIGHTEST, 0, 1), interpolation="nearest")
        else:
            plot.imshow(pane.values, cmap="gray", vmin=low, vmax=high, interpolation="nearest")
        _whole(plot, *pane.values.shape[:2])
        size = "x".join(map(str, pane.values.shape[:2]))
        plot.set_title(f"{plain(textwrap.fill(pane.name, _TITLE))}\n{size}", fontsize=9)
    if fits:
        apart = np.abs(first.values - second.values)
        _draw_difference(figure, plots[2], apart.max(axis=2) if apart.ndim == 3 else apart)
        _whole(plots[2], rows, columns)
    else:
        plots[2].text(0.5, 0.5, "other shapes", ha="center", va="center", transform=plots[2].transAxes)
        plots[2].set_axis_off()
    figure.suptitle(headline(title, EDGE), fontsize=10)
    return figure


def _draw_difference(figure: Figure, plot: Axes, difference: Array) -> None:
    largest = float(np.nanmax(difference, initial=0.0))
    shown = plot.imshow(difference, cmap="Greys", vmin=0, vmax=largest or 1.0, interpolation="nearest")
    figure.colorbar(shown, ax=plot, fraction=0.05, pad=0.03)
    different = int(np.count_nonzero(difference))
    plot.set_title(f"difference, at most {largest:.3g}\n{different} of {difference.size} pixels", fontsize=9)
    if not different:
        plot.text(0.5, 0.5, "none", ha="center", va="center", transform=plot.transAxes)


def draw_plane(values: Array, axes: Sequence[int]) -> NDArray[np.float64]:
    """Return the first plane of an array along two axes: the last ones of ``axes``, or the last of all.

    Of pixels, uint8 with one more axis of length 3, it is all three colours, in the last axis. Raises ShapeError where
    there are no two axes, or nothing along one.
    """
    if values.ndim < 2:
        raise ShapeError(f"a picture needs two axes, not shape {list(values.shape)}")
    if not values.size:
        raise ShapeError(f"there is no picture of an array of shape {list(values.shape)}")
    chosen = sorted(axes)[-2:]
    others = [axis for axis in reversed(range(values.ndim)) if axis not in chosen]
    chosen = sorted([*chosen, *others[: 2 - len(chosen)]])
    colours = [axis for axis, size in enumerate(values.shape) if axis not in chosen and size == 3]
    if values.dtype == np.uint8 and len(colours) == 1:
        values, chosen = np.moveaxis(values, colours[0], -1), [axis - (axis > colours[0]) for axis in chosen]
        chosen.append(values.ndim - 1)
    place = tuple(slice(None) if axis in chosen else 0 for axis in range(values.ndim))
    return np.asarray(values[place], dtype=np.float64)


def draw_rings(shape: Sequence[int]) -> NDArray[np.float32]:
    """Return rings that grow finer outwards, and a bright frame in them: what betrays a shift, or a missing filter.

    Raises ShapeError where there are no two axes to lay them in.
    """
    if len(shape) < 2:
        raise ShapeError(f"a picture needs two axes, not shape {list(shape)}")
    check_bytes(_BYTES_A_CELL * math.prod(shape), f"a picture of shape {list(shape)}")
    at = [np.linspace(-1, 1, n) if n > 1 else np.zeros(1) for n in shape[-2:]]
    rows, columns = np.meshgrid(*at, indexing="ij")
    waves = 0.5 + 0.5 * np.cos(0.35 * math.pi * max(shape[-2:]) * (rows**2 + columns**2) / 2)
    frame = np.maximum(np.abs(rows), np.abs(columns))
    return np.broadcast_to(np.where((frame > 0.45) & (frame < 0.55), 1.0, waves), shape).astype(np.float32)


def _whole(plot: Axes, rows: int, columns: int) -> None:
    """Write numbers beside some of the rows and columns."""
    plot.set_yticks(range(0, rows, math.ceil(rows / 8) or 1))
    plot.set_xticks(range(0, columns, math.ceil(columns / 6) or 1))


_POINTS_OF_TITLE = 12  # points
_OUTPUTS = 12  # shown of an axis: more could not be distinguished
_VISIBLE = 1e-3  # outputs that are less apart than this are at the same place
_MOST_LINES = 20000  # between outputs and the pixels that they take


def draw_positions(axis: AxisTable, title: str) -> Figure:
    """Return a figure of the source pixels that each output takes, one row for each way that differs."""
    first, last = _window(axis)
    _check_lines(axis, first, last)
    figure = figure_of(EDGE, 2.0 + 1.2 * len(axis.columns))
    (plot,) = figure.subplots(1, 1, squeeze=False).ravel()
    pixels = _pixels(axis, first, last)
    outputs = [range(first, min(last, len(column.cells))) for column in axis.columns]
    size = _largest_marker(axis, outputs, len(pixels))
    for place, (column, shown) in enumerate(zip(axis.columns, outputs, strict=True)):
        plot.plot(pixels, [-place + 0.62] * len(pixels), "s", mfc="white", mec="black", ms=marker_size(len(pixels)))
        _draw_row(plot, axis, column, -place, shown, size)
    _number(plot, pixels)
    plot.set_yticks([-place + 0.3 for place in range(len(axis.columns))])
    plot.set_yticklabels([_in_words(axis, column) for column in axis.columns])
    plot.set_ylim(-len(axis.columns) + 0.55, 1.0)
    plot.set_xlabel("source pixel")
    stretch = "" if (first, last) == (0, max(axis.out_sizes)) else f", outputs {first} to {last - 1}"
    plot.set_title(headline(f"{title}, {lengths(axis)}{stretch}", EDGE, _POINTS_OF_TITLE), fontsize=_POINTS_OF_TITLE)
    figure.legend(handles=_positions_legend(axis, range(first, last)), loc="outside lower center", ncols=3, fontsize=8)
    return figure


def _check_lines(axis: AxisTable, first: int, last: int) -> None:
    """Raise ShapeError if a range of outputs takes more source pixels than can be distinguished, or drawn."""
    cells = [cell for column in axis.columns for cell in column.cells[first:last]]
    lines = sum(len(cell.weights or ()) for cell in cells)
    touched = [pixel for cell in cells for pixel in cell.weights or ()] or [0]
    if max(lines, max(touched) - min(touched)) > _MOST_LINES:
        outputs = f"outputs {first} to {last - 1} of axis {axis.axis}"
        raise ShapeError(f"{outputs} take more than {_MOST_LINES} source pixels: too many to draw")


def _positions_legend(axis: AxisTable, outputs: range) -> list[Any]:
    """Return what the signs of a figure of positions mean, as far as they stand in it."""
    from matplotlib.lines import Line2D

    cells = [cell for column in axis.columns for cell in column.cells[outputs.start : outputs.stop]]
    is_weighed = any(len(cell.weights or ()) > 1 for cell in cells)
    signs: list[tuple[dict[str, Any], str, bool]] = [
        ({"marker": "s", "mfc": "white", "ls": ""}, "source pixel", True),
        ({"marker": "o", "mfc": "white", "ls": ""}, "output, where it samples the source", True),
        ({"marker": "o", "mfc": "black", "ls": ""}, "output on which the rows differ", bool(axis.differing)),
        ({"marker": "X", "mfc": "white", "ls": ""}, "output beyond the source", any(c.weights is None for c in cells)),
        (
            {"color": "0.45", "lw": 2.0},
            "takes the pixel" + ("; the wider, the larger its weight" if is_weighed else ""),
            True,
        ),
        (
            {"color": "0.45", "lw": 2.0, "ls": ":"},
            "takes it by a negative weight",
            any(weight < 0 for cell in cells for weight in (cell.weights or {}).values()),
        ),
    ]
    return [Line2D([], [], **({"mec": "black"} | style), label=label) for style, label, is_there in signs if is_there]


def _in_words(axis: AxisTable, column: Column) -> str:
    """Return the ways of a row as words: its readings and arithmetics."""
    if axis.columns == (column,):
        return "every reading\nand arithmetic" if len({way[0] for way in column.ways}) > 1 else "every\narithmetic"
    return "\n".join(name.replace("/", "\nand ").replace(": ", ":\n") for name in axis.names(column))


def _window(axis: AxisTable) -> tuple[int, int]:
    """Return a range of outputs to show: all, or some around the first that differs."""
    count = max(axis.out_sizes)
    start = max(0, min(axis.differing, default=0) - _OUTPUTS // 3)
    start = max(0, min(start, count - _OUTPUTS))
    return start, min(count, start + _OUTPUTS)


def _pixels(axis: AxisTable, first: int, last: int) -> list[int]:
    """Return the source pixels that the outputs from ``first`` on touch, with all between; all of a short axis."""
    if axis.in_size <= _OUTPUTS:
        return list(range(axis.in_size))
    cells = [cell for column in axis.columns for cell in column.cells[first:last]]
    touched = [pixel for cell in cells for pixel in cell.weights or ()] or [0]
    return list(range(min(touched), max(touched) + 1))


def _largest_marker(axis: AxisTable, outputs: Sequence[range], pixels: int) -> float:
    """Return the size of the markers of outputs, in points, at which none covers its neighbour."""
    rows = [
        [column.cells[index].source for index in shown] for column, shown in zip(axis.columns, outputs, strict=True)
    ]
    gaps = [abs(after - before) for row in rows for before, after in itertools.pairwise(row)]
    span = max([pixels, *(max(row) - min(row) for row in rows if row)])
    apart = [gap for gap in gaps if gap > _VISIBLE]
    return max(3.0, min(13.0, 0.85 * 72 * (EDGE - 2) * min(apart, default=1.0) / (span + 1)))


def _draw_row(plot: Axes, axis: AxisTable, column: Column, base: int, outputs: range, size: float) -> None:
    """Draw outputs below the row of pixels that they take, and lines to these, as wide as the weights are large."""
    for index in outputs:
        cell = column.cells[index]
        for pixel, weight in (cell.weights or {}).items():
            dash = "-" if weight > 0 else ":"
            plot.plot([cell.source, pixel], [base, base + 0.58], dash, color="0.45", lw=0.4 + 2.2 * abs(weight))
        differs = index in axis.differing
        shape, face = "X" if cell.weights is None else "o", "black" if differs else "white"
        plot.plot(cell.source, base, shape, mfc=face, mec="black", ms=size, zorder=3)
        if size > 8:
            text = plot.text(cell.source, base, str(index), ha="center", va="center_baseline", zorder=4)
            text.set(color="white" if differs else "black", fontsize=size * 0.55)
        elif index in (outputs.start, outputs.stop - 1):
            plot.annotate(str(index), (cell.source, base), (0, -9), textcoords="offset points", ha="center", fontsize=7)


def _number(plot: Axes, pixels: list[int]) -> None:
    """Write numbers below pixels, not more than fit."""
    step = max(1, math.ceil(len(pixels) / 30))
    plot.set_xticks(pixels[::step])
    margin = max(0.8, 0.04 * len(pixels))
    low, high = plot.get_xlim()
    plot.set_xlim(min(low, pixels[0] - margin), max(high, pixels[-1] + margin))


_BYTES_AN_ELEMENT = 8  # as float32, and a copy
_TRIAL = 256  # rows and columns, to find out how much a resize shrinks
_SHOWN = 160  # columns of a resized test picture
_NARROWEST, _WIDEST = 96, 1024  # columns of a test picture
_OPEN = 48  # what dynamic dimensions are in a picture of an image


class Picture(Enum):
    """The subject of a picture."""

    POSITIONS = "positions"
    WEIGHTS = "weights"
    KERNEL = "kernel"
    IMAGE = "image"


AxisPicture = Literal[Picture.POSITIONS, Picture.WEIGHTS, Picture.KERNEL]
"""A picture of one axis."""


def of_axis(explained: Explanation, what: AxisPicture, axis: int | None = None) -> Figure:
    """Return a figure of one axis, by default the first that changes. Raises ShapeError where that does not."""
    table = _chosen(explained.axes, axis)
    title = printable(explained.op.name or explained.op.where)
    match what:
        case Picture.POSITIONS:
            return draw_positions(table, title)
        case Picture.WEIGHTS:
            return draw_weights(table, title)
        case Picture.KERNEL:
            kernels = {str(spec.kernel): spec.kernel for spec in explained.readings.values()}
            return draw_kernel(table, kernels, title)
        case _:
            assert_never(what)


def _chosen(axis_tables: Sequence[AxisTable], axis: int | None) -> AxisTable:
    chosen = [table for table in axis_tables if axis in (None, table.axis)]
    if chosen:
        return chosen[0]
    changing = ", ".join(str(table.axis) for table in axis_tables)
    raise ShapeError(f"axis {axis} keeps its size; expected one of {changing}" if axis_tables else "no axis changes")


def of_image(op: ResizeOp, other: tuple[str, ResizeSpec], x: ArrayLike | Path | None, lengths: Lengths) -> Figure:
    """Return a figure of an image, by default of rings, resized by ``op`` and by another spec, which has a name."""
    shape = lengths.shape or tuple(n or _OPEN for n in op.shape or (1, 1, _OPEN, _OPEN))
    image = image_arrays.array_or_image(x, op) if isinstance(x, Path) else x
    values = as_array(draw_rings(shape) if image is None else image)
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
        Resized(name=name, values=draw_plane(resize(values, bound), axes))
        for name, bound in zip(names, specs, strict=True)
    )
    return draw_images(first, second, printable(op.name or op.where))


def _of_pictures(spec: ResizeSpec, declared: PartialShape | None) -> ResizeSpec:
    """Return a resize without the axes before height and width that keep the size that a file declares.

    A picture may have fewer channels than the input that the sizes of all axes were written for.
    """
    if declared is None or None in declared[:-2]:
        return spec
    axes, changing = resolve_axes(spec.axes, len(declared)), listed_axes(spec, declared).axes or ()
    resized = [place for place, axis in enumerate(axes) if axis in changing or axis >= len(declared) - 2]
    return replace(spec, axes=axes).only(resized)


def damage(op: ResizeOp, other: tuple[str, ResizeSpec], pixels: Array | None = None) -> Figure:
    """Return a figure of an image as a resize would have it, and as a runtime has it that computes another.

    ``pixels`` are rows, columns and perhaps colours, uint8; by default a test picture. The image is resized as much as
    the input of ``op`` is, or doubled where that is known at run time only. Raises ShapeError where fewer than two
    axes can be shown.
    """
    if op.shape is None:
        raise ShapeError("the rank of its input is unknown")
    name, spec = other
    axes = _two_axes(op.spec, spec, op.shape)
    values = _scene(op.spec, op.shape, axes) if pixels is None else pixels
    mine, theirs = (_of_plane(reading, op.shape, axes, values.shape) for reading in (op.spec, spec))
    first, second = (
        Resized(name=title, values=resize(values.astype(np.float32), plane).astype(np.float64))
        for title, plane in (("correct", mine), (name, theirs))
    )
    return draw_images(first, second, printable(op.name or op.where))


def _scene(spec: ResizeSpec, shape: PartialShape, axes: tuple[int, int]) -> Array:
    """Return the test picture, so large that its resize is about as wide as a figure shows it."""
    trial = (_TRIAL, _TRIAL)
    ends = plan(_of_plane(spec, shape, axes, trial), trial).out_shape
    columns = min(max(round(_SHOWN * _TRIAL / max(1, *ends)), _NARROWEST), _WIDEST)
    return image_arrays.draw_scene(3 * columns // 4, columns)


def _two_axes(first: ResizeSpec, second: ResizeSpec, shape: PartialShape) -> tuple[int, int]:
    """Return two axes to show: the last that are resized, or beside it the last that is not."""
    resized = {axis for spec in (first, second) for axis in listed_axes(spec, shape).axes or ()}
    ranked = sorted(range(len(shape)), key=lambda axis: (axis in resized, axis))[-2:]
    if len(ranked) < 2:
        raise ShapeError("a picture needs two axes")
    rows, columns = sorted(ranked)
    return rows, columns


def _of_plane(spec: ResizeSpec, shape: PartialShape, axes: tuple[int, int], image_shape: Sequence[int]) -> ResizeSpec:
    """Return the resize of two of the axes of an input, for an image of other sizes."""
    every = listed_axes(spec, shape)
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
        case AtRunTime() | None:
            target = (
                Scales((2.0,) * len(mapped)) if spec.gives_scales else Sizes(tuple(2 * image_shape[a] for a in mapped))
            )
        case _:
            assert_never(chosen.target)
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
