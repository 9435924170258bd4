"""Images of which the middle was taken, before they were resized or after; the size is found by trying them all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from ir_interp.origins.layouts import Array, Layout, Steps, whole
from ir_interp.origins.registration import likeliest

_LARGEST = 2.0  # how much longer than the result an image is at most of which the middle is taken
_SMALLEST = 0.4  # of an image that its middle is at least
_BEST = 2  # of the layouts, by each way to compare them; and then of their roundings
_OFFSETS: dict[str, Callable[[int], int]] = {
    "": lambda rest: round(rest / 2),  # torchvision, timm: half to even
    ", offset rounded down": lambda rest: rest // 2,
    ", offset rounded up": lambda rest: (rest + 1) // 2,
}
Lengths = Callable[[tuple[int, ...], int], tuple[int, int]]
"""Returns a height and a width of the aspect of some shape, by the length of a side."""


def cropped(before: Array, after: Array) -> list[Steps]:
    """Return the likeliest ways in which a result is the middle of an image, after its resize or before it."""
    every = (_resized_then_cropped(before, after), _cropped_then_resized(before, after))
    return [steps for kind in every for steps in _nearest(kind, before, after)]


Rounded = Sequence[Steps]
"""The same crop, its offset rounded in each way; the first stands for all of them."""


def _nearest(every: Iterable[Rounded], before: Array, after: Array) -> list[Steps]:
    """Return the crops that are nearest to the result, of each size the first rounding, and then of all roundings."""
    by_first = {those[0]: those for those in every}
    sizes = _chosen(by_first, before, after)
    return _chosen([steps for first in sizes for steps in by_first[first]], before, after)


def _chosen(every: Iterable[Steps], before: Array, after: Array) -> list[Steps]:
    """Return the steps whose layouts are nearest to the result, those alike once."""
    laid_out = [(layout, steps) for steps in every if (layout := steps.layout(before, after)) is not None]
    different = {layout.key: (layout, steps) for layout, steps in reversed(laid_out)}
    chosen = likeliest([layout for layout, _ in different.values()], before, after, _BEST)
    return [steps for layout, steps in different.values() if layout in chosen]


def _rounded(lay_out: Callable[..., Layout | None], size: Any, side: int, text: str) -> Rounded:
    return [
        Steps(layout=partial(lay_out, size, side, offset), text=f"{text.format(side)}{rounding}")
        for rounding, offset in _OFFSETS.items()
    ]


def _shorter_cut(shape: tuple[int, ...], side: int) -> tuple[int, int]:
    height, width = shape[:2]
    return (side, int(side * width / height)) if height <= width else (int(side * height / width), side)


def _shorter_rounded(shape: tuple[int, ...], side: int) -> tuple[int, int]:
    height, width = shape[:2]
    return (side, round(side * width / height)) if height <= width else (round(side * height / width), side)


def _square(shape: tuple[int, ...], side: int) -> tuple[int, int]:
    return side, side


_SIZES: dict[str, Lengths] = {
    "shorter side resized to {}": _shorter_cut,
    "shorter side resized to {}, the longer rounded": _shorter_rounded,
    "resized to {0}x{0}": _square,
}


def _resized_then_cropped(before: Array, after: Array) -> Iterator[Rounded]:
    for kind, lengths in _SIZES.items():
        for side in range(min(after.shape[:2]), int(max(after.shape[:2]) * _LARGEST) + 1):
            yield _rounded(_crop_of_result, lengths, side, f"{kind}, centre crop")


def _crop_of_result(
    lengths: Lengths, side: int, offset: Callable[[int], int], before: Array, after: Array
) -> Layout | None:
    """Return the layout of the middle of a resized image; None where it is smaller than the result, or as large."""
    sizes = lengths(before.shape, side)
    rest = [size - length for size, length in zip(sizes, after.shape[:2], strict=True)]
    if min(rest) < 0 or not any(rest):
        return None
    top, left = map(offset, rest)
    return Layout(x=before, sizes=sizes, window=(top, left), place=whole(after))


_BOXES: dict[str, Callable[[Array, Array, int], tuple[int, int]]] = {
    "a square of {}": lambda before, after, side: (side, side),
    "its aspect kept, of shorter side {}": lambda before, after, side: _shorter_cut(before.shape, side),
    "the aspect of the result, of shorter side {}": lambda before, after, side: _shorter_rounded(after.shape, side),
}


def _cropped_then_resized(before: Array, after: Array) -> Iterator[Rounded]:
    shortest = min(before.shape[:2])
    for kind, box in _BOXES.items():
        for side in range(max(1, int(shortest * _SMALLEST)), shortest + 1):
            yield _rounded(_crop_of_image, box, side, f"centre crop, {kind}")


def _crop_of_image(
    box: Callable[[Array, Array, int], tuple[int, int]],
    side: int,
    offset: Callable[[int], int],
    before: Array,
    after: Array,
) -> Layout | None:
    """Return the layout of the resized middle of an image; None where that is larger than the image, or all of it."""
    height, width = box(before, after, side)
    rest = before.shape[0] - height, before.shape[1] - width
    if min(rest) < 0 or not any(rest):
        return None
    top, left = map(offset, rest)
    middle = before[top : top + height, left : left + width]
    return Layout(x=middle, origin=(top, left), sizes=(after.shape[0], after.shape[1]), place=whole(after))
