"""Arrays from files, images as the arrays that networks resize, and a test picture; Pillow reads images."""

from __future__ import annotations

import io
import struct
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from io import BufferedReader
from pathlib import Path
from tokenize import TokenError
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.format import MAGIC_PREFIX
from numpy.typing import NDArray

from ir_interp.errors import IrInterpError, ReadError, ShapeError
from ir_interp.files.kinds import (
    IMAGES,
    FileKind,
    extension,
    further_bands,
    is_raster,
    is_tiff,
    loses_bits,
    name_of,
    opened as opened_file,
)
from ir_interp.resize_op import ResizeOp
from ir_interp.shapes import Array
from ir_interp.specs.modes import Word

if TYPE_CHECKING:
    from PIL.Image import Image


def array_or_image(path: Path, op: ResizeOp) -> Array:
    """Return an array (.npy) or an image as the input of a resize. Raises ReadError where it is neither."""
    return array(path) if FileKind.of(path) is FileKind.ARRAY else read(path, op)


BROKEN_ARRAY = (ValueError, EOFError, TypeError, ArithmeticError, TokenError)
"""What NumPy raises for an array that is cut off or damaged, whose header it reads as Python."""


def array(path: Path) -> Array:
    """Return an array (.npy). Raises ReadError where it is none."""
    try:
        with opened_file(path) as file:
            if not _is_of_numpy(file):
                problem = "not a NumPy array: its header is not that of .npy; expected .npy or an image"
                raise ReadError(problem, path.name)
            with np.errstate(over="raise"):  # where lengths of the header pass 64 bits
                loaded = np.load(name_of(file), allow_pickle=False, mmap_mode="r")
        if isinstance(loaded, np.ndarray):
            return loaded
        loaded.close()
        raise ValueError("it holds several arrays")
    except OSError as error:
        raise ReadError(f"cannot be read: {error.strerror or error}", str(path)) from error
    except BROKEN_ARRAY as error:
        raise ReadError(f"not a NumPy array: {error}", path.name) from error


def _is_of_numpy(file: BufferedReader) -> bool:
    """Return whether a file begins as .npy or .npz, or is empty; NumPy takes any other file for a pickle."""
    head = file.read(len(MAGIC_PREFIX))
    return not head or head == MAGIC_PREFIX or head.startswith(b"PK")


FORMATS = ("PNG", "JPEG", "TIFF", "WEBP", "BMP", "GIF", "PPM")
"""The formats of images that are read, as Pillow names them; it would start Ghostscript for EPS, by content alone."""

# Images are read as grey or RGB: palettes are expanded, and alpha is dropped.
_PLAIN = {"1": "L", "L": "L", "LA": "L", "P": "RGB", "PA": "RGB", "RGB": "RGB", "RGBA": "RGB"}


class Orientation(Word):
    """What a resize makes of the orientation in the EXIF of a photo."""

    KEEP = "keep"  # it stays in the EXIF; sizes are those of the stored pixels
    APPLY = "apply"  # pixels are turned first; sizes are those of the photo as it is shown


_ORIENTATION = 0x0112  # the tag of EXIF
_TOO_LARGE = "cannot be read as an image: it has more pixels than Pillow opens ({}); {}"
_AS_ARRAY = "save its pixels as an array instead, .npy or, if they exceed memory, .zarr"
_AS_TIFF = "`ir-interp run` reads it block by block if --output ends in {}"


@contextmanager
def opened(path: Path) -> Iterator[Any]:
    """Yield an image of Pillow. Raises ReadError where a file is none, or one that grows beyond reason."""
    image = pillow()
    try:
        with opened_file(path) as file, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of damaged EXIF, which does not touch the pixels
            warnings.simplefilter("error", image.DecompressionBombWarning)
            with image.open(file, formats=FORMATS) as picture:
                _check_bands(path)
                yield picture
    except image.UnidentifiedImageError:
        problem = f"cannot be read as an image: expected one of {', '.join(FORMATS)}"
        raise ReadError(problem, path.name) from None
    except (image.DecompressionBombError, image.DecompressionBombWarning):
        remedy = _AS_TIFF.format(".tif or .zarr" if is_raster(path) else ".zarr") if is_tiff(path) else _AS_ARRAY
        raise ReadError(_TOO_LARGE.format(image.MAX_IMAGE_PIXELS, remedy), path.name) from None
    except IrInterpError:  # some are ValueErrors
        raise
    except (ArithmeticError, EOFError, LookupError, SyntaxError, TypeError, ValueError, struct.error) as error:
        # of the decoder of a damaged file, or of one with metadata that grow beyond reason
        raise ReadError(f"cannot be read as an image: {error}", path.name) from error
    except OSError as error:
        problem = f"cannot be read: {error.strerror}" if error.strerror else f"cannot be read as an image: {error}"
        raise ReadError(problem, path.name) from error


