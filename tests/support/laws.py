"""Laws that every dialect obeys, whatever is added: each takes a version of a dialect at a rank, and asserts."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest

from ir_interp import AtRunTime, InexactError, ReadError, ResizeSpec, SpecError
from ir_interp.shapes import PartialShape
from ir_interp.translation.dialect import Context, Dialect
from ir_interp.translation.meaning import differences, first_difference, meaning
from ir_interp.translation.translate import write

LENGTHS = (3, 1, 2, 6, 8)
"""The sizes of an input of rank 5; one of a lower rank has the last of them."""

RANKS = range(1, len(LENGTHS) + 1)
RESIZED = {1: 1, 2: 2, 3: 2, 4: 2, 5: 3}
"""How many axes are resized by rank: the last ones, where the dialect does not fix them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The target of an axis, in each form; unset in all of them, the axis stays as it is."""

    length: int
    scale: float = 1.0
    whole_scale: float = 1.0
    start: float = 0.0
    end: float = 1.0


_TARGETS = (  # from the last axis that is resized
    Target(length=5, scale=1.5, whole_scale=2.0, start=0.1, end=0.8),
    Target(length=4, scale=0.75, whole_scale=3.0),
    Target(length=7, scale=2.0, whole_scale=4.0, start=0.2),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A version of a dialect, and the rank of an input that it takes."""

    dialect: Dialect
    version: int
    rank: int

    def __str__(self) -> str:
        return f"{self.dialect.name} {self.version}, rank {self.rank}"

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the input."""
        return LENGTHS[-self.rank :]

    @property
    def context(self) -> Context:
        """The facts that the reader knows."""
        return Context(version=self.version, shape=self.shape)

    def numbers(self) -> list[dict[str, Any]]:
        """Return numbers for every part that the version carries, with each kind of target that it carries."""
        fixed, last = self.dialect.fixed_axes(self.context), tuple(range(self.rank))[-RESIZED[self.rank] :]
        axes = fixed[0] if fixed else last
        listed = axes if fixed or self.dialect.number("axes", self.version) else tuple(range(self.rank))
        wanted = dict(zip(axes[::-1], _TARGETS, strict=False))
        targets = [wanted.get(axis, Target(length=self.shape[axis])) for axis in listed]
        window = tuple(each.start for each in targets) + tuple(each.end for each in targets)
        values = {"a": -0.5, "extrapolation": 2.0, "axes": axes, "roi": window}
        return [
            self._named(values | {part: tuple(getattr(each, name) for each in targets)})
            for part, name in (("sizes", "length"), ("scales", "scale"), ("scales", "whole_scale"))
            if self.dialect.number(part, self.version) is not None
        ]

    def _named(self, values: dict[str, Any]) -> dict[str, Any]:
        named = {self.dialect.number(part, self.version): value for part, value in values.items()}
        return {name: value for name, value in named.items() if name is not None}

    def specs(self) -> tuple[ResizeSpec, ...]:
        """Return everything that can be said of such an input; at ranks other than 4 a part of it, to save time."""
        return _specs(self)[:: 1 if self.rank == 4 else 23]


@cache
def _specs(place: Place) -> tuple[ResizeSpec, ...]:
    return tuple(spec for numbers in place.numbers() for spec in place.dialect.offers(numbers, place.context))


@cache
def places(dialect: Dialect) -> tuple[Place, ...]:
    """Return every version of a dialect at every rank that it takes."""
    found = (Place(dialect=dialect, version=each, rank=rank) for each in dialect.versions for rank in RANKS)
    return tuple(each for each in found if each.specs())


def some_rank_is_taken(dialect: Dialect) -> None:
    """By every version."""
    assert {place.version for place in places(dialect)} == set(dialect.versions)


def what_is_written_reads_back(place: Place) -> None:
    """With the lengths of all axes known, and of the second alone."""
    for shape in (place.shape, tuple(length if axis == 1 else None for axis, length in enumerate(place.shape))):
        for spec in place.specs():
            _reads_back(place, spec, shape)


def _reads_back(place: Place, spec: ResizeSpec, shape: PartialShape) -> None:
    translation = write(spec, place.dialect, version=place.version, shape=shape)
    read = place.dialect.parse(translation.attributes, Context(version=place.version, shape=shape))
    assert translation.grade.value == "exact"
    assert read == translation.spec
    assert meaning(read, shape) == meaning(spec, shape)


def a_translation_computes_the_same_or_is_refused(source: Place, target: Dialect) -> None:
    """In whichever version the target says it."""
    for spec in source.specs()[::5]:
        with suppress(InexactError):
            translation = write(spec, target, shape=source.shape)
            if not isinstance(spec.target, AtRunTime):
                assert first_difference(spec, translation.spec, source.shape) is None


def reading_changes_nothing_that_it_is_given(place: Place) -> None:
    """Neither the attributes nor lists in them."""
    for numbers in place.numbers():
        for sentence in itertools.islice(place.dialect.attribute_sets(place.version, numbers), 200):
            before = copy.deepcopy(sentence)
            with suppress(SpecError, ReadError):
                place.dialect.read(sentence, place.context)
            assert sentence == before


def reading_ends_in_a_spec_or_a_refusal(place: Place) -> None:
    """Whatever is known of the input and of the target, which may be given at run time, not at all, or too briefly."""
    targets = [place.dialect.number(part, place.version) for part in ("sizes", "scales")]
    for numbers in place.numbers():
        (name,) = (each for each in targets if each in numbers)
        rest = {key: value for key, value in numbers.items() if key != name}
        for given in (rest, rest | {name: None}, rest | {name: ()}, rest | {name: numbers[name][:1]}):
            for shape in (None, place.shape, (None,) * place.rank, place.shape[1:]):
                place.dialect.offers(given, Context(version=place.version, shape=shape))


def the_product_stays_small(place: Place) -> None:
    """The writer reads all of it."""
    assert sum(1 for _ in place.dialect.attribute_sets(place.version, {})) < 5_000


def differences_are_none_exactly_where_meanings_agree(place: Place) -> None:
    """For each pair of specs."""
    specs = place.specs()[:40]
    for left, right in itertools.product(specs, specs):
        same = meaning(left, place.shape) == meaning(right, place.shape)
        assert (not differences(left, right, place.shape)) == same


def an_unknown_word_offers_the_closest(place: Place) -> None:
    """Check every attribute."""
    for name, values in place.dialect.choices(place.version).items():
        sentence = next(place.dialect.attribute_sets(place.version, place.numbers()[0])) | {name: f"{values[0]}x"}
        with pytest.raises(ReadError) as error:
            place.dialect.parse(sentence, place.context)
        assert error.value.where == f"@{name}"
        if isinstance(values[0], str):
            assert f"did you mean {values[0]!r}?" in str(error.value)


def every_word_is_some_spec_s(dialect: Dialect) -> None:
    """A word that no sentence can hold, at any rank, is a mistake in the table."""
    for version in dialect.versions:
        unsaid = {(name, value) for name, values in dialect.choices(version).items() for value in values}
        for place in places(dialect):
            unsaid -= set(_words_said(place)) if unsaid and place.version == version else set()
        assert unsaid == set()


def _words_said(place: Place) -> Iterator[tuple[str, Any]]:
    for numbers in place.numbers():
        for sentence in place.dialect.attribute_sets(place.version, numbers):
            with suppress(SpecError, ReadError):
                place.dialect.parse(sentence, place.context)
                yield from ((name, sentence[name]) for name in place.dialect.choices(place.version))


OF_A_DIALECT = (some_rank_is_taken, every_word_is_some_spec_s)
OF_A_PLACE = (
    what_is_written_reads_back,
    reading_changes_nothing_that_it_is_given,
    reading_ends_in_a_spec_or_a_refusal,
    the_product_stays_small,
    differences_are_none_exactly_where_meanings_agree,
    an_unknown_word_offers_the_closest,
)
