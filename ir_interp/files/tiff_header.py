"""The tags of a TIFF file, read without decoding the image."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import BinaryIO

from ir_interp.files.sources import check_regular

_BYTE_ORDERS = {b"II": "<", b"MM": ">"}
_CLASSIC, _BIG = 42, 43  # versions of the format: TIFF 6.0 and BigTIFF
_WIDTH, _HEIGHT = 256, 257  # tags: ImageWidth, ImageLength
_GEO = frozenset((33550, 33922, 34264, 34735))  # ModelPixelScale, ModelTiepoint, ModelTransformation, GeoKeyDirectory
_MOST_ENTRIES = 2**12  # of a directory; a damaged header may claim more than the file holds
_MOST_PIXELS = 2**30 // 4 // 3  # above which Pillow warns of a decompression bomb


def is_raster(path: Path) -> bool:
    """Return whether a TIFF file is georeferenced, or larger than what Pillow opens; False for any other file.

    Raises OSError if the file cannot be read.
    """
    check_regular(path)
    try:
        with path.open("rb") as file:
            tags = _tags(file)
    except (struct.error, OverflowError):  # a file that ends too early, or points far behind its end
        return False
    return bool(_GEO & tags.keys()) or tags.get(_WIDTH, 0) * tags.get(_HEIGHT, 0) > _MOST_PIXELS


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
    for _ in range(min(entries, _MOST_ENTRIES)):
        tag, kind, _, number = read("HH" + value * 2)
        is_short = kind == 3  # a number of 16 bits lies in the first bytes of the field
        field = struct.pack(order + value, number)
        tags[tag] = struct.unpack(order + "H", field[:2])[0] if is_short else number
    return tags
