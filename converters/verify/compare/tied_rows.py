"""Rung 4: outputs of detectors, rows of boxes, scores and classes, which are sets of rows rather than arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...reports.verification import Compared, Verification
from ..graphs import Graph
from ..run.array_files import Named
from . import array_differences, tolerances
from .array_differences import all_pass, compare_all
from .model_outputs import ModelOutputs

_SORTS = ("topk", "nonmaxsuppression", "nms", "detectionoutput", "detectron", "proposal", "ctcgreedy")
_MOST_ROWS = 4096  # rows searched elsewhere: each is compared with all others
Rows = NDArray[np.float64]


def prove(outputs: ModelOutputs) -> Verification | None:
    """Return the comparisons of outputs whose rows only change places at ties; None for other differences."""
    if not sorts(outputs.run.models.graph):
        return None
    rows = aligned(outputs.expected, outputs.actual)
    comparisons = compare_all(outputs.expected, rows.outputs)
    return Verification(outputs=comparisons, note=rows.note) if all_pass(comparisons) else None


def compare_aligned(expected: Named, actual: Named, graph: Graph) -> tuple[Compared, ...]:
    """Return how outputs compare once tied rows stand in the same places, if the model sorts; remarks name them."""
    rows = aligned(expected, actual) if sorts(graph) else Aligned(outputs=actual)
    comparisons = compare_all(expected, rows.outputs, least=array_differences.coordinate_error)
    return tuple(replace(comparison, remark=rows.note) for comparison in comparisons)


@dataclass(frozen=True, slots=True, kw_only=True)
class Aligned:
    """Outputs with rows in the other model's order; ``note`` describes the moves, empty if there are none."""

    outputs: Named
    note: str = ""


def sorts(graph: Graph) -> bool:
    """Return whether a model sorts anything by value, so that ties may change places."""
    return any(word in step.type for step in graph.steps for word in _SORTS)


def aligned(expected: Named, actual: Named) -> Aligned:
    """Return ``actual`` with its rows in the order of ``expected``, if the same rows are there and only ties moved.

    Outputs of as many rows belong together: [n], [n, k], or these behind axes of size 1. Two rows are the same if
    all their numbers are, within the tolerance times the largest of an output; they tie if their scores, the descending
    columns, differ by no more than that. At the end of the list a different row of a tie may appear.
    """
    outputs, notes = dict(enumerate(actual)), []
    for places in _groups(expected, actual):
        mine, theirs = ([_rows(outputs[place][1]) for place in places] for outputs in (expected, actual))
        order, note = _order(mine, theirs)
        if note:
            for place, rows, others in zip(places, mine, theirs, strict=True):
                in_order = np.where((order < 0)[:, None], rows, others[np.maximum(order, 0)])
                name, array = actual[place]
                outputs[place] = name, in_order.astype(array.dtype).reshape(array.shape)
            notes.append(f"{note} in {', '.join(repr(expected[place][0]) for place in places)}")
    return Aligned(outputs=list(outputs.values()), note="; ".join(notes))


def _groups(expected: Named, actual: Named) -> list[list[int]]:
    """Return which outputs have rows that belong together."""
    groups: dict[int, list[int]] = {}
    for place, ((_, mine), (_, theirs)) in enumerate(zip(expected, actual, strict=True)):
        shape = _without_ones(mine.shape)
        if mine.shape == theirs.shape and len(shape) in (1, 2) and shape[0] > 1 and mine.dtype.kind in "iufb":
            groups.setdefault(shape[0], []).append(place)
    return list(groups.values())


def _without_ones(shape: tuple[int, ...]) -> tuple[int, ...]:
    leading = next((axis for axis, length in enumerate(shape) if length != 1), len(shape))
    return shape[leading:]


def _rows(array: NDArray[Any]) -> Rows:
    return array.reshape(_without_ones(array.shape)[0], -1).astype(np.float64)


def _order(expected: Sequence[Rows], actual: Sequence[Rows]) -> tuple[NDArray[np.intp], str]:
    """Return which row of ``actual`` belongs where, -1 where a tie at the end lacks it, and a note of the moves.

    The note is empty if nothing moved, or more than ties did.
    """
    limits = np.concatenate([np.full(scores.shape[1], tolerances.OUTPUT * np.abs(scores).max()) for scores in expected])
    mine, theirs = np.concatenate(expected, axis=1), np.concatenate(actual, axis=1)
    order = np.arange(len(mine))
    moved = np.flatnonzero(~(np.abs(mine - theirs) <= limits).all(axis=1))
    if not moved.size or len(moved) > _MOST_ROWS:
        return order, ""
    left = moved.tolist()
    for row in moved:  # only rows that moved can be each other's partners
        same = [other for other in left if (np.abs(mine[row] - theirs[other]) <= limits).all()]
        order[row] = same[0] if same else -1
        left = [other for other in left if other != order[row]]
    lost, matched = moved[order[moved] < 0], moved[order[moved] >= 0]
    for column in _scores(mine, limits):
        score, limit = mine[:, column], 2 * limits[column]  # each of two scores is off by the limit at most
        apart = float(np.abs(score[matched] - score[order[matched]]).max(initial=0.0))
        ends = np.concatenate([score[lost], theirs[left, column]])  # they must tie with the last row
        if apart <= limit and (np.abs(ends - score[-1]) <= limit).all():
            more = f", {len(lost)} tied with the last are different rows" if len(lost) else ""
            return order, f"{len(matched)} rows of scores no further apart than {apart:.3g} change places{more}"
    has_ties = not len(lost) and not _scores(mine, limits)
    return order, f"{len(matched)} rows in another order" if has_ties else ""


def _scores(rows: Rows, limits: Rows) -> list[int]:
    """Return the columns whose values descend, and are not all the same."""
    descending = ((np.diff(rows, axis=0) <= limits).all(axis=0), np.ptp(rows, axis=0) > limits)
    return np.flatnonzero(descending[0] & descending[1]).tolist()
