"""Verdicts: whether a runtime computes a resize as it is meant, and the difference.

A verdict follows from a prediction of the runtime's outcome, or from a run.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from ir_interp.errors import SpecError
from ir_interp.executor.resize import resize
from ir_interp.plan.integer_sums import sums_integers
from ir_interp.plan.taps import plan
from ir_interp.resize_op import ResizeOp
from ir_interp.shapes import Array, PartialShape, resolve_axes
from ir_interp.specs import Nearest, ResizeSpec
from ir_interp.translation.meaning import arithmetics_agree, differences, listed_axes

from ..predictions import runtimes_of
from ..runtimes.outcome import Kind, Outcome
from ..verify import tolerances
from ..verify.tolerances import absolute_differences

_LARGEST = 2**24  # elements that are computed to measure a difference: 128 MB as float64
BRIGHTEST = 100
"""The largest integer value in comparisons; int8 holds it."""
_VALUES = 64  # elements of a measured axis, at least: two alone may be nearly equal, and then nothing differs


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The outcome of a resize in a runtime; ``difference`` is the largest, of values from 0 to 1, if measured."""

    kind: Kind
    reason: str = ""
    difference: float | None = None
    but_for: str = ""  # the images for which a prediction does not hold

    @property
    def short(self) -> str:
        """The verdict without its reason, as in ``differs 0.57``."""
        return self.kind.value + (f" {self.difference:.2g}" if self.difference else "")

    @property
    def cause(self) -> str:
        """The reason, without the number of pixels in which it was observed."""
        return re.sub(r"(; )?\d+ of \d+ pixels$", "", self.reason)

    def __str__(self) -> str:
        size = f" by {self.difference:.3g}" if self.difference else ""
        return f"{self.kind.value}{size}" + (f": {self.reason}" if self.reason else "")


def judge(op: ResizeOp, prediction: Outcome) -> Verdict:
    """Return the verdict of a prediction: measured on the shape of the resize, else by its meaning."""
    if prediction.spec is None:
        return Verdict(kind=prediction.kind, reason=str(prediction))
    if prediction.spec == op.spec:
        return Verdict(kind=Kind.SAME, reason=str(prediction), but_for=prediction.but_for)
    outcome = replace(_of_floats(op, prediction), but_for=prediction.but_for)
    is_same = outcome.kind is Kind.SAME and not outcome.reason
    return replace(outcome, reason=INTEGERS) if is_same and _rounds_otherwise(op, prediction.spec) else outcome


INTEGERS = "but for integers, which may be off by 1 per axis"
"""The reason why a resize is the same although sums of integers are rounded otherwise."""


def _rounds_otherwise(op: ResizeOp, other: ResizeSpec) -> bool:
    """Return whether sums of integers are rounded in other steps, which values from 0 to 1 do not show."""
    return sums_integers(op.spec, op.dtype) and op.spec.rounds != other.rounds


def _of_floats(op: ResizeOp, prediction: Outcome) -> Verdict:
    assert prediction.spec is not None
    if op.shape is None or op.spec.waits or _resizes_dynamic(op, prediction.spec):
        return _by_meaning(op, prediction)
    try:
        measured = _measured(op.spec, prediction, op.shape)
        if measured.kind is Kind.SAME and sums_integers(op.spec, op.dtype):  # equal meanings may round in other steps
            return _measured(op.spec, prediction, op.shape, op.dtype)
        return measured
    except SpecError as error:
        return Verdict(kind=Kind.REFUSED, reason=str(error))


def differs(op: ResizeOp, outcome: Outcome) -> bool:
    """Return whether an outcome differs in more than the list of axes; run time may give the same axes."""
    parts = differences(op.spec, outcome.spec, op.shape) if outcome.spec else ()
    return any(part.part != "axes" for part in parts) and judge(op, outcome).kind is Kind.DIFFERS


