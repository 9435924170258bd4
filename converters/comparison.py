"""How far two arrays differ, and how far they may."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from converters.report import Compared
from converters.runners import Named
from ir_interp.errors import VerificationError

TOLERANCE = 1e-4
"""The largest difference allowed, absolute and relative to the largest value of an output."""

HALF_TOLERANCE = 1e-2
"""The same where half precision is involved: in an output, or in compressed weights."""

QUANTISED_TOLERANCE = 5e-2
"""The same where an IR quantises: a last bit may decide between two levels, and later layers enlarge the step."""


def compared(wanted: Named, got: Named, name: str, tolerance: float) -> tuple[Compared, ...]:
    """Return a comparison per output. Raises VerificationError for the first that does not pass."""
    if len(wanted) != len(got):
        raise VerificationError(f"{name} has {len(got)} outputs, its source {len(wanted)}")
    return tuple(
        passed(f"output {output!r}", mine, theirs, tolerance)
        for (output, mine), (_, theirs) in zip(wanted, got, strict=True)
    )


def passed(name: str, mine: NDArray[Any], theirs: NDArray[Any], tolerance: float, *, least: float = 0.0) -> Compared:
    """Return how far arrays differ. Raises VerificationError beyond ``tolerance`` times their size and ``least``."""
    if mine.shape != theirs.shape:
        raise VerificationError(f"{name} has shape {list(theirs.shape)}, in the source {list(mine.shape)}")
    found = _compare(name, mine, theirs, tolerance, least)
    if not found.absolute <= found.limit:
        raise VerificationError(f"{name} differs by {found.absolute:.3g} (tolerance {found.limit:.3g})")
    return found


def _compare(name: str, mine: NDArray[Any], theirs: NDArray[Any], tolerance: float, least: float) -> Compared:
    if np.float16 in (mine.dtype, theirs.dtype):
        tolerance = max(tolerance, HALF_TOLERANCE)
    mine, theirs = mine.astype(np.float64), theirs.astype(np.float64)
    same = (mine == theirs) | (np.isnan(mine) & np.isnan(theirs))
    with np.errstate(invalid="ignore"):  # equal infinities
        absolute = float(np.where(same, 0.0, np.abs(mine - theirs)).max(initial=0.0))
    largest = float(np.abs(mine[np.isfinite(mine)]).max(initial=0.0))
    relative = absolute / largest if largest else absolute
    limit = max(tolerance * max(1.0, largest), least)
    return Compared(name=name, largest=largest, absolute=absolute, relative=relative, limit=limit)
