"""Laws that every dialect obeys, whatever is added."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from ir_interp import AtRunTime, InexactError, ReadError, ResizeSpec, SpecError
from ir_interp.converters import registry
from ir_interp.translation.agreement import first_difference
from ir_interp.translation.dialect import Context, Dialect, Semantics
from ir_interp.translation.meaning import differences, meaning
from ir_interp.translation.translate import write

SHAPE = (1, 2, 6, 8)
DIALECTS = [registry.get(name) for name in registry.names()]
VERSIONS = [pytest.param(each, version, id=f"{each.name} {version}") for each in DIALECTS for version in each.versions]


def _numbers(dialect: Dialect, version: int, *, scales: bool) -> dict[str, Any] | None:
    """Return numbers for every part that a version carries, with a target of sizes or of scales."""
    wanted = "scales" if scales else "sizes"
    if dialect.number(wanted, version) is None:
        return None
    axes = (1, 2) if dialect.name == "tflite" else (2, 3)
    listed = dialect.number("axes", version) is not None
    lengths, ratios = ((4, 6), (0.75, 1.5)) if listed else ((1, 2, 4, 6), (1.0, 1.0, 0.75, 1.5))
    values: dict[str, Any] = {"a": -0.5, "extrapolation": 2.0, "axes": axes}
    values |= {"scales": ratios} if scales else {"sizes": lengths}
    values["roi"] = (0.0, 0.1, 1.0, 0.8) if listed else (0.0, 0.0, 0.0, 0.1, 1.0, 1.0, 1.0, 0.8)
    named = {dialect.number(part, version): value for part, value in values.items()}
    return {name: value for name, value in named.items() if name is not None}


def _specs(dialect: Dialect, version: int, semantics: Semantics = Semantics.RUNTIME) -> Iterator[ResizeSpec]:
    for scales in (False, True):
        numbers = _numbers(dialect, version, scales=scales)
        if numbers is not None:
            yield from dialect.offers(numbers, Context(version=version, shape=SHAPE, semantics=semantics))


@pytest.mark.parametrize(("dialect", "version"), VERSIONS)
@pytest.mark.parametrize("shape", [SHAPE, (None, 2, None, None)], ids=["shape", "open shape"])
def test_what_is_written_reads_back(dialect: Dialect, version: int, shape: tuple[int | None, ...]) -> None:
    specs = list(_specs(dialect, version))
    assert specs
    for spec in specs:
        translation = write(spec, dialect, version=version, shape=shape)
        read = dialect.parse(translation.attributes, Context(version=version, shape=shape))
        assert translation.grade.value == "exact"
        assert read == translation.spec
        assert meaning(read, shape) == meaning(spec, shape)


@pytest.mark.parametrize("target", DIALECTS, ids=lambda each: each.name)
@pytest.mark.parametrize("source", DIALECTS, ids=lambda each: each.name)
def test_a_translation_computes_the_same_or_is_refused(source: Dialect, target: Dialect) -> None:
    for version in source.versions[:3]:
        for spec in list(_specs(source, version))[::5]:
            with suppress(InexactError):
                translation = write(spec, target, shape=SHAPE)
                if not isinstance(spec.target, AtRunTime):
                    assert first_difference(spec, translation.spec, SHAPE) is None


@pytest.mark.parametrize(("dialect", "version"), VERSIONS)
def test_reading_changes_nothing_that_it_is_given(dialect: Dialect, version: int) -> None:
    numbers = _numbers(dialect, version, scales=dialect.number("sizes", version) is None) or {}
    for sentence in itertools.islice(dialect.sentences(version, numbers), 200):
        before = copy.deepcopy(sentence)
        with suppress(SpecError, ReadError):
            dialect.parse(sentence, Context(version=version, shape=SHAPE))
        assert sentence == before


@pytest.mark.parametrize(("dialect", "version"), VERSIONS)
def test_the_product_stays_small(dialect: Dialect, version: int) -> None:
    assert sum(1 for _ in dialect.sentences(version, {})) < 5_000


@pytest.mark.parametrize(("dialect", "version"), VERSIONS)
def test_every_word_is_some_spec_s(dialect: Dialect, version: int) -> None:
    """A word that no sentence can hold is a mistake in the table."""
    for name, values in dialect.words(version).items():
        for value in values:
            assert any(_is_said(dialect, version, name, value, scales=scales) for scales in (False, True))


def _is_said(dialect: Dialect, version: int, name: str, value: object, *, scales: bool) -> bool:
    numbers = _numbers(dialect, version, scales=scales)
    if numbers is None:
        return False
    for sentence in dialect.sentences(version, numbers):
        if sentence[name] == value:
            try:
                dialect.parse(sentence, Context(version=version, shape=SHAPE))
            except (SpecError, ReadError):
                continue
            return True
    return False


@pytest.mark.parametrize(("dialect", "version"), VERSIONS)
def test_differences_are_none_exactly_where_meanings_agree(dialect: Dialect, version: int) -> None:
    specs = list(_specs(dialect, version))[:40]
    for left, right in itertools.product(specs, specs):
        same = meaning(left, SHAPE) == meaning(right, SHAPE)
        assert (not differences(left, right, SHAPE)) == same


@pytest.mark.parametrize(("dialect", "version"), VERSIONS)
def test_an_unknown_word_offers_the_closest(dialect: Dialect, version: int) -> None:
    numbers = _numbers(dialect, version, scales=dialect.number("sizes", version) is None) or {}
    for name, values in dialect.words(version).items():
        sentence = next(dialect.sentences(version, numbers)) | {name: f"{values[0]}x"}
        with pytest.raises(ReadError) as error:
            dialect.parse(sentence, Context(version=version, shape=SHAPE))
        assert error.value.where == f"@{name}"
        if isinstance(values[0], str):
            assert f"did you mean {values[0]!r}?" in str(error.value)
