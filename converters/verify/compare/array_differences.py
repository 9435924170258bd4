"""Differences of two arrays, and their limits."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import product

import numpy as np
from numpy.typing import NDArray

from ir_interp.array_types import Array
from ir_interp.errors import VerificationError
from ir_interp.shapes import Shape

from ...reports.verification import Compared
from ..run.array_files import Named
from . import tolerances

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
        tolerance = max(map(tolerances.of_output, types))
    largest = float(np.abs(_finite(expected)).max(initial=0.0))
    is_alike = expected.shape == actual.shape
    return Compared(
        kind=kind or "output",
        name=name,
        largest=largest,
        absolute=largest_difference(expected, actual) if is_alike else np.inf,
        limit=max(tolerance * largest, least, *map(tolerances.least, types)),
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
    noise = min(tolerances.NOISE * moves, tolerances.MOST_NOISE)
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
