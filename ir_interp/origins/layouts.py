"""Layouts of a resized image, and predictions in them: whole, by factors, cropped, padded, turned, or resized twice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ir_interp.array_types import Array
from ir_interp.errors import SpecError
from ir_interp.resize_op import ResizeOp
from ir_interp.spec import ResizeSpec
from ir_interp.views.likeness import resized

Piece = tuple[slice, slice]
"""Rows and columns of an image."""
Box = tuple[tuple[float, float], ...]
"""The start and the end of a part of an image along each axis, within pixels."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Layout:
    """The resize of one image: its input, its size, and the position of the visible part in the result.

    ``x``, which begins at ``origin`` of the image, is resized to ``sizes``, by ``scales`` if these are set. The result
    shows the resized image from ``window`` on at ``place``. ``box`` is the part of ``x`` that is resized, if not all.
    """

    x: Array
    sizes: tuple[int, int]
    place: Piece
    origin: tuple[int, int] = (0, 0)
    window: tuple[int, int] = (0, 0)
    scales: tuple[float, float] | None = None
    box: Box | None = None

    @property
    def key(self) -> tuple[object, ...]:
        """The identity of a layout among those of the same image."""
        place = tuple((part.start, part.stop) for part in self.place)
        return (self.x.shape, self.origin, self.sizes, self.window, self.scales, self.box, place)

    def shown(self, piece: Piece) -> Piece:
        """Return the rows and columns of the resized image that a piece of ``place`` shows."""
        rows, columns = (
            slice(part.start + start, part.stop + start) for part, start in zip(piece, self.window, strict=True)
        )
        return rows, columns


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Preparation:
    """A step before the call: ``text`` describes it, ``of`` performs it.

    ``first`` is the call of an earlier resize, ``likeness`` the correlation of coarse means with those of the result.
    ``draft`` is how many times smaller a JPEG file was decoded, and ``is_boxed`` whether ``Image.thumbnail`` did so:
    its box ends where the image does, within the last pixel.
    """

    of: Callable[[Array], Array]
    text: str = ""
    first: ResizeOp | None = None
    likeness: float = 0.0
    draft: int = 1
    is_boxed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Steps:
    """The steps around one call: ``layout`` returns the layout of an image before and after, None if impossible."""

    layout: Callable[[Array, Array], Layout | None]
    text: str = ""


def whole(after: Array) -> Piece:
    """Return all rows and columns of an image."""
    return slice(0, after.shape[0]), slice(0, after.shape[1])


def _plain(before: Array, after: Array) -> Layout:
    return Layout(x=before, sizes=(after.shape[0], after.shape[1]), place=whole(after))


PLAIN = Steps(layout=_plain)
"""The whole image, resized to the size of the result."""

_TURNS: dict[int, Callable[[Array], Array]] = {
    1: lambda x: x,
    2: lambda x: x[:, ::-1],
    3: lambda x: x[::-1, ::-1],
    4: lambda x: x[::-1],
    5: lambda x: x.swapaxes(0, 1),
    6: lambda x: x[::-1].swapaxes(0, 1),
    7: lambda x: x[::-1, ::-1].swapaxes(0, 1),
    8: lambda x: x[:, ::-1].swapaxes(0, 1),
}
"""The effect of each EXIF orientation on an image: turned, and mirrored."""

GREY = ()
"""In place of an order of channels: red, green and blue become grey, as by ``Image.convert("L")``."""
_CHANNELS: dict[tuple[int, int], dict[str, tuple[int, ...]]] = {
    (3, 1): {"RGB to grey": GREY},
    (4, 1): {"RGBA to grey": GREY},
    (1, 3): {"grey to RGB": (0, 0, 0)},
    (2, 1): {"alpha dropped": (0,)},
    (2, 3): {"grey to RGB, alpha dropped": (0, 0, 0)},
    (3, 3): {"": (0, 1, 2), "channels reversed (BGR)": (2, 1, 0)},
    (4, 3): {"alpha dropped": (0, 1, 2), "alpha dropped, channels reversed (BGR)": (2, 1, 0)},
    (4, 4): {"": (0, 1, 2, 3), "channels reversed (BGRA)": (2, 1, 0, 3)},
}
"""The channels of an image that become those of the result, by both numbers of channels."""

_GRID = 8  # rows and columns of the means by which turned images are compared
_SAMPLED = 256  # rows or columns of an image that are enough for means
_CLEARLY = 0.05  # of the correlation of means: how much one turned image must exceed another
_MOST = 3  # number of turned images, or orders of channels, that are tried


