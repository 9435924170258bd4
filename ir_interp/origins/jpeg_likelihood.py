"""The likelihood that a JPEG file was saved from an image, by the quantisation of its luminance in each block.

A JPEG stores each coefficient of the cosine transform of 8x8 pixels as a multiple of a number in its table. An image
that was saved therefore has coefficients within half of that number around those of the file; an image resized by
another call has some beyond. The excess is modelled as noise, and the result is the likeliest amount of noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ir_interp.array_types import Array
from ir_interp.errors import ReadError
from ir_interp.views.image_arrays import opened

# Pixels of a side of a block, which is transformed as a whole.
_BLOCK = 8
_FORMATS = ("JPEG", "MPO")
_NOISES = (0.1, 0.4, 1.0, 2.5, 6.0, 15.0)  # of coefficients; the first is that of integer transforms, and means none
_ROUNDING = 0.3  # of decoded pixels, 1/sqrt(12): it hides which multiple of 1 or 2 the file stores
_FINE = 2  # largest step of a table to which that applies
_DECODER = 0.1  # of pixels: the error of libjpeg's integer transform
_STRAY = 1e-4  # the probability of a coefficient that nothing here explains
_RANGE = 2048.0  # of coefficients


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Jpeg:
    """The luminance of a JPEG file, uint8 [height, width], and the table that quantised it, 8x8."""

    luma: Array
    table: Array


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Residuals:
    """The differences between predicted coefficients and those of a file, and the quantisation steps of the file."""

    distances: Array
    quanta: Array

    @property
    def outside(self) -> int:
        """The number of coefficients that are nearer to another multiple, by more than roundings explain."""
        return int(np.count_nonzero(np.abs(self.distances) > self.quanta / 2 + 2 * _noise(self.quanta, _NOISES[0])))

    def log_likelihoods(self) -> Array:
        """Return the logarithm of the likelihood of the file, for each amount of noise."""
        return np.array([self._of(noise) for noise in _NOISES])

    def _of(self, noise: float) -> float:
        """Sum over coefficients. The noise is logistic, whose tails tolerate more than a normal distribution's."""
        scale = 2 * _noise(self.quanta, noise)
        upper, lower = ((self.quanta / 2 + sign * self.distances) / scale for sign in (-1, 1))
        # The logistic distribution is (1 + tanh(x / 2s)) / 2, and tanh is odd: between two limits lies half of a sum.
        inside = (np.tanh(upper) + np.tanh(lower)) / 2
        return float(np.log((1 - _STRAY) * np.maximum(inside, 0) + _STRAY * self.quanta / _RANGE).sum())


def _noise(quanta: Array, noise: float) -> Array:
    return np.where(quanta <= _FINE, max(noise, _ROUNDING), noise)


def joined(parts: list[Residuals]) -> Residuals:
    """Return the residuals of several images as one."""
    return Residuals(
        distances=np.concatenate([part.distances.reshape(-1) for part in parts]),
        quanta=np.concatenate([np.broadcast_to(part.quanta, part.distances.shape).reshape(-1) for part in parts]),
    )


def is_jpeg(path: Path) -> bool:
    """Return whether a file is a JPEG."""
    with opened(path) as image:
        return image.format in _FORMATS
    return False


def read_jpeg(path: Path) -> Jpeg | None:
    """Return the luminance of a JPEG file; None for a file of another format.

    Raises ReadError for a file whose first channel is not luminance (CMYK).
    """
    with opened(path) as image:
        if image.format not in _FORMATS:
            return None
        if image.mode not in ("L", "RGB") or image.info.get("adobe_transform") == 0:
            raise ReadError(f"its colours are {image.mode} without luminance; expected YCbCr or grey", path.name)
        table = np.array(image.quantization[image.layer[0][3]], np.float64).reshape(_BLOCK, _BLOCK)
        image.draft("L", image.size)  # decodes the luminance as stored, without a way through RGB
        return Jpeg(luma=np.asarray(image), table=table)


def residuals(predicted: Array, jpeg: Jpeg, corner: tuple[int, int]) -> Residuals:
    """Return the residuals of a predicted piece against a file, whose rows and columns begin at ``corner``.

    Only blocks that lie entirely in the piece count, and none that a decoder clips at 0 or 255. The rounded pixels of
    a flat block do not tell which multiples the file stores, so those of the prediction count if they decode to the
    same pixels.
    """
    skip = tuple(-start % _BLOCK for start in corner)
    mine = _luma(predicted)[skip[0] :, skip[1] :]
    theirs = jpeg.luma[corner[0] + skip[0] :, corner[1] + skip[1] :][: mine.shape[0], : mine.shape[1]]
    blocks, of_file = _blocks(mine), _blocks(theirs)
    whole = ~((of_file == 0) | (of_file == 255)).any(axis=(1, 2))
    blocks, of_file = blocks[whole], of_file[whole]
    coefficients, table = _transformed(blocks), jpeg.table
    stored = np.round(_transformed(of_file) / table) * table
    saved = np.copysign(np.floor(np.abs(coefficients) / table + 0.5), coefficients) * table  # as libjpeg rounds
    decoded = _COSINES.T @ saved @ _COSINES + 128
    is_decoded = (np.abs(decoded - of_file) <= 0.5 + _DECODER).all(axis=(1, 2), keepdims=True)
    return Residuals(distances=coefficients - np.where(is_decoded, saved, stored), quanta=table)


def _luma(x: Array) -> Array:
    """Return the luminance of RGB, in the integers of libjpeg."""
    if x.ndim == 2:
        return x
    red, green, blue = np.moveaxis(x.astype(np.int32), -1, 0)
    return np.asarray((19595 * red + 38470 * green + 7471 * blue + 2**15) >> 16, np.uint8)


def _blocks(x: Array) -> Array:
    rows, columns = (length // _BLOCK for length in x.shape)
    tiles = x[: rows * _BLOCK, : columns * _BLOCK].reshape(rows, _BLOCK, columns, _BLOCK)
    return tiles.swapaxes(1, 2).reshape(-1, _BLOCK, _BLOCK)


def _transformed(blocks: Array) -> Array:
    coefficients: Array = _COSINES @ (blocks.astype(np.float64) - 128) @ _COSINES.T
    return coefficients


def _cosines() -> Array:
    """Return the orthonormal cosine transform of eight numbers, as a matrix."""
    frequencies = np.arange(_BLOCK)[:, None] * (2 * np.arange(_BLOCK) + 1) * np.pi / (2 * _BLOCK)
    lowest = np.where(np.arange(_BLOCK) == 0, 0.5**0.5, 1.0)
    return np.asarray(np.cos(frequencies) * lowest[:, None] / 2)


_COSINES = _cosines()
