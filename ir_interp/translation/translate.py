"""Writer of a spec in another dialect, derived from the dialect's reader, and the grade of the result.

``bound_within`` bounds the difference of two resizes of one meaning on integers, for any image: derived, not measured.
Each resize is a chain of sums. The error that one adds to the exact value is bounded link by link: the error of its
rounded weights, that of float32, the rounding between two axes, and the clipping there to the range of the type. A
link's error is weighted by the later links. At the end both are rounded and clipped, which never increases the
difference.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, assert_never

import numpy as np

from ir_interp.diagnostic_codes import Severity
from ir_interp.errors import Cause, Difference, InexactError, SpecError
from ir_interp.executor.ordered_sums import planned_steps, step_columns
from ir_interp.plain_text import Tone
from ir_interp.plan.integer_sums import CORNER_BITS, FIXED_BITS, Along, Corners, Sum, rounding_at_once, whole_piece
from ir_interp.plan.library_passes import Pass, passes
from ir_interp.plan.taps import Plan, Taps, axis_taps, check_rank, plan, reduced
from ir_interp.shapes import Array, PartialShape
from ir_interp.specs import Alpha, AtRunTime, IntegerRounding, Nearest, ResizeSpec, Smooth, SumRounding, Unrounded
from ir_interp.translation.dialect import Context, Dialect, Semantics, expressible, fixed_shape, offered_by, unnamed
from ir_interp.translation.meaning import (
    arithmetics_agree,
    difference_of_floats,
    differences,
    entries_of,
    first_difference,
    meaning,
    taps_by_axis,
)


class Grade(Enum):
    """The exactness of a translation, the best first."""

    EXACT = "exact"
    EXACT_FOR_SHAPE = "exact for this shape"
    EXACT_BUT_TIES = "exact but for float32 ties"
    DECOMPOSED = "exact, in several operations"
    INTEGERS_WITHIN_1 = "integers within 1 per axis"
    INTEGERS_WITHIN = "integers within a bound"  # the bound is ``Translation.within``

    def worded(self, within: int) -> str:
        """Return the grade as text with its bound, as in ``integers within 2``."""
        return f"integers within {within}" if self is Grade.INTEGERS_WITHIN else str(self.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Translation:
    """A spec expressed in a dialect: its ``attributes``, ``spec`` as their meaning there, and remarks.

    ``within`` is the largest difference of integers, if both sides sum them differently.
    """

    dialect: str
    version: int
    attributes: dict[str, Any]
    spec: ResizeSpec
    grade: Grade
    remarks: tuple[tuple[str, str], ...] = ()
    within: int = 0

    @property
    def exactness(self) -> str:
        """The grade as text."""
        return self.grade.worded(self.within)


OF_SEVERITY: dict[Severity, Tone] = {Severity.NOTE: "plain", Severity.WARNING: "doubt", Severity.ERROR: "bad"}
OF_GRADE: dict[Grade, Tone] = {
    Grade.EXACT: "good",
    Grade.EXACT_FOR_SHAPE: "good",  # all that a static model asks for; --strict asks for every shape
    Grade.EXACT_BUT_TIES: "plain",
    Grade.DECOMPOSED: "good",
    Grade.INTEGERS_WITHIN_1: "plain",
    Grade.INTEGERS_WITHIN: "plain",
}

OF_VERDICT: dict[str, Tone] = {
    "equal": "good",
    "equal on this processor": "doubt",
    "unknown": "doubt",
    "INCONCLUSIVE": "doubt",
    "DIFFERS": "bad",
}
"""The marks of compared outputs, and of plain calls."""


_SINGLE, _DOUBLE = 2.0**-24, 2.0**-53  # half a unit in the last place of 1
_TABLED = 2.0**-17  # largest rounding error of a weight where sums of bytes are integers (``plan.exact_sums``)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Link:
    """A sum along an axis whose ``weights`` sum to about 1, and its rounding.

    ``loss`` is the further error of a sum, in pixel values; ``unit`` the relative rounding error of each operation;
    ``radius`` the largest shift by the rounding that follows, and ``is_cut`` whether the sum is then clipped to the
    range of the type.
    """

    axis: int
    indices: Array
    weights: Array
    loss: float = 0.0
    unit: float = 0.0
    radius: float = 0.0
    is_cut: bool = False


def bound_within(first: ResizeSpec, second: ResizeSpec, shape: tuple[int, ...], dtype: str) -> int | None:
    """Return the largest difference of the integers of two specs; None if they weight other pixels, or it is unknown.

    For copies it is 0. Blocks that both average first leave both with the same pixels. Colours that are divided by
    their alpha may differ by the whole range of values, since alpha may be near 0. Specs without a target are not an
    error; their difference is unknown.
    """
    kind = np.dtype(dtype)
    if kind.kind not in "iu" or first.alpha is not second.alpha:
        return None
    if first.alpha is Alpha.PREMULTIPLIED:
        plain = [replace(spec, alpha=Alpha.SEPARATE) for spec in (first, second)]
        return bound_within(plain[0], plain[1], shape, dtype) and int(np.iinfo(kind).max)
    if first.before or second.before:
        return _after_blocks(first, second, shape, dtype)
    if difference_of_floats(first, second, shape) is not None:
        return None
    if isinstance(first.kernel, Nearest):
        return 0
    try:
        chains = [tuple(_links(plan(spec, shape), dtype)) for spec in (first, second)]
    except SpecError:  # sums of other integers
        return None
    exact = taps_by_axis(plan(first, shape))
    bounds = float(np.iinfo(kind).min), float(np.iinfo(kind).max)
    cuts = [[(link.axis, link.is_cut) for link in chain] for chain in chains]
    total = 0.0
    for chain in chains:
        compared = [(link, *_side_by_side(link, exact)) for link in chain]
        total += _error(compared, bounds) + (0.0 if cuts[0] == cuts[1] else _cut(compared, bounds))
    # Both results are integers, and so is their difference.
    return math.floor(total + _DOUBT)


_DOUBT = 1e-9  # of the sums here


def _after_blocks(first: ResizeSpec, second: ResizeSpec, shape: tuple[int, ...], dtype: str) -> int | None:
    """Return the largest difference of two specs of which one averages blocks; both must average the same ones."""
    if any(isinstance(spec.before, Smooth) or spec.pads for spec in (first, second)):
        return None
    one, other = (reduced(spec, shape) for spec in (first, second))
    if one is None and other is None:
        return bound_within(replace(first, before=None), replace(second, before=None), shape, dtype)
    if one is None or other is None or one.blocks != other.blocks:
        return None
    return bound_within(one.spec, other.spec, one.shape, dtype)


def _links(bound: Plan, dtype: str) -> Iterator[Link]:
    """Yield the sums of a plan in order."""
    if bound.spec.has_passes:
        yield from _of_passes(passes(bound, dtype))
        return
    steps = planned_steps(bound, dtype, whole_piece(bound).outputs)
    if steps is not None:
        for step in steps:
            yield from _of_corners(step) if isinstance(step, Corners) else [_of_step(step)]
        return
    rounding = rounding_at_once(bound.spec, dtype)
    for place, (axis, taps) in enumerate(zip(bound.axes, axis_taps(bound), strict=True)):
        if taps.weights is None:  # copies, as of a box that grows
            link = Link(axis=axis.axis, indices=taps.indices, weights=np.ones(taps.indices.shape), unit=0.0)
        else:
            link = Link(axis=axis.axis, indices=taps.indices, weights=taps.weights, unit=_SINGLE)
            link = replace(link, loss=_TABLED * taps.indices.shape[1] * np.iinfo(dtype).max)
        yield _ended(link, rounding) if place == len(bound.axes) - 1 else link


def _ended(link: Link, rounding: SumRounding) -> Link:
    return link if rounding is Unrounded.KEPT else replace(link, radius=_radius(rounding), is_cut=True)


def _radius(rounding: IntegerRounding) -> float:
    """Return how far at most a rounding moves a sum."""
    match rounding:
        case IntegerRounding.CUT_OFF:
            return 1.0
        case IntegerRounding.HALF_EVEN | IntegerRounding.HALF_UP | IntegerRounding.HALF_AWAY:
            return 0.5
        case _:
            assert_never(rounding)


def _of_step(step: Along) -> Link:
    fixed = step.sum is Sum.FIXED
    weights = np.stack(step_columns(step.weights), axis=1).astype(np.float64) * (2.0**-FIXED_BITS if fixed else 1.0)
    indices = np.stack(step_columns(step.indices), axis=1).astype(np.intp)
    link = Link(axis=step.axis, indices=indices, weights=weights, unit=0.0 if fixed else _SINGLE)
    return replace(link, radius=0.5, is_cut=True) if fixed else _ended(link, step.rounding)


def _of_corners(step: Corners) -> Iterator[Link]:
    pairs = zip(step.axes, step.indices, step.weights, strict=True)
    for place, (axis, indices, weights) in enumerate(pairs):
        one = 2.0**CORNER_BITS if step.fixed else 1.0
        link = Link(
            axis=axis,
            indices=np.stack(indices, axis=1).astype(np.intp),
            weights=np.stack(weights, axis=1).astype(np.float64) / one,
            unit=0.0 if step.fixed else _SINGLE,
        )
        yield _ended(link, IntegerRounding.CUT_OFF) if place == len(step.axes) - 1 else link


def _of_passes(stages: Sequence[Pass]) -> Iterator[Link]:
    """Yield passes with weights over powers of two, or over counts, scaled such that they sum to about 1."""
    scale = 1.0  # scale of the values that enter a pass: the current value of a pixel of 1
    for step in stages:
        total = float(2.0 ** round(math.log2(step.weights.sum(axis=1).max()))) if _is_whole(step) else 1.0
        if step.factor != 1.0:
            total = 1 / step.factor / scale
        elif step.rounding is not Unrounded.KEPT and _is_whole(step):
            total = 2.0 ** (step.bits_before + step.bits_each + step.bits_after) / scale
        weights, taps = step.weights / total, step.weights.shape[1]
        most = np.abs(weights).sum(axis=1).max(initial=0.0)
        # Truncated bits of values count as often as these are weighted; those of products once for each tap.
        loss = most * (2.0**step.bits_before - 1) / scale + (taps * 2.0**-step.bits_after if step.bits_each else 0.0)
        link = Link(axis=step.axis, indices=step.indices, weights=weights, loss=loss, unit=_unit(step))
        yield _ended(link, step.rounding)
        scale = scale * total if step.rounding is Unrounded.KEPT else 1.0


def _is_whole(step: Pass) -> bool:
    return step.weights.dtype.kind != "f"


def _unit(step: Pass) -> float:
    if step.factor != 1.0 or step.weights.dtype == np.float32 or step.is_turned:
        return _SINGLE
    return _DOUBLE if step.weights.dtype == np.float64 else 0.0


def _side_by_side(link: Link, exact: Mapping[int, Taps]) -> tuple[Array, Array, Array]:
    """Return the output, the exact weight and the link's weight of every pixel that either weights."""
    copies = Taps(np.arange(len(link.indices))[:, None], None)
    both = exact.get(link.axis, copies), Taps(link.indices, link.weights)
    size = 1 + max(int(taps.indices.max(initial=0)) for taps in both)
    entries = [entries_of(taps, size) for taps in both]
    keys = np.unique(np.concatenate([key for key, _ in entries]))
    weights = [np.bincount(np.searchsorted(keys, key), values, len(keys)) for key, values in entries]
    return keys // (size + 1), weights[0], weights[1]


