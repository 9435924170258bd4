"""Express a spec in another dialect: the writer that every reader implies, and how exact the result is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import Enum
from functools import lru_cache
from typing import Any

import numpy as np

from ir_interp.errors import Cause, Difference, InexactError
from ir_interp.plan.geometry import check_rank, plan
from ir_interp.shapes import PartialShape, resolve_axes, with_ones
from ir_interp.spec import (
    Aspect,
    AtRunTime,
    Crop,
    Cubic,
    Reduce,
    ResizeSpec,
    Scales,
    Sizes,
)
from ir_interp.translation.agreement import arithmetics_agree, first_difference
from ir_interp.translation.bounds import within
from ir_interp.translation.dialect import Context, Dialect, Semantics
from ir_interp.translation.meaning import differences, listed, meaning, spread


class Grade(Enum):
    """How exact a translation is, the best first."""

    EXACT = "exact"
    EXACT_FOR_SHAPE = "exact for this shape"
    EXACT_BUT_TIES = "exact but for float32 ties"
    DECOMPOSED = "exact, in several operations"
    INTEGERS_WITHIN_1 = "integers within 1 per axis"
    INTEGERS_WITHIN = "integers within a bound"  # that of ``Translation.within``

    def worded(self, within: int) -> str:
        """Return it in words, with its bound, as in ``integers within 2``."""
        return f"integers within {within}" if self is Grade.INTEGERS_WITHIN else str(self.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Translation:
    """A spec expressed in a dialect: its ``attributes``, ``spec`` as what they mean there, and remarks on it.

    ``within`` is how far integers may lie apart, where both sides sum them otherwise.
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
        """The grade in words."""
        return self.grade.worded(self.within)


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
    """Express ``spec`` in ``dialect``, in its newest version that can, or in ``version``.

    With a ``shape`` (lengths of the input, None where dynamic) more can be expressed: attributes that compute the same
    for this shape alone are found as well; with a ``dtype`` what the dialect does not take of that type is refused.
    Where one side is an image library's sums of integers, and a known shape gives a bound of how far the other's lie
    apart, the grade is INTEGERS_WITHIN (``bounds``); without a ``dtype`` that is said of uint8.
    Raises InexactError, which names the smallest difference, where nothing does.
    """
    if shape is not None:
        check_rank(spec, len(shape))
    if dtype is not None and "float" in dtype:
        spec = spec.of_floats()
    versions = dialect.versions if version is None else (version,)
    contexts = [Context(version=each, shape=shape, dtype=dtype, semantics=semantics) for each in versions]
    best = next((found for context in contexts for found in _graded(spec, dialect, context)), None)
    if best is None:
        best = next((found for context in contexts for found in _bounded(spec, dialect, context)), None)
    if best is None:
        raise min((_refusal(spec, dialect, context, name) for context in contexts), key=_remoteness)
    return best


@lru_cache(maxsize=256)
def _attribute_sets(dialect: Dialect, numbers: tuple[tuple[str, Any], ...], context: Context) -> dict[ResizeSpec, Any]:
    return dialect.offers(dict(numbers), context)


def translations(
    spec: ResizeSpec, dialect: Dialect, *, shape: PartialShape | None, version: int
) -> Iterator[Translation]:
    """Yield every attribute set of one version of a dialect that computes the same as ``spec``, the best first.

    ``write`` returns the first of them, and says why there is none.
    """
    yield from _graded(spec, dialect, Context(version=version, shape=shape))


def compared(spec: ResizeSpec, offered: ResizeSpec, shape: PartialShape | None) -> Grade | None:
    """Return how exactly ``offered`` computes what ``spec`` does; None where it does not."""
    return _grade(spec, offered, meaning(offered, shape) == meaning(spec, shape), _fixed(spec, shape))


def _refusal(spec: ResizeSpec, dialect: Dialect, context: Context, name: str) -> InexactError:
    """Return why no attributes of one version of a dialect computes the same."""
    shape, target = context.shape, f"{dialect.name} {context.version}"
    offers = _offered(spec, dialect, context)
    if not offers:
        return _inexpressible(spec, dialect, context, name)
    same, fixed = _same(spec, offers, shape), _fixed(spec, shape)
    if same and fixed:
        reason = f"float32 decides: {first_difference(spec, same[0], fixed)}"
        return InexactError(name, target, reason=reason, cause=Cause.FLOAT32)
    return InexactError(name, target, min((differences(spec, offered, shape) for offered in offers), key=_distance))


