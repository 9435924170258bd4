"""A picture of the source pixels that outputs take."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

from ir_interp.errors import ShapeError
from ir_interp.views.canvas import EDGE, figure_of, headline, lengths, marker_size
from ir_interp.views.explanation import AxisTable, Column

_TITLE = 12  # points
_OUTPUTS = 12  # shown of an axis: more could not be distinguished
_VISIBLE = 1e-3  # outputs that are less apart than this are at the same place
_MOST_LINES = 20000  # between outputs and the pixels that they take


def positions(axis: AxisTable, title: str) -> Any:
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
    plot.set_title(headline(f"{title}, {lengths(axis)}{stretch}", EDGE, _TITLE), fontsize=_TITLE)
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


def _number(plot: Any, pixels: list[int]) -> None:
    """Write numbers below pixels, not more than fit."""
    step = max(1, math.ceil(len(pixels) / 30))
    plot.set_xticks(pixels[::step])
    margin = max(0.8, 0.04 * len(pixels))
    low, high = plot.get_xlim()
    plot.set_xlim(min(low, pixels[0] - margin), max(high, pixels[-1] + margin))
