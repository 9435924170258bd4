"""Letterboxed images: resized to fit, and padded with one colour."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product

import numpy as np

from ir_interp.array_types import Array
from ir_interp.origins.layouts import Layout, Piece, Steps, whole

_ROUNDINGS: dict[str, Callable[[float], int]] = {"": round, ", sizes rounded down": int}
_PLACES: dict[str, Callable[[int], int]] = {
    "centred": lambda rest: rest // 2,
    "centred, the odd pixel before it": lambda rest: rest - rest // 2,
    "in the upper left corner": lambda rest: 0,
    "in the lower right corner": lambda rest: rest,
}
"""Offset of an image, from the number of pixels that remain."""
_BLOCK = 16  # pixels of a JPEG whose colours are stored together


def padded(tolerance: float) -> Iterator[Steps]:
    """Yield the possible positions of an image in a result; colours differ by ``tolerance`` at most."""
    for (place, start), (rounding, length) in product(_PLACES.items(), _ROUNDINGS.items()):
        yield Steps(layout=_fitted(start, length, tolerance), text=f"fitted, {place}, padded{rounding}")
    yield Steps(layout=_detected(tolerance), text="padded")


def content(after: Array, tolerance: float) -> Piece | None:
    """Return the position of an image within one colour, that of a corner; None if no edge has one colour."""
    flat = after.reshape(*after.shape[:2], -1).astype(np.float64)
    for corner in (flat[-1, -1], flat[0, 0]):
        other = (np.abs(flat - corner) > tolerance).any(axis=2)
        if other.any():
            rows, columns = (np.flatnonzero(other.any(axis=axis)) for axis in (1, 0))
            place = slice(int(rows[0]), int(rows[-1]) + 1), slice(int(columns[0]), int(columns[-1]) + 1)
            if place != whole(after):
                return place
    return None


def _fitted(
    start: Callable[[int], int], rounded: Callable[[float], int], tolerance: float
) -> Callable[[Array, Array], Layout | None]:
    def layout(before: Array, after: Array) -> Layout | None:
        scale = min(size / length for size, length in zip(after.shape[:2], before.shape[:2], strict=True))
        height, width = (max(1, rounded(length * scale)) for length in before.shape[:2])
        top, left = (start(size - length) for size, length in zip(after.shape[:2], (height, width), strict=True))
        return _placed(before, after, (slice(top, top + height), slice(left, left + width)), tolerance)

    return layout


def _detected(tolerance: float) -> Callable[[Array, Array], Layout | None]:
    """Return the layout of an image that begins where another colour than that of a corner begins."""

    def layout(before: Array, after: Array) -> Layout | None:
        place = content(after, tolerance)
        return None if place is None else _placed(before, after, place, tolerance)

    return layout


def _placed(before: Array, after: Array, place: Piece, tolerance: float) -> Layout | None:
    """Return the layout of an image at a position; None if the rest has several colours, or there is none."""
    if place == whole(after) or not _rest(after, place, tolerance):
        return None
    height, width = (part.stop - part.start for part in place)
    return Layout(x=before, sizes=(height, width), place=place)


def _rest(after: Array, place: Piece, tolerance: float) -> bool:
    """Return whether everything around a position has one colour, except in JPEG blocks on its border."""
    margin = _BLOCK if tolerance else 0
    rows, columns = (slice(max(part.start - margin, 0), part.stop + margin) for part in place)
    outside = np.ones(after.shape[:2], bool)
    outside[rows, columns] = False
    flat = after.reshape(*after.shape[:2], -1).astype(np.float64)[outside]
    return not flat.size or bool((np.ptp(flat, axis=0) <= 2 * tolerance).all())
