"""Models that round to levels, stretch by stretch: each stretch between two quantisations on the source's own values.

Where a last bit decides between two levels, later layers enlarge the step, so that outputs of the whole say nothing:
a runtime differs from itself by as much. What one stretch makes of the same values may differ by one level alone, and
that only where the value before it is rounded lies at the edge between two.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.errors import VerificationError

from ...onnx import half_models, qoperator
from ...report import Verification
from ..graphs import read
from ..run.processes import Runs
from ..run.runners import Named
from . import differences
from .differences import StretchError, check, compare
from .roundings import Dynamic, Rounding, dynamic, roundings
from .spread import apart, own_spread

Array = NDArray[Any]
_OPERATORS = frozenset(name.lower() for name in qoperator.OPERATORS)
_SLACK = 1e-3  # of a level: what float32 makes of one


def quantises(source: Path, result: Path) -> bool:
    """Say whether a model rounds anything that depends on its inputs to levels."""
    graph = read(source)
    is_plain = bool(roundings(graph)) or any(step.type in _OPERATORS for step in graph.steps)
    return is_plain or bool(dynamic(source, result))


def verified(run: Runs, source: Path, result: Path, wanted_whole: Named, made_whole: Named) -> Verification:
    """Compare two models stretch by stretch. Raises StretchError that names the first stretch that differs.

    What the result rounds at another place, as behind a MaxPool, ends a stretch there too. What both make as a whole is
    told beside it, and proves nothing.
    """
    told = _as_a_whole(run, source, result, wanted_whole, made_whole)
    (source, first), (result, second) = (_comparable(run, each) for each in (source, result))
    fixed, found = roundings(read(source)), dynamic(source, result)
    number, afters = len(fixed) + len(found), {each.after for each in fixed}
    elsewhere = [each for each in roundings(read(result)) if each.after not in afters]
    shown = [*afters, *(each.before for each in fixed), *(each.after for each in elsewhere)]
    shown += [name for each in found for name in (each.before, each.scale, *each.made)]
    wanted, own = run(source, shown, optimised=False, in_openvino=first)
    moving = [each for each in found if own.keys() >= {each.before, *each.made}]
    elsewhere = [each for each in elsewhere if each.after in own]
    ends = [each.after for each in (*fixed, *elsewhere)]
    ends += [name for each in moving for name in (each.scale, *each.made)]
    given = {name: own[name] for name in ends if name in own}
    of_channels = [each for each in fixed if each.after in own and each.level.size > 1]
    whole = {name: (each, none) for each in of_channels for name, none in each.as_whole().items()}
    for name, (each, none) in whole.items():
        given[name] = np.rint((own[each.after] - none) / each.level).astype(np.float32)
    got, made = run(result, [*ends, *whole, *(each.before for each in elsewhere)], given=given, in_openvino=second)
    made = {each.after: made[name] * each.level + none for name, (each, none) in whole.items() if name in made} | made
    for moved in moving:
        if made.keys() >= {*moved.made}:
            if moved.scale in own.keys() & made.keys():
                _check_scale(moved, own, made)
            fixed.append(moved.rounding(own))
            own, made = (values | {moved.levels: moved.numbers(values, own)} for values in (own, made))
    before = {each.after: own[each.before] for each in fixed if each.before in own}
    before |= {each.after: made[each.before] for each in elsewhere if each.before in made}
    both = {each.after: each for each in (*fixed, *elsewhere) if each.after in own.keys() & made.keys() & before.keys()}
    at_edges = sum(_check(each, own[name], made[name], before[name]) for name, each in both.items())
    count = sum(own[name].size for name in both)
    outputs = tuple(
        compare(name, mine, theirs, differences.TOLERANCE, least=_least(mine, both.get(name)))
        for (name, mine), (_, theirs) in zip(wanted, got, strict=True)
    )
    for output in outputs:
        check(output)
    hidden = number - len(both.keys() & {each.after for each in fixed})
    return Verification(outputs=outputs, note=f"{_note(len(both), hidden, at_edges, count)}; {told}")


def _as_a_whole(run: Runs, source: Path, result: Path, wanted: Named, got: Named) -> str:
    """Return how far two models differ as a whole, also where OpenVINO multiplies in 8 bits, as it does by itself."""
    models = {source: wanted, result: got}
    for model in filter(run.models.in_openvino, models):
        try:
            models[model] = run(model, in_8_bits=True)[0]
        except VerificationError:
            return f"as a whole they differ by {apart(wanted, got):.3g}"
    ways = f"{apart(wanted, got):.3g}, by {apart(models[source], models[result]):.3g} where OpenVINO works in 8 bits"
    return f"as a whole they differ by {ways}; the source differs from itself by {own_spread(run, source, wanted)}"


def _comparable(run: Runs, model: Path) -> tuple[Path, bool]:
    """Return a model of plain operators that rounds nothing to half precision besides, and whether OpenVINO runs it."""
    in_openvino, plain = run.models.in_openvino(model), model
    if qoperator.has_quantised_operators(model):
        plain = qoperator.in_plain_operators(model, run.folder)
        _check_plain(run, model, plain)
    return half_models.in_float32(plain, run.folder) if half_models.is_half(plain) else plain, in_openvino


def _check_plain(run: Runs, model: Path, plain: Path) -> None:
    """Raise StretchError where plain operators make other levels of what quantised ones are given.

    By one level they may: the kernels of integers multiply a sum by one number where plain ones multiply its terms.
    """
    ends = [step.outputs[0] for step in read(plain).steps if step.type == "quantizelinear"]
    _, own = run(model, ends, optimised=False)
    _, made = run(plain, ends, given=own, optimised=False)
    for name, mine in own.items():
        apart = np.abs(mine.astype(np.int64) - made[name].astype(np.int64))
        if apart.max(initial=0) > 1:
            where = f"the quantised operator that makes {name!r} differs from the plain one"
            raise StretchError(
                f"{where}: {int((apart > 1).sum())} of {apart.size} values, by up to {apart.max()} levels"
            )


def _check_scale(each: Dynamic, own: Mapping[str, Array], made: Mapping[str, Array]) -> None:
    """Raise StretchError where a result finds another scale in the same values; where all are 0, any will do."""
    mine, theirs = (float(found[each.scale]) if own[each.before].any() else 0.0 for found in (own, made))
    if not abs(mine - theirs) <= differences.TOLERANCE * abs(mine):
        where = f"the stretch that ends with the quantisation {each.levels!r} is the first that differs"
        raise StretchError(f"{where}: its scale is {theirs:.6g}, in the source {mine:.6g}")


def _note(stretches: int, hidden: int, at_edges: int, count: int) -> str:
    more = f" ({hidden} quantisations are not shown by both)" if hidden else ""
    edges = f"{at_edges} of {count} values lie at the edge between two levels, and differ by one"
    return f"{stretches} stretches between quantisations{more}, each on the source's own values: {edges}"


def _least(output: Array, rounding: Rounding | None) -> float:
    """Return by how much an output may differ: a level where it is rounded, for its stretch was looked at already."""
    level = float(np.abs(rounding.level).max()) * (1 + _SLACK) if rounding else 0.0
    return max(level, differences.of_coordinates(output))


def _check(each: Rounding, mine: Array, made: Array, before: Array) -> int:
    """Return how many values of a stretch differ by a level. Raises StretchError where one does without reason.

    Levels may lie so close that what float32 makes of the values before is worth several.
    """
    if mine.shape != made.shape:
        shapes = f"{list(made.shape)}, in the source {list(mine.shape)}"
        raise StretchError(f"the stretch that ends with the quantisation {each.after!r} has shape {shapes}")
    apart = differences.differences(mine, made)
    off = ~(apart <= np.abs(each.level) * _SLACK)
    reach = max(compare("", before, before).limit, differences.of_coordinates(before))
    excused = off & (apart <= np.abs(each.level) * (1 + _SLACK) + reach) & each.is_at_edge(before, reach)
    wrong = off & ~excused
    if wrong.any():
        most = float((apart / np.abs(each.level))[wrong].max())
        where = f"the stretch that ends with the quantisation {each.after!r} is the first that differs"
        raise StretchError(f"{where}: {int(wrong.sum())} of {mine.size} values, by up to {most:.3g} levels")
    return int(off.sum())
