"""What an image may have been made by: the calls of libraries that fit, and which further pair tells more."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TypedDict, cast

from ir_interp.origins.library_calls import versions, without_version

_MOST = 10  # lines of calls that fit
SHOWN = 3  # of the candidates where none fits
ENOUGH = 32  # values on which the calls differ: fewer may agree by chance with a pipeline that is not tried
UNLIKELY = 1e-3  # a candidate of a JPEG file that is less likely does not fit
_LEAST = 1e-9  # of the likelihoods that are shown: no model of noise is that good
_NONE = "none of these: another library, other settings or further steps"


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A resize of libraries: how it can be called, the steps around it, and how far its result is from the image.

    ``calls`` are empty for the candidate "none of these". ``first`` is the call of an earlier resize.
    ``approximate`` says why not all of its bytes are known, if so. Of a JPEG file ``likelihood`` is its share of all
    candidates, and ``outside`` counts the coefficients that it does not explain; None of others.
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
        """How far its result is from the image, or how likely that is saved from it."""
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
    """What may have made an image: all candidates, the likeliest first; "none of these" is always among them.

    ``telling`` counts the values on which the tried calls differ; None of JPEG files, where likelihoods say it.
    ``further`` is the height and width of an image, and those to resize it to, on which the fitting candidates differ;
    None where only one fits, or none of the sizes that were tried tells them apart.
    """

    candidates: tuple[Candidate, ...]
    telling: int | None = None
    further: tuple[tuple[int, int], tuple[int, int]] | None = None

    @property
    def fitting(self) -> tuple[Candidate, ...]:
        """The calls that can have made all the images."""
        return tuple(each for each in self.candidates if each.fits and each.calls)

    @property
    def call(self) -> str | None:
        """The one call that all fitting candidates are, whatever its version; None where several fit, or none."""
        return next(iter(self._common), None)

    @property
    def _common(self) -> list[str]:
        """The names that all fitting candidates have."""
        fitting = self.fitting
        return [name for name in fitting[0].names if all(name in each.names for each in fitting)] if fitting else []

    @property
    def versions(self) -> tuple[int, ...]:
        """The versions of the library in which the call makes the images."""
        if self.call is None:
            return ()
        return _known([call for each in self.fitting for call in each.calls], self.call)

    @property
    def is_sure(self) -> bool:
        """Whether the call is certain: one alone fits, and enough values rule out that it does by chance.

        Behind an earlier resize it never is: of these only the likeliest are tried.
        """
        if self.call is None or any(each.fits for each in self.candidates if not each.calls):
            return False
        return not self._is_twice and (self.telling is None or self.telling >= ENOUGH)

    @property
    def _is_twice(self) -> bool:
        return any(each.first for each in self.fitting)

    @property
    def text(self) -> str:
        """The call first, then the versions that agree, then what would tell more; in lines."""
        if not self.fitting:
            lines = ["none of the known calls made it; the nearest:", *self._listed(self.candidates[:SHOWN])]
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
        """Yield a line for each call; its versions in one, where they are equally far from the image."""
        groups: dict[tuple[object, ...], list[Candidate]] = {}
        for each in candidates:
            if each.calls:
                groups.setdefault((each.names, each.steps, each.first, each.distance), []).append(each)
        for those in groups.values():
            calls = [call for each in those for call in each.calls]
            named = " = ".join(f"{name} ({_versions(calls, name)})" for name in those[0].names)
            best = replace(those[0], likelihood=_sum(those))
            yield f"  {'; '.join((named, *best.steps))}: {best.distance}"

    def _agreeing(self) -> Iterator[str]:
        """Yield which versions agree, and other steps that do."""
        calls = [call for each in self.fitting for call in each.calls]
        for name in self._common:
            count, of_all = len(_known(calls, name)), len(_known([name], name))
            told = "agree" if count > 1 else "only" if of_all > 1 else "is the only one known"
            yield f"  {_versions(calls, name)} {told}" + (f" ({name})" if len(self._common) > 1 else "")
        others = dict.fromkeys(each.steps for each in self.fitting if each.steps != self.fitting[0].steps)
        yield from (f"  {'; '.join(steps) or 'no further step'}: fits as well" for steps in others)

    def _doubt(self) -> Iterator[str]:
        """Yield how likely it is that nothing of this made the image."""
        if self.fitting:
            none = next((each for each in self.candidates if not each.calls), None)
            if none is not None and none.likelihood is not None:
                yield f"  {_NONE}: likelihood {_share(none.likelihood)}"
            elif self.telling is not None:
                weight = "excluded" if self.telling >= ENOUGH and not self._is_twice else "not excluded"
                yield f"  {_NONE}: {weight}, {self.telling} values tell the tried calls apart"

    def _advice(self) -> Iterator[str]:
        if self.further is not None:
            (height, width), (rows, columns) = self.further
            lossless = "" if self.telling is not None else ", saved as PNG"
            yield f"to tell them apart, test an image of {height}x{width} resized to {rows}x{columns}{lossless}"
        elif len(self.fitting) > 1 and not self._is_twice:
            yield "none of the tried sizes tells them apart"

    def record(self) -> IdentifiedRecord:
        """Return it as data for JSON."""
        return {
            "sure": self.is_sure,
            "call": self.call,
            "versions": self.versions,
            "steps": self.fitting[0].steps if self.fitting else (),
            "fitting": _records(self.fitting),
            "nearest": _records(self.candidates[:SHOWN]),
            "none_of_these": _records(each for each in self.candidates if not each.calls),
            "telling": self.telling,
            "further": self.further,
        }


def _records(candidates: Iterable[Candidate]) -> list[Candidate]:
    return [cast(Candidate, asdict(each)) for each in candidates]


def _known(calls: Sequence[str], name: str) -> tuple[int, ...]:
    """Return the versions of the library of a call, the last of two, that are among some calls."""
    return versions(calls, name.rpartition(", then ")[2])


def _versions(calls: Sequence[str], name: str) -> str:
    """Return the same in words: ``versions 13, 12 and 11``."""
    *others, last = map(str, _known(calls, name))
    return f"versions {', '.join(others)} and {last}" if others else f"version {last}"


def _share(likelihood: float) -> str:
    return f"{likelihood:.2g}" if likelihood >= _LEAST else f"below {_LEAST}"


def _sum(candidates: Sequence[Candidate]) -> float | None:
    """Return the likelihood of some candidates together; None where there is none."""
    likelihoods = [each.likelihood for each in candidates if each.likelihood is not None]
    return sum(likelihoods) if likelihoods else None
