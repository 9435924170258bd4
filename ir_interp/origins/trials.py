"""Trials: the distance of a call's results from those of all pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ir_interp.array_types import Array
from ir_interp.origins.candidates import UNLIKELY, Candidate
from ir_interp.origins.jpeg_likelihood import joined, residuals
from ir_interp.origins.layouts import Layout, Piece, predicted
from ir_interp.origins.library_calls import KnownCall
from ir_interp.origins.pairs import Pair

_RARE = 1e-3  # of the values of a call whose bytes are not all known: the share that may differ by 1
_UNEXPLAINED = 0.01  # of the coefficients of a JPEG; the right call leaves up to 0.005, at quality 95 and 100
_CLOSE = 3e-5  # of the largest value: the difference of floats summed in two orders, at float32 coordinates


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Setting:
    """The layout of all pairs: the steps around a call, as texts, and the call of an earlier resize."""

    layouts: tuple[Layout, ...]
    pairs: Sequence[Pair]
    texts: tuple[str, ...] = ()
    first: str = ""

    @property
    def closeness(self) -> float:
        """The distance within which floats count as equal; 0 for integers."""
        if self.pairs[0].before.dtype.kind != "f":
            return 0.0
        return _CLOSE * max(float(np.abs(pair.before).max()) for pair in self.pairs)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Trial:
    """A call in a setting, and the distance of its results from the actual ones.

    ``unequal`` values differ by more than the order of a sum explains. ``mask`` has a bit for each value that was
    compared first, packed, since many trials of large images are held at once. For JPEG files ``likelihoods`` has one
    entry per amount of noise, as logarithms, and ``coefficients`` replace values: the number ``outside`` of their
    quantisation, and the total.
    """

    known: KnownCall
    setting: Setting
    unequal: int
    mask: Array
    count: int
    largest: float
    mean: float
    likelihoods: Array | None = None
    outside: int | None = None
    coefficients: int = 0

    @property
    def fits(self) -> bool:
        """Whether the call produces the results; for JPEG files, whether it explains them, and no noise is likelier."""
        if self.likelihoods is not None:
            is_explained = (self.outside or 0) <= _UNEXPLAINED * self.coefficients
            return is_explained and int(self.likelihoods.argmax()) == 0
        is_rare = self.unequal <= max(1, _RARE * self.count) and self.largest <= 1
        return not self.unequal or (bool(self.known.reason) and is_rare)

    @property
    def rank(self) -> tuple[float, ...]:
        """The sort key of trials, the likeliest first."""
        if self.likelihoods is not None:
            return (-float(self.likelihoods.max()) / max(1, self.coefficients),)
        return (not self.fits, self.mean, self.largest)

    def candidate(self, likelihood: float | None = None) -> Candidate:
        """Return the trial as a candidate; ``likelihood`` is that of a JPEG file."""
        return Candidate(
            calls=self.known.calls,
            steps=self.setting.texts,
            first=self.setting.first,
            unequal=self.unequal,
            count=self.count if self.likelihoods is None else self.coefficients,
            largest=self.largest,
            mean=self.mean,
            approximate=self.known.reason if self.unequal else "",
            fits=self.fits and (likelihood is None or likelihood >= UNLIKELY),
            likelihood=likelihood,
            outside=self.outside,
        )


def tried(known: KnownCall, setting: Setting, pieces: Sequence[Piece]) -> Trial | None:
    """Return the distance of a call from pieces of the results, relative to their positions; None if it cannot run."""
    apart, parts = [], []
    for layout, pair, piece in zip(setting.layouts, setting.pairs, pieces, strict=True):
        y = predicted(known.spec, layout, piece)
        if y is None:
            return None
        apart.append(np.abs(y.astype(np.float64) - pair.after[layout.place][piece]).reshape(-1))
        if pair.jpeg is not None:
            rows, columns = (part.start + place.start for part, place in zip(piece, layout.place, strict=True))
            parts.append(residuals(y, pair.jpeg, (rows, columns)))
    every, all_parts = np.concatenate(apart), joined(parts) if parts else None
    mask = every > setting.closeness
    return Trial(
        known=known,
        setting=setting,
        unequal=int(np.count_nonzero(mask)),
        mask=np.packbits(mask),
        count=every.size,
        largest=float(every.max()),
        mean=float(every.mean()),
        likelihoods=None if all_parts is None else all_parts.log_likelihoods(),
        outside=None if all_parts is None else all_parts.outside,
        coefficients=0 if all_parts is None else all_parts.distances.size,
    )