Compared = Sequence[tuple[Link, Array, Array, Array]]
"""The links of a chain, each with its exact counterpart."""


def _error(chain: Compared, bounds: tuple[float, float]) -> float:
    """Return the largest difference of a chain from the exact one with the same clipping, after the last rounding."""
    (low, high), error = bounds, 0.0
    for link, rows, weights, others in chain:
        most = _largest(rows, np.abs(others))
        lacking = max(_largest(rows, _times(sign * (others - weights), low, high)) for sign in (1, -1))
        summed = link.unit * (link.weights.shape[1] + 2) * most * max(abs(low), abs(high))
        # The error so far is amplified by the sum of absolute weights, which exceeds 1 for kernels with negative lobes.
        error = error * most + lacking + summed + link.loss + link.radius
        low, high = _range(rows, weights, low, high)
        if link.is_cut:
            low, high = max(low, bounds[0]), min(high, bounds[1])
    return error


def _times(weights: Array, low: float, high: float) -> Array:
    """Return the largest contribution of each pixel to a sum, for values from ``low`` to ``high``."""
    return np.maximum(weights * low, weights * high)


def _largest(rows: Array, values: Array) -> float:
    return float(np.bincount(rows, values).max(initial=0.0))


def _range(rows: Array, weights: Array, low: float, high: float) -> tuple[float, float]:
    """Return the least and the largest sum of pixels from ``low`` to ``high``."""
    return -float(np.bincount(rows, _times(-weights, low, high)).max()), _largest(rows, _times(weights, low, high))


