"""Taps in the order of summation: each input once, in ascending order."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ir_interp.plan.axes.taps import Taps


@lru_cache(maxsize=64)
def distinct(taps: Taps) -> Taps:
    """Return taps with one weight per input, inputs in ascending order; weights of 0 come last in a row.

    Weights are None if every output is a copy of one input. If a border repeats an input, several taps fall on it;
    their weights are added in the order of the taps. Some outputs of an axis stay sums unless all of it are copies.
    """
    if taps.weights is None:
        return taps
    used = taps.weights != 0
    keys = np.where(used, taps.indices, np.iinfo(np.intp).max)
    order = np.argsort(keys, axis=1, kind="stable")
    keys, weights = (np.take_along_axis(values, order, axis=1) for values in (keys, np.where(used, taps.weights, 0.0)))
    is_new = np.diff(keys, axis=1, prepend=-1) != 0
    places = np.cumsum(is_new, axis=1) - 1
    counts = (is_new & (weights != 0)).sum(axis=1)
    width = max(1, int(counts.max(initial=0)))
    rows, columns = np.nonzero(weights)
    merged = np.zeros((len(keys), width))
    np.add.at(merged, (rows, places[rows, columns]), weights[rows, columns])
    inputs = np.repeat(np.where(used.any(axis=1), keys[:, 0], taps.indices[:, 0])[:, None], width, axis=1)
    inputs[rows, places[rows, columns]] = keys[rows, columns]
    if width == 1 and (merged == 1).all() if taps.copies is None else taps.copies:
        return Taps(inputs, None, taps.outside)
    return Taps(np.maximum.accumulate(inputs, axis=1), merged, taps.outside)
