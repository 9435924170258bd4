"""Say a spec in another dialect: the writer that every reader implies, and how exact the result is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.dialect import Context, Dialect, Semantics
from ir_interp.errors import InexactError, ShapeError, SpecError
from ir_interp.geometry import AxisPlan, Plan, check_rank, plan, resolve_axes
from ir_interp.meaning import Difference, PartialShape, are_whole, differences, full_rank, listed, meaning
from ir_interp.spec import (
    Arithmetic,
    Aspect,
    AtRunTime,
    Coordinates,
    Crop,
    Cubic,
    Nearest,
    ResizeSpec,
    Rounding,
    Scales,
    Sizes,
)
from ir_interp.taps import Taps, axis_taps


class Grade(Enum):
    """How exact a translation is, the best first."""

    EXACT = "exact"
    EXACT_FOR_SHAPE = "exact for this shape"
    EXACT_BUT_TIES = "exact but for float32 ties"
    DECOMPOSED = "exact, in several operations"


@dataclass(frozen=True, slots=True, kw_only=True)
class Translation:
    """A spec said in a dialect: ``attributes`` in its words, ``spec`` what they mean there."""

    dialect: str
    version: int
    attributes: dict[str, Any]
    spec: ResizeSpec
    grade: Grade


def write(
    spec: ResizeSpec,
    dialect: Dialect,
    *,
    shape: PartialShape | None = None,
    version: int | None = None,
    semantics: Semantics = Semantics.RUNTIME,
    name: str = "resize",
) -> Translation:
    """Say ``spec`` in ``dialect``, in its newest version that can, or in ``version``.

    With a ``shape`` (lengths of the input, None where open) more can be said: attributes that compute the same for
    this shape alone are found as well. Raises InexactError, which names the smallest difference, where nothing does.
    """
    if shape is not None:
        check_rank(spec, len(shape))
    refusals = []
    for each in dialect.versions if version is None else (version,):
        try:
            return _write(spec, dialect, Context(version=each, shape=shape, semantics=semantics), name)
        except InexactError as error:
            refusals.append(error)
    raise min(refusals, key=lambda error: (not error.reason.startswith(_TIES), _distance(error.differences)))


_TIES = "float32 decides: "


@lru_cache(maxsize=256)
def _offers(dialect: Dialect, numbers: tuple[tuple[str, Any], ...], context: Context) -> dict[ResizeSpec, Any]:
    return dialect.offers(dict(numbers), context)


def _write(spec: ResizeSpec, dialect: Dialect, context: Context, name: str) -> Translation:
    shape, target = context.shape, f"{dialect.name} {context.version}"
    offers: dict[ResizeSpec, dict[str, Any]] = {}
    for variant in _variants(spec, shape):
        numbers = _numbers(variant, dialect, context)
        if numbers is not None:
            offers |= _offers(dialect, tuple(numbers.items()), context)
    if not offers and isinstance(spec.target, AtRunTime):
        raise InexactError(name, target, reason=f"{spec.target.value} are known only at run time")
    if not offers:
        raise InexactError(name, target, (_unnamed(spec, dialect, context),))
    same = [said for said in offers if meaning(said, shape) == meaning(spec, shape)]
    same.sort(key=lambda said: (not arithmetics_agree(spec, said), said.coordinates != spec.coordinates))
    fixed = _fixed(spec, shape)
    for said in [*same, *sorted(offers, key=lambda said: said.coordinates != spec.coordinates)]:
        grade = _grade(spec, said, said in same, fixed)
        if grade:
            words = dialect.concise(offers[said], context)
            return Translation(dialect=dialect.name, version=context.version, attributes=words, spec=said, grade=grade)
    if same and fixed:
        raise InexactError(name, target, reason=_TIES + str(first_difference(spec, same[0], fixed)))
    raise InexactError(name, target, min((differences(spec, said, shape) for said in offers), key=_distance))


def _distance(found: tuple[Difference, ...]) -> tuple[bool, int]:
    """Return what makes a refusal less telling: another way to give the target first, then the number of parts."""
    return any(each.part in ("axes", "sizes", "scales", "target") for each in found), len(found)


def _grade(spec: ResizeSpec, said: ResizeSpec, means_same: bool, fixed: tuple[int, ...] | None) -> Grade | None:
    """Grade an offer; None where it does not compute the same."""
    if means_same and arithmetics_agree(spec, said):
        return Grade.EXACT
    if fixed:
        return None if first_difference(spec, said, fixed) else Grade.EXACT_FOR_SHAPE
    return Grade.EXACT_BUT_TIES if means_same else None


def _variants(spec: ResizeSpec, shape: PartialShape | None) -> Iterator[ResizeSpec]:
    """Yield ways to give the same axes and target, for dialects that lack one."""
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
        if all(lengths):
            padded = [fixed[axis] + sum(bound.padding[axis]) for axis in axes]
            ratios = tuple(float(np.float32(out / size)) for out, size in zip(lengths, padded, strict=True))
            variants.append(replace(short, target=Scales(ratios), aspect=Aspect.STRETCH))
    for variant in variants:
        yield variant
        whole = full_rank(variant, shape)
        if whole is not None and whole != variant:
            yield whole


def _numbers(spec: ResizeSpec, dialect: Dialect, context: Context) -> dict[str, Any] | None:
    """Return the numbers of ``spec`` under the dialect's names; None where axes or target have no name there.

    Any other number without a name is left out: the sentence is read back before it is offered, and then differs.
    """
    named: dict[str, Any] = {}
    for part, value in _carried(spec, context.shape).items():
        name = dialect.number(part, context.version)
        if name is not None:
            named[name] = value
        elif part in ("axes", "sizes", "scales"):
            return None
    return named


def _unnamed(spec: ResizeSpec, dialect: Dialect, context: Context) -> Difference:
    """Return what the dialect has no name for: the target, or else the axes."""
    carried = _carried(spec, context.shape)
    unknown = [part for part in ("sizes", "scales", "axes") if dialect.number(part, context.version) is None]
    part = next((part for part in unknown if part in carried), "axes")
    return Difference(part, carried.get(part), None)


def _carried(spec: ResizeSpec, shape: PartialShape | None) -> dict[str, Any]:
    """Return every number of a spec by the part that it is; None where it is an input at run time."""
    carried: dict[str, Any] = {}
    if isinstance(spec.kernel, Cubic):
        carried["a"] = spec.kernel.a
    if spec.axes is not None:
        carried["axes"] = spec.axes
    if isinstance(spec.target, Sizes | Scales | AtRunTime):
        values = None if isinstance(spec.target, AtRunTime) else spec.target.values
        carried["sizes" if spec.gives_sizes else "scales"] = values
    if isinstance(spec.coordinates, Crop):
        roi = spec.coordinates.roi
        carried["roi"] = roi and tuple(start for start, _ in roi) + tuple(end for _, end in roi)
        carried["extrapolation"] = spec.coordinates.extrapolation
    if spec.pads and shape is not None:
        begin, end = [0] * len(shape), [0] * len(shape)
        for pad in spec.pads:
            begin[pad.axis], end[pad.axis] = pad.begin, pad.end
        carried |= {"pads_begin": tuple(begin), "pads_end": tuple(end)}
    return carried


def _fixed(spec: ResizeSpec, shape: PartialShape | None) -> tuple[int, ...] | None:
    """Return ``shape`` with 1 for open lengths where none of these matters; None where one does."""
    if shape is None or not isinstance(spec.target, Sizes | Scales):
        return None
    if isinstance(spec.coordinates, Crop) and spec.coordinates.roi is None:
        return None
    resized = resolve_axes(listed(spec, shape).axes, len(shape))
    if any(shape[axis] is None for axis in resized):
        return None
    return tuple(1 if length is None else length for length in shape)


_BY_RATIO = (
    Coordinates.HALF_PIXEL,
    Coordinates.PYTORCH_HALF_PIXEL,
    Coordinates.ASYMMETRIC,
    Coordinates.TF_HALF_PIXEL_FOR_NN,
)


def arithmetics_agree(spec: ResizeSpec, said: ResizeSpec) -> bool:
    """Say whether two specs of one meaning compute the same for every shape, each in its own arithmetic.

    Weights of a continuous kernel move by a rounding error only; what float32 can decide is a nearest pixel, the
    edge of a crop, and the length under fractional scales. Whole scales have neither (axes below a million). With
    sizes, onnxruntime and OpenVINO share their float32 order for floor and ceil, but not where 1/2 is a tie.
    """
    if spec.arithmetic is said.arithmetic and (spec.coordinates, spec.kernel) == (said.coordinates, said.kernel):
        return True
    if isinstance(spec.coordinates, Crop) or spec.aspect is not Aspect.STRETCH:
        return False
    whole = isinstance(spec.target, Scales) and are_whole(spec.target)
    if not isinstance(spec.kernel, Nearest):
        return whole or spec.gives_sizes
    if spec.coordinates not in _BY_RATIO or not isinstance(said.kernel, Nearest):
        return False
    directed = spec.kernel.rounding in (Rounding.FLOOR, Rounding.CEIL, Rounding.SIMPLE)
    alike = spec.coordinates is said.coordinates and spec.kernel == said.kernel
    float32 = Arithmetic.EXACT not in (spec.arithmetic, said.arithmetic)
    return whole or (spec.gives_sizes and directed and alike and float32)


def first_difference(wanted: ResizeSpec, offered: ResizeSpec, shape: tuple[int, ...]) -> str | None:
    """Return the first point in which two specs compute different things for ``shape``; None where they agree.

    Nearest pixels and lengths are compared in each spec's own arithmetic, weights as rationals, within 1e-6.
    """
    try:
        mine, theirs = plan(wanted, shape), plan(offered, shape)
    except (SpecError, ShapeError) as error:
        return str(error)
    if mine.out_shape != theirs.out_shape:
        return f"output shape {list(mine.out_shape)} becomes {list(theirs.out_shape)}"
    if mine.padding != theirs.padding:
        return f"padding {mine.padding} becomes {theirs.padding}"
    left, right = _taps_by_axis(mine), _taps_by_axis(theirs)
    for axis in sorted(left.keys() | right.keys()):
        size, out = shape[axis] + sum(mine.padding[axis]), mine.out_shape[axis]
        identity = Taps(np.arange(out)[:, None], None)
        row = _first_row(left.get(axis, identity), right.get(axis, identity), size)
        if row is not None:
            return f"output {row} of axis {axis} ({size} -> {out}) takes other source pixels"
    return None


def _taps_by_axis(bound: Plan) -> dict[int, Taps]:
    """Return taps by axis: copied pixels in the spec's arithmetic, weights from exact coordinates."""
    if not isinstance(bound.spec.kernel, Nearest) and not isinstance(bound.spec.coordinates, Crop):
        bound = replace(bound, axes=tuple(_exact(axis) for axis in bound.axes))
    return {axis.axis: taps for axis, taps in zip(bound.axes, axis_taps(bound), strict=True)}


def _exact(axis: AxisPlan) -> AxisPlan:
    return replace(axis, arithmetic=Arithmetic.EXACT)


def _first_row(left: Taps, right: Taps, size: int) -> int | None:
    """Return the first output whose taps differ, compared as sparse matrices."""
    entries = [_entries(left, size), _entries(right, size)]
    keys, places = np.unique(np.concatenate([key for key, _ in entries]), return_inverse=True)
    signed = np.concatenate([entries[0][1], -entries[1][1]])
    residue = np.abs(np.bincount(places, signed, len(keys)))
    rows = keys[residue > 1e-6] // (size + 1)
    return int(rows[0]) if len(rows) else None


def _entries(taps: Taps, size: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return taps as keys row * (size + 1) + column, and weights; the last column holds what is extrapolated."""
    rows = np.arange(len(taps.indices))[:, None]
    weights = np.ones(taps.indices.shape) if taps.weights is None else taps.weights
    columns = taps.indices
    if taps.outside is not None:
        columns = np.where(taps.outside[:, None], size, columns)
        weights = np.where(taps.outside[:, None], 1.0 / weights.shape[1], weights)
    return (rows * (size + 1) + columns).ravel().astype(np.int64), weights.ravel()
