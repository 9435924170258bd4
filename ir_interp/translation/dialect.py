"""Dialects: the attributes of a format, their values by version, and the reader of a set of them.

A reader's accessed attributes are watched: sets that differ in others only have the same meaning. Last the offers of a
dialect: everything that it can express with the numbers of a spec, by axes, target and attribute set.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import lru_cache
from typing import Any

import numpy as np

from ir_interp.errors import Difference, ReadError, SpecError, closest, spelled
from ir_interp.plan.taps import plan
from ir_interp.shapes import PartialShape, resolve_axes, with_ones
from ir_interp.specs import Aspect, AtRunTime, Crop, Cubic, Reduce, ResizeSpec, Scales, Sizes
from ir_interp.translation.meaning import listed_axes, spread_axes


class SeenValues:
    """The values of some attributes, ``picked`` from those of all, in the sets that were read."""

    def __init__(self, accessed: Sequence[bool]) -> None:
        places = [place for place, is_accessed in enumerate(accessed) if is_accessed]
        self.picked: Callable[[Sequence[object]], object] = operator.itemgetter(*places) if places else lambda _: ()
        self.known = set[Any]()


class Watched(Mapping[str, Any]):
    """Attributes that record which of them were accessed."""

    def __init__(self, attributes: Mapping[str, object]) -> None:
        self.attributes = attributes
        self.names: set[str] = set()

    def __getitem__(self, name: str) -> object:
        self.names.add(name)
        return self.attributes[name]

    def __iter__(self) -> Iterator[str]:
        self.names |= set(self.attributes)
        return iter(self.attributes)

    def __len__(self) -> int:
        return len(list(self))


Attributes = Mapping[str, Any]
"""The attributes of a layer by name: choices, flags and numbers; a number of None is an input at run time."""


class Semantics(Enum):
    """The reading of an ambiguous file."""

    RUNTIME = "runtime"  # as the dialect's own runtime computes today
    DOCUMENT = "document"  # as its operator page specifies
    REFERENCE = "reference"  # as its reference implementation computes, if that differs from both
    OBSERVED = "observed"  # as its own runtime was observed to compute, faults included
    OPENVINO_2021_2 = "openvino-2021.2"  # as an earlier release of one dialect's runtime computed
    OPENVINO_2021_3 = "openvino-2021.3"

    @property
    def dialect(self) -> str:
        """The dialect of a reading by release; empty for readings that every dialect has."""
        name, is_release, _ = self.value.partition("-")
        return name if is_release else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """The context of a reader beside the attributes: their version, the input's shape and type, and the reading."""

    version: int
    shape: PartialShape | None = None
    dtype: str | None = None
    semantics: Semantics = Semantics.RUNTIME


PARTS = ("a", "axes", "sizes", "scales", "roi", "extrapolation", "pads_begin", "pads_end", "box", "gap")
"""The parts of a spec that a dialect may carry as numbers; ``box`` from the last axis to the first, as in Pillow."""


def no_remarks(attributes: Attributes, context: Context) -> tuple[tuple[str, str], ...]:
    """Return no remarks."""
    return ()


def not_observed(spec: ResizeSpec, attributes: Attributes, context: Context) -> ResizeSpec:
    """Raise SpecError, since the faults of this format's runtime are not described."""
    raise SpecError("semantics observed reads ONNX models only; use runtime, document or reference")


def no_doubt(spec: ResizeSpec, dtype: str | None) -> str:
    """Return no doubt."""
    return ""


def since(version: int) -> range:
    """Return the versions from ``version`` on."""
    return range(version, 2**31)