def _remoteness(refusal: InexactError) -> tuple[bool, tuple[bool, int]]:
    """Return what makes a refusal less telling than another: one for float32's sake alone is the closest."""
    return refusal.cause is not Cause.FLOAT32, _distance(refusal.differences)


def _inexpressible(spec: ResizeSpec, dialect: Dialect, context: Context, name: str) -> InexactError:
    """Return why a dialect has no attributes at all around the numbers of ``spec``."""
    target = f"{dialect.name} {context.version}"
    objections = [dialect.objection(numbers, context) for numbers in _expressible(spec, dialect, context)]
    if objections and all(objections):
        return InexactError(name, target, reason=objections[0])
    if isinstance(spec.target, AtRunTime):
        return InexactError(name, target, reason=f"{spec.target.value} are known only at run time")
    return InexactError(name, target, (_unnamed(spec, dialect, context),))


def _expressible(spec: ResizeSpec, dialect: Dialect, context: Context) -> list[dict[str, Any]]:
    """Return the numbers of every way to give axes and target that the dialect has names for."""
    fixed = dialect.fixed_axes(context)
    variants = (_numbers(variant, dialect, context) for variant in _variants(spec, context.shape, fixed))
    return [numbers for numbers in variants if numbers is not None]


def _offered(spec: ResizeSpec, dialect: Dialect, context: Context) -> dict[ResizeSpec, dict[str, Any]]:
    """Return every meaning that the dialect can express around the numbers of ``spec``, each with its attributes."""
    offers: dict[ResizeSpec, dict[str, Any]] = {}
    for numbers in _expressible(spec, dialect, context):
        offers |= _attribute_sets(dialect, tuple(numbers.items()), context)
    return offers


def _same(spec: ResizeSpec, offers: Iterable[ResizeSpec], shape: PartialShape | None) -> list[ResizeSpec]:
    """Return the offers that mean the same for every shape, those first that float32 cannot part from ``spec``."""
    wanted = meaning(spec, shape)
    same = [offered for offered in offers if meaning(offered, shape) == wanted]
    return sorted(same, key=lambda offered: (not arithmetics_agree(spec, offered), *_other_attributes(spec, offered)))


def _other_attributes(spec: ResizeSpec, offered: ResizeSpec) -> tuple[bool, bool]:
    return offered.coordinates != spec.coordinates, offered.kernel != spec.kernel


def _graded(spec: ResizeSpec, dialect: Dialect, context: Context) -> Iterator[Translation]:
    """Yield the offers that compute the same, with their grades."""
    offers = _offered(spec, dialect, context)
    same, fixed = _same(spec, offers, context.shape), _fixed(spec, context.shape)
    rest = (offered for offered in offers if offered not in same)
    others = sorted(rest, key=lambda offered: _other_attributes(spec, offered))
    for offered in [*same, *others]:
        grade = _grade(spec, offered, offered in same, fixed)
        if grade:
            yield _translation(dialect, context, offered, offers[offered], grade)


