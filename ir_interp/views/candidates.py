"""What an image may have been made by: the resizes of libraries that fit, and which further pair tells more."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

SHOWN = 3  # of the candidates where none fits


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A resize of libraries: how it can be called, and how far its results are from those that are known.

    ``approximate`` says why not all of its bytes are known, if so.
    """

    calls: tuple[str, ...]
    unequal: int
    count: int
    largest: float
    mean: float
    approximate: str = ""
    fits: bool = False

    @property
    def text(self) -> str:
        """The same as a line."""
        named = " = ".join(self.calls)
        if not self.unequal:
            return f"{named}: equal, all {self.count} values"
        share = f"{self.unequal} of {self.count} values differ"
        apart = f"{share}, by up to {self.largest:.3g}, by {self.mean:.3g} in the mean"
        return f"{named}: {apart}" + (f" ({self.approximate})" if self.approximate else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Identified:
    """What may have made an image: all candidates, the likeliest first, and which further pair tells more.

    ``further`` is the height and width of an image, and those to resize it to; None where nothing is left to tell, or
    none of those tried would.
    """

    candidates: tuple[Candidate, ...]
    further: tuple[tuple[int, int], tuple[int, int]] | None = None

    @property
    def fitting(self) -> tuple[Candidate, ...]:
        """The candidates that can have made all the images."""
        return tuple(each for each in self.candidates if each.fits)

    @property
    def is_sure(self) -> bool:
        """Whether one resize alone can have made them, of all that are known."""
        return len(self.fitting) == 1

    @property
    def text(self) -> str:
        """What is known, in lines."""
        fitting = self.fitting
        if not fitting:
            nearest = [f"  {each.text}" for each in self.candidates[:SHOWN]]
            return "\n".join(["made by none of the calls that are known; the nearest:", *nearest])
        if self.is_sure:
            return fitting[0].text
        lines = [f"{len(fitting)} resizes cannot be told apart here:", *(f"  {each.text}" for each in fitting)]
        if self.further is None:
            return "\n".join([*lines, "none of the sizes that were tried would tell them apart"])
        (height, width), (rows, columns) = self.further
        return "\n".join([*lines, f"an image of {height}x{width} resized to {rows}x{columns} tells more"])

    def record(self) -> dict[str, Any]:
        """Return it as data for JSON."""
        return {
            "sure": self.is_sure,
            "fitting": [asdict(each) for each in self.fitting],
            "nearest": [asdict(each) for each in self.candidates[:SHOWN]],
            "further": self.further,
        }
