"""Which image library made an image of another: every call that is known, tried, and what it makes compared."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from ir_interp.errors import ShapeError, SpecError
from ir_interp.resize_op import ResizeOp
from ir_interp.spec import ResizeSpec
from ir_interp.views.candidates import SHOWN, Candidate, Identified
from ir_interp.views.library_calls import Array, Known, Pair, known_calls
from ir_interp.views.likeness import check_numbers, resized

Piece = tuple[slice, slice]
"""Rows and columns of an image."""

_RARE = 1e-3  # of the values of a call whose bytes are not all known: so many may differ, by 1
_CLOSE = 3e-5  # of the largest value: what floats differ by that are summed in two orders, at float32 coordinates
_SIDE = 256  # of a piece that is tried first
_TRIED = 8  # places of a piece along an axis
_SIZES = (((37, 53), (16, 19)), ((16, 19), (37, 53)), ((64, 30), (21, 28)), ((45, 90), (30, 30)), ((24, 24), (48, 48)))


def identified(pairs: Sequence[Pair]) -> Identified:
    """Return what may have made the second image of every pair of the first."""
    if not pairs:
        raise SpecError("there is no pair of images")
    for before, after in pairs:
        _check(before, after)
        check_numbers(before)
        check_numbers(after)
    is_float = pairs[0][0].dtype.kind == "f"
    greatest = max(float(np.abs(before).max()) for before, _ in pairs) if is_float else 0.0
    known = known_calls(pairs)
    pieces = [_piece(after) for _, after in pairs]
    found = _ranked(known, pairs, pieces, greatest)
    if any(each is not None for each in pieces):  # what differs there is no candidate for the whole
        likely = [spec for spec, each in found if each.fits] or [spec for spec, _ in found[:SHOWN]]
        whole = _ranked({spec: known[spec] for spec in likely}, pairs, [None] * len(pairs), greatest)
        found = [*whole, *((spec, each) for spec, each in found if spec not in likely)]
    fitting = [spec for spec, candidate in found if candidate.fits]
    further = _further(fitting, pairs[0][0]) if len(fitting) > 1 else None
    return Identified(candidates=tuple(candidate for _, candidate in found), further=further)


def _ranked(
    known: Known, pairs: Sequence[Pair], pieces: Sequence[Piece | None], greatest: float
) -> list[tuple[ResizeSpec, Candidate]]:
    """Return what is found of resizes on the pairs, or on pieces of them, the likeliest first."""
    found = []
    for spec, (calls, reason) in known.items():
        apart = _apart(spec, calls[0], pairs, pieces)
        if apart is not None:
            found.append((spec, _candidate(calls, reason, apart, greatest)))
    return sorted(found, key=lambda each: (not each[1].fits, each[1].mean, each[1].largest))


def _piece(after: Array) -> Piece | None:
    """Return the rows and columns of a piece of a large image, the one of most contrast; None of a small one."""
    starts = [range(0, max(length - _SIDE, 0) + 1, max(_SIDE, length // _TRIED)) for length in after.shape[:2]]
    pieces = [tuple(slice(start, start + _SIDE) for start in corner) for corner in itertools.product(*starts)]
    if len(pieces) == 1:
        return None
    rows, columns = max(pieces, key=lambda piece: float(after[piece].std()))
    return rows, columns


def made_by(function: Callable[[Array, tuple[int, int]], Any], dtype: str, channels: int) -> list[Pair]:
    """Return pairs that a function makes: it takes an image and (height, width), and returns it resized."""
    pairs = []
    for place, (lengths, sizes) in enumerate(_SIZES):
        before = _random(lengths, np.dtype(dtype), channels, place)
        pairs.append((before, np.asarray(function(before.copy(), sizes))))
    return pairs


def _random(lengths: tuple[int, int], dtype: np.dtype[Any], channels: int, seed: int) -> Array:
    rng, shape = np.random.default_rng(seed), lengths if channels == 1 else (*lengths, channels)
    if dtype.kind == "f":
        return rng.random(shape).astype(dtype)
    return rng.integers(0, min(np.iinfo(dtype).max, 2**16 - 1), shape, endpoint=True).astype(dtype)


def _check(before: Array, after: Array) -> None:
    same = before.dtype == after.dtype and before.ndim == after.ndim and before.shape[2:] == after.shape[2:]
    if before.ndim not in (2, 3) or not same or not before.size or not after.size:
        shapes = f"{before.dtype} {list(before.shape)} and {after.dtype} {list(after.shape)}"
        raise ShapeError(f"{shapes} are no pair: expected images [height, width, channels] of one type and channels")


def _apart(spec: ResizeSpec, name: str, pairs: Sequence[Pair], pieces: Sequence[Piece | None]) -> list[Array] | None:
    """Return how far what a resize makes of each image is from what is known; None where it cannot be run."""
    found = []
    for (before, after), piece in zip(pairs, pieces, strict=True):
        y = _made(spec, name, before, (after.shape[0], after.shape[1]), piece)
        if y is None:
            return None
        found.append(np.abs(y.astype(np.float64) - (after if piece is None else after[piece])))
    return found


def _made(spec: ResizeSpec, name: str, x: Array, sizes: tuple[int, int], piece: Piece | None = None) -> Array | None:
    op = ResizeOp(name=name, where=name, spec=spec, dialect=name, version=0)
    with suppress(SpecError):
        return resized(op, x, sizes, None, piece)
    return None


def _candidate(calls: tuple[str, ...], reason: str, apart: Sequence[Array], greatest: float) -> Candidate:
    """Return what is found of a resize; ``greatest`` is the largest value of floats, 0 of integers."""
    every = np.concatenate([each.reshape(-1) for each in apart])
    floor = _CLOSE * greatest if greatest else 0.0
    unequal, largest = int(np.count_nonzero(every > floor)), float(every.max())
    rare = bool(reason) and unequal <= max(1, _RARE * every.size) and largest <= 1
    return Candidate(
        calls=calls,
        unequal=unequal,
        count=every.size,
        largest=largest,
        mean=float(every.mean()),
        approximate=reason if unequal else "",
        fits=not unequal or rare,
    )


def _further(specs: Sequence[ResizeSpec], x: Array) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """Return the sizes at which most of some resizes differ; None where none do."""
    channels = x.shape[2] if x.ndim == 3 else 1
    best, most = None, 1
    for place, (lengths, sizes) in enumerate(_SIZES):
        image = _random(lengths, x.dtype, channels, place)
        made = [_made(spec, "", image, sizes) for spec in specs]
        groups: list[Array] = []
        for y in made:
            if y is not None and not any(np.array_equal(y, each) for each in groups):
                groups.append(y)
        if len(groups) > most:
            best, most = (lengths, sizes), len(groups)
    return best
