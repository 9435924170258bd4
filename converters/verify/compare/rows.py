"""Outputs of detectors: rows of boxes, scores and classes, which are sets of rows rather than arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..graphs import Graph
from ..run.runners import Named

_SORTS = ("topk", "nonmaxsuppression", "nms", "detectionoutput", "detectron", "proposal", "ctcgreedy")
_MOST_ROWS = 4096  # that are looked for elsewhere
Array = NDArray[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Aligned:
    """Outputs whose rows stand where those of the other model do; ``note`` says what was moved, nothing if nothing."""

    outputs: Named
    note: str = ""


def sorts(graph: Graph) -> bool:
    """Say whether a model puts anything in an order that values decide, so that ties may change places."""
    return any(word in step.type for step in graph.steps for word in _SORTS)


def aligned(wanted: Named, got: Named, tolerance: float) -> Aligned:
    """Return ``got`` with its rows in the order of ``wanted``, where the same rows are there and only ties moved.

    Outputs of as many rows belong together: [n], [n, k], or these behind axes of length 1. Two rows are the same where
    all their numbers are, within ``tolerance`` times the largest of an output; they tie where their scores, which are
    what descends, differ by no more than that. At the end of the list one of a tie may be there instead of another.
    """
    outputs, notes = dict(enumerate(got)), []
    for places in _groups(wanted, got):
        mine, theirs = ([_rows(each[place][1]) for place in places] for each in (wanted, got))
        order, note = _order(mine, theirs, tolerance)
        if order is not None and note:
            for place, rows, others in zip(places, mine, theirs, strict=True):
                taken = np.where((order < 0)[:, None], rows, others[np.maximum(order, 0)])
                name, array = got[place]
                outputs[place] = name, taken.astype(array.dtype).reshape(array.shape)
            notes.append(f"{note} in {', '.join(repr(wanted[place][0]) for place in places)}")
    return Aligned(outputs=list(outputs.values()), note="; ".join(notes))


def _groups(wanted: Named, got: Named) -> list[list[int]]:
    """Return which outputs have rows that belong together."""
    found: dict[int, list[int]] = {}
    for place, ((_, mine), (_, theirs)) in enumerate(zip(wanted, got, strict=True)):
        shape = _without_ones(mine.shape)
        if mine.shape == theirs.shape and len(shape) in (1, 2) and shape[0] > 1 and mine.dtype.kind in "iufb":
            found.setdefault(shape[0], []).append(place)
    return list(found.values())


def _without_ones(shape: tuple[int, ...]) -> tuple[int, ...]:
    first = next((axis for axis, length in enumerate(shape) if length != 1), len(shape))
    return shape[first:]


def _rows(array: Array) -> NDArray[np.float64]:
    return array.reshape(_without_ones(array.shape)[0], -1).astype(np.float64)


def _order(
    mine: Sequence[NDArray[np.float64]], theirs: Sequence[NDArray[np.float64]], tolerance: float
) -> tuple[NDArray[np.intp] | None, str]:
    """Return which row of ``theirs`` belongs where, -1 where a tie at the end lacks it; None if rows differ."""
    limits = np.concatenate([np.full(each.shape[1], tolerance * max(1.0, np.abs(each).max())) for each in mine])
    wanted, got = np.concatenate(mine, axis=1), np.concatenate(theirs, axis=1)
    order = np.arange(len(wanted))
    moved = np.flatnonzero(~(np.abs(wanted - got) <= limits).all(axis=1))
    if not moved.size or len(moved) > _MOST_ROWS:
        return order, ""
    left = [int(each) for each in moved]
    for row in moved:
        same = [each for each in left if (np.abs(wanted[row] - got[each]) <= limits).all()]
        order[row] = same[0] if same else -1
        left = [each for each in left if each != order[row]]
    scores = [column for column in range(wanted.shape[1]) if (np.diff(wanted[:, column]) <= limits[column]).all()]
    scores = [column for column in scores if np.ptp(wanted[:, column]) > limits[column]]
    return _judged(wanted, got, order, moved, left, limits, scores)


def _judged(
    wanted: NDArray[np.float64],
    got: NDArray[np.float64],
    order: NDArray[np.intp],
    moved: NDArray[np.intp],
    left: list[int],
    limits: NDArray[np.float64],
    scores: list[int],
) -> tuple[NDArray[np.intp] | None, str]:
    """Hold rows that moved to be ties: of some score, and those that are missing with the last."""
    lost = moved[order[moved] < 0]
    kept = moved[order[moved] >= 0]
    for column in scores:
        score, limit = wanted[:, column], 2 * limits[column]
        apart = float(np.abs(score[kept] - score[order[kept]]).max(initial=0.0))
        at_end = bool((np.abs(score[lost] - score[-1]) <= limit).all())
        if apart <= limit and at_end and bool((np.abs(got[left, column] - score[-1]) <= limit).all()):
            more = f", {len(lost)} tied with the last are others" if len(lost) else ""
            return order, f"{len(kept)} rows of scores no further apart than {apart:.3g} change places{more}"
    if not scores and not len(lost):
        return order, f"{len(kept)} rows in another order"
    return None, ""
