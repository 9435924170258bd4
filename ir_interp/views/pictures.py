"""Pictures of a resize, through Matplotlib where it is installed: readable in grey, by markers, dashes and hatches."""

from __future__ import annotations

import io
import itertools
import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.errors import IrInterpError, ShapeError
from ir_interp.kinds import FileKind
from ir_interp.memory import check_bytes
from ir_interp.plan import kernels
from ir_interp.spec import Continuous, Kernel
from ir_interp.views.explain import AxisTable, Column

NEEDED = "pictures need Matplotlib: pip install 'ir-interp[plot]'"
"""What to tell where it is not installed."""

_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "h")
_DASHES = ("-", "--", ":", "-.")
_OUTPUTS = 12  # shown of an axis: more would not be told apart
_VISIBLE = 1e-3  # outputs that are less apart than this are at the same place
_NUMBERED = 12  # weights are written into a matrix of at most so many rows and columns
_MARKED = 64  # negative weights are marked in one of at most so many
_DPI = 150
_MOST_LINES = 20000  # between outputs and the pixels that they take
_BYTES_A_CELL = 32  # of a matrix that is drawn
_BRIGHTEST = 255  # of a colour
_TITLE = 34  # characters of a line above one of three panes
_EDGE = 9.0  # the longest edge of a picture, in inches
_HIGHEST = 6.0  # of a matrix of weights, whose rows are many where an axis grows


@dataclass(frozen=True, slots=True, kw_only=True)
class Resized:
    """An image under one configuration: a plane of values, or of three colours in their last axis, and its name."""

    name: str
    values: NDArray[Any]


def positions(axis: AxisTable, title: str) -> Any:
    """Return a figure of the source pixels that each output takes, one row for each way that differs."""
    first, last = _window(axis)
    _check_lines(axis, first, last)
    figure = _figure(_EDGE, 2.0 + 1.2 * len(axis.columns))
    (plot,) = figure.subplots(1, 1, squeeze=False).ravel()
    pixels = _pixels(axis, first, last)
    outputs = [range(first, min(last, len(column.cells))) for column in axis.columns]
    size = _marker_size(axis, outputs, len(pixels))
    for place, (column, shown) in enumerate(zip(axis.columns, outputs, strict=True)):
        plot.plot(pixels, [-place + 0.62] * len(pixels), "s", mfc="white", mec="black", ms=_size(len(pixels)))
        _draw_row(plot, axis, column, -place, shown, size)
    _number(plot, pixels)
    plot.set_yticks([-place + 0.3 for place in range(len(axis.columns))])
    plot.set_yticklabels([_in_words(axis, column) for column in axis.columns])
    plot.set_ylim(-len(axis.columns) + 0.55, 1.0)
    plot.set_xlabel("source pixel")
    stretch = "" if (first, last) == (0, max(axis.out_sizes)) else f", outputs {first} to {last - 1}"
    plot.set_title(f"{_plain(title)}, {_lengths(axis)}{stretch}")
    figure.legend(handles=_positions_legend(axis, range(first, last)), loc="outside lower center", ncols=3, fontsize=8)
    return figure


def _check_lines(axis: AxisTable, first: int, last: int) -> None:
    """Raise ShapeError where a stretch of outputs takes more source pixels than can be told apart, or drawn."""
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
    """Return a stretch of outputs to show: all, or some around the first that differs."""
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


def _marker_size(axis: AxisTable, outputs: Sequence[range], pixels: int) -> float:
    """Return the size of the markers of outputs, in points, at which none covers its neighbour."""
    rows = [
        [column.cells[index].source for index in shown] for column, shown in zip(axis.columns, outputs, strict=True)
    ]
    gaps = [abs(after - before) for row in rows for before, after in itertools.pairwise(row)]
    span = max([pixels, *(max(row) - min(row) for row in rows if row)])
    apart = [gap for gap in gaps if gap > _VISIBLE]
    return max(3.0, min(13.0, 0.85 * 72 * (_EDGE - 2) * min(apart, default=1.0) / (span + 1)))


def _draw_row(plot: Any, axis: AxisTable, column: Column, base: int, outputs: range, size: float) -> None:
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
            style = {"color": "white" if differs else "black", "fontsize": size * 0.55}
            plot.text(cell.source, base, str(index), ha="center", va="center_baseline", zorder=4, **style)
        elif index in (outputs.start, outputs.stop - 1):
            plot.annotate(str(index), (cell.source, base), (0, -9), textcoords="offset points", ha="center", fontsize=7)


