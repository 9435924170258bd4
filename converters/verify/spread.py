"""How far a model differs from itself: what its own runtime makes of it otherwise, and in another precision.

Two runtimes add in other orders and round in other places; where a model enlarges that, no fixed tolerance fits. So
what is allowed follows from the models: as much as the source differs between two ways in which its own runtime
computes it. Where one of the two is in half precision, both are compared in float32.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.errors import VerificationError

from ..onnx import precision as half
from ..report import Compared
from . import precision
from .differences import compare, differences, of_coordinates
from .processes import Runs
from .rows import Aligned, aligned
from .runners import Named

_SHARE = 4
"""Two ways of one runtime differ in the few places where one of them fuses layers, two runtimes in every layer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """What two models make in float32 where one is in half precision, and how far outputs of the source differ.

    ``without`` is the difference, output by output, to the source computed without graph optimisation, ``precise`` to
    the source in the other precision: both 0 where that does not run. ``wanted`` and ``got`` are outputs to compare.
    """

    wanted: Named
    got: Named
    without: tuple[float, ...]
    precise: tuple[float, ...]
    way: str = ""

    def allowed(self, place: int) -> float:
        """Return by how much an output may differ."""
        return max(_SHARE * self.without[place], self.precise[place])


def spread(run: Runs, source: Path, result: Path, wanted: Named, got: Named, *, half_weights: bool) -> Spread:
    """Return how far a source differs from itself, and both models in the precision in which they can be compared."""
    if half_weights:
        rounded = _outputs(run, precision.with_half_weights(source, run.folder))
        return _against(run, source, wanted, rounded or wanted, got, "with weights in half precision")
    if not (half.is_half(source) or half.is_half(result)):
        return _against(run, source, wanted, wanted, got, "")
    mine = _precise(run, source)
    theirs = _precise(run, result)
    if mine is None and theirs is None:
        return _against(run, source, wanted, wanted, got, "")
    return _against(run, source, wanted, mine or wanted, theirs or got, "in float32")


def _precise(run: Runs, model: Path) -> Named | None:
    if not half.is_half(model):
        return None
    written = half.in_float32(model, run.folder)
    return _outputs(run, written, in_openvino=run.models.in_openvino(model))


def _against(run: Runs, source: Path, wanted: Named, precise: Named, got: Named, way: str) -> Spread:
    without = _outputs(run, source, optimised=False) or wanted
    return Spread(
        wanted=precise,
        got=got,
        without=_apart(wanted, without),
        precise=_apart(wanted, precise),
        way=way,
    )


def _outputs(run: Runs, model: Path, **options: Any) -> Named | None:
    """Return what a model makes, None where it does not run so."""
    try:
        return run(model, **options)[0]
    except VerificationError:
        return None


def _apart(mine: Named, theirs: Named) -> tuple[float, ...]:
    return tuple(_largest(a, b) for (_, a), (_, b) in zip(mine, theirs, strict=True))


def _largest(mine: NDArray[Any], theirs: NDArray[Any]) -> float:
    """Return the largest difference; 0 where shapes differ, or where NaN is in one alone: nothing follows from that."""
    if mine.shape != theirs.shape:
        return 0.0
    found = float(differences(mine, theirs).max(initial=0.0))
    return found if np.isfinite(found) else 0.0


def allowed(found: Spread, wanted: Named, got: Named, tolerance: float, *, sorts: bool) -> tuple[Compared, ...]:
    """Return each output's comparison, by ``tolerance`` or as much as the source differs from itself.

    As it stands, or as both are in float32, whichever is nearer: one model may round to half where the other does not.
    """
    ways = [_compared(found, wanted, got, tolerance, sorts=sorts)]
    if found.way:
        ways.append(_compared(found, found.wanted, found.got, tolerance, sorts=sorts, way=found.way))
    return tuple(min(each, key=lambda one: one.absolute / (one.limit or 1.0)) for each in zip(*ways, strict=True))


def _compared(
    found: Spread, wanted: Named, got: Named, tolerance: float, *, sorts: bool, way: str = ""
) -> list[Compared]:
    moved = aligned(wanted, got, tolerance) if sorts else Aligned(outputs=got)
    outputs = []
    for place, ((name, mine), (_, theirs)) in enumerate(zip(wanted, moved.outputs, strict=True)):
        own = max(found.without[place], found.precise[place])
        compared = compare(name, mine, theirs, tolerance, least=max(found.allowed(place), of_coordinates(mine)))
        remark = f"the source differs from itself by {own:.3g}" + (f"; compared {way}" if way else "")
        outputs.append(replace(compared, remark="; ".join(filter(None, (remark, moved.note)))))
    return outputs
