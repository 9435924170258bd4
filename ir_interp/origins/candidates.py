"""What an image may have been made by: the calls of libraries that fit, and which further pair tells more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ir_interp.origins.library_calls import versions, without_version

SHOWN = 3  # of the candidates where none fits
ENOUGH = 32  # values on which the calls differ: fewer may agree by chance with a pipeline that is not tried
UNLIKELY = 1e-3  # a candidate of a JPEG file that is less likely does not fit
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
    def text(self) -> str:
        """The same as a line."""
        if not self.calls:
            return _NONE if self.likelihood is None else f"{_NONE}: likelihood {self.likelihood:.2g}"
        named = "; ".join((" = ".join(self.calls), *self.steps))
        return f"{named}: {self.distance}"

    @property
    def distance(self) -> str:
        """How far its result is from the image, or how likely that is saved from it."""
        if self.likelihood is not None:
            share = f"{self.outside} of {self.count} JPEG coefficients are unexplained"
            return f"likelihood {self.likelihood:.2g}, {share}"
        if not self.unequal:
            return f"equal, all {self.count} values"
        share = f"{self.unequal} of {self.count} values differ"
        apart = f"{share}, by up to {self.largest:.3g}, by {self.mean:.3g} on average"
        return apart + (f" ({self.approximate})" if self.approximate else "")


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
        fitting = self.fitting
        common = [name for name in fitting[0].names if all(name in each.names for each in fitting)] if fitting else []
        return common[0] if common else None

    @property
    def versions(self) -> tuple[int, ...]:
        """The versions of the library in which the call makes the images."""
        if self.call is None:
            return ()
        return versions([call for each in self.fitting for call in each.calls], self.call.rpartition(", then ")[2])

    @property
    def is_sure(self) -> bool:
        """Whether the call is certain: one alone fits, and enough values rule out that it does by chance."""
        if self.call is None or any(each.fits for each in self.candidates if not each.calls):
            return False
        return self.telling is None or self.telling >= ENOUGH

    @property
    def text(self) -> str:
        """The call first, then the versions that agree, then what would tell more; in lines."""
        if not self.fitting:
            lines = ["none of the known calls made it; the nearest:", *self._listed(self.candidates[:SHOWN])]
        elif self.call is None:
            lines = [f"{len(self.fitting)} calls fit:", *self._listed(self.fitting)]
        else:
            lines = [f"{self._title}: {self.fitting[0].distance}", *self._agreeing()]
        return "\n".join([*lines, *self._doubt(), *self._advice()])

    @property
    def _title(self) -> str:
        """The call, its other names, and the steps around it."""
        best = self.fitting[0]
        others = [name for name in best.names if all(name in each.names for each in self.fitting)]
        return "; ".join((" = ".join(others), *best.steps))

    def _listed(self, candidates: Sequence[Candidate]) -> list[str]:
        return [f"  {each.text}" for each in candidates if each.calls]

    def _agreeing(self) -> Iterator[str]:
        """Yield which versions agree, and other steps that do."""
        numbers = [str(version) for version in self.versions]
        listed = " and ".join(filter(None, (", ".join(numbers[:-1]), numbers[-1])))
        yield f"  version{'s' if len(numbers) > 1 else ''} {listed}{' agree' if len(numbers) > 1 else ' only'}"
        others = dict.fromkeys(each.steps for each in self.fitting if each.steps != self.fitting[0].steps)
        yield from (f"  {'; '.join(steps) or 'no further step'}: fits as well" for steps in others)

    def _doubt(self) -> Iterator[str]:
        """Yield how likely it is that nothing of this made the image."""
        if self.fitting:
            none = next((each for each in self.candidates if not each.calls), None)
            if none is not None and none.likelihood is not None:
                yield f"  {none.text}"
            elif self.telling is not None:
                weight = "excluded" if self.telling >= ENOUGH else "not excluded"
                yield f"  {_NONE}: {weight}, {self.telling} values tell the tried calls apart"

    def _advice(self) -> Iterator[str]:
        if self.further is not None:
            (height, width), (rows, columns) = self.further
            yield f"to tell them apart, test an image of {height}x{width} resized to {rows}x{columns}"
        elif len(self.fitting) > 1:
            yield "none of the tried sizes tells them apart"

    def record(self) -> dict[str, Any]:
        """Return it as data for JSON."""
        return {
            "sure": self.is_sure,
            "call": self.call,
            "versions": self.versions,
            "steps": self.fitting[0].steps if self.fitting else (),
            "fitting": [asdict(each) for each in self.fitting],
            "nearest": [asdict(each) for each in self.candidates[:SHOWN]],
            "none_of_these": [asdict(each) for each in self.candidates if not each.calls],
            "telling": self.telling,
            "further": self.further,
        }