def deviations(op: ResizeOp) -> Iterator[tuple[str, ResizeSpec]]:
    """Yield the runtimes that compute another resize than is meant, by their titles, and that resize."""
    for runtime in runtimes_of(op).values():
        prediction = runtime.predict(op)
        if prediction.spec is not None and differs(op, prediction):
            yield runtime.title, prediction.spec


def _by_meaning(op: ResizeOp, prediction: Outcome) -> Verdict:
    assert prediction.spec is not None
    parts = differences(op.spec, prediction.spec, op.shape)
    if parts:
        return Verdict(kind=Kind.DIFFERS, reason=str(prediction) or f"in {', '.join(map(str, parts))}")
    if prediction.condition or arithmetics_agree(op.spec, prediction.spec):
        return Verdict(kind=Kind.SAME, reason=prediction.condition)
    return Verdict(kind=Kind.SAME, reason="but for float32 ties")


def _resizes_dynamic(op: ResizeOp, other: ResizeSpec) -> bool:
    return any(op.shape is None or op.shape[axis] is None for axis in _resized(op.spec, other, op.shape or ()))


def _resized(mine: ResizeSpec, other: ResizeSpec, shape: PartialShape) -> set[int]:
    return {axis for spec in (mine, other) for axis in resolve_axes(listed_axes(spec, shape).axes, len(shape))}


def _measured(spec: ResizeSpec, prediction: Outcome, shape: PartialShape, integers: str | None = None) -> Verdict:
    """Run both on random values, or integers of a type; axes are independent, so unresized axes are made short."""
    assert prediction.spec is not None
    resized = _resized(spec, prediction.spec, shape)
    small = tuple((size or 1) if axis in resized else 1 for axis, size in enumerate(shape))
    mine, theirs = (listed_axes(meaning, shape) for meaning in (spec, prediction.spec))
    ends = [plan(meaning, small).out_shape for meaning in (mine, theirs)]
    if ends[0] != ends[1]:
        return Verdict(kind=Kind.DIFFERS, reason=prediction.reason or _other_shape(ends[1], ends[0]))
    if max(map(math.prod, (small, *ends))) > _LARGEST:
        return Verdict(kind=Kind.SAME, reason="too large to be measured")
    several = max(1, _VALUES // max(1, math.prod(small)))  # along one more axis, which both leave alone
    x = np.random.default_rng(0).random((*small, several))
    if integers is None:
        is_copy = isinstance(spec.kernel, Nearest)
        return verdict(resize(x, mine), resize(x, theirs), is_copy=is_copy, reason=prediction.reason)
    pixels = np.floor(x * BRIGHTEST).astype(integers)
    tolerance = tolerances.INTEGERS / BRIGHTEST
    outputs = resize(pixels, mine), resize(pixels, theirs)
    return verdict(*outputs, is_copy=False, reason=prediction.reason, scale=BRIGHTEST, tolerance=tolerance)


def verdict(
    expected: Array,
    actual: Array,
    *,
    is_copy: bool,
    reason: str = "",
    scale: float = 1.0,
    tolerance: float = tolerances.SINGLE_RESIZE,
) -> Verdict:
    """Return how an output compares with the expected one; differences are divided by ``scale``."""
    if expected.shape != actual.shape:
        return Verdict(kind=Kind.DIFFERS, reason=reason or _other_shape(actual.shape, expected.shape))
    off = absolute_differences(expected, actual)
    largest = float(off.max(initial=0.0)) / scale
    if largest <= (tolerances.COPY if is_copy else tolerance):
        return Verdict(kind=Kind.SAME)
    share = int((off > tolerances.COPY).sum())
    ties = f"{share} of {off.size} pixels" if is_copy else ""
    return Verdict(kind=Kind.DIFFERS, reason="; ".join(filter(None, (reason, ties))), difference=largest)


def _other_shape(actual: tuple[int, ...], expected: tuple[int, ...]) -> str:
    return f"shape {list(actual)}, not {list(expected)}"
