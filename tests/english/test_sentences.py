"""Sentences follow the style: a subject first, few words, short paragraphs; errors are the middle of a line."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.english.test_words import MODULES, PAGES, prose, texts
from tests.support.places import ROOT

CLAUSE = re.compile(
    r"(?:\A|(?<=[.!?;] )|(?<=\n\n)|(?<=\n- ))(?:What|Who(?:se)?|Where|Of(?! \d)(?! the \d)|That which) [^.?!]*[.?!]?"
)
"""A sentence that begins with a clause or a partitive in place of its subject; ``Of 20 models, 3 failed`` has one."""
LONGEST, MOST_SENTENCES = 40, 5
HISTORY = re.compile(r"\b(no longer (?!than|the)|formerly|previously|anymore|in earlier versions)\b", re.IGNORECASE)
NAMES = {"Convert", "Gather", "Interpolate", "Pillow", "Python", "Resize", "Transpose", "Zarr"}
"""Words that are in upper case wherever they stand in an error."""
SUPPORT = sorted((ROOT / "tests" / "support").rglob("*.py"))


def _clauses(text: str) -> list[str]:
    joined = re.sub(r"(?<=\S)\n *(?=[^\s-])", " ", prose(text).replace("**", ""))
    return [found.group() for found in CLAUSE.finditer(joined) if not found.group().endswith("?")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_sentences_of_pages_start_with_their_subjects(page: Path) -> None:
    headless = re.sub(r"^(#+|\|) .*$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert _clauses(headless) == []


def test_docstrings_and_comments_start_with_their_subjects() -> None:
    assert [
        f"{path.relative_to(ROOT)}:{line}: {clause}"
        for path in (*MODULES, *SUPPORT)
        for line, text, is_message in texts(path)
        if not is_message
        for clause in _clauses(text.lstrip("# "))
    ] == []


@pytest.mark.parametrize(
    "text",
    [
        "What the commands write, git ignores.",
        "It runs. What a number is, is found by following it.",
        "Of an IR without weights, the file tells the rest.",
        "Where a layer stands alone, it stays.",
        "Who has no TensorRT does not fail.",
    ],
)
def test_clauses_are_noticed(text: str) -> None:
    assert _clauses(text)


@pytest.mark.parametrize("text", ["What now?", "Of 20 models, 3 failed.", "See what it does.", "`a`. What is it?"])
def test_other_sentences_pass(text: str) -> None:
    assert _clauses(text) == []


def _paragraphs(page: str) -> Iterator[list[str]]:
    """Yield the sentences of each paragraph and list item of a page; tables, headings and code have none."""
    plain = re.sub(r"`[^`\n]*`", "Code", re.sub(r"```.*?```", "", page, flags=re.DOTALL))
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", plain)
    for block in re.split(r"\n\s*\n|\n(?= *(?:[-*]|\d+\.) )|\n(?=\|)", plain):
        if not block.startswith(("|", "#", "!", "<", "    ", "---")):
            yield [each for each in re.split(r"(?<=[.!?])\s+(?=[A-Z*])", " ".join(block.split())) if each]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_paragraphs_are_short(page: Path) -> None:
    paragraphs = list(_paragraphs(page.read_text(encoding="utf-8")))
    assert [each[0] for each in paragraphs if len(each) > MOST_SENTENCES] == []
    sentences = [each for those in paragraphs for each in those if each.endswith((".", "?"))]
    assert [each for each in sentences if len(each.split()) > LONGEST] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_have_no_history(page: Path) -> None:
    assert HISTORY.findall(prose(page.read_text(encoding="utf-8"))) == []


def _errors() -> Iterator[tuple[str, ast.expr]]:
    """Yield the place and the text of each error that is raised with one."""
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args:
                yield f"{path.relative_to(ROOT)}:{node.lineno}", node.exc.args[0]


def test_errors_are_the_middle_of_a_line() -> None:
    """The program prints them behind ``error:``, and often behind a file and before what to do."""
    wrong = []
    for place, text in _errors():
        parts = [each.value for each in getattr(text, "values", [text]) if isinstance(each, ast.Constant)]
        words = " ".join(each for each in parts if isinstance(each, str)).split()
        if words and (words[-1].endswith(".") or (re.fullmatch("[A-Z][a-z]+", words[0]) and words[0] not in NAMES)):
            wrong.append(f"{place}: {' '.join(words)}")
    assert wrong == []
