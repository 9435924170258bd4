"""Every tolerance of this program and where it comes from, and the differences of arrays that are held against them.

docs/verification.md has more about the tolerances of outputs. Then differences of two arrays, and their limits; then
one output of two models: a summary of its values in both, and the histogram of their differences.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from numpy.typing import NDArray

from ir_interp.errors import VerificationError
from ir_interp.records import Record
from ir_interp.shapes import Array, Shape

from ..reports import Compared
from .run_request import Named
from .task_metrics import Metric, of_output

# Sums of n terms in another order differ by up to n/2 last places (2^-23) of float32; a convolution of 3x3 over 512
# channels has 4,608. Right segments of real models differ by up to 4e-5; of pairs of resizes that mean different
# things, 99.9 % differ by more than 7e-3 (tests/sweeps/least_difference.py).
OUTPUT = 1e-4
"""The difference allowed between outputs, relative to the largest value of each."""

# A source on slightly moved values is one sample of its noise, and the result another. A few numbers may all move
# little by chance in the first, so the second may be several times as far away.
NOISE = 4
"""How many times a source's own move its result may differ, where terms cancel to less than their last bits."""

MOST_NOISE = OUTPUT
"""The largest such difference, absolute: beyond it, a source is unsure of more than of the last bits of its terms."""

# A number that is stored in half precision is off by its last bit. Beyond that, float32 looks like half precision.
HALF_OUTPUT = 2**-10
"""The same for an output in half precision, and the most that any segment is allowed."""

# The same of bfloat16, which has three bits less.
BFLOAT16_OUTPUT = 2**-7
"""The same for an output in bfloat16."""


# Half precision has subnormal numbers, which are this far apart; runtimes flush those of the other types to 0.
_LEAST = {"float16": 2**-24, "bfloat16": 2**-126, "float32": 2**-126, "float64": 2**-1022}


def least_difference(dtype: str) -> float:
    """Return the difference of neighbouring numbers next to 0 of an element type; integers are exact there."""
    return _LEAST.get(dtype, 0.0)


def output_tolerance(dtype: str) -> float:
    """Return the difference allowed between outputs of an element type, relative to the largest value.

    Integers are exact: an index, a count or a size that is off by one is another, however large it is. If floats were
    rounded to them, the comparison of these floats decides, or the source's own noise.
    """
    if dtype.startswith(("int", "uint", "bool")):
        return 0.0
    return {"float16": HALF_OUTPUT, "bfloat16": BFLOAT16_OUTPUT}.get(dtype, OUTPUT)


# A level is a scale times an integer, and both are rounded to float32; its neighbours lie a thousand times as far away.
LEVEL = 1e-3
"""The part of a quantisation level by which a value on it may be off."""

# Each of two runtimes finds the level of x with four roundings of 2^-24 at most: those of the scale, of the quotient,
# of the lowest value's own place, and of their sum.
QUANTISING = 2**-21
"""How far float32 may misplace a value among levels, relative to the value and to the lowest level together."""

# A float32 coordinate of a long axis is off by as much, and so is the value between two neighbouring pixels.
SINGLE_RESIZE = 1e-3
"""The difference allowed in an audit between outputs of one resize of values from 0 to 1."""

# A copy may pass through float32, as OpenVINO's do, which moves values from 0 to 1 by 2^-25 at most.
COPY = 1e-6
"""The same for kernels that copy pixels."""

# Rounding decides which of two neighbours a nearest resize copies at ties.
TIES = 1e-3
"""The share of the pixels of a long nearest resize that may be other copies."""

# Runtimes round integers in several ways, all within 1 of each other. Audits and conformance kits hold a runtime's own
# rounding against the executor's, and ask whether it computes the same resize; a conversion has the source's rounding
# to keep, so proofs allow nothing.
INTEGERS = 1.0
"""The difference allowed between integers that a resize averaged."""

KIT: Mapping[str, float] = {"float16": 1e-2, "float32": OUTPUT, "float64": OUTPUT}
"""The difference allowed by a conformance kit between values from 0 to 1, by element type; INTEGERS else."""


