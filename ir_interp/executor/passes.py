"""Integers summed in passes, to the last bit."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.executor.bands import prepare
from ir_interp.executor.integers import rounded
from ir_interp.plan.geometry import Plan
from ir_interp.plan.passes import Pass, passes
from ir_interp.plan.taps import Taps
from ir_interp.spec import Integers

Array = NDArray[Any]


def run(x: Array, bound: Plan) -> Array:
    """Return integers ``x``, padded already, resized in the passes of a plan."""
    values = x
    for each in passes(bound, x.dtype.name):
        values = _finished(_summed(values, each), each, x.dtype)
    return values.astype(x.dtype)


def _summed(x: Array, step: Pass) -> Array:
    if step.weights.dtype.kind == "f":
        return _chained(x, step)
    if step.bits_each:
        return _shortened(x, step)
    return _multiplied(x, step)


def _multiplied(x: Array, step: Pass) -> Array:
    """Return whole sums, as products of float64 matrices: these are exact below 2**53, in whatever order."""
    outer, inner = math.prod(x.shape[: step.axis]), math.prod(x.shape[step.axis + 1 :])
    count = len(step.indices)
    taps = Taps(step.indices, step.weights.astype(np.float64))
    band = prepare(taps, 0, count, inner, np.dtype(np.float64))
    source = np.ascontiguousarray(x, np.float64).reshape(outer, x.shape[step.axis], inner)
    made = np.empty((outer, count, inner))
    band.apply(source[:, band.span.in_start : band.span.in_stop], made)
    return made.reshape(*x.shape[: step.axis], count, *x.shape[step.axis + 1 :])


def _columns(step: Pass, rank: int) -> list[tuple[Array, Array]]:
    """Return indices and weights of each tap, the weights laid along their axis."""
    shape = (-1,) + (1,) * (rank - step.axis - 1)
    return [(i, w.reshape(shape)) for i, w in zip(step.indices.T, step.weights.T, strict=True)]


def _shortened(x: Array, step: Pass) -> Array:
    values = x.astype(np.int64) >> step.bits_before
    terms = ((np.take(values, i, axis=step.axis) * w) >> step.bits_each for i, w in _columns(step, x.ndim))
    return np.asarray(sum(terms))


def _chained(x: Array, step: Pass) -> Array:
    values, total = x.astype(step.weights.dtype), None
    for i, w in _columns(step, x.ndim):
        term = np.take(values, i, axis=step.axis) * w
        total = term if total is None else total + term
    return np.asarray(total)


def _finished(sums: Array, step: Pass, dtype: np.dtype[Any]) -> Array:
    if step.factor != 1.0:
        sums = sums.astype(np.float32) * np.float32(step.factor)
    if step.rounding is not None:
        return rounded(sums * 2.0**-step.bits_after if step.bits_after else sums, step.rounding, dtype)
    if step.bits_after:
        sums = np.floor((sums + 2.0 ** (step.bits_after - 1)) * 2.0**-step.bits_after)
    return rounded(sums, Integers.CUT_OFF, dtype) if step.saturates else sums
