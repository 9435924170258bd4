"""Models whose outputs differ: the forms of them that can be compared, and how far the source is from itself.

Where one of two models is in half precision, both are compared in float32; where weights were rounded, with such. What
still differs is compared stretch by stretch (``stretches``).
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from ir_interp.errors import VerificationError

from ...onnx.half_models import in_float32, is_half
from ...report import Compared, Verification
from ..run.half_precision import with_half_weights
from ..run.processes import Runs
from ..run.runners import Named
from . import stretches
from .differences import TOLERANCE, compare, differences, of_coordinates
from .rows import Aligned, aligned
from .stretches import Pair


def verified(
    run: Runs, source: Path, result: Path, wanted: Named, got: Named, *, half_weights: bool, sorts: bool
) -> Verification:
    """Compare two models whose outputs differ. Raises VerificationError where rounding alone cannot be the cause."""
    own = f"the source differs from itself by {own_spread(run, source, wanted)}"
    pair = _comparable(run, source, result, half_weights=half_weights)
    remark = "; ".join(filter(None, (f"as a whole by {apart(wanted, got):.3g}, {own}", pair.way)))
    try:
        found = _otherwise(run, pair, wanted, got, sorts=sorts) if pair.way else []
        if found and all(each.passes for each in found):
            return Verification(outputs=tuple(_told(each, remark) for each in found))
        proof = stretches.verified(run, pair)
    except VerificationError as problem:
        whole = f"{_worst(wanted, got)}; {own}"
        raise type(problem)("; ".join(filter(None, (whole, pair.way, str(problem))))) from None
    return replace(proof, outputs=tuple(_told(each, remark) for each in proof.outputs))


def _told(found: Compared, remark: str) -> Compared:
    return replace(found, remark="; ".join(filter(None, (remark, found.remark))))


def _worst(wanted: Named, got: Named) -> str:
    """Return which output differs most, and by how much, in words."""
    pairs = zip(wanted, got, strict=True)
    compared = [compare(name, mine, theirs) for (name, mine), (_, theirs) in pairs]
    worst = max(compared, key=lambda each: each.absolute / (each.limit or 1.0))
    return f"output {worst.name!r} {worst.difference}"


def own_spread(run: Runs, source: Path, wanted: Named) -> str:
    """Return how far a model differs from itself without graph optimisation, in words."""
    try:
        return f"{apart(wanted, run(source, optimised=False)[0]):.3g}"
    except VerificationError:
        return "what is not known"


def apart(mine: Named, theirs: Named) -> float:
    """Return the largest difference between outputs, infinite where their shapes differ."""
    pairs = [(a, b) for (_, a), (_, b) in zip(mine, theirs, strict=True)]
    if any(a.shape != b.shape for a, b in pairs):
        return np.inf
    return max((float(differences(a, b).max(initial=0.0)) for a, b in pairs), default=0.0)


def _comparable(run: Runs, source: Path, result: Path, *, half_weights: bool) -> Pair:
    """Return two models in the precision in which they can be compared."""
    given, made, way = source, result, ""
    if half_weights:
        given, way = with_half_weights(source, run.folder), "compared with weights in half precision"
    if is_half(given) or is_half(made):
        given, made = (in_float32(each, run.folder) if is_half(each) else each for each in (given, made))
        way = "compared in float32"
    in_openvino = run.models.in_openvino
    return Pair(
        source=given,
        result=made,
        source_in_openvino=in_openvino(source),
        result_in_openvino=in_openvino(result),
        way=way,
    )


def _otherwise(run: Runs, pair: Pair, wanted: Named, got: Named, *, sorts: bool) -> list[Compared]:
    """Return how outputs compare in another form of the models; nothing where one does not run so."""
    try:
        wanted, got = pair.run_source(run)[0], pair.run_result(run)[0]
    except VerificationError:
        return []
    moved = aligned(wanted, got, TOLERANCE) if sorts else Aligned(outputs=got)
    pairs = zip(wanted, moved.outputs, strict=True)
    found = [compare(name, mine, theirs, least=of_coordinates(mine)) for (name, mine), (_, theirs) in pairs]
    return [replace(each, remark=moved.note) for each in found]
