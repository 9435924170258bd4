"""Layouts of a resized image, and all library calls that can turn one image into another.

A layout is whole, by factors, cropped, padded, turned, or resized twice. Calls are grouped by what they compute.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache, partial

import numpy as np

from ir_interp.errors import ReadError, SpecError, spelled
from ir_interp.libraries import Library, get, names
from ir_interp.plan.taps import reduced
from ir_interp.resize_op import ResizeOp
from ir_interp.shapes import Array, Shape
from ir_interp.specs import Reduce, ResizeSpec, Sizes, Step
from ir_interp.translation.dialect import Context
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


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownCall:
    """A library resize, its calls, and the reason if some of its bytes are unknown."""

    spec: ResizeSpec
    calls: tuple[str, ...]
    reason: str = ""


_MODES = {1: ("L",), 2: ("LA", "L"), 3: ("RGB",), 4: ("RGBA", "RGB")}  # by the number of channels
_DEEP_MODES = {"uint16": ("I;16",), "int32": ("I",), "float32": ("F",)}


def known_calls(layouts: Sequence[Layout]) -> list[KnownCall]:
    """Return every library resize for such images, with its calls; by factors or of a box, those that accept them."""
    x = layouts[0].x
    shapes = [(layout.x.shape, layout.sizes, layout.box) for layout in layouts]
    merged: dict[ResizeSpec, tuple[tuple[str, ...], str]] = {}
    for call in _every(x.dtype.name, channels(x)):
        if _needed(layouts) <= get(call.calls[0].split("@")[0]).dialect.numbers.keys():
            spec = effective(call.spec, shapes)
            spec = replace(spec, step=Step.RATIO) if layouts[0].scales is None else spec  # by sizes all steps are
            calls, _ = merged.get(spec, ((), ""))
            merged[spec] = ((*calls, *call.calls), call.reason)
    return [KnownCall(spec=spec, calls=tuple(_brief(calls)), reason=why) for spec, (calls, why) in merged.items()]


def _needed(layouts: Sequence[Layout]) -> set[str]:
    """Return the names of the arguments that a library must have for such layouts."""
    return {name for name in ("scales", "box") if any(getattr(layout, name) is not None for layout in layouts)}


@lru_cache(maxsize=8)
def _every(dtype: str, depth: int) -> tuple[KnownCall, ...]:
    """Return every call of each library version for images of an element type and a number of channels."""
    return tuple(
        call for name in names() for version in get(name).dialect.versions for call in _of(name, version, dtype, depth)
    )


def _of(name: str, version: int, dtype: str, depth: int) -> Iterator[KnownCall]:
    library, context = get(name), Context(version=version, dtype=dtype)
    numbers: tuple[Mapping[str, object], ...] = ({}, *library.usual)
    for attributes in (
        attribute_set for target in numbers for attribute_set in library.dialect.attribute_sets(version, target)
    ):
        if _suits(library, attributes, dtype, depth):
            with suppress(SpecError, ReadError):
                spec = library.dialect.read(attributes, context)
                if len(spec.axes or ()) == 2:
                    calls = (_text(library, version, attributes),)
                    yield KnownCall(spec=spec, calls=calls, reason=library.approximate(attributes, context))


def effective(spec: ResizeSpec, shapes: Sequence[tuple[Shape, tuple[int, int], Box | None]]) -> ResizeSpec:
    """Return a resize without what has no effect for ``shapes``: the images that it accepts, and its block averages.

    These are the shapes of images, the sizes that they are resized to, and the box that is resized, if not all.
    """
    spec = replace(spec, images=None)
    if not isinstance(spec.before, Reduce):
        return spec
    targets = [(shape, replace(spec, target=Sizes(sizes), box=box)) for shape, sizes, box in shapes]
    return spec if any(reduced(target, shape) for shape, target in targets) else replace(spec, before=None)


def without_version(call: str) -> str:
    """Return a call as people write it: without its version and without arguments about the installation."""
    name, _, words = re.sub(r"@\d+", "", call).partition(":")
    first, *rest = words.split(",")
    stated = [part for part in rest if part.partition("=")[0] not in get(name).installation]
    return f"{name}:{','.join((first, *stated))}"


def versions(calls: Sequence[str], name: str) -> tuple[int, ...]:
    """Return the versions of a library in which some of ``calls`` are the call ``name``, the newest first."""
    known = get(name.partition(":")[0]).dialect.versions
    those = [re.search(r"@(\d+)", call) for call in calls if without_version(call) == name]
    return tuple(version for version in known if any(match is None or int(match[1]) == version for match in those))


def _suits(library: Library, attributes: dict[str, object], dtype: str, depth: int) -> bool:
    """Return whether a call applies to images of an element type and a number of channels."""
    if "mode" in library.dialect.vocabulary and library.first != "mode":
        return attributes["mode"] in (_DEEP_MODES.get(dtype) or _MODES.get(depth, ()))
    is_pillow = attributes.get("backend") == "pil"
    return not is_pillow and not attributes.get("recompute_scale_factor") and attributes.get("rank", 4) == 4


def _text(library: Library, version: int, attributes: dict[str, object]) -> str:
    """Return a call as text, without arguments that have their default value."""
    defaults = {name: value for name, (value, _) in library.dialect.defaults.items()}
    rest = [
        f",{name}={spelled(value)}"
        for name, value in attributes.items()
        if name != library.first and value != defaults.get(name)
    ]
    return f"{library.name}@{version}:{attributes[library.first]}{''.join(rest)}"


def _brief(calls: Sequence[str]) -> Iterator[str]:
    """Yield the shortest call of each library and word; without its version if every version computes the same."""
    shortest: dict[tuple[str, str], str] = {}
    for call in sorted(calls, key=len):
        library, words = call.split("@")[0], call.partition(":")[2]
        shortest.setdefault((library, words.split(",")[0]), words)
    for (library, _), words in shortest.items():
        every = get(library).dialect.versions
        those = [version for version in every if f"{library}@{version}:{words}" in calls]
        if len(those) == len(every):
            yield f"{library}:{words}"
        else:
            yield from (f"{library}@{version}:{words}" for version in those)
