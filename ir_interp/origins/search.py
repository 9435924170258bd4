"""Search for the library call that resized an image: all known calls are tried, alone and with the usual steps.

A trial is the distance of a call's results from those of all pairs.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ir_interp.errors import ShapeError, SpecError
from ir_interp.options.shared_options import Progress, silent
from ir_interp.origins.candidates import (
    SHOWN,
    SIZES,
    UNLIKELY,
    Candidate,
    Identified,
    Pair,
    joined,
    random_image,
    residuals,
)
from ir_interp.origins.further_steps import content, cropped, factored, fitted, padded, resized_before
from ir_interp.origins.layouts import (
    PLAIN,
    KnownCall,
    Layout,
    Piece,
    Preparation,
    Steps,
    channels,
    known_calls,
    likeliest,
    predicted,
    preparations,
    whole,
)
from ir_interp.shapes import Array
from ir_interp.specs import ResizeSpec

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


_SIDE = 256  # of a piece that is tried first
_TRIED = 8  # places of a piece along an axis
_SETTLED = 4e-4  # of the largest value: a smaller mean difference means the right position, without a crop
_DRAFTS = (2, 4, 8)  # how many times smaller libjpeg decodes a file
_BORDER = 12.0  # of 255: the amount by which JPEG changes a border of one colour


def identified(pairs: Sequence[Pair], progress: Progress = silent) -> Identified:
    """Return the possible origins of the second image of every pair; ``progress`` is called with each step."""
    _check(pairs)
    prepared = preparations(pairs[0].before, pairs[0].after, pairs[0].orientation)
    if not prepared:
        counts = " and ".join(str(channels(x)) for x in (pairs[0].before, pairs[0].after))
        raise ShapeError(f"images of {counts} channels are not a pair: no known step converts one to the other")
    nearest: list[Trial] = []
    for place, (text, stage) in enumerate(_STAGES.items()):
        progress(text, place, len(_STAGES))
        trials = sorted(_trials(stage(prepared, pairs), pairs), key=lambda trial: trial.rank)
        if any(trial.fits for trial in trials):
            return _told(trials, pairs)
        nearest = sorted([*nearest, *trials[: len(trials) if not nearest else SHOWN]], key=lambda trial: trial.rank)
        if nearest and _is_settled(nearest[0], pairs):
            break
    return _told(nearest, pairs)


def _is_settled(trial: Trial, pairs: Sequence[Pair]) -> bool:
    """Return whether a trial has the right position; a box differs from a crop at its borders alone."""
    is_box = any(layout.box is not None for layout in trial.setting.layouts)
    return pairs[0].jpeg is None and not is_box and trial.mean <= _SETTLED * _brightest(pairs)


def _brightest(pairs: Sequence[Pair]) -> float:
    return max(float(np.abs(pair.after).max()) for pair in pairs)


def _check(pairs: Sequence[Pair]) -> None:
    if not pairs:
        raise SpecError("no images to compare; expected at least one pair")
    for pair in pairs:
        pair.check()
    if len({pair.jpeg is None for pair in pairs}) > 1:
        raise ShapeError("some of the resized images are JPEG files; expected all of them, or none")
    if len({(pair.before.dtype, channels(pair.before), channels(pair.after)) for pair in pairs}) > 1:
        raise ShapeError("pairs of several types or numbers of channels; expected one of each")


Stage = Callable[[Sequence[Preparation], Sequence[Pair]], Iterable[tuple[Preparation, Steps]]]


def _found_by(find: Callable[[Array, Array], Iterable[Steps]]) -> Stage:
    """Return a stage of steps found in the first pair: in the original image, and after its likeliest preparation."""

    def stage(prepared: Sequence[Preparation], pairs: Sequence[Pair]) -> Iterator[tuple[Preparation, Steps]]:
        for layout in dict.fromkeys((prepared[0], likeliest(prepared))):
            for steps in find(layout.of(pairs[0].before), pairs[0].after):
                yield layout, steps

    return stage


def _letterboxed(prepared: Sequence[Preparation], pairs: Sequence[Pair]) -> Iterator[tuple[Preparation, Steps]]:
    pair, tolerance = pairs[0], 0.0 if pairs[0].jpeg is None else _BORDER
    place = content(pair.after, tolerance)
    if place is not None:
        best = likeliest(preparations(pair.before, pair.after[place], pair.orientation))
        for steps in padded(tolerance):
            yield best, steps


def _twice(prepared: Sequence[Preparation], pairs: Sequence[Pair]) -> Iterator[tuple[Preparation, Steps]]:
    for steps in resized_before(likeliest(prepared), pairs[0].before, pairs[0].after):
        yield steps, PLAIN


def _drafted(prepared: Sequence[Preparation], pairs: Sequence[Pair]) -> Iterator[tuple[Preparation, Steps]]:
    """Yield JPEG files decoded at a fraction of their size, but at least at the size of the result."""
    if not all(pair.original for pair in pairs):
        return
    sizes = [size for pair in pairs for size in zip(pair.before.shape[:2], pair.after.shape[:2], strict=True)]
    ratio = min(length // size for length, size in sizes)
    for scale in (draft for draft in _DRAFTS if draft <= ratio):
        text = ", ".join(filter(None, (prepared[0].text, f"decoded by Image.draft at 1/{scale}")))
        yield replace(prepared[0], draft=scale, text=text), PLAIN
        if any(pair.box(scale) for pair in pairs):
            yield replace(prepared[0], draft=scale, text=text, is_boxed=True), PLAIN


_STAGES: dict[str, Stage] = {
    "trying the whole image": lambda prepared, pairs: ((prepared[0], PLAIN), *_drafted(prepared, pairs)),
    "trying ImageOps.fit": _found_by(fitted),
    "trying turned images": lambda prepared, pairs: ((layout, PLAIN) for layout in prepared[1:]),
    "trying factors": _found_by(factored),
    "trying letterboxes": _letterboxed,
    "trying crops": _found_by(cropped),
    "trying two resizes": _twice,
}
"""Steps around a call, the simplest first; the search ends with the first stage in which a call fits."""


def _trials(steps: Iterable[tuple[Preparation, Steps]], pairs: Sequence[Pair]) -> Iterator[Trial]:
    """Yield every call in every layout that differs from the previous ones."""
    seen = set()
    images: dict[Preparation, list[Array]] = {}
    for prepared, around in steps:
        befores = images.setdefault(prepared, [prepared.of(pair.decoded(prepared.draft)) for pair in pairs])
        layouts = [around.layout(x, pair.after) for x, pair in zip(befores, pairs, strict=True)]
        known = tuple(layout for layout in layouts if layout is not None)
        if prepared.is_boxed:
            known = tuple(
                replace(piece, box=pair.box(prepared.draft)) for piece, pair in zip(known, pairs, strict=True)
            )
        key = (prepared, *(layout.key for layout in known))
        if len(known) == len(pairs) and key not in seen:
            seen.add(key)
            texts = tuple(filter(None, (prepared.text, around.text)))
            first = prepared.first.name if prepared.first is not None else ""
            yield from _of_calls(Setting(layouts=known, pairs=pairs, texts=texts, first=first))


def _of_calls(setting: Setting) -> list[Trial]:
    """Return every call in a setting; for large images a piece is tried first, then the likeliest calls as a whole."""
    results = [pair.after[layout.place] for layout, pair in zip(setting.layouts, setting.pairs, strict=True)]
    pieces, wholes = [_piece(y) for y in results], [whole(y) for y in results]
    by_piece = (tried(call, setting, pieces) for call in known_calls(setting.layouts))
    trials = sorted((trial for trial in by_piece if trial is not None), key=lambda trial: trial.rank)
    if pieces == wholes or setting.pairs[0].jpeg is not None:  # only likelihoods of the same piece can be compared
        return trials
    likely = [trial for trial in trials if trial.fits] or trials[:SHOWN]
    again = [(tried(trial.known, setting, wholes), trial.mask) for trial in likely]
    complete = [replace(trial, mask=mask) for trial, mask in again if trial is not None]
    return [*complete, *(trial for trial in trials if trial not in likely)]


def _piece(after: Array) -> Piece:
    """Return the rows and columns of the piece with the most contrast of a large image; all of a small one."""
    starts = [range(0, max(length - _SIDE, 0) + 1, max(_SIDE, length // _TRIED)) for length in after.shape[:2]]
    ends = [
        [(start, min(start + _SIDE, length)) for start in those]
        for those, length in zip(starts, after.shape, strict=False)
    ]
    pieces = [(slice(*down), slice(*across)) for down, across in itertools.product(*ends)]
    return max(pieces, key=lambda piece: float(after[piece].std()))


def _told(trials: Sequence[Trial], pairs: Sequence[Pair]) -> Identified:
    """Return trials as candidates, the likeliest first, with "none of these" among them."""
    is_jpeg = pairs[0].jpeg is not None
    candidates = _likely(trials) if is_jpeg else _compared(trials)
    fitting = [trial for trial, candidate in zip(trials, candidates, strict=False) if candidate.fits]
    further = (
        _further([trial.known.spec for trial in fitting], fitting[0].setting.layouts[0].x) if len(fitting) > 1 else None
    )
    return Identified(candidates=candidates, telling=None if is_jpeg else _telling(trials), further=further)


def _compared(trials: Sequence[Trial]) -> tuple[Candidate, ...]:
    """Return calls as candidates; "none of these" is first if no call fits."""
    none = Candidate(calls=(), fits=not any(trial.fits for trial in trials))
    return (*(trial.candidate() for trial in trials), none)


def _likely(trials: Sequence[Trial]) -> tuple[Candidate, ...]:
    """Return the likelihoods of the calls for JPEG files; "none of these" has that of the best call with noise added.

    All calls have the same prior probability, however many versions each has.
    """
    names = [trial.candidate().names for trial in trials]
    every = [trial.likelihoods for trial in trials if trial.likelihoods is not None]
    quiet = [float(scores[0]) - math.log(names.count(name)) for scores, name in zip(every, names, strict=True)]
    noisy = max((float(scores[1:].max()) for scores in every), default=0.0)
    shares = np.exp(np.array([*quiet, noisy]) - max((*quiet, noisy)))
    shares /= shares.sum()
    candidates = [trial.candidate(float(share)) for trial, share in zip(trials, shares, strict=False)]
    is_open = bool(shares[-1] >= UNLIKELY) or not any(candidate.fits for candidate in candidates)
    return (*candidates, Candidate(calls=(), likelihood=float(shares[-1]), fits=is_open))


def _telling(trials: Sequence[Trial]) -> int:
    """Return the number of values on which the best call differs from any other call that was compared on them."""
    if not trials:
        return 0
    best = trials[0].mask
    others = [trial.mask for trial in trials[1:] if trial.mask.shape == best.shape]
    differing = np.bitwise_or.reduce(others, axis=0) & ~best if others else best[:0]
    return int(np.count_nonzero(np.unpackbits(differing)))


def _further(specs: Sequence[ResizeSpec], x: Array) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """Return the sizes at which most of some resizes differ; None if they never do."""
    best, most = None, 1
    for place, (lengths, sizes) in enumerate(SIZES):
        image = random_image(lengths, x.dtype, channels(x), place)
        layout = Layout(x=image, sizes=sizes, place=(slice(0, sizes[0]), slice(0, sizes[1])))
        images = (predicted(spec, layout, layout.place) for spec in dict.fromkeys(specs))
        different = len({y.tobytes() for y in images if y is not None})
        if different > most:
            best, most = (lengths, sizes), different
    return best