def _check_bands(path: Path) -> None:
    """Raise ReadError for a TIFF file with bands that Pillow would drop."""
    if loses_bits(path):
        remedy = _AS_TIFF.format(".tif or .zarr") if is_tiff(path) else _AS_ARRAY
        raise ReadError(f"its colours of 16 bits would be cut to 8; {remedy}", path.name)
    count = further_bands(path) if is_tiff(path) else 0
    if count:
        problem = (
            f"bands beside its colours, of which {count} would be lost; expected grey or RGB, with or without alpha"
        )
        raise ReadError(f"has {problem}; {_AS_TIFF.format('.tif or .zarr')}", path.name)


def orientation(path: Path) -> int:
    """Return the orientation in the EXIF of an image, 1 (upright) where that has none."""
    with opened(path) as image, suppress(ValueError, TypeError, struct.error):  # of EXIF that is damaged
        value = image.getexif().get(_ORIENTATION)
        return value if isinstance(value, int) else 1
    return 1


def pixels(path: Path) -> Array:
    """Return an image as rows, columns and 1 or 3 colours, uint8. Raises ReadError where it is none."""
    with opened(path) as picture:
        values = np.asarray(plain(picture, path))
    return values if values.ndim == 3 else values[:, :, None]


def thumbnail(path: Path, edge: int) -> bytes:
    """Return an image as the bytes of a PNG whose longer side has at most ``edge`` pixels."""
    with opened(path) as picture, io.BytesIO() as buffer:
        small = plain(picture, path)
        small.thumbnail((edge, edge))
        small.save(buffer, "PNG")
        return buffer.getvalue()


def plain(picture: Image, path: Path) -> Image:
    """Return an image of Pillow as 8-bit grey or RGB, without its alpha. Raises ReadError for other modes."""
    mode = _PLAIN.get(picture.mode)
    if mode is None:
        advice = "expected 8-bit grey or RGB, with or without alpha: convert it first, or give its values as .npy"
        raise ReadError(f"images of mode {picture.mode} are not taken; {advice}", path.name)
    return picture.convert(mode)


def read(path: Path, op: ResizeOp) -> Array:
    """Return an image as uint8, in the layout that ``op`` takes: NCHW, NHWC where it resizes axes 1 and 2."""
    deep = pixels(path)
    match _rank(op):
        case 2 if deep.shape[2] == 1:
            return deep[:, :, 0]
        case 3:
            return deep if _is_channel_last(op) else deep.transpose(2, 0, 1)
        case 4:
            return (deep if _is_channel_last(op) else deep.transpose(2, 0, 1))[None]
        case rank:
            raise ShapeError(f"an image of {deep.shape[2]} channels does not fit an input of rank {rank}")


def write(path: Path, y: Array, op: ResizeOp) -> None:
    """Save one image of the layout that ``read`` gives. Raises ShapeError where ``y`` is none."""
    deep = y[0] if y.ndim == 4 and y.shape[0] == 1 else y
    if deep.ndim == 3:
        deep = deep if _is_channel_last(op) else deep.transpose(1, 2, 0)
        deep = deep[:, :, 0] if deep.shape[2] == 1 else deep
    if deep.ndim not in (2, 3) or (deep.ndim == 3 and deep.shape[2] != 3) or deep.dtype != np.uint8:
        raise ShapeError(
            f"an array of shape {list(y.shape)} and type {y.dtype} is no image of 1 or 3 channels in uint8"
        )
    save(deep, path)


_STILL = ("PNG", "TIFF", "WEBP", "GIF")  # formats whose further images would be lost; a JPEG has previews besides