_PIECE = 2**17  # elements


def compare_all(
    expected: Named, actual: Named, *, tolerance: float | None = None, least: Callable[[Array], float] = lambda _: 0.0
) -> tuple[Compared, ...]:
    """Return how each output compares with its partner; see ``compare``. ``least`` is called with expected outputs."""
    return tuple(
        compare(name, mine, theirs, tolerance, least=least(mine))
        for (name, mine), (_, theirs) in zip(expected, actual, strict=True)
    )


def compare(
    name: str, expected: Array, actual: Array, tolerance: float | None = None, *, least: float = 0.0, kind: str = ""
) -> Compared:
    """Return the difference of arrays, and its limit.

    The limit is ``tolerance`` times the largest finite value of ``expected``, and at least ``least``, such as the noise
    of values that cancel. By default the tolerance follows from the element type.
    """
    types = {array.dtype.name for array in (expected, actual)}
    if tolerance is None:
        tolerance = max(map(output_tolerance, types))
    largest = float(np.abs(_finite(expected)).max(initial=0.0))
    is_alike = expected.shape == actual.shape
    return Compared(
        kind=kind or "output",
        name=name,
        largest=largest,
        absolute=largest_difference(expected, actual) if is_alike else np.inf,
        limit=max(tolerance * largest, least, *map(least_difference, types)),
        span=_span(expected),
        shapes=() if is_alike else (expected.shape, actual.shape),
    )


def check(comparison: Compared) -> Compared:
    """Return a comparison. Raises VerificationError if it does not pass."""
    what = f"{comparison.kind} {comparison.name!r}"
    if comparison.shapes:
        shapes = f"{list(comparison.shapes[1])}, in the source {list(comparison.shapes[0])}"
        raise VerificationError(f"{what} has shape {shapes}")
    if not comparison.passes:
        more = f"; {comparison.remark}" if comparison.remark else ""
        raise VerificationError(f"{what} {comparison.difference}{more}")
    return comparison


def all_pass(comparisons: Iterable[Compared]) -> bool:
    """Return whether no difference is larger than its limit."""
    return all(comparison.passes for comparison in comparisons)


def worst(comparisons: Iterable[Compared]) -> Compared:
    """Return the comparison whose difference is the largest share of its limit; NaN never passes, and is largest."""
    return max(comparisons, key=lambda end: math.inf if math.isnan(end.absolute) else end.absolute / (end.limit or 1.0))


def allowing_noise(comparison: Compared, moves: float) -> Compared:
    """Return a comparison that allows the noise of values that cancel: a source on moved values ``moves`` by so much.

    Terms that cancel leave their last bits, which no share of the remaining value bounds.
    """
    noise = min(NOISE * moves, MOST_NOISE)
    return replace(comparison, limit=max(comparison.limit, noise)) if moves > 0 else comparison  # not NaN


def coordinate_error(array: Array) -> float:
    """Return the effect of the last bit of float32 coordinates along the longest axis that a resize reads or writes.

    The first two axes of images and signals do not count. Integers have no such last bits.
    """
    if array.dtype.kind in "iub":
        return 0.0
    axes = array.shape[2:] if array.ndim > 2 else array.shape[-1:]  # behind batch and channels
    largest = float(np.abs(_finite(array)).max(initial=0.0))
    return max(axes, default=1) * float(np.finfo(np.float32).eps) * largest


def largest_difference(expected: Array, actual: Array) -> float:
    """Return the largest difference of two arrays of one shape; NaN where only one has a NaN."""
    largest = (
        absolute_differences(expected[piece], actual[piece]).max(initial=0.0) for piece in pieces(expected.shape)
    )
    return float(np.max([0.0, *largest]))  # NaN if one is


