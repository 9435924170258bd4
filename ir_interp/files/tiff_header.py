"""The tags of a TIFF file, read without decoding the image."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import BinaryIO

from ir_interp.files.sources import check_regular

_BYTE_ORDERS = {b"II": "<", b"MM": ">"}
_CLASSIC, _BIG = 42, 43  # versions of the format: TIFF 6.0 and BigTIFF
_WIDTH, _HEIGHT = 256, 257  # tags: ImageWidth, ImageLength
_EXTRA, _UNSPECIFIED, _ASSOCIATED = 338, 0, 1  # ExtraSamples: no alpha, and alpha that colours are multiplied by
_PHOTOMETRIC, _SAMPLES = 262, 277  # PhotometricInterpretation, SamplesPerPixel
_COLOURS = {0: 1, 1: 1, 2: 3}  # samples of a pixel without extra ones, of both kinds of grey and of RGB
_GEO = frozenset((33550, 33922, 34264, 34735))  # ModelPixelScale, ModelTiepoint, ModelTransformation, GeoKeyDirectory
_SHORT, _BYTES_OF_SHORT = 3, 2  # the type of numbers of 16 bits
_MOST_ENTRIES = 2**12  # of a directory; a damaged header may claim more than the file holds
_MOST_PIXELS = 2**30 // 4 // 3  # above which Pillow warns of a decompression bomb


def is_raster(path: Path) -> bool:
    """Return whether a TIFF file is georeferenced, has further bands, or is larger than what Pillow opens.

    Returns False for any other file. Raises OSError if the file cannot be read.
    """
    tags = _tags_of(path)
    is_large = tags.get(_WIDTH, 0) * tags.get(_HEIGHT, 0) > _MOST_PIXELS
    return is_large or bool(_GEO & tags.keys()) or _further_bands(tags) > 0


def further_bands(path: Path) -> int:
    """Return the number of bands beside the grey or RGB of a TIFF file and its alpha, such as near infrared.

    Pillow drops them. Raises OSError as ``is_raster``.
    """
    return _further_bands(_tags_of(path))


def _further_bands(tags: dict[int, int]) -> int:
    colours = _COLOURS.get(tags.get(_PHOTOMETRIC, -1))
    if colours is None:
        return 0
    extra = tags.get(_SAMPLES, 1) - colours
    has_alpha = tags.get(_EXTRA, _UNSPECIFIED) != _UNSPECIFIED
    return max(extra - has_alpha, 0)


def has_multiplied_colours(path: Path) -> bool:
    """Return whether the colours of a TIFF file are stored as products with alpha. Raises OSError as ``is_raster``."""
    return _tags_of(path).get(_EXTRA) == _ASSOCIATED


def _tags_of(path: Path) -> dict[int, int]:
    check_regular(path)
    try:
        with path.open("rb") as file:
            return _tags(file)
    except (struct.error, OverflowError):  # a file that ends too early, or points far behind its end
        return {}


def _tags(file: BinaryIO) -> dict[int, int]:
    """Return the tags of the first directory and the first number of each (TIFF 6.0, section 2; BigTIFF)."""
    order = _BYTE_ORDERS.get(file.read(2))
    if order is None:
        return {}

    def read(form: str) -> tuple[int, ...]:
        return struct.unpack(order + form, file.read(struct.calcsize(order + form)))

    (version,) = read("H")
    if version not in (_CLASSIC, _BIG):
        return {}
    offset, count, value = ("I", "H", "I") if version == _CLASSIC else ("Q", "Q", "Q")
    if version == _BIG:
        read("HH")
    file.seek(*read(offset))
    (entries,) = read(count)
    tags = {}
    rows = [read("HH" + value * 2) for _ in range(min(entries, _MOST_ENTRIES))]
    for tag, kind, length, number in rows:
        tags[tag] = number
        if kind == _SHORT:
            field = struct.pack(order + value, number)
            if _BYTES_OF_SHORT * length > len(field):  # which then holds their place in the file
                file.seek(number)
                field = file.read(_BYTES_OF_SHORT)
            (tags[tag],) = struct.unpack(order + "H", field[:_BYTES_OF_SHORT])
    return tags