def weights(axis: AxisTable, title: str) -> Any:
    """Return a figure of the matrix of weights, outputs down and source pixels across, for each way that differs."""
    rows, columns = max(axis.out_sizes), axis.in_size
    many = len(axis.columns)
    edge = min(_EDGE / many, 4.5)
    figure = _figure(edge * many + 1.0, max(2.4, min(_HIGHEST, edge * rows / max(columns, 1))) + 0.9)
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
    figure.suptitle(f"{_plain(title)}, {_lengths(axis)} (- negative, > row differs, / extrapolated)", fontsize=10)
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
    for index in (each for each in axis.differing if each < len(column.cells)):
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
        plot.plot(pixels, rows, linestyle="none", marker="_", color="black", ms=_size(max(matrix.shape), 6))


def kernel(axis: AxisTable, shapes: Mapping[str, Kernel], title: str) -> Any:
    """Return a figure of weight by distance: the kernels as lines, and what outputs really take as markers."""
    figure = _figure(7.0, 5.0)
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
    plot.set_title(f"{_plain(title)}, {_lengths(axis)}", fontsize=10)
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
    width = _EDGE / 3
    figure = _figure(_EDGE + 1.2, max(1.6, min(2 * width, width * rows / max(columns, 1))) + 0.9)
    plots = figure.subplots(1, 3, squeeze=False).ravel()
    finite = [each.values[np.isfinite(each.values)] for each in panes]
    low, high = (float(f([f(v) for v in finite if v.size] or [0.0])) for f in (min, max))
    for plot, pane in zip(plots, panes, strict=False):
        if pane.values.ndim == 3:
            plot.imshow(np.clip(pane.values / _BRIGHTEST, 0, 1), interpolation="nearest")
        else:
            plot.imshow(pane.values, cmap="gray", vmin=low, vmax=high, interpolation="nearest")
        _whole(plot, *pane.values.shape[:2])
        size = "x".join(map(str, pane.values.shape[:2]))
        plot.set_title(f"{_plain(textwrap.fill(pane.name, _TITLE))}\n{size}", fontsize=9)
    if fits:
        apart = np.abs(first.values - second.values)
        _draw_difference(figure, plots[2], apart.max(axis=2) if apart.ndim == 3 else apart)
        _whole(plots[2], rows, columns)
    else:
        plots[2].text(0.5, 0.5, "other shapes", ha="center", va="center", transform=plots[2].transAxes)
        plots[2].set_axis_off()
    figure.suptitle(_plain(title), fontsize=10)
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
    colours = [axis for axis, length in enumerate(values.shape) if axis not in chosen and length == 3]
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


def save(figure: Any, path: Path, kind: FileKind) -> None:
    """Write a figure as PNG or SVG."""
    if kind is FileKind.DRAWING:
        path.write_bytes(svg(figure))
    else:
        figure.savefig(path, format="png", dpi=_DPI)


def svg(figure: Any) -> bytes:
    """Return a figure as SVG, the same whenever it is drawn."""
    from matplotlib import rc_context

    held = io.BytesIO()
    with rc_context({"svg.hashsalt": "ir-interp"}):
        figure.savefig(held, format="svg", metadata={"Date": None})
    return held.getvalue()


def are_possible() -> bool:
    """Say whether Matplotlib is installed."""
    return find_spec("matplotlib") is not None


def _figure(width: float, height: float) -> Any:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise IrInterpError(NEEDED) from None

    class Shown(Figure):
        """A figure that notebooks show, whatever shows those of pyplot."""

        def _repr_svg_(self) -> str:
            return svg(self).decode("utf-8")

    return Shown(figsize=(width, height), layout="constrained")


def _plain(name: str) -> str:
    """Return a name as Matplotlib shows it, which takes what stands between dollars for a formula."""
    return name.replace("$", r"\$")


def _lengths(axis: AxisTable) -> str:
    return f"axis {axis.axis}: {axis.in_size} -> {' or '.join(dict.fromkeys(map(str, axis.out_sizes)))}"


def _size(count: int, largest: float = 10.0) -> float:
    """Return the size of a marker of which ``count`` stand side by side."""
    return max(2.0, min(largest, 0.55 * 72 * _EDGE / max(count, 1)))


def _number(plot: Any, pixels: list[int]) -> None:
    """Write numbers below pixels, not more than fit."""
    step = max(1, math.ceil(len(pixels) / 30))
    plot.set_xticks(pixels[::step])
    margin = max(0.8, 0.04 * len(pixels))
    low, high = plot.get_xlim()
    plot.set_xlim(min(low, pixels[0] - margin), max(high, pixels[-1] + margin))


def _whole(plot: Any, rows: int, columns: int) -> None:
    """Write numbers beside some of the rows and columns."""
    plot.set_yticks(range(0, rows, math.ceil(rows / 8) or 1))
    plot.set_xticks(range(0, columns, math.ceil(columns / 6) or 1))
