"""Registration: the layouts that place an image best whatever the call, by means over the areas of result pixels."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ir_interp.array_types import Array
from ir_interp.origins.layouts import Layout, Piece

_SIDE = 32  # of the compared piece: a corner, where other sizes move pixels most
Places = Callable[[Array, int, int], Array]
"""Returns the positions of outputs in input pixels, for an axis of one size resized to another."""
_PLACES: dict[str, Places] = {
    "half pixel": lambda i, length, size: (i + 0.5) * length / size,
    "asymmetric": lambda i, length, size: i * length / size + 0.5,
    "corners": lambda i, length, size: i * (length - 1) / max(size - 1, 1) + 0.5,
}
_POINT = 0.01  # a copy, as the mean of a small area
_WAYS = (
    (None, "half pixel"),  # filters as wide as an output
    (1.0, "half pixel"),  # linear interpolation
    (1.0, "corners"),
    (_POINT, "half pixel"),
    (_POINT, "asymmetric"),
)
"""Widths of areas, in pixels of the image, and their positions: most calls resemble one of these."""


def likeliest(layouts: Sequence[Layout], before: Array, after: Array, count: int) -> list[Layout]:
    """Return the layouts nearest to a result, ``count`` by each way to compare them."""
    sums = _integral(before)
    chosen: dict[int, None] = {}
    for width, places in _WAYS:
        ranked = sorted(
            (_distance(sums, layout, after, width, _PLACES[places]), place) for place, layout in enumerate(layouts)
        )
        chosen |= dict.fromkeys(place for _, place in ranked[:count])
    return [layouts[place] for place in chosen]


def corner(target: Array) -> Piece:
    """Return the corner piece of an image with the most contrast."""
    rows, columns = ({(0, min(_SIDE, length)), (max(length - _SIDE, 0), length)} for length in target.shape[:2])
    pieces = [(slice(*down), slice(*across)) for down in sorted(rows) for across in sorted(columns)]
    return max(pieces, key=lambda piece: float(target[piece].std()))


def _distance(sums: Array, layout: Layout, after: Array, width: float | None, places: Places) -> float:
    target = after[layout.place]
    piece = corner(target)
    edges = [_areas(layout, axis, part, width, places) for axis, part in enumerate(piece)]
    means = _means(sums, *edges)
    return float(np.abs(means - target[piece].reshape(means.shape)).mean())


def _areas(layout: Layout, axis: int, part: slice, width: float | None, places: Places) -> tuple[Array, Array]:
    """Return the starts and ends of the areas of some rows or columns of the result, in pixels of the image."""
    length, size = layout.x.shape[axis], layout.sizes[axis]
    half = max(length / size, 1.0) / 2 if width is None else width / 2
    middle = places(np.arange(part.start, part.stop) + layout.window[axis], length, size)
    # An area beyond the edge is moved inside, so that it covers as many pixels as the others.
    middle = np.clip(middle, half, length - half) + layout.origin[axis]
    return middle - half, middle + half


def _integral(x: Array) -> Array:
    """Return the sums of all pixels above and to the left of each, [height + 1, width + 1, channels]."""
    # float64 holds the sum of 2**53 / 255 bytes, more than any image has.
    deep = x.reshape(*x.shape[:2], -1).astype(np.float64)
    return np.pad(deep.cumsum(axis=0).cumsum(axis=1), ((1, 0), (1, 0), (0, 0)))


def _means(sums: Array, rows: tuple[Array, Array], columns: tuple[Array, Array]) -> Array:
    """Return the means of areas whose edges may lie within pixels."""
    first, second = (np.concatenate(edges) for edges in (rows, columns))
    corners = _at(sums, first, second).reshape(2, rows[0].size, 2, columns[0].size, -1)
    totals = corners[1, :, 1] - corners[0, :, 1] - corners[1, :, 0] + corners[0, :, 0]
    size = (rows[1] - rows[0])[:, None] * (columns[1] - columns[0])
    return np.asarray(totals / size[:, :, None])


def _at(sums: Array, rows: Array, columns: Array) -> Array:
    """Return interpolated sums at fractional positions, which are exact since sums grow linearly within a pixel."""
    (top, below, down), (left, right, across) = (
        _around(places, length - 1) for places, length in zip((rows, columns), sums.shape[:2], strict=True)
    )
    upper, lower = (
        sums[row[:, None], left] * (1 - across) + sums[row[:, None], right] * across for row in (top, below)
    )
    return np.asarray(upper * (1 - down[:, None]) + lower * down[:, None])


def _around(places: Array, last: int) -> tuple[Array, Array, Array]:
    """Return the pixel edges before and after positions, and the distances from the first."""
    lower = np.clip(np.floor(places).astype(np.intp), 0, last)
    return lower, np.minimum(lower + 1, last), np.clip(places - lower, 0.0, 1.0)[:, None]
