"""How far two arrays differ, and how far they may."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.errors import VerificationError

from ...report import Compared
from ..run.runners import Named

TOLERANCE = 1e-4
"""The largest difference allowed, absolute and relative to the largest value of an output."""

HALF_TOLERANCE = 2**-10
"""The same of an output in half precision: what its last bit is worth."""


class StretchError(VerificationError):
    """A stretch of a model that differs, on the source's own values: what is wrong lies in it."""


def compared(wanted: Named, got: Named, name: str, tolerance: float) -> tuple[Compared, ...]:
    """Return a comparison per output. Raises VerificationError for the first that does not pass."""
    if len(wanted) != len(got):
        raise VerificationError(f"{name} has {len(got)} outputs, its source {len(wanted)}")
    return tuple(
        passed(output, mine, theirs, tolerance) for (output, mine), (_, theirs) in zip(wanted, got, strict=True)
    )


def passed(
    name: str,
    mine: NDArray[Any],
    theirs: NDArray[Any],
    tolerance: float,
    *,
    kind: str = "output",
    least: float = 0.0,
) -> Compared:
    """Return how far arrays differ. Raises VerificationError beyond ``tolerance`` times their size and ``least``."""
    if np.float16 in (mine.dtype, theirs.dtype):
        tolerance = max(tolerance, HALF_TOLERANCE)
    found = replace(compare(name, mine, theirs, tolerance, least=least), kind=kind)
    check(found)
    return found


def check(found: Compared) -> None:
    """Raise VerificationError where a comparison does not pass."""
    if found.shapes:
        shapes = f"{list(found.shapes[1])}, in the source {list(found.shapes[0])}"
        raise VerificationError(f"{found.kind} {found.name!r} has shape {shapes}")
    if not found.passes:
        more = f"; {found.remark}" if found.remark else ""
        raise VerificationError(f"{found.kind} {found.name!r} {found.difference}{more}")


def compare(
    name: str, mine: NDArray[Any], theirs: NDArray[Any], tolerance: float | None = None, *, least: float = 0.0
) -> Compared:
    """Return how far arrays differ; by default as much is allowed as their element type lets expect."""
    if tolerance is None:
        tolerance = HALF_TOLERANCE if np.float16 in (mine.dtype, theirs.dtype) else TOLERANCE
    largest = float(np.abs(_finite(mine)).max(initial=0.0))
    limit, span = max(tolerance * max(1.0, largest), least), _span(mine)
    if mine.shape != theirs.shape:
        return Compared(
            name=name,
            largest=largest,
            absolute=np.inf,
            limit=limit,
            span=span,
            shapes=(mine.shape, theirs.shape),
        )
    absolute = float(differences(mine, theirs).max(initial=0.0))
    return Compared(name=name, largest=largest, absolute=absolute, limit=limit, span=span)


def of_coordinates(array: NDArray[Any], *, least: float = 1.0) -> float:
    """Return what the last bit of float32 coordinates is worth along the longest axis that a resize may have made.

    That is none of the first two of what holds images or signals. Values are taken for ``least`` at least.
    """
    axes = array.shape[2:] if array.ndim > 2 else array.shape[-1:]
    largest = float(np.abs(_finite(array)).max(initial=least))
    return max(axes, default=1) * float(np.finfo(np.float32).eps) * largest


def _span(array: NDArray[Any]) -> float:
    """Return how far values lie apart; of one alone, from 0."""
    finite = _finite(array)
    values = np.append(finite, 0.0) if finite.size == 1 else finite
    mixed = finite.size < array.size and bool(finite.size)  # NaN and infinity in some places tell something
    return np.inf if mixed else float(np.ptp(values)) if values.size else 0.0


def merged(found: Sequence[Compared]) -> Compared:
    """Return an output's comparison over several inputs: the worst, and how far its values lie apart in any."""
    worst = max(found, key=lambda each: math.inf if math.isnan(each.absolute) else each.absolute / (each.limit or 1.0))
    return replace(worst, span=max(each.span for each in found))


def differences(mine: NDArray[Any], theirs: NDArray[Any]) -> NDArray[np.float64]:
    """Return the absolute difference of every element: 0 of equal infinities and of two NaN, NaN where one is NaN."""
    mine, theirs = _wide(mine), _wide(theirs)
    same = (mine == theirs) | (np.isnan(mine) & np.isnan(theirs))
    with np.errstate(invalid="ignore"):  # equal infinities
        return np.where(same, 0.0, np.abs(mine - theirs))


def _finite(array: NDArray[Any]) -> NDArray[np.float64]:
    """Return the finite values of an array, those of complex numbers by their parts."""
    wide = _wide(array)
    finite: NDArray[np.float64] = wide[np.isfinite(wide)].view(np.float64)
    return finite


def _wide(array: NDArray[Any]) -> NDArray[Any]:
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)