def _cut(chain: Compared, bounds: tuple[float, float]) -> float:
    """Return the largest difference of an exact chain clipped between its links from one clipped at the end only."""
    (low, high), apart = bounds, 0.0
    for place, (link, rows, weights, _) in enumerate(chain):
        if apart:
            alone = place == len(chain) - 1 and len(chain) == 2
            apart = _seen(rows, weights, (low, high), bounds) if alone else apart * _largest(rows, np.abs(weights))
        low, high = _range(rows, weights, low, high)
        if link.is_cut and place < len(chain) - 1:
            apart += max(high - bounds[1], bounds[0] - low, 0.0)
    return apart


# Every share gives a valid bound, so a finer grid only makes it tighter.
_SHARES = np.linspace(0.0, 1.0, 11)


def _seen(rows: Array, weights: Array, reach: tuple[float, float], bounds: tuple[float, float]) -> float:
    """Return the largest difference of sums of clipped values from those of unclipped ones, both clipped at the end.

    The unclipped values are within ``reach``. For two sums, T the larger, M the largest value: min(T, M) <= a T +
    (1 - a) M, and max(C, 0) >= b C, for all a and b from 0 to 1. That is a sum over pixels again, with each pixel at
    its own worst case. The least over a and b holds.
    """
    span = bounds[1] - bounds[0]
    places = np.array([reach[0] - bounds[0], 0.0, span, reach[1] - bounds[0]])
    cut = np.clip(places, 0.0, span)
    worst = 0.0
    for larger, smaller in ((places, cut), (cut, places)):
        sums = [
            np.bincount(rows, (weights[:, None] * (a * larger - b * smaller)).max(axis=1)) + (1 - a) * span
            for a, b in itertools.product(_SHARES, _SHARES)
        ]
        worst = max(worst, float(np.min(sums, axis=0).max(initial=0.0)))
    return worst


