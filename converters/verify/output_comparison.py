"""One output of two models: a summary of its values in both, and the histogram of their differences."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from ..reports.verification import Compared
from .compare.array_differences import absolute_differences

_BINS = 8  # powers of ten in a histogram; smaller differences are counted together


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputValues:
    """A summary of one output: the smallest, mean and largest of its finite values."""

    shape: tuple[int, ...]
    dtype: str
    smallest: float | None
    mean: float | None
    largest: float | None

    @property
    def text(self) -> tuple[str, ...]:
        """Shape with element type, and the three numbers."""
        numbers = ("none" if n is None else f"{n:.6g}" for n in (self.smallest, self.mean, self.largest))
        return ("x".join(map(str, self.shape)) + f" {self.dtype}", *numbers)


@dataclass(frozen=True, slots=True, kw_only=True)
class HistogramBin:
    """How many elements differ by at least ``lower`` and less than ``upper``; NaN and infinity have no upper end."""

    lower: float
    upper: float
    count: int

    @property
    def label(self) -> str:
        """Its ends as text."""
        if self.upper == 0:
            return "equal"
        if math.isinf(self.upper):
            return "NaN or infinite"
        return f"< {self.upper:.0e}" if self.lower == 0 else f"{self.lower:.0e} to {self.upper:.0e}"


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputComparison:
    """One output of both models. ``histogram`` starts with the elements that are equal: from 0 to 0.

    ``compared`` decides; ``whole`` is the difference of the outputs themselves, if these were compared differently.
    """

    name: str
    first: OutputValues
    second: OutputValues
    compared: Compared
    histogram: tuple[HistogramBin, ...]
    whole: Compared | None = None

    @property
    def seen(self) -> Compared:
        """The difference of the outputs themselves."""
        return self.whole or self.compared

    @property
    def least_tolerance(self) -> float | None:
        """The smallest tolerance under which the output would pass; None if none would.

        None helps where only one model has a NaN or infinity, or where the first has zeros alone.
        """
        if (self.seen.absolute and not self.seen.largest) or not math.isfinite(self.seen.absolute):
            return None
        # A quotient that is rounded down would not pass.
        return math.nextafter(self.seen.relative, math.inf) if self.seen.absolute else 0.0

    @property
    def verdict(self) -> str:
        """Whether it is equal, and which tolerance would pass, in one line."""
        compared, least = self.compared, self.least_tolerance
        verdict = compared.verdict
        if compared.shapes:
            return f"{verdict}: it {compared.difference}"
        if not math.isfinite(self.seen.absolute):
            return f"{verdict}: NaN or infinity in only one model; no tolerance would pass"
        largest = f"largest difference {self.seen.absolute:.3g}, relative {self.seen.relative:.3g}"
        remark = f"; {compared.remark}" if compared.remark else ""
        if math.isinf(compared.limit):
            return f"{verdict}: {largest}{remark}"
        would_pass = "no tolerance would pass" if least is None else f"a tolerance of {least:.3g} would pass"
        return f"{verdict}: {largest} (allowed {compared.limit:.3g}); {would_pass}{remark}"


class ValuesRecord(TypedDict):
    """The values of an output in JSON; the numbers are those of its finite values."""

    shape: list[int]
    dtype: str
    min: float | None
    mean: float | None
    max: float | None


class BinRecord(TypedDict):
    """A bin of the differences in JSON; None for infinity and NaN."""

    lower: float | None
    upper: float | None
    count: int


class OutputRecord(TypedDict):
    """An output of both models in JSON."""

    name: str
    equal: bool
    conclusive: bool
    first: ValuesRecord
    second: ValuesRecord
    absolute: float | None
    relative: float | None
    limit: float | None
    least_tolerance: float | None
    histogram: list[BinRecord]


def of_output(compared: Compared, first: NDArray[Any], second: NDArray[Any]) -> OutputComparison:
    """Return how an output of both models compares, with a summary of its values."""
    return OutputComparison(
        name=compared.name,
        first=_values(first),
        second=_values(second),
        compared=compared,
        histogram=() if compared.shapes else _histogram(first, second),
    )


def _values(array: NDArray[Any]) -> OutputValues:
    wide = array.astype(np.float64)
    finite = wide[np.isfinite(wide)]
    numbers = [float(finite.min()), float(finite.mean()), float(finite.max())] if finite.size else [None] * 3
    smallest, mean, largest = numbers
    return OutputValues(shape=array.shape, dtype=array.dtype.name, smallest=smallest, mean=mean, largest=largest)


def _histogram(first: NDArray[Any], second: NDArray[Any]) -> tuple[HistogramBin, ...]:
    """Return the number of differences between successive powers of ten, the smallest first."""
    # The bins follow the data: fixed ones would put all differences of a small model into one.
    apart = absolute_differences(first, second).ravel()
    above = apart[np.isfinite(apart) & (apart > 0)]
    bins = [HistogramBin(lower=0.0, upper=0.0, count=int((apart == 0).sum()))]
    if above.size:
        powers = np.floor(np.log10(above)).astype(int)
        # The lowest of the bins starts at 0 if smaller differences are counted with it.
        lowest = max(int(powers.min()), int(powers.max()) - _BINS + 1)
        counts = np.bincount(np.maximum(powers, lowest) - lowest)
        edges = [10.0 ** (lowest + place) for place in range(len(counts) + 1)]
        starts = [0.0 if powers.min() < lowest else edges[0], *edges[1:-1]]
        bins += [
            HistogramBin(lower=start, upper=end, count=int(n))
            for start, end, n in zip(starts, edges[1:], counts, strict=True)
        ]
    broken = int((~np.isfinite(apart)).sum())
    return (*bins, HistogramBin(lower=math.inf, upper=math.inf, count=broken)) if broken else tuple(bins)


def output_record(output: OutputComparison) -> OutputRecord:
    """Return an output as plain values, for JSON."""
    compared = output.compared
    return {
        "name": output.name,
        "equal": compared.passes,
        "conclusive": compared.is_conclusive,
        "first": _values_record(output.first),
        "second": _values_record(output.second),
        "absolute": finite(output.seen.absolute),
        "relative": finite(output.seen.relative),
        "limit": finite(compared.limit),
        "least_tolerance": output.least_tolerance,
        "histogram": [
            {"lower": finite(part.lower), "upper": finite(part.upper), "count": part.count} for part in output.histogram
        ],
    }


def _values_record(values: OutputValues) -> ValuesRecord:
    return {
        "shape": list(values.shape),
        "dtype": values.dtype,
        "min": values.smallest,
        "mean": values.mean,
        "max": values.largest,
    }


def finite(value: float) -> float | None:
    """Return a number that JSON can hold: None for infinity and NaN."""
    return value if math.isfinite(value) else None
