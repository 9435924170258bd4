"""Images that stand in a result of one colour: resized to fit, and padded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product

import numpy as np

from ir_interp.origins.layouts import Array, Layout, Piece, Steps, whole

_ROUNDINGS: dict[str, Callable[[float], int]] = {"": round, ", lengths cut off": int}
_PLACES: dict[str, Callable[[int], int]] = {
    "centred": lambda rest: rest // 2,
    "centred, the odd pixel before it": lambda rest: rest - rest // 2,
    "in the upper left corner": lambda rest: 0,
    "in the lower right corner": lambda rest: rest,
}
"""Where an image stands, by the pixels that are left."""


def padded(before: Array, after: Array, tolerance: float) -> Iterator[Steps]:
    """Yield the ways in which an image may stand in a result; colours differ by no more than ``tolerance``."""
    if _rest(after, (slice(0, 0), slice(0, 0)), tolerance, edges_only=True):
        for (place, start), (rounding, length) in product(_PLACES.items(), _ROUNDINGS.items()):
            yield Steps(layout=_fitted(start, length, tolerance), text=f"fitted, {place}, padded{rounding}")
        yield Steps(layout=_detected(tolerance), text="padded")


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
    """Return the layout of an image that stands wherever another colour begins than that of the corners."""

    def layout(before: Array, after: Array) -> Layout | None:
        flat = after.reshape(*after.shape[:2], -1).astype(np.float64)
        other = (np.abs(flat - flat[-1, -1]) > tolerance).any(axis=2)
        if not other.any():
            return None
        rows, columns = (np.flatnonzero(other.any(axis=axis)) for axis in (1, 0))
        place = slice(int(rows[0]), int(rows[-1]) + 1), slice(int(columns[0]), int(columns[-1]) + 1)
        return _placed(before, after, place, tolerance)

    return layout


def _placed(before: Array, after: Array, place: Piece, tolerance: float) -> Layout | None:
    """Return the layout of an image at a place; None where the rest has several colours, or there is none."""
    if place == whole(after) or not _rest(after, place, tolerance):
        return None
    height, width = (part.stop - part.start for part in place)
    return Layout(x=before, sizes=(height, width), place=place)


def _rest(after: Array, place: Piece, tolerance: float, *, edges_only: bool = False) -> bool:
    """Say whether all that lies around a place has one colour; of ``edges_only``, one edge of the image."""
    flat = after.reshape(*after.shape[:2], -1).astype(np.float64)
    if edges_only:
        edges = (flat[0], flat[-1], flat[:, 0], flat[:, -1])
        return any(float(np.ptp(edge, axis=0).max()) <= 2 * tolerance for edge in edges)
    outside = np.ones(after.shape[:2], bool)
    outside[place] = False
    return bool((np.ptp(flat[outside], axis=0) <= 2 * tolerance).all())