def check_still(picture: Image, path: Path) -> None:
    """Raise ReadError for a file of several images, of which Pillow shows the first."""
    count = getattr(picture, "n_frames", 1)
    if picture.format in _STILL and count > 1:
        raise ReadError(f"holds {count} images; expected one: save each of them as a file", path.name)


def oriented(picture: Image, orientation: Orientation) -> Image:
    """Return an image of Pillow, turned by its EXIF if that is to be applied."""
    from PIL import ImageOps

    return picture if orientation is Orientation.KEEP else ImageOps.exif_transpose(picture)


_WITH_EXIF, _WITH_PROFILE, _WITH_QUALITY = (
    ("JPEG", "PNG", "WEBP", "TIFF"),
    ("JPEG", "PNG", "WEBP", "TIFF"),
    ("JPEG", "WEBP"),
)
"""Formats that hold EXIF, a profile of colours, and what a quality compresses."""


def save_picture(picture: Image, path: Path, like: Image, quality: int | None = None) -> None:
    """Save an image of Pillow with the EXIF and the profile of another one. Raises IrInterpError if it cannot be."""
    kind = pillow().registered_extensions().get(extension(path))
    info: dict[str, Any] = {}
    if kind in _WITH_EXIF and like.info.get("exif"):
        info["exif"] = like.info["exif"]
    if kind in _WITH_PROFILE and like.info.get("icc_profile"):
        info["icc_profile"] = like.info["icc_profile"]
    if kind in _WITH_QUALITY and quality is not None:
        info["quality"] = quality
    _save(lambda: picture, path, path, info)


def save(pixels: Array, path: Path) -> None:
    """Save rows and columns, and channels if there are any, as an image. Raises IrInterpError where no image is so."""
    _encode(pixels, path, path)


def check_format(path: Path, like: Array) -> None:
    """Raise IrInterpError where no image of such values can be written under a name: a single pixel is, into memory."""
    _encode(np.zeros((1, 1, *like.shape[2:]), like.dtype), path, _Named(path.name))


class _Named(io.BytesIO):
    """A file in memory; Pillow takes the format from its name."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name


def _encode(pixels: Array, path: Path, file: Path | _Named) -> None:
    _save(lambda: pillow().fromarray(np.ascontiguousarray(pixels)), path, file, {})


def _save(picture: Callable[[], Image], path: Path, file: Path | _Named, info: Mapping[str, Any]) -> None:
    if extension(path) not in pillow().registered_extensions():
        problem = f"unknown extension {path.suffix!r}" if path.suffix else "it has no extension"
        expected = f"expected one of {', '.join(sorted(IMAGES))}"
        raise IrInterpError(f"{path.name} cannot be written as an image: {problem}; {expected}")
    try:
        picture().save(file, **info)
    except (TypeError, ValueError) as error:
        raise IrInterpError(f"{path.name} cannot be written as an image: {error}") from error
    except OSError as error:
        if error.errno is not None:  # of the system, such as a full disk
            raise
        raise IrInterpError(f"{path.name} cannot be written as an image: {error}") from error


def pillow() -> ModuleType:
    """Return Pillow's module of images. Raises IrInterpError where it is not installed."""
    try:
        from PIL import Image
    except ImportError:
        raise IrInterpError("images need Pillow: pip install 'ir-interp[images]'") from None
    return Image


def _rank(op: ResizeOp) -> int:
    if op.shape is not None:
        return len(op.shape)
    return 3 if op.spec.axes == (0, 1) else 4  # a call of an image library, or a batch


def _is_channel_last(op: ResizeOp) -> bool:
    """Say whether the resize leaves the last axis alone and takes the two before it."""
    rank = _rank(op)
    axes = sorted(axis % rank for axis in op.spec.axes) if op.spec.axes else []
    return axes == [rank - 3, rank - 2]


