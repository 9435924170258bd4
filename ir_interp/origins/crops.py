"""Centre crops before or after the resize; the size is found by trying every one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from ir_interp.array_types import Array
from ir_interp.origins.layouts import Box, Layout, Steps, whole
from ir_interp.origins.registration import likeliest

_LARGEST = 2.0  # largest ratio of an image to a result that is a centre crop of it
_SMALLEST = 0.4  # smallest centre crop, as a share of the image
_BEST = 2  # layouts by each way to compare them, then roundings of these
_OFFSETS: dict[str, Callable[[int], int]] = {
    "": lambda rest: round(rest / 2),  # torchvision, timm: half to even
    ", offset rounded down": lambda rest: rest // 2,
    ", offset rounded up": lambda rest: (rest + 1) // 2,
}
Lengths = Callable[[tuple[int, ...], int], tuple[int, int]]
"""Returns a height and a width with the aspect ratio of a shape, for the length of one side."""


def fitted(before: Array, after: Array) -> list[Steps]:
    """Return the crop of ``ImageOps.fit``: the largest box of the result's aspect ratio in the middle, not in pixels.

    The resize reads the pixels around it, too, so that its borders are not those of a crop; but nearest neighbours are
    those of a crop as well, by any library, so the crop of the nearest pixels follows.
    """
    box = _fitted_box(before, after)
    if box is None:
        return []
    side = max(1, round(min(stop - start for start, stop in box)))
    kind = "a square of {}" if after.shape[0] == after.shape[1] else "aspect ratio of the result, shorter side {}"
    crops = _rounded(_crop_of_image, _BOXES[kind], side, f"centre crop, {kind}")
    return [Steps(layout=_fit, text="ImageOps.fit"), *crops]


def _fit(before: Array, after: Array) -> Layout | None:
    """Return the layout of a box that is smaller than the image."""
    box = _fitted_box(before, after)
    sizes = after.shape[0], after.shape[1]
    return None if box is None else Layout(x=before, sizes=sizes, place=whole(after), box=box)


def _fitted_box(before: Array, after: Array) -> Box | None:
    """Return the box of ``ImageOps.fit``, its edges computed as Pillow does; None if it is the whole image."""
    (height, width), (rows, columns) = before.shape[:2], after.shape[:2]
    ratio, target = width / height, columns / rows
    if ratio == target:
        return None
    crop_width, crop_height = (target * height, height) if ratio >= target else (width, width / target)
    left, top = (width - crop_width) * 0.5, (height - crop_height) * 0.5
    return (top, top + crop_height), (left, left + crop_width)


def cropped(before: Array, after: Array) -> list[Steps]:
    """Return the likeliest ways in which a result is a centre crop of an image, taken after its resize or before it."""
    every = (_resized_then_cropped(before, after), _cropped_then_resized(before, after))
    return [steps for kind in every for steps in _nearest(kind, before, after)]


Rounded = Sequence[Steps]
"""The same crop with its offset rounded in each way; the first represents all of them."""


def _nearest(every: Iterable[Rounded], before: Array, after: Array) -> list[Steps]:
    """Return the crops nearest to the result: of each size the first rounding, then of the best sizes all roundings."""
    by_first = {those[0]: those for those in every}
    sizes = _chosen(by_first, before, after)
    return _chosen([steps for first in sizes for steps in by_first[first]], before, after)


def _chosen(every: Iterable[Steps], before: Array, after: Array) -> list[Steps]:
    """Return the steps whose layouts are nearest to the result, without duplicates."""
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
    """Return the layout of the centre of a resized image; None unless that is larger than the result."""
    sizes = lengths(before.shape, side)
    rest = [size - length for size, length in zip(sizes, after.shape[:2], strict=True)]
    if min(rest) < 0 or not any(rest):
        return None
    top, left = map(offset, rest)
    return Layout(x=before, sizes=sizes, window=(top, left), place=whole(after))


_BOXES: dict[str, Callable[[Array, Array, int], tuple[int, int]]] = {
    "a square of {}": lambda before, after, side: (side, side),
    "aspect ratio kept, shorter side {}": lambda before, after, side: _shorter_cut(before.shape, side),
    "aspect ratio of the result, shorter side {}": lambda before, after, side: _shorter_rounded(after.shape, side),
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
    """Return the layout of the resized centre of an image; None unless it is smaller than the image."""
    height, width = box(before, after, side)
    rest = before.shape[0] - height, before.shape[1] - width
    if min(rest) < 0 or not any(rest):
        return None
    top, left = map(offset, rest)
    middle = before[top : top + height, left : left + width]
    return Layout(x=middle, origin=(top, left), sizes=(after.shape[0], after.shape[1]), place=whole(after))