def channels(x: Array) -> int:
    """Return the number of channels of an image."""
    return 1 if x.ndim == 2 else int(x.shape[2])


def preparations(before: Array, after: Array, orientation: int = 1) -> list[Preparation]:
    """Return possible steps on an image before its resize, the likeliest by coarse means first.

    The unchanged image is always first, unless the number of channels differs. The file's own EXIF ``orientation``
    follows, then the others whose means resemble those of the result most. The list is empty if no known conversion
    leads from one number of channels to the other.
    """
    count, count_after = channels(before), channels(after)
    orders = _CHANNELS.get((count, count_after), {"": tuple(range(count))} if count == count_after else {})
    if before.dtype != np.uint8:
        orders = {text: order for text, order in orders.items() if order != GREY}
    every, stride = [], max(1, min(before.shape[:2]) // _SAMPLED)
    sample = before[::stride, ::stride]
    for number, turn in _TURNS.items():
        for text, order in orders.items():
            description = ", ".join(filter(None, (f"EXIF orientation {number}" if number > 1 else "", text)))
            likeness = _likeness(_turned(turn, order, sample), after)
            every.append(Preparation(text=description, of=partial(_turned, turn, order), likeness=likeness))
    of_file = f"EXIF orientation {orientation}"
    rest = sorted(every[1:], key=lambda layout: (layout.text != of_file, -layout.likeness))
    return [*every[:1], *rest[:_MOST]]


def likeliest(prepared: Sequence[Preparation]) -> Preparation:
    """Return the preparation whose means resemble the result most; the first unless another clearly does."""
    best = max(prepared, key=lambda layout: layout.likeness)
    return best if best.likeness > prepared[0].likeness + _CLEARLY else prepared[0]


def _turned(turn: Callable[[Array], Array], order: tuple[int, ...], x: Array) -> Array:
    return _reordered(turn(x), order)


def _reordered(x: Array, order: tuple[int, ...]) -> Array:
    if order == GREY:
        return _grey(x)
    if order == tuple(range(channels(x))):
        return np.ascontiguousarray(x)
    deep = x[:, :, None] if x.ndim == 2 else x
    chosen = np.ascontiguousarray(deep[:, :, list(order)])
    return chosen[:, :, 0] if len(order) == 1 else chosen


def _grey(x: Array) -> Array:
    """Return the grey of integers of 8 bits, in Pillow's weights (``L24`` in ``Convert.c``)."""
    red, green, blue = (x[:, :, channel].astype(np.uint32) for channel in range(3))
    return ((red * 19595 + green * 38470 + blue * 7471 + 2**15) >> 16).astype(x.dtype)


def _likeness(x: Array, y: Array) -> float:
    """Return the correlation of the means of two images over a coarse grid."""
    rows, columns = (min(_GRID, *lengths) for lengths in zip(x.shape[:2], y.shape[:2], strict=True))
    first, second = (_means(image, rows, columns) for image in (x, y))
    spread = float(first.std() * second.std())
    return float(((first - first.mean()) * (second - second.mean())).mean()) / spread if spread else 0.0


def _means(x: Array, rows: int, columns: int) -> Array:
    sums = x.reshape(*x.shape[:2], -1).astype(np.float64)
    for axis, count in ((0, rows), (1, columns)):
        starts = np.arange(count) * sums.shape[axis] // count
        widths = np.diff((*starts, sums.shape[axis]))
        shape = [-1 if place == axis else 1 for place in range(3)]
        sums = np.add.reduceat(sums, starts, axis) / widths.reshape(shape)
    return sums.reshape(-1)


def predicted(spec: ResizeSpec, layout: Layout, piece: Piece) -> Array | None:
    """Return a piece of the result of a call, relative to the position of the image; None if the call refuses."""
    op = operation(spec if layout.box is None else replace(spec, box=layout.box))
    with suppress(SpecError):
        if layout.scales is None:
            return resized(op, layout.x, layout.sizes, None, layout.shown(piece))
        y = resized(op, layout.x, None, layout.scales)
        return y[piece] if y.shape[:2] == layout.sizes else None
    return None


def operation(spec: ResizeSpec, name: str = "call") -> ResizeOp:
    """Return a spec as an operation that runs."""
    return ResizeOp(name=name, where=name, spec=spec, dialect=name, version=0)
