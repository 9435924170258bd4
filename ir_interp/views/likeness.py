"""Images resized as image libraries do, and how far two of these differ."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ir_interp.containers import CLASSES, MODES, NOTHING, Request, resized_image
from ir_interp.errors import IrInterpError, ReadError, ShapeError, SpecError
from ir_interp.executor.resize import resize
from ir_interp.executor.threads import alone
from ir_interp.files.kinds import FileKind
from ir_interp.files.memory import unforeseen
from ir_interp.files.writing import replacing
from ir_interp.libraries import load, named
from ir_interp.plain_text import flags_stay, labels
from ir_interp.records import Record
from ir_interp.resize_op import ResizeOp
from ir_interp.shapes import Array
from ir_interp.specs import Alpha, OwnKernel, Sizes
from ir_interp.translation.translate import bound_within
from ir_interp.views import figures, image_arrays
from ir_interp.views.image_arrays import Orientation

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from PIL.Image import Image

_WITH_ALPHA = (2, 4)  # channels


@dataclass(frozen=True, slots=True, kw_only=True)
class Likeness(Record):
    """How far two libraries' results differ, in values of pixels: how many do, by how much, and where most.

    ``bound`` is how far they may differ on any image of that shape, where both weigh the same pixels.
    """

    first: str
    second: str
    shape: tuple[int, ...]
    unequal: int
    count: int
    largest: float
    mean: float
    at: tuple[int, ...]
    bound: int | None = None

    @property
    def text(self) -> str:
        """The same as a line."""
        if not self.unequal:
            equal = f"{self.first} and {self.second}: equal, all {self.count} values"
            return equal + (f"; {self._of_any}" if self.bound else "")
        share = f"{self.unequal} of {self.count} values ({self.unequal / self.count:.1%}) differ"
        return (
            f"{self.first} and {self.second}: {share}, by up to {self.largest:g} at {list(self.at)}, "
            f"by {self.mean:.3g} on average over all"
        ) + ("" if self.bound is None else f"; {self._of_any}")

    @property
    def _of_any(self) -> str:
        return f"on any image of this shape by {self.bound} at most"


def read(path: Path) -> tuple[Array, str | None]:
    """Return an array (.npy), or an image and its mode. Raises ReadError where a file is neither."""
    if FileKind.of(path) is FileKind.ARRAY:
        return image_arrays.array(path), None
    with image_arrays.opened(path) as picture:
        image = picture if picture.mode in MODES else image_arrays.plain(picture, path)
        return np.asarray(image), image.mode


@dataclass(frozen=True, slots=True, kw_only=True)
class Pictures:
    """A resize of image files: a call of a library (``like``), or this program's own by a kernel."""

    like: str | None = None
    kernel: OwnKernel | None = None
    sizes: tuple[int, ...] | None = None
    scales: tuple[float, ...] | None = None
    orientation: Orientation = Orientation.KEEP
    quality: int | None = None

    @property
    def request(self) -> Request:
        """The request of this program's own resize."""
        return own_request(self.kernel, self.sizes, self.scales)

    def resize(self, source: Path, destination: Path) -> ResizedFile:
        """Write a resized image or array. Raises IrInterpError for a file that cannot be read, resized or written."""
        with replacing(destination) as (temporary,):
            return self.write(source, temporary)

    def write(self, source: Path, destination: Path) -> ResizedFile:
        """Do so to a file that is not there yet."""
        try:
            return self._write(source, destination)
        except (SpecError, ShapeError) as error:  # about an image without a name
            raise ReadError(str(error), source.name) from None

    def _write(self, source: Path, destination: Path) -> ResizedFile:
        with image_arrays.opened(source) as picture:
            if self.like is None:
                image_arrays.check_still(picture, source)
            shown = image_arrays.oriented(picture, self.orientation)
            image = self._readable(shown, source)
            before = np.asarray(image)
            if not _is_written(destination.suffix, before.shape[2:], before.dtype.str):
                check_format(destination, before)
            op = None if self.like is None else call(self.like, before, image.mode)
            if op is None:
                made = resized_image(image, self.request, NOTHING)
                after = np.asarray(made)
            else:
                after = resized(op, before, self.sizes, self.scales)
            if FileKind.of(destination) is FileKind.ARRAY:
                write(destination, after)
            else:
                made = made if op is None else image_arrays.pillow().fromarray(np.ascontiguousarray(after))
                image_arrays.save_picture(made, destination, shown, self.quality)
        return ResizedFile(op=op, before=before.shape, after=after.shape, dtype=after.dtype.name)

    def _readable(self, picture: Image, path: Path) -> Image:
        """Return an image of a mode that is resized; colours that stand for transparency become alpha."""
        if self.like is not None:
            return picture if picture.mode in MODES else image_arrays.plain(picture, path)
        sums = self.kernel is None or self.kernel.sums
        if picture.mode == "PA" or (picture.mode in _KEYED and sums and "transparency" in picture.info):
            return picture.convert(_KEYED.get(picture.mode, "RGBA"))
        return picture if picture.mode in (*MODES, *CLASSES) else image_arrays.plain(picture, path)