def write(
    spec: ResizeSpec,
    dialect: Dialect,
    *,
    shape: PartialShape | None = None,
    dtype: str | None = None,
    version: int | None = None,
    semantics: Semantics = Semantics.RUNTIME,
    name: str = "resize",
) -> Translation:
    """Return ``spec`` expressed in ``dialect``, in the newest version that can, or in ``version``.

    With a ``shape`` (None for dynamic dimensions) more can be expressed: attributes that compute the same for this
    shape only are considered as well. With a ``dtype``, elements that the dialect does not support are refused. If one
    side is an image library's sums of integers, and a static shape gives a bound of the difference, the grade is
    INTEGERS_WITHIN (``bounds``); without a ``dtype`` it is the bound for uint8. Raises InexactError, which names the
    smallest difference, if there is no translation.
    """
    if shape is not None:
        check_rank(spec, len(shape))
    # Floats have no integer passes: without them more attributes express the same.
    if dtype is not None and "float" in dtype:
        spec = spec.of_floats()
    versions = dialect.versions if version is None else (version,)
    contexts = [Context(version=version, shape=shape, dtype=dtype, semantics=semantics) for version in versions]
    best = next((translation for context in contexts for translation in _graded(spec, dialect, context)), None)
    if best is None:
        # Bounds are the last resort: an exact form in any version is better than one within a bound in the newest.
        best = next((translation for context in contexts for translation in _bounded(spec, dialect, context)), None)
    if best is None:
        raise min((_refusal(spec, dialect, context, name) for context in contexts), key=_remoteness)
    doubt = dialect.doubt(best.spec, dtype)
    if doubt:
        raise InexactError(name, f"{best.dialect} {best.version}", reason=doubt)
    return best


def translations(
    spec: ResizeSpec, dialect: Dialect, *, shape: PartialShape | None, version: int
) -> Iterator[Translation]:
    """Yield every attribute set of one version of a dialect that computes the same as ``spec``, the best first.

    ``write`` returns the first of them, or the reason why there is none.
    """
    yield from _graded(spec, dialect, Context(version=version, shape=shape))


def compared(spec: ResizeSpec, offered: ResizeSpec, shape: PartialShape | None) -> Grade | None:
    """Return how exactly ``offered`` computes ``spec``; None if it does not."""
    return _grade(spec, offered, meaning(offered, shape) == meaning(spec, shape), fixed_shape(spec, shape))


def _refusal(spec: ResizeSpec, dialect: Dialect, context: Context, name: str) -> InexactError:
    """Return why no attributes of one version of a dialect compute the same."""
    shape, target = context.shape, f"{dialect.name} {context.version}"
    offers = offered_by(spec, dialect, context)
    if not offers:
        return _inexpressible(spec, dialect, context, name)
    same, fixed = _same(spec, offers, shape), fixed_shape(spec, shape)
    if same and fixed:
        reason = f"float32 decides: {first_difference(spec, same[0], fixed)}"
        return InexactError(name, target, reason=reason, cause=Cause.FLOAT32)
    return InexactError(name, target, min((differences(spec, offered, shape) for offered in offers), key=_distance))