def draw_scene(rows: int, columns: int) -> NDArray[np.uint8]:
    """Return a test picture in colours, like a photo: a house with bricks, a fence and wires, hills, clouds, a road.

    Its fine regular parts are what a missing filter turns into others, and its thin lines are what it breaks.
    """
    y, x = np.meshgrid(np.linspace(0, 1, rows), np.linspace(0, 1, columns), indexing="ij")
    picture = np.empty((rows, columns, 3))

    def paint(where: Array, colour: tuple[float, float, float], shade: Array | float = 1.0) -> None:
        picture[where] = (np.array(colour) * np.broadcast_to(shade, where.shape)[..., None])[where]

    def stripes(at: Array, period: float, share: float) -> Array:
        return (at / period) % 1 < share

    grain = 0.9 + 0.2 * np.random.default_rng(0).random((rows, columns))
    clouds = _clouds(y, x)
    picture[:] = np.stack([120 + 60 * y + 90 * clouds, 165 + 50 * y + 60 * clouds, 225 + 20 * clouds], axis=-1)
    paint((x - 0.87) ** 2 + (0.75 * (y - 0.16)) ** 2 < 0.003, (255, 244, 190))
    for height, colour in ((0.06, (126, 146, 168)), (0.0, (84, 118, 96))):
        ridge = 0.5 - height + 0.05 * np.sin(7 * x + 40 * height) + 0.02 * np.sin(23 * x) + 0.008 * np.sin(71 * x)
        paint(y > ridge, colour, 0.94 + 0.06 * grain)
    for sag in (0.05, 0.08, 0.11):  # wires
        paint(np.abs(y - 0.19 - sag + 0.35 * (x - 0.5) ** 2) < 0.0025, (40, 40, 48))
    paint(y > 0.62, (98, 134, 62), grain)
    road = 0.42 * (y - 0.6) / 0.4 + 0.01
    middle = 0.78 - 0.1 * (y - 0.6)
    paint((y > 0.62) & (np.abs(x - middle) < road), (104, 104, 110), 0.95 + 0.1 * (grain - 0.9))
    dashes = stripes(1 / np.maximum(y - 0.5, 0.1), 1.1, 0.5)  # shorter towards the horizon
    paint((y > 0.62) & (np.abs(x - middle) < 0.03 * road) & dashes, (238, 238, 230))
    wall = (x > 0.08) & (x < 0.46) & (y > 0.42) & (y < 0.76)
    paint(wall, (182, 96, 72), grain)
    offset = 0.5 * (np.floor(y / 0.018) % 2)
    paint(wall & (stripes(y, 0.018, 0.2) | stripes(x + 0.016 * offset * 2, 0.032, 0.08)), (214, 204, 190))
    roof = (y > 0.24) & (y < 0.43) & (np.abs(x - 0.27) < 0.24 * (y - 0.2) / 0.23)
    paint(roof, (110, 52, 46), 0.75 + 0.5 * ((y / 0.014) % 1))
    for left in (0.13, 0.31):
        glass = (np.abs(x - left - 0.05) < 0.05) & (np.abs(y - 0.55) < 0.07)
        paint(glass, (70, 96, 124), 0.8 + 0.6 * (x - left) / 0.1)
        paint(glass & (stripes(x - left, 0.025, 0.16) | stripes(y - 0.48, 0.035, 0.12)), (244, 244, 240))
    fence = (y > 0.72) & (y < 0.83) & (x < 0.56)
    paint(fence & stripes(x, 0.0115, 0.5), (250, 248, 240))
    paint(fence & (stripes(y - 0.735, 0.06, 0.12)), (232, 228, 216))
    trunk = (np.abs(x - 0.62) < 0.008) & (y > 0.5) & (y < 0.7)
    paint(trunk, (84, 62, 44))
    leaves = ((x - 0.62) / 0.075) ** 2 + ((y - 0.45) / 0.13) ** 2 < 0.75 + 0.7 * (grain - 0.9) * 5
    paint(leaves, (46, 96, 44), 0.55 + 0.9 * (grain - 0.9) * 5)
    return np.clip(np.round(picture), 0, 255).astype(np.uint8)


def _clouds(y: Array, x: Array) -> Array:
    """Return smooth random values from 0 to 1."""
    waves: Array = sum(
        np.sin(a * x + b * y + c) / n
        for n, (a, b, c) in enumerate(((9, 21, 1), (17, 34, 4), (31, 47, 2), (58, 71, 5)), 1)
    )
    return np.asarray(np.clip(0.5 * waves, 0, 1))