def _translation(
    dialect: Dialect, context: Context, spec: ResizeSpec, attributes: dict[str, Any], grade: Grade, within: int = 0
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
    """Yield the offers that sum integers otherwise, but weigh the same pixels, the nearest first."""
    fixed = _fixed(spec, context.shape)
    if not fixed:
        return
    found = []
    for offered, attributes in _offered(spec, dialect, context).items():
        if spec.sums_of_integers or offered.sums_of_integers:
            apart = within(spec, offered, fixed, context.dtype or "uint8")
            if apart is not None:
                found.append((apart, _other_attributes(spec, offered), offered, attributes))
    for apart, _, offered, attributes in sorted(found, key=lambda each: each[:2]):
        yield _translation(dialect, context, offered, attributes, Grade.INTEGERS_WITHIN, apart)


def _distance(found: tuple[Difference, ...]) -> tuple[bool, int]:
    """Return what makes a refusal less telling: another way to give the target first, then the number of parts."""
    return any(each.part in ("axes", "sizes", "scales", "target") for each in found), len(found)


def _grade(spec: ResizeSpec, offered: ResizeSpec, means_same: bool, fixed: tuple[int, ...] | None) -> Grade | None:
    """Grade an offer; None where it does not compute the same."""
    if means_same and arithmetics_agree(spec, offered):
        return Grade.EXACT
    if fixed:
        return None if first_difference(spec, offered, fixed) else Grade.EXACT_FOR_SHAPE
    return Grade.EXACT_BUT_TIES if means_same else None


def _variants(
    spec: ResizeSpec, shape: PartialShape | None, choices: tuple[tuple[int, ...], ...]
) -> Iterator[ResizeSpec]:
    """Yield ways to give the same axes and target, for dialects that lack one or fix the axes to one of ``choices``."""
    if shape is None:
        yield spec
        return
    short = listed(spec, shape)
    fixed = _fixed(spec, shape)
    variants = [short, replace(spec, axes=resolve_axes(spec.axes, len(shape)))]
    if fixed:
        axes = resolve_axes(short.axes, len(fixed))
        bound = plan(short, fixed)
        lengths = tuple(bound.out_shape[axis] for axis in axes)
        variants.append(replace(short, target=Sizes(lengths), aspect=Aspect.STRETCH))
        if all(lengths) and spec.box is None and spec.before is None:
            padded = [fixed[axis] + sum(bound.padding[axis]) for axis in axes]
            ratios = tuple(float(np.float32(out / size)) for out, size in zip(lengths, padded, strict=True))
            variants.append(replace(short, target=Scales(ratios), aspect=Aspect.STRETCH))
    for variant in variants:
        wider = (spread(variant, shape, choice) for choice in choices or (None,))
        yield from dict.fromkeys((variant, *filter(None, wider)))


def _numbers(spec: ResizeSpec, dialect: Dialect, context: Context) -> dict[str, Any] | None:
    """Return the numbers of ``spec`` under the dialect's names; None where axes or target have no name there.

    Axes that the dialect fixes need none. Any other number without a name is left out: the attributes are read back
    before it is offered, and then differs.
    """
    fixed = dialect.fixed_axes(context)
    if fixed and spec.axes not in fixed:
        return None
    named: dict[str, Any] = {}
    for part, value in _carried(spec, context.shape):
        name = dialect.number(part, context.version)
        if name is not None:
            named[name] = value
        elif part in ("sizes", "scales") or (part == "axes" and not fixed):
            return None
    return named


def _unnamed(spec: ResizeSpec, dialect: Dialect, context: Context) -> Difference:
    """Return what the dialect has no name for: the target, or else the axes, beside those that it fixes."""
    carried, fixed = dict(_carried(spec, context.shape)), dialect.fixed_axes(context)
    for part in ("sizes", "scales"):
        if part in carried and dialect.number(part, context.version) is None:
            return Difference(part, carried[part], None)
    return Difference("axes", spec.axes, fixed[0] if fixed else None)


def _carried(spec: ResizeSpec, shape: PartialShape | None) -> Iterator[tuple[str, Any]]:
    """Yield every number of a spec, after the part that it is; None where it is an input at run time."""
    if isinstance(spec.kernel, Cubic):
        yield "a", spec.kernel.a
    if spec.axes is not None:
        yield "axes", spec.axes
    match spec.target:
        case Sizes(values):
            yield "sizes", values
        case Scales(values):
            yield "scales", values
        case AtRunTime():
            yield spec.target.value, None
    if isinstance(spec.coordinates, Crop):
        yield "roi", spec.coordinates.edges
        yield "extrapolation", spec.coordinates.extrapolation
    if spec.box is not None:
        yield "box", tuple(edge for side in zip(*spec.box, strict=True) for edge in reversed(side))
    if isinstance(spec.before, Reduce):
        yield "gap", spec.before.gap
    if spec.pads and shape is not None:
        yield from zip(("pads_begin", "pads_end"), spec.padding(len(shape)), strict=True)


def _fixed(spec: ResizeSpec, shape: PartialShape | None) -> tuple[int, ...] | None:
    """Return ``shape`` with 1 for dynamic dimensions where none of these matters; None where one does."""
    if shape is None or not isinstance(spec.target, Sizes | Scales):
        return None
    if isinstance(spec.coordinates, Crop) and spec.coordinates.roi is None:
        return None
    resized = resolve_axes(listed(spec, shape).axes, len(shape))
    if any(shape[axis] is None for axis in resized):
        return None
    return with_ones(shape)