def pieces(shape: Shape) -> Iterator[tuple[slice, ...]]:
    """Yield contiguous pieces of an array of ``shape``: float64 copies of all of it would leave the cache."""
    inner = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
    axis = next((axis for axis, size in enumerate(inner) if size <= _PIECE), 0)
    outer = (range(length) for length in shape[:axis])
    lengths, step = (shape[axis], max(1, _PIECE // max(1, inner[axis]))) if shape else (1, 1)
    for places in product(*outer):
        for start in range(0, lengths, step):
            yield (*(slice(place, place + 1) for place in places), slice(start, start + step))[: len(shape)]


def absolute_differences(expected: Array, actual: Array) -> NDArray[np.float64]:
    """Return the absolute difference of every element: 0 for equal infinities and two NaN, NaN where one is NaN."""
    expected, actual = _wide(expected), _wide(actual)
    same = (expected == actual) | (np.isnan(expected) & np.isnan(actual))
    with np.errstate(invalid="ignore"):  # equal infinities
        return np.where(same, 0.0, np.abs(expected - actual))


def _span(array: Array) -> float:
    """Return the range of values; for a single one, its distance from 0."""
    finite = _finite(array)
    values = np.append(finite, 0.0) if finite.size == 1 else finite
    mixed = finite.size < array.size and bool(finite.size)  # NaN and infinity in some places prove something
    return np.inf if mixed else float(np.ptp(values)) if values.size else 0.0


def _finite(array: Array) -> NDArray[np.float64]:
    """Return the finite values of an array, those of complex numbers by their parts."""
    wide = _wide(array)
    finite: NDArray[np.float64] = wide[np.isfinite(wide)].view(np.float64)
    return finite


def _wide(array: Array) -> Array:
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


_BINS = 8  # powers of ten in a histogram; smaller differences are counted together


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputValues(Record):
    """A summary of one output: the smallest, mean and largest of its finite values."""

    KEYS = ("shape", "dtype", "smallest as min", "mean", "largest as max")

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
class HistogramBin(Record):
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
class OutputComparison(Record):
    """One output of both models. ``histogram`` starts with the elements that are equal: from 0 to 0.

    ``metrics`` are what the difference means for a task. ``compared`` decides; ``whole`` is the difference of the
    outputs themselves, if these were compared differently.
    """

    KEYS = (
        "name",
        "compared.passes as equal",
        "compared.is_conclusive as conclusive",
        "first",
        "second",
        "seen.absolute",
        "seen.relative",
        "compared.limit",
        "least_tolerance",
        "histogram",
        "metrics",
    )

    name: str
    first: OutputValues
    second: OutputValues
    compared: Compared
    histogram: tuple[HistogramBin, ...]
    metrics: tuple[Metric, ...] = ()
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
            return f"{verdict}: {compared.remark or 'NaN or infinity in only one model; no tolerance would pass'}"
        largest = f"largest difference {self.seen.absolute:.3g}, relative {self.seen.relative:.3g}"
        remark = f"; {compared.remark}" if compared.remark else ""
        if math.isinf(compared.limit):
            return f"{verdict}: {largest}{remark}"
        would_pass = "no tolerance would pass" if least is None else f"a tolerance of {least:.3g} would pass"
        return f"{verdict}: {largest} (allowed {compared.limit:.3g}); {would_pass}{remark}"


def summarised(compared: Compared, first: Array, second: Array) -> OutputComparison:
    """Return how an output of both models compares, with a summary of its values."""
    return OutputComparison(
        name=compared.name,
        first=_values(first),
        second=_values(second),
        compared=compared,
        histogram=() if compared.shapes else _histogram(first, second),
        metrics=of_output(first, second),
    )


def _values(array: Array) -> OutputValues:
    wide = array.astype(np.float64)
    finite = wide[np.isfinite(wide)]
    numbers = [float(finite.min()), float(finite.mean()), float(finite.max())] if finite.size else [None] * 3
    smallest, mean, largest = numbers
    return OutputValues(shape=array.shape, dtype=array.dtype.name, smallest=smallest, mean=mean, largest=largest)


def _histogram(first: Array, second: Array) -> tuple[HistogramBin, ...]:
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
