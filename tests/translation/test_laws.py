"""Every registered dialect, an installed package's too, obeys the laws of ``tests/support/laws.py``."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ir_interp import ReadError
from ir_interp.converters import dialects
from ir_interp.translation.dialect import Dialect
from tests.support import laws
from tests.support.laws import Place


def _loaded(name: str) -> list[Dialect]:
    try:
        return [dialects.get(name)]
    except ReadError:  # which the first test reports
        return []


DIALECTS = [dialect for name in dialects.names() for dialect in _loaded(name)]
PLACES = [place for dialect in DIALECTS for place in laws.places(dialect)]


@pytest.mark.parametrize("name", dialects.names())
def test_it_loads(name: str) -> None:
    assert dialects.get(name).name == name


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda each: each.name)
@pytest.mark.parametrize("law", laws.OF_A_DIALECT, ids=lambda law: law.__name__)
def test_law(law: Callable[[Dialect], None], dialect: Dialect) -> None:
    law(dialect)


@pytest.mark.sampled(40)
@pytest.mark.parametrize("place", PLACES, ids=str)
@pytest.mark.parametrize("law", laws.OF_A_PLACE, ids=lambda law: law.__name__)
def test_law_at_a_rank(law: Callable[[Place], None], place: Place) -> None:
    law(place)


@pytest.mark.parametrize(
    ("versions", "ranks"), [(1, {1, 4}), pytest.param(3, {*laws.RANKS}, marks=pytest.mark.long)], ids=["few", "all"]
)
@pytest.mark.parametrize("target", DIALECTS, ids=lambda each: each.name)
@pytest.mark.parametrize("source", DIALECTS, ids=lambda each: each.name)
def test_a_translation_computes_the_same_or_is_refused(
    source: Dialect, target: Dialect, versions: int, ranks: set[int]
) -> None:
    for place in laws.places(source):
        if place.version in source.versions[:versions] and place.rank in ranks:
            laws.a_translation_computes_the_same_or_is_refused(place, target)


def test_every_rank_is_some_dialect_s() -> None:
    assert {place.rank for place in PLACES} == set(laws.RANKS)