def _remoteness(refusal: InexactError) -> tuple[bool, tuple[bool, int]]:
    """Return the sort key of refusals by how far they are; one that is due to float32 only is the closest."""
    return refusal.cause is not Cause.FLOAT32, _distance(refusal.differences)


def _inexpressible(spec: ResizeSpec, dialect: Dialect, context: Context, name: str) -> InexactError:
    """Return why a dialect has no attributes at all for the numbers of ``spec``."""
    target = f"{dialect.name} {context.version}"
    objections = [dialect.objection(numbers, context) for numbers in expressible(spec, dialect, context)]
    if objections and all(objections):
        return InexactError(name, target, reason=objections[0])
    if isinstance(spec.target, AtRunTime):
        return InexactError(name, target, reason=f"{spec.target.value} are known only at run time")
    return InexactError(name, target, (unnamed(spec, dialect, context),))


def _same(spec: ResizeSpec, offers: Iterable[ResizeSpec], shape: PartialShape | None) -> list[ResizeSpec]:
    """Return the offers that mean the same for every shape, first those that float32 cannot separate from ``spec``."""
    meant = meaning(spec, shape)
    same = [offered for offered in offers if meaning(offered, shape) == meant]
    return sorted(same, key=lambda offered: (not arithmetics_agree(spec, offered), *_other_attributes(spec, offered)))


def _other_attributes(spec: ResizeSpec, offered: ResizeSpec) -> tuple[bool, bool]:
    return offered.coordinates != spec.coordinates, offered.kernel != spec.kernel


def _graded(spec: ResizeSpec, dialect: Dialect, context: Context) -> Iterator[Translation]:
    """Yield the offers that compute the same, with their grades."""
    offers = offered_by(spec, dialect, context)
    same, fixed = _same(spec, offers, context.shape), fixed_shape(spec, context.shape)
    rest = (offered for offered in offers if offered not in same)
    others = sorted(rest, key=lambda offered: _other_attributes(spec, offered))
    for offered in [*same, *others]:
        grade = _grade(spec, offered, offered in same, fixed)
        if grade:
            yield _translation(dialect, context, offered, offers[offered], grade)


def _translation(
    dialect: Dialect, context: Context, spec: ResizeSpec, attributes: dict[str, object], grade: Grade, within: int = 0
) -> Translation:
    concise = dialect.concise(attributes, context)
    return Translation(
        dialect=dialect.name,
        version=context.version,
        attributes=concise,
        spec=spec,
        grade=grade,
        remarks=dialect.remarks(dialect.complete(concise, context.version), context),
        within=within,
    )


def _bounded(spec: ResizeSpec, dialect: Dialect, context: Context) -> Iterator[Translation]:
    """Yield the offers that sum integers differently, but weight the same pixels, the nearest first."""
    fixed = fixed_shape(spec, context.shape)
    if not fixed:
        return
    candidates = []
    for offered, attributes in offered_by(spec, dialect, context).items():
        if spec.sums_of_integers or offered.sums_of_integers:
            apart = bound_within(spec, offered, fixed, context.dtype or "uint8")
            if apart is not None:
                candidates.append((apart, _other_attributes(spec, offered), offered, attributes))
    for apart, _, offered, attributes in sorted(candidates, key=lambda candidate: candidate[:2]):
        yield _translation(dialect, context, offered, attributes, Grade.INTEGERS_WITHIN, apart)


def _distance(parts: tuple[Difference, ...]) -> tuple[bool, int]:
    """Return the sort key of refusals: first those with the same form of the target, then by the number of parts."""
    return any(difference.part in ("axes", "sizes", "scales", "target") for difference in parts), len(parts)


def _grade(spec: ResizeSpec, offered: ResizeSpec, means_same: bool, fixed: tuple[int, ...] | None) -> Grade | None:
    """Return the grade of an offer; None if it does not compute the same."""
    if means_same and arithmetics_agree(spec, offered):
        return Grade.EXACT
    if fixed:
        return None if first_difference(spec, offered, fixed) else Grade.EXACT_FOR_SHAPE
    return Grade.EXACT_BUT_TIES if means_same else None