@cache
def _is_written(suffix: str, channels: tuple[int, ...], dtype: str) -> bool:
    """Return whether files of an extension hold such pixels, which need not be tried for each of many."""
    with suppress(IrInterpError):
        check_format(Path(f"x{suffix}"), np.zeros((1, 1, *channels), dtype))
        return True
    return False


_KEYED = {"L": "LA", "RGB": "RGBA"}  # modes of which one colour may stand for transparency, and those with alpha


@dataclass(frozen=True, slots=True, kw_only=True)
class ResizedFile:
    """A resized file: the call, the shapes before and after, and the element type."""

    op: ResizeOp | None
    before: tuple[int, ...]
    after: tuple[int, ...]
    dtype: str


def own_request(
    kernel: OwnKernel | None,
    sizes: tuple[int, ...] | None,
    scales: tuple[float, ...] | None,
    axes: tuple[int | str, ...] | None = None,
) -> Request:
    """Return the request of this program's own resize, antialiased; a single scale is that of all axes."""
    widens = (kernel or OwnKernel.LINEAR).widens
    each: Any = scales[0] if scales is not None and len(scales) == 1 else scales
    return Request(kernel=kernel, sizes=sizes, scales=each, axes=axes, antialias=True if widens else None)


Pairs = tuple[tuple[Path, Path], ...]
"""Images, each with the file to write, all of these in one folder."""


def resized_files(pairs: Pairs, pictures: Pictures) -> list[str]:
    """Resize some files of many; return for each why not, or an empty text."""
    destinations = [destination for _, destination in pairs]
    try:
        destinations[0].parent.mkdir(parents=True, exist_ok=True)
        # One temporary folder for all, since making and removing one takes as long as resizing a photo.
        with replacing(*destinations) as temporary, flags_stay(), alone():  # the other processes have processors, too
            sources = (source for source, _ in pairs)
            return [_error(source, path, pictures) for source, path in zip(sources, temporary, strict=True)]
    except (IrInterpError, OSError) as error:  # of the folder
        return [str(error)] * len(pairs)


def _error(source: Path, destination: Path, pictures: Pictures) -> str:
    try:
        pictures.write(source, destination)
    except IrInterpError as error:
        destination.unlink(missing_ok=True)
        return f"{source}{str(error).removeprefix(source.name).removeprefix(str(source))}"
    except Exception as error:  # of one file among thousands
        destination.unlink(missing_ok=True)
        return f"{source}: {unforeseen(error)}"
    return ""