@dataclass(frozen=True, kw_only=True, eq=False)
class Dialect:
    """The attributes that one format has for a resize, and the meaning of a set of them.

    ``vocabulary`` maps each attribute to its allowed values, the preferred one first, and each value to the versions
    that have it. ``numbers`` maps a part of a spec (one of ``PARTS``) to the name of the attribute or input that
    carries it, with the versions that have it; a format without axes has targets for every axis, or for those that
    its reader names (``fixed_axes``). ``defaults`` is the meaning of a missing attribute, and since when; an attribute
    without an entry is required. ``omitted`` are the values that are left out when attributes are written: switches
    that are off. ``tolerated`` are values, by attribute, that runtimes accept in versions without them: they are read,
    but not for the document's reading, and never written. ``read`` is total on complete attribute sets and raises
    SpecError for combinations, ranks and types that the format forbids. ``remarks`` are codes and messages of further
    findings about a complete attribute set. ``doubt`` is the reason why a spec is not written for elements of a type,
    although the attributes can express it: the result of its runtime is unknown. ``observed`` converts the meaning of a
    file's attributes to the result of their runtime, and raises SpecError if no spec expresses that.

    Raises SpecError for a part that no spec has, and for a default or an omitted value of an unknown attribute.
    """

    name: str
    versions: tuple[int, ...]  # the newest first
    vocabulary: Mapping[str, Mapping[Any, range]]
    numbers: Mapping[str, tuple[str, range]]
    defaults: Mapping[str, tuple[Any, range]]
    omitted: Mapping[str, Any]
    read: Callable[[Attributes, Context], ResizeSpec]
    remarks: Callable[[Attributes, Context], tuple[tuple[str, str], ...]] = no_remarks
    doubt: Callable[[ResizeSpec, str | None], str] = no_doubt
    observed: Callable[[ResizeSpec, Attributes, Context], ResizeSpec] = not_observed
    tolerated: Mapping[str, Mapping[Any, range]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for table, names, known in (
            ("numbers", self.numbers, PARTS),
            ("defaults", self.defaults, self.vocabulary),
            ("omitted", self.omitted, self.vocabulary),
            ("tolerated", self.tolerated, self.vocabulary),
        ):
            for name in names:
                if name not in known:
                    raise SpecError(f"dialect {self.name!r}: {table} has {name!r}; {closest(name, known)}")

    def parse(self, raw: Attributes, context: Context) -> ResizeSpec:
        """Return the meaning of the attributes of a file, checked, and completed with the defaults.

        Raises ReadError, whose place is ``@attribute``, for a missing or unknown value, and SpecError for the reading
        of another dialect's release.
        """
        if context.semantics.dialect not in ("", self.name):
            raise SpecError(f"semantics {context.semantics.value!r} applies to {context.semantics.dialect} layers only")
        spec = self.read(self.complete(raw, context.version, context.semantics), context)
        return self.observed(spec, raw, context) if context.semantics is Semantics.OBSERVED else spec

    def complete(self, raw: Attributes, version: int, semantics: Semantics = Semantics.RUNTIME) -> dict[str, Any]:
        """Return the attributes of a file with defaults for missing ones. Raises ReadError as ``parse`` does."""
        tolerated = {} if semantics is Semantics.DOCUMENT else self.tolerated_of(raw, version)
        choices = {
            name: self._choice(name, known, raw, version)
            for name, known in self.choices(version).items()
            if name not in tolerated
        }
        return choices | tolerated | self._given_numbers(raw, version)

    def tolerated_of(self, raw: Attributes, version: int) -> dict[str, Any]:
        """Return the attributes of a file whose values are accepted although ``version`` does not have them."""
        return {
            name: raw[name]
            for name, values in self.tolerated.items()
            if name in raw and any(raw[name] == value and version in versions for value, versions in values.items())
        }

    def _given_numbers(self, raw: Attributes, version: int) -> dict[str, object]:
        return {
            name: _number(part, raw[name], f"@{name}")
            for part, (name, versions) in self.numbers.items()
            if version in versions and name in raw
        }

    def _choice(self, name: str, known: tuple[object, ...], raw: Attributes, version: int) -> object:
        default, versions = self.defaults.get(name, (None, range(0)))
        value = raw.get(name, default if version in versions else None)
        if value is None:
            raise ReadError(f"missing; {closest('', map(spelled, known))}", f"@{name}")
        if value not in known or isinstance(value, bool) != isinstance(known[0], bool):
            raise ReadError(
                f"unknown value {spelled(value)!r}; {closest(spelled(value), map(spelled, known))}", f"@{name}"
            )
        return value

    def choices(self, version: int) -> dict[str, tuple[Any, ...]]:
        """Return the attributes that exist in ``version``, each with its values."""
        allowed = {
            name: tuple(value for value, versions in values.items() if version in versions)
            for name, values in self.vocabulary.items()
        }
        return {name: values for name, values in allowed.items() if values}

    def number(self, part: str, version: int) -> str | None:
        """Return the name under which ``version`` carries a part of a spec; None if it does not."""
        name, versions = self.numbers.get(part, ("", range(0)))
        return name if version in versions else None

    def fixed_axes(self, context: Context) -> tuple[tuple[int, ...], ...]:
        """Return every choice of axes that a version resizes without naming them; empty if there is none.

        The reader determines them, possibly by the input's rank. A version that names axes in an attribute fixes none,
        and neither does one whose targets have an entry for every axis.
        """
        if self.number("axes", context.version) is not None:
            return ()
        rank = None if context.shape is None else len(context.shape)
        return _fixed_axes(self, context.version, rank, context.semantics)

    def attribute_sets(self, version: int, numbers: Attributes) -> Iterator[dict[str, object]]:
        """Yield every attribute set that the dialect has for ``numbers``, preferred values first."""
        choices = self.choices(version)
        for values in itertools.product(*choices.values()):
            yield dict(zip(choices, values, strict=True)) | dict(numbers)

    def offers(self, numbers: Attributes, context: Context) -> dict[ResizeSpec, dict[str, object]]:
        """Return each distinct meaning that can be expressed with ``numbers``, with its preferred attributes.

        Attributes that the reader did not access (a rounding under mode linear) are not read again with other values,
        which saves nine of ten readings.
        """
        offers: dict[ResizeSpec, dict[str, object]] = {}
        choices, read = self.choices(context.version), dict[tuple[str, ...], SeenValues]()
        for values in itertools.product(*choices.values()):
            # Sets that agree on all accessed names have the same meaning, whatever the others are.
            if any(seen.picked(values) in seen.known for seen in read.values()):
                continue
            # One combination in four is read; for the others even a dictionary would take longer than the comparison
            # above.
            attributes = dict(zip(choices, values, strict=True)) | dict(numbers)
            watched = Watched(attributes)
            with suppress(SpecError, ReadError):  # a combination that the dialect forbids
                offers.setdefault(self.read(watched, context), attributes)
            names = tuple(name for name in choices if name in watched.names)
            seen = read.setdefault(names, SeenValues(tuple(name in watched.names for name in choices)))
            seen.known.add(seen.picked(values))
        return offers

    def objection(self, numbers: Attributes, context: Context) -> str:
        """Return the objection of the format to the preferred attributes with ``numbers``, if any."""
        with suppress(ReadError):
            try:
                self.read(next(self.attribute_sets(context.version, numbers)), context)
            except SpecError as error:
                return str(error)
        return ""

    def concise(self, attributes: Attributes, context: Context) -> dict[str, object]:
        """Return ``attributes`` without those that have their default, or that have no effect whatever their value."""
        meaning, shortened = self.read(attributes, context), dict(attributes)
        for name, values in self.choices(context.version).items():
            if name in self.defaults:
                is_default = name in self.omitted and shortened[name] == self.omitted[name]
                if is_default or self._is_idle(name, values, shortened, meaning, context):
                    del shortened[name]
        return shortened

    def _is_idle(
        self, name: str, values: tuple[object, ...], attributes: Attributes, meaning: ResizeSpec, context: Context
    ) -> bool:
        with suppress(SpecError, ReadError):
            return all(self.parse({**attributes, name: value}, context) == meaning for value in values)
        return False


_HIGHEST_RANK = 8  # tried where the rank is unknown


@lru_cache(maxsize=256)
def _fixed_axes(dialect: Dialect, version: int, rank: int | None, semantics: Semantics) -> tuple[tuple[int, ...], ...]:
    """Read targets of every number of axes, and return the axes of the specs."""
    shape = None if rank is None else (None,) * rank
    context = Context(version=version, shape=shape, semantics=semantics)
    names = filter(None, (dialect.number(part, version) for part in ("sizes", "scales")))
    counts = range(1, (_HIGHEST_RANK if rank is None else rank) + 1)
    specs = (spec for name in names for count in counts for spec in dialect.offers({name: (2,) * count}, context))
    axes_of_specs = {spec.axes for spec in specs if spec.axes is not None}
    if rank is not None:
        axes_of_specs = {
            resolve_axes(axes, rank) for axes in axes_of_specs if all(-rank <= axis < rank for axis in axes)
        }
    return tuple(sorted(axes_of_specs))


_SINGLE = ("a", "extrapolation", "gap")
_WHOLE = ("axes", "sizes", "pads_begin", "pads_end")


def _number(part: str, value: Any, where: str) -> object:
    """Return a number, or a list of them as a tuple; None stays None. Raises ReadError for anything else."""
    if value is None:
        return None
    entries = [value] if part in _SINGLE else value
    kind = int if part in _WHOLE else int | float
    expected = "integer" if part in _WHOLE else "number"
    expected = f"one {expected}" if part in _SINGLE else f"a list of {expected}s"
    listed = isinstance(entries, list | tuple)
    if not listed or not all(isinstance(entry, kind) and not isinstance(entry, bool) for entry in entries):
        raise ReadError(f"{value!r} is not {expected}", where)
    return value if part in _SINGLE else tuple(entries)


def offered_by(spec: ResizeSpec, dialect: Dialect, context: Context) -> dict[ResizeSpec, dict[str, object]]:
    """Return every meaning that the dialect can express with the numbers of ``spec``, each with its attributes."""
    offers: dict[ResizeSpec, dict[str, object]] = {}
    for numbers in expressible(spec, dialect, context):
        offers |= _attribute_sets(dialect, tuple(numbers.items()), context)
    return offers


def expressible(spec: ResizeSpec, dialect: Dialect, context: Context) -> list[dict[str, object]]:
    """Return the numbers for every form of axes and target that the dialect has names for."""
    fixed = dialect.fixed_axes(context)
    variants = (_numbers(variant, dialect, context) for variant in _variants(spec, context.shape, fixed))
    return [numbers for numbers in variants if numbers is not None]


@lru_cache(maxsize=256)
def _attribute_sets(
    dialect: Dialect, numbers: tuple[tuple[str, object], ...], context: Context
) -> dict[ResizeSpec, Any]:
    return dialect.offers(dict(numbers), context)


def _variants(
    spec: ResizeSpec, shape: PartialShape | None, choices: tuple[tuple[int, ...], ...]
) -> Iterator[ResizeSpec]:
    """Yield equivalent axes and targets, for dialects that lack one or fix the axes to one of ``choices``."""
    if shape is None:
        yield spec
        return
    short = listed_axes(spec, shape)
    fixed = fixed_shape(spec, shape)
    variants = [short, replace(spec, axes=resolve_axes(spec.axes, len(shape)))]
    if fixed:
        axes = resolve_axes(short.axes, len(fixed))
        bound = plan(short, fixed)
        out_sizes = tuple(bound.out_shape[axis] for axis in axes)
        variants.append(replace(short, target=Sizes(out_sizes), aspect=Aspect.STRETCH))
        # A scale of 0 is invalid, and under a box the ratio of sizes is not the scale.
        if all(out_sizes) and spec.box is None and spec.before is None:
            padded = [fixed[axis] + sum(bound.padding[axis]) for axis in axes]
            # Rounded to float32, as a model file stores scales.
            ratios = tuple(float(np.float32(out / size)) for out, size in zip(out_sizes, padded, strict=True))
            variants.append(replace(short, target=Scales(ratios), aspect=Aspect.STRETCH))
    for variant in variants:
        wider = (spread_axes(variant, shape, choice) for choice in choices or (None,))
        yield from dict.fromkeys((variant, *filter(None, wider)))


def _numbers(spec: ResizeSpec, dialect: Dialect, context: Context) -> dict[str, Any] | None:
    """Return the numbers of ``spec`` under the dialect's names; None if axes or target have no name there.

    Axes that the dialect fixes need none. Any other number without a name is left out: the attributes are read back
    before they are offered, and differ then.
    """
    fixed = dialect.fixed_axes(context)
    if fixed and spec.axes not in fixed:
        return None
    named: dict[str, object] = {}
    for part, value in _carried(spec, context.shape):
        name = dialect.number(part, context.version)
        if name is not None:
            named[name] = value
        elif part in ("sizes", "scales") or (part == "axes" and not fixed):
            return None
    return named


def unnamed(spec: ResizeSpec, dialect: Dialect, context: Context) -> Difference:
    """Return the part that the dialect has no name for: the target, or the axes unless it fixes them."""
    carried, fixed = dict(_carried(spec, context.shape)), dialect.fixed_axes(context)
    for part in ("sizes", "scales"):
        if part in carried and dialect.number(part, context.version) is None:
            return Difference(part, carried[part], None)
    return Difference("axes", spec.axes, fixed[0] if fixed else None)


def _carried(spec: ResizeSpec, shape: PartialShape | None) -> Iterator[tuple[str, object]]:
    """Yield every number of a spec after its part; None if it is an input at run time."""
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


def fixed_shape(spec: ResizeSpec, shape: PartialShape | None) -> tuple[int, ...] | None:
    """Return ``shape`` with 1 for dynamic dimensions if none of them has an effect; otherwise None."""
    if shape is None or not isinstance(spec.target, Sizes | Scales):
        return None
    # The windows are an input at run time: no taps are known.
    if isinstance(spec.coordinates, Crop) and spec.coordinates.roi is None:
        return None
    resized = resolve_axes(listed_axes(spec, shape).axes, len(shape))
    if any(shape[axis] is None for axis in resized):
        return None
    return with_ones(shape)
