"""Writer of a spec in another dialect, derived from the dialect's reader, and the grade of the result."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ir_interp.errors import Cause, Difference, InexactError
from ir_interp.plan.axes.geometry import check_rank
from ir_interp.shapes import PartialShape
from ir_interp.spec import AtRunTime, ResizeSpec
from ir_interp.translation.agreement import arithmetics_agree, first_difference
from ir_interp.translation.bounds import within
from ir_interp.translation.dialect import Context, Dialect, Semantics
from ir_interp.translation.grades import Grade, Translation
from ir_interp.translation.meaning import differences, meaning
from ir_interp.translation.offers import expressible, fixed_shape, offered_by, unnamed


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
    """Yield the offers that sum integers differently, but weight the same pixels, the nearest first."""
    fixed = fixed_shape(spec, context.shape)
    if not fixed:
        return
    candidates = []
    for offered, attributes in offered_by(spec, dialect, context).items():
        if spec.sums_of_integers or offered.sums_of_integers:
            apart = within(spec, offered, fixed, context.dtype or "uint8")
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
