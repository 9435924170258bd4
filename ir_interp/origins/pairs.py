"""Pairs of images before and after a resize: checked, read from files, or produced by a function."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ir_interp.array_types import Array
from ir_interp.errors import ShapeError
from ir_interp.executor.resize import as_array
from ir_interp.files.kinds import FileKind
from ir_interp.origins.jpeg_likelihood import Jpeg, is_jpeg, read_jpeg
from ir_interp.views import likeness
from ir_interp.views.image_arrays import orientation

SIZES = (((37, 53), (16, 19)), ((16, 19), (37, 53)), ((64, 30), (21, 28)), ((45, 90), (30, 30)), ((24, 24), (48, 48)))
"""Heights and widths of images, and of their resized results, that separate most calls."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pair:
    """An image [height, width] or [height, width, channels] before and after its resize.

    ``jpeg`` is the content of the resized file if it is a JPEG; ``orientation`` the EXIF orientation of the original.
    ``original`` is the original's file if that is a JPEG, which may have been decoded at a fraction of its size.
    """

    before: Array
    after: Array
    jpeg: Jpeg | None = None
    orientation: int = 1
    original: Path | None = None

    def decoded(self, scale: int) -> Array:
        """Return the original, decoded ``scale`` times smaller."""
        return self.before if scale == 1 or self.original is None else likeness.read_draft(self.original, scale)

    def box(self, scale: int) -> tuple[tuple[float, float], ...] | None:
        """Return the part of a smaller decoded original that ``Image.thumbnail`` resizes; None for all of it."""
        lengths = self.before.shape[:2]
        return tuple((0.0, length / scale) for length in lengths) if any(n % scale for n in lengths) else None

    def check(self) -> None:
        """Raise ShapeError for values that are not two images of one type."""
        before, after = self.before, self.after
        ranks = {before.ndim, after.ndim} <= {2, 3} and before.dtype == after.dtype
        if not ranks or not before.size or not after.size:
            shapes = f"{before.dtype} {list(before.shape)} and {after.dtype} {list(after.shape)}"
            raise ShapeError(f"{shapes} are not a pair; expected images [height, width, channels] of one type")
        for x in (before, after):
            likeness.check_numbers(x)


def read_pair(before: Path, after: Path) -> Pair:
    """Return the images of two files. Raises ReadError for a file that is not an image."""
    images = [likeness.read(path)[0] for path in (before, after)]
    is_image = [FileKind.of(path) is not FileKind.ARRAY for path in (before, after)]
    return Pair(
        before=images[0],
        after=images[1],
        jpeg=read_jpeg(after) if is_image[1] else None,
        orientation=orientation(before) if is_image[0] else 1,
        original=before if is_image[0] and is_jpeg(before) else None,
    )


def made_by(function: Callable[[Array, tuple[int, int]], Any], dtype: str, depth: int) -> list[Pair]:
    """Return pairs produced by a function, which takes an image and (height, width) and returns the resized image."""
    pairs = []
    for place, (lengths, sizes) in enumerate(SIZES):
        before = random_image(lengths, np.dtype(dtype), depth, place)
        pairs.append(Pair(before=before, after=np.asarray(function(before.copy(), sizes))))
    return pairs


def random_image(lengths: tuple[int, int], dtype: np.dtype[Any], depth: int, seed: int) -> Array:
    """Return an image of random values; floats from 0 to 1."""
    rng, shape = np.random.default_rng(seed), lengths if depth == 1 else (*lengths, depth)
    if dtype.kind == "f":
        return rng.random(shape).astype(dtype)
    return rng.integers(0, min(np.iinfo(dtype).max, 2**16 - 1), shape, endpoint=True).astype(dtype)


def pair_of(before: Any, after: Any) -> Pair:
    """Return a pair of two arrays, or of the images in two files."""
    if all(isinstance(image, str | os.PathLike) for image in (before, after)):
        return read_pair(Path(before), Path(after))
    return Pair(before=as_array(before, "before"), after=as_array(after, "after"))
