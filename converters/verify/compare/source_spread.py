"""How far a source's own executions differ before it rounds to levels: within that distance, a level may flip.

All executions begin each segment with the same values. One is the source on values moved by as much as float32 sums
are off, another the same IR in float32 if the file is in half precision. Integer kernels are a third, which is only
counted: where no level is zero, OpenVINO's are off by more than any correct result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from ir_interp.array_types import Array
from ir_interp.errors import VerificationError

from ...reports.verification import Compared
from ..run.array_files import Named
from ..run.processes import Runs
from . import half_irs, tolerances
from .array_differences import all_pass, allowing_noise, coordinate_error, largest_difference
from .moved_values import moved, moved_inputs, noise
from .quantisations import Quantisation, Values

_RESIZES = frozenset(("resize", "upsample", "interpolate", "gridsample"))  # they find coordinates at run time


@dataclass(frozen=True, slots=True, kw_only=True)
class Folding:
    """How far a source in half precision and the same in float32 differ on the same values.

    ``apart`` is by the name of the tensor before it is rounded, in its own units; ``outputs`` by place.
    """

    apart: Mapping[str, float] = field(default_factory=dict)
    outputs: tuple[float, ...] = ()


def folding(run: Runs, source: Path, befores: Sequence[str], starts: Values) -> Folding:
    """Return the difference between a source in half precision and the same IR in float32, segment by segment.

    ``befores`` are tensors before they are rounded, ``starts`` the values with which segments begin.
    """
    if not half_irs.is_in_half(source):
        return Folding()
    expected, plain = run(source, befores, replacements=starts, optimised=False)
    actual, others = run(half_irs.in_float32(source, run.folder), befores, replacements=starts, optimised=False)
    apart = {name: largest_difference(plain[name], others[name]) for name in plain.keys() & others.keys()}
    pairs = zip(expected, actual, strict=True)
    return Folding(apart=apart, outputs=tuple(largest_difference(mine, theirs) for (_, mine), (_, theirs) in pairs))


def flipped_by_kernels(
    run: Runs, source: Path, ends: Sequence[Quantisation], starts: Sequence[Quantisation], values: Values
) -> int | None:
    """Return how many levels differ between the integer and the float kernels of the source's runtime.

    Values enter before they are rounded, since layers multiply in integers only behind a quantisation. None if
    the runtime cannot run in both ways.
    """
    in_openvino = run.models.in_openvino(source)
    # onnxruntime multiplies integers only if no float between them is shown
    names = [end.before if in_openvino else end.integers for end in ends]
    on_levels = {end.after: end.on_levels(values[end.after]) for end in starts}
    try:
        _, plain = run(source, names, replacements=on_levels, rounds_given=True, optimised=False)
        _, others = run(source, names, replacements=on_levels, rounds_given=True, by_default=True)
    except VerificationError:
        return None
    flipped = 0
    for end, name in zip(ends, names, strict=True):
        if name in plain.keys() & others.keys():
            apart = end.count_apart if in_openvino else _count_different
            flipped += apart(plain[name], others[name])
    return flipped


def _count_different(values: Array, others: Array) -> int:
    return int(np.count_nonzero(values != others))


def sums(run: Runs, model: Path, befores: Sequence[str], values: Values, starts: Values) -> dict[str, float]:
    """Return how far float32 sums may move tensors of a model before they are rounded.

    ``starts`` are the values with which segments begin, ``values`` the results of the model.
    """
    graph = run.models.read(model)
    others_run = replace(run, arrays=moved_inputs(run.arrays, graph))
    _, others = others_run(model, befores, replacements=moved(starts, graph), optimised=False)
    resizes = any(step.type in _RESIZES for step in graph.steps)
    return {
        name: largest_difference(values[name], others[name]) + _last_bits(values[name], resizes=resizes)
        for name in befores
        if name in others.keys() & values.keys()
    }


def within_noise(
    run: Runs,
    model: Path,
    expected: Named,
    actual: Sequence[Array],
    comparisons: Sequence[Compared],
    starts: Values | None = None,
) -> tuple[Compared, ...]:
    """Return comparisons that allow as much as ``model`` is unsure of its own outputs, if one differs without that.

    ``expected`` are the outputs of ``model`` on the inputs of ``run``, in the order of the comparisons, and ``actual``
    those that they were compared with; ``starts`` the values of inner tensors with which they were computed.
    """
    if all_pass(comparisons):
        return tuple(comparisons)
    graph = run.models.read(model)
    others_run = replace(run, arrays=moved_inputs(run.arrays, graph))
    try:
        others, _ = others_run(model, replacements=moved(starts or {}, graph), noise=noise(graph))
    except VerificationError:
        return tuple(comparisons)
    outputs = zip(comparisons, expected, actual, others, strict=True)
    return tuple(_allowing(end, mine, theirs, other) for end, (_, mine), theirs, (_, other) in outputs)


def _allowing(comparison: Compared, mine: Array, theirs: Array, moved_ones: Array) -> Compared:
    """Return a comparison that allows what a model's own output moves to on moved values."""
    if comparison.shapes or mine.shape != moved_ones.shape:
        return comparison
    moves = largest_difference(mine, moved_ones)
    if mine.dtype.kind not in "iu" or theirs.dtype.kind not in "iu":
        return allowing_noise(comparison, moves)
    # Floats were rounded to integers: last bits decide at few of them, and by as much as in the source.
    count, own_count = (int(np.count_nonzero(mine != other)) for other in (theirs, moved_ones))
    if comparison.passes or comparison.absolute > moves or count > tolerances.NOISE * own_count:
        return comparison
    remark = f"last bits decide {count} of {mine.size} integers, in the source itself {own_count}"
    return replace(comparison, limit=comparison.absolute, remark="; ".join(filter(None, (comparison.remark, remark))))


def _last_bits(values: Array, *, resizes: bool) -> float:
    """Return the effect of the last bit of the largest value, and of coordinates if a model resizes."""
    largest = float(max(values.max(initial=0.0), -values.min(initial=0.0)))
    coordinates = coordinate_error(values) if resizes else 0.0
    return largest * float(np.finfo(np.float32).eps) + coordinates
