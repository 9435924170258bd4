"""Every row of the table, in every dialect that it names."""

from __future__ import annotations

import pytest

from ir_interp import InexactError
from ir_interp.converters import dialects
from ir_interp.translation.dialect import Context
from ir_interp.translation.meaning import first_difference, meaning
from ir_interp.translation.translate import write
from tests.cases import CASES, Case, Refused, Said

ROWS = [pytest.param(case, name, id=f"{case.id}, {name}") for case in CASES for name in case.said]


@pytest.mark.parametrize(("case", "name"), ROWS)
def test_write(case: Case, name: str) -> None:
    expected = case.said[name]
    if isinstance(expected, Refused):
        with pytest.raises(InexactError) as refusal:
            write(case.spec, dialects.get(name), shape=case.shape)
        assert str(refusal.value).endswith(expected.reason)
        return
    translation = write(case.spec, dialects.get(name), shape=case.shape)
    assert (translation.version, translation.grade.value) == (expected.version, expected.grade)
    assert translation.attributes == expected.attributes


@pytest.mark.parametrize(("case", "name"), ROWS)
def test_read(case: Case, name: str) -> None:
    said = case.said[name]
    if isinstance(said, Refused):
        return
    read = dialects.get(name).parse(said.attributes, Context(version=said.version, shape=case.shape))
    if said.grade == "exact":
        assert meaning(read, case.shape) == meaning(case.spec, case.shape)
    else:
        assert first_difference(case.spec, read, tuple(length or 1 for length in case.shape)) is None


def test_every_dialect_of_the_project_has_rows() -> None:
    for name in dialects.own():
        assert [case for case in CASES if isinstance(case.said.get(name), Said)]