def read_draft(path: Path, scale: int) -> Array:
    """Return a JPEG image as Pillow decodes it 2, 4 or 8 times smaller."""
    with image_arrays.opened(path) as picture:
        width, height = picture.size
        picture.draft(None, (width // scale, height // scale))
        return np.asarray(picture if picture.mode in MODES else image_arrays.plain(picture, path))


def check_numbers(x: Array) -> None:
    """Raise ShapeError for what cannot be subtracted: texts, NaN, infinity."""
    if x.dtype.kind not in "uif" or not np.isfinite(x).all():
        raise ShapeError(f"an array of {x.dtype} that holds other than finite numbers; expected the values of an image")


def call(text: str, x: Array, mode: str | None) -> ResizeOp:
    """Return a call for an image: of its element type and, for a library that asks, its mode."""
    return load(text, dtype=x.dtype.name, arguments={"mode": mode} if mode else None)


def call_on_bytes(text: str, mode: str | None = None) -> ResizeOp:
    """Return a call for uint8 images: of the floats that its library makes of them, where it does (TensorFlow)."""
    try:
        return load(text, dtype="uint8", arguments={"mode": mode} if mode else None)
    except ReadError:
        if not named(text).makes_floats:
            raise
    return load(text, dtype=named(text).makes_floats)


def resized(
    op: ResizeOp,
    x: Array,
    sizes: tuple[int, ...] | None,
    scales: tuple[float, ...] | None,
    piece: tuple[slice, slice] | None = None,
) -> Array:
    """Return an image, channels last, resized as a call does: through the layout of its library, and back.

    A single scale is that of height and width. If ``piece`` names rows and columns, only these are computed. Raises
    ShapeError for a call that takes the last channel for alpha, of an image that has none.
    """
    channels = 1 if x.ndim == 2 else x.shape[-1]
    if op.spec.alpha is Alpha.PREMULTIPLIED and channels not in _WITH_ALPHA:
        raise ShapeError(f"{op.name} takes the last channel for alpha, of 2 or 4; this image has {channels}")
    rank = len(op.spec.axes or ())
    if scales is not None and len(scales) == 1:
        scales = scales * rank
    if max(op.spec.axes or (0,)) >= 0:
        return resize(x, op.spec, sizes=sizes, scales=scales, region=piece)
    if rank != 2 or x.ndim not in (2, 3):
        raise ShapeError(f"{op.name} resizes {rank} axes; an image has two")
    planes = x if x.ndim == 2 else np.moveaxis(x, -1, 0)
    if piece is None:
        y = resize(np.ascontiguousarray(planes), op.spec, sizes=sizes, scales=scales)
    else:
        whole = (slice(None),) * (planes.ndim - 2)
        y = resize(planes, op.spec, sizes=sizes, scales=scales, region=(*whole, *piece))
    return y if x.ndim == 2 else np.ascontiguousarray(np.moveaxis(y, 0, -1))


def compared(
    texts: tuple[str, str], x: Array, mode: str | None, sizes: tuple[int, ...] | None, scales: tuple[float, ...] | None
) -> tuple[Likeness, Any]:
    """Return how far two calls differ on an image, and what makes a picture of it."""
    check_numbers(x)
    ops = [call_on_bytes(text, mode) if x.dtype == np.uint8 else call(text, x, mode) for text in texts]
    first, second = (resized(op, x.astype(op.dtype, copy=False), sizes, scales) for op in ops)
    if first.shape != second.shape:
        raise ShapeError(f"{texts[0]} makes {list(first.shape)} of the image, {texts[1]} {list(second.shape)}")
    likeness = difference(texts, first, second)
    return replace(likeness, bound=_bound(ops, x, first.shape[:2]) if first.size else None), (first, second)


def difference(names: tuple[str, str], first: Array, second: Array) -> Likeness:
    """Return how far two images of one shape differ."""
    apart = np.abs(first.astype(np.float64) - second)
    return Likeness(
        first=names[0],
        second=names[1],
        shape=first.shape,
        unequal=int(np.count_nonzero(apart)),
        count=apart.size,
        largest=float(apart.max(initial=0.0)),
        mean=float(apart.mean()) if apart.size else 0.0,
        at=tuple(int(place) for place in np.unravel_index(int(apart.argmax()), apart.shape)) if apart.size else (),
    )


def compared_images(paths: tuple[Path, Path]) -> tuple[Likeness, tuple[Array, Array]]:
    """Return how far two images or arrays in files differ, and their values.

    Raises ReadError for a file that is neither, ShapeError for different shapes or values that are not numbers.
    """
    first, second = (read(path)[0] for path in paths)
    for x in (first, second):
        check_numbers(x)
    names = labels(paths)
    if first.shape != second.shape:
        shapes = (f"{names[str(path)]} is {list(x.shape)}" for path, x in zip(paths, (first, second), strict=True))
        raise ShapeError(f"{', '.join(shapes)}; expected two images of the same shape")
    return difference((names[str(paths[0])], names[str(paths[1])]), first, second), (first, second)


def _bound(ops: Sequence[ResizeOp], x: Array, sizes: tuple[int, ...]) -> int | None:
    """Return how far the results of two calls may lie apart on images like ``x``; None if no bound is known."""
    if any(op.dtype != x.dtype.name for op in ops):
        return None
    specs = [replace(op.spec, axes=(0, 1), target=Sizes(sizes)) for op in ops]
    return bound_within(specs[0], specs[1], x.shape, x.dtype.name)


def picture(likeness: Likeness, pair: tuple[Array, Array]) -> Figure:
    """Return a figure of both results and their difference, without alpha. Raises ShapeError for what is no image."""
    first, second = (
        figures.Resized(name=name, values=_colours(y).astype(np.float64))
        for name, y in zip((likeness.first, likeness.second), pair, strict=True)
    )
    return figures.draw_images(first, second, f"{likeness.unequal} of {likeness.count} values differ")


def _colours(y: Array) -> Array:
    if not y.size:
        raise ShapeError(f"there is no picture of an array of shape {list(y.shape)}")
    if y.ndim == 2:
        return y
    if y.ndim != 3 or y.shape[2] not in (1, 2, 3, 4):
        raise ShapeError(f"a picture shows grey or RGB, not an array of shape {list(y.shape)}")
    return y[:, :, 0] if y.shape[2] < 3 else y[:, :, :3]


def write(path: Path, y: Array) -> None:
    """Save an image as an array (.npy) or an image. Raises IrInterpError where that is not possible."""
    if FileKind.of(path) is FileKind.ARRAY:
        with path.open("wb") as file:
            np.save(file, y, allow_pickle=False)
    else:
        image_arrays.save(y, path)


def check_format(path: Path, x: Array) -> None:
    """Raise IrInterpError where a resized ``x`` cannot be saved under a name."""
    if FileKind.of(path) is not FileKind.ARRAY:
        image_arrays.check_format(path, x)
