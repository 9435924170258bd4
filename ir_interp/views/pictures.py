"""Pictures of weights, kernels and images, readable in grey: by markers, dashes and hatches."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.errors import ShapeError
from ir_interp.files.memory import check_bytes
from ir_interp.plan.axes import kernels
from ir_interp.spec import Continuous, Kernel
from ir_interp.views.canvas import EDGE, figure_of, headline, lengths, marker_size, plain
from ir_interp.views.explanation import AxisTable, Column

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
    values: NDArray[Any]


def weights(axis: AxisTable, title: str) -> Any:
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


def _mark_matrix(plot: Any, axis: AxisTable, column: Column, numbered_to: float | None) -> None:
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


def kernel(axis: AxisTable, shapes: Mapping[str, Kernel], title: str) -> Any:
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


def _curve(shape: Continuous, scale: float) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return a kernel as the taps of an axis of this scale have it, but for what edges do."""
    widening = min(scale, 1.0) if shape.is_antialiased else 1.0
    reach = float(kernels.radius(shape)) / widening
    distance = np.linspace(-reach, reach, 401)
    return distance, np.asarray(kernels.weigh(shape, distance * widening, np)) * widening


def images(first: Resized, second: Resized, title: str) -> Any:
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


def _draw_difference(figure: Any, plot: Any, difference: NDArray[Any]) -> None:
    largest = float(np.nanmax(difference, initial=0.0))
    shown = plot.imshow(difference, cmap="Greys", vmin=0, vmax=largest or 1.0, interpolation="nearest")
    figure.colorbar(shown, ax=plot, fraction=0.05, pad=0.03)
    different = int(np.count_nonzero(difference))
    plot.set_title(f"difference, at most {largest:.3g}\n{different} of {difference.size} pixels", fontsize=9)
    if not different:
        plot.text(0.5, 0.5, "none", ha="center", va="center", transform=plot.transAxes)


def plane(values: NDArray[Any], axes: Sequence[int]) -> NDArray[np.float64]:
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


def rings(shape: Sequence[int]) -> NDArray[np.float32]:
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


def _whole(plot: Any, rows: int, columns: int) -> None:
    """Write numbers beside some of the rows and columns."""
    plot.set_yticks(range(0, rows, math.ceil(rows / 8) or 1))
    plot.set_xticks(range(0, columns, math.ceil(columns / 6) or 1))
