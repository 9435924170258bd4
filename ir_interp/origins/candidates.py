"""Image pairs before and after a resize, and candidates for the origin of an image: the calls that fit them.

Pairs are checked, read from files, or produced by a function; a further pair separates candidates. A JPEG stores each
coefficient of the cosine transform of 8x8 pixels as a multiple of a number in its table. An image that was saved
therefore has coefficients within half of that number around those of the file; an image resized by another call has
some beyond. The excess is modelled as noise, and the result is the likeliest amount of noise.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ir_interp.errors import ReadError, ShapeError
from ir_interp.executor.resize import as_array
from ir_interp.files.kinds import FileKind
from ir_interp.origins.layouts import versions, without_version
from ir_interp.records import Record
from ir_interp.shapes import Array
from ir_interp.views import likeness
from ir_interp.views.image_arrays import opened, orientation

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


_MOST = 10  # lines of fitting calls
SHOWN = 3  # candidates shown if none fits
ENOUGH = 32  # values on which the calls differ; fewer may agree by chance with a pipeline that is not tried
UNLIKELY = 1e-3  # likelihood below which a candidate of a JPEG file does not fit
_LEAST = 1e-9  # smallest likelihood that is shown; no model of noise is more exact
_OTHERS = "another library, other settings or further steps"
_NONE = f"none of these: {_OTHERS}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate(Record):
    """A library resize: its calls, the steps around it, and the distance of its result from the image.

    ``calls`` are empty for the candidate "none of these". ``first`` is the call of an earlier resize. ``approximate``
    is the reason if some of its bytes are unknown. For JPEG files ``likelihood`` is its share of all candidates, and
    ``outside`` the number of coefficients that it does not explain; otherwise None.
    """

    calls: tuple[str, ...]
    steps: tuple[str, ...] = ()
    first: str = ""
    unequal: int = 0
    count: int = 0
    largest: float = 0.0
    mean: float = 0.0
    approximate: str = ""
    fits: bool = False
    likelihood: float | None = None
    outside: int | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The calls without their versions, each with the earlier resize, if any."""
        before = f"{without_version(self.first)}, then " if self.first else ""
        return tuple(dict.fromkeys(before + without_version(call) for call in self.calls))

    @property
    def distance(self) -> str:
        """The distance of the result from the image, or for JPEG files its likelihood, as text."""
        if self.likelihood is not None:
            share = f"{self.outside} of {self.count} JPEG coefficients are unexplained"
            return f"likelihood {_share(self.likelihood)}, {share}"
        if not self.unequal:
            return f"equal, all {self.count} values"
        share = f"{self.unequal} of {self.count} values differ"
        apart = f"{share}, by up to {self.largest:.3g}, by {self.mean:.3g} on average"
        return apart + (f" ({self.approximate})" if self.approximate else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Identified(Record):
    """The possible origins of an image: all candidates, the likeliest first; "none of these" is always among them.

    ``telling`` counts the values on which the tried calls differ; None for JPEG files, which have likelihoods.
    ``further`` is the size of an image and the size to resize it to, as (height, width), on which the fitting
    candidates differ; None if only one fits, or if none of the tried sizes separates them.
    """

    KEYS = (
        "is_sure as sure",
        "call",
        "versions",
        "steps",
        "fitting",
        "nearest",
        "none_of_these",
        "telling",
        "further",
    )

    candidates: tuple[Candidate, ...]
    telling: int | None = None
    further: tuple[tuple[int, int], tuple[int, int]] | None = None

    @property
    def fitting(self) -> tuple[Candidate, ...]:
        """The calls that can have produced all the images."""
        return tuple(candidate for candidate in self.candidates if candidate.fits and candidate.calls)

    @property
    def nearest(self) -> tuple[Candidate, ...]:
        """The likeliest candidates, as many as are shown if none fits."""
        return self.candidates[:SHOWN]

    @property
    def none_of_these(self) -> tuple[Candidate, ...]:
        """The candidate that stands for everything that was not tried."""
        return tuple(candidate for candidate in self.candidates if not candidate.calls)

    @property
    def steps(self) -> tuple[str, ...]:
        """The steps around the likeliest fitting call."""
        return self.fitting[0].steps if self.fitting else ()

    @property
    def call(self) -> str | None:
        """The call that all fitting candidates share, whatever its version; None if several fit, or none."""
        return next(iter(self._common), None)

    @property
    def _common(self) -> list[str]:
        """The names that all fitting candidates have."""
        fitting = self.fitting
        return [name for name in fitting[0].names if all(name in group.names for group in fitting)] if fitting else []

    @property
    def versions(self) -> tuple[int, ...]:
        """The versions of the library in which the call produces the images."""
        if self.call is None:
            return ()
        return _known([call for group in self.fitting for call in group.calls], self.call)

    @property
    def is_sure(self) -> bool:
        """Whether the call is certain: it is the only one that fits, on enough values to exclude chance.

        It is never certain after an earlier resize, since only the likeliest of these are tried.
        """
        if self.call is None or any(candidate.fits for candidate in self.none_of_these):
            return False
        return not self._is_twice and (self.telling is None or self.telling >= ENOUGH)

    @property
    def _is_twice(self) -> bool:
        return any(group.first for group in self.fitting)

    @property
    def text(self) -> str:
        """The call, the versions that agree, and what would separate the candidates, as lines of text."""
        if not self.fitting:
            lines = ["no tried call fits; the nearest:", *self._listed(self.nearest)]
        elif self.call is None:
            every = list(self._listed(self.fitting))
            more = [f"  and {len(every) - _MOST} more"] if len(every) > _MOST else []
            lines = ["several calls fit:", *every[:_MOST], *more]
        else:
            best = replace(self.fitting[0], likelihood=_sum(self.fitting))
            lines = [f"{self._title}: {best.distance}", *self._agreeing()]
        return "\n".join([*lines, *self._doubt(), *self._advice()])

    @property
    def _title(self) -> str:
        """The call, its other names, and the steps around it."""
        return "; ".join((" = ".join(self._common), *self.fitting[0].steps))

    def _listed(self, candidates: Sequence[Candidate]) -> Iterator[str]:
        """Yield a line for each call; versions at the same distance from the image share a line."""
        groups: dict[tuple[object, ...], list[Candidate]] = {}
        for candidate in candidates:
            if candidate.calls:
                groups.setdefault((candidate.names, candidate.steps, candidate.first, candidate.distance), []).append(
                    candidate
                )
        for those in groups.values():
            calls = [call for group in those for call in group.calls]
            named = " = ".join(f"{name} ({_versions(calls, name)})" for name in those[0].names)
            best = replace(those[0], likelihood=_sum(those))
            yield f"  {'; '.join((named, *best.steps))}: {best.distance}"

    def _agreeing(self) -> Iterator[str]:
        """Yield the versions that agree, and other steps that fit."""
        calls = [call for group in self.fitting for call in group.calls]
        for name in self._common:
            count, of_all = len(_known(calls, name)), len(_known([name], name))
            verb = "agree" if count > 1 else "only" if of_all > 1 else "is the only one known"
            yield f"  {_versions(calls, name)} {verb}" + (f" ({name})" if len(self._common) > 1 else "")
        others = dict.fromkeys(group.steps for group in self.fitting if group.steps != self.fitting[0].steps)
        yield from (f"  {'; '.join(steps) or 'no further step'}: fits as well" for steps in others)

    def _doubt(self) -> Iterator[str]:
        """Yield the likelihood that none of the calls produced the image."""
        if self.fitting:
            none = next(iter(self.none_of_these), None)
            if none is not None and none.likelihood is not None:
                yield f"  {_NONE}: likelihood {_share(none.likelihood)}"
            elif self.telling is not None:
                if self.telling >= ENOUGH and not self._is_twice:
                    yield f"  no other call explains all {self.fitting[0].count} values"
                else:
                    yield f"  {_OTHERS} are not excluded: {self.telling} values tell the tried calls apart"

    def _advice(self) -> Iterator[str]:
        if self.further is not None:
            (height, width), (rows, columns) = self.further
            lossless = "" if self.telling is not None else ", saved as PNG"
            them = "the versions" if self.call is not None else "them"
            yield f"to tell {them} apart, test an image of {height}x{width} resized to {rows}x{columns}{lossless}"
        elif len(self.fitting) > 1 and not self._is_twice:
            yield "none of the tried sizes separates them"


def _known(calls: Sequence[str], name: str) -> tuple[int, ...]:
    """Return the library versions of a call that are among some calls; of two resizes, those of the last."""
    return versions(calls, name.rpartition(", then ")[2])


def _versions(calls: Sequence[str], name: str) -> str:
    """Return these versions as text: ``versions 13, 12 and 11``."""
    *others, last = map(str, _known(calls, name))
    return f"versions {', '.join(others)} and {last}" if others else f"version {last}"


def _share(likelihood: float) -> str:
    return f"{likelihood:.2g}" if likelihood >= _LEAST else f"below {_LEAST}"


def _sum(candidates: Sequence[Candidate]) -> float | None:
    """Return the total likelihood of some candidates; None if none has one."""
    likelihoods = [candidate.likelihood for candidate in candidates if candidate.likelihood is not None]
    return sum(likelihoods) if likelihoods else None
