"""Every promise of docs/safety.md names tests, and these are there."""

from __future__ import annotations

import re

import pytest

from tests.support.places import ROOT, TESTS

PAGE = (ROOT / "docs" / "safety.md").read_text(encoding="utf-8")
PROMISES = re.findall(r"^- \*\*(.+?)\*\*.*$", PAGE, re.MULTILINE)


@pytest.mark.parametrize("promise", PROMISES)
def test_a_promise_has_tests(promise: str) -> None:
    (line,) = (each for each in PAGE.splitlines() if each.startswith(f"- **{promise}**"))
    named = re.findall(r"`(test_\w+\.py|tests/[\w/]+(?:\.py)?)`", line)
    assert named
    for each in named:
        assert (ROOT / each if each.startswith("tests/") else TESTS / "safety" / each).exists(), each


def test_there_are_promises() -> None:
    assert len(PROMISES) >= 15
