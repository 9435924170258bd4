"""Candidates for the origin of an image: the library calls that fit, and a further image pair that separates them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TypedDict, cast

from ir_interp.origins.library_calls import versions, without_version

_MOST = 10  # lines of fitting calls
SHOWN = 3  # candidates shown if none fits
ENOUGH = 32  # values on which the calls differ; fewer may agree by chance with a pipeline that is not tried
UNLIKELY = 1e-3  # likelihood below which a candidate of a JPEG file does not fit
_LEAST = 1e-9  # smallest likelihood that is shown; no model of noise is more exact
_NONE = "none of these: another library, other settings or further steps"


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
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


class IdentifiedRecord(TypedDict):
    """Which call made an image, in JSON; ``further`` is an image size and an output size that tell more."""

    sure: bool
    call: str | None
    versions: tuple[int, ...]
    steps: tuple[str, ...]
    fitting: list[Candidate]
    nearest: list[Candidate]
    none_of_these: list[Candidate]
    telling: int | None
    further: tuple[tuple[int, int], tuple[int, int]] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Identified:
    """The possible origins of an image: all candidates, the likeliest first; "none of these" is always among them.

    ``telling`` counts the values on which the tried calls differ; None for JPEG files, which have likelihoods.
    ``further`` is the size of an image and the size to resize it to, as (height, width), on which the fitting
    candidates differ; None if only one fits, or if none of the tried sizes separates them.
    """

    candidates: tuple[Candidate, ...]
    telling: int | None = None
    further: tuple[tuple[int, int], tuple[int, int]] | None = None

    @property
    def fitting(self) -> tuple[Candidate, ...]:
        """The calls that can have produced all the images."""
        return tuple(candidate for candidate in self.candidates if candidate.fits and candidate.calls)

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
        if self.call is None or any(candidate.fits for candidate in self.candidates if not candidate.calls):
            return False
        return not self._is_twice and (self.telling is None or self.telling >= ENOUGH)

    @property
    def _is_twice(self) -> bool:
        return any(group.first for group in self.fitting)

    @property
    def text(self) -> str:
        """The call, the versions that agree, and what would separate the candidates, as lines of text."""
        if not self.fitting:
            lines = ["no tried call fits; the nearest:", *self._listed(self.candidates[:SHOWN])]
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
            none = next((candidate for candidate in self.candidates if not candidate.calls), None)
            if none is not None and none.likelihood is not None:
                yield f"  {_NONE}: likelihood {_share(none.likelihood)}"
            elif self.telling is not None:
                weight = "excluded" if self.telling >= ENOUGH and not self._is_twice else "not excluded"
                yield f"  {_NONE}: {weight}, {self.telling} values tell the tried calls apart"

    def _advice(self) -> Iterator[str]:
        if self.further is not None:
            (height, width), (rows, columns) = self.further
            lossless = "" if self.telling is not None else ", saved as PNG"
            them = "the versions" if self.call is not None else "them"
            yield f"to tell {them} apart, test an image of {height}x{width} resized to {rows}x{columns}{lossless}"
        elif len(self.fitting) > 1 and not self._is_twice:
            yield "none of the tried sizes separates them"

    def record(self) -> IdentifiedRecord:
        """Return it as data for JSON."""
        return {
            "sure": self.is_sure,
            "call": self.call,
            "versions": self.versions,
            "steps": self.fitting[0].steps if self.fitting else (),
            "fitting": _records(self.fitting),
            "nearest": _records(self.candidates[:SHOWN]),
            "none_of_these": _records(candidate for candidate in self.candidates if not candidate.calls),
            "telling": self.telling,
            "further": self.further,
        }


def _records(candidates: Iterable[Candidate]) -> list[Candidate]:
    return [cast(Candidate, asdict(candidate)) for candidate in candidates]


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
